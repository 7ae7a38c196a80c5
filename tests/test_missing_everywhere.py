"""The rule for missing values at every function and command that takes features.

A missing value is an error until the user states its meaning; a model keeps what was stated, and the door
that scores applies it. A new public function or command fails here until a table says how it keeps the rule.
"""

import json
import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.registry import COMMANDS
from tests.commands import run

GOLDEN = Path(__file__).parent / "golden" / "interface.txt"
CARRIERS = {
    *("X", "frame", "q", "queries", "data", "features", "documents", "splits", "events", "shards", "valid"),
    *("results", "results_tr", "sentence_features", "path", "folder", "runs", "source"),
}
"""Names of parameters that may bring features."""

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
WHOLE = RNG.normal(size=(120, 3)).round(3) + 2.0
GAPS = np.where((RNG.random(WHOLE.shape) < 0.2) & [True, True, False], np.nan, WHOLE)
Y = (WHOLE[:, 0] > 2.3).astype(int) + (WHOLE[:, 2] > 2.0)
QID = np.repeat(np.arange(12), 10)
DOCS = [f"d{i}" for i in range(120)]
RULES = None, "nan", "zero"
"""What the user states; None: nothing."""


def fresh():
    """A folder that does not exist."""
    return Path(tempfile.mkdtemp(dir=pytest.tmp), "new")


def stated(rule):
    """The argument for a rule."""
    return {} if rule is None else {"missing": rule}


def queries(rule, X=GAPS):
    """Queries with gaps, for which a rule was stated or none."""
    q = dx.Queries.from_arrays(
        X, Y, qid=QID, doc_ids=DOCS, feature_names=NAMES, missing="zero" if rule == "zero" else "nan"
    )
    return q if rule else replace(q, missing="error")


def frame(X=GAPS):
    return pd.DataFrame(X, columns=NAMES).assign(qid=QID, label=Y, docno=DOCS)


def linear(**settings):
    return dx.LinearRanker("ListNet", max_iter=5, scale="standard", **settings)


@cache
def fitted(rule):
    """A ranker that was trained on complete data, or on gaps with a rule."""
    return linear().fit_queries(queries(rule, WHOLE if rule is None else GAPS), measure="nDCG@3")


def search():
    return dx.AutoRanker("nDCG@3", method="BoostedNDCG", settings={"n_trees": 2}, folds=1)


def splits(q):
    return dx.experiments.k_fold_splits(q, k=3)


def entry(ranker):
    return [dx.experiments.Entry("one", ranker)]


@cache
def log():
    rows = {"session": np.repeat(np.arange(120), 3), "query": np.repeat(np.arange(120) % 12, 3)}
    docs = [f"d{10 * (s % 12) + j}" for s in range(120) for j in range(3)]
    clicked = (np.random.default_rng(0).random(360) < 0.4).astype(int)
    return dx.clicks.Log.from_frame({**rows, "doc": docs, "position": [1, 2, 3] * 120, "clicked": clicked})


BIAS = {"propensities": [1.0, 0.5, 0.3]}


def gain(ranker, features, **rule):
    return dx.clicks.evaluate(log(), {"one": ranker}, "DCG@3", features=features, **BIAS, **rule)


@cache
def index():
    return dx.text.Index.build({f"d{i}": "red shoe " + "x " * i for i in range(4)})


def text_features(rule):
    run = index().candidates({"q": "red shoe"})
    other = replace(run, tag="shop", scores=np.where(np.arange(4) == 1, np.nan, 2.0))
    return index().features({"q": "red shoe"}, run, runs=[other], **stated(rule))


def interactions(rule):
    events = {"user": list("uvuvuv"), "item": list("ijkijk"), "time": [1e5 * i for i in range(6)]}
    items = {"item": list("ijk"), "price": [1.0, None, 3.0]}
    return dx.data.from_interactions(events, item_features=items, **stated(rule))


