"""Candidates: methods with their settings, and the results of training."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from directrix.data.scale import is_by_query
from directrix.errors import Advice, InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.bounds import CONSTRAINTS
from directrix.rankers.kinds import MODELS
from directrix.rankers.means import mean_and_error
from directrix.rankers.method import Method
from directrix.rankers.named_trainers import takes_bounds
from directrix.search.clock import LearningCurve
from directrix.types import Float64Array

UNTRAINED, CUT_SHORT, DROPPED, SAMPLE = "not trained", "cut short", "dropped", "sample"
INCOMPLETE = "incomplete"

_NO_EFFECT = {
    "patience": "early stopping needs a validation set while training, the search uses its own to choose",
    "warm_start": "every candidate is trained from its own start",
}


def _no_values() -> Float64Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)  # settings may be arrays
class Candidate:
    """A method with its settings and, once it is trained, its results.

    Parameters
    ----------
    method : Method
    settings : mapping
        Settings that differ from the defaults of the method.
    valid, train : float
        Mean of the measure on the validation and the training queries.
    steps : int
        Iterations, epochs, rounds or trees of the evaluated ranker; the median over folds.
    status : str
        Why training stopped, see `Result`; from the last fold.
    seconds : float
        Duration of training and evaluation, without the compilation of kernels.
    values : float64 (n_queries,)
        The measure on every validation query, NaN where it is undefined; for a dropped or incomplete
        candidate, on the queries of the folds so far; for one trained on a sample, on those of the sample.
    outcome : str
        "" for a complete run; "cut short" if the time budget stopped it, and it was evaluated as it was; "not
        trained" if it stopped before the first step; "dropped" if it was too far behind to try all folds;
        "incomplete" if the search was stopped before it had tried all folds; or "sample" if it was trained
        and evaluated only on a sample of the queries.
    curve : LearningCurve, optional
        Loss and measure after every step; without points for a run without steps.
    progress : str
        Progress of a run that the time budget stopped: "8 of 300 trees"; otherwise "".
    rankers : tuple
        Fitted rankers, one for each fold. A search keeps that of the first fold, and after the choice only
        those of the chosen candidates.
    scores : float64 (n_docs,)
        Scores of the validation queries, in units of their spread on the training queries; 0 in a fold whose
        ranker gives all training documents of a query the same score.
    measure : measure, optional
        Measure that the ranker is trained for.
    seed : int, optional
        Seed of a stochastic trainer.
    is_anchor : bool
        Whether it can join an ensemble even if others of its method are ahead: the default trees, and bags.
    place : int
        Place in the order of preference, which decides between equally good candidates.
    """

    method: Method
    settings: Mapping[str, Any]
    valid: float = math.nan
    train: float = math.nan
    steps: int = 0
    status: str = ""
    seconds: float = 0.0
    values: Float64Array = field(default_factory=_no_values, repr=False)
    outcome: str = ""
    curve: LearningCurve | None = field(default=None, repr=False)
    progress: str = ""
    rankers: tuple[Any, ...] = field(default=(), repr=False)
    scores: Float64Array = field(default_factory=_no_values, repr=False)
    measure: RankingMeasure | None = field(default=None, repr=False)
    seed: int | None = field(default=None, repr=False)
    is_anchor: bool = field(default=False, repr=False)
    place: int = field(default=0, repr=False)

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.method.name

    @property
    def label(self) -> str:
        """Method and settings in one line, without constraints: ``ApproxNDCG alpha=10 l2=0.001``."""
        varied = {name: value for name, value in self.settings.items() if name not in CONSTRAINTS}
        settings = (f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in varied.items())
        return " ".join([self.name, *settings])

    @property
    def or_worst(self) -> float:
        """``valid``, or minus infinity where the measure is undefined."""
        return -math.inf if math.isnan(self.valid) else self.valid

    @property
    def error(self) -> float:
        """Standard error of ``valid`` over the validation queries; NaN where they do not tell it."""
        return mean_and_error(self.values)[1] or math.nan

    @property
    def needs_queries(self) -> bool:
        """Whether the ranker scales by query, and thus needs the whole query to score a document."""
        return is_by_query(self.ranker().scale)

    def ranker(self) -> Any:
        """Return the unfitted ranker."""
        seeded = self.seed is not None and "random_state" in self.method.settings
        random_state = {"random_state": self.seed} if seeded else {}
        return self.method.ranker(measure=self.measure, **{**random_state, **self.settings})


def candidates_of(
    method: Method,
    measure: RankingMeasure | None,
    settings: Mapping[str, Any] | None = None,
    models: Collection[str] | None = None,
) -> tuple[list[Candidate], tuple[str, ...]]:
    """List the grid of a method, with fixed settings in place of its values.

    Each setting goes to the parts of the method that have it. Methods that cannot satisfy the constraints are
    excluded; their names are returned too. Raises `InputError` if nothing is left, or a setting does not
    exist or has no effect in a search.
    """
    given = settings or {}
    constraints = {name: given[name] for name in CONSTRAINTS if given.get(name) is not None}
    fixed = {name: value for name, value in given.items() if name not in CONSTRAINTS}
    method.check_settings(fixed)
    parts = method.parts(measure)
    for name in _NO_EFFECT.keys() & fixed.keys():
        if not (name == "patience" and any(part.keeps_best for part in parts)):
            raise InputError(
                f"{name} has no effect in a search: {_NO_EFFECT[name]}. Leave it out, or fit one ranker in "
                f"Python: method({method.name!r}).ranker({name}={fixed[name]!r})."
            )
    made = []
    for part in parts:
        own = {name: (value,) for name, value in fixed.items() if name in part.settings}
        axes = {**part.grid, **own}
        made += [
            Candidate(part, dict(zip(axes, values, strict=True)), measure=measure)
            for values in itertools.product(*axes.values())
        ]
    made = _with_models(made, models)
    if not constraints:
        return made, ()
    kept = [replace(c, settings={**c.settings, **constraints}) for c in made if _can_keep_to(constraints, c)]
    names = list(dict.fromkeys(c.name for c in made))
    if not kept:
        raise InputError(
            f"{', '.join(names)}: cannot keep to {' and '.join(constraints)}. Bounds are for linear models, "
            "monotone features for linear models, networks and trees; the trainers lbfgs, sgd, adam and "
            "coordinate-ascent keep to them.",
            Advice("constrained-method"),
        )
    return kept, tuple(name for name in names if name not in {c.name for c in kept})


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates without those whose rankers equal that of an earlier one.

    A given setting may replace the only one in which two methods differ.
    """
    first: dict[Any, Candidate] = {}
    for candidate in candidates:
        key: Any = candidate
        with suppress(InputError):  # training reports it
            ranker = candidate.ranker()
            key = type(ranker), str(ranker.get_params(deep=False))
        first.setdefault(key, candidate)
    return [*first.values()]


def _can_keep_to(constraints: Mapping[str, Any], candidate: Candidate) -> bool:
    trainer = getattr(candidate.ranker(), "trainer", None)  # trees have none
    return set(constraints) <= set(candidate.method.settings) and (trainer is None or takes_bounds(trainer))


def _with_models(candidates: list[Candidate], models: Collection[str] | None) -> list[Candidate]:
    if models is None:
        return candidates
    models = [models] if isinstance(models, str) else models
    unknown = sorted(set(models) - set(MODELS))
    matching = [c for c in candidates if c.method.model in models]
    if unknown or not matching:
        raise InputError(
            f"models={sorted(models)}: "
            + (f"there is no model {unknown[0]!r}" if unknown else "no candidate has one of these models")
            + f"; models are {', '.join(MODELS)}.",
            Advice("models"),
        )
    return matching
