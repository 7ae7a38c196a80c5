"""Published methods by name: what is maximised, how, over which grid, and where it comes from."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.surrogates import approx, approx_cascade, approx_pairs

if TYPE_CHECKING:
    from directrix.rankers.linear import LinearRanker

__all__ = ["Method", "method", "methods"]

_RANKER_SETTINGS = (
    "trainer", "l2", "scale", "start", "center", "max_iter", "patience", "warm_start", "random_state",
)  # fmt: skip
"""Parameters of `LinearRanker` after the surrogate, here so that listing methods needs no scikit-learn."""
_NOT_IN_A_SEARCH = {
    "patience": "early stopping needs a validation set while training, the search uses its own to choose",
    "warm_start": "every candidate is trained anew",
}
_QIN = "Qin, Liu & Li (2010), doi:10.1007/s10791-009-9124-x"


@dataclass(frozen=True)
class Method:
    """A ranker, the grid over which it is tuned, and what to know before using it.

    Parameters
    ----------
    name : str
        What `method` takes.
    surrogate : type of Surrogate, or None
        Class of what is maximised; None for "Regression" and "auto".
    model, trainer : str
        "linear"; "lbfgs", "sgd", ...
    grid : mapping of setting to values
        Tried by ``directrix train``; the measure that is asked for chooses, on validation queries.
    source : str
        The paper, and the equation.
    from_measure : tuple of str
        Settings that are taken from the measure asked for, where it has them.
    cost : str
        Of one gradient, per query of n documents of which R are relevant.
    use_when : str
        One line.
    """

    name: str
    surrogate: type[Any] | None
    model: str
    trainer: str
    grid: Mapping[str, tuple[Any, ...]]
    source: str
    cost: str
    use_when: str
    from_measure: tuple[str, ...] = ()

    @property
    def traits(self) -> tuple[str, ...]:
        """What the surrogate promises, sorted; empty without a surrogate."""
        return () if self.surrogate is None else tuple(sorted(self._surrogate({}, None).traits))

    @property
    def settings(self) -> tuple[str, ...]:
        """Names that ``ranker`` takes: those of the surrogate, then those of `LinearRanker` that it heeds."""
        if self.trainer == _UNTRAINED:
            return ("scale",)
        classes = [part.surrogate for part in self.parts(None) if part.surrogate is not None]
        own = dict.fromkeys(field.name for cls in classes for field in fields(cls))
        return (*own, *_RANKER_SETTINGS)

    def parts(self, measure: RankingMeasure | None) -> tuple[Method, ...]:
        """Return the methods that are tried: itself, or for "auto" those that suit the measure."""
        if self.name != _AUTO:
            return (self,)
        every = dict.fromkeys(name for names in _SUITS.values() for name in names)
        names = every if measure is None else _SUITS.get(type(measure).__name__, _SUITS["NDCG"])
        return tuple(method(name) for name in names)

    def ranker(self, *, measure: RankingMeasure | None = None, **settings: Any) -> LinearRanker:
        """Return an unfitted ranker with the given settings, the rest at their defaults.

        Parameters
        ----------
        measure : measure, optional
            Cut-off and relevance threshold are taken from it where the surrogate needs them.
        **settings
            Of the surrogate (``alpha=50``) or of `LinearRanker` (``l2=1e-4``).

        Raises
        ------
        InputError
            If there is no such setting.
        """
        self.check_settings(settings)
        if self.name == _AUTO:
            first = self.parts(measure)[0]
            return first.ranker(measure=measure, **{k: v for k, v in settings.items() if k in first.settings})
        ranker = {"trainer": self.trainer, **{k: v for k, v in settings.items() if k in _RANKER_SETTINGS}}
        if self.trainer == _UNTRAINED:
            ranker |= {"trainer": "lbfgs", "max_iter": 0}
        from directrix.rankers.linear import LinearRanker

        return LinearRanker(self._surrogate(settings, measure), **ranker)

    def candidates(
        self, measure: RankingMeasure | None, fixed: Mapping[str, Any]
    ) -> list[tuple[Method, dict[str, Any]]]:
        """Methods and settings to try: the grid, with the ``fixed`` settings in the place of their values.

        "auto" tries the grids of all its parts; a fixed setting goes to those that have it.
        """
        self.check_settings(fixed)
        for name in fixed:
            if name in _NOT_IN_A_SEARCH:
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
            "trainer": self.trainer,
            "settings": list(self.settings),
            "grid": {name: list(values) for name, values in self.grid.items()},
            "selection": "the measure asked for, on validation queries",
            "traits": list(self.traits),
            "cost": self.cost,
            "source": self.source,
        }

    def _surrogate(self, settings: Mapping[str, Any], measure: RankingMeasure | None) -> Any:
        if self.surrogate is None:
            return None
        own = {field.name for field in fields(self.surrogate)}
        chosen = {name: value for name, value in settings.items() if name in own}
        for name in self.from_measure:
            value = getattr(measure, name, None)
            if value is not None:
                chosen.setdefault(name, value)
        return self.surrogate(**chosen)


_GRID = {"alpha": (3.0, 10.0, 30.0), "l2": (1e-4, 1e-3), "max_iter": (100,)}
_PAIRS = "O(R n) pairs, only those inside the sigmoid's band"


def _approx(cls: type[Any], source: str, use_when: str, *from_measure: str) -> Method:
    return Method(
        cls.__name__,
        cls,
        "linear",
        "lbfgs",
        _GRID,
        source,
        _PAIRS,
        use_when,
        from_measure,
    )


_AUTO = "auto"
_UNTRAINED = "none"
_SUITS = {
    "NDCG": ("ApproxNDCG",),
    "AP": ("ApproxNDCG", "ApproxAP"),
    "Precision": ("ApproxNDCG", "ApproxPrecision"),
    "RR": ("ApproxNDCG", "ApproxRR"),
    "ERR": ("ApproxNDCG", "ApproxERR"),
    "KendallTau": ("ApproxNDCG", "ApproxKendall"),
}
"""What "auto" tries for a measure; ApproxNDCG for all others. See docs/decisions/0041."""

_METHODS = (
    Method(
        _AUTO,
        None,
        "linear",
        "lbfgs",
        {},
        "the grids of the methods below that suit the measure",
        "that of its parts",
        "you do not want to choose: ApproxNDCG and the twin of the measure, best on validation",
    ),
    Method(
        "Regression",
        None,
        "linear",
        _UNTRAINED,
        {},
        "Chapelle & Wu (2010), Sect. 4, doi:10.1007/s10791-009-9110-3",
        "one pass over the features and a solve of n_features equations",
        "a baseline in a moment; the start of all other methods",
    ),
    _approx(
        approx.ApproxNDCG, f"{_QIN}, Eq. 21", "the default: graded labels, nDCG or any measure of the top"
    ),
    _approx(approx.ApproxAP, f"{_QIN}, Eq. 22", "average precision, labels that are relevant or not", "rel"),
    _approx(
        approx.ApproxPrecision, f"{_QIN}, Sect. 6 (future work)", "precision at a fixed cut-off", "k", "rel"
    ),
    _approx(
        approx_cascade.ApproxRR,
        f"{_QIN}, Sect. 6 (future work)",
        "only the first relevant document counts",
        "rel",
    ),
    _approx(
        approx_cascade.ApproxERR,
        f"{_QIN}, Sect. 6 (future work)",
        "users stop when satisfied; graded labels",
        "l_max",
    ),
    _approx(approx_pairs.ApproxKendall, f"{_QIN}, Sect. 6 (future work)", "the whole order counts"),
)
_BY_NAME = {m.name.lower(): m for m in _METHODS}


def methods() -> tuple[Method, ...]:
    """All methods, "auto" and the baselines first.

    Examples
    --------
    >>> [m.name for m in methods()][:4]
    ['auto', 'Regression', 'ApproxNDCG', 'ApproxAP']
    """
    return _METHODS


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
    found = _BY_NAME.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), _BY_NAME, n=1)
        raise InputError(
            f"method {name!r} is not known; there are {', '.join(m.name for m in _METHODS)}."
            + (f" Did you mean {_BY_NAME[near[0]].name!r}?" if near else "")
        )
    return found
