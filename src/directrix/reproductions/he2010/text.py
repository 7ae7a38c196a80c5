"""The text of the reproduction of He and Liu (2010), in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from directrix.experiments.he2010.methods import LISTNET, MAP
from directrix.experiments.he2010.protocol import COLLECTIONS, Settings
from directrix.experiments.he2010.results import Agreement, Found, TradeOff

__all__ = ["PAPER", "TITLE", "differs", "how", "missing", "summary"]

TITLE = "He and Liu (2010): tendency correlation"

PAPER = """\
He and Liu (2010), "Tendency correlation analysis for direct optimization of evaluation measures in
information retrieval", Information Retrieval 13, ask whether what direct methods optimise moves as the
measure does. eps\\* is the largest difference of a change of the surrogate, times one best factor, and that
of the measure, between any two models on any query. By their Theorem 1, whoever maximises a surrogate of
small eps\\* all but maximises the measure."""

_HOW = (
    """\
- Data: {data}. Measures under the convention letor3; for AP, labels of 1 and more are relevant.""",
    """\
- eps\\*: {sweep.models} linear models, weights uniform on the sphere of length {sweep.norm:g}, seed {seed};
  the training queries of a fold; one factor for all of them; minimised exactly (decision 0097). There the
  measure counts ties by expectation.""",
    """\
- ApproxRank and SoftRank: gradient ascent, a query a step, rate .01, {grids.epochs} epochs, no penalty, from
  random weights of length 1. Of {grids.restarts} starts ({grids.soft_restarts} for SoftRank) the one with the
  highest surrogate is kept. beta = {grids.beta:g}.""",
    """\
- Validation queries choose alpha, sigma, C, and ListNet's settings: by AP for ListNet and the methods of
  MAP, by nDCG@10 for the others. Structural SVMs are trained to a proven optimum, DORM in rounds.""",
    """\
- A claim on test queries "holds" if p < .05 in the two-sided paired t-test over them, each tested by itself.
  Claims on coefficients and training values are about these very queries: there the means decide; what
  restarts gain, and Kendall's tau, are tested over the folds, whose training queries overlap.""",
)

_DIFFERS = (
    """\
- The paper does not say how long its random models are, and alpha and sigma have that unit (decision 0098).
  Its parameters cannot be matched with ours, their order can.""",
    """\
- ListNet is trained here, on the same folds; the paper speaks of a baseline provided in LETOR.""",
    """\
- SoftRank starts {soft_restarts} times, for its gradient costs most.""",
    """\
- DORM is that of `Dorm`: whole lists, documents of equal labels by score.""",
)


def missing(found: Sequence[Found]) -> tuple[tuple[str, str], ...]:
    """What could not be done."""
    there = {one.name for one in found}
    return (
        *(
            (name, f"no letor/{name}/Fold1 in the data folder; it is run when it is there.")
            for name in COLLECTIONS
            if name not in there
        ),
        (
            "differences from Tables 3 to 11",
            "the text of the paper that we have lacks the digits of its tables and its formulas; the "
            "figures in its "
            "sentences stand beside ours.",
        ),
    )


def summary(
    found: Sequence[Found], trades: Sequence[TradeOff], agreements: Sequence[tuple[str, Agreement]]
) -> tuple[str, ...]:
    """What was found, a sentence an item."""
    items = []
    for one, trade in zip(found, trades, strict=True):
        sharp = one.coefficients[MAP]
        first, last = next(iter(sharp)), list(sharp)[-1]
        bounds = [float(v.mean()) for v in one.coefficients["structural"].values()]
        items.append(
            f"- {one.name}: eps\\* of ApproxRank-MAP falls from {sharp[first].mean():.2f} at {first} to "
            f"{sharp[last].mean():.2f} at {last}; that of the four structural SVMs is {min(bounds):.2f} to "
            f"{max(bounds):.2f}."
        )
        means = {e: one.crossval.mean(e, "AP") for e in one.crossval.entries if "," not in e}
        best = max(means, key=lambda e: means[e])
        items.append(
            f"- {one.name}: test MAP is highest for {best} ({means[best]:.4f}); ApproxRank-MAP "
            f"{means[MAP]:.4f}, "
            f"ListNet {means[LISTNET]:.4f}, all within {max(means.values()) - min(means.values()):.4f}."
        )
        gain = 100.0 * (trade.many.mean() / trade.one.mean() - 1.0)
        items.append(
            f"- {one.name}: restarts raise training MAP of ApproxRank-MAP by {gain:.1f} % over all alpha."
        )
    items += [
        f"- {name}: over {len(each.points)} surrogates, -eps\\* and test {each.measure} have Kendall's tau "
        f"{each.kendall['test']:+.2f}; in single folds {each.by_fold['test'].min():+.2f} to "
        f"{each.by_fold['test'].max():+.2f}."
        for name, each in agreements
    ]
    return tuple(items)


def how(found: Sequence[Found], settings: Settings) -> tuple[str, ...]:
    """What was done."""
    data = "; ".join(
        f"{one.name}, {len(one.splits)} folds, {len(one.crossval.query_ids)} test queries" for one in found
    )
    values = {"data": data, "sweep": settings.sweep, "grids": settings.grids, "seed": settings.seed}
    return tuple(text.format(**values) for text in _HOW)


def differs(settings: Settings) -> tuple[str, ...]:
    """What differs from the paper."""
    return tuple(text.format(soft_restarts=settings.grids.soft_restarts) for text in _DIFFERS)