def file(folder, ending, X=GAPS):
    path = folder / f"data.{ending}"
    if ending == "txt":
        dx.write_letor(queries("nan", X), path)
    elif ending == "csv":
        frame(X).to_csv(path, index=False)
    elif ending == "parquet":
        frame(X).to_parquet(path)
    else:
        hits = [{"id": d, "fields": {"summaryfeatures": {"a": a}}} for d, a in (("x", None), ("y", 2.0))]
        path.write_text(json.dumps({"qid": 1, "root": {"children": hits}}))
    return path


def fold(folder, rule):
    for name in ("train", "vali", "test"):
        (folder / "Fold1").mkdir(exist_ok=True)
        dx.write_letor(queries("nan"), folder / "Fold1" / f"{name}.txt")
    return dx.experiments.letor_splits(folder, **stated(rule))


def reranked(frame_, rule, fit):
    terrier = pytest.importorskip("directrix.interop.pyterrier")
    one = terrier.Rerank(linear(), **stated(rule))
    return one.fit(frame_, frame_) if fit else one


def results(X=GAPS):
    rows = {"qid": QID.astype(str), "docno": DOCS, "query": "x", "label": Y, "features": list(X)}
    return pd.DataFrame(rows)


def boosted(rule):
    boost = pytest.importorskip("directrix.interop.catboost").boost
    return boost("ApproxNDCG", GAPS, Y, group=[10] * 12, iterations=2, **stated(rule))


def stopped(q):
    return pytest.importorskip("directrix.interop.lightgbm").early_stopping(q, "nDCG@3")


STATE = {
    "Ranker.fit": lambda folder, rule: linear().fit(GAPS, Y, qid=QID, **stated(rule)),
    "Queries.from_arrays": lambda folder, rule: dx.Queries.from_arrays(GAPS, Y, qid=QID, **stated(rule)),
    "Queries.from_frame": lambda folder, rule: dx.Queries.from_frame(frame(), **stated(rule)),
    "directrix.read_letor": lambda folder, rule: dx.read_letor(file(folder, "txt"), **stated(rule)),
    "directrix.data.read_parquet": lambda folder, rule: dx.data.read_parquet(
        file(folder, "csv"), **stated(rule)
    ),
    "directrix.data.read_responses": lambda folder, rule: dx.data.read_responses(
        file(folder, "jsonl"), **stated(rule)
    ),
    "directrix.experiments.letor_splits": fold,
    "directrix.write_shards": lambda folder, rule: dx.write_shards(
        file(folder, "parquet"), folder / "shards", 2, **stated(rule)
    ),
    "directrix.data.from_interactions": lambda folder, rule: interactions(rule),
    "directrix.clicks.training_data": lambda folder, rule: dx.clicks.training_data(
        log(), frame(), **BIAS, **stated(rule)
    ),
    "Index.features": lambda folder, rule: text_features(rule),
    "directrix.interop.catboost.boost": lambda folder, rule: boosted(rule),
    "Rerank.fit": lambda folder, rule: reranked(results(), rule, fit=True),
}
"""Doors that take features as they are: an error by default, and ``missing=`` states the meaning."""

USE = {
    "Ranker.fit_queries": lambda q: linear().fit_queries(q),
    "AutoRanker.search": lambda q: search().search(q),
    "EnsembleRanker": lambda q: dx.EnsembleRanker([linear()]).fit_queries(q),
    "OnShards.fit_shards": lambda q: linear().fit_shards(
        dx.write_shards(queries(None, WHOLE), fresh(), 2), q
    ),
    "directrix.experiments.cross_validate": lambda q: dx.experiments.cross_validate(
        splits(q), entry(linear()), ["nDCG@3"]
    ),
    "directrix.experiments.matching": lambda q: dx.experiments.matching(
        splits(q), ["nDCG@3", "AP"], method="BoostedNDCG", settings={"n_trees": 2}
    ),
    "directrix.clicks.propensities": lambda q: dx.clicks.propensities(
        log(), "regression-em", features=q, n_resamples=20
    ),
    "directrix.interop.lightgbm.early_stopping": stopped,
    "directrix.write_shards": lambda q: dx.write_shards([q], fresh()),
    "directrix.clicks.training_data": lambda q: dx.clicks.training_data(log(), q, "doubly-robust", **BIAS),
}
"""Doors that use `Queries`, which state the meaning: an error if they do not."""

