"""Figures 1 to 6 of the paper, and two that it leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.experiments.donmez2009.results import Found
from directrix.reports.donmez2009.published import MEASURES
from directrix.reports.donmez2009.tables import NETS, short
from directrix.reports.report import Curve, Figure, Panel

__all__ = ["figures"]

_STEP = "step size η"


def figures(found: Found) -> tuple[Figure, ...]:
    """All figures for which there are numbers."""
    made = [
        *(_moved(found, number, measure) for number, measure in enumerate(MEASURES, start=1)),
        _sizes(found),
        _random(found),
        _one_weight(found),
        _epochs(found),
    ]
    return tuple(figure for figure in made if figure.panels)


def _moved(found: Found, number: int, measure: str) -> Figure:
    panels = [
        _directions(f"{collection}, {NETS[str(model)]}", measure, one)
        for (what, collection, model, name), one in found.certificates.items()
        if what == "converged" and short(str(name)) == measure
    ]
    return Figure(
        f"fig{number}-{measure.lower().replace('@', '-')}",
        f"Figure {number}: {measure} on the training queries when the weights learned for it are moved",
        tuple(panels),
        f"Four random directions and the highest of all: {measure} against the length of the step from the "
        "learned weights, which are at 0. At a local optimum no line rises above its left end.",
    )


def _directions(title: str, measure: str, one: Any) -> Panel:
    x = np.array([0.0, *one["steps"]])
    value = one["value"]
    curves = [
        Curve(f"direction {i + 1}", x, value + np.array([0.0, *row])) for i, row in enumerate(one["shown"])
    ]
    highest = Curve(
        f"highest of {one['n_directions']}", x, value + np.array([0.0, *one["max_change"]]), "dashed"
    )
    return Panel(title, (*curves, highest), _STEP, f"mean {measure}, training queries")


def _sizes(found: Found) -> Figure:
    panels = []
    for target in ("RR", "nDCG@10"):
        curves = []
        for trained in dict.fromkeys(one.trained for one in found.sized):
            runs = [one for one in found.sized if one.trained == trained]
            name = next(m for m in runs[0].test if short(m) == target)
            x = np.array([one.pairs for one in runs])
            y = np.array([float(np.nanmean(one.test[name])) for one in runs])
            curves.append(Curve(f"trained for {short(trained)}", x, y))
        if curves:
            panels.append(
                Panel(
                    f"tested on {target}", tuple(curves), "effective pairs an epoch", f"mean {target}", "log"
                )
            )
    return Figure(
        "fig5-effective-pairs",
        "Figure 5: effective training pairs against test values, artificial data, two-layer nets",
        tuple(panels),
        "Four lines, one for each measure trained for: test value against the number of effective pairs "
        "an epoch, on a logarithmic axis; more queries make more pairs. The line of MRR begins farthest "
        "to the left.",
    )


def _random(found: Found) -> Figure:
    panels = [
        _directions(f"{collection}, {NETS[str(model)]}", short(str(measure)), one)
        for (what, collection, model, measure), one in found.certificates.items()
        if what == "random"
    ]
    return Figure(
        "fig6-random-weights",
        "Figure 6: nDCG on the training queries when random weights are moved",
        tuple(panels),
        "Four random directions and the highest of all, from weights before any training: some lines rise.",
    )


def _one_weight(found: Found) -> Figure:
    by_place: dict[str, list[Curve]] = {}
    for (what, collection, model, measure), one in found.certificates.items():
        if what == "converged, one weight":
            x, y = np.array([0.0, *one["steps"]]), np.array([0.0, *one["max_change"]])
            by_place.setdefault(f"{collection}, {NETS[str(model)]}", []).append(
                Curve(short(str(measure)), x, y)
            )
    panels = [
        Panel(place, tuple(curves), _STEP, "highest change of the measure")
        for place, curves in by_place.items()
    ]
    return Figure(
        "one-weight",
        "One weight at a time: the highest change of the measure on the training queries",
        tuple(panels),
        "For each measure the highest change that moving a single weight up or down by the step makes; 0 "
        "or below "
        'at every step would be "the gradient vanishes".',
    )


def _epochs(found: Found) -> Figure:
    by_collection: dict[str, list[Curve]] = {}
    every = {(one.collection, one.model, one.measure): one for one in found.pairs}
    for (_, collection, model, measure), training in found.trainings.items():
        count = every[str(collection), str(model), str(measure)]
        if model == "mlp" and count.share > 0.0:
            shares = 100.0 * np.array(training["pairs"]) * (count.share / count.mean)
            curve = Curve(short(str(measure)), np.arange(len(shares), dtype=np.float64), shares)
            by_collection.setdefault(str(collection), []).append(curve)
    panels = [
        Panel(name, tuple(curves), "epoch", "% of all pairs of different labels")
        for name, curves in by_collection.items()
    ]
    return Figure(
        "pairs-by-epoch",
        "Effective pairs epoch after epoch, two-layer nets",
        tuple(panels),
        "For each measure trained for the share of pairs of different labels that exert a force, against "
        "the epoch: level for nDCG and AP, lower and moving for nDCG@10, lowest for RR.",
    )
