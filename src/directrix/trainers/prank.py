"""PRank: a perceptron with thresholds between the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from directrix.data.checks import generator
from directrix.errors import InputError
from directrix.models.linear import LinearModel
from directrix.models.rows import SparseRows, row_slice
from directrix.objectives.objective import DataObjective
from directrix.trainers.progress import Progress, Seed, Settings, unpenalized_objective
from directrix.types import Callback, Float64Array, Int64Array, Objective, Result


@dataclass(frozen=True)
class PRank(Settings):
    r"""Predict the label of one document after another, and correct the weights after each error.

    With thresholds :math:`b_1 \le \dots \le b_{K-1}` between the K labels, and :math:`b_K = \infty`, the
    predicted label of a document x is the lowest r with :math:`w \cdot x < b_r`. After a prediction that is
    not the label y,

    .. math:: w \leftarrow w + x \sum_r \tau_r, \qquad b_r \leftarrow b_r - \tau_r, \qquad
              \tau_r = y_r \,[\,(w \cdot x - b_r)\, y_r \le 0\,], \qquad
              y_r = \begin{cases} +1 & r < y \\ -1 & r \ge y \end{cases}

    All weights and thresholds begin at 0, and the thresholds remain in order (Lemma 1 of the paper).

    Parameters
    ----------
    epochs : int >= 1
        Passes over the documents of all queries together, each in a new random order. The paper, where
        documents arrive one by one, has one pass.
    random_state : int, numpy Generator or None
        Seed of the orders; None is that of the ranker, and 0 outside of one.

    Notes
    -----
    Of the objective, only the queries and the linear model are used, not the surrogate, nor the start. It
    does not compare documents of one query: a threshold holds for all queries. The thresholds do not change
    a ranking and are dropped.

    The loss in trace and result is the mean over documents of the number of labels between the predicted
    one and the true one. It may rise, as a perceptron's errors do where labels are not separable: wrap it in
    `BestSoFar` to keep the pass that is best on validation queries. ``counts["errors"]`` is the sum of these
    numbers over all predictions of the training. If some w of length 1 and thresholds put all documents on
    the right side of all thresholds by a margin of at least gamma, it is at most

    .. math:: (K - 1)\, \frac{R^2 + 1}{\gamma^2}, \qquad R = \max \lVert x \rVert

    (Theorem 2), and a pass without errors ends the training. A pass costs O(n_docs (n_features + K)).

    References
    ----------
    Crammer & Singer (2001), Pranking with ranking, Figure 2, NIPS 14, 641-647.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> from directrix.trainers import PRank
    >>> PRank(epochs=5).minimize(dx.linear_objective(q, "Regression"), np.zeros(4)).params.shape
    (4,)
    """

    short_name: ClassVar[str] = "prank"
    budget: ClassVar[str] = "epochs"
    models: ClassVar[tuple[type, ...]] = (LinearModel,)

    epochs: int = 50
    random_state: Seed = None

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Train from weights of 0; see `LBFGS.minimize`. Steps for the callback are passes.

        The objective is one of `linear_objective`, without penalty and weights of queries and documents.
        Only the length of ``start`` matters.
        """
        linear = _unweighted(unpenalized_objective(objective, self))
        labels, levels = np.unique(linear.queries.labels, return_inverse=True)
        levels = levels.astype(np.int64)
        once = _pass_over(linear.queries.features, levels)
        w, thresholds = np.zeros(len(start)), np.zeros(len(labels) - 1)
        rng, errors = generator(self.random_state), 0
        progress = Progress(start, callback)
        with progress:
            progress.step(w, _loss(linear, w, thresholds, levels))
            for _ in range(self.epochs):
                made = once(rng.permutation(len(levels)), w, thresholds)
                errors += made
                if not np.isfinite(w).all():
                    message = "the weights overflow; scale the features (scale 'standard')"
                    progress.end("not_finite", message)
                progress.step(w, _loss(linear, w, thresholds, levels))
                if made == 0:
                    progress.end("converged", "a pass made no error")
            progress.end("max_iter", f"{self.epochs} passes done")
        return progress.result({"errors": errors}, own_loss=True)


def _pass_over(X: Any, levels: Int64Array) -> Callable[..., int]:
    """Return the kernel of one pass, as a function of order, weights and thresholds."""
    from directrix.trainers._kernels.prank import dense_pass, sparse_pass

    rows = row_slice(X, 0, X.shape[0])
    if isinstance(rows, SparseRows):
        return partial(sparse_pass, *rows[:4], levels)
    return partial(dense_pass, rows, levels)


def _loss(linear: DataObjective, w: Float64Array, thresholds: Float64Array, levels: Int64Array) -> float:
    predicted = np.searchsorted(thresholds, linear.scores(w).astype(np.float64), side="right")
    return float(np.abs(predicted - levels).mean())


def _unweighted(linear: DataObjective) -> DataObjective:
    for weight, name in ((linear.query_weight, "query_weight"), (linear.doc_weight, "sample_weight")):
        if weight is not None and not (weight == weight[0]).all():
            raise InputError(
                f"{name}: PRank corrects each error by one whole step, which keeps its thresholds in order, "
                "and so takes no weights; leave them out, or use a loss that takes them, e.g. Regression()."
            )
    return linear
