"""``directrix runs features``: its files read back, train, and have the same columns for other topics."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from tests.commands import refused, run, succeed

import directrix as dx
from directrix.fusion.thresholds import RunThresholds, write_runs

TOPICS = range(1, 9)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Two runs of eight topics and their judgments."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    quality = rng.random((len(TOPICS), 12))
    lines = {"a.res": [], "b.res": [], "qrels": []}
    for topic, row in zip(TOPICS, quality, strict=True):
        for d, good in enumerate(row):
            lines["qrels"].append(f"{topic} 0 d{d} {int(good > 0.7)}")
            for name in ("a", "b"):
                score = good + 0.3 * rng.standard_normal()
                if score > 0.2:
                    lines[f"{name}.res"].append(f"{topic} Q0 d{d} 1 {score:.4f} {name.upper()}")
    lines["qrels"].append("9 0 d0 1")
    lines["a.res"].append("10 Q0 d0 1 0.5 A")
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def scores(here):
    return dx.data.runs_as_features([here / "a.res", here / "b.res"], here / "qrels")


@pytest.fixture
def features(here, tmp_path):
    """Run the command on the two runs."""

    def invoke(*arguments, runs=("a.res", "b.res")):
        named = [here / word if word.endswith(".res") else word for word in runs]
        result = run(
            "runs", "features", *named, "--qrels", here / "qrels", "-o", tmp_path / "out.txt", *arguments
        )
        return result, tmp_path / "out.txt"

    return invoke


def expected(scores, thresholds):
    """The steps by definition; NaN exceeds nothing."""
    return np.hstack([scores.scores[:, [f]].astype(float) > row for f, row in enumerate(thresholds)])


def test_steps_of_scores_read_back(features, scores):
    result, out = features("--bins", 4)
    assert result.exit_code == 0, result.stderr
    q = dx.read_letor(out)
    x = q.features.toarray() if sp.issparse(q.features) else q.features
    assert np.array_equal(x, expected(scores, scores.thresholds(4)))
    assert x.shape == (scores.n_docs, 8)
    assert np.array_equal(q.labels, scores.labels)
    assert np.array_equal(q.qptr, scores.qptr)
    assert list(map(str, q.query_ids)) == list(scores.query_ids)
    assert q.doc_ids.tolist() == scores.doc_ids.tolist()


def test_runs_keep_their_order(features):
    result, out = features("--bins", "2")
    assert result.exit_code == 0, result.stderr
    assert RunThresholds.read(f"{out}.thresholds.json").tags == ("A", "B")
    assert "4 features of 2 runs" in result.stderr


@pytest.mark.parametrize("form", ["score", "percentile", "minmax"])
def test_values_read_back(features, scores, form):
    result, out = features("--bins", "0", "--form", form)
    assert result.exit_code == 0, result.stderr
    q = dx.read_letor(out)
    assert np.array_equal(q.features, scores.queries(form).features.astype(q.features.dtype))
    assert not out.with_name("out.txt.thresholds.json").exists()


@pytest.mark.parametrize("form", ["percentile", "minmax"])
def test_forms_within_the_topic_have_even_thresholds(features, scores, form):
    result, out = features("--bins", "4", "--form", form)
    assert "unseen" not in result.stderr
    even = np.array([1, 2, 3, 4]) / 5
    assert [row.tolist() for row in RunThresholds.read(f"{out}.thresholds.json").values] == [
        even.tolist()
    ] * 2
    x = dx.read_letor(out, sparse=False).features
    values = scores.queries(form).features
    assert np.array_equal(x, np.hstack([values[:, [f]] > even for f in (0, 1)]))


def test_other_topics_get_the_same_columns(features, scores, tmp_path):
    """Thresholds come from the judgments of the training topics alone."""
    result, out = features(
        "--bins", "5", "--topics", "1-5", "--train-topics", "1-5", "--thresholds", tmp_path / "t"
    )
    assert result.exit_code == 0, result.stderr
    assert "note: thresholds" not in result.stderr
    train = scores.take(range(5))
    kept = RunThresholds.read(tmp_path / "t")
    for mine, own in zip(kept.values, train.thresholds(5), strict=True):
        assert np.array_equal(mine, own)
    assert dx.read_letor(out).n_docs == train.n_docs
    before = (tmp_path / "t").read_bytes()
    result, out = features("--topics", "6,7-8", "--thresholds-from", tmp_path / "t")
    assert result.exit_code == 0, result.stderr
    test = scores.take([5, 6, 7])
    assert np.array_equal(dx.read_letor(out, sparse=False).features, expected(test, train.thresholds(5)))
    assert (tmp_path / "t").read_bytes() == before
    assert not out.with_name("out.txt.thresholds.json").exists()


def test_thresholds_of_all_topics_are_remarked_on(features):
    result, _ = features()
    assert "thresholds are computed from all 8 topics and their judgments" in result.stderr
    assert "topics without judgments are left out (1): 10" in result.stderr
    assert "topics in no run are left out (1): 9" in result.stderr


def test_counts_are_said(features, scores):
    result, out = features("--bins", "3")
    found, judged = int((scores.labels > 0).sum()), int(scores.n_relevant.sum())
    assert f"saved: {out} (8 topics, {scores.n_docs} documents, 6 features of 2 runs)" in result.stderr
    assert f"relevant: {judged} documents, {found} of them retrieved; " in result.stderr
    assert f"do not count the other {judged - found}" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("how", ["list", "file", "data"])
def test_topics_may_be_named_in_three_ways(features, here, tmp_path, how):
    (tmp_path / "ids").write_text("2\n4 5\n")
    run(
        "runs",
        "features",
        here / "a.res",
        "--qrels",
        here / "qrels",
        "-o",
        tmp_path / "d.txt",
        "--topics",
        "2,4-5",
    )
    text = {"list": "2,4-5", "file": f"@{tmp_path / 'ids'}", "data": tmp_path / "d.txt"}[how]
    result, out = features("--topics", text)
    assert result.exit_code == 0, result.stderr
    assert list(dx.read_letor(out).query_ids) == [2, 4, 5]


def test_depth_cuts(features, scores):
    result, out = features("--depth", "1")
    assert result.exit_code == 0
    assert dx.read_letor(out).n_docs <= 2 * 8 < scores.n_docs


def test_what_it_writes_trains(features, tmp_path):
    _, out = features("--bins", "5")
    succeed("train", out, "--method", "RankSVM", "--set", "l2=0.01", "-m", "AP", "-o", tmp_path / "m.json")
    succeed("predict", tmp_path / "m.json", out, "-o", tmp_path / "s.txt")


def test_compressed(features, scores, here, tmp_path):
    succeed(
        "runs", "features", here / "a.res", here / "b.res", "--qrels", here / "qrels", "-o", tmp_path / "o.gz"
    )
    assert dx.read_letor(tmp_path / "o.gz").n_docs == scores.n_docs


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--topics", "77"), 1, r"--topics 77: there is no topic 77; runs and qrels share 8 topics, 1 to 8"),
        (("--train-topics", "20-30"), 1, "--train-topics 20-30: no topic is named"),
        (("--topics", "@absent"), 1, "absent"),
        (("--bins", "-1"), 2, "--bins"),
        (("--bins", "0", "--train-topics", "1"), 2, "--bins 0 uses no thresholds"),
        (("--form", "rank"), 2, "--form"),
        (("--thresholds-from", "x", "--bins", "3"), 2, "--thresholds-from"),
        (("--thresholds-from", "absent"), 1, "absent"),
    ],
    ids=str,
)
def test_mistakes(features, arguments, status, message):
    result, out = features(*arguments)
    assert result.exit_code == status
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not out.exists()


def test_runs_in_another_order_are_refused(features, tmp_path):
    features("--thresholds", tmp_path / "t")
    for runs, there in [
        (("b.res", "a.res"), "those of the runs A B, and B A were given"),
        (("a.res",), "A B, and A were given"),
    ]:
        result, _ = features("--thresholds-from", tmp_path / "t", runs=runs)
        assert result.exit_code == 1
        assert there in result.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(format="other"),
        lambda content: content.pop("runs"),
        lambda content: content.update(form="rank"),
        lambda content: content["runs"][0].update(thresholds=[2.0, 1.0]),
        lambda content: content["runs"][0].update(thresholds=["1"]),
        lambda content: content["runs"][0].update(thresholds=[[1.0]]),
        lambda content: content["runs"][0].update(thresholds=[float("nan")]),
        lambda content: content.update(runs=7),
    ],
)
def test_files_that_hold_no_thresholds(features, tmp_path, change):
    features("--bins", "2", "--thresholds", tmp_path / "t")
    content = json.loads((tmp_path / "t").read_text())
    change(content)
    (tmp_path / "t").write_text(json.dumps(content))
    result, _ = features("--thresholds-from", tmp_path / "t")
    assert result.exit_code == 1
    assert f"{tmp_path / 't'} is not a file of thresholds" in result.stderr


def test_an_input_is_never_overwritten(here, tmp_path):
    before = (here / "a.res").read_bytes()
    for option in ("-o", "--thresholds"):
        out = () if option == "-o" else ("-o", tmp_path / "out")
        assert "the same file" in refused(
            "runs", "features", here / "a.res", "--qrels", here / "qrels", option, here / "a.res", *out
        )
    assert (here / "a.res").read_bytes() == before


def test_thresholds_never_overwrite_the_data(features, tmp_path):
    result, out = features("--thresholds", tmp_path / "x" / ".." / "out.txt")
    assert result.exit_code == 2
    assert "is the file of -o too" in " ".join(result.stderr.replace("│", " ").split())
    assert not out.exists()


def test_runs_and_qrels_may_be_tables_with_columns_of_any_name(here, tmp_path):
    tables = {"a.res": (0, 2, 4), "b.res": (0, 2, 4), "qrels": (0, 2, 3)}
    for name, places in tables.items():
        rows = [line.split() for line in (here / name).read_text().splitlines()]
        lines = [",".join(row[place] for place in places) for row in rows]
        head = "topic_no,url,grade" if name == "qrels" else "topic_no,url,points"
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n")
    text, table = tmp_path / "text.txt", tmp_path / "table.txt"
    succeed("runs", "features", here / "a.res", here / "b.res", "--qrels", here / "qrels", "-o", text)
    of_tables = [tmp_path / f"{name}.csv" for name in tables]
    named = ("--qid-column", "topic_no", "--doc-id-column", "url")
    values = ("--score-column", "points", "--label-column", "grade")
    paths = (*of_tables[:2], "--qrels", of_tables[2])
    succeed("runs", "features", *paths, *named, *values, "-o", table)
    assert table.read_bytes() == text.read_bytes()
    assert "--qid-column" in refused("runs", "features", *paths, "-o", table)
    of_text = run("runs", "features", here / "a.res", "--qrels", here / "qrels", *named, "-o", table)
    assert of_text.exit_code == 1
    assert table.read_bytes() == text.read_bytes()


@pytest.mark.parametrize("folder", [".", "/", "runs/.."])
def test_an_output_that_is_a_folder(here, tmp_path, monkeypatch, folder):
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "is a folder; give the name of a file in it" in refused(
        "runs", "features", here / "a.res", "--qrels", here / "qrels", "-o", folder
    )


def test_training_topics_without_a_relevant_document_are_remarked_on(here, tmp_path):
    (tmp_path / "qrels").write_text("1 0 d0 0\n" + "".join(f"{q} 0 d0 1\n" for q in range(2, 10)))
    arguments = ("runs", "features", here / "a.res", "--qrels", tmp_path / "qrels", "-o", tmp_path / "o")
    for topics, is_said in (("1", True), ("1-2", False)):
        result = succeed(*arguments, "--train-topics", topics)
        assert ("no relevant document was retrieved for the topics from" in result.stderr) == is_said
    assert "no relevant" not in run(*arguments, "--train-topics", "1", "--form", "minmax").stderr


def test_runs_of_several_files_are_needed_and_judgments(here, tmp_path):
    assert run("runs", "features", "--qrels", here / "qrels", "-o", tmp_path / "o").exit_code == 2
    assert run("runs", "features", here / "a.res", "-o", tmp_path / "o").exit_code == 2


def test_topics_that_are_no_numbers(tmp_path):
    (tmp_path / "r").write_text("MB1 Q0 d 1 1 A\n")
    (tmp_path / "q").write_text("MB1 0 d 1\n")
    assert "the topics (MB1, ...) are not all different integers" in refused(
        "runs", "features", tmp_path / "r", "--qrels", tmp_path / "q", "-o", tmp_path / "o"
    )


def test_the_last_feature_is_always_there(scores, tmp_path):
    """Where no first row has it, it is written as 0, so that the width is kept."""
    high = RunThresholds("score", scores.tags, [np.array([0.5]), np.array([0.5, 99.0])])
    write_runs(scores, tmp_path / "high", high)
    first = (tmp_path / "high").read_text().splitlines()[0]
    assert " 3:0 #docid" in first
    assert dx.read_letor(tmp_path / "high").n_features == 3
    low = RunThresholds("score", scores.tags, [np.array([0.5]), np.array([-99.0])])
    write_runs(scores, tmp_path / "low", low)
    assert dx.read_letor(tmp_path / "low").n_features == 2
    assert (tmp_path / "low").read_text().count(" 2:1 ") == int((~np.isnan(scores.scores[:, 1])).sum())
    none = RunThresholds("score", scores.tags, [np.array([0.5]), np.array([])])
    write_runs(scores, tmp_path / "none", none)
    assert dx.read_letor(tmp_path / "none").n_features == 1


def test_trec7(data_dir, tmp_path):
    """Ten of its topics: as wide as 23 runs of 50 thresholds."""
    runs = sorted((data_dir / "trec7" / "runs").glob("*.gz"))
    arguments = (
        "--qrels",
        data_dir / "trec7" / "qrels.trec7.txt",
        "--topics",
        "351-352",
        "--train-topics",
        "351-360",
    )
    succeed("runs", "features", *runs, *arguments, "-o", tmp_path / "o.txt")
    q = dx.read_letor(tmp_path / "o.txt")
    assert (q.n_features, list(q.query_ids)) == (23 * 50, [351, 352])
    assert set(np.unique(q.features.data if sp.issparse(q.features) else q.features)) <= {0.0, 1.0}
