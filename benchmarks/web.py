"""Artificial data of the benchmarks that are like those of web search."""

from __future__ import annotations

import numpy as np

from directrix import Queries


def make_web(n_queries: int = 1000, n_features: int = 60, *, noise: float = 0.6, seed: int = 0) -> Queries:
    r"""Make data as web search has them: heavy-tailed features, levels by query, interacting thresholds.

    Documents have hidden values :math:`z_j \sim N(0, 1)` and a score

    .. math:: s = \sum_{25} a\,[z_i > t] + 0.6 \sum_{40} a \tanh z_i \tanh z_j
              + \sum_{20} a\,[z_i > t][z_j > t'] \qquad (a, t, t' \sim N(0, 1))

    over features i, j drawn uniformly. It is standardized; noise of deviation ``noise`` for every document
    and 0.5 for every query is added, and labels 0 to 4 are cut at the quantiles .55, .78, .92 and .98 of
    all documents, so that queries differ in how many relevant documents they have. A feature is
    :math:`\exp(c_j (z_j + 0.8\, l_{qj}) + d_j)` with a level :math:`l_{qj} \sim N(0, 1)` of its query for
    about half of the features, :math:`c_j \sim U(0.5, 2.5)` and :math:`d_j \sim U(-1, 5)`.

    Parameters
    ----------
    n_queries, n_features : int >= 1
        Size. Queries have 3 to 250 documents, log-normally distributed, about 35 in the mean.
    noise : float >= 0
        Deviation of what no feature tells, in deviations of the score.
    seed : int
        To get parts of one data set take some of its queries.

    Returns
    -------
    Queries
        float32 features, up to about 1e8.
    """
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(3.4, 0.6, n_queries).astype(np.int64), 3, 250)
    query = np.repeat(np.arange(n_queries), sizes)
    z = rng.standard_normal((len(query), n_features))
    levels = rng.standard_normal((n_queries, n_features)) * (rng.random(n_features) < 0.5)
    spread, offset = rng.uniform(0.5, 2.5, n_features), rng.uniform(-1.0, 5.0, n_features)
    scores = np.zeros(len(query))
    for kind, count in (("step", 25), ("product", 40), ("steps", 20)):
        for i, j in rng.integers(n_features, size=(count, 2)):
            a, t, u = rng.standard_normal(3)
            if kind == "product":
                scores += 0.6 * a * np.tanh(z[:, i]) * np.tanh(z[:, j])
            else:
                scores += a * ((z[:, i] > t) & ((kind == "step") | (z[:, j] > u)))
    scores = (scores - scores.mean()) / (scores.std() or 1.0) + noise * rng.standard_normal(len(query))
    scores += 0.5 * rng.standard_normal(n_queries)[query]
    labels = np.searchsorted(np.quantile(scores, (0.55, 0.78, 0.92, 0.98)), scores, side="right")
    features = np.exp(spread * (z + 0.8 * levels[query]) + offset).astype(np.float32)
    return Queries.from_arrays(features, labels.astype(np.float64), group=sizes)
