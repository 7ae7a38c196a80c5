"""Gains of documents from clicks: those of impressions, their means, and training data from the means."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from directrix.clicks.log import Log
from directrix.clicks.position_bias import Propensities
from directrix.clicks.position_bias import propensities as estimated_propensities
from directrix.clicks.sessions import Pairs, Sessions
from directrix.data.checks import as_floats, check_unrepeated
from directrix.data.columns import ColumnNames, column_list
from directrix.data.file import DataFile
from directrix.data.memory import check_room
from directrix.data.missing import check_finite, stated
from directrix.data.queries import Queries, of_frame
from directrix.data.scale import fit_scale
from directrix.errors import Advice, InputError, warn
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import DCG, NDCG
from directrix.measures.names import measure as parse_measure
from directrix.measures.precision import Precision
from directrix.parameters import check_choice, number, seed_number
from directrix.rankers.linear import LinearRanker
from directrix.surrogates.losses import Regression
from directrix.types import Array, Float64Array, Int64Array

Estimator = Literal["naive", "ips", "clipped", "policy-aware", "affine", "doubly-robust"]
ESTIMATORS: tuple[str, ...] = get_args(Estimator)

# Columns of a log that features must not have: a ranker would not know them when it ranks.
_NOT_FEATURES = ("session", "position", "clicked", "impressions")
# A warning appears if fewer than this share of the impressions have features.
_FEW = 0.95
# An estimated propensity is rejected if the ends of its interval differ by more than this factor.
_LOST = 100.0
# Penalty of the model of relevance. Values from .01 to .1 did as well on four data sets. Without a penalty,
# predictions of unshown documents explode.
_RIDGE = 0.03


class Bias(NamedTuple):
    """How examination and trust turn relevance into clicks: P(click) = alpha relevance + beta."""

    alpha: Float64Array
    """By position (n_positions,), or by row of the log (n_rows,)."""
    beta: Float64Array | None
    by_row: bool = False
    ends: tuple[Bias, Bias] | None = None
    """Both ends of the 95 % interval of estimated propensities; None: they are known."""


class EstimatorSettings(NamedTuple):
    """Settings of the estimation of gains; see `training_data`."""

    bias: Bias | None
    clip: float = 0.1
    policy: Any = None
    model: Any = None
    seed: int = 0


class Impressions(NamedTuple):
    """Impressions of candidates; those of one cell of the log are one entry."""

    doc: Int64Array
    """Number of the candidate."""
    n: Float64Array
    """Number of impressions."""
    clicks: Float64Array
    at: Array
    """Position from 0, or with propensities by row the row."""
    n_docs: int
    """Number of candidates."""

    def under(self, bias: Bias | None) -> tuple[Float64Array, Float64Array]:
        """Return alpha and beta of the impressions."""
        alpha, beta = np.ones(len(self.at)), np.zeros(len(self.at))
        if bias is None:
            return alpha, beta
        return bias.alpha[self.at], beta if bias.beta is None else bias.beta[self.at]

    def mean(self, values: Any) -> Float64Array:
        """Return the mean over the impressions of each candidate; 0 for one without any (n_docs,)."""
        return self.sum(values) / np.maximum(self.counts, 1.0)

    def sum(self, values: Any) -> Float64Array:
        """Return the sum over the impressions of each candidate (n_docs,)."""
        return np.bincount(self.doc, self.n * values, self.n_docs).astype(np.float64)

    @property
    def counts(self) -> Float64Array:
        """Number of impressions of each candidate (n_docs,)."""
        return self.sum(1.0)


class Gains(NamedTuple):
    """Estimated gains of candidates, each array (n_docs,)."""

    gain: Float64Array
    """Mean over impressions; without impressions, the model's relevance or 0."""
    counts: Float64Array
    slopes: Float64Array
    """Sum over impressions of the factor of a click."""
    squares: Float64Array
    """Sum of the squares of these factors."""


