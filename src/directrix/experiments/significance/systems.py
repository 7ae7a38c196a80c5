"""Comparison of several systems: all pairs, or all against one, with one test and one correction."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.checks import as_floats
from directrix.errors import InputError
from directrix.experiments.significance.comparisons import Comparisons, Pair
from directrix.experiments.significance.family import (
    Tukey,
    adjust,
    check_correction,
    letters,
    randomized_tukey,
    tukey,
)
from directrix.experiments.significance.pairs import (
    bootstrap_interval,
    check_resampling,
    detectable,
    effect_size,
    gaps_of,
    paired_t,
    randomization_p,
    sign_test,
    signed_rank,
    t_interval,
)
from directrix.parameters import share
from directrix.types import Float64Array

TESTS = ("paired-t", "wilcoxon", "sign", "randomization", "tukey", "randomized-tukey")
_FAMILY = TESTS[4:]  # these adjust for the number of pairs themselves
_OF_PAIR = {"paired-t": paired_t, "wilcoxon": signed_rank, "sign": sign_test}
_DRAWN = {"randomization": 100_000, "randomized-tukey": 10_000}

_Names = list[tuple[str, str]]
_Two = tuple[Float64Array, Float64Array]


def compare(
    per_query: Mapping[str, Any],
    *,
    test: str = "paired-t",
    correction: str | None = "auto",
    against: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    n_resamples: int | None = None,
) -> Comparisons:
    """Compare systems by their values on the same queries.

    Parameters
    ----------
    per_query : mapping of str to float (n_queries,)
        Two systems or more, in the same order of queries; NaN = the measure is undefined there.
    test : str
        "paired-t", "wilcoxon" (signed ranks), "sign", "randomization" (Fisher), "tukey" or "randomized-tukey"
        (all pairs at once, adjusted for their number).
    correction : {"auto", "holm", "bonferroni", "benjamini-hochberg", None}
        For the number of pairs. "auto" = Holm's; Tukey's tests have their own correction.
    against : str, optional
        Compare every system with this one only; not with Tukey's tests, which are for all pairs.
    alpha : float in (0, 1)
        Level; intervals have confidence 1 - alpha.
    seed : int >= 0
        For everything random.
    n_resamples : int, optional
        Number of random signs or shuffles; default 100,000 signs, 10,000 shuffles.

    Raises
    ------
    InputError
        If there are fewer than two systems, their numbers of values differ, or an option is not known.

    Notes
    -----
    Cost: the test for m (m - 1) / 2 pairs, and 10,000 bootstrap samples per pair except with the t-test and
    Tukey's tests.

    Examples
    --------
    >>> result = compare({"A": [0.5, 0.7, 0.6, 0.8], "B": [0.4, 0.4, 0.5, 0.4], "C": [0.4, 0.5, 0.4, 0.4]})
    >>> result.letters
    {'A': 'a', 'B': 'a', 'C': 'a'}
    >>> pair = result.pair("A", "B")
    >>> print(f"{pair.difference:.3f}, {pair.wins} wins, p {pair.p:.3f}, of three pairs {pair.adjusted:.3f}")
    0.225, 4 wins, p 0.058, of three pairs 0.115
    """
    table = _table(per_query)
    correction = checked_correction(test, correction, against)
    n_resamples = _DRAWN.get(test, 1) if n_resamples is None else n_resamples
    procedure = _Procedure(test, correction, alpha, seed, n_resamples)
    pairs = procedure.pairs(table, _pairs_of(list(table), against))
    means = {name: float(np.nanmean(values)) for name, values in table.items()}
    undefined = {name: int(np.isnan(values).sum()) for name, values in table.items()}
    n_queries = len(next(iter(table.values())))
    return Comparisons(
        test=test,
        correction=correction,
        interval=procedure.interval,
        against=against,
        alpha=alpha,
        seed=seed,
        n_queries=n_queries,
        means=means,
        undefined={name: count for name, count in undefined.items() if count},
        pairs=pairs,
        letters=None if against is not None else _letters(means, pairs),
        ranked={name: n_queries - count for name, count in undefined.items()},
    )


@dataclass(frozen=True)
class _Procedure:
    """How pairs are tested; the parameters are those of `compare`."""

    test: str
    correction: str | None  # "tukey" with the tests that adjust p-values themselves, None = not adjusted
    alpha: float
    seed: int
    n_resamples: int

    def __post_init__(self) -> None:
        share(self.alpha, "alpha")
        check_resampling(self.seed, self.n_resamples)

    @property
    def interval(self) -> str:
        """Kind of the intervals."""
        return "tukey" if self.test in _FAMILY else "t" if self.test == "paired-t" else "bootstrap"

    def pairs(self, table: dict[str, Float64Array], names: _Names) -> tuple[Pair, ...]:
        """Test all pairs, in the order of their names."""
        least = 1 + (self.test == "paired-t")
        family = None
        if self.test in _FAMILY:
            table = _complete(table)
            columns = np.column_stack(list(table.values()))
            if self.test == "tukey":
                family = tukey(columns, alpha=self.alpha)
            else:
                draws = {"seed": self.seed, "n_resamples": self.n_resamples}
                family = randomized_tukey(columns, alpha=self.alpha, **draws)
        values = [_shared(table, first, second, least=least) for first, second in names]
        p = self._p_values(values, family)
        adjusted = p if self.correction in (None, "tukey") else adjust(p, self.correction).tolist()
        return tuple(
            self._pair(*two, each, p[i], adjusted[i], family)
            for i, (two, each) in enumerate(zip(names, values, strict=True))
        )

    def _p_values(self, values: list[_Two], family: Tukey | None) -> list[float]:
        if family is not None:
            p: list[float] = family.p[np.triu_indices(len(family.p), 1)].tolist()  # the order of all pairs
            return p
        if self.test == "randomization":
            gaps = [gaps_of(*two) for two in values]
            return randomization_p(gaps, seed=self.seed, n_resamples=self.n_resamples)
        return [_OF_PAIR[self.test](*two).p for two in values]

    def _pair(
        self, first: str, second: str, values: _Two, p: float, adjusted: float, family: Tukey | None
    ) -> Pair:
        gaps = gaps_of(*values)
        mean = float(gaps.mean())
        if family is not None:
            interval = mean - family.least, mean + family.least
        elif self.interval == "t":
            interval = t_interval(*values, confidence=1.0 - self.alpha)
        else:
            interval = bootstrap_interval(*values, confidence=1.0 - self.alpha, seed=self.seed)
        return Pair(
            first=first,
            second=second,
            difference=mean,
            interval=interval,
            p=p,
            adjusted=adjusted,
            differs=adjusted < self.alpha,
            wins=int((gaps > 0.0).sum()),
            ties=int((gaps == 0.0).sum()),
            losses=int((gaps < 0.0).sum()),
            effect=effect_size(*values),
            detectable=detectable(*values, alpha=self.alpha),
            n=len(gaps),
        )


def _table(per_query: Mapping[str, Any]) -> dict[str, Float64Array]:
    if not isinstance(per_query, Mapping) or len(per_query) < 2:
        raise InputError(
            "a comparison needs two systems or more, by name; give e.g. "
            '{"A": values_a, "B": values_b}, one value per query.'
        )
    table = {
        str(name): as_floats(values, str(name), "one number per query").ravel()
        for name, values in per_query.items()
    }
    sizes = {name: len(values) for name, values in table.items()}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(
            f"the systems have different numbers of values ({shown}); one per query is needed, in the same "
            "order of queries. Give NaN where a system has no value."
        )
    for name, values in table.items():
        if np.isinf(values).any() or np.isnan(values).all():
            what = "is infinite for a query" if np.isinf(values).any() else "has no value for any query"
            raise InputError(f"system {name!r} {what}; finite values are needed, and NaN where undefined.")
    return table


def checked_correction(test: str, correction: str | None, against: str | None) -> str | None:
    """Return the correction that is used with a test; `InputError` if an option is not known or not of it."""
    if test not in TESTS:
        near = difflib.get_close_matches(str(test), TESTS, n=1)
        raise InputError(
            f"test={test!r}: the tests are {', '.join(TESTS)}."
            + (f" Did you mean {near[0]!r}?" if near else "")
        )
    if correction == "none":
        correction = None
    if correction not in (None, "auto"):
        check_correction(correction)
    if test not in _FAMILY:
        return "holm" if correction == "auto" else correction
    if correction != "auto":
        raise InputError(
            f"test={test!r} already adjusts p-values for all pairs and takes no correction={correction!r}. "
            "Leave the correction out."
        )
    if against is not None:
        raise InputError(
            f"test={test!r} compares all pairs; it takes no against={against!r}. Leave that out, or choose "
            "another test, e.g. test='randomization'."
        )
    return "tukey"


def _pairs_of(names: list[str], against: str | None) -> _Names:
    if against is None:
        return list(itertools.combinations(names, 2))
    if against not in names:
        raise InputError(f"against={against!r} is not one of the systems; they are {', '.join(names)}.")
    return [(name, against) for name in names if name != against]


def _complete(table: dict[str, Float64Array]) -> dict[str, Float64Array]:
    """Values of the queries for which all systems have one."""
    shared = ~np.isnan(np.column_stack(list(table.values()))).any(axis=1)
    return {name: values[shared] for name, values in table.items()}


def _shared(table: dict[str, Float64Array], first: str, second: str, *, least: int) -> _Two:
    """Values of two systems, which have enough queries in common."""
    both = int((~np.isnan(table[first]) & ~np.isnan(table[second])).sum())
    if both < least:
        raise InputError(
            f"{first!r} and {second!r} both have a value for {both} {'query' if both == 1 else 'queries'}; "
            f"{least} or more are needed. "
            "Leave one of them out, or give the values of more queries."
        )
    return table[first], table[second]


def _letters(means: dict[str, float], pairs: tuple[Pair, ...]) -> dict[str, str]:
    place = {name: i for i, name in enumerate(means)}
    differ = np.zeros((len(means), len(means)), dtype=bool)
    for pair in pairs:
        i, j = place[pair.first], place[pair.second]
        differ[i, j] = differ[j, i] = pair.differs
    return dict(zip(means, letters(list(means.values()), differ), strict=True))
