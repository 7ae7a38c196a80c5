"""What new users did first: their steps on real data, where each had got a wrong number without a word."""

import gzip
import json
import re
import sys
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, cross_val_score

import directrix as dx
from tests import commands
from tests.commands import run, succeed

refused = partial(commands.refused, lines=8)  # usage, and a frame


@pytest.fixture(scope="module")
def ohsumed(data_dir):
    return data_dir / "letor" / "OHSUMED" / "Fold1"


@pytest.fixture(scope="module")
def model(ohsumed, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    train = ohsumed / "train.txt"
    succeed("train", train, "--method", "Regression", "--folds", 1, "-o", path)
    return path


@pytest.fixture(scope="module")
def trec(data_dir, tmp_path_factory):
    """Judgments, a whole run, and a run of which only the 23 topics with the highest AP are left."""
    folder = data_dir / "trec7"
    qrels, whole = folder / "qrels.trec7.txt", folder / "runs" / "basic-TF_IDF_5.res.gz"
    other = folder / "runs" / "basic-DLH13_2.res.gz"
    joined = dx.data.join_trec(dx.read_trec_run(other), dx.read_trec_qrels(qrels))
    values = dx.evaluate("AP", joined.scores, joined.labels, qptr=joined.qptr, per_query=True)["AP"]
    kept = {joined.query_ids[q] for q in np.argsort(-values)[:23]}
    part = tmp_path_factory.mktemp("runs") / "part.run"
    with gzip.open(other, "rt") as lines:
        part.write_text("".join(line for line in lines if line.split()[0] in kept))
    return qrels, whole, part, values


# 1 Rows without their queries


def test_cross_validation_without_routing_prints_no_number(ohsumed):
    q = dx.read_letor(ohsumed / "train.txt").take(range(20))
    qid = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    ranker = dx.LinearRanker(max_iter=5)
    with pytest.raises(dx.InputError, match=r"qid is missing.*Type qid=qid, or group="):
        ranker.fit(q.features, q.labels)
    with pytest.warns(UserWarning, match="qid is missing"):
        scores = cross_val_score(
            ranker, q.features, q.labels, cv=GroupKFold(3), groups=qid, params={"qid": qid}
        )
    assert np.isnan(scores).all()


# 2 A model and data that was not made for it


@pytest.fixture
def named(tmp_path):
    """A model of 64 named features."""
    rng = np.random.default_rng(0)
    names = [f"signal_{i}" for i in range(64)]
    frame = pd.DataFrame(rng.random((60, 64)), columns=names)
    ranker = dx.LinearRanker(max_iter=2).fit(frame, rng.integers(0, 3, 60), qid=np.repeat(range(6), 10))
    ranker.save(tmp_path / "named.json")
    return tmp_path / "named.json", ranker, frame


def test_a_model_of_other_features_gives_no_figure(ohsumed, named, tmp_path):
    path, *_ = named
    text = refused("evaluate", ohsumed / "test.txt", path)
    assert "got 45 features instead of 64 ('signal_0', 'signal_1', 'signal_2' and 61 more)." in text
    assert "--by-position" in text
    for arguments in (
        ("predict", path, ohsumed / "test.txt"),
        ("lab", "certify", path, ohsumed / "test.txt"),
        ("compare", ohsumed / "test.txt", path, path.with_name("model.json")),
    ):
        path.with_name("model.json").write_bytes(path.read_bytes())
        assert "45 features" in refused(*arguments)
    succeed("evaluate", ohsumed / "test.txt", path, "--by-position")


def test_columns_are_taken_by_their_names(named, tmp_path):
    pytest.importorskip("pyarrow")
    path, ranker, frame = named
    labeled = frame.assign(qid=np.repeat(range(6), 10), label=1)
    labeled[[*frame.columns[::-1], "qid", "label"]].to_parquet(tmp_path / "reversed.parquet")
    scores = [float(line) for line in run("predict", path, tmp_path / "reversed.parquet").stdout.split()]
    np.testing.assert_array_equal(scores, ranker.predict(frame))
    labeled.rename(columns={"signal_3": "bm25"}).to_parquet(tmp_path / "other.parquet")
    text = refused("predict", path, tmp_path / "other.parquet")
    assert "got no 'signal_3' but 'bm25'" in text
    succeed("predict", path, tmp_path / "other.parquet", "--by-position")
    q = dx.Queries.from_arrays(frame.rename(columns={"signal_3": "bm25"}), np.zeros(60), group=[60])
    with pytest.raises(dx.InputError, match="got no 'signal_3' but 'bm25'"):
        ranker.predict_queries(q)
    few = dx.Queries.from_arrays(frame.iloc[:, :60], np.zeros(60), group=[60])
    with pytest.raises(
        dx.InputError, match=r"have 60 features with names and 64 are needed.*feature_names=None"
    ):
        few.widened(64)
    wide = replace(few, feature_names=None).widened(64)
    first = frame.to_numpy() * (np.arange(64) < 60)
    np.testing.assert_array_equal(
        ranker.predict_queries(wide), ranker.predict(pd.DataFrame(first, columns=frame.columns))
    )
    labeled.iloc[:, [*range(60), 64, 65]].to_parquet(tmp_path / "few.parquet")
    by_position = run("predict", path, tmp_path / "few.parquet", "--by-position")
    assert [float(line) for line in by_position.stdout.split()] == ranker.predict_queries(wide).tolist()


# 3 A run of few topics


def test_topics_that_a_run_lacks_count_nothing(trec):
    qrels, whole, part, values = trec
    result = run("compare", qrels, whole, part, "-m", "AP", "-f", "json")
    first, second = json.loads(result.stdout)["systems"]
    assert [first["ranked"], second["ranked"]] == [50, 23]
    assert second["mean"] == pytest.approx(np.sort(values)[-23:].sum() / 50, rel=1e-12)
    assert "note: DLH13 lacks 27 of 50 queries" in result.stderr
    lines = run("compare", qrels, part, whole, "-m", "AP").stdout.splitlines()
    assert lines[0] == "AP of 50 queries"
    assert lines[2].split() == ["system", "queries", "AP", "letters"]
    assert [line.split()[:2] for line in lines[4:6]] == [["TF_IDF", "50"], ["DLH13", "23"]]


def test_common_queries_are_those_of_all_runs(trec):
    qrels, whole, part, values = trec
    common = run("compare", qrels, whole, part, "-m", "AP", "--common-queries", "-f", "json")
    document = json.loads(common.stdout)
    assert document["n_queries"] == document["pairs"][0]["n"] == 23
    assert document["systems"][1]["mean"] == pytest.approx(np.sort(values)[-23:].mean(), rel=1e-12)
    assert [system["ranked"] for system in document["systems"]] == [50, 23]


def test_every_measure_is_compared(trec):
    qrels, whole, part, _ = trec
    asked = ("compare", qrels, whole, part, "-m", "AP", "-m", "nDCG@10")
    titles = [line for line in run(*asked).stdout.splitlines() if " of 50 queries" in line]
    assert titles == ["AP of 50 queries", "nDCG@10 of 50 queries"]
    assert [found["measure"] for found in json.loads(run(*asked, "-f", "json").stdout)] == [
        "AP",
        "nDCG@10",
    ]
    head, *rows = (line.split("\t") for line in run(*asked, "-f", "tsv").stdout.splitlines())
    assert [row[head.index("measure")] for row in rows] == ["AP", "nDCG@10"]


def test_means_over_different_queries_are_said(trec):
    qrels, whole, part, _ = trec
    result = run("evaluate", qrels, whole, part, "-m", "AP")
    assert "means over different queries (TF_IDF 50, DLH13 23)" in result.stderr


# 4 A run and judgments as frames


def test_frames_keep_relevant_documents_that_were_not_retrieved(trec):
    qrels, whole, *_ = trec
    ranking = pd.read_csv(whole, sep=r"\s+", names=["qid", "q0", "docno", "rank", "score", "name"])
    judged = pd.read_csv(qrels, sep=r"\s+", names=["query_id", "iteration", "doc_id", "relevance"])
    by_files = json.loads(run("evaluate", qrels, whole, "-m", "AP", "-f", "json").stdout)
    expected = by_files["rows"][0]["measures"]["AP"]
    assert dx.evaluate("AP", run=ranking, qrels=judged) == {"AP": expected}
    assert dx.evaluate("AP", run=whole, qrels=qrels) == {"AP": expected}
    merged = ranking.merge(
        judged.rename(columns={"query_id": "qid", "doc_id": "docno"}), on=["qid", "docno"], how="left"
    )
    lost = dx.evaluate("AP", merged.score, merged.relevance.fillna(0), qid=merged.qid)["AP"]
    assert lost > 1.2 * expected  # what the documentation warns of
    assert "merge of a run with judgments loses them" in dx.evaluate.__doc__


# 5 Missing values


def test_doctor_says_what_takes_missing_values_and_it_does(ohsumed, tmp_path):
    lines = (ohsumed / "train.txt").read_text().splitlines()[:600]
    text = "\n".join(
        re.sub(r" 3:\S+", " 3:NULL", line) if i % 3 == 0 else line for i, line in enumerate(lines)
    )
    train = tmp_path / "train.txt"
    train.write_text(text + "\n")
    note = run("doctor", train).stderr
    assert "200 values are missing" in note
    assert "--missing nan" in note
    assert "`directrix train --scale standard`, log, quantile or minmax fill them" in note
    output = ("--missing", "nan", "--folds", 1, "-o", tmp_path / "m.json")
    assert "directrix train --scale log" in refused("train", train, "--method", "Regression", *output)
    for options in (
        ("--method", "Regression", "--scale", "standard"),
        ("--method", "YetiRank", "--set", "n_trees=5"),
    ):
        done = run("train", train, *options, *output)
        assert done.exit_code == 0, done.stderr
        succeed("predict", tmp_path / "m.json", train, "--missing", "nan")
    text = run("train", train, "--method", "Regression", "-o", tmp_path / "m.json").stderr
    assert (
        "Add --missing nan, for trees and for `directrix train --scale standard`, log, quantile or minmax"
        in text
    )


# 6 Labels, validation data and arguments that say nothing


def test_labels_below_the_level_of_relevance_are_said(ohsumed, tmp_path):
    with pytest.warns(
        UserWarning, match=r"AP, P@1, RR: no document is relevant, .* is 0.5, .*e.g. AP\(rel=0.5\)"
    ):
        assert dx.evaluate(["AP", "P@1", "RR", "nDCG"], [2, 1], [0.5, 0], group=[2])["AP"] == 0.0
    with pytest.warns(UserWarning, match=r"P@5: no .*e.g. P\(rel=0.6666666666666666\)@5\."):
        dx.evaluate("P@5", [2, 1], [2 / 3, 0], group=[2])
    assert dx.evaluate("P(rel=0.6666666666666666)@5", [2, 1], [2 / 3, 0], group=[2]) == {
        "P(rel=0.6666666666666666)@5": 0.2
    }
    assert dx.evaluate("AP(rel=0.5)", [2, 1], [0.5, 0], group=[2]) == {"AP(rel=0.5)": 1.0}
    with pytest.raises(dx.InputError, match=r"AP: no document is relevant"):
        dx.LinearRanker("ApproxAP").fit([[0.1], [0.2]], [0.5, 0], qid=[1, 1])
    lines = (ohsumed / "train.txt").read_text().splitlines()[:300]
    (tmp_path / "half.txt").write_text("".join(f"{int(line[0]) / 4}{line[1:]}\n" for line in lines))
    text = refused(
        "train", tmp_path / "half.txt", "-m", "AP", "--method", "Regression", "-o", tmp_path / "m.json"
    )
    assert "AP: no document is relevant" in text


def test_labels_that_are_all_zero_train_nothing(ohsumed, tmp_path):
    lines = (ohsumed / "train.txt").read_text().splitlines()[:300]
    (tmp_path / "zero.txt").write_text("".join(f"0{line[1:]}\n" for line in lines))
    text = refused("train", tmp_path / "zero.txt", "-o", tmp_path / "m.json")
    assert "no query of the training data has documents of different labels (all are 0)" in text
    assert not (tmp_path / "m.json").exists()


def test_validation_data_are_other_data(ohsumed, tmp_path):
    (tmp_path / "copy.txt").write_bytes((ohsumed / "train.txt").read_bytes())
    for valid in (ohsumed / "train.txt", tmp_path / "copy.txt"):
        text = refused("train", ohsumed / "train.txt", "--valid", valid, "-o", tmp_path / "m.json")
        assert "the validation data hold the same rows as the training data" in text
        assert "Leave out --valid" in text


def test_swapped_arguments_get_one_message(ohsumed, trec, model, tmp_path):
    qrels, whole, *_ = trec
    test, scores = ohsumed / "test.txt", tmp_path / "scores.txt"
    succeed("predict", model, test, "-o", scores)
    assert f"come first, then the rankings: {test} {model}" in refused("evaluate", model, test)
    assert "is a file of scores; labeled data or qrels come first" in refused("evaluate", scores, test)
    assert f"come first, then the rankings: {qrels} {whole}" in refused("evaluate", whole, qrels)
    assert "is a run, but" in refused("evaluate", test, whole)
    assert "is a file of scores, but" in refused("evaluate", qrels, scores)
    assert "is labeled data and not a ranking" in refused("evaluate", test, test)
    assert "come first, then the rankings" in refused("compare", model, test, scores)
    with pytest.raises(dx.InputError, match="measures come first, then scores, then labels"):
        dx.evaluate([0.3, 0.1], [1, 0], "AP")


# 7 Trees without an extra


def test_trees_and_quadratic_programs_belong_to_the_core():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    needed = {entry.split(">=")[0] for entry in project["dependencies"]}
    assert {"lightgbm", "piqp"} <= needed


def test_the_default_trees_do_not_need_lightgbm(ohsumed, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    lines = (ohsumed / "train.txt").read_text().splitlines()[:600]
    (tmp_path / "few.txt").write_text("\n".join(lines) + "\n")
    options = ("--method", "YetiRank", "--set", "n_trees=5", "--folds", 1, "-o", tmp_path / "m.json")
    done = run("train", tmp_path / "few.txt", *options)
    assert done.exit_code == 0, done.stderr
    with pytest.raises(dx.MissingExtra):
        dx.BoostedRanker(lightgbm_params={"path_smooth": 1.0}).fit([[0.0], [1.0]], [0, 1], group=[2])


def test_a_weekly_job_stops_where_the_gain_is_not_shown(data_dir, tmp_path):
    qrels, whole = data_dir / "trec7" / "qrels.trec7.txt", data_dir / "trec7" / "runs"
    live, new = whole / "basic-TF_IDF_5.res.gz", whole / "basic-DFIC_6.res.gz"
    page = tmp_path / "week.html"
    asked = ("-m", "AP", "--against", live, "--require-gain", ".005", "--report", page)
    result = run("compare", qrels, live, new, *asked)
    assert result.exit_code == 3
    assert "AP -0.0062, 95 % interval [-0.0203, 0.0078]; a gain of 0.005 is not shown" in result.stderr
    assert "is not shown" in page.read_text(encoding="utf-8")
    succeed("compare", qrels, live, new, *asked[:4], "--require-gain", "-.03")
