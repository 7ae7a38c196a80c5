"""A file is opened twice, however many questions a command asks: for its beginning, and for its rows."""

import os
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.commands import succeed

import directrix as dx
from directrix.data.columns import ColumnNames
from directrix.data.file import DataFile

opened: Counter[str] = Counter()


def _count(event, arguments):
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        opened[os.path.basename(os.fsdecode(arguments[0]))] += 1


sys.addaudithook(_count)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of the same data, and a count of openings by pyarrow too, which Python does not see."""
    q, _ = dx.data.make_linear(n_queries=12, docs_per_query=6, n_features=3, seed=0)
    frame = pd.DataFrame(q.features, columns=["a", "b", "c"]).assign(w=1.0, label=q.labels.astype(int))
    frame["qid"] = np.repeat(np.arange(12), 6)
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_csv(tmp_path / "d.csv.gz", index=False)
    frame.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "d.parquet", index=False)
    dx.write_letor(q, tmp_path / "d.txt")
    for module, name in ((pq, "ParquetFile"), (pa, "memory_map")):
        plain = getattr(module, name)

        def counted(path, *others, plain=plain, **named):
            opened[os.path.basename(path)] += 1
            return plain(path, *others, **named)

        monkeypatch.setattr(module, name, counted)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.jsonl", "d.parquet", "d.txt"])
def test_every_command_opens_its_data_twice(folder, name):
    weighs = [] if name == "d.txt" else ["--weight-column", "w"]
    excludes = [] if name == "d.txt" else ["--exclude-columns", "w"]
    train = ("train", name, "--method", "Regression", "-o", "m.json")
    for command in (
        (*train, *excludes),
        (*train, *weighs),
        ("predict", "m.json", name, "-o", "s.txt"),
        ("evaluate", name, "m.json", "s.txt"),
        ("compare", name, "m.json", "s.txt"),
        ("doctor", name, *excludes),
        ("convert", name, "new.arrow", *excludes),
    ):
        opened.clear()
        succeed(*command)
        # Text that becomes a table is read once more, to find its width before the first row is written.
        assert opened[name] == (3 if name == "d.txt" and command[0] == "convert" else 2), command


def test_runs_and_judgments_are_opened_twice(folder):
    rows = [(query, doc) for query in range(4) for doc in "abc"]
    lines = [f"{query} Q0 {doc} 1 {score} t\n" for score, (query, doc) in enumerate(rows)]
    (folder / "a.run").write_text("".join(lines))
    table = ["qid,docno,label\n", *(f"{query},{doc},{doc == 'b':d}\n" for query, doc in rows)]
    (folder / "j.csv").write_text("".join(table))
    opened.clear()
    succeed("evaluate", "j.csv", "a.run")
    assert opened["j.csv"] == opened["a.run"] == 2


def test_other_names_of_columns_need_no_second_look(folder):
    file = DataFile("d.csv")
    opened.clear()
    assert file.names == file.with_columns(ColumnNames(qid="a")).names
    assert (file.content, file.format.name, opened["d.csv"]) == ("csv", "CSV, TSV, JSON lines", 1)
    q = file.with_columns(ColumnNames(excluded=("w",))).queries()
    assert (q.feature_names, q.n_docs) == (("a", "b", "c"), 72)


def test_a_column_is_read_with_the_rows_before_it(folder):
    file = DataFile("d.csv")
    opened.clear()
    assert file.column("w").to_pylist() == [1.0] * 72
    assert file.queries().n_docs == 72
    assert opened["d.csv"] == 2
