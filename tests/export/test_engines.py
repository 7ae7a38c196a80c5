"""Exported files, judged by the engines' own rules (``engines``): what is taken, and that it scores as the ranker does."""

import json
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError

from .conftest import MODELS, data
from .engines import elastic, plugin, ranklib, solr, vespa
from .engines.rules import RefusedError

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
    return dx.Queries.from_arrays(q.features, q.labels, qid=np.repeat(np.arange(40), 20), missing="zero", **kwargs)


def edges(tiny=None):
    """Values that only float32's last bit, Solr's slack of 1e-6 or a double tells apart, and the largest and smallest."""
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


LARGE = dx.BoostedRanker(n_trees=500, oblivious=False, min_data_in_leaf=5, patience=None)
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
    "trees, tiny": (dx.BoostedRanker(n_trees=10, min_data_in_leaf=5), edges([-1e-45, 0.0, 1e-45, 1e-38, 1e-6])),
    "trees, none": (dx.BoostedRanker("lambdarank", n_trees=10), small(15)),
    "trees, constant features": (dx.BoostedRanker(n_trees=3), ones()),
    "trees, 500": (LARGE, data()),
    "trees, missing, 500": (LARGE, data(missing=True)),
}
"""Models, each with the data that it is trained with."""
_FITTED = {}


def fitted(case):
    if case not in _FITTED:
        ranker, q = CASES[case]
        _FITTED[case] = ranker.fit_queries(q), q
    return _FITTED[case]


def names_of(q):
    return list(q.feature_names or [f"feature_{number}" for number in range(1, q.n_features + 1)])


def thresholds(ranker):
    return np.unique(getattr(getattr(ranker, "trees_", None), "threshold", np.zeros(0)))


def rows(ranker, q):
    """Real rows in float32, and rows of thresholds with their neighbors, zeros of both signs, and large numbers."""
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        near = np.float32(thresholds(ranker)[:2000])
    near = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    near = np.concatenate([near[np.isfinite(near)], np.float32([0.0, -0.0, 1.0, -1.0, 1e-6, 100.0, -100.0])])
    drawn = rng.choice(near, (1000, q.n_features))
    X = np.concatenate([np.float64(np.float32(q.features)), np.float64(drawn)])
    for feature, names in enumerate(q.categories or ()):
        if names is not None:
            X[:, feature] = rng.integers(0, len(names), len(X))
    return X


def ours(ranker, q, X):
    check = dx.Queries.from_arrays(X, np.zeros(len(X)), group=[len(X)], missing="zero" if q.missing == "zero" else "nan")
    return ranker.predict_queries(replace(check, feature_names=q.feature_names, categories=q.categories))


def written(case, to, version, path):
    """The exported file for a version of an engine."""
    ranker, _ = fitted(case)
    dx.export(ranker, path, to=to)
    return path.read_bytes()


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
    """To float32, but for one constant where the engine has none."""
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
    """Whether a ranker reads missing features at all, and the format has its answer: the mean is in no plain weights."""
    ranker, q = fitted(case)
    if not ranker.takes_missing and q.missing != "zero":
        return False
    return to == "vespa" or q.missing == "zero" or tree_case(case)


TREES_WITH_MISSING = {"trees, missing", "trees, missing, 500", "trees, quantiles"}
LEARNS_MISSING = {
    ("elasticsearch", "1.5.9"),
    ("elasticsearch", "1.5.12"),
    ("opensearch", "3.8"),
    ("solr", "9.2"),
    ("solr", "10.0"),
}
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
        if to == "opensearch" and version in ("3.2", "3.7"):
            return None  # the children can be arranged, but for one way of a feature that is missing
        return (to, version) in LEARNS_MISSING
    if case == "trees, tiny" and to == "solr":
        return None
    if case == "linear, missing":
        return None  # it takes the mean for a missing feature, and the engine 0
    if case in NETWORKS:
        return to == "solr"
    return case in FORESTS | PLAIN


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("to", "version"), PAIRS)
def test_the_engine_scores_as_the_ranker(to, version, case, tmp_path):
    ranker, q = fitted(case)
    try:
        content = written(case, to, version, tmp_path / "model")
    except InputError:
        assert not takes(case, to, version)
        return
    assert takes(case, to, version) is not False
    scores, X = judge(content, to, version, names_of(q)), rows(ranker, q)
    if to == "solr" and case != "trees, tiny":
        X[np.abs(X) < SMALLEST_OF_SOLR] = 0.0
    assert_same(scores(X), ours(ranker, q, X), to, case)
    if reads_missing(case, to):
        X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
        X[0] = np.nan
        assert_same(scores(X), ours(ranker, q, X), to, case)
    if tree_case(case):
        # the rankers refuse infinite values; they take the branch of the largest number. To Elastic they are missing.
        X[np.isnan(X)] = 0.0
        X[np.random.default_rng(3).random(X.shape) < 0.1] = LARGEST
        X[np.random.default_rng(4).random(X.shape) < 0.1] = -LARGEST
        assert_same(scores(X), ours(ranker, q, X), to, case)
        if to != "elastic":
            infinite = np.where(np.abs(X) == LARGEST, np.copysign(np.inf, X), X)
            at_largest = np.isin(thresholds(ranker), (LARGEST, -LARGEST)).any()
            assert at_largest or (scores(infinite) == scores(X)).all()


@pytest.mark.parametrize("case", sorted(case for case in FORESTS if case not in ("trees, none", "trees, constant features")))
def test_vespa_finds_one_forest(case, tmp_path):
    content = written(case, "vespa", "8", tmp_path / "model")
    ranker, q = fitted(case)
    n_trees = sum(len(one.trees_.n_leaves) for one in getattr(ranker, "rankers_", [ranker]))
    assert vespa.load(content, names_of(q)).forests == [n_trees]
