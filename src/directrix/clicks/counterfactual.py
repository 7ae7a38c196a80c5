"""Counterfactual evaluation: the gains of a ranker, estimated from the log of another one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from directrix.clicks.estimates import CounterfactualResult, RatioSums, estimate_of, warnings_of
from directrix.clicks.gains import (
    ESTIMATORS,
    Bias,
    EstimatorSettings,
    Gains,
    documents_of,
    gain_measure,
    impressions_of,
    mean_gains,
    places_in_log,
    settings_of,
)
from directrix.clicks.log import Log
from directrix.clicks.sessions import Pairs, Sessions
from directrix.clicks.slates import SLATES, Slates, slate_factors, slates_of
from directrix.data.checks import as_floats
from directrix.data.columns import column_list
from directrix.data.grouping import run_starts
from directrix.data.queries import Queries
from directrix.data.trec.join import run_of
from directrix.errors import Advice, InputError, short_text, warn
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.parameters import check_choice, share
from directrix.types import Float64Array, Int64Array

# Propensities have 95 % intervals, so their half width divided by this normal quantile is a standard error.
_QUANTILE = 1.96


def evaluate(  # noqa: PLR0913 - all but the first three are optional and by name
    log: Log,
    rankers: Mapping[str, Any],
    measure: RankingMeasure | str = "DCG@10",
    *,
    features: Any = None,
    estimators: Sequence[str] = ("naive", "ips"),
    propensities: Any = None,
    clip: float = 0.1,
    policy: Any = None,
    model: Any = None,
    missing: str | None = None,
    biased: bool = False,
    alpha: float = 0.05,
    seed: int = 0,
) -> CounterfactualResult:
    """Estimate the gains of rankers in the sessions of a log that another ranker served.

    Parameters
    ----------
    log : Log
    rankers : mapping of str to ranker, scores, or run
        Fitted rankers, or scores (n_docs,), of ``features``; or a `Run`, its path, a frame, or
        ``{query: {document: score}}``.
    measure : measure or str
        A sum of linear gains: "DCG@k", "P@k", "ARP", or one with ``gain="linear"``; "CTR@k": click rate.
    features : as in `training_data`, optional
        Features of the candidates; needed unless all rankers are runs.
    estimators : sequence of str
        Those of `training_data`, "self-normalized" ("ips" over the fraction of the ranker's weights on
        documents with impressions) and, for "CTR@k" from randomized lists, "whole-list", "independent",
        "reward-interaction" and "pseudo-inverse" (`directrix.clicks.slates`); "naive" is always included.
    propensities, clip, policy, model, seed
        As in `training_data`.
    missing : {"nan", "zero"}, optional
        As in ``predict`` of a ranker.
    biased : bool
        Allow any measure, such as nDCG, with negative gains set to 0; a note says that it is biased.
    alpha : float in (0, 1), for intervals of confidence 1 - alpha

    Raises
    ------
    InputError
        If the log never shows what a ranker would show, the measure is not a sum of gains, or as there.

    Warns
    -----
    UserWarning
        If an interval is unreliable: few queries, one with most of the variance, a small effective sample, or
        documents that were never shown, whose gain is 0, or in "doubly-robust" that of a model.

    Notes
    -----
    The value is sum_q n_q V_q / sum_q n_q, where V_q is the sum of the gains of query q by the ranker's ranks
    and n_q the number of its sessions; tied documents share their ranks. Intervals use Student's t for the
    ratio, linearized over queries, and contain the error of a `Propensities`, also of one estimated here;
    other propensities count as known. Rankers trained on the same clicks look better than they are.

    Examples
    --------
    >>> import directrix as dx, warnings
    >>> rows = {"query": ["q"] * 4, "doc": list("abab"), "position": [1, 2, 1, 2], "clicked": [1, 1, 0, 0]}
    >>> log = dx.clicks.Log.from_frame({"session": [1, 1, 2, 2]} | rows)
    >>> rankers = {"old": {"q": {"a": 2.0, "b": 1.0}}, "new": {"q": {"a": 1.0, "b": 2.0}}}
    >>> with warnings.catch_warnings(action="ignore"):  # one query
    ...     result = dx.clicks.evaluate(log, rankers, "CTR@1", propensities=[1.0, 0.5])
    >>> [one.value for one in result.estimates if one.estimator == "ips"]  # b: click rate .5, over .5
    [0.5, 1.0]
    """
    names = _checked_estimators(rankers, estimators)
    goal, alpha = _goal_of(measure, is_biased=biased), share(alpha, "alpha")
    of_gains = ["ips" if name == "self-normalized" else name for name in names if name not in SLATES]
    settings = settings_of(log, propensities, of_gains, clip, policy, model, seed)
    _check_goal(goal, names, log, settings)
    q = None if features is None else documents_of(features, "evaluate", missing)
    result = _evaluated(log, rankers, goal, names, settings, q, alpha)
    for text in warnings_of(result):
        warn(text, stacklevel=2)
    return result


def _checked_estimators(rankers: Any, estimators: str | Sequence[str]) -> tuple[str, ...]:
    """Check that there are rankers to evaluate, and return the names of estimators, "naive" first."""
    if not isinstance(rankers, Mapping) or not rankers:
        raise InputError(f'rankers={short_text(rankers)}: names and rankers are needed: {{"new": ranker}}.')
    names = tuple(dict.fromkeys(("naive", *([estimators] if isinstance(estimators, str) else estimators))))
    for name in names:
        check_choice(name, "estimator", (*ESTIMATORS, "self-normalized", *SLATES))
    return names


def _evaluated(
    log: Log,
    rankers: Mapping[Any, Any],
    goal: _Goal,
    names: tuple[str, ...],
    settings: EstimatorSettings,
    q: Queries | None,
    alpha: float,
) -> CounterfactualResult:
    pairs = log.pairs if q is None else Pairs.of_queries(q)
    place = np.arange(len(pairs)) if q is None else places_in_log(log.pairs, q)
    targets = {str(name): _target_of(name, ranker, pairs, q) for name, ranker in rankers.items()}
    shown = impressions_of(log, place, settings.bias, len(pairs))
    sessions = _sessions_of(log, pairs, targets.values())
    slates = slates_of(log, place, pairs, sessions, goal.k) if set(names) & set(SLATES) else None

    def under(bias: Bias | None) -> _Evaluation:
        assumed = settings._replace(bias=bias)
        gains = {
            name: mean_gains("ips" if name == "self-normalized" else name, shown, assumed, q)
            for name in names
            if name not in SLATES
        }
        return _Evaluation(goal, assumed, pairs, sessions, gains, slates)

    evaluation = under(settings.bias)
    # Estimates at both ends of the interval of the propensities tell how far their error moves the value.
    ends = [under(end) for end in (settings.bias and settings.bias.ends) or ()]
    sums, shifts, estimates = {}, {}, []
    for ranker, target in targets.items():
        for name in names:
            estimate = evaluation.of_slates if name in SLATES else evaluation.of_gains
            sums[ranker, name], effective, unshown = estimate(name, target)
            low_high = [end.of_gains(name, target)[0].value for end in ends if name not in SLATES]
            shift = (low_high[0] - low_high[1]) / (2.0 * _QUANTILE) if low_high else 0.0
            shifts[ranker, name] = shift
            if unshown == 1.0:
                raise InputError(
                    f"{ranker}: the log never shows what it would show, so {name!r} cannot estimate it. Log "
                    "randomized rankings, or evaluate another ranker."
                )
            estimates.append(estimate_of(ranker, name, sums[ranker, name], shift, effective, unshown, alpha))
    counts = int((sessions > 0.0).sum()), int(sessions.sum())
    return CounterfactualResult(
        goal.name, tuple(estimates), *counts, alpha, _notes(goal, names), sums, shifts
    )


class _Goal(NamedTuple):
    """The measure that is estimated."""

    name: str
    measure: Any
    """None: clicks at the first k positions."""
    divisor: float
    is_biased: bool = False
    k: int = 2**31

    def weights(
        self, n: int, settings: EstimatorSettings, estimator: str
    ) -> tuple[Float64Array, Float64Array]:
        """Return the weight of a gain at each rank, and the value there without a gain (n,)."""
        weights, base = np.zeros(n), np.zeros(n)
        top = slice(0, min(n, self.k))
        weights[top] = 1.0
        if self.measure is not None and not self.is_biased:
            weights[top] = self.measure.discounts(n)[top]
        elif self.measure is None and estimator != "naive" and settings.bias is not None:
            weights[top] = settings.bias.alpha[top]
            if settings.bias.beta is not None:
                base[top] = settings.bias.beta[top]
        return weights, base


class _Target(NamedTuple):
    """The rankings of one ranker, by query and rank."""

    doc: Int64Array
    """Number of the candidate, or -1 for a document that is none."""
    query: Int64Array
    rank: Int64Array
    """From 1; tied documents in the order of the candidates."""
    scores: Float64Array

    def mean_of_ties(self, of_rank: Float64Array) -> Float64Array:
        """Return the value at the rank of each document; tied ones share their mean."""
        values = of_rank[self.rank - 1]
        is_new = (np.diff(self.query) != 0) | (np.diff(self.scores) != 0)
        firsts = np.flatnonzero(np.append(True, is_new))[: len(values)]
        sizes = np.diff(firsts, append=len(values))
        return np.repeat(np.add.reduceat(values, firsts) / sizes, sizes)


class _Evaluation(NamedTuple):
    """Everything that the estimates share."""

    goal: _Goal
    settings: EstimatorSettings
    pairs: Pairs
    """The candidates."""
    sessions: Float64Array
    """Number of sessions of each query; 0 for those that do not count."""
    gains: Mapping[str, Gains]
    """By the name of the estimator."""
    slates: Slates | None

    def of_gains(self, name: str, target: _Target) -> tuple[RatioSums, float, float]:
        """Return sums by query, effective sample size, and share never shown, by gains of documents."""
        n, gains, n_queries = self.sessions, self.gains[name], len(self.sessions)
        at_rank, base = self.goal.weights(int(target.rank.max()), self.settings, name)
        weight = target.mean_of_ties(at_rank)
        # A document that is no candidate has number -1, which selects the 0 at the end.
        gain, counts, slopes, squares = (np.append(column, 0.0)[target.doc] for column in gains)
        is_shown, is_top = counts > 0.0, weight != 0.0
        # The value of a query is the sum of its gains by rank, with what clicks without a gain add.
        earned: Any = np.bincount(target.query, weight * gain + base[target.rank - 1], n_queries)
        counted = n * self._denominator(target)
        if self.goal.is_biased:
            earned, counted = self._biased(gains, target, counted)
        elif name == "self-normalized":
            # The divisor is the share of the weights on documents with impressions, and keeps its total.
            seen = np.bincount(target.query, weight * is_shown, n_queries)
            full = np.bincount(target.query, weight, n_queries)
            counted = n * seen * (counted.sum() / max((n * full).sum(), 1e-300, key=abs))
        # Each click counts with this factor times its slope; their sums give Kish's effective sample size.
        factor = weight * n[target.query] / np.maximum(counts, 1.0)
        effective = (factor @ slopes) ** 2 / max(factor**2 @ squares, 1e-300)
        of_query = n[target.query] * is_top
        return (
            RatioSums(n * earned, counted),
            float(effective),
            1.0 - float((of_query @ is_shown) / of_query.sum()),
        )

    def of_slates(self, name: str, target: _Target) -> tuple[RatioSums, float, float]:
        """Return the same quantities, computed from the lists that were shown."""
        slates = self.slates
        # `_check_goal` has rejected logs without slates.
        assert slates is not None
        rank = np.zeros(len(self.pairs) + 1, dtype=np.int64)
        rank[target.doc] = target.rank
        rank[-1] = 0
        factor = slate_factors(name, slates, rank)
        earned: Any = np.bincount(slates.query, factor * slates.click, len(self.sessions))
        counted = self.sessions * self._denominator(target)
        place = slates.query * (slates.k + 1) + slates.position
        places = np.unique(place[(factor != 0.0) & (rank[slates.pair] == slates.position)])
        shown = self.sessions[places // (slates.k + 1)].sum() / counted.sum()
        effective = factor.sum() ** 2 / max(float(factor @ factor), 1e-300)
        return RatioSums(earned, counted), float(effective), 1.0 - float(shown)

    def _denominator(self, target: _Target) -> Float64Array:
        if self.goal.measure is not None:
            return np.full(len(self.sessions), self.goal.divisor)
        shown: Any = np.bincount(target.query, target.rank <= self.goal.k, len(self.sessions))
        return np.asarray(shown, np.float64)

    def _biased(
        self, gains: Gains, target: _Target, counted: Float64Array
    ) -> tuple[Float64Array, Float64Array]:
        # The list has everything that the ranker ranks, also without a gain, and then the other candidates.
        others = np.setdiff1d(np.arange(len(self.pairs)), target.doc)
        query = np.append(target.query, self.pairs.query[others])
        order = np.argsort(query, kind="stable")
        scores = np.append(target.scores, np.full(len(others), -np.inf))[order]
        gain = np.append(np.maximum(gains.gain, 0.0), 0.0)[np.append(target.doc, others)[order]]
        qptr = np.searchsorted(query[order], np.arange(len(self.sessions) + 1))
        values = self.goal.measure(scores, gain, qptr)
        is_defined = ~np.isnan(values)
        return np.where(is_defined, values, 0.0), counted * is_defined


def _goal_of(given: Any, *, is_biased: bool) -> _Goal:
    if isinstance(given, str) and (match := re.fullmatch(r"CTR@([1-9]\d{0,8})", given)):
        return _Goal(given, None, 1.0, k=int(match[1]))
    if is_biased:
        measure = parse_measure(given)
        return _Goal(measure.name, measure, 1.0, is_biased=True, k=min(measure.depth, 2**31))
    try:
        measure, divisor = gain_measure(given)
    except InputError as error:
        raise InputError(error.problem, *error.advice, Advice("biased")) from None
    name = given if isinstance(given, str) else given.name
    return _Goal(name, measure, divisor, k=min(measure.depth, 2**31))


def _check_goal(goal: _Goal, names: Sequence[str], log: Log, settings: EstimatorSettings) -> None:
    """Raise `InputError` for estimators that do not estimate the measure, or not from this log."""
    of_lists = [name for name in names if name in SLATES]
    if goal.measure is None:
        if goal.k > log.n_positions:
            raise InputError(
                f"{goal.name}: the log has positions up to {log.n_positions}, and no clicks below them. "
                f"Type CTR@{log.n_positions}."
            )
        if settings.bias is not None and settings.bias.by_row:
            raise InputError(
                f"{goal.name} needs propensities by position; give propensities=[1.0, 0.7, ...] in place of "
                "the column examination."
            )
        if of_lists:
            log.sessions  # noqa: B018 - raises without sessions
    elif of_lists:
        raise InputError(
            f"{', '.join(of_lists)} estimate clicks in lists, not {goal.name} of relevance; type "
            f"measure='CTR@{min(goal.k, log.n_positions)}'."
        )


def _target_of(name: Any, ranker: Any, pairs: Pairs, q: Queries | None) -> _Target:
    """Return the rankings of what a user gave as a ranker; `InputError` if it has none of the candidates."""
    if hasattr(ranker, "predict_queries") or (isinstance(ranker, np.ndarray) and ranker.ndim == 1):
        if q is None:
            raise InputError(f"{name}: a ranker needs features of the documents; type features=.")
        scores = q.scores(ranker) if hasattr(ranker, "predict_queries") else as_floats(ranker, str(name))
        if scores.shape != (len(pairs),):
            raise InputError(
                f"{name} has {scores.size} scores; the features have {len(pairs)} documents, and each needs "
                "one. Type ranker.predict_queries(features)."
            )
        query, doc = pairs.query, np.arange(len(pairs))
    else:
        run = run_of(ranker)
        of_run = Pairs(run.query_ids, run.qptr, run.doc_ids)
        of_query = pairs.queries(run.query_ids)[of_run.query]
        in_log = of_query >= 0
        if not in_log.any():
            raise InputError(
                f"{name} ranks none of the queries of the log ({column_list(pairs.query_ids, 3)}), only "
                f"{column_list(run.query_ids, 3)}; one is needed. Use the same identifiers."
            )
        query, doc, scores = of_query[in_log], pairs.places(of_run)[in_log], run.scores[in_log]
    # Documents that are no candidates come last among those with the same score.
    order = np.lexsort((np.where(doc < 0, len(pairs), doc), -scores, query))
    query, doc, scores = query[order], doc[order], scores[order].astype(np.float64)
    firsts = run_starts(query)
    sizes = np.diff(firsts, append=len(query))
    return _Target(doc, query, np.arange(len(query)) - np.repeat(firsts, sizes) + 1, scores)


def _sessions_of(log: Log, pairs: Pairs, targets: Any) -> Float64Array:
    """Return the number of sessions of each query of the candidates; 0 if a ranker does not rank it."""
    if isinstance(log.content, Sessions):
        of_log = np.bincount(log.content.query, minlength=len(log.pairs.query_ids)).astype(np.float64)
    else:
        # Without sessions, their number is the largest count of a position, since each session has the first.
        cells = log.content
        at = log.pairs.query[cells.pair] * (log.n_positions + 1) + cells.position
        cells_of_log, of_cell = np.unique(at, return_inverse=True)
        of_log = np.zeros(len(log.pairs.query_ids))
        np.maximum.at(of_log, cells_of_log // (log.n_positions + 1), np.bincount(of_cell, cells.impressions))
    sessions = np.append(of_log, 0.0)[log.pairs.queries(pairs.query_ids)]
    # Rankers are compared on the queries that all of them rank.
    for target in targets:
        sessions *= np.bincount(target.query, minlength=len(sessions)) > 0
    if not sessions.any():
        raise InputError(
            "no query of the log is ranked by all rankers; one is needed. Give rankings of "
            f"{column_list(log.pairs.query_ids, 3)}."
        )
    return sessions


def _notes(goal: _Goal, names: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if goal.is_biased:
        notes.append(
            f"Every estimator of {goal.name} is biased, since it is not a sum of gains; negative ones are 0."
        )
    elif goal.measure is not None:
        notes.append(
            f"{goal.name} of linear gains, which are probabilities of a click on an examined document."
        )
    notes.append("naive takes clicks as relevance; its interval ignores position bias.")
    if set(names) & set(SLATES):
        notes.append("whole lists and positions: clicks as they depend on the list that was shown.")
    return tuple(notes)