def training_data(  # noqa: PLR0913 - all but the first two are optional
    log: Log,
    features: Any,
    estimator: Estimator = "ips",
    *,
    propensities: Any = None,
    clip: float = 0.1,
    policy: Any = None,
    model: Any = None,
    missing: Literal["error", "zero", "nan"] = "error",
    seed: int = 0,
) -> Queries:
    r"""Return the documents of a log with features, mean gains as labels, and impressions as counts.

    A document of relevance r at position k has a click c with P(c = 1) = alpha_k r + beta_k, where alpha is
    the propensity theta, and beta is 0 without trust bias. The gain of an impression is:

    - "naive": c; "ips": c / alpha_k; "clipped": c / max(alpha_k, clip); "affine": (c - beta_k) / alpha_k;
    - "policy-aware": (c - beta_k) / E[alpha]; "doubly-robust": r^ + (c - alpha_k r^ - beta_k) / E[alpha],
      with E[alpha] the mean over the impressions of the document, as observed or by ``policy``.

    A label is the mean over the impressions of a query and document, and may be negative. It is unbiased for
    r, except with "naive" and "clipped", and with "ips" under trust bias.

    Parameters
    ----------
    log : Log
    features : Queries, frame, dict of columns, or path
        Features by query and document identifier; labels are not used.
    estimator : str
    propensities : Propensities or array (n_positions,) or (2, n_positions), optional
        Result of `directrix.clicks.propensities`; theta by position from 1; or alpha and beta. Default: the
        column examination of the log, by row, or else an estimate from the log.
    clip : float in (0, 1]
        Minimum alpha of "clipped".
    policy : float (n_docs, n_positions), optional
        Probability with which the logging policy shows each row of ``features`` at each position.
    model : ranker or float (n_docs,), optional
        For "doubly-robust": r^ of each row of ``features``, or an unfitted ranker, trained on policy-aware
        gains of one half of the queries for the other half; isotonic regression turns its scores into r^.
        Default: ridge regression on features that are standardized over all documents.
    missing : {"error", "zero", "nan"}
        Meaning of missing values in the features; for `Queries` that state one, theirs.
    seed : int >= 0
        Seed of the halves.

    Returns
    -------
    Queries
        Documents that were shown; "doubly-robust" also keeps the others, with r^ and count 0.

    Raises
    ------
    InputError
        If no document of the log has features, a propensity is not > 0, or the log does not identify the
        bias.

    Notes
    -----
    Optimize a sum of gains, as ``AutoRanker("DCG(gain=linear)@10")`` does; other measures are rejected.
    For Propensity SVM-rank see `by_clicked_document`. O(rows of the log). Sources: docs/decisions/clicks.md.

    Examples
    --------
    >>> import directrix as dx
    >>> rows = {"query": ["q"] * 4, "doc": list("abba"), "position": [1, 2, 1, 2], "clicked": [1, 1, 0, 0]}
    >>> log = dx.clicks.Log.from_frame({"session": [1, 1, 2, 2]} | rows)
    >>> features = {"qid": ["q", "q"], "docno": ["a", "b"], "bm25": [1.0, 2.0]}
    >>> q = dx.clicks.training_data(log, features, "ips", propensities=[1.0, 0.5])
    >>> q.labels, q.counts  # (1 + 0) / 2 and (0 + 1 / .5) / 2
    (array([0.5, 1. ]), array([2., 2.]))
    """
    q = documents_of(features, "training_data", missing)
    check_finite(q, "the features", allow_missing=True)
    settings = settings_of(log, propensities, [estimator], clip, policy, model, seed)
    shown = impressions_of(log, places_in_log(log.pairs, q), settings.bias, q.n_docs)
    gains = mean_gains(estimator, shown, settings, q)
    return _with_gains(
        q, gains, np.ones(q.n_docs, bool) if estimator == "doubly-robust" else gains.counts > 0
    )


def by_clicked_document(q: Queries) -> tuple[Queries, Float64Array]:
    """Return a query for each document with a gain > 0, the only one with label 1 in it, and its weight.

    The weight is the gain times the impressions; for "ips" it is the sum of 1 / theta over the clicks.
    "RankSVM" on these queries is Propensity SVM-rank (Joachims, Swaminathan & Schnabel 2017,
    doi:10.1145/3018661.3018699): it bounds the rank of each clicked document among all others. Features are
    copied for each query.

    Parameters
    ----------
    q : Queries
        Result of `training_data`.

    Examples
    --------
    >>> import directrix as dx
    >>> q = dx.Queries.from_arrays([[1.0], [0.5], [0.2]], [0.5, 0, 2.0], qid=[7, 7, 7], counts=[4, 4, 1])
    >>> clicked, weight = dx.clicks.by_clicked_document(q)
    >>> clicked.labels, weight
    (array([1., 0., 0., 0., 0., 1.]), array([2., 2.]))
    >>> ranker = dx.LinearRanker("RankSVM").fit_queries(clicked, query_weight=weight)
    """
    chosen = np.flatnonzero(q.labels > 0.0)
    query = np.searchsorted(q.qptr, chosen, side="right") - 1
    n_rows = int(np.diff(q.qptr)[query].sum())
    check_room(8 * n_rows * q.n_features, f"{n_rows:,} copies of documents", "Give fewer queries.")
    copies = q.take(query)
    # In its copy of the query, a document has the place that it has in the query itself.
    labels = np.zeros(copies.n_docs)
    labels[copies.qptr[:-1] + chosen - q.qptr[query]] = 1.0
    weight = q.labels[chosen] * (1.0 if q.counts is None else q.counts[chosen])
    return replace(copies, labels=labels, counts=None, query_ids=tuple(range(len(chosen)))), weight


