"""Columns by name, standard input, and lists with commas, in every command."""

import json
import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx
from directrix.cli.options import comma_separated, parse_settings
from directrix.registry import COMMANDS

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def tables(files):
    """The test data as CSV, with columns that no one knows."""
    q = dx.read_letor(files.test)
    frame = pd.DataFrame(q.features, columns=[f"x{i}" for i in range(q.n_features)])
    frame["T"] = np.repeat(q.query_ids, np.diff(q.qptr))
    frame["D"], frame["Y"] = q.doc_ids, q.labels
    frame.to_csv(files.folder / "test.csv", index=False)
    frame.drop(columns=["Y"]).to_csv(files.folder / "unlabeled.csv", index=False)
    return SimpleNamespace(test=files.folder / "test.csv", unlabeled=files.folder / "unlabeled.csv")


NUMBER = r"(?<![\w.])(-?\d+\.\d+(?:e-?\d+)?)(?![\w.])"
UNLABELED = ("--qid-column", "T", "--doc-id-column", "D")
NAMES = ("--qid-column", "T", "--label-column", "Y", "--doc-id-column", "D")


def pipe(path, *arguments):
    """Run a command with a file as standard input."""
    return run(*arguments, given=path.read_bytes())


def test_every_command_that_reads_data_names_columns():
    for command in COMMANDS:
        of_texts = ("text index", "text candidates", "text features", "text rerank")  # have --id-column
        reads = command not in (
            "methods",
            "lab reproduce",
            "demo",
            "clicks describe",
            "clicks model",
            "clicks propensities",
            "events interactions",
            *of_texts,
        )
        done = run(*command.split(), "--qid-column", "T", "--help")
        assert (done.exit_code == 0) == reads, command


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "TABLE", "SCORES", "-f", "json"),
        ("compare", "TABLE", "SCORES", "MODEL", "-f", "json"),
        ("predict", "MODEL", "TABLE", "--run", "tag"),
        ("lab", "certify", "MODEL", "TABLE", "-f", "json"),
        ("lab", "tendency", "TABLE", "--models", "3", "-s", "ApproxNDCG,ListNet", "-f", "json"),
        ("doctor", "TABLE", "-f", "json"),
    ],
    ids=lambda command: command[0],
)
def test_a_table_is_the_same_as_text(files, tables, command):
    def output(data, *names):
        words = {"TABLE": data, "SCORES": files.scores, "MODEL": files.model}
        done = run(*(words.get(word, word) for word in command), *names)
        assert done.exit_code == 0, done.stderr
        # which of two equal queries a tendency names depends on the last bit
        return re.sub(r'"query": "\d+"', "", done.stdout.replace(str(data), "DATA"))

    by_table, by_text = (re.split(NUMBER, text) for text in (output(tables.test, *NAMES), output(files.test)))
    assert by_table[::2] == by_text[::2]
    # columns of a table have 64 bits, text 32
    np.testing.assert_allclose(np.float64(by_table[1::2]), np.float64(by_text[1::2]), rtol=1e-6, atol=1e-7)


def test_training_and_conversion_name_columns(files, tables, tmp_path):
    options = ("--method", "Regression", "--folds", 1)
    for data, names, output in ((tables.test, NAMES, "a"), (files.test, (), "b")):
        succeed("train", data, *names, *options, "-o", tmp_path / output)
    models = [json.loads((tmp_path / name).read_text()) for name in "ab"]
    assert models[0]["features"]["names"] == ["x0", "x1", "x2", "x3"]
    np.testing.assert_allclose(models[0]["model"]["coef"], models[1]["model"]["coef"], rtol=1e-6)
    succeed("convert", tables.test, tmp_path / "list.parquet", *NAMES)
    for data, names in ((tables.test, NAMES), (tmp_path / "list.parquet", ())):
        succeed("train", data, *names, "--feature-columns", "x3,x1", *options, "-o", tmp_path / "c")
        assert json.loads((tmp_path / "c").read_text())["features"]["names"] == ["x3", "x1"]
    succeed("convert", tables.test, tmp_path / "a.txt", *NAMES)
    q, r = dx.read_letor(tmp_path / "a.txt"), dx.read_letor(files.test)
    assert (q.query_ids, q.features.tolist()) == (r.query_ids, r.features.tolist())
    done = succeed(
        *("lab", "crossval", tables.test),
        *NAMES,
        *("--method", "Regression,ListNet", "--folds", 3, "--set", "max_iter=2", "--jobs", 1),
        *("-o", tmp_path / "cv", "-f", "json", "-m", "AP,nDCG@5"),
    )
    rows = json.loads(done.stdout)["rows"]
    assert [(row["method"], row["measure"]) for row in rows] == [
        (method, measure) for method in ("Regression", "ListNet") for measure in ("AP", "nDCG@5")
    ]


def test_data_to_score_need_no_labels(files, tables):
    done = succeed("predict", files.model, tables.unlabeled, *UNLABELED)
    scores = files.scores.read_text().split()
    np.testing.assert_allclose(np.float64(done.stdout.split()), np.float64(scores), rtol=1e-5, atol=1e-6)
    assert "no column label, relevance, rel or grade" in refused(
        "evaluate", tables.unlabeled, files.scores, *UNLABELED
    )


