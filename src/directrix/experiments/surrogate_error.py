r"""How far a surrogate is from its measure while it is trained, and how far theory lets it be.

Figures 1 to 3 of Qin, Liu & Li (2010): after every epoch the mean over queries of the error

.. math:: \rho = \frac{1}{|Q|} \sum_{q \in Q} |\hat M(q) - M(q)|

of any surrogate that tends to a measure; for ApproxAP and ApproxNDCG with the bounds of the paper's theorems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.laws.bounds import bounds_of
from directrix.models.linear import LinearModel
from directrix.objectives.build import linear_objective
from directrix.objectives.objective import Objective
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.trainers.sgd import SGD
from directrix.types import Float64Array, Int64Array, Step, Surrogate, Trainer

__all__ = ["Approximation", "approximation"]

_ROUNDING = 1e-9
"""By which an error may exceed its bound: sums of a query's terms in float64."""


@dataclass(frozen=True, eq=False)
class Approximation:
    r"""Errors of a surrogate after every epoch of a training, by query.

    Parameters
    ----------
    epochs : int64 (n_epochs,)
        Numbers of the epochs (or iterations), from 1.
    errors : float64 (n_epochs, n_queries)
        :math:`|\hat M(q) - M(q)|`; NaN where the measure is undefined.
    bounds : mapping of str to float64 (n_epochs, n_queries)
        What `directrix.laws.bounds.bounds_of` says for the scores of the epoch; without entries for a
        surrogate that no theorem speaks of.
    """

    epochs: Int64Array
    errors: Float64Array
    bounds: Mapping[str, Float64Array]

    @property
    def rho(self) -> Float64Array:
        """Mean error over the queries of every epoch, float64 (n_epochs,)."""
        return _mean_of_known(self.errors)

    @property
    def by_query(self) -> Float64Array:
        """Mean error over the epochs of every query, float64 (n_queries,)."""
        means: Float64Array = np.mean(self.errors, axis=0)
        return means

    def covered(self, kind: str) -> Float64Array:
        """Share of the queries of every epoch of which the theorem says something, float64 (n_epochs,)."""
        shares: Float64Array = np.mean(~np.isnan(self.bounds[kind]), axis=1)
        return shares

    def mean_bound(self, kind: str) -> Float64Array:
        """Mean bound over these queries; NaN in an epoch without one. Float64 (n_epochs,)."""
        return _mean_of_known(self.bounds[kind])

    def mean_error(self, kind: str) -> Float64Array:
        """Mean error over the same queries, to be compared with `mean_bound`, float64 (n_epochs,)."""
        return _mean_of_known(np.where(np.isnan(self.bounds[kind]), np.nan, self.errors))

    def broken(self, kind: str) -> int:
        """Epochs times queries whose error is above the bound by more than rounding; 0 by the theorem."""
        return int(np.count_nonzero(self.errors > self.bounds[kind] + _ROUNDING))


def approximation(
    data: Queries | Objective,
    surrogate: Surrogate | str | None = None,
    *,
    trainer: Trainer | None = None,
    start: Float64Array | None = None,
) -> Approximation:
    r"""Train, and measure after every epoch how far the surrogate is from the measure it tends to.

    Parameters
    ----------
    data : Queries or Objective
        Training queries of a linear ranker, or an objective, for any other model.
    surrogate : Surrogate or str, optional
        What is maximised; that of an objective stands in it.
    trainer : Trainer, optional
        Anything that tells of its steps. Default Algorithm 1 as published: `SGD`, 200 epochs, eta = 0.01.
    start : float64 (n_params,), optional
        First parameters; default zero for a linear ranker.

    Returns
    -------
    Approximation

    Raises
    ------
    InputError
        If the surrogate tends to no measure, or surrogate or start are missing.

    Notes
    -----
    Cost: that of the training, one value of surrogate and measure an epoch and, for ApproxAP and
    ApproxNDCG, soft ranks of all documents. Scores are measured in float64, whatever the features are.

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
        if not isinstance(objective.model, LinearModel):
            raise InputError(
                "approximation: first parameters are needed for a model that is not linear; give start=, "
                "e.g. those of a fitted ranker."
            )
        start = np.zeros(objective.queries.n_features)
    measured: Any = _that_tends(objective.surrogate)
    q = objective.queries
    ready = measured.measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
    epochs: list[int] = []
    errors: list[Float64Array] = []
    found: dict[str, list[Float64Array]] = {}

    def watch(step: Step) -> bool:
        if step.iteration:
            scores = np.asarray(objective.scores(step.params), dtype=np.float64)
            value, _ = measured.value_and_grad(scores, q.labels, q.qptr)
            epochs.append(step.iteration)
            errors.append(np.abs(value - ready(scores)[0]))
            for kind, bound in bounds_of(measured, scores, q.labels, q.qptr).items():
                found.setdefault(kind, []).append(bound)
        return False

    (trainer or SGD(learning_rate=0.01, epochs=200)).minimise(objective, start, callback=watch)
    bounds = {kind: np.array(each) for kind, each in found.items()}
    return Approximation(np.array(epochs), np.array(errors).reshape(len(epochs), q.n_queries), bounds)


def _objective(data: Queries | Objective, surrogate: Surrogate | str | None) -> Objective:
    if isinstance(data, Objective):
        if surrogate is not None:
            raise InputError(
                f"approximation: the objective trains {data.surrogate!r} already; leave surrogate= out, or "
                "give Queries."
            )
        return data
    if surrogate is None:
        raise InputError(
            "approximation: which surrogate? Give one that tends to a measure, e.g. 'ApproxAP(alpha=100.0)'."
        )
    return linear_objective(data, as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate)


def _that_tends(surrogate: Surrogate) -> Surrogate:
    if "tends_to_measure" not in getattr(surrogate, "traits", ()):
        raise InputError(
            f"{surrogate!r} tends to no measure, so there is none to be far from; take one with the trait "
            "tends_to_measure, e.g. ApproxNDCG()."
        )
    return surrogate


def _mean_of_known(values: Float64Array) -> Float64Array:
    """Mean of every row without its NaN; NaN for a row of nothing else."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    means: Float64Array = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
    return means
