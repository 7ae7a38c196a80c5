"""What boosters say of their data, as losses and measures need it; computed once for all trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.validate import check_group
from directrix.errors import InputError
from directrix.measures.names import measure as as_measure
from directrix.objectives.scores import ScoreObjective, newton_step
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.types import Array, Float64Array, Int64Array


class Rows(NamedTuple):
    """Labels, sizes of the queries, and weights of a data set of a booster; weights may be None."""

    labels: Array
    sizes: Array
    doc_weight: Array | None = None
    query_weight: Array | None = None

    def is_same(self, other: Rows | None) -> bool:
        """Whether they are equal, so that what was computed for the other still holds."""
        return other is not None and all(
            mine is theirs or (mine is not None and theirs is not None and np.array_equal(mine, theirs))
            for mine, theirs in zip(self, other, strict=True)
        )


class Forgetful:
    """Base of callables that keep what they computed of a data set, but not in copies and pickles."""

    _state: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_state"}


class Gradient(Forgetful):
    """Gradient and curvature of a surrogate at the scores of a booster, tree by tree.

    Parameters
    ----------
    surrogate : Surrogate or str
    seed : int >= 0
        Of the noise of a surrogate that draws some; each tree has its own.
    """

    def __init__(self, surrogate: Any, seed: int = 0) -> None:
        chosen = as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate
        if isinstance(chosen, type) or not hasattr(chosen, "value_and_grad"):
            raise InputError(
                f"objective({chosen!r:.80}): a surrogate is needed, an object with value_and_grad; type e.g. "
                "objective(directrix.ApproxNDCG(alpha=10))."
            )
        self.surrogate, self.seed = chosen, seed

    def __repr__(self) -> str:
        return f"objective({self.surrogate!r})"

    def at(self, scores: Any, rows: Rows) -> tuple[Float64Array, Float64Array]:
        """Return gradient and curvature of the loss, each (n_docs,), in the unit of `newton_step`."""
        scores = np.asarray(scores, dtype=np.float64).ravel()
        if scores.size and not np.ptp(scores):  # the first tree
            scores = np.zeros(len(scores))
            self._state = None
        known, objective, trees = self._state or (rows, self._objective(rows), 0)
        if not rows.is_same(known):
            known, objective, trees = rows, self._objective(rows), 0
        self._state = known, objective, trees + 1
        _, grad, curvature = objective.value_grad_curvature(scores, self.seed, trees)
        return newton_step(grad, curvature)

    def _objective(self, rows: Rows) -> ScoreObjective:
        q = _queries(rows)
        return ScoreObjective(q, self.surrogate, query_weight=rows.query_weight, doc_weight=rows.doc_weight)


class Value(Forgetful):
    """Mean of a measure over the queries of the data of a booster.

    Parameters
    ----------
    measure : measure or str
    """

    def __init__(self, measure: Any) -> None:
        self.measure = as_measure(measure)
        self.__name__ = self.measure.name

    def __repr__(self) -> str:
        return f"metric({self.measure!r})"

    def of(self, scores: Any, rows: Rows) -> float:
        """Return the mean; queries for which the measure is undefined do not count."""
        from directrix.rankers.training import mean_over_queries

        known, ready = self._state or (rows, self._prepared(rows))
        if not rows.is_same(known):
            known, ready = rows, self._prepared(rows)
        self._state = known, ready
        return mean_over_queries(ready(np.asarray(scores, dtype=np.float64).ravel())[0], rows.query_weight)

    def _prepared(self, rows: Rows) -> Any:
        labels = np.asarray(rows.labels, dtype=np.float64)
        return self.measure.prepare(labels, pointers(rows.sizes, len(labels)))


def pointers(sizes: Any, n_docs: int) -> Int64Array:
    """Boundaries of queries from their sizes; `InputError` if there are none or they do not fit."""
    if sizes is None or not np.size(sizes):
        raise InputError(
            "the data have no groups, so there are no lists to rank; give the number of rows of every query, "
            "e.g. group=[20, 31, ...]."
        )
    return check_group(sizes, n_docs)


def _queries(rows: Rows) -> Queries:
    labels = np.asarray(rows.labels, dtype=np.float64)
    pointers(rows.sizes, len(labels))
    return Queries.from_arrays(np.zeros((len(labels), 1)), labels, group=rows.sizes)
