"""`calibration_curve`: probabilities of relevance against the share of relevant documents."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from directrix.data.checks import check_length
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.segments import segments_of
from directrix.rankers.calibration import Calibration, Kind, sampling_weights
from directrix.tables import Table
from directrix.types import Array, Float64Array

# Calibration is cross-validated in this number of folds.
_FOLDS = 5


@dataclass(frozen=True)
class CalibrationError:
    r"""Errors of probabilities p on n documents, with relevance y of 0 or 1.

    Attributes
    ----------
    documents : int
    predicted, relevant : float
        Means of p and of y.
    error : float
        Expected calibration error :math:`\sum_b \frac{n_b}{n} |\bar p_b - \bar y_b|` over the bins.
    brier, log_loss : float
        Means of :math:`(p - y)^2` and of :math:`-\log` of the probability of y.
    """

    documents: int
    predicted: float
    relevant: float
    error: float
    brier: float
    log_loss: float


@dataclass(frozen=True)
class CalibrationCurve:
    """Predicted probabilities against shares of relevant documents. Result of `calibration_curve`.

    Attributes
    ----------
    predicted, relevant : tuples of float (n_bins,)
        Mean probability and share of relevant documents of each bin, by ascending probability.
    documents : tuple of int (n_bins,)
    total : CalibrationError
        Error over all documents.
    segments : dict of CalibrationError
        Error over the documents of each segment of queries, with separate bins.
    """

    predicted: tuple[float, ...]
    relevant: tuple[float, ...]
    documents: tuple[int, ...]
    total: CalibrationError
    segments: dict[Hashable, CalibrationError]

    def tables(self) -> tuple[Table, Table]:
        """Return the curve, and the errors of segments and of all documents."""
        bins = zip(self.documents, self.predicted, self.relevant, strict=True)
        curve = tuple((number, *row) for number, row in enumerate(bins, start=1))
        errors = [*self.segments.items(), ("all", self.total)]
        rows = tuple((str(name), *asdict(error).values()) for name, error in errors)
        names = ("segment", "documents", "predicted", "relevant", "error", "Brier", "log loss")
        return (
            Table("Calibration curve", ("bin", *names[1:4]), curve, digits=4),
            Table("Calibration error", names, rows, digits=4),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types."""
        return {
            **asdict(self),
            "segments": {str(name): asdict(error) for name, error in self.segments.items()},
        }


def calibration_curve(
    probabilities: Any, q: Queries, *, rel: float = 1.0, by: Any = None, bins: int = 10
) -> CalibrationCurve:
    """Compare probabilities of relevance with the labels of queries.

    Parameters
    ----------
    probabilities : float (n_docs,)
        Probabilities of the documents of ``q``, in [0, 1]; on queries that neither ranker nor calibration
        has seen.
    q : Queries
        With labels; sampled negatives count 1 / sampling probability, as in ``ranker.calibrate``.
    rel : float > 0
        Lowest label that counts as relevant.
    by : mapping of query to segment, or one value per row, optional
        Segments of queries, for errors of each, as for `evaluate`.
    bins : int >= 1
        Number of bins, which hold equally many documents.

    Returns
    -------
    CalibrationCurve

    Raises
    ------
    InputError
        If there is not one probability from 0 to 1 per document, or ``by`` has no segment for any query.

    Notes
    -----
    O(n_docs log n_docs). With few documents the error is far above 0 even for perfect probabilities; compare
    models on the same data.

    Examples
    --------
    >>> import directrix as dx
    >>> q = dx.Queries.from_arrays(np.eye(4), [0, 0, 1, 1], qid=[1, 1, 2, 2])
    >>> curve = calibration_curve([0.1, 0.3, 0.6, 1.0], q, bins=2, by={1: "short", 2: "long"})
    >>> curve.relevant, round(curve.total.error, 2), curve.segments["short"].relevant
    ((0.0, 1.0), 0.2, 0.0)
    """
    p = np.asarray(probabilities, dtype=np.float64)
    check_length(len(p), q.n_docs, "probabilities", "q.labels")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        row = int(np.argmin((p >= 0.0) & (p <= 1.0)))
        raise InputError(
            f"probabilities[{row}] is {p[row]:g}, must be from 0 to 1. Type ranker.calibrate(queries), then "
            "ranker.predict_probability(X)."
        )
    relevant, weights = (q.labels >= rel).astype(np.float64), sampling_weights(q)
    # Bins hold equally many documents, so each mean has about the same error.
    row_bins = _bins(p, bins)
    members = {} if by is None else segments_of(by, q.query_ids, q.qptr, q.rows)
    segment_rows = {
        name: np.concatenate([np.arange(q.qptr[query], q.qptr[query + 1]) for query in queries])
        for name, queries in members.items()
    }
    return CalibrationCurve(
        tuple(float(np.average(p[rows], weights=weights[rows])) for rows in row_bins),
        tuple(float(np.average(relevant[rows], weights=weights[rows])) for rows in row_bins),
        tuple(map(len, row_bins)),
        _error(p, relevant, weights, bins),
        {name: _error(p[rows], relevant[rows], weights[rows], bins) for name, rows in segment_rows.items()},
    )


def cross_calibrated(scores: Array, q: Queries, kind: Kind, rel: float) -> Float64Array:
    """Return probabilities of queries; each fold is calibrated on the others."""
    if q.n_queries == 1:
        raise InputError("the data have 1 query; two or more are needed for cross-validation. Give others.")
    # All documents of a query are in one fold.
    fold = np.repeat(np.arange(q.n_queries) % _FOLDS, np.diff(q.qptr))
    probabilities, weights = np.empty(q.n_docs), sampling_weights(q)
    for number in range(min(_FOLDS, q.n_queries)):
        others = fold != number
        fitted = Calibration.fit(scores[others], q.labels[others], kind, rel, weights[others])
        probabilities[~others] = fitted(scores[~others])
    return probabilities


def _bins(p: Float64Array, bins: int) -> list[Array]:
    """Return the places of each bin, by ascending probability."""
    return [rows for rows in np.array_split(np.argsort(p, kind="stable"), bins) if len(rows)]


def _error(p: Float64Array, relevant: Float64Array, weights: Float64Array, bins: int) -> CalibrationError:
    # The expected calibration error sums, over the bins, the weighted gap between predicted and observed
    # relevance.
    gaps = [abs(float(weights[rows] @ (p[rows] - relevant[rows]))) for rows in _bins(p, bins)]
    of_label = np.where(relevant > 0.0, p, 1.0 - p)
    # A probability of 0 for the label that occurred has an infinite loss, which is intended.
    with np.errstate(divide="ignore"):
        losses = -np.log(of_label)
    means = p, relevant, (p - relevant) ** 2, losses
    predicted, rate, brier, log_loss = (float(np.average(values, weights=weights)) for values in means)
    return CalibrationError(len(p), predicted, rate, sum(gaps) / float(weights.sum()), brier, log_loss)
