"""`Calibration`: probabilities of relevance from the scores of a fitted ranker, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError, short_text
from directrix.types import Array, Float64Array

Kind = Literal["isotonic", "platt"]

SHARE = 1e-6
"""Weight of the increasing term of an isotonic calibration, whose plateaus would tie documents."""


@dataclass(frozen=True)
class Calibration:
    r"""Probability that a document is relevant, as an increasing function of its score s.

    .. math:: p(s) = \sigma(t) \quad\text{(platt)}, \qquad
              p(s) = (1 - \epsilon) \, m(s) + \frac{\epsilon}{2} \Big(1 + \frac{t}{1 + |t|}\Big)
              \quad\text{(isotonic)}, \qquad t = a s + b

    :math:`\sigma(t) = 1 / (1 + e^{-t})`, a > 0, and m is the isotonic regression, linear between its knots
    and constant beyond both ends. The second term, with :math:`\epsilon = 10^{-6}`, gives documents on a
    plateau of m different probabilities, so that both kinds keep the order of the scores. Only scores that
    are equal after rounding may tie, for example those with t above 36 in Platt's sigmoid.

    Parameters
    ----------
    slope, intercept : float
        a > 0, in 1 / units of score, and b.
    rel : float
        Lowest label that counts as relevant.
    knots, values : tuples of float
        Scores, ascending, and their m probabilities. Empty for Platt's sigmoid.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, section 2; Zadrozny & Elkan (2002),
    doi:10.1145/775047.775151.
    """

    slope: float
    intercept: float
    rel: float = 1.0
    knots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    def __call__(self, scores: Any) -> Float64Array:
        """Return the probability of every score: float64 of the same shape, in [0, 1]."""
        scores = np.asarray(scores, dtype=np.float64)
        t = self.slope * scores + self.intercept
        if not self.knots:
            sigmoid: Float64Array = np.exp(-np.logaddexp(0.0, -t))
            return sigmoid
        rising = 0.5 + 0.5 * t / (1.0 + np.abs(t))
        mixed: Float64Array = (1.0 - SHARE) * np.interp(scores, self.knots, self.values) + SHARE * rising
        return mixed

    @classmethod
    def fit(
        cls,
        scores: Array,
        labels: Array,
        kind: Kind = "isotonic",
        rel: float = 1.0,
        weights: Float64Array | None = None,
    ) -> Calibration:
        """Fit the calibration to scores of held-out queries; see ``ranker.calibrate``.

        The targets of Platt's sigmoid are (n+ + 1) / (n+ + 2) and 1 / (n- + 2), as in his paper; a document
        of weight w counts w times.
        """
        if kind not in get_args(Kind):
            raise InputError(f"kind must be 'isotonic' or 'platt', got {short_text(kind)}.")
        # Labels are relevant or not; without both kinds no probability between 0 and 1 fits.
        relevant = np.asarray(labels) >= rel
        if relevant.all() or not relevant.any():
            raise InputError(
                f"{int(relevant.sum())} of {len(relevant)} documents have a label of at least {rel:g}; a "
                "calibration needs relevant and other documents. Give further queries, or another rel."
            )
        weights = np.ones(len(relevant)) if weights is None else weights
        slope, intercept = _sigmoid(np.asarray(scores, dtype=np.float64), relevant, weights)
        if not slope > 0.0:
            raise InputError(
                "the scores of relevant documents are not higher than those of others, so no increasing "
                "probability fits them. Check that the labels belong to these documents."
            )
        if kind == "platt":
            return cls(slope, intercept, float(rel))
        from sklearn.isotonic import IsotonicRegression

        # Platt's slope is fitted for both kinds, since the isotonic plateaus need an increasing term.
        steps = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, relevant, weights)
        knots, values = steps.X_thresholds_.tolist(), steps.y_thresholds_.tolist()
        return cls(slope, intercept, float(rel), tuple(knots), tuple(values))


def sampling_weights(q: Queries) -> Float64Array:
    """Return the weight of each document, 1 / its sampling probability: sampled negatives stand for all."""
    from directrix.data.interactions.build import Interactions

    return 1.0 / q.sampling if isinstance(q, Interactions) else np.ones(q.n_docs)


def _sigmoid(scores: Float64Array, relevant: Array, weights: Float64Array) -> tuple[float, float]:
    """Slope and intercept that minimize the cross-entropy with Platt's targets."""
    from scipy.optimize import minimize

    # The minimizer works on standardized scores, so its tolerance does not depend on their unit.
    center, width = float(scores.mean()), float(scores.std()) or 1.0
    z, total, n_relevant = (scores - center) / width, weights.sum(), weights[relevant].sum()
    targets = np.where(relevant, (n_relevant + 1) / (n_relevant + 2), 1 / (total - n_relevant + 2))

    def loss(params: Float64Array) -> tuple[float, Float64Array]:
        t = params[0] * z + params[1]
        excess = weights * (np.exp(-np.logaddexp(0.0, -t)) - targets) / total
        value = weights @ (np.logaddexp(0.0, t) - targets * t) / total
        return float(value), np.array([excess @ z, excess.sum()])

    slope, intercept = minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS", tol=1e-9).x.tolist()
    return slope / width, intercept - slope * center / width
