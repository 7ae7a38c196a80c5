"""Plots for notebooks: importance of features, and learning curves, on axes of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.importance import Importance
from directrix.parameters import whole
from directrix.reports.figures import STYLE, draw_panel, need_plot
from directrix.reports.report import Panel
from directrix.reports.training_figures import importance_panel, learning_panels
from directrix.search.clock import LearningCurve


def plot_importance(source: Any, *, n_features: int = 20, ax: Any = None) -> Any:
    """Draw the importance of features as bars, the most important first.

    Parameters
    ----------
    source : ranker or Importance
        A fitted ranker of trees, whose ``feature_importances_`` are drawn, or the `Importance` of any ranker
        that `permutation_importance` returned.
    n_features : int >= 1
        Maximum number of bars. Features of importance 0 are left out.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

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
        Where to draw, one for each curve; default: a new figure.

    Returns
    -------
    tuple of Axes
        One for the measure, if it was evaluated after every step, and one for the loss, if it is known.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    InputError
        If there is no curve: the ranker was loaded from a file, or trained without steps; or ``axes`` are
        fewer than the curves.

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
