"""What ``fit`` hands to a ranker: checked data, the measure, weights, and what watches the steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.errors import InputError, warn
from directrix.measures.base import RankingMeasure
from directrix.parameters import whole
from directrix.rankers.categories import matched, refuse_categories
from directrix.rankers.digests import same_rows
from directrix.rankers.inputs import Weights, check_training
from directrix.rankers.missing import read_as
from directrix.rankers.training import goal_of
from directrix.types import Callback, Step


class Training(NamedTuple):
    """What a ranker is trained on and for; the measure is None where ``fit`` is not told."""

    queries: Any  # Queries, or ShardedQueries under `fit_shards`
    valid: Any  # likewise, or None
    measure: Any
    weights: Weights
    callback: Callback | None = None
    scale: Any = None  # fitted; the queries are scaled by it
    verbose: int = 0  # print every n-th step
    patience: int | None = None  # instead of that of the ranker
    names: tuple[str, ...] | None = None  # of the features, before they are scaled

    @property
    def n_columns(self) -> int:
        """Scaled columns of a feature."""
        return 1 if self.scale is None else int(self.scale.n_columns)

    @property
    def n_given(self) -> int:
        """Number of features, before they are scaled."""
        return int(self.queries.n_features) // self.n_columns

    def watched(self, measure: RankingMeasure) -> Training:
        """Return the training with a callback that prints every ``verbose``-th step too."""
        if not self.verbose:
            return self
        return self._replace(callback=_joined([_printer(self.verbose, measure.name), self.callback]))


def training_for(  # noqa: PLR0913
    ranker: Any,
    q: Queries | ShardedQueries,
    valid: Queries | ShardedQueries | None,
    measure: RankingMeasure | str | None,
    weights: Weights,
    callback: Callback | Sequence[Callback] | None,
    verbose: Any,
    early_stopping_rounds: int | None,
) -> Training:
    """Check what ``fit`` was given; see there."""
    which = "the validation data"
    valid = valid if valid is None or valid is q else read_as(valid, q.missing, which)
    check_training(q, valid, allow_missing=ranker.takes_missing)
    if not ranker.takes_categories:
        refuse_categories(q, type(ranker).__name__)
    if isinstance(valid, Queries):
        valid = valid if valid is q else matched(valid, q.categories, which)
    # one object for both is a choice: that of a search on few queries
    if valid is not None and valid is not q and same_rows(valid, q):
        warn(
            "the validation queries hold the same rows as the training queries, which say nothing about "
            "other queries: the step that fits them most closely is kept. Give other queries, or "
            "leave them out.",
            stacklevel=4,
        )
    goal = None if measure is None else goal_of(measure)
    every = whole(int(verbose) if isinstance(verbose, bool) else verbose, "verbose", "fit", least=0)
    if early_stopping_rounds is not None:
        _check_stopping(ranker, valid, early_stopping_rounds)
    watch = None if callback is None else _joined(callback)
    return Training(q, valid, goal, weights, watch, None, every, early_stopping_rounds, q.feature_names)


def _check_stopping(ranker: Any, valid: Any, rounds: Any) -> None:
    whole(rounds, "early_stopping_rounds", "fit")
    if not hasattr(ranker, "patience"):
        raise InputError(
            f"{type(ranker).__name__} takes no early_stopping_rounds: it trains several rankers, each with a "
            "patience of its own. Leave it out."
        )
    if valid is None:
        raise InputError(
            f"early_stopping_rounds={rounds} needs validation queries, which say when to stop: type "
            "eval_set=(X_valid, y_valid), eval_qid=qid_valid."
        )


def _joined(callbacks: Callback | Sequence[Callback | None]) -> Callback:
    """One callback that calls several; any of them ends the training."""
    several: Sequence[Any] = callbacks if isinstance(callbacks, list | tuple) else [callbacks]
    given = [callback for callback in several if callback is not None]
    for callback in given:
        if not callable(callback):
            raise InputError(
                f"callback={callback!r}: a function of one step is needed, or a list of such functions; type "
                "e.g. callback=lambda step: print(step.iteration, step.loss, step.score)."
            )

    def watch(step: Step) -> bool:
        return any([bool(callback(step)) for callback in given])  # a list: all of them see the step

    return watch


def _printer(every: int, measure: str) -> Callable[[Step], None]:
    def show(step: Step) -> None:
        if step.iteration % every == 0:
            loss = "" if math.isnan(step.loss) else f"\tloss: {step.loss:.6g}"
            score = "" if math.isnan(step.score) else f"\tvalid {measure}: {step.score:.6g}"
            print(f"[{step.iteration}]{loss}{score}", flush=True)

    return show
