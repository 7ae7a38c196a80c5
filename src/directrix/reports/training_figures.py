"""Figures of the page of a training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from directrix.experiments.importance import Importance
from directrix.experiments.inspection import Inspection
from directrix.rankers.selection.result import Search
from directrix.rankers.selection.trial import Candidate
from directrix.reports.crossval import settings_text
from directrix.reports.report import Curve, Figure, Panel
from directrix.types import Array, Float64Array

_Path = tuple[Float64Array, Float64Array]
_LABELS = 8  # settings of one method that colours can tell apart


def training_figures(
    result: Search, inspection: Inspection, n_features: int
) -> tuple[tuple[Figure, ...], tuple[tuple[str, str], ...]]:
    """Return the figures, and what cannot be drawn with the reason."""
    figures = (
        _race(result),
        _learning(result, inspection.n_folds),
        _importance(inspection.importance, n_features),
    )
    reasons = (
        ("Measure against seconds", "the measure is undefined on the validation queries"),
        ("Learning curve", "what was chosen is trained without steps"),
        ("Figure of the importances", "no feature makes a difference"),
    )
    absent = tuple(why for why, figure in zip(reasons, figures, strict=True) if figure is None)
    return tuple(figure for figure in figures if figure is not None), absent


def _race(result: Search) -> Figure | None:
    """One line per candidate, one colour per method, or per candidate if there is one method."""
    measure = result.ranker.measure_.name
    candidates = [c for c in result.candidates if np.isfinite(c.valid)]
    if not candidates:
        return None
    name_of = _by_settings if len({c.method for c in candidates}) == 1 else _by_method
    if len(candidates) > _LABELS:
        name_of = _by_method
    ends = [c.valid for c in candidates]
    floor = min(ends) - (max(ends) - min(ends))
    paths: dict[str, list[_Path]] = {}
    for c in candidates:
        paths.setdefault(name_of(c, candidates), []).append(_path(c, floor))
    curves = []
    for label, of_label in paths.items():
        x, y = (_broken([path[axis] for path in of_label]) for axis in (0, 1))
        is_line = any(len(seconds) > 1 for seconds, _ in of_label)
        curves.append(Curve(label, x, y, "line" if is_line else "points"))
    panel = Panel("", tuple(curves), "seconds", f"{measure}, validation", x_scale="log")
    return Figure(
        "race",
        f"{measure} on the validation queries, best so far, against the seconds of each training. A line "
        "begins where it comes near the others, and ends at the figures of the table; a training that "
        "evaluates only its last step is a point.",
        (panel,),
        f"{measure} against seconds of {len(candidates)} candidates; their table has the ends",
    )


def _by_method(candidate: Candidate, _: Sequence[Candidate]) -> str:
    return candidate.method


def _by_settings(candidate: Candidate, others: Sequence[Candidate]) -> str:
    """The settings in which the candidates differ."""
    varied = {k: v for k, v in candidate.settings.items() if any(c.settings[k] != v for c in others)}
    return settings_text(varied) if varied else candidate.method


def _path(candidate: Candidate, floor: float) -> _Path:
    """Seconds, and the best measure so far where it is above the floor; the end is that of the table."""
    seconds, best = np.zeros(0), np.zeros(0)
    if candidate.curve is not None and np.isfinite(candidate.curve.valid).any():
        seconds, best = candidate.curve.seconds, np.fmax.accumulate(candidate.curve.valid)
    near = best >= floor
    return np.append(seconds[near], candidate.seconds), np.append(best[near], candidate.valid)


def _broken(parts: Sequence[Float64Array]) -> Float64Array:
    """The parts one after the other, with NaN between them, which breaks the line."""
    return np.concatenate([np.append(part, np.nan) for part in parts])[:-1]


def _learning(result: Search, n_folds: int) -> Figure | None:
    """The measure of what was chosen, in one panel, and the loss of each training in its own."""
    measure = result.ranker.measure_.name
    chosen = [member for member, _ in result.members] or [result.chosen]
    with_steps = [(c.label, c.curve) for c in chosen if c.curve is not None and len(c.curve.steps) > 1]
    judged = [(label, curve) for label, curve in with_steps if np.isfinite(curve.valid).any()]
    panels = []
    if judged:
        best = [int(np.nanargmax(curve.valid)) for _, curve in judged]
        x = np.array([curve.steps[i] for i, (_, curve) in zip(best, judged, strict=True)])
        y = np.array([curve.valid[i] for i, (_, curve) in zip(best, judged, strict=True)])
        lines = [Curve(label if len(judged) > 1 else "", c.steps, c.valid) for label, c in judged]
        panels = [Panel("", (*lines, Curve("best", x, y, "points")), "step", f"{measure}, validation")]
    for label, curve in with_steps:
        if np.isfinite(curve.loss).any():
            title = label if len(with_steps) > 1 else ""
            panels.append(Panel(title, (Curve("", curve.steps, curve.loss),), "step", "loss, training"))
    if not panels:
        return None
    over = f", mean over {n_folds} folds" if n_folds > 1 else ""
    loss = "what the trainer lowers on the training queries"
    shown = f"{measure} on the validation queries, and {loss}" if judged else loss
    kept = "" if judged else "; the last step is kept"
    return Figure(
        "learning",
        f"Learning curve of {result.name}{over}: {shown}, after every step{kept}.",
        tuple(panels),
        f"loss and {measure} against steps",
    )


def _importance(found: Importance, n_features: int) -> Figure | None:
    shown = [j for j in found.ranked if found.mean[j] or found.error[j]][:n_features]
    if not shown:
        return None
    places: Array = np.arange(len(shown), dtype=np.float64)
    names = tuple(found.names[j].removeprefix("feature ") for j in shown)
    bars = Curve("", places, found.mean[shown], "bars")
    panel = Panel("", (bars,), "feature", f"fall of {found.measure}", x_names=names)
    return Figure(
        "importance",
        f"Importance of features: the fall of {found.measure} when a feature is shuffled within every query.",
        (panel,),
        "bars; the table of the importances has their heights",
    )
