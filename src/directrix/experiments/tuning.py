"""What is compared, and which of its settings are tried: all, some at random, or by successive halving."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from directrix.data.checks import generator
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.parameters import whole
from directrix.rankers.method import Method, Trial
from directrix.rankers.methods import method as find_method
from directrix.rankers.selection.constrained import keeping, split_settings
from directrix.types import Int64Array

Search = Literal["grid", "random", "halving"]
"""Which settings of a grid are trained: all; some at random; or all (or some) on few training queries, the
better third of them on three times the queries, and so on."""

_FACTOR = 3  # of successive halving; its authors advise 3 or 4
_FEWEST = 20  # queries of a rung: with fewer, which candidate is ahead is mostly chance
_DRAWN = 10  # candidates of a random search by default


@dataclass(frozen=True, eq=False)
class Entry:
    """What is compared: a method and the settings that are tried.

    Parameters
    ----------
    name : str
        Row of the tables, different for every entry.
    method : Method or str
        See `directrix.methods`; "auto" tries several.
    settings : mapping, optional
        Fixed settings; they replace values of the grid.
    grid : mapping of setting to values, optional
        Replaces the method's own grid. For ``search="random"`` values may also be a distribution with a
        method ``rvs``, such as ``scipy.stats.loguniform(1e-5, 1)``.
    measure : measure or str, optional
        What is trained for and chosen by; None = ``cross_validate(select=)``.

    Examples
    --------
    >>> from directrix.experiments import Entry
    >>> entry = Entry("strong penalty", "ApproxNDCG", {"l2": 1e-2})
    >>> entry.name, dict(entry.settings)
    ('strong penalty', {'l2': 0.01})
    """

    name: str
    method: Method | str
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Any] | None = None
    measure: RankingMeasure | str | None = None

    @property
    def resolved(self) -> Method:
        """The method itself, where ``method`` may be its name."""
        return find_method(self.method) if isinstance(self.method, str) else self.method


def candidates_of(
    entry: Entry, goal: RankingMeasure, search: Search, n_candidates: int | None, seed: int
) -> list[Trial]:
    """List the methods and settings that are tried for an entry; they are the same on every fold.

    "grid": the whole grid. "random": ``n_candidates`` of the grid, by default 10, drawn without replacement
    and kept in the order of the grid; or drawn one by one, if an axis is a distribution. "halving": as
    "random" if ``n_candidates`` is given, else the whole grid; `halving_rungs` says how many are dropped
    when. The draw depends on the seed and on the name of the entry, and on no other entry.

    Raises `InputError` if a setting does not exist, an axis is empty, or is a distribution in a search over
    the grid.
    """
    takes_all = _check_search(search, n_candidates)
    axes = {name: values for name, values in (entry.grid or {}).items() if name not in entry.settings}
    distributions = [name for name, values in axes.items() if hasattr(values, "rvs")]
    if distributions and takes_all:
        raise InputError(
            f"{entry.name}: grid[{distributions[0]!r}] is a distribution, which has no list of values; give "
            "values, or draw with search='random', n_candidates=10."
        )
    generator(seed)  # refuses what is not a seed
    rng = np.random.default_rng([seed, zlib.crc32(entry.name.encode())])
    if distributions:
        return [_drawn(entry, goal, axes, rng) for _ in range(n_candidates or _DRAWN)]
    whole = _grid(entry, goal, axes)
    if takes_all:
        return whole
    sample = rng.permutation(len(whole))[: n_candidates or _DRAWN]
    return [whole[i] for i in np.sort(sample)]


def _check_search(search: Any, n_candidates: Any) -> bool:
    """Check the kind of search and the number of candidates; return whether the whole grid is tried."""
    if search not in get_args(Search):
        raise InputError(
            f"search={search!r}: 'grid', 'random' and 'halving' are known. Type e.g. search='grid'."
        )
    if n_candidates is None:
        return bool(search != "random")
    whole(n_candidates, "n_candidates")
    if search == "grid":
        raise InputError(
            f"n_candidates={n_candidates} has no effect on a search over the whole grid.",
            python="Leave it out, or sample the grid: search='random'.",
            shell="Leave out --candidates, or sample the grid: --search random.",
        )
    return False


def _grid(entry: Entry, goal: RankingMeasure, axes: Mapping[str, Sequence[Any]]) -> list[Trial]:
    method = entry.resolved
    if entry.grid is None:
        others, constraints = split_settings(entry.settings)
        return keeping(method.candidates(goal, others), goal, constraints)[0]
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
            raise InputError(
                f"{entry.name}: grid[{name!r}] is {values!r}; a list of values is needed, e.g. "
                f"grid={{{name!r}: [{values!r}]}}."
            )
    _check_settings(entry, goal, {name: values[0] for name, values in axes.items()})
    grid = {name: tuple(_plain(value) for value in values) for name, values in axes.items()}
    candidates = replace(method, grid=grid).candidates(goal, entry.settings)
    return [Trial(method, settings) for _, settings in candidates]


def _drawn(entry: Entry, goal: RankingMeasure, axes: Mapping[str, Any], rng: np.random.Generator) -> Trial:
    """Sample a value for every axis, independently."""
    settings = {
        name: _plain(
            values.rvs(random_state=rng) if hasattr(values, "rvs") else values[rng.integers(len(values))]
        )
        for name, values in axes.items()
    }
    _check_settings(entry, goal, settings)
    return Trial(entry.resolved, {**settings, **entry.settings})


def _check_settings(entry: Entry, goal: RankingMeasure, settings: Mapping[str, Any]) -> None:
    method = entry.resolved
    parts = method.parts(goal)
    if len(parts) > 1:
        names = ", ".join(part.name for part in parts)
        raise InputError(
            f"{entry.name}: a grid was given for {method.name!r}, which tries {names}, each with its own "
            "grid; give one entry per method."
        )
    method.candidates(goal, {**settings, **entry.settings})  # refuses unknown settings


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def check_candidates(trials: Sequence[Trial], goal: RankingMeasure) -> None:
    """Check that a ranker can be made of one candidate at least.

    Raises the `InputError` of the first candidate, if none can be made.
    """
    first_error = None
    for trial in trials:
        try:
            trial.ranker(goal).check_parameters()
        except InputError as error:
            first_error = first_error or error
        else:
            return
    if first_error is not None:
        raise first_error


def halving_rungs(n_candidates: int, n_queries: int) -> list[tuple[int, int]]:
    """Number of candidates and of training queries, for every rung of successive halving.

    From rung to rung a third of the candidates and three times the queries; all ``n_queries`` training
    queries of the fold on the last rung. No rung has fewer than 20 queries, unless the fold has: with few
    queries or candidates there is one rung, and all candidates are trained on all queries.

    References
    ----------
    Jamieson & Talwalkar (2016), arXiv:1502.07943.

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
    """Positions of ``n`` queries drawn at random, ascending; a larger draw contains a smaller one."""
    return np.sort(np.random.default_rng(seed).permutation(n_queries)[:n]).astype(np.int64)


def canonical(settings: Mapping[str, Any]) -> str:
    """Settings as JSON in one form: names sorted, tuples as lists, objects as their ``repr``."""
    return json.dumps(dict(settings), sort_keys=True, default=_text)


def _text(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)
