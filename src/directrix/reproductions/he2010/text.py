"""Sentences of the page, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from directrix.reports.report import Claim
from directrix.reproductions.collection import missing_data
from directrix.reproductions.he2010.methods import LISTNET, MAP
from directrix.reproductions.he2010.protocol import COLLECTIONS, CollectionResults, Results

TITLE = "He and Liu (2010): tendency correlation"

PAPER = """\
He and Liu (2010), "Tendency correlation analysis for direct optimization of evaluation measures in
information retrieval", Information Retrieval 13, ask whether what direct methods optimise moves as the
measure does. eps\\* is the largest difference between a change of the surrogate, times one best factor, and
that of the measure, between any two models on any query. By their Theorem 1, maximising a surrogate of small
eps\\* almost maximises the measure."""

_HOW = (
    """\
- Data: {data}. Measures under the convention letor3; for AP, labels of 1 and more are relevant.""",
    """\
- eps\\*: {sweep.models} linear models, weights uniform on the sphere of length {sweep.norm:g}, seed {seed};
  the training queries of a fold; one factor for all of them; minimised exactly (decision 0097). There the
  measure counts ties by expectation.""",
    """\
- ApproxRank and SoftRank: gradient ascent, one query per step, rate .01, {grids.epochs} epochs, no penalty,
  from random weights of length 1. Of {grids.restarts} starts ({grids.soft_restarts} for SoftRank) the one
  with the highest surrogate is kept. beta = {grids.beta:g}.""",
    """\
- Validation queries choose alpha, sigma, C, and ListNet's settings: by AP for ListNet and the methods of
  MAP, by nDCG@10 for the others. Structural SVMs are trained to a proven optimum, DORM in rounds.""",
    """\
- A claim on test queries "holds" if p < .05 in the two-sided paired t-test over them, without correction.
  Claims on coefficients and training values are about these queries alone, so their means decide. The gain of
  restarts and Kendall's tau are tested over the folds, whose training queries overlap.""",
)

_DIFFERS = (
    """\
- The paper does not say how long its random models are, and alpha and sigma have that unit (decision 0098).
  Its parameters cannot be matched with ours; their order can.""",
    """\
- ListNet is trained here, on the same folds; the paper mentions a baseline provided in LETOR.""",
    """\
- SoftRank starts {soft_restarts} times, because its gradient costs most.""",
    """\
- DORM is that of `Dorm`: whole lists, documents of equal labels by score.""",
)


def missing(results: Results) -> tuple[tuple[str, str], ...]:
    """Name what could not be done, and why."""
    digits = (
        "differences from Tables 3 to 11",
        "The copy of the paper that we have lacks the digits of its tables and its formulas. The numbers in "
        "its sentences are next to ours.",
    )
    names = {name: name for name in COLLECTIONS}
    return (*missing_data(names, results.collections), digits)


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarise the results on each collection."""
    return (
        *(sentence for name, one in results.collections.items() for sentence in _of_collection(name, one)),
        *(
            f"- {name}: over {len(agreement.points)} surrogates, -eps\\* and test "
            f"{agreement.measure} have Kendall's tau {agreement.kendall['test'][0]:+.2f}; in single folds "
            f"{agreement.by_fold['test'].min():+.2f} to {agreement.by_fold['test'].max():+.2f}."
            for name, one in results.collections.items()
            for agreement in one.agreements
        ),
    )


def _of_collection(name: str, results: CollectionResults) -> Iterator[str]:
    compared, trade = results.compared, results.trade_off
    sharp = results.coefficients[MAP]
    first, last = next(iter(sharp)), list(sharp)[-1]
    structural = [float(values.mean()) for values in results.coefficients["structural"].values()]
    yield (
        f"- {name}: eps\\* of ApproxRank-MAP falls from {sharp[first].mean():.2f} at {first} to "
        f"{sharp[last].mean():.2f} at {last}; that of the four structural SVMs is {min(structural):.2f} to "
        f"{max(structural):.2f}."
    )
    means = {entry: compared.mean(entry, "AP") for entry in compared.entries if "," not in entry}
    best = max(means, key=means.__getitem__)
    yield (
        f"- {name}: test MAP is highest for {best} ({means[best]:.4f}); ApproxRank-MAP {means[MAP]:.4f}, "
        f"ListNet {means[LISTNET]:.4f}, all within {max(means.values()) - min(means.values()):.4f}."
    )
    gain = 100.0 * (trade.many.mean() / trade.one.mean() - 1.0)
    yield f"- {name}: restarts raise training MAP of ApproxRank-MAP by {gain:.1f} % over all alpha."


def how(results: Results) -> tuple[str, ...]:
    """Describe data, protocol and settings."""
    data = "; ".join(
        f"{name}, {len(one.collection.splits)} folds, {len(one.compared.query_ids)} test queries"
        for name, one in results.collections.items()
    )
    settings = results.settings
    values = {"data": data, "sweep": settings.sweep, "grids": settings.grids, "seed": settings.seed}
    return tuple(text.format(**values) for text in _HOW)


def differs(results: Results) -> tuple[str, ...]:
    """Describe what differs from the paper."""
    return tuple(text.format(soft_restarts=results.settings.grids.soft_restarts) for text in _DIFFERS)
