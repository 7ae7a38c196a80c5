"""Exported files score as the rankers do by the engines' own rules, which ``engines`` follows."""

import json
import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import directrix as dx
from directrix.errors import InputError

from .conftest import MODELS, data
from .engines import elastic, plugin, ranklib, solr, vespa

LARGEST = np.float64(np.finfo(np.float32).max)
JUDGES = {
    "elastic": elastic.VERSIONS,
    **plugin.VERSIONS,
    "ranklib": ("2.10",),
    "solr": solr.VERSIONS,
    "vespa": ("8", "8, fast forest"),
}
"""Targets, and the versions of their engines that differ."""
PAIRS = [(to, version) for to, versions in JUDGES.items() for version in versions]
SMALLEST_OF_SOLR = 2e-13  # half a float32 of the slack of 1e-6, which Solr adds to every threshold
DROP_CONSTANT = {"elasticsearch", "opensearch", "ranklib", "solr"}


def zeros(**kwargs):
    """Data with missing features that are read as 0."""
    q = data(missing=True)
    return dx.Queries.from_arrays(
        q.features, q.labels, qid=np.repeat(np.arange(40), 20), missing="zero", **kwargs
    )


def edges(tiny=None):
    """Values that float32's last bit, Solr's slack of 1e-6 or a double tells apart; large and small ones."""
    rng = np.random.default_rng(0)
    steps = rng.integers(0, 5, (800, 5))
    one = np.float64(np.float32(1.0) + np.arange(5) * np.finfo(np.float32).eps)
    slack = np.float64(np.float32([0.25, 0.25 + 5e-7, 0.25 + 1e-6, 0.25 + 1.5e-6, 0.25 + 2e-6]))
    small = np.float64(np.float32([-1e-6, -5e-7, 0.0, 1e-9, 1e-6] if tiny is None else tiny))
    large = np.array([-LARGEST, -1e30, 0.0, 1e30, LARGEST])
    close = 0.1 + np.arange(5) * 1e-17
    X = np.column_stack([values[steps[:, f]] for f, values in enumerate((one, slack, small, large, close))])
    labels = (steps @ [2, -1, 1, 2, 1] > 6) + (steps[:, 0] > 2)
    return dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(40), 20), missing="nan")