SCORE = {
    "Ranker.predict": lambda ranker, q: ranker.predict(GAPS),
    "Ranker.score": lambda ranker, q: ranker.score(frame()[NAMES], Y, qid=QID),
    "Ranker.predict_queries": lambda ranker, q: ranker.predict_queries(q),
    "Ranker.predict_probability": lambda ranker, q: ranker.predict_probability(frame()[NAMES]),
    "Ranker.calibrate": lambda ranker, q: ranker.calibrate(q, "platt"),
    "Queries.scores": lambda ranker, q: q.scores(ranker),
    "Scorer.predict": lambda ranker, q: scorer(ranker).predict(GAPS),
    "EnsembleRanker.of_fitted": lambda ranker, q: dx.EnsembleRanker.of_fitted([ranker, ranker], q, "nDCG@3"),
    "directrix.explain": lambda ranker, q: dx.explain(ranker, q, n_repeats=1),
    "directrix.export": lambda ranker, q: dx.export(
        ranker, Path(pytest.tmp, "model.py"), to="python", check=q
    ),
    "directrix.certify": lambda ranker, q: dx.certify(ranker, q, eps=0.5, delta=0.5),
    "directrix.experiments.polish": lambda ranker, q: dx.experiments.polish(
        ranker, q, eps=0.5, delta=0.5, max_moves=1
    ),
    "directrix.experiments.permutation_importance": lambda ranker, q: dx.experiments.permutation_importance(
        ranker, q, n_repeats=1
    ),
    "directrix.experiments.model_card": lambda ranker, q: dx.experiments.model_card(saved(ranker), q),
    "directrix.clicks.simulate": lambda ranker, q: dx.clicks.simulate(q, ranker, n_sessions=10),
    "directrix.clicks.evaluate": lambda ranker, q: gain(ranker, frame()),
    "directrix.load_scorer": lambda ranker, q: scorer(ranker).rank(frame()[NAMES]),
    "directrix.load": lambda ranker, q: dx.load(saved(ranker)).predict(GAPS),
    "Rerank.transform": lambda ranker, q: (
        pytest.importorskip("directrix.interop.pyterrier").Rerank(ranker).transform(results())
    ),
}
"""Doors that score with a fitted ranker: its rule applies, and nothing else has to be stated."""

NEVER = {
    "directrix.linear_objective": lambda q: dx.linear_objective(q, "ListNet"),
    "directrix.trainers.regression_start": lambda q: dx.trainers.regression_start(q),
    "directrix.experiments.approximation": lambda q: dx.experiments.approximation(q, "ApproxNDCG"),
    "directrix.experiments.surrogate_tendencies": lambda q: dx.experiments.surrogate_tendencies(
        ["ApproxNDCG"], q
    ),
    "directrix.laws.ranking_radius": lambda q: dx.laws.ranking_radius(q.features, q.labels, q.qptr),
    "directrix.models.quantile_thresholds": lambda q: dx.models.quantile_thresholds(q.features),
    "directrix.diversity.mmr": lambda q: dx.diversity.mmr(WHOLE[:, 0], q.features, group=[10] * 12),
    "LinearRanker": lambda q: dx.LinearRanker().fit_queries(q),
    "RetrievalLoss.of_embeddings": lambda q: embedded(q.features),
}
"""Doors without any meaning for a missing value: always an error."""

CARRY = {
    "Queries.take": lambda folder: queries(None).take([0, 1]),
    "Interactions.take": lambda folder: (lambda q: q.take(range(q.n_queries)))(interactions("nan")),
    "directrix.data.split_queries": lambda folder: dx.data.split_queries(queries(None), (0.5, 0.5))[0],
    "directrix.data.k_folds": lambda folder: next(iter(dx.data.k_folds(queries(None), 3)))[0],
    "directrix.experiments.k_fold_splits": lambda folder: splits(queries(None))[0].train,
    "directrix.clicks.by_clicked_document": lambda folder: dx.clicks.by_clicked_document(queries(None))[0],
    "directrix.data.open_parquet": lambda folder: dx.data.open_parquet(file(folder, "parquet")),
}
"""Doors that pass queries on: gaps stay, and nothing is stated by them."""

