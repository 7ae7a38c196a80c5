"""``directrix clicks train`` and ``evaluate``: as the functions of Python on the same files."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.commands import refused, run, succeed

import directrix as dx
from directrix.data import Run, write_trec_run

pytest.importorskip("pyarrow")

THETA = "1,0.6,0.4,0.25"
METHOD = ("--method", "ApproxMeasure", "--set", "alpha=10", "--set", "l2=1e-3", "--folds", "1")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A log of 40 queries with four of six documents each, and their features."""
    folder, rng = tmp_path_factory.mktemp("train"), np.random.default_rng(0)
    X = rng.normal(size=(40, 6, 2))
    query = np.repeat(np.arange(40), 30)
    docs = np.argsort(-X[query, :, 1] - 0.7 * rng.normal(size=(len(query), 6)), axis=1)[:, :4]
    theta = np.array(list(map(float, THETA.split(","))))
    relevance = 1 / (1 + np.exp(-2 * X[query[:, None], docs, 0]))
    log = pd.DataFrame(
        {
            "session": np.repeat(np.arange(len(query)), 4),
            "query": np.repeat([f"q{i}" for i in query], 4),
            "doc": [f"d{d}" for d in docs.ravel()],
            "position": np.tile([1, 2, 3, 4], len(query)),
            "clicked": (rng.random(docs.shape) < theta * relevance).ravel().astype(int),
        }
    )
    log.to_csv(folder / "log.csv", index=False)
    features = pd.DataFrame(X.reshape(-1, 2), columns=["good", "served"]).assign(
        qid=np.repeat([f"q{i}" for i in range(40)], 6), docno=[f"d{i}" for i in range(6)] * 40
    )
    features.to_csv(folder / "features.csv", index=False)
    served = {
        q: dict(zip(rows.docno, rows.served, strict=True)) for q, rows in features.groupby("qid", sort=False)
    }
    write_trec_run(Run.from_frame(served, tag="served"), folder / "served.run")
    files = folder / "log.csv", folder / "features.csv"
    for name in ("ips", "naive"):
        given = ("--estimator", name, "--propensities", THETA, "-o", folder / f"{name}.json")
        succeed("clicks", "train", *files, "-m", "DCG@4", *given, *METHOD)
    return folder


def test_the_model_is_that_of_the_functions(here):
    log = dx.clicks.Log.read(here / "log.csv")
    theta = list(map(float, THETA.split(",")))
    q = dx.clicks.training_data(log, here / "features.csv", "ips", propensities=theta)
    weights = None, np.add.reduceat(q.counts, q.qptr[:-1])
    settings = {"alpha": 10.0, "l2": 1e-3}
    auto = dx.AutoRanker(
        "DCG(gain=linear)@4",
        method="ApproxMeasure",
        settings=settings,
        folds=1,
        by_query=True,
        random_state=0,
    )
    expected = auto.search(q, weights=weights).ranker
    model = dx.load(here / "ips.json")
    assert list(model.model_.feature_names) == ["good", "served"]
    assert model.predict_queries(q) == pytest.approx(expected.predict_queries(q), rel=1e-9)
    naive = dx.load(here / "naive.json")
    assert model.coef_[0] / abs(model.coef_[1]) > naive.coef_[0] / abs(naive.coef_[1])


def test_models_and_runs_are_estimated_by_the_same_log(here, tmp_path):
    files = (here / "served.run", here / "ips.json", here / "naive.json")
    given = ("--features", here / "features.csv", "--propensities", THETA, "-m", "DCG@4")
    done = succeed("clicks", "evaluate", here / "log.csv", *files, *given, "--estimator", "ips", "-f", "json")
    found = {(one["ranker"], one["estimator"]): one["value"] for one in json.loads(done.stdout)["estimates"]}
    assert set(found) == {(name, e) for name in ("served", "ips", "naive") for e in ("naive", "ips")}
    result = dx.clicks.evaluate(
        dx.clicks.Log.read(here / "log.csv"),
        {"ips": dx.load(here / "ips.json")},
        "DCG@4",
        features=here / "features.csv",
        propensities=list(map(float, THETA.split(","))),
    )
    assert found["ips", "ips"] == pytest.approx(result.estimate("ips", "ips").value)
    assert found["ips", "ips"] > found["served", "ips"]
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    succeed("clicks", "evaluate", here / "log.csv", *files, *given, "--report", page)
    assert "DCG@4 by estimator, with 95% intervals by queries." in page.read_text()


