"""From what was run to what is shown: pairs that teach, and trainings on equally many of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.donmez2009.collection import Collection
from directrix.experiments.donmez2009.comparison import Comparison
from directrix.experiments.donmez2009.protocol import Results
from directrix.experiments.donmez2009.settings import Settings
from directrix.experiments.significance import paired_t

__all__ = ["EqualPairs", "Found", "PairCounts", "Sized", "equal_pairs", "n_pairs", "pair_counts", "sized"]

_ALIKE = 2.0  # factor up to which numbers of pairs count as about equal


@dataclass(frozen=True)
class PairCounts:
    """Pairs of training documents that exert a force, per epoch.

    Parameters
    ----------
    collection, model, measure : str
    first, last, mean : float
        At the start, at the end, and over the epochs of the training.
    share : float
        ``mean`` over all pairs of different labels, whether they belong to queries with relevant documents or
        not.
    binary_share : float
        ``mean`` over all pairs of a relevant and an irrelevant document.
    """

    collection: str
    model: str
    measure: str
    first: float
    last: float
    mean: float
    share: float
    binary_share: float


@dataclass(frozen=True, eq=False)
class Sized:
    """A training of the two-layer net on some of the artificial queries.

    Parameters
    ----------
    size : int
        Training queries.
    trained : str
        Measure.
    pairs : float
        That exert a force, mean over epochs.
    test : mapping of str to float (n_queries,)
        Values of every measure on the test queries.
    """

    size: int
    trained: str
    pairs: float
    test: Mapping[str, Any]


@dataclass(frozen=True)
class EqualPairs:
    """Two trainings on about as many effective pairs, tested on the measure that the first was trained for.

    Parameters
    ----------
    target, other : str
        Measures that they were trained for.
    size, other_size : int
        Training queries.
    pairs, other_pairs : float
    mean, other_mean : float
        Of ``target`` on the test queries.
    difference, p : float
        Of a paired t-test; positive if the matched training is ahead.
    """

    target: str
    other: str
    size: int
    other_size: int
    pairs: float
    other_pairs: float
    mean: float
    other_mean: float
    difference: float
    p: float


@dataclass(frozen=True, eq=False)
class Found:
    """All that was run.

    Parameters
    ----------
    settings : Settings
    comparisons : tuple of Comparison
        One a collection.
    trainings, certificates : dict
        Of `run_trainings` and `run_certificates`.
    pairs : tuple of PairCounts
    sized : tuple of Sized
        By measure, then size.
    missing : tuple of str
        Collections that are not there.
    """

    settings: Settings
    comparisons: tuple[Comparison, ...]
    trainings: Results
    certificates: Results
    pairs: tuple[PairCounts, ...]
    sized: tuple[Sized, ...]
    missing: tuple[str, ...]


def n_pairs(q: Queries, rel: int | None = None) -> int:
    """Count the pairs of documents of one query with different labels, or of which one is relevant.

    Parameters
    ----------
    q : Queries
    rel : int, optional
        Least relevant label; None = labels as they are.

    Examples
    --------
    >>> q = Queries.from_arrays([[0.0]] * 4, [0, 0, 1, 2])  # 6 pairs, one of them of equal labels
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


def pair_counts(collections: Sequence[Collection], trainings: Results) -> tuple[PairCounts, ...]:
    """Effective pairs of every training, as shares of all pairs of the training queries."""
    every = {
        each.name: (n_pairs(each.first.train), n_pairs(each.first.train, each.rel)) for each in collections
    }
    found = []
    for (_, collection, model, measure), training in trainings.items():
        pairs = training["pairs"]
        graded, binary = every[str(collection)]
        mean = float(np.mean(pairs))
        found.append(
            PairCounts(
                str(collection),
                str(model),
                str(measure),
                pairs[0],
                pairs[-1],
                mean,
                mean / graded,
                mean / binary,
            )
        )
    return tuple(found)


def sized(cells: Results) -> tuple[Sized, ...]:
    """Trainings on growing numbers of queries, by measure and size."""
    found = [Sized(int(size), str(m), one["pairs"], one["test"]) for (_, size, m), one in cells.items()]
    order = list(dict.fromkeys(one.trained for one in found))
    return tuple(sorted(found, key=lambda one: (order.index(one.trained), one.size)))


def equal_pairs(found: Sequence[Sized], target: str) -> tuple[EqualPairs, ...]:
    """Compare trainings for a measure with trainings for others on about as many effective pairs.

    Parameters
    ----------
    found : sequence of Sized
    target : str
        Measure that is tested.

    Returns
    -------
    tuple of EqualPairs
        For every training for ``target`` and every other measure the training whose number of pairs is
        nearest by ratio, if the ratio is below 2.
    """
    rows = []
    for own in (one for one in found if one.trained == target):
        for other in dict.fromkeys(one.trained for one in found if one.trained != target):
            near = min(
                (one for one in found if one.trained == other), key=lambda one: _ratio(one.pairs, own.pairs)
            )
            if _ratio(near.pairs, own.pairs) >= _ALIKE:
                continue
            test = paired_t(own.test[target], near.test[target])
            rows.append(
                EqualPairs(
                    target,
                    other,
                    own.size,
                    near.size,
                    own.pairs,
                    near.pairs,
                    float(np.nanmean(own.test[target])),
                    float(np.nanmean(near.test[target])),
                    test.difference,
                    test.p,
                )
            )
    return tuple(rows)


def _ratio(a: float, b: float) -> float:
    return max(a, b) / max(min(a, b), 1e-300)