SILENT = {
    "directrix.Queries": "keeps arrays unchecked; the doors that use them check",
    "directrix.experiments.Split": "keeps queries",
    "directrix.data.open_shards": "reads what `write_shards` was told",
    "directrix.interop.lightgbm.dask_arrays": "passes shards on, whose meaning was stated when written",
    "directrix.write_letor": "writes gaps as gaps, which the reader has to decide on",
    "directrix.data.write_parquet": "writes gaps as gaps",
    "directrix.data.letor_folds": "lists files",
    "directrix.data.fit_scale": "defines what fills a gap; `Ranker.fit` asks before it is used",
    "Scale.fit": "as `fit_scale`",
    "Scale.apply": "as `fit_scale`",
    "Scale.from_json": "reads a scale",
    "LinearModel.forward": "NaN stays NaN",
    "LinearModel.runs": "NaN stays NaN",
    "StumpModel.bins": "a part of training, after the checks",
    "StumpModel.forward": "a part of training",
    "StumpModel.heights": "a part of training",
    "StumpModel.prepare": "a part of training",
    "RetrievalLoss.forward": "embeddings are those of a network; see `of_embeddings`",
    "directrix.experiments.calibration_curve": "reads labels",
    "directrix.experiments.write_training_report": "reads what `search` has used",
    "directrix.experiments.plot_importance": "draws a result",
    **dict.fromkeys(
        ("Importance.interval", "Pool.take", "RunScores.take", "Index.build"),
        "has no features",
    ),
    **dict.fromkeys(
        ("Index.candidates", "Index.load", "Index.save", "Ranker.save", "Log.from_frame", "Log.read"),
        "has no features",
    ),
    **dict.fromkeys(
        ("Qrels.from_frame", "Qrels.of_query", "Qrels.rows_of", "Run.from_frame", "Run.from_scores"),
        "has no features; scores and labels must be there",
    ),
    **dict.fromkeys(
        ("directrix.data.join_trec", "directrix.data.runs_as_features", "directrix.fuse"),
        "reads runs, whose scores must be there",
    ),
    **dict.fromkeys(
        ("directrix.read_trec_run", "directrix.read_trec_qrels", "directrix.data.write_trec_run"),
        "has no features",
    ),
    "Features.transform": "computes features from texts",
    "directrix.experiments.evaluate_conventions": "reads scores",
}
"""Functions with such a parameter that neither use nor change features."""


def embedded(X):
    torch = pytest.importorskip("torch")
    return dx.torch.RetrievalLoss(None).of_embeddings(torch.tensor(X[:12]), torch.tensor(X))


def saved(ranker):
    path = Path(pytest.tmp, "model.json")
    ranker.save(path)
    return path


def scorer(ranker):
    return dx.load_scorer(saved(ranker))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setattr(pytest, "tmp", tmp_path, raising=False)


def doors():
    """Every public function with a parameter that may bring features."""
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"(?:\[\w+\] )?([\w.]+)\((.*)\)", line):
            listed = re.sub(r"\([^()]*\)", "", match[2]).split(",")
            if CARRIERS & {parameter.strip("* ").partition("=")[0] for parameter in listed}:
                yield match[1]


def test_every_function_is_listed():
    listed = [*STATE, *USE, *SCORE, *NEVER, *CARRY, *SILENT]
    assert sorted(set(doors()) - set(listed)) == []
    assert sorted(set(SILENT) - set(doors())) == []


def refused(door, *arguments):
    """Whether a door refuses data for their gaps."""
    try:
        door(*arguments)
    except dx.InputError as error:
        return bool(re.search(r"missing|nan|NaN|too large for floats", str(error))) or str(error)
    return False


