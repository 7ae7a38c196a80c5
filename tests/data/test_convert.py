"""Conversion part by part gives what reading and writing in one go gives."""

import bz2
import gzip

import numpy as np
import pytest
from tests.data.examples import assert_same, random_queries

import directrix as dx
from directrix.data.file import convert_file
from directrix.data.tables.read import read_parquet
from directrix.data.tables.write import write_parquet
from directrix.errors import InputError


@pytest.fixture
def small_blocks(monkeypatch):
    """Files of some kilobytes are many blocks."""
    from directrix.data.files import stream_blocks
    from directrix.data.letor.parse import FileBlocks

    monkeypatch.setattr(FileBlocks.__init__, "__defaults__", (700,))
    monkeypatch.setattr(stream_blocks, "__defaults__", (700,))
    monkeypatch.setattr("directrix.data.tables.write._GROUP_BYTES", 9000)


@pytest.mark.parametrize("form", [".parquet", ".arrow"])
@pytest.mark.parametrize("opener", [open, gzip.open, bz2.open])
def test_text_to_a_table_and_back(tmp_path, small_blocks, form, opener):
    q = random_queries(11)
    dx.write_letor(q, tmp_path / "data.txt")
    text = (tmp_path / "data.txt").read_bytes()
    with opener(tmp_path / "given", "wb") as file:
        file.write(text)
    table = tmp_path / f"data{form}"
    assert convert_file(tmp_path / "given", table) == (q.n_docs, q.n_queries, q.n_features)
    assert_same(q, read_parquet(table))
    assert convert_file(table, tmp_path / "back.txt") == (q.n_docs, q.n_queries, q.n_features)
    assert (tmp_path / "back.txt").read_bytes() == text


def test_text_that_grows_wider_or_gets_identifiers_later(tmp_path, small_blocks):
    lines = [f"{i % 3} qid:{i // 5} 1:{i} 2:0.5\n" for i in range(200)]
    lines[150] = "1 qid:30 1:1 7:2.5 # docid = late\n"
    (tmp_path / "data.txt").write_text("".join(lines))
    convert_file(tmp_path / "data.txt", tmp_path / "data.arrow")
    expected = dx.read_letor(tmp_path / "data.txt", sparse=False)
    assert expected.n_features == 7
    assert_same(expected, read_parquet(tmp_path / "data.arrow"))


def test_sizes_beside_the_data(tmp_path, small_blocks):
    (tmp_path / "data.txt").write_text("".join(f"{i % 3} 1:{i} 2:0.5\n" for i in range(200)))
    (tmp_path / "data.txt.query").write_text("150\n1\n49\n")
    convert_file(tmp_path / "data.txt", tmp_path / "data.parquet")
    assert_same(dx.read_letor(tmp_path / "data.txt"), read_parquet(tmp_path / "data.parquet"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 qid:30 1:x 2:1\n", r":151: .*1:x"),
        ("1 qid:3 1:1 2:1\n", r":151: query 3 starts again"),
        ("1 qid:30 1:nan 2:1\n", r":151: "),
        ("1 qid:30 99999:1\n", r"a feature 99999; Parquet and Arrow files"),
    ],
)
def test_bad_text_is_told_as_the_reader_tells_it(tmp_path, small_blocks, line, message):
    lines = [f"{i % 3} qid:{i // 5} 1:{i} 2:0.5\n" for i in range(200)]
    lines[150] = line
    (tmp_path / "data.txt").write_text("".join(lines))
    with pytest.raises(InputError, match=message) as caught:
        convert_file(tmp_path / "data.txt", tmp_path / "data.arrow")
    if "99999" not in line:
        with pytest.raises(InputError) as read:
            dx.read_letor(tmp_path / "data.txt")
        assert str(caught.value) == str(read.value)
    assert not (tmp_path / "data.arrow").exists()


def test_table_to_table_keeps_names_and_bits(tmp_path, small_blocks):
    q = dx.Queries.from_arrays(
        np.random.default_rng(0).random((500, 2)), np.ones(500), qid=["a"] * 300 + ["b"] * 200,
        feature_names=["x", "y"],
    )  # fmt: skip
    write_parquet(q, tmp_path / "one.parquet")
    assert convert_file(tmp_path / "one.parquet", tmp_path / "two.feather") == (500, 2, 2)
    assert_same(q, read_parquet(tmp_path / "two.feather"))
