"""Trainers by name, as in ``trainer="lbfgs"`` of a ranker, and from their printed form.

Trainers declare what is needed here: ``short_name``, ``budget`` (the field that a ranker's ``max_iter``
sets), ``models`` (the classes that they train), ``takes_bounds`` if they stay within bounds, and
``uses_surrogate`` = False if they have a loss of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from numbers import Integral
from typing import Any

from sklearn.utils import check_random_state

from directrix.errors import Advice, InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.parsing import UNREADABLE, call_of, parse_tree
from directrix.rankers.inputs import surrogate_of
from directrix.registry import TRAINERS, classes
from directrix.types import Trainer

_KINDS = {name: kind for name, kind in classes(TRAINERS).items() if hasattr(kind, "minimize")}
_NAMED: Mapping[str, type[Any]] = {
    kind.short_name: kind for kind in _KINDS.values() if hasattr(kind, "short_name")
}


def trainer_names(model: type) -> frozenset[str]:
    """Return the names of the trainers of a class of models."""
    return frozenset(name for name, kind in _NAMED.items() if issubclass(model, kind.models))


def trainer_of(ranker: Any, goal: RankingMeasure) -> Trainer:
    """Return the ranker's trainer, with the seed and the measure of the ranker where it has none."""
    rest = {"random_state": seed_of(ranker.random_state), "measure": goal}
    trainer: Trainer = _completed(trainer_named(ranker), rest)
    return trainer


def trainer_named(ranker: Any) -> Any:
    """Return the trainer that a ranker was given, or the one that its name means."""
    trainer = getattr(ranker, "_default_trainer", None) if ranker.trainer is None else ranker.trainer
    if not isinstance(trainer, str):
        return trainer
    kind = _NAMED[trainer]
    # max_iter=0 keeps the start without a trainer, which itself needs at least one step.
    return kind(**{kind.budget: max(int(ranker.max_iter), 1)})


def _completed(trainer: Any, rest: Mapping[str, Any]) -> Any:
    """A trainer, and those that it wraps, with values for the fields that are None."""
    # A trainer of the user may be any object, which is left as it is.
    if not is_dataclass(trainer):
        return trainer
    current = {field.name: getattr(trainer, field.name) for field in fields(trainer)}
    new = {name: value for name, value in rest.items() if current.get(name, value) is None}
    if "trainer" in current:
        new["trainer"] = _completed(current["trainer"], rest)
    if all(value is current[name] for name, value in new.items()):
        return trainer
    completed: Any = replace(trainer, **new)  # type: ignore[type-var]
    # A user's trainer may hold attributes that are no fields, which `replace` does not copy.
    vars(completed).update({name: value for name, value in vars(trainer).items() if name not in current})
    return completed


def planned_steps(ranker: Any) -> int | None:
    """Return the steps of a full training run: trees, iterations or epochs; None if they are not known."""
    if hasattr(ranker, "n_trees"):
        return int(ranker.n_trees)
    trainer = trainer_named(ranker)
    if hasattr(trainer, "smoothings"):
        return len(trainer.smoothings)
    # A surrogate with a cut-off is trained in stages, each of which may converge early.
    if getattr(ranker._surrogate(), "has_cut", False):
        return None
    return getattr(trainer, getattr(trainer, "budget", ""), None)


def measure_set(trainer: Any) -> RankingMeasure | None:
    """Return the measure that a trainer, or the one that it wraps, maximizes; None if it is not set."""
    measure = getattr(_innermost(trainer), "measure", None)
    return measure if isinstance(measure, RankingMeasure) else None


def takes_bounds(trainer: Trainer | str) -> bool:
    """Whether a trainer, or the one that it wraps, keeps parameters within the bounds of an objective."""
    kind = _NAMED.get(trainer) if isinstance(trainer, str) else _innermost(trainer)
    return bool(getattr(kind, "takes_bounds", False))


def _innermost(trainer: Any) -> Any:
    """The trainer that all wrappers run in the end."""
    while hasattr(trainer, "trainer"):
        trainer = trainer.trainer
    return trainer


def reject_unused_surrogate(surrogate: Any, trainer: Any) -> None:
    """Raise `InputError` for a surrogate other than the default if the trainer has a loss of its own."""
    inner = _innermost(trainer)
    if getattr(inner, "uses_surrogate", True) or surrogate == surrogate_of(None):
        return
    kind = type(inner).__name__
    raise InputError(
        f"surrogate={surrogate!r} has no effect with the trainer {kind}, which has a loss of its own; leave "
        "one of them out.",
        Advice("no-trainer"),
    )


def check_bounds(trainer: Trainer | str, names: frozenset[str]) -> None:
    """Raise `InputError` for a trainer that would leave the bounds; ``names`` are those of its ranker."""
    if not takes_bounds(trainer):
        able = ", ".join(repr(name) for name in sorted(names) if takes_bounds(name))
        raise InputError(
            f"trainer={trainer!r} does not keep parameters within bounds, which bounds and monotone need; "
            f"choose one of {able}, or leave bounds and monotone out."
        )


def seed_of(random_state: Any) -> int:
    """Return a seed: the one that is given, 0 for None, or one drawn from a ``RandomState``."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def trainer_from(text: str) -> Trainer | str:
    """Return the trainer with a given ``repr``, or the text if that is not one of directrix's.

    Raises `InputError` if it is a trainer of directrix with an unknown or invalid setting.
    """
    try:
        return _built(parse_tree(text))  # type: ignore[no-any-return]
    except InputError:
        raise
    except TypeError as error:
        raise InputError(f"trainer {text!r}: {error}.") from None
    except (*UNREADABLE, LookupError):
        return text


def _built(node: ast.expr) -> Any:
    """A literal, a measure, or a trainer whose settings are these."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    call = call_of(node, _built)
    if call.name in _KINDS:
        return _KINDS[call.name](*call.arguments, **call.fields)
    try:
        return parse_measure(ast.unparse(node))
    except InputError as error:
        raise LookupError(call.name) from error
