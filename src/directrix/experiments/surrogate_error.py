"""Error of a surrogate with respect to its measure in training; bounds for ApproxAP and ApproxNDCG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries, need_queries
from directrix.errors import InputError
from directrix.laws.bounds import bounds_of
from directrix.models.linear import LinearModel
from directrix.objectives.objective import DataObjective, linear_objective
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.trainers.stochastic import SGD
from directrix.trainers.wrappers import Continuation
from directrix.types import Float64Array, Int64Array, Step, Surrogate, Trainer

# The sums of a query are rounded in float64. An error may exceed its bound by this much.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Approximation:
    r"""Errors of a surrogate after every training epoch, by query. Result of `approximation`.

    Parameters
    ----------
    epochs : int64 (n_epochs,)
        Numbers of the epochs (or iterations), from 1.
    errors : float64 (n_epochs, n_queries)
        :math:`|\hat M(q) - M(q)|`; NaN where the measure is undefined.
    bounds : mapping of str to float64 (n_epochs, n_queries)
        Result of `directrix.laws.bounds.bounds_of` for the scores of the epoch; empty for a surrogate without
        a theorem.
    """

    epochs: Int64Array
    errors: Float64Array
    bounds: Mapping[str, Float64Array]

    @property
    def rho(self) -> Float64Array:
        r"""Mean error over the queries of every epoch, :math:`\rho = \sum_q |\hat M(q) - M(q)| / |Q|`."""
        return _mean_of_known(self.errors)

    @property
    def by_query(self) -> Float64Array:
        """Mean error over the epochs of every query, float64 (n_queries,)."""
        return np.asarray(np.mean(self.errors, axis=0))

    def covered(self, kind: str) -> Float64Array:
        """Share of the queries to which the theorem applies, in every epoch, float64 (n_epochs,)."""
        return np.asarray(np.mean(~np.isnan(self.bounds[kind]), axis=1))

    def mean_bound(self, kind: str) -> Float64Array:
        """Mean bound over the covered queries; NaN in an epoch without any. Float64 (n_epochs,)."""
        return _mean_of_known(self.bounds[kind])

    def mean_error(self, kind: str) -> Float64Array:
        """Mean error over the covered queries, to compare with `mean_bound`, float64 (n_epochs,)."""
        return _mean_of_known(np.where(np.isnan(self.bounds[kind]), np.nan, self.errors))

    def broken(self, kind: str) -> int:
        """Number of errors above their bound by more than rounding; 0 according to the theorem."""
        return int(np.count_nonzero(self.errors > self.bounds[kind] + _ROUNDING))


def approximation(
    data: Queries | DataObjective,
    surrogate: Surrogate | str | None = None,
    *,
    trainer: Trainer | None = None,
    start: Float64Array | None = None,
) -> Approximation:
    r"""Train, and compute the error of the surrogate with respect to its measure after every epoch.

    Parameters
    ----------
    data : Queries or DataObjective
        Training queries of a linear ranker, or an objective for any other model.
    surrogate : Surrogate or str, optional
        The surrogate to maximize; an objective already has one.
    trainer : Trainer, optional
        Any trainer that calls back after its steps. Default Algorithm 1 as published: `SGD`, 200 epochs,
        eta = 0.01; for a surrogate with a cut-off in the stages of `Continuation`.
    start : float64 (n_params,), optional
        Initial parameters; default zero for a linear ranker.

    Returns
    -------
    Approximation

    Raises
    ------
    InputError
        If the surrogate does not tend to a measure, or the surrogate or ``start`` is missing.

    Notes
    -----
    Cost: the training, one value of surrogate and measure per epoch and, for ApproxAP and ApproxNDCG, soft
    ranks of all documents. Scores are computed in float64 for any type of features.

    References
    ----------
    Qin, Liu & Li (2010), Section 6.2 and Figures 1-3, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    >>> from directrix import ApproxNDCG, SGD
    >>> from directrix.data import make_cubic
    >>> q = make_cubic(10, 20, 5)
    >>> soft, sharp = (approximation(q, ApproxNDCG(alpha=a), trainer=SGD(epochs=5)) for a in (1.0, 100.0))
    >>> bool(sharp.rho[-1] < soft.rho[-1]), len(sharp.rho)
    (True, 5)
    """
    objective = _objective(data, surrogate)
    if start is None:
        if not isinstance(objective.source.model, LinearModel):
            raise InputError(
                "approximation: a model that is not linear needs initial parameters; give start=, e.g. those "
                "of a fitted ranker."
            )
        start = np.zeros(objective.source.queries.n_features)
    trained: Any = objective.surrogate
    q = objective.source.queries
    exact = trained.measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
    epochs: list[int] = []
    errors: list[Float64Array] = []
    bounds: dict[str, list[Float64Array]] = {}

    # Iteration 0 is the start, which is no epoch.
    def watch(step: Step) -> None:
        if step.iteration:
            scores = np.asarray(objective.scores(step.params), dtype=np.float64)
            value, _ = trained.value_and_grad(scores, q.labels, q.qptr)
            epochs.append(step.iteration)
            errors.append(np.abs(value - exact(scores)[0]))
            for kind, bound in bounds_of(trained, scores, q.labels, q.qptr).items():
                bounds.setdefault(kind, []).append(bound)

    algorithm = Continuation(SGD(learning_rate=0.01, epochs=200)) if trainer is None else trainer
    algorithm.minimize(objective, start, callback=watch)
    return Approximation(
        np.array(epochs),
        np.array(errors).reshape(len(epochs), q.n_queries),
        {kind: np.array(rows) for kind, rows in bounds.items()},
    )


def _objective(data: Queries | DataObjective, surrogate: Surrogate | str | None) -> DataObjective:
    """The objective, with a surrogate that tends to a measure."""
    if isinstance(data, Queries):
        if surrogate is None:
            raise InputError(
                "approximation: Queries need a surrogate; give one that tends to a measure, e.g. "
                "'ApproxAP(alpha=100.0)'."
            )
        data = linear_objective(data, as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate)
    elif not hasattr(data, "surrogate"):
        need_queries(data, "approximation")
    elif surrogate is not None:
        raise InputError(
            f"approximation: the objective has the surrogate {data.surrogate!r} already; leave out "
            "surrogate=, or give Queries."
        )
    if "tends_to_measure" not in getattr(data.surrogate, "properties", ()):
        raise InputError(
            f"{data.surrogate!r} does not tend to a measure, so it has no error; give a surrogate with the "
            "property tends_to_measure, e.g. ApproxNDCG()."
        )
    return data


def _mean_of_known(values: Float64Array) -> Float64Array:
    """Mean of every row without its NaN; NaN for a row of NaN only."""
    has_value = ~np.isnan(values)
    sums, counts = np.where(has_value, values, 0.0).sum(axis=1), has_value.sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0))