def small(n_documents):
    """Too few documents to split."""
    X = np.random.default_rng(0).random((n_documents, 5))
    return dx.Queries.from_arrays(X, np.arange(n_documents) % 3, group=[5] * (n_documents // 5))


def ones():
    return dx.Queries.from_arrays(np.ones((60, 5)), np.arange(60) % 2, group=[10] * 6)


def large():
    """500 trees of 31 leaves, which Vespa runs in another way than small models."""
    return dx.BoostedRanker(n_trees=500, oblivious=False, min_data_in_leaf=5, patience=None)


CASES = {
    **MODELS,
    "linear, zero": (dx.LinearRanker(scale="standard", max_iter=20), zeros()),
    "linear, plain, zero": (dx.LinearRanker(max_iter=20), zeros()),
    "linear, minmax, zero": (dx.LinearRanker(scale="minmax", max_iter=20), zeros()),
    "linear, log, zero": (dx.LinearRanker(scale="log", max_iter=20), zeros()),
    "linear, quantiles, zero": (dx.LinearRanker(scale="quantile", max_iter=20), zeros()),
    "linear, no weight": (dx.LinearRanker(scale="standard", max_iter=5), ones()),
    "network, zero": (dx.MLPRanker(hidden=(4,), scale="standard", residual=False, max_iter=20), zeros()),
    "stumps, zero": (dx.StumpRanker(max_iter=20), zeros()),
    "trees, zero": (dx.BoostedRanker(n_trees=30), zeros()),
    "trees, scaled, zero": (dx.BoostedRanker(n_trees=20, scale="standard"), zeros()),
    "trees, edges": (dx.BoostedRanker(n_trees=30, oblivious=False, min_data_in_leaf=5), edges()),
    "trees, tiny": (
        dx.BoostedRanker(n_trees=10, min_data_in_leaf=5),
        edges([-1e-45, 0.0, 1e-45, 1e-38, 1e-6]),
    ),
    "trees, none": (dx.BoostedRanker("lambdarank", n_trees=10), small(15)),
    "trees, constant features": (dx.BoostedRanker(n_trees=3), ones()),
    "trees, 500": (large(), data()),
    "trees, missing, 500": (large(), data(missing=True)),
}
"""Models, each with the data that it is trained with."""
_FITTED = {}


def fitted(case):
    if case not in _FITTED:
        ranker, q = CASES[case]
        ranks_nothing = case in ("linear, no weight", "trees, none", "trees, constant features")
        with pytest.warns(UserWarning, match="it ranks nothing") if ranks_nothing else nullcontext():
            _FITTED[case] = ranker.fit_queries(q), q
    return _FITTED[case]


def names_of(q):
    return list(q.feature_names or [f"feature_{number}" for number in range(1, q.n_features + 1)])


def thresholds(ranker):
    return np.unique(getattr(getattr(ranker, "trees_", None), "threshold", np.zeros(0)))


def rows(ranker, q):
    """Return rows of the data in float32, and rows of thresholds, their neighbors and zeros of both signs."""
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        near = np.float32(thresholds(ranker)[:2000])
    near = np.concatenate(
        [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    )
    near = np.concatenate([near[np.isfinite(near)], np.float32([0.0, -0.0, 1.0, -1.0, 1e-6, 100.0, -100.0])])
    drawn = rng.choice(near, (1000, q.n_features))
    X = np.concatenate([np.float64(np.float32(q.features)), np.float64(drawn)])
    for feature, names in enumerate(q.categories or ()):
        if names is not None:
            X[:, feature] = rng.integers(0, len(names), len(X))
    return X


def ours(ranker, q, X):
    check = dx.Queries.from_arrays(
        X, np.zeros(len(X)), group=[len(X)], missing="zero" if q.missing == "zero" else "nan"
    )
    return ranker.predict_queries(replace(check, feature_names=q.feature_names, categories=q.categories))


def queries(to, q):
    """Return the queries by which Elasticsearch from 8.15 on computes the features."""
    return {name: {"match": {"title": "{{query}}"}} for name in names_of(q)} if to == "elastic" else None


def written(case, to, version, path):
    """The exported file for a version of an engine; those of RankLib and Vespa have none."""
    ranker, q = fitted(case)
    versioned = to if to in ("ranklib", "vespa") or version is None else f"{to}:{version}"
    found = dx.export(ranker, path, to=versioned, queries=queries(to, q))
    return path.read_bytes(), found.note


def judge(content, to, version, names):
    """The scores by an engine's rules, of rows in which NaN is a feature that is missing there."""
    if to == "elastic":
        scores = elastic.load(content, version, names)
    elif to == "ranklib":
        scores = ranklib.load(content, names)
    elif to == "solr":
        # features that say `"defaultValue": "NaN"`, where the model asks for them
        null = json.loads(content)["params"].get("isNullSameAsZero", True)
        scores = solr.load(content, version, names, default=0.0 if null else np.nan)
    elif to == "vespa":
        scores = vespa.load(content, names, fast_forest=version != "8")
    else:
        scores = plugin.load(content, to, version, names)

    def quiet(X):
        with np.errstate(all="ignore"):
            return np.float64(scores(X))

    return quiet


def assert_same(theirs, expected, to, case):
    """Compare to float32, but for one constant where the engine has none."""
    if to in DROP_CONSTANT and ("line" in case or "no layer" in case):
        theirs = theirs + np.median(expected - theirs)
    tolerance = 1e-5 * np.maximum(np.abs(expected), np.abs(expected).mean())
    if not expected.any():
        tolerance = 1e-6
    wrong = ~(np.abs(theirs - expected) <= tolerance)
    assert not wrong.any(), (int(wrong.sum()), len(wrong), theirs[wrong][:3], expected[wrong][:3])


def tree_case(case):
    return case == "ensemble of trees" or case.startswith(("trees", "stumps"))


def reads_missing(case, to):
    """Tell whether a ranker reads missing features, and the format has its answer: no weights hold a mean."""
    ranker, q = fitted(case)
    if not ranker.takes_missing and q.missing != "zero":
        return False
    return to == "vespa" or q.missing == "zero" or tree_case(case)


NO_INFINITY = {("opensearch", "3.7"), *(("elastic", version) for version in elastic.VERSIONS)}
"""Engines to which an infinite value is missing, or compares as a missing one."""
TREES_WITH_MISSING = {"trees, missing", "trees, missing, 500", "trees, quantiles"}
LEARNS_MISSING = {("elasticsearch", "1.5.9"), ("opensearch", "3.8"), ("solr", "9.2")}
PLAIN = {name for name in CASES if name.startswith("linear") and "log" not in name and "quant" not in name}
PLAIN = (PLAIN | {"network, no layer"}) - {"linear, twice", "linear, missing"}
FORESTS = {name for name in CASES if tree_case(name)} - {"trees, categories"}
NETWORKS = {"network", "network, tanh", "network, zero"}


def takes(case, to, version):
    """Whether the engine can run the model, by its source; None where it is for the exporter to say."""
    if to == "vespa":
        return case != "trees, categories"
    if to == "elastic":
        return case in FORESTS
    if case in TREES_WITH_MISSING:
        if to == "opensearch" and version == "3.7":
            return None  # the children can be arranged, but for one way of a feature that is missing
        return (to, version) in LEARNS_MISSING
    if case == "linear, missing":
        return False  # it takes the mean for a missing feature, and the engine 0
    if case in NETWORKS:
        return to == "solr"
    return case in FORESTS | PLAIN


def check(content, to, version, case, *, infinite=True):
    """A file scores as the ranker does, on all rows that both can score."""
    ranker, q = fitted(case)
    scores, X = judge(content, to, version, names_of(q)), rows(ranker, q)
    if to == "solr":
        X[np.abs(X) < SMALLEST_OF_SOLR] = 0.0
    assert_same(scores(X), ours(ranker, q, X), to, case)
    if reads_missing(case, to):
        X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
        X[0] = np.nan
        assert_same(scores(X), ours(ranker, q, X), to, case)
    if tree_case(case):
        # the rankers refuse infinite values, which take the branch of the largest number
        X[np.isnan(X)] = 0.0
        X[np.random.default_rng(3).random(X.shape) < 0.1] = LARGEST
        X[np.random.default_rng(4).random(X.shape) < 0.1] = -LARGEST
        expected = ours(ranker, q, X)
        assert_same(scores(X), expected, to, case)
        if infinite and (to, version) not in NO_INFINITY and (np.abs(thresholds(ranker)) < LARGEST).all():
            X = np.where(np.abs(X) == LARGEST, np.copysign(np.inf, X), X)
            assert_same(scores(X), expected, to, case)


SLOW = [pytest.param(case, marks=pytest.mark.slow) if "500" in case else case for case in CASES]


@pytest.mark.parametrize("case", SLOW)
@pytest.mark.parametrize(("to", "version"), PAIRS)
def test_the_engine_scores_as_the_ranker(to, version, case, tmp_path):
    try:
        content, _ = written(case, to, version, tmp_path / "model")
    except InputError:
        assert not takes(case, to, version)
        return
    assert takes(case, to, version) is not False
    check(content, to, version, case)


@pytest.mark.parametrize("case", SLOW)
@pytest.mark.parametrize("to", [to for to, versions in JUDGES.items() if len(versions) > 1 and to != "vespa"])
def test_a_file_without_a_version_suits_those_of_its_note(to, case, tmp_path):
    try:
        content, note = written(case, to, None, tmp_path / "model")
    except InputError:
        assert not takes(case, to, JUDGES[to][-1])
        return
    first = re.search(r"from ([\d.]+) on", note)
    oldest = "8.15" if to == "elastic" else first[1] if first else "0"
    for version in JUDGES[to]:
        if tuple(map(int, version.split("."))) >= tuple(map(int, oldest.split("."))):
            check(content, to, version, case, infinite=to != "opensearch")


def test_solr_cannot_tell_tiny_values_from_zero(tmp_path):
    """A file is still written where no row of the data shows it."""
    ranker, q = fitted("trees, tiny")
    with pytest.raises(InputError, match=r"rows have other scores"):
        dx.export(ranker, tmp_path / "model", to="solr", check=q)


@pytest.mark.parametrize(
    "case", sorted(case for case in FORESTS if case not in ("trees, none", "trees, constant features"))
)
def test_vespa_finds_one_forest(case, tmp_path):
    content, _ = written(case, "vespa", None, tmp_path / "model")
    ranker, q = fitted(case)
    scores = vespa.load(content, names_of(q))
    assert len(scores.forests) == 1
    if hasattr(ranker, "trees_"):
        assert scores.forests == [len(ranker.trees_.n_leaves)]


@pytest.mark.parametrize(
    ("model", "kind"), [("linear, named", "isotonic"), ("trees", "platt"), ("network, residual", "isotonic")]
)
def test_vespa_gives_the_probabilities_of_calibrated_models(model, kind, tmp_path):
    ranker, q = MODELS[model]
    ranker = clone(ranker).fit_queries(q.take(range(1, q.n_queries)))
    ranker.calibrate(q, kind)
    dx.export(ranker, tmp_path / "model", to="vespa")
    content = (tmp_path / "model").read_bytes()
    scores = vespa.load(content, names_of(q))
    (function,) = [name for name in scores.functions if "probability" in name]
    X = rows(ranker, q)
    expected = ranker.calibration_(ours(ranker, q, X))
    np.testing.assert_allclose(scores(X, function), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["true", "false", "if"])
def test_vespa_has_other_uses_of_some_names(name, tmp_path):
    """The content node takes ``true`` for 1, whatever a feature is called."""
    ranker = dx.BoostedRanker(n_trees=3).fit_queries(data(names=["a", "b", name, "d", "e"]))
    with pytest.raises(InputError, match=name):
        dx.export(ranker, tmp_path / "model", to="vespa")


@pytest.mark.parametrize("case", ["trees", "trees, missing", "trees, edges"])
def test_elastic_gets_the_documents_of_every_node(case, tmp_path):
    """Contributions weigh the sides of a split by them: TreeInferenceModel.shapRecursive."""
    _, q = fitted(case)
    body = json.loads(written(case, "elastic", "8.15", tmp_path / "model")[0])
    for one in body["definition"]["trained_model"]["ensemble"]["trained_models"]:
        nodes = one["tree"]["tree_structure"]
        samples = [node["number_samples"] for node in nodes]
        splits = [node for node in nodes if "left_child" in node]
        sides = [samples[node["left_child"]] + samples[node["right_child"]] for node in splits]
        assert [node["number_samples"] for node in splits] == sides
        assert samples[0] == q.n_docs