@pytest.mark.parametrize("door", STATE)
def test_what_is_not_stated_is_an_error(door, tmp_path):
    assert refused(STATE[door], tmp_path, None)
    for rule in ("nan", "zero"):
        (tmp_path / rule).mkdir()
        made = STATE[door](tmp_path / rule, rule)
        of_queries = made if isinstance(made, dx.Queries) else None
        if of_queries is not None:
            assert of_queries.missing == rule
            assert np.isnan(of_queries.features).any() == (rule == "nan")
    (tmp_path / "other").mkdir()
    if door not in ("directrix.write_shards", "directrix.experiments.letor_splits"):
        with pytest.raises(dx.InputError, match="choose 'error', 'zero' or 'nan'"):
            STATE[door](tmp_path / "other", "mean")


@pytest.mark.parametrize("door", USE)
def test_queries_state_it(door):
    assert refused(USE[door], queries(None))
    for rule in ("nan", "zero"):
        USE[door](queries(rule))


@pytest.mark.parametrize("door", NEVER)
def test_some_have_no_meaning_for_it(door):
    assert refused(NEVER[door], queries(None))
    assert refused(NEVER[door], queries("nan"))


@pytest.mark.parametrize("door", SCORE)
def test_the_rule_of_the_model_applies(door):
    for rule in RULES:
        ranker = fitted(rule)
        if "probability" in door:
            ranker.calibrate(queries(rule or "zero"), "platt")
        assert refused(SCORE[door], ranker, queries(None)) is (rule is None)


@pytest.mark.parametrize("door", CARRY)
def test_what_is_passed_on_keeps_its_gaps(door, tmp_path):
    q = CARRY[door](tmp_path)
    assert q.missing == ("nan" if door == "Interactions.take" else "error")
    assert any(np.isnan(flaw.value) for flaw in q.flaws)


def test_shards_keep_what_was_stated(tmp_path):
    for rule in ("nan", "zero"):
        folder = dx.write_shards(queries(rule), tmp_path / rule, 2)
        assert dx.data.open_shards(folder).missing == linear().fit_shards(folder).missing_ == rule
    opened = dx.data.open_parquet(file(tmp_path, "parquet"))
    assert refused(linear().fit_queries, opened)
    assert refused(lambda: dx.write_shards(opened, tmp_path / "opened", 2))
    kept = dx.data.open_parquet(file(tmp_path, "parquet"), missing="nan")
    assert linear().fit_queries(kept).missing_ == "nan"
    with pytest.raises(dx.InputError, match="missing values as 0"):
        dx.data.open_parquet(file(tmp_path, "parquet"), missing="zero")


def forms():
    """Rows with gaps, in every form in which users have them."""
    rows = [[None if np.isnan(x) else x for x in row] for row in GAPS.tolist()]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    yield from (GAPS, GAPS.astype(np.float32), np.ma.masked_invalid(GAPS), sp.csr_array(GAPS), rows, columns)
    yield np.array(rows, dtype=object)
    yield [[pd.NA if x is None else x for x in row] for row in rows]
    yield from (pd.DataFrame(columns), pd.DataFrame(columns).convert_dtypes(), pl.DataFrame(columns))
    yield from (pl.LazyFrame(columns), pl.DataFrame(columns).to_arrow())


def test_every_form_of_a_gap_is_one():
    expected = linear().fit(GAPS, Y, qid=QID, missing="nan").predict(GAPS)
    for X in forms():
        for door in (linear().fit, dx.Queries.from_arrays):
            assert refused(lambda X=X, door=door: door(X, Y, qid=QID)), type(X)
        ranker = linear().fit(X, Y, qid=QID, missing="nan")
        np.testing.assert_allclose(ranker.predict(X), expected, rtol=0.0, atol=1e-3)
        assert dx.Queries.from_arrays(X, Y, qid=QID, missing="zero").missing == "zero"
        assert refused(fitted(None).predict, X)


