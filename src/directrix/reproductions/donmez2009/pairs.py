"""Pairs of documents that exert a force in training, and trainings on nearly as many of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.significance import Significance, paired_t
from directrix.reproductions.donmez2009.collection import MeasuredCollection
from directrix.reproductions.donmez2009.settings import MEASURES, short

MATCHED = {"RR": "Fig. 5", "nDCG@10": "Sect. 7.2"}
"""Measures whose trainings are compared with others on about as many pairs, and where the paper does so."""

_ALIKE = 2.0  # numbers of pairs are about equal if their ratio is below this


class PairCounts(NamedTuple):
    """Effective pairs of a training: training documents that exert a force on each other."""

    collection: str
    model: str
    measure: str
    by_epoch: Sequence[int]  # number of effective pairs at the start and after every epoch
    mean: float  # their mean
    # `mean` over the number of all pairs with different labels, including those of queries without relevant
    # documents
    share: float
    binary_share: float  # `mean` over the number of all pairs of a relevant and an irrelevant document
    # for RR, whose pairs are those of Eq. (11): mean number of all pairs whose exchange changes it
    changing: float | None = None
    changing_share: float | None = None  # the same over the pairs of a relevant and an irrelevant document


class Sized(NamedTuple):
    """A training of the two-layer net on some of the artificial queries."""

    size: int  # number of training queries
    trained: str  # measure
    pairs: float  # number of effective pairs, mean over epochs
    # mapping of str to float (n_queries,): values of every measure on the test queries
    test: Mapping[str, Any]

    def mean(self, measure: str) -> float:
        """Return the mean over those test queries on which the measure is defined."""
        return float(np.nanmean(self.test[measure]))


class EqualPairs(NamedTuple):
    """Two trainings on about as many effective pairs."""

    target: str  # measure that is tested
    # matched, other: trained for `target`, and for another measure
    matched: Sized
    other: Sized
    test: Significance  # of `target`, `matched` minus `other`


def n_pairs(q: Queries, rel: int | None = None) -> int:
    """Count the pairs of documents of one query with different labels, or of which one is relevant.

    ``rel`` is the least relevant label; None = labels as they are.

    Examples
    --------
    >>> q = Queries.from_arrays([[0.0]] * 4, [0, 0, 1, 2], group=[4])  # 6 pairs, one of them of equal labels
    >>> n_pairs(q), n_pairs(q, rel=2)
    (5, 3)
    """
    total = 0
    for lo, hi in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        labels = q.labels[lo:hi] if rel is None else q.labels[lo:hi] >= rel
        _, counts = np.unique(labels, return_counts=True)
        n = int(hi - lo)
        total += (n * n - int((counts * counts).sum())) // 2
    return total


def pair_counts(
    collections: Mapping[str, MeasuredCollection], trainings: Mapping[Any, Any]
) -> tuple[PairCounts, ...]:
    """Return the effective pairs of every training, also as shares of all pairs of the training queries."""
    totals = {
        name: (n_pairs(one.first.train), n_pairs(one.first.train, one.rel))
        for name, one in collections.items()
    }
    counts = []
    for (_, collection, model, measure), training in trainings.items():
        graded, binary = totals[collection]
        by_epoch = training["pairs"]
        mean = float(np.mean(by_epoch))
        changing = float(np.mean(training["changing"])) if training["changing"] else None
        shares = mean / graded, mean / binary, changing, changing and changing / binary
        counts.append(PairCounts(collection, model, measure, by_epoch, mean, *shares))
    return tuple(counts)


def sized(cells: Mapping[Any, Any]) -> tuple[Sized, ...]:
    """Return the results of `size_cells`, by measure and size."""
    runs = [
        Sized(size, short(measure), one["pairs"], {short(name): of for name, of in one["test"].items()})
        for (_, size, measure), one in cells.items()
    ]
    return tuple(sorted(runs, key=lambda run: (MEASURES.index(run.trained), run.size)))


def equal_pairs(runs: Sequence[Sized], target: str) -> tuple[EqualPairs, ...]:
    """Compare trainings for a measure with trainings for others on about as many effective pairs.

    Returned is for every training for ``target``, the measure that is tested, and every other measure the
    training whose number of pairs is nearest by ratio, if the ratio is below 2.
    """
    rows = []
    for matched in (run for run in runs if run.trained == target):
        for trained in dict.fromkeys(run.trained for run in runs if run.trained != target):
            other = min(
                (run for run in runs if run.trained == trained),
                key=lambda run: _ratio(run.pairs, matched.pairs),
            )
            if _ratio(other.pairs, matched.pairs) < _ALIKE:
                test = paired_t(matched.test[target], other.test[target])
                rows.append(EqualPairs(target, matched, other, test))
    return tuple(rows)


def _ratio(a: float, b: float) -> float:
    return max(a, b) / max(min(a, b), 1e-300)