def test_a_wrong_name_is_one_error_with_the_nearest(files, tables):
    done = run("evaluate", tables.test, files.scores, "--qid-column", "T", "--label-column", "YY")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no column YY; did you mean 'Y'? The columns are x0, x1, x2, x3, T, D, Y." in done.stderr
    assert done.stderr.endswith("Type --label-column NAME.\n")
    done = run("evaluate", files.test, files.scores, "--qid-column", "T")
    assert "whose columns have no names; leave out --qid-column" in done.stderr


INPUTS = [
    (("evaluate", "-", "SCORES", "-f", "json"), "test"),
    (("evaluate", "DATA", "-", "-f", "json"), "scores"),
    (("evaluate", "DATA", "-", "-f", "json"), "model"),
    (("compare", "DATA", "-", "MODEL", "-f", "json", "--against", "-"), "scores"),
    (("predict", "MODEL", "-"), "test"),
    (("predict", "-", "DATA"), "model"),
    (("lab", "certify", "MODEL", "-", "-f", "json"), "test"),
    (("lab", "tendency", "-", "--models", "3", "-s", "ApproxNDCG", "-f", "json"), "test"),
    (("doctor", "-", "-f", "json"), "test"),
]


@pytest.mark.parametrize(("command", "name"), INPUTS)
def test_standard_input_is_a_file_called_minus(files, command, name):
    words = {"DATA": files.test, "SCORES": files.scores, "MODEL": files.model}
    piped = pipe(getattr(files, name), *(words.get(word, word) for word in command))
    assert piped.exit_code == 0, piped.stderr
    path = getattr(files, name)
    direct = run(*(path if word == "-" else words.get(word, word) for word in command))
    assert piped.stdout == direct.stdout.replace(str(path), "-").replace(f'"{path.stem}"', '"-"')


def test_training_conversion_and_folds_read_standard_input(files, tables, tmp_path):
    done = pipe(files.train, "train", "-", "--method", "Regression", "--folds", 1, "-o", tmp_path / "m.json")
    assert done.exit_code == 0, done.stderr
    done = pipe(
        files.valid, "train", files.train, "--valid", "-", "--method", "Regression", "-o", tmp_path / "m.json"
    )
    assert done.exit_code == 0, done.stderr
    done = pipe(tables.test, "convert", "-", tmp_path / "a.parquet", *NAMES)
    assert done.exit_code == 0, done.stderr
    assert pipe(tmp_path / "a.parquet", "doctor", "-").exit_code == 0
    done = pipe(
        *(files.train, "lab", "crossval", "-", "--method", "Regression", "--folds", 3, "--jobs", 1),
        *("-o", tmp_path / "cv"),
    )
    assert done.exit_code == 0, done.stderr


def test_runs_and_judgments_read_standard_input(files, tmp_path):
    qrels, ranking = tmp_path / "a.qrels", tmp_path / "a.run"
    succeed("convert", files.test, qrels)
    succeed("predict", files.model, files.test, "--run", "mine", "-o", ranking)
    expected = run("evaluate", qrels, ranking, "-f", "json").stdout
    assert pipe(ranking, "evaluate", qrels, "-", "-f", "json").stdout == expected.replace(str(ranking), "-")
    assert pipe(qrels, "evaluate", "-", ranking, "-f", "json").stdout == expected
    done = pipe(ranking, "runs", "features", "-", "--qrels", qrels, "--bins", 2, "-o", tmp_path / "f.txt")
    assert done.exit_code == 0, done.stderr
    assert (
        pipe(
            qrels, "runs", "features", ranking, "--qrels", "-", "--bins", 2, "-o", tmp_path / "g.txt"
        ).exit_code
        == 0
    )
    assert (tmp_path / "f.txt").read_text() == (tmp_path / "g.txt").read_text()


def test_standard_input_is_read_once(files, tmp_path):
    done = pipe(files.test, "evaluate", "-", "-")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "'-', standard input, is given 2 times" in " ".join(done.stderr.replace("│", " ").split())
    (tmp_path / "bad.txt").write_text("bad qid:7 1:0.2\n1 qid:7 1:0.5\n0 qid:7 1:high\n")
    done = pipe(tmp_path / "bad.txt", "doctor", "-")
    assert done.exit_code == 1
    assert "-:1: the label is 'bad', not a number" in done.stderr
    (tmp_path / "empty").write_text("")
    assert "error: - has no data" in pipe(tmp_path / "empty", "doctor", "-").stderr


def test_lists_with_commas(files):
    assert comma_separated(["AP,nDCG@10", "RBP(p=0.8, rel=2), AP", ""]) == [
        "AP",
        "nDCG@10",
        "RBP(p=0.8, rel=2)",
    ]
    texts = [("-m", "AP,RBP(p=.8,rel=1),map_cut_5"), ("-m", "AP", "-m", "RBP(p=.8,rel=1)", "-m", "map_cut_5")]
    outputs = [run("evaluate", files.test, files.scores, *text).stdout for text in texts]
    assert outputs[0] == outputs[1] != ""
    assert comma_separated(["Lambda(RBP(p=0.8, rel=2), k=1),AP"]) == ["Lambda(RBP(p=0.8, rel=2), k=1)", "AP"]
    start = time.process_time()  # every comma looked ahead to the next parenthesis: 40 s
    assert len(comma_separated(["," + "a," * 100_000])) == 1
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize("value", ["{[]: 1}", "-" * 20_000 + "1", "[" * 5000, "9" * 5000])
def test_settings_that_are_no_literals_stay_text(value):
    assert parse_settings([f"a={value}"], {}) == {"a": value}
