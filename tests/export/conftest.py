"""One small fitted ranker of each kind."""

from dataclasses import replace

import numpy as np
import pytest

import directrix as dx


def data(*, missing=False, names=None):
    q, _ = dx.data.make_linear(40, 20, 5, seed=0)
    X, rng = q.features.copy(), np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = 0.0
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return dx.Queries.from_arrays(
        X, q.labels, qid=np.repeat(np.arange(40), 20), feature_names=names, missing="nan"
    )


def with_categories():
    q = data(names=["size", "color", "price", "age", "votes"])
    X = q.features.copy()
    X[:, 1] = np.random.default_rng(1).integers(0, 6, len(X))
    labels = np.isin(X[:, 1], (1, 4)) + (X[:, 0] > 0.5)
    q = replace(q, features=X, labels=labels.astype(float))
    return replace(
        q, categories=(None, ("blue", "it's red", "green", "pink", "grey", "white"), None, None, None)
    )


MODELS = {
    "linear": (dx.LinearRanker(max_iter=20), data()),
    "linear, named": (
        dx.LinearRanker(scale="standard", max_iter=20),
        data(names=["bm25(title)", "attribute(age)", "fieldMatch(body).proximity", "freshness", "x_1"]),
    ),
    "linear, missing": (dx.LinearRanker(scale="standard", max_iter=20), data(missing=True)),
    "linear, constant feature": (dx.LinearRanker(scale="minmax", max_iter=20), data()),
    "linear, log": (dx.LinearRanker(scale="log", max_iter=20), data(missing=True)),
    "linear, quantiles": (dx.LinearRanker(scale="quantile", max_iter=20), data(missing=True)),
    "linear, twice": (dx.LinearRanker(scale="raw+log", max_iter=20), data()),
    "network": (dx.MLPRanker(hidden=(6, 4), scale="standard", residual=False, max_iter=20), data()),
    "network, tanh": (dx.MLPRanker(hidden=(5,), activation="tanh", residual=False, max_iter=20), data()),
    "network, residual": (dx.MLPRanker(hidden=(6, 6), scale="minmax", max_iter=20), data()),
    "network, quantiles": (dx.MLPRanker(hidden=(6, 6), scale="quantile", max_iter=20), data(missing=True)),
    "network, no layer": (dx.MLPRanker(hidden=(), scale="standard", max_iter=20), data()),
    "stumps": (dx.StumpRanker(max_iter=20), data()),
    "trees": (dx.BoostedRanker(n_trees=30), data()),
    "trees, missing": (dx.BoostedRanker(n_trees=30), data(missing=True)),
    "trees, quantiles": (dx.BoostedRanker(n_trees=20, scale="quantile", oblivious=False), data()),
    "trees, categories": (dx.BoostedRanker(n_trees=20), with_categories()),
    "ensemble": (
        dx.EnsembleRanker([dx.LinearRanker(scale="standard", max_iter=5), dx.BoostedRanker(n_trees=10)]),
        data(),
    ),
    "ensemble of trees": (
        dx.EnsembleRanker([dx.StumpRanker(max_iter=5), dx.BoostedRanker(n_trees=10)]),
        data(),
    ),
    "ensemble of lines": (
        dx.EnsembleRanker([dx.LinearRanker(max_iter=3), dx.LinearRanker(scale="standard", max_iter=5)]),
        data(),
    ),
}

_FITTED = {}


@pytest.fixture(scope="session")
def fitted():
    """From the name of a model to the fitted ranker and its data."""

    def of(name):
        if name not in _FITTED:
            ranker, q = MODELS[name]
            _FITTED[name] = ranker.fit_queries(q), q
        return _FITTED[name]

    return of
