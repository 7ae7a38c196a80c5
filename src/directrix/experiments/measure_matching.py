"""Train a ranker for each of several measures, and test it on each of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.crossval import Entry, cross_validate
from directrix.experiments.significance import paired_t
from directrix.experiments.splits import Split
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.rankers.means import mean_and_error
from directrix.rankers.method import Method


@dataclass(frozen=True)
class Match:
    """The value of one training run on one measure.

    Parameters
    ----------
    target : str
        Measure of the test.
    trained : str
        Measure of the training, or the name of a baseline.
    mean : float
        Mean of the target over the test queries.
    error : float
        Its standard error: standard deviation over queries, with n - 1, over sqrt(n); NaN for one query, or
        equal values.
    difference : float
        ``mean`` minus that of the training for the target itself.
    p : float or None
        Two-sided paired t-test of that difference; None for the training for the target itself.
    """

    target: str
    trained: str
    mean: float
    error: float
    difference: float
    p: float | None

    @property
    def is_significant(self) -> bool:
        """Whether p is below .05 ("significant at 95 %")."""
        return self.p is not None and self.p < 0.05


@dataclass(frozen=True, eq=False)
class Matching:
    """Result of `matching`: every training run, tested on every measure.

    It has the form of Tables 3 and 4 of Donmez, Svore & Burges (2009).

    Parameters
    ----------
    values : mapping of str to mapping of str to float (n_queries,)
        ``values[trained][target]`` on the test queries, in one order; NaN where the measure is undefined.
        A training run with the name of a measure is for that measure; others are baselines.

    Raises
    ------
    InputError
        If a training run lacks values of a measure, or numbers of queries differ.

    Examples
    --------
    On three queries, training for AP gives an AP of .5, .1 more than training for nDCG:

    >>> values = {
    ...     "nDCG": {"nDCG": [0.9, 0.8, 0.7], "AP": [0.3, 0.4, 0.5]},
    ...     "AP": {"nDCG": [0.8, 0.8, 0.8], "AP": [0.3, 0.5, 0.7]},
    ... }
    >>> result = Matching(values)
    >>> other = result.match("AP", "nDCG")
    >>> result.best("AP"), round(other.mean, 3), round(other.difference, 3), round(other.p, 3)
    ('AP', 0.4, -0.1, 0.5)
    """

    values: Mapping[str, Mapping[str, Any]]

    def __post_init__(self) -> None:
        for name, row in self.values.items():
            shapes = {target: np.shape(row[target]) if target in row else () for target in self.targets}
            if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
                raise InputError(
                    f"the training {name!r} has values of the shapes {shapes}; one value per query is needed "
                    f"for each of {', '.join(self.targets)}, with the same queries in the same order."
                )

    @property
    def trained(self) -> tuple[str, ...]:
        """The training runs: measures, and baselines."""
        return tuple(self.values)

    @property
    def targets(self) -> tuple[str, ...]:
        """The measures."""
        return tuple(
            dict.fromkeys(name for row in self.values.values() for name in row if name in self.values)
        )

    def match(self, target: str, trained: str) -> Match:
        """One line of the tables."""
        values, matched = (np.asarray(self.values[name][target], np.float64) for name in (trained, target))
        mean, error = mean_and_error(values)
        # A training has no difference from itself that could be tested.
        if trained == target:
            return Match(target, trained, mean, error, 0.0, None)
        test = paired_t(values, matched)
        return Match(target, trained, mean, error, test.difference, test.p)

    @property
    def rows(self) -> tuple[Match, ...]:
        """All lines, target by target."""
        return tuple(self.match(target, name) for target in self.targets for name in self.trained)

    def best(self, target: str) -> str:
        """Training run with the highest mean of a measure; in a tie, the run for the measure itself."""
        # The first of equal values is kept, so the training for the measure itself comes first.
        order = [target, *(name for name in self.trained if name != target)]
        return max(order, key=lambda name: self.match(target, name).mean)


def matching(
    splits: Sequence[Split],
    measures: Sequence[RankingMeasure | str],
    *,
    path: str | os.PathLike[str] | None = None,
    method: Method | str = "LambdaRank",
    settings: Mapping[str, Any] | None = None,
    baselines: Sequence[Entry] = (),
    n_jobs: int = 1,
) -> Matching:
    """Train a method for every measure, choose its settings by that measure, and test it on all of them.

    Parameters
    ----------
    splits : sequence of Split
        Folds, e.g. ``k_fold_splits(q)``; see `cross_validate`.
    measures : measures or str
        For training and testing.
    path : path, optional
        File of the finished training runs, to resume a stopped run. None: nothing is kept.
    method : Method or str
        Method that can be trained for a measure, e.g. "LambdaRank", "LambdaRank-MLP", "CoordinateAscent".
    settings : mapping, optional
        As for `Entry`.
    baselines : sequence of Entry
        Further rows, e.g. ``Entry("RankNet", "RankNet")``; the settings of an entry without a measure are
        chosen by the first of ``measures``.
    n_jobs : int
        As for `cross_validate`.

    Returns
    -------
    Matching

    Notes
    -----
    Cost: measures times settings times splits training runs.

    References
    ----------
    Donmez, Svore & Burges (2009), Section 7.2, doi:10.1145/1571941.1572021.

    Examples
    --------
    >>> import directrix as dx
    >>> splits = dx.experiments.k_fold_splits(dx.data.make_cubic(30, 10, 4, seed=0), 3)
    >>> result = matching(splits, ["nDCG", "RR"], settings={"epochs": 5, "learning_rate": 0.1})
    >>> [(match.target, match.trained) for match in result.rows]
    [('nDCG', 'nDCG'), ('nDCG', 'RR'), ('RR', 'nDCG'), ('RR', 'RR')]
    """
    goals = [parse_measure(measure) for measure in measures]
    names = [goal.name for goal in goals]
    entries = [
        *(Entry(goal.name, method, settings or {}, measure=goal) for goal in goals),
        *baselines,
    ]
    results = cross_validate(splits, entries, goals, select=goals[0], path=path, n_jobs=n_jobs)
    values = {entry.name: {name: results.values(entry.name, name) for name in names} for entry in entries}
    return Matching(values)