def settings_of(
    log: Log, propensities: Any, estimators: Sequence[str], clip: float, policy: Any, model: Any, seed: int
) -> EstimatorSettings:
    """Return checked settings of estimators; `InputError` for an unknown one, or if trust bias is missing."""
    for name in estimators:
        check_choice(name, "estimator", ESTIMATORS)
    clip = number(clip, "clip", above=0.0, most=1.0, example=0.1)
    bias = None if set(estimators) == {"naive"} else bias_of(log, propensities)
    if "affine" in estimators and (bias is None or bias.beta is None):
        raise InputError(
            "estimator='affine' corrects trust bias, and the propensities have none.",
            Advice("trust-bias"),
        )
    ignore = [name for name in ("ips", "clipped") if name in estimators]
    if ignore and bias is not None and bias.beta is not None and bias.beta.any():
        warn(
            f"{' and '.join(ignore)} ignore{'s' * (len(ignore) == 1)} the trust bias (beta) of these "
            "propensities; choose the estimator affine, policy-aware or doubly-robust.",
            stacklevel=3,
        )
    return EstimatorSettings(bias, clip, policy, model, seed_number(seed))


def bias_of(log: Log, propensities: Any) -> Bias:
    """Return the bias from the user's argument; `InputError` if it does not fit the log."""
    ends = None
    if propensities is None and isinstance(log.content, Sessions) and log.content.examination is not None:
        return Bias(log.content.examination, None, by_row=True)
    if propensities is None:
        propensities = estimated_propensities(log)
        low, high = propensities.interval.T
        if (lost := np.flatnonzero(~(high <= _LOST * low))).size:
            raise InputError(
                f"the log is too small to estimate the propensity at position {lost[0] + 1}. Give that of a "
                "longer log, or choose the estimator naive."
            )
    if isinstance(propensities, Propensities):
        alpha, beta = propensities.theta, propensities.beta if propensities.method == "trust" else None
        low, high = propensities.interval.T
        # The errors of theta and beta are opposite, so the low end of one belongs to the high end of the
        # other.
        of_low, of_high = (None, None) if beta is None else propensities.beta_interval.T[::-1]
        ends = Bias(np.fmax(low, alpha / 4), of_low), Bias(np.fmin(high, 4 * alpha), of_high)
    else:
        array = as_floats(propensities, "propensities", "one number per position")
        alpha, beta = array if array.ndim == 2 and len(array) == 2 else (array, None)
    for name, values in (("propensities", alpha), ("beta of the propensities", beta)):
        if values is not None and (np.ndim(values) != 1 or len(values) < log.n_positions):
            raise InputError(
                f"{name} have shape {np.shape(values)}; the log needs one per position, from 1 to "
                f"{log.n_positions}.",
                Advice("propensities"),
            )
    if not (np.isfinite(alpha) & (alpha > 0.0)).all() or (beta is not None and not np.isfinite(beta).all()):
        worst = int(np.argmin(np.where(np.isfinite(alpha), alpha, -np.inf)))
        raise InputError(
            f"the propensity at position {worst + 1} is {alpha[worst]:g}; each must be finite and > 0. Leave "
            "out the positions that nobody examines."
        )
    beta = None if beta is None else np.asarray(beta, np.float64)
    return Bias(np.asarray(alpha, np.float64), beta, ends=ends)


