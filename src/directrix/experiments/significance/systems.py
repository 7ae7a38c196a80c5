"""Which of several systems differ: all pairs, or all against one, with one test and one correction."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.significance.comparisons import Comparisons, Pair
from directrix.experiments.significance.corrections import adjust, check_correction
from directrix.experiments.significance.display import letters
from directrix.experiments.significance.family import Tukey, randomised_tukey, tukey
from directrix.experiments.significance.fisher import check_resampling, randomisation_p
from directrix.experiments.significance.gaps import gaps_of
from directrix.experiments.significance.intervals import bootstrap_gaps, check_share, t_gaps
from directrix.experiments.significance.power import detectable_gap, effect_of
from directrix.experiments.significance.single import sign_p, signed_rank_p, t_p
from directrix.types import Float64Array

__all__ = ["CORRECTIONS", "TESTS", "compare"]

TESTS = ("paired-t", "wilcoxon", "sign", "randomisation", "tukey", "randomised-tukey")
CORRECTIONS = ("auto", "holm", "bonferroni", "benjamini-hochberg", "none")
_FAMILY = TESTS[4:]  # these adjust for the number of pairs themselves
_OF_GAPS = {"paired-t": t_p, "wilcoxon": signed_rank_p, "sign": sign_p}
_POWER = 0.8
_DRAWN = {"randomisation": 100_000, "randomised-tukey": 10_000}
_BOOTSTRAP = 10_000

_Names = list[tuple[str, str]]


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
        "paired-t", "wilcoxon" (signed ranks), "sign", "randomisation" (Fisher), "tukey" or "randomised-tukey"
        (all pairs at once, adjusted for their number).
    correction : {"auto", "holm", "bonferroni", "benjamini-hochberg", None}
        For the number of pairs. "auto" = Holm's, or what Tukey's tests do themselves.
    against : str, optional
        Compare every system with this one alone; not with Tukey's tests, which are for all pairs.
    alpha : float in (0, 1)
        Level; intervals have confidence 1 - alpha.
    seed : int >= 0
        Of everything random.
    n_resamples : int, optional
        Random signs or shuffles; default 100,000 signs, 10,000 shuffles.

    Returns
    -------
    Comparisons

    Raises
    ------
    InputError
        If there are fewer than two systems, they have not as many values, or an option is not known.

    Notes
    -----
    A query counts for a pair if both have a value, with Tukey's tests if all systems have one; the means are
    over all queries that a system has. Cost: that of the test for m (m - 1) / 2 pairs, and of 10,000
    bootstrap samples a pair except with the t-test and Tukey's.

    Examples
    --------
    >>> found = compare({"A": [0.5, 0.7, 0.6, 0.8], "B": [0.4, 0.4, 0.5, 0.4], "C": [0.4, 0.5, 0.4, 0.4]})
    >>> found.letters
    {'A': 'a', 'B': 'a', 'C': 'a'}
    >>> pair = found.pair("A", "B")
    >>> print(f"{pair.difference:.3f}, {pair.wins} wins, p {pair.p:.3f}, of three pairs {pair.adjusted:.3f}")
    0.225, 4 wins, p 0.058, of three pairs 0.115
    """
    table = _table(per_query)
    correction = _correction(test, correction, against)
    check_share("alpha", alpha)
    drawn = _DRAWN.get(test, 1) if n_resamples is None else n_resamples
    check_resampling(seed, drawn)
    if against is not None and against not in table:
        raise InputError(f"against={against!r} is none of the systems; there are {', '.join(table)}.")
    chosen = _chosen(list(table), against)
    used = _whole(table) if test in _FAMILY else table
    gaps = [_gaps(used, first, second, least=1 + (test == "paired-t")) for first, second in chosen]
    family: Tukey | None = None
    if test in _FAMILY:
        columns = np.column_stack(list(used.values()))
        options = {} if test == "tukey" else {"seed": seed, "n_resamples": drawn}
        family = (tukey if test == "tukey" else randomised_tukey)(columns, alpha=alpha, **options)
        p = family.p[np.triu_indices(len(table), 1)].tolist()  # the order of all pairs
    elif test == "randomisation":
        p = randomisation_p(gaps, seed=seed, n_resamples=drawn)
    else:
        p = [_OF_GAPS[test](g) for g in gaps]
    adjusted = p if correction in (None, "tukey") else adjust(p, correction).tolist()
    kind = "tukey" if family is not None else "t" if test == "paired-t" else "bootstrap"
    pairs = tuple(
        _pair(names, g, found, alpha, _interval(g, alpha, seed, kind, family))
        for names, g, found in zip(chosen, gaps, zip(p, adjusted, strict=True), strict=True)
    )
    means = {name: float(np.nanmean(values)) for name, values in table.items()}
    undefined = {name: int(np.isnan(values).sum()) for name, values in table.items()}
    return Comparisons(
        test=test,
        correction=correction,
        interval=kind,
        against=against,
        alpha=alpha,
        seed=seed,
        n_queries=len(next(iter(table.values()))),
        means=means,
        undefined={name: count for name, count in undefined.items() if count},
        pairs=pairs,
        letters=None if against is not None else _letters(means, pairs),
    )


