"""Figures of training runs and importances, for pages, and on matplotlib axes for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.crossval_result import settings_text
from directrix.experiments.importance import Importance
from directrix.experiments.inspection import Inspection
from directrix.parameters import whole
from directrix.reports.figures import STYLE, draw_panel, need_plot
from directrix.reports.report import Curve, Figure, Panel
from directrix.search.search import SearchResult
from directrix.search.trial import LearningCurve, Trial
from directrix.types import Array, Float64Array

_Path = tuple[Float64Array, Float64Array]
# Colors can tell apart at most this number of configurations of one method.
_LABELS = 8


def training_figures(
    result: SearchResult, inspection: Inspection, n_features: int
) -> tuple[tuple[Figure, ...], tuple[tuple[str, str], ...]]:
    """Return the figures, and those that cannot be drawn, with the reason."""
    bars = importance_figures(inspection.importance, n_features)
    groups = (
        ("Measure against seconds", "the measure is undefined on the validation queries", _race(result)),
        ("Learning curve", "what was chosen is trained without steps", _learning(result, inspection.n_folds)),
        ("Figure of the importances", "no feature makes a difference", bars),
    )
    absent = tuple((what, why) for what, why, figures in groups if not figures)
    return tuple(figure for _, _, figures in groups for figure in figures), absent


def _race(result: SearchResult) -> list[Figure]:
    """One line per candidate, one color per method, or per candidate if there is one method."""
    measure = result.ranker.measure_.name
    trials = [trial for trial in result.trials if np.isfinite(trial.valid)]
    if not trials:
        return []
    # The candidates of one method are named by the settings in which they differ.
    hyperparameters = [trial.candidate.settings for trial in trials]
    by_settings = len({trial.name for trial in trials}) == 1 and len(trials) <= _LABELS
    ends = [trial.valid for trial in trials]
    # Values from early steps may be far below all ends. They would leave little height for the differences.
    floor = min(ends) - (max(ends) - min(ends))
    paths: dict[str, list[_Path]] = {}
    for trial in trials:
        label = trial.name
        if by_settings:
            values = trial.candidate.settings.items()
            varied = {k: v for k, v in values if any(other[k] != v for other in hyperparameters)}
            label = settings_text(varied) if varied else label
        paths.setdefault(label, []).append(_path(trial, floor))
    curves = []
    for label, lines in paths.items():
        # NaN ends a line, so one curve draws all of them without joining them.
        x, y = (np.concatenate([np.append(path[axis], np.nan) for path in lines])[:-1] for axis in (0, 1))
        is_line = any(len(seconds) > 1 for seconds, _ in lines)
        curves.append(Curve(label, x, y, "line" if is_line else "points"))
    panel = Panel("", tuple(curves), "seconds", f"{measure}, validation", x_scale="log")
    figure = Figure(
        "race",
        f"{measure} on the validation queries, best so far, against the seconds of each training. A line "
        "begins where it comes near the others, and ends at the figures of the table; a training that "
        "evaluates only its last step is a point.",
        (panel,),
        f"{measure} against seconds of {len(trials)} candidates; their table has the ends",
    )
    return [figure]


def _path(trial: Trial, floor: float) -> _Path:
    """Seconds, and the best measure so far where it is above the floor; the end is that of the table."""
    seconds, best = np.zeros(0), np.zeros(0)
    if trial.curve is not None and np.isfinite(trial.curve.valid).any():
        seconds, best = trial.curve.seconds, trial.curve.best
    near = best >= floor
    return np.append(seconds[near], trial.seconds), np.append(best[near], trial.valid)


def _learning(result: SearchResult, n_folds: int) -> list[Figure]:
    """One figure for what was chosen, or for every member of an ensemble that has steps.

    The measure, if it was evaluated after every step, and the loss have a panel each.
    """
    figures, measure = [], result.ranker.measure_.name
    for number, trial in enumerate(result.members or (result.chosen,), start=1):
        curve = trial.curve
        if curve is None or len(curve.steps) < 2:
            continue
        # With several folds each keeps a step of its own, so the mean curve has no best step to mark.
        panels = learning_panels(curve, measure, mark_best=n_folds == 1)
        over = f", mean over {n_folds} folds" if n_folds > 1 else ""
        loss = "what the trainer lowers on the training queries"
        has_valid = bool(np.isfinite(curve.valid).any())
        shown = f"{measure} on the validation queries, and {loss}" if has_valid else loss
        kept = "" if has_valid else "; the last step is kept"
        title = f"Learning curve of {trial.label}{over}: {shown}, after every step{kept}."
        if panels:
            figures.append(Figure(f"learning-{number}", title, panels, f"{measure} and loss against steps"))
    return figures


def learning_panels(curve: LearningCurve, measure: str, *, mark_best: bool) -> tuple[Panel, ...]:
    """The measure on the validation queries by step, and the loss; unknown ones are left out."""
    panels = []
    if np.isfinite(curve.valid).any():
        lines = [Curve("", curve.steps, curve.valid)]
        if mark_best:
            at = [int(np.nanargmax(curve.valid))]
            lines.append(Curve("best", curve.steps[at], curve.valid[at], "points"))
        panels.append(Panel("", tuple(lines), "step", f"{measure}, validation"))
    if np.isfinite(curve.loss).any():
        panels.append(Panel("", (Curve("", curve.steps, curve.loss),), "step", "loss, training"))
    return tuple(panels)


def importance_panel(values: Float64Array, names: Sequence[str], label: str) -> Panel:
    """One bar per feature, in this order."""
    places: Array = np.arange(len(values), dtype=np.float64)
    shown = tuple(name.removeprefix("feature ") for name in names)
    return Panel("", (Curve("", places, values, "bars"),), "feature", label, x_names=shown)


def importance_figures(importance: Importance, top: int) -> list[Figure]:
    """Return the figure of the ``top`` features; none if no feature makes a difference."""
    shown = importance.shown(top)
    if not shown:
        return []
    names = [importance.names[j] for j in shown]
    panel = importance_panel(importance.mean[shown], names, f"fall of {importance.measure}")
    title = (
        f"Importance of features: the fall of {importance.measure} when one is shuffled within every query."
    )
    return [Figure("importance", title, (panel,), "bars; the table of the importances has their heights")]


def plot_importance(source: Any, *, n_features: int = 20, ax: Any = None) -> Any:
    """Draw the importance of features as bars, the most important first.

    Parameters
    ----------
    source : ranker or Importance
        A fitted ranker of trees, with ``feature_importances_``, or the result of `permutation_importance` for
        any ranker.
    n_features : int >= 1
        Maximum number of bars. Features of importance 0 are left out.
    ax : matplotlib Axes, optional
        Axes to draw on; default: a new figure.

    Returns
    -------
    Axes
        ``ax.figure.savefig("importance.png")`` writes it.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    InputError
        If no feature makes a difference.
    AttributeError
        If the ranker has no ``feature_importances_``; the message names `permutation_importance`.

    Examples
    --------
    >>> from directrix import BoostedRanker
    >>> from directrix.data import make_linear
    >>> from directrix.experiments import plot_importance
    >>> queries, _ = make_linear(20, 10, 3, seed=0)
    >>> ax = plot_importance(BoostedRanker(n_trees=5).fit_queries(queries))  # doctest: +SKIP
    """
    whole(n_features, "n_features", "plot_importance")
    if isinstance(source, Importance):
        names: Any
        values, names, label = source.mean, source.names, f"fall of {source.measure}"
    else:
        values, label = source.feature_importances_, "share of the gain of all splits"
        names = getattr(source, "feature_names_in_", [f"feature {j + 1}" for j in range(len(values))])
    order = np.argsort(-np.nan_to_num(values), kind="stable")
    shown = [int(j) for j in order if np.nan_to_num(values[j])][:n_features]
    if not shown:
        raise InputError("no feature makes a difference; there is nothing to draw.")
    panel = importance_panel(values[shown], [str(names[j]) for j in shown], label)
    return _drawn([panel], None if ax is None else [ax])[0]


def plot_training(ranker: Any, *, axes: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """Draw the learning curves of a ranker: the measure on the validation queries, and the loss, by step.

    Parameters
    ----------
    ranker : ranker
        Fitted, with an ``eval_set`` for the measure.
    axes : sequence of matplotlib Axes, optional
        Axes to draw on, one for each curve; default: a new figure.

    Returns
    -------
    tuple of Axes
        One for the measure, if it was evaluated after every step, and one for the loss, if it is known.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    InputError
        If there is no curve, because the ranker was loaded from a file or trained without steps, or if there
        are fewer ``axes`` than curves.

    Examples
    --------
    >>> from directrix import LinearRanker
    >>> from directrix.data import make_linear
    >>> from directrix.experiments import plot_training
    >>> queries, _ = make_linear(20, 10, 3, seed=0)
    >>> axes = plot_training(LinearRanker(max_iter=5).fit_queries(queries))  # doctest: +SKIP
    """
    fitted = ranker.trained()
    trace = fitted.result_.trace
    steps = {int(row.get("restart", row["iteration"])): np.nan for row in trace}
    panels = learning_panels(LearningCurve.of(trace, steps), fitted.measure_.name, mark_best=True)
    if not panels:
        raise InputError(
            f"the {type(fitted).__name__} has no learning curve: model files hold none, and ensembles none "
            "of their own. Fit it here, or draw its members_."
        )
    if axes is not None and len(axes) < len(panels):
        raise InputError(f"axes has {len(axes)} entries for {len(panels)} curves; give one for each curve.")
    return _drawn(panels, axes)


def _drawn(panels: Sequence[Panel], axes: Sequence[Any] | None) -> tuple[Any, ...]:
    need_plot()
    from matplotlib import pyplot, rc_context

    with rc_context(STYLE):
        if axes is None:
            size = (max(4.6 * len(panels), 5.2), 3.4)
            made = pyplot.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)[1]
            axes = list(made.ravel())
        for panel, ax in zip(panels, axes, strict=False):
            draw_panel(panel, ax)
    return tuple(axes[: len(panels)])
