"""Synthetic web search data of any size, part by part: at 31,500 queries the size of MSLR-WEB30K.

python benchmarks/large.py train.parquet --queries 31500 [--part train] [--seed 0]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from directrix import Queries
from directrix.data import formats

N_FEATURES = 136
PARTS = ("train", "valid", "test")
_CHUNK = 256  # queries that are drawn together
_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # of the labels 0 to 4, as in MSLR-WEB30K
_BY_QUERY, _COUNTS, _BINARY = slice(0, 16), slice(16, 56), slice(56, 66)
_REFERENCE = len(PARTS)  # a part of the data that only places the labels' cuts


class Law:
    r"""Distribution of documents, features and labels, fixed by a seed whatever the number of queries.

    A query has about 120 documents, log-normally distributed (2 to 1,000). Documents have hidden values
    :math:`z_j \sim N(0, 1)`, the first 16 of which all documents of a query share, and a score

    .. math:: s = \sum_{40} a\,[z_i > t] + 0.6 \sum_{40} a \tanh z_i \tanh z_j
              + \sum_{30} a\,[z_i > t][z_j > u] + \sum_{20} a\,[q_k > t][z_i > u]

    with a, t, u ~ N(0, 1), uniformly drawn features i, j of documents, and features k of queries. It is
    standardized; noise of deviation 0.6 for every document and 0.5 for every query is added. Labels 0 to 4
    are cut at quantiles that give them .52, .32, .13, .02 and .01 of all documents.

    A feature is :math:`v_j = \exp(c_j (z_j + 0.8\, l_{qj}) + d_j)` with a level :math:`l_{qj} \sim N(0, 1)`
    of its query for half of them and :math:`c_j \sim U(0.5, 2.5)`: 16 features of the query, 40 counts
    (:math:`\lfloor v_j \rfloor`, at most 1e6, many of them 0), 10 flags (:math:`[v_j > 1]`), and 70 with
    heavy tails, up to about 1e7.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        rng = np.random.default_rng([seed, _REFERENCE + 1])
        self.spread = rng.uniform(0.5, 2.5, N_FEATURES).astype(np.float32)
        self.offset = rng.uniform(-1.0, 3.0, N_FEATURES).astype(np.float32)
        self.offset[_BINARY] = rng.uniform(-2.0, 1.0, 10)
        self.has_level = rng.random(N_FEATURES) < 0.5
        self.has_level[_BY_QUERY] = False
        kinds = np.repeat(["step", "product", "steps", "gate"], (40, 40, 30, 20))
        first = rng.integers(_BY_QUERY.stop, N_FEATURES, len(kinds))
        second = np.where(
            kinds == "gate", rng.integers(_BY_QUERY.stop, size=len(kinds)), rng.permutation(first)
        )
        numbers = rng.standard_normal((len(kinds), 3)).astype(np.float32)
        self.terms = list(zip(kinds, first, second, numbers, strict=True))
        self.mean, self.deviation, self.cuts = 0.0, 1.0, np.zeros(0)
        drawn = [self._hidden(_REFERENCE, number) for number in range(3)]
        scores = np.concatenate([self._scores(z) for z, _, _ in drawn])
        self.mean, self.deviation = float(scores.mean()), float(scores.std())
        noisy = np.concatenate([self._noisy(z, query, rng) for z, query, rng in drawn])
        self.cuts = np.quantile(noisy, np.cumsum(_SHARES)[:-1])

    def chunks(self, n_queries: int, part: str = "train") -> Iterator[Queries]:
        """Give the queries of a part in order; more queries have fewer ones as their beginning."""
        for first in range(0, n_queries, _CHUNK):
            z, query, rng = self._hidden(PARTS.index(part), first // _CHUNK)
            labels = np.searchsorted(self.cuts, self._noisy(z, query, rng), side="right").astype(np.float64)
            features, end = self._features(z, query, rng), np.searchsorted(query, n_queries - first)
            yield Queries.from_arrays(features[:end], labels[:end], qid=first + query[:end])

    def queries(self, n_queries: int, part: str = "train") -> Queries:
        """Return the queries of a part, with features that are in memory once."""
        starts = range(0, n_queries, _CHUNK)
        drawn = [self._sizes(PARTS.index(part), first // _CHUNK)[0] for first in starts]
        sizes = np.concatenate(drawn)[:n_queries]
        X, y = np.empty((sizes.sum(), N_FEATURES), np.float32), np.empty(sizes.sum())
        end = 0
        for chunk in self.chunks(n_queries, part):
            start, end = end, end + chunk.n_docs
            X[start:end], y[start:end] = chunk.features, chunk.labels
        return Queries.from_arrays(X, y, group=sizes)

    def write(self, path: Path, n_queries: int, part: str = "train") -> None:
        """Write a part as Parquet, Arrow or LETOR text, by the ending of the name; holds one chunk."""
        with (formats.named(path) or formats.LETOR).writing(path) as add:
            for chunk in self.chunks(n_queries, part):
                add(chunk)

    def _sizes(self, part: int, number: int) -> tuple[np.ndarray, np.random.Generator]:
        rng = np.random.default_rng([self.seed, part, number])
        return np.clip(rng.lognormal(4.6, 0.6, _CHUNK).astype(np.int64), 2, 1000), rng

    def _hidden(self, part: int, number: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
        """Hidden values (features, documents) of a chunk, and the query of every document."""
        sizes, rng = self._sizes(part, number)
        query = np.repeat(np.arange(_CHUNK), sizes)
        z = rng.standard_normal((N_FEATURES, len(query)), np.float32)
        z[_BY_QUERY] = rng.standard_normal((_BY_QUERY.stop, _CHUNK), np.float32)[:, query]
        return z, query, rng

    def _scores(self, z: np.ndarray) -> np.ndarray:
        scores = np.zeros(z.shape[1])
        for kind, i, j, (a, t, u) in self.terms:
            if kind == "product":
                scores += (0.6 * a) * (np.tanh(z[i]) * np.tanh(z[j]))
            elif kind == "step":
                scores += a * (z[i] > t)
            else:
                scores += a * ((z[i] > t) & (z[j] > u))
        return (scores - self.mean) / self.deviation

    def _noisy(self, z: np.ndarray, query: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        of_query = 0.5 * rng.standard_normal(_CHUNK)
        return self._scores(z) + of_query[query] + 0.6 * rng.standard_normal(len(query))

    def _features(self, z: np.ndarray, query: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Turn the hidden values into features (documents, features); overwrites them."""
        levels = 0.8 * rng.standard_normal((N_FEATURES, _CHUNK), np.float32)
        for j in range(N_FEATURES):
            if self.has_level[j]:
                z[j] += levels[j][query]
            np.exp(self.spread[j] * z[j] + self.offset[j], out=z[j])
        z[_COUNTS] = np.minimum(np.floor(z[_COUNTS]), 1e6)
        z[_BINARY] = z[_BINARY] > 1.0
        return np.ascontiguousarray(z.T)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="*.parquet, *.arrow, or LETOR text")
    parser.add_argument("--queries", type=int, default=1000, help="of about 120 documents")
    parser.add_argument("--part", choices=PARTS, default="train")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    Law(options.seed).write(options.path, options.queries, options.part)


if __name__ == "__main__":
    main()