def test_a_note_names_models_that_were_trained_on_this_log(here, tmp_path):
    lines = (here / "log.csv").read_text().splitlines(keepends=True)
    (tmp_path / "later.csv").write_text("".join(lines[:-4]))
    given = ("--features", here / "features.csv", "--propensities", THETA, "-m", "DCG@4")
    models = (here / "served.run", here / "ips.json")
    notes = [
        succeed("clicks", "evaluate", log, *models, *given).stderr
        for log in (here / "log.csv", tmp_path / "later.csv")
    ]
    assert ["note: ips: trained on this log" in note for note in notes] == [True, False]


def test_runs_need_no_features_and_trust_bias_is_two_lists(here):
    options = ("--propensities", f"{THETA}/.1,.05,0,0", "--estimator", "affine", "-m", "CTR@3")
    text = succeed("clicks", "evaluate", here / "log.csv", here / "served.run", *options).stdout
    assert "served  affine" in text


def test_runs_that_are_tables_have_the_names_of_the_command(here, tmp_path):
    rows = dx.read_trec_run(here / "served.run")
    queries = np.repeat(rows.query_ids, np.diff(rows.qptr))
    lines = [f"{q},{d},{s}" for q, d, s in zip(queries, rows.doc_ids, rows.scores, strict=True)]
    texts = []
    for names in ("keyword,sku,score", "qid,docno,score"):
        (tmp_path / "served.csv").write_text("\n".join([names, *lines]))
        given = ("--qid-column", "keyword", "--doc-id-column", "sku", "--propensities", THETA)
        texts.append(succeed("clicks", "evaluate", here / "log.csv", tmp_path / "served.csv", *given).stdout)
    given = ("--propensities", THETA)
    texts.append(succeed("clicks", "evaluate", here / "log.csv", here / "served.run", *given).stdout)
    assert texts[0] == texts[1] == texts[2]


def test_a_note_counts_the_queries_without_features(here, tmp_path):
    lines = (here / "features.csv").read_text().splitlines(keepends=True)
    at = lines[0].strip().split(",").index("qid")
    last = lines[-1].split(",")[at]
    (tmp_path / "some.csv").write_text("".join(x for x in lines if x.split(",")[at] != last))
    given = ("-o", tmp_path / "m.json", "--propensities", THETA, "--method", "ApproxMeasure")
    settings = ("--set", "alpha=10", "--set", "l2=1e-3")
    done = succeed("clicks", "train", here / "log.csv", tmp_path / "some.csv", *given, *settings)
    assert "note: 1 of" in done.stderr


def test_propensities_may_be_a_file(here, tmp_path):
    found = succeed("clicks", "propensities", here / "log.csv", "-f", "json").stdout
    (tmp_path / "bias.json").write_text(found)
    texts = [
        succeed("clicks", "evaluate", here / "log.csv", here / "served.run", *options).stdout
        for options in ((), ("--propensities", tmp_path / "bias.json"))
    ]
    assert texts[0] == texts[1]


def test_propensities_may_have_all_their_digits(here):
    digits = ",".join([*map(str, map(float, THETA.split(","))), *["0.3333333333333333"] * 20])
    options = ("--propensities", digits)
    assert (
        "served  ips" in succeed("clicks", "evaluate", here / "log.csv", here / "served.run", *options).stdout
    )


def test_what_cannot_be_done_is_refused(here, tmp_path):
    log, features, model = here / "log.csv", here / "features.csv", here / "ips.json"
    out = ("-o", tmp_path / "model.json", "--propensities", THETA)
    assert "Type DCG@10" in refused("clicks", "train", log, features, "-m", "nDCG@10", *out)
    assert "needs features; type --features FILE" in refused("clicks", "evaluate", log, model)
    assert "--force" in refused("clicks", "train", log, features, "-o", model, "--propensities", THETA)
    wrong = ("--propensities", features)
    assert "holds no propensities" in refused(
        "clicks", "train", log, features, "-o", tmp_path / "m.json", *wrong
    )
    for text in ("1,a", "bias.jsn", "x" * 300):  # the last is too long for the name of a file
        done = run("clicks", "train", log, features, "--propensities", text, "-o", tmp_path / "m.json")
        assert done.exit_code == 2
        assert "neither a file nor numbers by position" in " ".join(done.stderr.replace("│", "").split())
