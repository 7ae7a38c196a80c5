"""Figures 1 to 6 of the paper and two more; and values by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from directrix.reports.report import Curve, Figure, Panel, PerQuery
from directrix.reproductions.donmez2009.pairs import MATCHED, Sized
from directrix.reproductions.donmez2009.protocol import Key, Results
from directrix.reproductions.donmez2009.settings import MEASURES, NETS
from directrix.reproductions.paper import paper

_PAPER = paper("donmez2009")
_STEP = "step size η"


def figures(results: Results) -> tuple[Figure, ...]:
    """Draw all figures for which weights were tested."""
    converged = results.of_kind("converged")
    drawn = [
        _PAPER.figure(
            "directions",
            _directions(converged, measure),
            number=number,
            file=measure.lower().replace("@", "-"),
            measure=measure,
        )
        for number, measure in enumerate(MEASURES, start=1)
    ]
    panels = {
        "fig5-effective-pairs": [_sizes(results.sized, target) for target in MATCHED if results.sized],
        "fig6-random-weights": _directions(results.of_kind("random"), "nDCG"),
        "one-weight": _one_weight(results),
        "pairs-by-epoch": _epochs(results),
    }
    drawn += [_PAPER.figure(name, of) for name, of in panels.items()]
    return tuple(figure for figure in drawn if figure.panels)


def per_query(results: Results) -> tuple[PerQuery, ...]:
    """Show the values of the two-layer nets on every test query, one for each measure trained for."""
    parts = []
    for name, one in results.collections.items():
        values, query_ids = one.matching("mlp").values, tuple(map(str, one.compared.query_ids))
        for measure in MEASURES:
            by_training = {f"trained for {trained}": values[trained][measure] for trained in MEASURES}
            parts.append(PerQuery(name, measure, query_ids, by_training))
    return tuple(parts)


def _directions(certificates: Mapping[Key, Any], measure: str) -> tuple[Panel, ...]:
    panels = []
    for (_, collection, model, tested), one in certificates.items():
        if tested == measure:
            x, value = np.array([0.0, *one["steps"]]), one["value"]
            curves = [
                Curve(f"direction {i}", x, value + np.array([0.0, *row]))
                for i, row in enumerate(one["shown"], 1)
            ]
            highest = value + np.array([0.0, *one["max_change"]])
            curves.append(Curve(f"highest of {one['n_directions']}", x, highest, "dashed"))
            title = f"{collection}, {NETS[model]}"
            panels.append(Panel(title, tuple(curves), _STEP, f"mean {measure}, training queries"))
    return tuple(panels)


def _sizes(runs: tuple[Sized, ...], target: str) -> Panel:
    curves = []
    for trained in MEASURES:
        of = [run for run in runs if run.trained == trained]
        x, y = np.array([run.pairs for run in of]), np.array([run.mean(target) for run in of])
        curves.append(Curve(f"trained for {trained}", x, y))
    return Panel(f"tested on {target}", tuple(curves), "effective pairs per epoch", f"mean {target}", "log")


def _one_weight(results: Results) -> tuple[Panel, ...]:
    return _grouped(
        (
            (
                f"{collection}, {NETS[model]}",
                Curve(measure, np.array([0.0, *one["steps"]]), np.array([0.0, *one["max_change"]])),
            )
            for (_, collection, model, measure), one in results.of_kind("converged, one weight").items()
        ),
        _STEP,
        "highest change of the measure",
    )


def _epochs(results: Results) -> tuple[Panel, ...]:
    return _grouped(
        (
            (
                one.collection,
                Curve(
                    one.measure,
                    np.arange(len(one.by_epoch), dtype=np.float64),
                    100.0 * np.array(one.by_epoch) * (one.share / one.mean),
                ),
            )
            for one in results.pairs
            if one.model == "mlp" and one.share > 0.0
        ),
        "epoch",
        "% of all pairs of different labels",
    )


def _grouped(curves: Iterable[tuple[str, Curve]], x: str, y: str) -> tuple[Panel, ...]:
    """Put curves into panels by their title."""
    by_title: dict[str, list[Curve]] = {}
    for title, curve in curves:
        by_title.setdefault(title, []).append(curve)
    return tuple(Panel(title, tuple(one), x, y) for title, one in by_title.items())
