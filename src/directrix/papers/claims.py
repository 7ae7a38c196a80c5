"""Statements of a paper as values, and the functions that check them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import Significance, adjust, paired_t, t_interval
from directrix.reports.report import Claim, Verdict
from directrix.types import Float64Array

LEVEL = 0.05
"""A difference is significant if p is below this."""
NEAR = 0.01
"""Two systems are comparable if the 95 % interval of their difference lies within this of 0."""


class Scored(NamedTuple):
    """One system with its values."""

    name: str
    # The values by query, or by fold, float64 (n,); NaN where undefined.
    values: Float64Array

    @property
    def mean(self) -> float:
        """Mean of the values.

        Tables show the mean of the folds' means. Folds differ by a query or two, so the two may differ in the
        fourth digit.
        """
        return float(np.nanmean(self.values))


class Ordering(NamedTuple):
    """A statement of a paper: ``first`` has a higher value of ``measure`` than ``second``.

    Parameters
    ----------
    first, second : str
        Entries of a cross-validation.
    measure : str
    source : str
        Place in the paper.
    collections : tuple of str
        Collections on which it is checked; () = on all.
    part : {"test", "training"}
        Queries that are compared. Test queries are a sample, so a paired t-test decides; values of training
        queries are facts, so their means decide.
    """

    first: str
    second: str
    measure: str
    source: str
    collections: tuple[str, ...] = ()
    part: Literal["test", "training"] = "test"


@dataclass(frozen=True)
class OrderClaim(Claim):
    """A claim that one system is ahead of others, with the tests of its differences from each of them."""

    tests: tuple[Significance, ...] = ()


def verdict(*tests: Significance) -> Verdict:
    """Decide whether one system is ahead of all others, by the tests of its differences from each of them.

    The claim "holds" if the system is ahead in every test with p < .05. It "does not hold" if the system is
    behind in a test whose p-value, times the number of tests, is below .05. Else it is "not significant".

    Examples
    --------
    >>> clear, unclear = paired_t([3, 4, 5], [1, 2, 2]), paired_t([3, 1, 4], [2, 2, 2])
    >>> verdict(clear), verdict(clear, unclear)
    ('holds', 'not significant')
    """
    p, outcome = _deciding(tests)
    return outcome if p < LEVEL else "not significant"


def _deciding(tests: Sequence[Significance]) -> tuple[float, Verdict]:
    """Return the verdict that the signs ask for, and its p-value: all leads count, one deficit is enough."""
    # A test without a difference, or without a p-value, supports neither verdict.
    p = [1.0 if np.isnan(test.p) or not test.difference else test.p for test in tests]
    behind = [value for value, test in zip(p, tests, strict=True) if not test.difference > 0.0]
    if behind:
        return min(1.0, len(p) * min(behind)), "does not hold"
    return max(p, default=1.0), "holds"


def corrected(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Decide the tested claims of a page by p-values with Holm's correction for their number.

    Their evidence keeps the uncorrected p-value of each comparison.
    """
    every = tuple(claims)
    decided = [_deciding(claim.tests) for claim in every if isinstance(claim, OrderClaim)]
    adjusted = zip(adjust([p for p, _ in decided]).tolist(), decided, strict=True)
    verdicts = iter([outcome if p < LEVEL else "not significant" for p, (_, outcome) in adjusted])
    return tuple(
        replace(claim, verdict=next(verdicts)) if isinstance(claim, OrderClaim) else claim for claim in every
    )


def scored(compared: CrossValidation, entry: str, measure: str) -> Scored:
    """Return an entry of a cross-validation with its values on all test queries."""
    return Scored(entry, compared.values(entry, measure))


def ahead(text: str, source: str, first: Scored, *others: Scored, unit: str = "queries") -> OrderClaim:
    """Check that one system has a higher mean than each of the others, by paired t-tests.

    All values are in the same order of queries, or of folds if that is the ``unit``. See `verdict`.

    Examples
    --------
    >>> a, b = Scored("A", np.array([0.5, 0.7, 0.6])), Scored("B", np.array([0.4, 0.5, 0.5]))
    >>> claim = ahead("A is above B.", "Fig. 1", a, b)
    >>> claim.evidence
    'A 0.6000, B 0.4667; paired t-test over 3 queries: difference +0.1333, p = 0.0572'
    >>> claim.verdict, claim.tested
    ('not significant', '3 queries')
    """
    tests = [paired_t(first.values, other.values) for other in others]
    differences = [f"difference {test.difference:+z.4f}, {p_value(test.p)}" for test in tests]
    n = tests[0].n
    if len(others) == 1:
        evidence = f"{first.name} {first.mean:.4f}, {others[0].name} {others[0].mean:.4f}; "
        evidence += f"paired t-test over {n} {unit}: {differences[0]}"
    else:
        pairs = zip(others, differences, strict=True)
        evidence = f"{first.name} {first.mean:.4f}; paired t-tests over {n} {unit} against "
        evidence += "; ".join(f"{other.name} {other.mean:.4f} ({shown})" for other, shown in pairs)
    return OrderClaim(text, source, verdict(*tests), evidence, f"{n} {unit}", tuple(tests))


def comparable(text: str, source: str, first: Scored, second: Scored) -> Claim:
    """Check that two systems differ little, by the 95 % interval of the mean difference.

    A difference whose sign is certain can still be small. So the claim fails only if the whole interval lies
    beyond `NEAR`.
    """
    low, high = t_interval(first.values, second.values)
    outcome: Verdict = "not significant"
    if low > -NEAR and high < NEAR:
        outcome = "holds"
    elif low >= NEAR or high <= -NEAR:
        outcome = "does not hold"
    return Claim(
        text,
        source,
        outcome,
        f"means over queries {first.mean:.4f} and {second.mean:.4f}, 95 % interval of the difference "
        f"{low:+.4f} to {high:+.4f}; it holds if that lies within +-{NEAR}, does not if it lies outside",
        f"{len(first.values)} queries",
    )


def check_ordering(ordering: Ordering, collection: str, compared: CrossValidation, measure: str) -> Claim:
    """Check an ordering on a collection; ``measure`` is the measure as the page writes it."""
    names = (ordering.first, ordering.second)
    if ordering.part == "test":
        text = f"{collection}: {names[0]} has higher {measure} than {names[1]}"
        return ahead(text, ordering.source, *(scored(compared, name, ordering.measure) for name in names))
    a, b = (training_by_fold(compared, name, ordering.measure) for name in names)
    return Claim(
        f"{collection}: {names[0]} has higher training {measure} than {names[1]}",
        ordering.source,
        "holds" if a.mean() > b.mean() else "does not hold",
        f"{a.mean():.4f} and {b.mean():.4f}; above in {int((a > b).sum())} of {len(a)} folds",
    )


def training_by_fold(compared: CrossValidation, entry: str, measure: str) -> Float64Array:
    """Return the training value of the candidate that validation chose, for every fold."""
    return np.array([result.tried[result.chosen].train[measure] for result in compared.results[entry]])


def p_value(p: float) -> str:
    """Write a p-value with three significant digits."""
    return f"p = {p:.3g}"
