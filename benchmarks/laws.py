"""Synthetic data of five kinds of laws, in four forms of features, of any number of queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directrix import Queries

KINDS = ("additive", "thresholds", "products", "levels", "query")
FORMS = ("dense", "heavy", "sparse", "missing")
PARTS = ("train", "valid", "test")
_BY_QUERY, _N_FEATURES = 6, 30
_SHARES = {2: (0.85,), 3: (0.7, 0.9), 5: (0.52, 0.84, 0.97, 0.99)}  # of the labels below each cut


class Law(NamedTuple):
    r"""A distribution of documents, features and labels, which its fields determine.

    A query has about 20 documents, log-normally distributed (3 to 100). Documents have hidden values
    :math:`z_j \sim N(0, 1)`, of which the first 6 are those of their query in the kind "query", and a score

    - additive: :math:`\sum_{20} a \tanh(2 z_i - t)`
    - thresholds: :math:`\sum_{10} a\,[z_i > t] + \sum_{25} a\,[z_i > t][z_j > u]`
    - products: :math:`\sum_{5} a \tanh z_i + \sum_{30} a \tanh z_i \tanh z_j`
    - levels: as thresholds; two thirds of the features show :math:`z_j` plus a level of their query, N(0, 1)
    - query: as products and thresholds of 30 pairs of a value of the query and one of the document, and
      :math:`\sum_{10} a \tanh z_i`

    with a, t, u ~ N(0, 1). It is standardized, and noise of deviation 0.7 is added. Labels are cut at fixed
    quantiles. Features are z ("dense"), :math:`e^{2z}` ("heavy"), for half of them counts
    :math:`\mathrm{Poisson}(0.3\,e^z)` ("sparse"), or z of which a quarter are NaN ("missing").
    """

    kind: str
    form: str
    grades: int
    n_queries: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.form}-{self.n_queries}"

    def queries(self, part: str, n_queries: int) -> Queries:
        """Draw the queries of a part."""
        law = np.random.default_rng([self.seed, KINDS.index(self.kind), len(PARTS)])
        terms = self._terms(law)
        reference = self._scores(law.standard_normal((_N_FEATURES, 100_000)), terms)
        mean, deviation = reference.mean(), reference.std()
        noisy = (reference - mean) / deviation + 0.7 * law.standard_normal(len(reference))
        cuts = np.quantile(noisy, _SHARES[self.grades])

        rng = np.random.default_rng([self.seed, PARTS.index(part)])
        sizes = np.clip(rng.lognormal(2.85, 0.55, n_queries).astype(np.int64), 3, 100)
        query = np.repeat(np.arange(n_queries), sizes)
        z = rng.standard_normal((_N_FEATURES, len(query)))
        if self.kind == "query":
            z[:_BY_QUERY] = rng.standard_normal((_BY_QUERY, n_queries))[:, query]
        scores = (self._scores(z, terms) - mean) / deviation + 0.7 * rng.standard_normal(len(query))
        labels = np.searchsorted(cuts, scores, side="right").astype(np.float64)
        if self.kind == "levels":
            z[::3] -= (levels := rng.standard_normal((_N_FEATURES, n_queries))[:, query])[::3]
            z += levels
        if self.form == "heavy":
            z = np.exp(2.0 * z)
        elif self.form == "sparse":
            z[::2] = rng.poisson(0.3 * np.exp(np.minimum(z[::2], 8.0)))
        elif self.form == "missing":
            z[rng.random(z.shape) < 0.25] = np.nan
        return Queries.from_arrays(z.T.astype(np.float32), labels, group=sizes, missing="nan")

    def _terms(self, rng: np.random.Generator) -> list[tuple[str, int, int, np.ndarray]]:
        counts = {
            "additive": {"curve": 20},
            "thresholds": {"step": 10, "steps": 25},
            "products": {"one": 5, "product": 30},
            "levels": {"step": 10, "steps": 25},
            "query": {"one": 10, "product": 15, "steps": 15},
        }[self.kind]
        first = _BY_QUERY if self.kind == "query" else 0
        kinds = [kind for kind, count in counts.items() for _ in range(count)]
        others = rng.integers(first or _N_FEATURES, size=len(kinds))
        own = rng.integers(first, _N_FEATURES, len(kinds))
        return list(zip(kinds, own, others, rng.standard_normal((len(kinds), 3)), strict=True))

    @staticmethod
    def _scores(z: np.ndarray, terms: list[tuple[str, int, int, np.ndarray]]) -> np.ndarray:
        scores = np.zeros(z.shape[1])
        for kind, i, j, (a, t, u) in terms:
            scores += (
                a
                * {
                    "curve": lambda i=i, t=t: np.tanh(2.0 * z[i] - t),
                    "one": lambda i=i: np.tanh(z[i]),
                    "product": lambda i=i, j=j: np.tanh(z[i]) * np.tanh(z[j]),
                    "step": lambda i=i, t=t: z[i] > t,
                    "steps": lambda i=i, j=j, t=t, u=u: (z[i] > t) & (z[j] > u),
                }[kind]()
            )
        return scores