@pytest.mark.parametrize("door", [*USE, *NEVER, "Ranker.predict_queries"])
def test_infinite_values_are_always_an_error(door):
    X = WHOLE.copy()
    X[17, 1] = -np.inf
    rows = np.argsort(QID, kind="stable")
    bad = dx.Queries(X, Y[rows] + 0.0, 10 * np.arange(13), tuple(range(12)), None, tuple(NAMES), rows)
    bad = replace(bad, missing="nan", doc_ids=np.array(DOCS, dtype=object))
    use = {**USE, **NEVER, "Ranker.predict_queries": fitted(None).predict_queries}[door]
    with pytest.raises(dx.InputError, match=r"inf|too large|finite"):
        use(bad)


TRAIN = ("--method", "YetiRank", "--set", "n_trees=2", "--folds", 1)
SHELL = {
    "train": lambda d: ("train", d / "gaps.csv", *TRAIN, "-o", d / "m.json"),
    "convert": lambda d: ("convert", d / "gaps.csv", d / "new.parquet"),
    "cluster shard": lambda d: ("cluster", "shard", d / "gaps.csv", d / "new"),
    "clicks train": lambda d: (
        *("clicks", "train", d / "log.csv", d / "gaps.csv", *TRAIN, "-o", d / "m.json"),
        *("--propensities", "1,0.5,0.3"),
    ),
    "clicks propensities": lambda d: (
        *("clicks", "propensities", d / "log.csv", "--method", "regression-em", "--resamples", 20),
        *("--features", d / "gaps.csv"),
    ),
    "events interactions": lambda d: (
        *("events", "interactions", d / "events.csv", "--item-features", d / "items.csv"),
        *("-o", d / "new.parquet"),
    ),
    "lab crossval": lambda d: (
        *("lab", "crossval", d / "gaps.csv", "--method", "YetiRank", "--set", "n_trees=2", "--folds", 3),
        *("-o", d / "new", "--jobs", 1),
    ),
}
"""Commands without a model: an error until ``--missing`` is given."""

WITH_MODEL = {
    "predict": lambda d, m: ("predict", m, d / "gaps.csv"),
    "evaluate": lambda d, m: ("evaluate", d / "gaps.csv", m),
    "compare": lambda d, m: ("compare", d / "gaps.csv", m, d / "scores"),
    "explain": lambda d, m: ("explain", m, d / "gaps.csv"),
    "describe": lambda d, m: ("describe", m, d / "gaps.csv"),
    "calibrate": lambda d, m: ("calibrate", m, d / "gaps.csv", "-o", d / "new.json"),
    "export": lambda d, m: ("export", m, d / "new.py", "--to", "python", "--check", d / "gaps.csv"),
    "lab certify": lambda d, m: ("lab", "certify", m, d / "gaps.csv", "--eps", 0.5, "--delta", 0.5),
    "clicks simulate": lambda d, m: (
        *("clicks", "simulate", d / "gaps.csv", "--ranker", m, "-o", d / "new.csv", "--sessions", 10),
    ),
    "clicks evaluate": lambda d, m: (
        *("clicks", "evaluate", d / "log.csv", m, "--features", d / "gaps.csv"),
        *("--propensities", "1,0.5,0.3"),
    ),
    "text rerank": lambda d, m: (
        *("text", "rerank", d / f"text-{m.stem}.json", d / "index", d / "q.tsv", "--run", d / "run"),
        *("--with", d / "shop.csv"),
    ),
    "runs reconcile": lambda d, m: ("runs", "reconcile", d / "gaps.csv", m, "--value", 0.5),
}
"""Commands with a model: its rule applies, and ``--missing`` decides if its training data were complete."""

NOT_SHELL = {
    "doctor": "counts missing values",
    "text features": "writes empty cells of --with as missing values, with a note; tested in text",
    "lab tendency": "linear models without a scale: an error in any case",
    **dict.fromkeys(("demo", "methods", "lab reproduce"), "has data of its own"),
    **dict.fromkeys(("text index", "text candidates"), "has no features"),
    **dict.fromkeys(("runs fuse", "runs features", "clicks interleave"), "scores of runs must be there"),
    **dict.fromkeys(("clicks describe", "clicks model"), "has no features"),
}


