"""`Plan`: what a search tries, decided and checked before any data are read.

A method, a measure and settings go in; the candidates come out, in the order of preference:

>>> from directrix import AP
>>> from directrix.rankers.methods import method
>>> candidates, unable = candidates_of(method("RankNet"), AP(), {"l2": 0.1})
>>> [candidate.label for candidate in candidates], unable
(['RankNet l2=0.1'], ())
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from directrix.data.scale import is_by_query
from directrix.errors import Advice, InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.bounds import CONSTRAINTS
from directrix.rankers.inputs import Weights
from directrix.rankers.kinds import MODELS
from directrix.rankers.method import Method
from directrix.rankers.named_trainers import takes_bounds

# These settings exist but would be ignored, so they are errors with the reason given here.
_NO_EFFECT = {
    "patience": "early stopping needs a validation set while training, the search uses its own to choose",
    "warm_start": "every candidate is trained from its own start",
}


# Settings may hold arrays, which have no single truth value, so candidates compare by identity.
@dataclass(frozen=True, eq=False)
class Candidate:
    """A configuration that a search can train: a method with one choice of settings.

    Parameters
    ----------
    method : Method
    settings : mapping
        Settings that differ from the defaults of the method.
    measure : measure, optional
        Measure that the ranker is trained for.
    seed : int, optional
        Seed of a stochastic trainer.
    place : int
        Place in the order of preference, which decides between equally good candidates.
    is_anchor : bool
        Whether it can join an ensemble even if others of its method are ahead: the default trees, and bags.
    """

    method: Method
    settings: Mapping[str, Any]
    measure: RankingMeasure | None = field(default=None, repr=False)
    seed: int | None = field(default=None, repr=False)
    place: int = field(default=0, repr=False)
    is_anchor: bool = field(default=False, repr=False)

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

    @cached_property
    def unfitted(self) -> Any:
        """A ranker to ask what it supports; it is made once, and never trained."""
        return self.ranker()

    @property
    def needs_queries(self) -> bool:
        """Whether the ranker scales by query, and thus needs the whole query to score a document."""
        return is_by_query(self.unfitted.scale)

    def ranker(self) -> Any:
        """Return a ranker to train."""
        seeded = self.seed is not None and "random_state" in self.method.settings
        random_state = {"random_state": self.seed} if seeded else {}
        return self.method.ranker(measure=self.measure, **{**random_state, **self.settings})


class TargetEngine(Protocol):
    """A program that must be able to run the result, such as `directrix.export.engine.Engine`."""

    @property
    def title(self) -> str:
        """Description for users."""

    @property
    def takes_ensembles(self) -> bool:
        """Whether it can run the mean of several models."""

    def checker(self, queries: Any) -> Callable[[Any], None]:
        """Return a function that raises `InputError` for a ranker of these data that it cannot run."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The candidates of a search, and the rules by which it trains them and chooses.

    Parameters
    ----------
    measure : measure
        It chooses among the candidates.
    candidates : tuple of Candidate
        In the order of preference.
    excluded : mapping of str to sequence of str
        Names of excluded methods by the reason.
    folds, time_budget, single, simple, n_jobs, seed
        As in `AutoRanker`; 1 is one process.
    engine : TargetEngine, optional
        The program that must be able to run the result.
    """

    measure: RankingMeasure
    candidates: tuple[Candidate, ...]
    excluded: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folds: int | None = None
    time_budget: float | None = None
    single: bool = False
    simple: bool = False
    n_jobs: int = 1
    seed: int = 0
    engine: TargetEngine | None = None

    def with_settings(self, settings: Mapping[str, Any]) -> Plan:
        """Return the plan with these settings of every candidate, such as constraints of named features."""
        changed = (replace(c, settings={**c.settings, **settings}) for c in self.candidates)
        return replace(self, candidates=tuple(changed)) if settings else self

    def keeping(self, kept: Sequence[Candidate], reason: str) -> Plan:
        """Return the plan with some of its candidates; methods that lose all are excluded for a reason."""
        excluded = {**self.excluded, reason: lost(self.candidates, kept)}
        return replace(self, candidates=tuple(kept), excluded=excluded)

    def suited_to(self, queries: Any, weights: Weights) -> Plan:
        """Return the plan with the candidates that suit data, weights and engine.

        Raises `InputError` if none is trained on shards, or if the engine can run none.
        """
        plan = self
        if queries.held == "shards":
            plan = plan.keeping(_trainable_on_shards(plan.candidates), "do not suit data in shards")
        elif weights[0] is not None:
            # If no candidate supports weights, all are kept: training then raises the error that says so.
            weighing = [c for c in plan.candidates if c.method.weighs_docs]
            plan = plan.keeping(weighing or plan.candidates, "do not support weights of documents")
        if queries.categories is not None:
            splitting = [c for c in plan.candidates if c.unfitted.takes_categories]
            reason = "compare numbers, and some features are categories"
            plan = plan.keeping(splitting or plan.candidates, reason)
        if self.engine is not None:
            exportable = _exportable(plan.candidates, self.engine.checker(queries))
            plan = plan.keeping(exportable, f"cannot be exported to {self.engine.title}")
        return plan


def lost(candidates: Iterable[Candidate], kept: Iterable[Candidate]) -> list[str]:
    """Return the names of the methods that are no longer among the candidates."""
    names = {c.name for c in kept}
    return list(dict.fromkeys(c.name for c in candidates if c.name not in names))


def _exportable(candidates: Sequence[Candidate], check: Callable[[Any], None]) -> list[Candidate]:
    """Return candidates whose models can be exported; raise the first `InputError` if there is none."""
    kept, errors = [], []
    for candidate in candidates:
        try:
            check(candidate.unfitted)
            kept.append(candidate)
        except InputError as error:
            errors.append(error)
    if not kept:
        raise errors[0]
    return kept


def _trainable_on_shards(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep candidates that train on shards; of several methods, none with one step per query.

    Every step is a request to all shards.
    """
    able = [c for c in candidates if "shards" in c.unfitted.holds]
    if not able:
        raise InputError(
            "none of these methods is trained on shards: their rankers need all features in one place. "
            "Choose a method with a linear model, a network or oblivious trees, e.g. ApproxNDCG or YetiRank."
        )
    if len({c.name for c in able}) == 1:
        return able
    # A step on shards costs a round trip to every worker, which steps on one query each cannot afford.
    trainers = [(c, getattr(c.unfitted, "trainer", None)) for c in able]
    return [c for c, trainer in trainers if trainer != "sgd" and getattr(trainer, "batch", None) != 1]


