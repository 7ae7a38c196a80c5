"""A published method: a surrogate, a trainer, a grid of settings, and its source."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.rankers.kinds import KINDS
from directrix.surrogates.base import kernel_surrogate

if TYPE_CHECKING:
    from directrix.types import Trainer


@dataclass(frozen=True, kw_only=True)
class Method:
    """A ranker, the grid over which it is tuned, and facts to know before using it.

    Parameters
    ----------
    name : str
        Name that `directrix.method` takes.
    surrogate : type of Surrogate, or None
        Class of the surrogate; None if there is none, or several.
    model : str
        A key of `KINDS`: "linear", ...
    trainer : str or callable
        Name of a trainer, or a class or function that makes one from settings; then its parameters are
        settings too.
    source : str
        The paper, and the equation.
    cost : str
        Cost of one gradient, or one round, per query of n documents of which R are relevant.
    use_when : str
        When to use it, in one line.
    grid : mapping of setting to values
        Values to try in a search, which chooses by the measure on validation queries.
    fixed : mapping
        Settings that differ from the ranker's, trainer's and surrogate's own defaults; for an axis of the
        grid, its value without a search.
    from_measure : tuple of str
        Settings that are taken from the requested measure, where it has them; "measure" is that measure.
    keeps_best : bool
        Whether the step of the training that is best on validation queries is kept, or the last one.
    selection : str
        The measure by which its source tunes it.
    only : tuple of str
        The settings that it uses, if not all those of its parts.
    without : tuple of str
        Settings of its parts that would have no effect.
    """

    name: str
    surrogate: type[Any] | None = None
    model: str = "linear"
    trainer: str | Callable[..., Trainer] = "lbfgs"
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

    @classmethod
    def of(cls, surrogate: type[Any], **rest: Any) -> Method:
        """Return a method that is named after its surrogate."""
        return cls(name=surrogate.__name__, surrogate=surrogate, **rest)

    @property
    def properties(self) -> tuple[str, ...]:
        """Properties of the surrogate, sorted; empty without a surrogate."""
        return () if self.surrogate is None else tuple(sorted(self._surrogate(self.fixed, None).properties))

    @property
    def settings(self) -> tuple[str, ...]:
        """Names that ``ranker`` takes: the parameters of surrogate, trainer and ranker."""
        if self.only is not None:
            return self.only
        names = (*self._of_surrogate, *self._of_trainer, *self._of_ranker)
        return tuple(dict.fromkeys(name for name in names if name not in {"measure", *self.without}))

    def takes(self, measure: RankingMeasure | None) -> bool:
        """Return whether its surrogate supports the measure; LambdaRank does not support ``ties="worst"``."""
        try:
            self._surrogate(self.fixed, measure)
        except InputError:
            return False
        return True

    @property
    def weighs_docs(self) -> bool:
        """Whether its surrogate supports weights of documents; without a surrogate its trainer decides."""
        if self.surrogate is None:
            return True
        try:
            surrogate = kernel_surrogate(self._surrogate(self.fixed, None))
            # Preparing the smallest list with weights raises an error if the surrogate does not support them.
            surrogate.prepare(np.array([1.0, 0.0]), np.array([0, 2]), np.ones(2))
        except InputError:
            return False
        return True

    def parts(self, measure: RankingMeasure | None) -> tuple[Method, ...]:
        """Return the methods that are tried: the method itself, or several for "auto"."""
        return (self,)

    def ranker(self, *, measure: RankingMeasure | str | None = None, **settings: Any) -> Any:
        """Return an unfitted ranker with the given settings, the rest at their defaults.

        Parameters
        ----------
        measure : measure or str, optional
            Measure to report: cut-off and relevance threshold are taken from it if the surrogate needs them,
            and methods that optimize a measure itself optimize this one.
        **settings
            Settings of the surrogate (``alpha=50``), the trainer, or the ranker (``l2=1e-4``).

        Raises
        ------
        InputError
            If the method does not have one of the settings.
        """
        self.check_settings(settings)
        measure = None if measure is None else parse_measure(measure)
        chosen = {**self.fixed, **settings}
        of_ranker = self._of_ranker
        arguments = {name: chosen[name] for name in of_ranker if name in chosen}
        if "trainer" in of_ranker:
            arguments.setdefault("trainer", self.trainer)
        elif callable(self.trainer):
            arguments["trainer"] = self.trainer(**self._given(self._of_trainer, chosen, measure))
        return KINDS[self.model].load()(self._surrogate(chosen, measure), **arguments)

    def check_settings(self, names: Mapping[str, Any]) -> None:
        """Raise `InputError` for a setting that this method does not have."""
        allowed = self.settings if names else ()
        for name in names:
            if name not in allowed:
                near = difflib.get_close_matches(name, allowed, n=1)
                raise InputError(
                    f"method {self.name!r} has no setting {name!r}; it has {', '.join(allowed)}."
                    + (f" Did you mean {near[0]!r}?" if near else "")
                )

    def summary(self) -> dict[str, Any]:
        """Return one line of the list of methods, in JSON types, without importing the ranker."""
        return {
            "name": self.name,
            "use_when": self.use_when,
            "model": self.model,
            "surrogate": None if self.surrogate is None else self.surrogate.__name__,
            "trainer": self.trainer if isinstance(self.trainer, str) else self.trainer.__name__.strip("_"),
            "grid": {name: [_json(value) for value in values] for name, values in self.grid.items()},
        }

    def describe(self) -> dict[str, Any]:
        """Return the full description in JSON types."""
        summary = self.summary()
        grid = summary.pop("grid")
        return {
            **summary,
            "settings": list(self.settings),
            "grid": grid,
            "fixed": {name: _json(value) for name, value in self.fixed.items()},
            "selection": f"the requested measure, on validation queries; {self.selection} in the source",
            "keeps": "the step that is best on validation queries" if self.keeps_best else "the last step",
            "properties": list(self.properties),
            "cost": self.cost,
            "source": self.source,
        }

    @property
    def _of_surrogate(self) -> tuple[str, ...]:
        return () if self.surrogate is None else tuple(inspect.signature(self.surrogate).parameters)

    @property
    def _of_trainer(self) -> tuple[str, ...]:
        return () if isinstance(self.trainer, str) else tuple(inspect.signature(self.trainer).parameters)

    @property
    def _of_ranker(self) -> tuple[str, ...]:
        # a trainer that is an object has its own number of steps
        hidden = {"trainer", "max_iter"} if callable(self.trainer) else set()
        return tuple(name for name in KINDS[self.model].settings if name not in hidden)

    def _surrogate(self, hyperparameters: Mapping[str, Any], measure: RankingMeasure | None) -> Any:
        if self.surrogate is None:
            return hyperparameters.get("surrogate")
        return self.surrogate(**self._given(self._of_surrogate, hyperparameters, measure))

    def _given(
        self, names: tuple[str, ...], hyperparameters: Mapping[str, Any], measure: RankingMeasure | None
    ) -> dict[str, Any]:
        """Settings of these names: from the measure where it has them, unless they are set."""
        measured = {name: getattr(measure, name, None) for name in self.from_measure} | {"measure": measure}
        values = {name: value for name, value in measured.items() if value is not None} | dict(
            hyperparameters
        )
        return {name: values[name] for name in names if name in values}


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """The strong methods that suit a measure; validation queries choose among them.

    ``tries`` holds them by class of measure, in order of preference: "gains" is for measures that add up
    gains of any sign, "others" for all other measures.
    """

    tries: Mapping[str, tuple[Method, ...]] = field(default_factory=dict, hash=False)
    is_lenient: bool = True  # leaves out methods that do not take the measure, instead of rejecting it

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings of all parts."""
        every = {member.name: member for members in self.tries.values() for member in members}
        return tuple(dict.fromkeys(name for member in every.values() for name in member.settings))

    def parts(self, measure: RankingMeasure | None) -> tuple[Method, ...]:
        """Return the methods that suit the measure and take it."""
        kind = "gains" if getattr(measure, "adds_gains", False) else type(measure).__name__
        suited = self.tries.get(kind, self.tries["others"])
        return tuple(method for method in suited if method.takes(measure) or not self.is_lenient)

    def summary(self) -> dict[str, Any]:
        """Return one line of the list of methods, in JSON types."""
        return super().summary() | {"model": "several", "trainer": "several"}

    def describe(self) -> dict[str, Any]:
        """Return the full description in JSON types; ``tries`` has the methods for each kind of measure."""
        return super().describe() | {
            "selection": "the requested measure, on validation queries",
            "keeps": "what the chosen method keeps",
            "tries": {name: [member.name for member in members] for name, members in self.tries.items()},
        }

    def ranker(self, *, measure: RankingMeasure | str | None = None, **settings: Any) -> Any:
        """Return the ranker of its first part."""
        self.check_settings(settings)
        first = self.parts(None if measure is None else parse_measure(measure))[0]
        return first.ranker(measure=measure, **{k: v for k, v in settings.items() if k in first.settings})


def _json(value: Any) -> Any:
    plain = isinstance(value, str | int | float | type(None))
    return list(value) if isinstance(value, tuple) else value if plain else repr(value)
