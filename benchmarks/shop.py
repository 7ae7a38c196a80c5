"""Synthetic data of a shop's search, of any number of queries."""

from __future__ import annotations

import numpy as np

from directrix import Queries

PARTS = ("train", "valid", "test")
_BY_QUERY, _N_FEATURES = 8, 40
_SHARES = (0.81, 0.12, 0.05, 0.02)  # of the labels 0 to 3


def make_shop(n_queries: int, part: str = "train", *, seed: int = 0) -> Queries:
    r"""Make sparse counts with missing values, and features of the query that act through interactions.

    A query has about 37 documents, log-normally distributed (5 to 200). Hidden values
    :math:`z_j \sim N(0, 1)` of documents, and q_k of queries, give the score

    .. math:: s = \sum_{12} a \tanh z_i + \sum_{25} a\,[q_k > t][z_i > u] + \sum_{15} a \tanh q_k \tanh z_i
              + \sum_{10} a\,[z_i > t][z_j > u]

    with a, t, u ~ N(0, 1). It is standardized; noise of deviation 0.7 is added. Labels 0 to 3 are cut at
    quantiles that give them .81, .12, .05 and .02 of the documents. The 8 features of the query are q_k. Of
    the 32 of documents 16 are counts :math:`\mathrm{Poisson}(0.3\, e^{z_j})`, 8 are
    :math:`e^{z_j}` of which a quarter are missing (NaN), and 8 are z_j with noise.
    """
    law = np.random.default_rng([seed, len(PARTS)])
    kinds = np.repeat(["one", "gate", "cross", "both"], (12, 25, 15, 10))
    first = law.integers(_BY_QUERY, _N_FEATURES, len(kinds))
    second = np.where(kinds == "both", law.permutation(first), law.integers(_BY_QUERY, size=len(kinds)))
    numbers = law.standard_normal((len(kinds), 3))

    def scores_of(z: np.ndarray) -> np.ndarray:
        scores = np.zeros(z.shape[1])
        for kind, i, j, (a, t, u) in zip(kinds, first, second, numbers, strict=True):
            if kind == "one":
                scores += a * np.tanh(z[i])
            elif kind == "cross":
                scores += a * np.tanh(z[j]) * np.tanh(z[i])
            else:
                scores += a * ((z[j] > t) & (z[i] > u))
        return scores

    reference = scores_of(law.standard_normal((_N_FEATURES, 100_000)))
    mean, deviation = reference.mean(), reference.std()
    noisy = (reference - mean) / deviation + 0.7 * law.standard_normal(len(reference))
    cuts = np.quantile(noisy, np.cumsum(_SHARES)[:-1])

    rng = np.random.default_rng([seed, PARTS.index(part)])
    sizes = np.clip(rng.lognormal(3.45, 0.55, n_queries).astype(np.int64), 5, 200)
    query = np.repeat(np.arange(n_queries), sizes)
    z = rng.standard_normal((_N_FEATURES, len(query)))
    z[:_BY_QUERY] = rng.standard_normal((_BY_QUERY, n_queries))[:, query]
    scores = (scores_of(z) - mean) / deviation + 0.7 * rng.standard_normal(len(query))
    labels = np.searchsorted(cuts, scores, side="right").astype(np.float64)
    z[8:24] = rng.poisson(0.3 * np.exp(z[8:24]))
    z[24:32] = np.where(rng.random((8, len(query))) < 0.25, np.nan, np.exp(z[24:32]))
    z[32:] += 0.3 * rng.standard_normal((8, len(query)))
    return Queries.from_arrays(z.T.astype(np.float32), labels, group=sizes, missing="nan")
