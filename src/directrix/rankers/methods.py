"""What a published method is: what is maximised, how, over which grid, and where it comes from."""

from __future__ import annotations

import difflib
import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.kinds import RANKERS

if TYPE_CHECKING:
    from directrix.types import Trainer

__all__ = ["Method", "method", "methods"]

_NOT_IN_A_SEARCH = {
    "patience": "early stopping needs a validation set while training, the search uses its own to choose",
    "warm_start": "every candidate is trained anew",
}


@dataclass(frozen=True)
class Method:
    """A ranker, the grid over which it is tuned, and what to know before using it.

    Parameters
    ----------
    name : str
        What `method` takes.
    surrogate : type of Surrogate, or None
        Class of what is maximised; None if there is none, or several.
    model : str
        A key of `RANKERS`: "linear", ...
    trainer : str or callable
        Name of a trainer, or a function of settings that makes one (a class of trainers is that); then its
        parameters are settings too.
    source : str
        The paper, and the equation.
    cost : str
        Of one gradient, or one round, per query of n documents of which R are relevant.
    use_when : str
        One line.
    grid : mapping of setting to values
        Tried by ``directrix train``; the measure that is asked for chooses, on validation queries.
    fixed : mapping
        Settings that differ from the ranker's, trainer's and surrogate's own defaults.
    from_measure : tuple of str
        Settings that are taken from the measure asked for, where it has them; "measure" is that measure.
    keeps_best : bool
        Whether the step of the training that is best on validation queries is kept, or the last one.
    selection : str
        The measure by which its source tunes it.
    only : tuple of str
        The settings that it heeds, if not all of its parts.
    without : tuple of str
        Settings of its parts that would have no effect.
    """

    name: str
    surrogate: type[Any] | None
    model: str
    trainer: str | Callable[..., Trainer]
    source: str
    cost: str
    use_when: str
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False)
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    from_measure: tuple[str, ...] = ()
    keeps_best: bool = False
    selection: str = "nDCG"
    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    @property
    def traits(self) -> tuple[str, ...]:
        """What the surrogate promises, sorted; empty without a surrogate."""
        return () if self.surrogate is None else tuple(sorted(self._surrogate({}, None).traits))

    @property
    def settings(self) -> tuple[str, ...]:
        """Names that ``ranker`` takes: those of surrogate, trainer and ranker."""
        if self.only is not None:
            return self.only
        own = [self._of_surrogate, self._of_trainer, self._of_ranker]
        hidden = {"measure", *self.without}
        return tuple(dict.fromkeys(name for names in own for name in names if name not in hidden))

    @property
    def is_installed(self) -> bool:
        """Whether the packages that it needs are there."""
        return RANKERS[self.model].is_installed

    def takes(self, measure: RankingMeasure | None) -> bool:
        """Whether its surrogate can be made for the measure; LambdaRank knows no ``ties="worst"``."""
        try:
            self._with_surrogate({}, measure)
        except InputError:
            return False
        return True

    @property
    def weighs_docs(self) -> bool:
        """Whether its surrogate knows factors on what a document earns; without one its trainer decides."""
        if self.surrogate is None:
            return True
        try:
            self._surrogate({}, None).prepare(np.array([1.0, 0.0]), np.array([0, 2]), np.ones(2))
        except InputError:
            return False
        return True

    def parts(self, measure: RankingMeasure | None) -> tuple[Method, ...]:
        """Return the methods that are tried: itself; "auto" has several."""
        return (self,)

    def ranker(self, *, measure: RankingMeasure | None = None, **settings: Any) -> Any:
        """Return an unfitted ranker with the given settings, the rest at their defaults.

        Parameters
        ----------
        measure : measure, optional
            What will be reported: cut-off and relevance threshold are taken from it where the surrogate
            needs them, and methods that train on a measure itself train on this one.
        **settings
            Of the surrogate (``alpha=50``), the trainer, or the ranker (``l2=1e-4``).

        Raises
        ------
        InputError
            If there is no such setting.
        """
        self.check_settings(settings)
        chosen = {**self.fixed, **settings}
        own = {name: chosen[name] for name in self._of_ranker if name in chosen}
        if "trainer" in self._of_ranker:
            own.setdefault("trainer", self.trainer)
        elif callable(self.trainer):
            own["trainer"] = self.trainer(**self._given(self._of_trainer, chosen, measure))
        return RANKERS[self.model].load()(**self._with_surrogate(chosen, measure), **own)

    def candidates(
        self, measure: RankingMeasure | None, fixed: Mapping[str, Any]
    ) -> list[tuple[Method, dict[str, Any]]]:
        """Methods and settings to try: the grid, with the ``fixed`` settings in the place of their values.

        A fixed setting goes to those of the `parts` that have it.
        """
        self.check_settings(fixed)
        for name in fixed:
            if name in _NOT_IN_A_SEARCH and not (
                name == "patience" and any(part.keeps_best for part in self.parts(measure))
            ):
                raise InputError(
                    f"{name} has no effect in a search: {_NOT_IN_A_SEARCH[name]}. Leave it out, or fit one "
                    f"ranker in Python: method({self.name!r}).ranker({name}={fixed[name]!r})."
                )
        found = []
        for part in self.parts(measure):
            own = {name: value for name, value in fixed.items() if name in part.settings}
            axes = {**part.grid, **{name: (value,) for name, value in own.items()}}
            found += [(part, dict(zip(axes, v, strict=True))) for v in itertools.product(*axes.values())]
        return found

    def check_settings(self, names: Mapping[str, Any]) -> None:
        """Raise `InputError` for a setting that this method does not have."""
        for name in names:
            if name not in self.settings:
                near = difflib.get_close_matches(name, self.settings, n=1)
                raise InputError(
                    f"method {self.name!r} has no setting {name!r}; it has {', '.join(self.settings)}."
                    + (f" Did you mean {near[0]!r}?" if near else "")
                )

    def describe(self) -> dict[str, Any]:
        """All of it in JSON types."""
        return {
            "name": self.name,
            "use_when": self.use_when,
            "model": self.model,
            "surrogate": None if self.surrogate is None else self.surrogate.__name__,
            "trainer": self.trainer if isinstance(self.trainer, str) else self.trainer.__name__.strip("_"),
            "settings": list(self.settings),
            "grid": {name: [_json(value) for value in values] for name, values in self.grid.items()},
            "fixed": {name: _json(value) for name, value in self.fixed.items()},
            "selection": f"the measure asked for, on validation queries; in its source {self.selection}",
            "keeps": "the step that is best on validation queries" if self.keeps_best else "the last step",
            "traits": list(self.traits),
            "cost": self.cost,
            "source": self.source,
        }

    @property
    def _of_surrogate(self) -> tuple[str, ...]:
        return () if self.surrogate is None else tuple(f.name for f in fields(self.surrogate))

    @property
    def _of_trainer(self) -> tuple[str, ...]:
        return () if isinstance(self.trainer, str) else tuple(inspect.signature(self.trainer).parameters)

    @property
    def _of_ranker(self) -> tuple[str, ...]:
        settings = RANKERS[self.model].settings
        # a trainer that is an object has its own number of steps
        own = {"trainer", "max_iter"} if callable(self.trainer) else ()
        return tuple(name for name in settings if name not in own)

    def _with_surrogate(self, settings: Mapping[str, Any], measure: RankingMeasure | None) -> dict[str, Any]:
        if self.surrogate is None:
            return {name: value for name, value in settings.items() if name == "surrogate"}
        return {"surrogate": self._surrogate(settings, measure)}

    def _surrogate(self, settings: Mapping[str, Any], measure: RankingMeasure | None) -> Any:
        assert self.surrogate is not None
        return self.surrogate(**self._given(self._of_surrogate, settings, measure))

    def _given(
        self, names: tuple[str, ...], settings: Mapping[str, Any], measure: RankingMeasure | None
    ) -> dict[str, Any]:
        """Settings of these names: those that are set, and those that the measure says."""
        said = {name: getattr(measure, name, None) for name in self.from_measure} | {"measure": measure}
        return {name: value for name, value in said.items() if name in names and value is not None} | {
            name: settings[name] for name in names if name in settings
        }


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@cache
def _by_name() -> dict[str, Method]:
    from directrix.rankers.published import METHODS

    return {m.name.lower(): m for m in METHODS}


def methods() -> tuple[Method, ...]:
    """All methods, "auto" and the baselines first.

    Examples
    --------
    >>> [m.name for m in methods()][:4]
    ['auto', 'Regression', 'ApproxNDCG', 'ApproxAP']
    """
    return tuple(_by_name().values())


def method(name: str) -> Method:
    """Return the method of this name, any case.

    Parameters
    ----------
    name : str
        See `methods`.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> method("ApproxAP").ranker(alpha=50.0, l2=1e-4)
    LinearRanker(l2=0.0001, surrogate=ApproxAP(alpha=50.0, beta=10.0, rel=1, sigmoid='logistic'))
    """
    if not isinstance(name, str):
        raise InputError(f"method {name!r} is a {type(name).__name__}; give a name, e.g. method('auto').")
    known = _by_name()
    found = known.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        raise InputError(
            f"method {name!r} is not known; there are {', '.join(m.name for m in known.values())}."
            + (f" Did you mean {known[near[0]].name!r}?" if near else "")
        )
    return found