def documents_of(features: Any, where: str, missing: str | None) -> Queries:
    """Return features by document as `Queries`, without labels; ``missing=None`` leaves NaN to rankers."""
    names = ColumnNames(has_labels=False)
    if isinstance(features, Queries):
        q = stated(features, missing or "error")
    else:
        is_path = isinstance(features, str | os.PathLike)
        read = DataFile(features, names).queries if is_path else partial(of_frame, features, names)
        q = read(missing or "nan")
        q = q if missing else replace(q, missing="error")
    check_unrepeated(q, "features")
    if of_log := [name for name in q.feature_names or () if name in _NOT_FEATURES]:
        raise InputError(
            f"{where}: features have the columns {', '.join(of_log)} of a log, which a ranker does not know "
            "when it ranks. Give one row per query and document, without them."
        )
    return q


def places_in_log(pairs: Pairs, q: Queries) -> Int64Array:
    """Return for each row of features its pair in the log, or -1; `InputError` if there is none."""
    mine = Pairs.of_queries(q)
    place = pairs.places(mine)
    if (place < 0).all():
        raise InputError(
            f"no pair of query and document of the log (queries {column_list(pairs.query_ids, 3)}; documents "
            f"{column_list(pairs.doc_ids, 3)}) has features (queries {column_list(mine.query_ids, 3)}; "
            f"documents {column_list(mine.doc_ids, 3)}); at least one is needed. Write identifiers alike."
        )
    return place


def impressions_of(log: Log, place: Int64Array, bias: Bias | None, n_docs: int) -> Impressions:
    """Return the impressions of candidates; ``place`` is the pair of each in the log, or -1."""
    doc_of = np.full(len(log.pairs), -1, dtype=np.int64)
    doc_of[place[place >= 0]] = np.flatnonzero(place >= 0)
    if bias is not None and bias.by_row:
        rows = log.sessions
        pair, n, clicks, at = rows.pair, np.ones(len(rows.pair)), rows.click, np.arange(len(rows.pair))
    else:
        cells = log.aggregate()
        pair, n, clicks = cells.pair, cells.impressions.astype(np.float64), cells.clicks
        at = cells.position - 1
    doc = doc_of[pair]
    is_candidate = (doc >= 0) & (n > 0.0)
    # Queries without any features are left out as a whole, so the share is that of the other queries.
    query, has_features = log.pairs.query, np.zeros(len(log.pairs.query_ids), dtype=bool)
    has_features[query[place[place >= 0]]] = True
    if (share := n[is_candidate].sum() / n[has_features[query[pair]]].sum()) < _FEW:
        warn(
            f"{share:.1%} of the impressions of queries with features are of documents with features; the "
            "others do not count. Give features of all documents that were shown.",
            stacklevel=3,
        )
    return Impressions(
        doc[is_candidate], n[is_candidate], clicks[is_candidate] / n[is_candidate], at[is_candidate], n_docs
    )


def mean_gains(estimator: str, shown: Impressions, settings: EstimatorSettings, q: Queries | None) -> Gains:
    """Return the mean gains of candidates by one estimator: a slope times the click, plus an offset."""
    alpha, beta = shown.under(settings.bias)
    slope, offset, relevance = np.ones(len(alpha)), np.zeros(len(alpha)), np.zeros(shown.n_docs)
    if estimator in ("ips", "affine"):
        slope = 1.0 / alpha
    elif estimator == "clipped":
        slope = 1.0 / np.maximum(alpha, settings.clip)
    elif estimator != "naive":
        slope = 1.0 / _expected_alpha(shown, alpha, settings)[shown.doc]
    if estimator in ("affine", "policy-aware"):
        offset = -beta * slope
    elif estimator == "doubly-robust":
        relevance = _relevance(shown, settings, q)
        r = relevance[shown.doc]
        offset = r - (alpha * r + beta) * slope
    # A document without impressions has no clicks, so only a model can tell its gain.
    gain = np.where(shown.counts > 0.0, shown.mean(slope * shown.clicks + offset), relevance)
    return Gains(gain, shown.counts, shown.sum(slope), shown.sum(slope**2))


def _expected_alpha(shown: Impressions, alpha: Float64Array, settings: EstimatorSettings) -> Float64Array:
    """Mean of alpha over the positions of each candidate, as the policy shows it where it does."""
    observed = shown.mean(alpha)
    if settings.policy is None:
        return observed
    policy, bias = as_floats(settings.policy, "policy", "one row per document of the features"), settings.bias
    n_known = 0 if bias is None or bias.by_row else len(bias.alpha)
    is_sound = policy.ndim == 2 and len(policy) == shown.n_docs and policy.shape[1] <= n_known
    if bias is None or not is_sound or not ((policy >= 0.0) & (policy <= 1.0)).all():
        raise InputError(
            f"policy has shape {policy.shape}; probabilities of {shown.n_docs} documents of the features by "
            f"up to {n_known} positions with propensities are needed. Leave it out for observed frequencies."
        )
    total = policy.sum(axis=1)
    expected = policy @ bias.alpha[: policy.shape[1]] / np.maximum(total, 1e-300)
    # The log may contain documents that the policy never shows; these keep the observed mean.
    return np.where(total > 0.0, expected, observed)