def test_every_command_is_listed():
    assert sorted(COMMANDS) == sorted([*SHELL, *WITH_MODEL, *NOT_SHELL])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files for all commands."""
    folder = tmp_path_factory.mktemp("shell")
    frame().to_csv(folder / "gaps.csv", index=False)
    np.savetxt(folder / "scores", WHOLE[:, 0])
    rows = ["session,query,doc,position,clicked"]
    clicked = np.random.default_rng(1).random(360) < 0.4
    rows += [
        f"{i // 3},{i // 3 % 12},d{10 * (i // 3 % 12) + i % 3},{i % 3 + 1},{clicked[i]:d}" for i in range(360)
    ]
    (folder / "log.csv").write_text("\n".join(rows) + "\n")
    events = [f"{'uv'[i % 2]},{'ijk'[i % 3]},{1e5 * i}" for i in range(12)]
    (folder / "events.csv").write_text("\n".join(["user,item,time", *events]) + "\n")
    (folder / "items.csv").write_text("item,price\ni,1\nj,\nk,3\n")
    (folder / "docs.csv").write_text("docno,title\n" + "".join(f"d{i},red {'x ' * i}\n" for i in range(6)))
    (folder / "q.tsv").write_text("q1\tred\n")
    shop = [f"q1,d{i},{'' if i == 3 else 10 + i}\n" for i in range(6)]
    (folder / "shop.csv").write_text("qid,docno,price\n" + "".join(shop))
    (folder / "whole.csv").write_text("qid,docno,price\n" + "".join(shop).replace("d3,", "d3,13"))
    (folder / "qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    at = folder / "index", folder / "q.tsv"
    assert run("text", "index", folder / "docs.csv", "-o", at[0]).exit_code == 0
    assert run("text", "candidates", *at, "-o", folder / "run").exit_code == 0
    for name in ("shop", "whole"):
        more = (
            "--qrels",
            folder / "qrels",
            "--with",
            folder / f"{name}.csv",
            "-o",
            folder / f"{name}.parquet",
        )
        assert run("text", "features", *at, "--run", folder / "run", *more).exit_code == 0
    for rule in RULES:
        fitted(rule).save(folder / f"{rule}.json")
        name = "whole" if rule is None else "shop"
        q = dx.data.read_parquet(folder / f"{name}.parquet", **stated(rule))
        linear().fit_queries(q).save(folder / f"text-{rule}.json")
    return folder


@pytest.mark.parametrize("command", SHELL)
def test_a_command_asks_what_a_gap_means(command, data):
    arguments = SHELL[command](data)
    strict = run(*arguments)
    assert (strict.exit_code, "--missing nan" in strict.stderr) == (1, True), strict.stderr
    for rule in ("nan", "zero"):
        for new in filter(Path.exists, (data / "new", data / "m.json")):
            new.rename(fresh())
        found = run(*arguments, "--missing", rule)
        assert found.exit_code == 0, found.stderr


@pytest.mark.parametrize("command", WITH_MODEL)
def test_a_command_reads_as_its_model_was_trained(command, data):
    for rule in RULES:
        found = run(*WITH_MODEL[command](data, data / f"{rule}.json"))
        assert (found.exit_code == 1) == (rule is None), found.stderr
    assert "--missing" in run(*WITH_MODEL[command](data, data / "None.json")).stderr
    for rule in ("nan", "zero"):
        found = run(*WITH_MODEL[command](data, data / "None.json"), "--missing", rule)
        assert found.exit_code != 1, found.stderr


def test_text_features_leave_gaps_to_the_reader(data):
    assert refused(lambda: dx.data.read_parquet(data / "shop.parquet"))
    q = dx.data.read_parquet(data / "shop.parquet", missing="nan")
    assert np.isnan(q.features).sum() == 1


def test_lab_tendency_has_no_meaning_for_gaps(data):
    for rule in ((), ("--missing", "nan")):
        assert run("lab", "tendency", data / "gaps.csv", *rule).exit_code == 1