def candidates_of(
    method: Method,
    measure: RankingMeasure | None,
    settings: Mapping[str, Any] | None = None,
    models: Collection[str] | None = None,
    seed: int | None = None,
) -> tuple[list[Candidate], tuple[str, ...]]:
    """List the grid of a method, with fixed settings in place of its values.

    Each setting goes to the parts of the method that have it. Methods that cannot satisfy the constraints are
    excluded; their names are returned too. Raises `InputError` if nothing is left, or a setting does not
    exist or has no effect in a search.
    """
    settings = settings or {}
    constraints = {name: settings[name] for name in CONSTRAINTS if settings.get(name) is not None}
    fixed = {name: value for name, value in settings.items() if name not in CONSTRAINTS}
    method.check_settings(fixed)
    methods = method.parts(measure)
    for name in _NO_EFFECT.keys() & fixed.keys():
        if not (name == "patience" and any(member.keeps_best for member in methods)):
            raise InputError(
                f"{name} has no effect in a search: {_NO_EFFECT[name]}. Leave it out, or fit one ranker in "
                f"Python: method({method.name!r}).ranker({name}={fixed[name]!r})."
            )
    candidates = []
    for member in _with_models(methods, models):
        # A fixed setting replaces the values of its axis, or becomes an axis with one value.
        axes = {**member.grid, **{name: (fixed[name],) for name in fixed if name in member.settings}}
        candidates += [
            Candidate(member, dict(zip(axes, values, strict=True)), measure, seed)
            for values in itertools.product(*axes.values())
        ]
    if not constraints:
        return candidates, ()
    changed = (replace(c, settings={**c.settings, **constraints}) for c in candidates)
    kept = [c for c in changed if constraints.keys() <= set(c.method.settings) and _keeps_bounds(c)]
    if not kept:
        names = dict.fromkeys(c.name for c in candidates)
        raise InputError(
            f"{', '.join(names)}: cannot keep to {' and '.join(constraints)}. Bounds are for linear models, "
            "monotone features for linear models, networks and trees; the trainers lbfgs, sgd, adam and "
            "coordinate-ascent keep to them.",
            Advice("constrained-method"),
        )
    return kept, tuple(lost(candidates, kept))


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates without those whose rankers equal that of an earlier one, each with its place.

    A given setting may replace the only one in which two methods differ.
    """
    first: dict[Any, Candidate] = {}
    for candidate in candidates:
        key: Any = candidate
        # A ranker that cannot be made has no duplicates here. Training reports its error.
        with suppress(InputError):
            key = type(candidate.unfitted), str(candidate.unfitted.get_params(deep=False))
        first.setdefault(key, candidate)
    return [replace(candidate, place=place) for place, candidate in enumerate(first.values())]


def _keeps_bounds(candidate: Candidate) -> bool:
    # Trees have no trainer, and satisfy monotone constraints by themselves.
    trainer = getattr(candidate.unfitted, "trainer", None)
    return trainer is None or takes_bounds(trainer)


def _with_models(methods: Sequence[Method], models: Collection[str] | None) -> Sequence[Method]:
    if models is None:
        return methods
    models = [models] if isinstance(models, str) else models
    unknown = sorted(set(models) - set(MODELS))
    matching = [member for member in methods if member.model in models]
    if unknown or not matching:
        reason = f"there is no model {unknown[0]!r}" if unknown else "no candidate has one of these models"
        raise InputError(
            f"models={sorted(models)}: {reason}; models are {', '.join(MODELS)}.",
            Advice("models"),
        )
    return matching