def _relevance(shown: Impressions, settings: EstimatorSettings, q: Queries | None) -> Float64Array:
    """Return r^ of every candidate: as given, or by a ranker fitted on the other half of the queries."""
    if q is None:
        raise InputError("estimator='doubly-robust' needs features; type features=.")
    model = settings.model
    if model is not None and not hasattr(model, "fit_queries"):
        relevance = as_floats(model, "model", "one probability per document of the features")
        if relevance.shape != (q.n_docs,) or not np.isfinite(relevance).all():
            raise InputError(
                f"model has shape {relevance.shape}; a ranker, or one finite relevance for each of "
                f"{q.n_docs:,} documents of the features is needed."
            )
        return relevance
    from sklearn.base import clone
    from sklearn.isotonic import IsotonicRegression

    gains = mean_gains("policy-aware", shown, settings, q)
    if model is not None:
        ranker = clone(model)
    else:
        check_finite(q, "the features", allow_missing=True)
        # The scale is that of all documents; features that hardly vary among shown ones have little weight.
        ranker = LinearRanker(Regression(target="labels"), l2=_RIDGE)
        q = q.scaled(fit_scale("standard", q.features))
    relevance = np.zeros(q.n_docs)
    # A ranker that was fitted on one half of the queries predicts the other half, as in cross-fitting.
    order = np.random.default_rng(settings.seed).permutation(q.n_queries)
    for half in (0, 1):
        fold = np.sort(order[half::2])
        in_fold = np.repeat(np.isin(np.arange(q.n_queries), fold), np.diff(q.qptr))
        data = _with_gains(q, gains, (gains.counts > 0) & ~in_fold)
        ranker.fit_queries(data)
        curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        curve.fit(ranker.predict_queries(data), data.labels, sample_weight=data.counts)
        relevance[in_fold] = curve.predict(ranker.predict_queries(q.take(fold)))
    return relevance


def _with_gains(q: Queries, gains: Gains, kept: Any) -> Queries:
    """Return the documents that are kept, with gains as labels; queries without any are left out."""
    if q.held != "memory":
        raise q.features.refusal("training on clicks")
    sizes = np.add.reduceat(np.append(kept, 0), q.qptr[:-1]) * (np.diff(q.qptr) > 0)
    rows, queries = np.flatnonzero(kept), np.flatnonzero(sizes)
    return replace(
        q,
        features=q.features[rows],
        labels=gains.gain[rows],
        qptr=np.append(0, np.cumsum(sizes[queries])).astype(np.int64),
        query_ids=tuple(q.query_ids[i] for i in queries),
        doc_ids=None if q.doc_ids is None else q.doc_ids[rows],
        counts=gains.counts[rows],
        rows=np.arange(len(rows)),
    )


def gain_measure(name: Any) -> tuple[RankingMeasure, float]:
    """Return the sum of gains for the name of a measure, and the divisor of the sum.

    "DCG@10" has linear gains, "P@5" is a fifth of the sum of the first five, and "ARP" the negative sum of
    the positions. Other sums of gains are not changed; all other measures are rejected.
    """
    if name == "ARP":
        return DCG(gain="linear", discount="position"), 1.0
    measure: Any = parse_measure(name)
    if isinstance(measure, DCG):
        return replace(measure, gain="linear"), 1.0
    if isinstance(measure, Precision) and measure.k is not None and not measure.relative:
        return DCG(k=measure.k, gain="linear", discount="none"), float(measure.k)
    if getattr(measure, "adds_gains", False):
        return measure, 1.0
    cut = "" if getattr(measure, "k", None) is None else f"@{measure.k}"
    why = "divides by the ideal value" if isinstance(measure, NDCG) else "is not a sum of gains"
    raise InputError(
        f"{measure.name} {why}, so unbiased gains of documents do not make it unbiased; DCG{cut}, "
        f"P{cut or '@10'} and ARP are sums of gains. Type DCG{cut}.",
    )
