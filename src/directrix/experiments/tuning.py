"""What is compared, and which settings of it a search tries: all, some at random, or fewer and fewer."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from directrix.data.options import generator
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.parameters import whole
from directrix.rankers.candidates import Trial
from directrix.rankers.methods import Method
from directrix.rankers.methods import method as find_method
from directrix.types import Int64Array

__all__ = [
    "Entry",
    "Search",
    "candidates_of",
    "canonical",
    "check_candidates",
    "halving_rungs",
    "subset",
]

Search = Literal["grid", "random", "halving"]
_FACTOR = 3  # of successive halving; 3 and 4 are what its authors advise
_FEWEST = 20  # queries of a rung: with fewer, which candidate is ahead is mostly chance
_DRAWN = 10  # candidates of a random search that is not told how many


@dataclass(frozen=True, eq=False)
class Entry:
    """What is compared: a method and the settings that are tried.

    Parameters
    ----------
    name : str
        Row of the tables, unlike the others.
    method : Method or str
        See `directrix.methods`; "auto" tries several.
    settings : mapping, optional
        Fixed: they replace values of the grid.
    grid : mapping of setting to values, optional
        In place of the method's own grid. For ``search="random"`` values may also be a distribution with a
        method ``rvs``, such as ``scipy.stats.loguniform(1e-5, 1)``.
    measure : measure or str, optional
        Trained for and chosen by; None = that of ``cross_validate(select=)``.
    """

    name: str
    method: Method | str
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Any] | None = None
    measure: RankingMeasure | str | None = None

    @property
    def way(self) -> Method:
        """The method itself."""
        return find_method(self.method) if isinstance(self.method, str) else self.method


def candidates_of(
    entry: Entry, goal: RankingMeasure, search: Search, n_candidates: int | None, seed: int
) -> list[Trial]:
    """List the methods and settings that are tried for an entry, the same for every fold.

    Parameters
    ----------
    entry : Entry
    goal : measure
        Trained for and chosen by.
    search : {"grid", "random", "halving"}
        "grid": all of the grid. "random": ``n_candidates`` of them, drawn without replacement and kept in
        the order of the grid; or drawn one by one, if an axis is a distribution. "halving": as "random" if
        ``n_candidates`` is given, else all; how they are dropped is a matter of `halving_rungs`.
    n_candidates : int >= 1, optional
        Default 10 for "random".
    seed : int >= 0
        Of the draw, which depends on the name of the entry too and on no other entry.

    Raises
    ------
    InputError
        If a setting does not exist, an axis is empty, or is a distribution in a search over the grid.
    """
    if search not in ("grid", "random", "halving"):
        raise InputError(f"search={search!r}: there are 'grid', 'random' and 'halving'. Type search='grid'.")
    if n_candidates is not None:
        whole(n_candidates, "n_candidates")
        if search == "grid":
            raise InputError(
                f"n_candidates={n_candidates} has no effect on a search over the whole grid; leave it out, "
                "or draw from the grid: search='random'."
            )
    axes = {name: values for name, values in (entry.grid or {}).items() if name not in entry.settings}
    drawn = [name for name, values in axes.items() if hasattr(values, "rvs")]
    if drawn and (search == "grid" or (search == "halving" and n_candidates is None)):
        raise InputError(
            f"{entry.name}: grid[{drawn[0]!r}] is a distribution, which has no list of values; give values, "
            "or draw with search='random', n_candidates=10."
        )
    generator(seed)  # refuses what is no seed
    rng = np.random.default_rng([seed, zlib.crc32(entry.name.encode())])
    if drawn:
        return _one_by_one(entry, goal, axes, n_candidates or _DRAWN, rng)
    every = _all(entry, goal, axes)
    if search == "grid" or (search == "halving" and n_candidates is None):
        return every
    kept = rng.permutation(len(every))[: n_candidates or _DRAWN]
    return [every[i] for i in np.sort(kept)]


def _all(entry: Entry, goal: RankingMeasure, axes: Mapping[str, Sequence[Any]]) -> list[Trial]:
    if entry.grid is None:
        return entry.way.candidates(goal, entry.settings)
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
            raise InputError(
                f"{entry.name}: grid[{name!r}] is {values!r}; a list of values is needed, e.g. "
                f"grid={{{name!r}: [{values!r}]}}."
            )
    _check(entry, goal, {name: values[0] for name, values in axes.items()})
    own = {name: tuple(_plain(value) for value in values) for name, values in axes.items()}
    found = replace(entry.way, grid=own).candidates(goal, entry.settings)
    return [(entry.way, settings) for _, settings in found]


def _one_by_one(
    entry: Entry, goal: RankingMeasure, axes: Mapping[str, Any], n: int, rng: np.random.Generator
) -> list[Trial]:
    found = []
    for _ in range(n):
        drawn = {
            name: _plain(
                values.rvs(random_state=rng) if hasattr(values, "rvs") else values[rng.integers(len(values))]
            )
            for name, values in axes.items()
        }
        _check(entry, goal, drawn)
        found.append((entry.way, {**drawn, **entry.settings}))
    return found


def _check(entry: Entry, goal: RankingMeasure, settings: Mapping[str, Any]) -> None:
    parts = entry.way.parts(goal)
    if len(parts) > 1:
        names = ", ".join(part.name for part in parts)
        raise InputError(
            f"{entry.name}: a grid was given for {entry.way.name!r}, which tries {names}, each with its own; "
            "give one entry a method."
        )
    entry.way.candidates(goal, {**settings, **entry.settings})  # refuses settings that there are not


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def check_candidates(trials: Sequence[Trial], goal: RankingMeasure) -> None:
    """Raise what is wrong with the settings, if no candidate can even be made.

    Raises
    ------
    InputError
        Of the first candidate.
    """
    wrong = None
    for method, settings in trials:
        try:
            method.ranker(measure=goal, **settings).check_parameters()
        except InputError as error:
            wrong = wrong or error
        else:
            return
    if wrong is not None:
        raise wrong


def halving_rungs(n_candidates: int, n_queries: int) -> list[tuple[int, int]]:
    """How many candidates are trained on how many queries, rung by rung.

    Parameters
    ----------
    n_candidates, n_queries : int >= 1
        Candidates to begin with, and training queries of the fold.

    Returns
    -------
    list of (candidates, queries)
        From rung to rung a third of the candidates and three times the queries; on the last one all
        queries. None has fewer than 20 queries, unless there are fewer in all: of few queries or
        candidates there is one rung, and the search is one over all.

    Examples
    --------
    >>> halving_rungs(30, 600)
    [(30, 22), (10, 66), (4, 200), (2, 600)]
    >>> halving_rungs(5, 63)
    [(5, 21), (2, 63)]
    """
    rungs = [(n_candidates, n_queries)]
    while rungs[0][1] // _FACTOR >= _FEWEST and n_candidates > _FACTOR ** (len(rungs) - 1):
        depth = len(rungs)
        rungs = [
            (-(-n_candidates // _FACTOR**i), n_queries // _FACTOR ** (depth - i)) for i in range(depth + 1)
        ]
    return rungs


def subset(n_queries: int, n: int, *, seed: int) -> Int64Array:
    """Positions of ``n`` queries drawn at random, ascending; a larger draw of the seed holds the smaller."""
    return np.sort(np.random.default_rng(seed).permutation(n_queries)[:n]).astype(np.int64)


def canonical(settings: Mapping[str, Any]) -> str:
    """Settings as JSON in one form: names sorted, tuples as lists, objects as they print."""
    return json.dumps(dict(settings), sort_keys=True, default=_text)


def _text(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)
