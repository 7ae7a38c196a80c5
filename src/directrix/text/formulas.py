r"""How well documents match a query: one function for each formula.

A term :math:`t` of the query occurs :math:`q_t` times in it, :math:`f_t` times in the document and
:math:`c_t` times in the collection; :math:`n_t` of the :math:`N` documents have it. The document has
:math:`l` terms, the mean document :math:`\bar l`, all documents :math:`C`. Terms that no document has count
only for coverage. All lengths and counts are those of one field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from directrix.text.fields import FieldTerms
from directrix.types import Float64Array, Int64Array

__all__ = [
    *("bigrams", "bm25", "cosine", "coverage", "dph", "idf_coverage", "idf_max", "idf_sum", "length"),
    *("lm_dirichlet", "lm_jelinek_mercer", "proximity", "tf_idf"),
]

# The smoothing of language models: mu of `lm_dirichlet`, and lambda of `lm_jelinek_mercer`.
_MU = 2000.0
_LAMBDA = 0.1
# The constant of `proximity`, as in Tao and Zhai (2007).
_NEAREST = 0.3


@dataclass(frozen=True, eq=False)
class Matched:
    """A query and documents in the form for formulas: arrays (n_terms,) of terms, (n_docs,) of documents."""

    field: FieldTerms
    """The field, with its numbers of documents and terms."""
    rows: Int64Array
    """Numbers of the documents."""
    tf: Float64Array
    """Occurrences of terms in documents, (n_docs, n_terms)."""
    near: Int64Array
    """Smallest distance between two different terms; 0 if fewer than two occur."""
    adjacent: Int64Array
    """Pairs of neighboring terms that are neighbors in the query too."""
    in_query: Float64Array
    """How often each term occurs in the query."""
    df: Int64Array
    """Number of documents that have each term; 0 for a term that none has."""
    cf: Int64Array
    """Number of its occurrences."""

    @cached_property
    def lengths(self) -> Float64Array:
        """Number of terms of every document, with repetitions."""
        offsets = self.field.tokens.offsets
        return (offsets[self.rows + 1] - offsets[self.rows]).astype(np.float64)

    @property
    def share(self) -> Float64Array:
        """c_t / C of the terms that occur in a document."""
        return np.asarray(self.cf[self.cf > 0] / max(self.field.n_tokens, 1))

    @property
    def idf(self) -> Float64Array:
        """ln(1 + (N - n_t + 1/2) / (n_t + 1/2)), which is positive and also defined where n_t = 0."""
        return np.log1p((self.field.n_docs - self.df + 0.5) / (self.df + 0.5))

    @property
    def weights(self) -> Float64Array:
        """(1 + ln f_t) ln(N / n_t), 0 where the term does not occur."""
        logs = np.log(self.tf, out=np.zeros_like(self.tf), where=self.tf > 0.0)
        return np.where(self.tf > 0.0, 1.0 + logs, 0.0) * np.log(self.field.n_docs / np.maximum(self.df, 1))


def tf_idf(m: Matched) -> Float64Array:
    r""":math:`\sum_t q_t (1 + \ln f_t) \ln(N / n_t)` over terms with :math:`f_t > 0`.

    Manning, Raghavan and Schütze (2008), Section 6.4.1.
    """
    return m.weights @ m.in_query


def bm25(m: Matched, k1: float, b: float) -> Float64Array:
    r""":math:`\sum_t q_t\, \mathrm{idf}_t\, f_t / (f_t + k_1 (1 - b + b\, l / \bar l))`.

    Here :math:`\mathrm{idf}_t = \ln(1 + (N - n_t + 1/2) / (n_t + 1/2))`. Robertson and Zaragoza (2009),
    Equation 3.15, in the form of Lucene: Kamphuis et al. (2020), Section 2.
    """
    # If all documents are empty, or k1 is 0, the bounds of 1e-300 keep the quotients defined.
    saturation = k1 * (1.0 - b + b * m.lengths / max(m.field.mean_length, 1e-300))
    return (m.tf / (m.tf + np.maximum(saturation, 1e-300)[:, None])) @ (m.in_query * m.idf)


def lm_dirichlet(m: Matched) -> Float64Array:
    r""":math:`\sum_t q_t \ln((f_t + \mu c_t / C) / (l + \mu))` with :math:`\mu = 2000`.

    Zhai and Lafferty (2004), Section 3.
    """
    occurs = m.cf > 0
    likelihood = (m.tf[:, occurs] + _MU * m.share) / (m.lengths[:, None] + _MU)
    return np.log(likelihood) @ m.in_query[occurs]


def lm_jelinek_mercer(m: Matched) -> Float64Array:
    r""":math:`\sum_t q_t \ln((1 - \lambda) f_t / l + \lambda c_t / C)` with :math:`\lambda = 0.1`.

    Zhai and Lafferty (2004), Section 3. An empty document has :math:`f_t / l = 0`.
    """
    occurs = m.cf > 0
    frequency = m.tf[:, occurs] / np.maximum(m.lengths, 1.0)[:, None]
    return np.log((1.0 - _LAMBDA) * frequency + _LAMBDA * m.share) @ m.in_query[occurs]


def cosine(m: Matched) -> Float64Array:
    r"""Cosine of the angle between query and document, with weights :math:`(1 + \ln f_t) \ln(N / n_t)`.

    0 if either has no weight. Manning, Raghavan and Schütze (2008), Section 6.3, "ltc.ltc".
    """
    # A term that no document has is in no document's vector, so its weight is 0.
    query = np.where(m.df > 0, (1.0 + np.log(m.in_query)) * np.log(m.field.n_docs / np.maximum(m.df, 1)), 0.0)
    norms = m.field.vector_lengths[m.rows] * np.linalg.norm(query)
    return np.asarray(np.divide(m.weights @ query, norms, out=np.zeros(len(norms)), where=norms > 0.0))


def dph(m: Matched) -> Float64Array:
    r"""Divergence from randomness without parameters, DPH, over terms with :math:`f_t > 0`.

    .. math:: \sum_t q_t \frac{(1 - r)^2}{f_t + 1} \Bigl( f_t \log_2 \frac{f_t \bar l N}{l\, c_t}
              + \tfrac12 \log_2 (2 \pi f_t (1 - r)) \Bigr), \qquad r = f_t / l

    A document of one term only has :math:`r = 1`, so that term adds 0. Amati, Ambrosi, Bianchi, Gaibisso and
    Gambosi (2007), "FUB, IASI-CNR and University of Tor Vergata at TREC 2007 Blog Track".
    """
    lengths = np.maximum(m.lengths, 1.0)[:, None]
    rest = 1.0 - m.tf / lengths
    counts = (m.tf > 0.0) & (rest > 0.0)
    tf, left = np.where(counts, m.tf, 1.0), np.where(counts, rest, 1.0)
    gain = tf * np.log2(
        np.maximum(tf * m.field.mean_length * m.field.n_docs / (lengths * np.maximum(m.cf, 1)), 1e-300)
    )
    values = left**2 / (tf + 1.0) * (gain + 0.5 * np.log2(2.0 * np.pi * tf * left))
    return np.asarray(np.where(counts, values, 0.0) @ m.in_query)


def coverage(m: Matched) -> Float64Array:
    """Share of the query's different terms that the document has; 0 for an empty query."""
    return np.asarray((m.tf > 0.0).sum(axis=1) / max(m.tf.shape[1], 1))