def _table(per_query: Mapping[str, Any]) -> dict[str, Float64Array]:
    if not isinstance(per_query, Mapping) or len(per_query) < 2:
        raise InputError(
            "a comparison needs two systems or more, by name; give e.g. "
            '{"A": values_a, "B": values_b}, one value a query.'
        )
    table = {str(name): np.asarray(values, dtype=np.float64).ravel() for name, values in per_query.items()}
    sizes = {name: len(values) for name, values in table.items()}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(
            f"the systems have different numbers of values ({shown}); one a query is needed, in the same "
            "order of queries. Give NaN where a system has no value."
        )
    for name, values in table.items():
        if np.isinf(values).any() or np.isnan(values).all():
            what = "is infinite for a query" if np.isinf(values).any() else "has no value for any query"
            raise InputError(f"system {name!r} {what}; finite values are needed, NaN where undefined.")
    return table


def _correction(test: str, correction: str | None, against: str | None) -> str | None:
    """The correction that is meant, checked with the test."""
    if test not in TESTS:
        near = difflib.get_close_matches(str(test), TESTS, n=1)
        raise InputError(
            f"test={test!r}: there are {', '.join(TESTS)}." + (f" Did you mean {near[0]!r}?" if near else "")
        )
    if correction == "none":
        correction = None
    if correction not in (None, "auto"):
        check_correction(correction)
    if test not in _FAMILY:
        return "holm" if correction == "auto" else correction
    if correction != "auto":
        raise InputError(
            f"test={test!r} adjusts p-values for all pairs itself; it takes no correction={correction!r}. "
            "Leave the correction out."
        )
    if against is not None:
        raise InputError(
            f"test={test!r} compares all pairs; it takes no against={against!r}. Leave that out, or choose "
            "another test, e.g. test='randomisation'."
        )
    return "tukey"


def _chosen(names: list[str], against: str | None) -> _Names:
    if against is None:
        return list(itertools.combinations(names, 2))
    return [(name, against) for name in names if name != against]


def _whole(table: dict[str, Float64Array]) -> dict[str, Float64Array]:
    """Values of the queries that all systems have."""
    shared = ~np.isnan(np.column_stack(list(table.values()))).any(axis=1)
    return {name: values[shared] for name, values in table.items()}


def _gaps(table: dict[str, Float64Array], first: str, second: str, *, least: int) -> Float64Array:
    both = int((~np.isnan(table[first]) & ~np.isnan(table[second])).sum())
    if both < least:
        raise InputError(
            f"{first!r} and {second!r} both have a value for {both} queries; {least} or more are needed. "
            "Leave one of them out, or give the values of more queries."
        )
    return gaps_of(table[first], table[second])


def _interval(
    gaps: Float64Array, alpha: float, seed: int, kind: str, family: Tukey | None
) -> tuple[float, float]:
    if family is not None:
        mean = float(gaps.mean())
        return mean - family.least, mean + family.least
    if kind == "t":
        return t_gaps(gaps, 1.0 - alpha)
    return bootstrap_gaps(gaps, 1.0 - alpha, method="bca", n_resamples=_BOOTSTRAP, seed=seed)


def _pair(
    names: tuple[str, str],
    gaps: Float64Array,
    p: tuple[float, float],
    alpha: float,
    interval: tuple[float, float],
) -> Pair:
    return Pair(
        first=names[0],
        second=names[1],
        difference=float(gaps.mean()),
        interval=interval,
        p=p[0],
        adjusted=p[1],
        differs=p[1] < alpha,
        wins=int((gaps > 0.0).sum()),
        ties=int((gaps == 0.0).sum()),
        losses=int((gaps < 0.0).sum()),
        effect=effect_of(gaps),
        detectable=detectable_gap(gaps, alpha, _POWER),
        n=len(gaps),
    )


def _letters(means: dict[str, float], pairs: tuple[Pair, ...]) -> dict[str, str]:
    place = {name: i for i, name in enumerate(means)}
    differ = np.zeros((len(means), len(means)), dtype=bool)
    for pair in pairs:
        i, j = place[pair.first], place[pair.second]
        differ[i, j] = differ[j, i] = pair.differs
    return dict(zip(means, letters(list(means.values()), differ), strict=True))
