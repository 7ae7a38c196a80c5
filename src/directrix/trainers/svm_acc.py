"""A support vector machine that separates relevant documents from others, whatever their query."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from directrix.data.grouping import rows_of
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import DataObjective
from directrix.threads import one_blas_thread
from directrix.trainers.loop import Loop, Settings, unpenalized_objective
from directrix.types import Array, Callback, Float64Array, Objective, Result


@dataclass(frozen=True)
class SVMAcc(Settings):
    r"""Classify documents as relevant or not with scikit-learn's ``LinearSVC``, and rank by its scores.

    .. math:: \min_{w, b} \; \tfrac12 \lVert w \rVert^2 + \tfrac12 b^2
              + C \sum_i c_i \max(0, 1 - y_i (w \cdot x_i + b))^p, \qquad y_i = \pm 1

    over the documents i of all queries together; y = 1 where the label is at least ``rel``. The weight c is
    the document weight times the query weight; with ``balanced``, that of relevant documents is also
    multiplied by the ratio of irrelevant to relevant ones.

    Parameters
    ----------
    C : float > 0
        Weight of the errors, a sum over documents, as in SVM-light and ``LinearSVC``.
    balanced : bool
        Whether all relevant documents together have the weight of all others ("SVMacc2" in the paper).
    rel : float > 0
        Lowest label that counts as relevant.
    loss : {"squared_hinge", "hinge"}
        p = 2, solved in the primal by Newton's method; or p = 1, as in the paper, solved in the dual by
        coordinate descent, which on thresholded runs mostly ends at ``max_iter``.
    max_iter : int >= 1
        Limit of ``LinearSVC``: passes over the documents, or Newton steps.
    tol : float > 0
        Tolerance of ``LinearSVC``.
    random_state : int or None
        For "hinge": seed of the order of the documents; None means the ranker's, or 0 outside a ranker.

    Notes
    -----
    Only the queries of the objective, their weights and the model are used, not the surrogate or the start.
    Errors are counted over all documents, so hundreds of irrelevant ones outweigh each relevant one, and one
    threshold -b applies to all queries: Yue et al. (2007, Section 5.2.1) give this as the reason for its low
    AP. Their four classifiers are ``SVMAcc()``, ``SVMAcc(balanced=True)``, and ``SVMAcc()`` in a ranker with
    ``scale="query-percentile"`` or ``"query-minmax"``.

    b does not change a ranking and is dropped. Liblinear always penalizes it, unlike SVM-light.

    The steps of a `StumpModel` become CSR columns of 0 and 1, with 12 bytes for each threshold that a
    document exceeds. ``value`` of the result is the loss above.

    References
    ----------
    Yue, Finley, Radlinski & Joachims (2007), Section 5.2, doi:10.1145/1277741.1277790.
    Fan, Chang, Hsieh, Wang & Lin (2008), LIBLINEAR, JMLR 9, 1871-1874.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> from directrix.trainers import SVMAcc
    >>> SVMAcc(C=0.1).minimize(dx.linear_objective(q, "Regression"), np.zeros(4)).params.shape
    (4,)
    """

    short_name: ClassVar[str] = "svm-acc"
    uses_surrogate: ClassVar[bool] = False
    budget: ClassVar[str] = "max_iter"
    models: ClassVar[tuple[type, ...]] = (LinearModel, StumpModel)

    C: float = 1.0
    balanced: bool = False
    rel: float = 1.0
    loss: Literal["squared_hinge", "hinge"] = "squared_hinge"
    max_iter: int = 1000
    tol: float = 1e-2
    random_state: int | None = None

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Fit the classifier; see `LBFGS.minimize`.

        The callback is called before training, with weights of 0, and after it. The objective has a
        `LinearModel` or `StumpModel` and no penalty, which C replaces. Only the length of ``start`` matters.
        """
        data = unpenalized_objective(objective, self)
        relevant = data.source.queries.labels >= self.rel
        weight = self._weights(data, relevant)
        loop, done = Loop(start, callback), 0
        with loop:
            # At weights of 0, every document has the error 1.
            loop.step(np.zeros(len(start)), self.C * float(weight.sum()))
            # LinearSVC cannot be fitted to a single class.
            if not (weight[relevant].any() and weight[~relevant].any()):
                loop.stop(
                    "converged",
                    f"all documents that have a weight are on one side of rel={self.rel:g}: nothing to learn",
                )
            params, loss, done = self._fit(_columns(data.source.queries, data.source.model), relevant, weight)
            loop.step(params, loss)
            if done >= self.max_iter:
                loop.stop(
                    "max_iter",
                    f"{done} iterations did not meet the tolerance {self.tol:g}; raise max_iter, or lower C",
                )
            loop.stop("converged", f"the tolerance {self.tol:g} was met")
        return replace(loop.result(own_loss=True), counts={"iterations": done})

    def _weights(self, data: DataObjective, relevant: Array) -> Float64Array:
        weight = np.repeat(data.source.query_weight, np.diff(data.source.queries.qptr))
        if data.source.doc_weight is not None:
            weight = weight * data.source.doc_weight
        n_relevant = int(relevant.sum())
        if self.balanced and n_relevant:
            weight = np.where(relevant, weight * ((len(weight) - n_relevant) / n_relevant), weight)
        return weight

    def _fit(self, X: Any, relevant: Array, weight: Float64Array) -> tuple[Float64Array, float, int]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        machine = LinearSVC(
            C=self.C,
            loss=self.loss,
            dual=self.loss == "hinge",
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=0 if self.random_state is None else self.random_state,
        )
        with warnings.catch_warnings(), one_blas_thread():
            # The result reports this itself, with status "max_iter".
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(X, relevant, sample_weight=weight)
        w, b = np.ascontiguousarray(machine.coef_[0], dtype=np.float64), float(machine.intercept_[0])
        # LinearSVC does not report its loss, so it is computed from the weights.
        short = np.maximum(1.0 - np.where(relevant, 1.0, -1.0) * (X @ w + b), 0.0)
        errors = short if self.loss == "hinge" else short**2
        return w, 0.5 * float(w @ w) + 0.5 * b * b + self.C * float(weight @ errors), int(machine.n_iter_)


def _columns(q: Queries, model: Any) -> Any:
    """Return the matrix that the parameters multiply, float64; liblinear takes only 32-bit indices."""
    if isinstance(model, StumpModel):
        return step_features(model, q.features)
    X = q.features
    if not sp.issparse(X):
        return np.asarray(X, dtype=np.float64)
    places = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array((X.data.astype(np.float64), *places), shape=X.shape)


def step_features(model: StumpModel, X: Any) -> Any:
    r"""Return the steps of a `StumpModel` as features :math:`[x_f > \theta_{f,t}]`, in parameter order.

    The result is a CSR array, float64 (n_docs, n_steps), of ones only: memory and time are linear in their
    number and in n_docs n_features. Raises `InputError` for more than 2^31 - 1 ones.
    """
    above = model.bins(X).T.astype(np.int64)
    n_ones = int(above.sum())
    if n_ones >= 2**31:
        raise InputError(
            f"{n_ones:,} documents are above a threshold; below 2^31 are needed. Give fewer "
            "thresholds or documents."
        )
    # The ones of a feature are its first thresholds, so their number says which they are.
    columns = rows_of(np.broadcast_to(model.ptr[:-1], above.shape).ravel(), above.ravel()).astype(np.int32)
    ends = np.append(0, np.cumsum(above.sum(axis=1))).astype(np.int32)
    return sp.csr_array((np.ones(n_ones), columns, ends), shape=(len(above), model.n_params))