def idf_coverage(m: Matched) -> Float64Array:
    """Coverage with each term weighted by the idf of BM25."""
    total = m.idf.sum()
    return np.asarray((m.tf > 0.0) @ m.idf / (total if total > 0.0 else 1.0))


def proximity(m: Matched) -> Float64Array:
    r""":math:`\ln(0.3 + e^{-\delta})`, :math:`\delta` the smallest distance between two terms of the query.

    Neighbors have distance 1; with fewer than two terms :math:`\delta = l`. Tao and Zhai (2007), Section 4.
    """
    distance = np.where(m.near > 0, m.near, m.lengths)
    return np.log(_NEAREST + np.exp(-distance))


def bigrams(m: Matched) -> Float64Array:
    """ln(1 + n): n pairs of neighbors of the document are neighbors in the query, in the same order.

    After the ordered windows of Metzler and Croft (2005), Section 3.
    """
    return np.log1p(m.adjacent)


def length(m: Matched) -> Float64Array:
    """Number of terms of the document, with repetitions."""
    return m.lengths


def idf_sum(m: Matched) -> Float64Array:
    """Sum of the idf of BM25 over the query's different terms, a measure of their rarity."""
    return np.full(len(m.lengths), m.idf.sum())


def idf_max(m: Matched) -> Float64Array:
    """Largest idf of BM25 of the query's terms; 0 for an empty query."""
    return np.full(len(m.lengths), m.idf.max(initial=0.0))


FORMULAS: dict[str, Callable[[Matched], Float64Array]] = {
    "tf-idf": tf_idf,
    "bm25": lambda m: bm25(m, 1.2, 0.75),
    "bm25-0.9-0.4": lambda m: bm25(m, 0.9, 0.4),
    "lm-dirichlet": lm_dirichlet,
    "lm-jelinek-mercer": lm_jelinek_mercer,
    "cosine": cosine,
    "dph": dph,
    "coverage": coverage,
    "idf-coverage": idf_coverage,
    "proximity": proximity,
    "bigrams": bigrams,
    "length": length,
    "idf-sum": idf_sum,
    "idf-max": idf_max,
}
"""Features of every field and analyzer, by name; ``bm25`` has k1 = 1.2 and b = .75, the other .9 and .4."""
