"""What the paper says of training and of pairs, checked on our figures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directrix.experiments.donmez2009.comparison import Comparison
from directrix.experiments.donmez2009.results import EqualPairs, Found, Sized, equal_pairs
from directrix.experiments.significance import paired_t
from directrix.reports.donmez2009.optimality import optimality_claims
from directrix.reports.donmez2009.tables import short
from directrix.reports.report import Claim, Verdict

__all__ = ["claims", "verdict_of"]

_USUAL = "ranknet-weight-pairs"
_FROM, _TO = 10.0**-2.5, 10.0**-0.5  # one or two orders of magnitude below, rounded


def verdict_of(pairs: Sequence[tuple[float, float]]) -> Verdict:
    """Judge whether something is ahead of all others.

    Parameters
    ----------
    pairs : sequence of (float, float)
        Its mean difference to each of them, and the p-value of that.

    Returns
    -------
    "holds", "does not hold" or "not significant"
        The first if it is ahead of each with p < .05; the second if it is behind one with p < .05.

    Examples
    --------
    >>> verdict_of([(0.1, 0.01), (0.2, 0.001)]), verdict_of([(0.1, 0.01), (-0.2, 0.3)])
    ('holds', 'not significant')
    """
    if any(difference < 0.0 and p < 0.05 for difference, p in pairs):
        return "does not hold"
    is_ahead = bool(pairs) and all(difference > 0.0 and p < 0.05 for difference, p in pairs)
    return "holds" if is_ahead else "not significant"


def claims(found: Found) -> tuple[Claim, ...]:
    """All sentences of the paper that these data can say something about, in its order."""
    return (
        *(claim for one in found.comparisons for claim in _constructions(one)),
        *optimality_claims(found),
        *_pairs(found),
        *(claim for one in found.comparisons for claim in _matching(one)),
        *_equal(found),
    )


def _constructions(one: Comparison) -> list[Claim]:
    made = []
    for measure, rows in one.constructions.items():
        first, *others = rows
        source = {"AP": "Table 1", "RR": "Table 2"}.get(short(measure), "Sect. 7")
        made.append(
            Claim(
                f"{one.name}: RankNetWeightPairs outperforms the other constructions for {short(measure)}",
                source,
                verdict_of([_test(first.values, other.values) for other in others]),
                f"{first.mean:.4f} on the test queries; "
                + "; ".join(
                    f"{other.name} {other.mean:.4f} ({_p(_test(first.values, other.values))})"
                    for other in others
                ),
            )
        )
    return made


def _test(first: Any, second: Any) -> tuple[float, float]:
    test = paired_t(first, second)
    return float(test.difference), float(test.p)


def _p(test: tuple[float, float]) -> str:
    p = "p < 0.001" if test[1] < 0.001 else f"p = {test[1]:.3f}"
    return f"{test[0]:+.4f}, {p}"


def _pairs(found: Found) -> list[Claim]:
    means: dict[str, dict[str, float]] = {}
    shares: dict[str, float] = {}
    for one in found.pairs:
        if one.model == "mlp":
            means.setdefault(one.collection, {})[short(one.measure)] = one.mean
            if short(one.measure) == "RR":
                shares[one.collection] = one.binary_share
    order = ("nDCG", "nDCG@10", "AP", "RR")
    falls = {name: all(by[a] > by[b] for a, b in itertools.pairwise(order)) for name, by in means.items()}
    listed = "; ".join(
        f"{name}: " + " > ".join(f"{m} {by[m]:,.0f}" for m in sorted(by, key=lambda m: -by[m]))
        for name, by in means.items()
    )
    return [
        Claim(
            "nDCG has more effective pairs than nDCG@10, which has more than MAP, which has more than MRR",
            "Sect. 7.2",
            "holds" if all(falls.values()) else "does not hold",
            f"Pairs an epoch, two-layer nets. {listed}.",
        ),
        Claim(
            "For MRR the effective pairs are around one to two orders of magnitude below the pairs of a "
            "relevant and an irrelevant document",
            "Sect. 7.2",
            "holds" if all(_FROM <= share <= _TO for share in shares.values()) else "does not hold",
            "; ".join(f"{name} {share:.1%}" for name, share in shares.items())
            + f" of these pairs; {_FROM:.1%} to {_TO:.1%} asked.",
        ),
    ]


def _matching(one: Comparison) -> list[Claim]:
    values = {
        short(trained): {short(target): array for target, array in row.items()}
        for trained, row in one.matchings["mlp"].values.items()
    }
    names = tuple(values)
    made = []
    for target in ("nDCG", "AP"):
        others = [name for name in names if name != target]
        made.append(
            _ahead(
                f"{one.name}: tested on {target}, training for {target} is best",
                "Tables 3 and 4",
                values,
                target,
                [target],
                others,
            )
        )
    made += [
        _ahead(
            f"{one.name}: tested on {target}, training for nDCG is better than training for {target} itself",
            "Tables 3 and 4",
            values,
            target,
            ["nDCG"],
            [target],
        )
        for target in ("nDCG@10", "RR")
    ]
    rest = [name for name in names if name != "RR"]
    tests = [_test(values[name][target], values["RR"][target]) for target in names for name in rest]
    ahead = sum(difference > 0.0 for difference, _ in tests)
    clear = sum(difference > 0.0 and p < 0.05 for difference, p in tests)
    made.append(
        Claim(
            f"{one.name}: training for MRR gives the lowest value of every measure",
            "Tables 3 and 4",
            verdict_of(tests),
            f"In {ahead} of {len(tests)} comparisons it is behind, in {clear} with p < .05; in "
            f"{sum(difference < 0.0 and p < 0.05 for difference, p in tests)} ahead with p < .05.",
        )
    )
    return made


def _ahead(
    text: str,
    source: str,
    values: Mapping[str, Mapping[str, Any]],
    target: str,
    firsts: Sequence[str],
    others: Sequence[str],
) -> Claim:
    (first,) = firsts
    tests = {name: _test(values[first][target], values[name][target]) for name in others}
    evidence = f"trained for {first} {np.nanmean(values[first][target]):.4f}; " + "; ".join(
        f"for {name} {np.nanmean(values[name][target]):.4f} ({_p(test)})" for name, test in tests.items()
    )
    return Claim(text, source, verdict_of(list(tests.values())), evidence)


def _equal(found: Found) -> list[Claim]:
    made = []
    names = list(dict.fromkeys(one.trained for one in found.sized))
    for target in (name for name in names if short(name) in ("RR", "nDCG@10")):
        rows = equal_pairs(found.sized, target)
        tests = {
            other: _over_sizes(found.sized, [row for row in rows if row.other == other])
            for other in dict.fromkeys(row.other for row in rows)
        }
        listed = "; ".join(
            f"than for {short(other)} {_p(test)}, {sum(row.other == other for row in rows)} sizes"
            for other, test in tests.items()
        )
        made.append(
            Claim(
                f"With about as many effective pairs, training for {short(target)} gives the best "
                f"{short(target)}",
                "Fig. 5" if short(target) == "RR" else "Sect. 7.2",
                verdict_of(list(tests.values())),
                f"Artificial data, two-layer nets, mean over sizes: {listed or 'no sizes meet'}.",
            )
        )
    return made + [_shrinks(found.sized, name) for name in names if short(name) in ("RR", "nDCG@10")]


def _over_sizes(found: Sequence[Sized], rows: Sequence[EqualPairs]) -> tuple[float, float]:
    """Paired t-test of the lead of the matched training, of every query the mean over sizes."""
    at = {(one.trained, one.size): one.test for one in found}
    leads = [
        np.subtract(at[row.target, row.size][row.target], at[row.other, row.other_size][row.target])
        for row in rows
    ]
    mean = np.mean(leads, axis=0)
    return _test(mean, np.zeros_like(mean))


def _shrinks(found: Sequence[Sized], target: str) -> Claim:
    """Whether the lead of nDCG over the matched training is smaller on more queries, query by query."""
    at = {(one.trained, one.size): np.asarray(one.test[target], dtype=np.float64) for one in found}
    sizes = sorted({one.size for one in found})
    leads = [at["nDCG", size] - at[target, size] for size in (sizes[0], sizes[-1])]
    test = _test(leads[0], leads[1])
    return Claim(
        f"More training data lessen the lead of training for nDCG over training for {short(target)}, tested "
        f"on {short(target)}",
        "Sect. 7.2",
        verdict_of([test]),
        f"Artificial data: lead {np.nanmean(leads[0]):+.4f} with {sizes[0]} queries, "
        f"{np.nanmean(leads[1]):+.4f} with {sizes[-1]} ({_p(test)}).",
    )
