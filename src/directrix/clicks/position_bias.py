"""Position bias from a log: the probability that users examine each position, relative to the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from directrix.clicks.expectation import GroupCounts, maximize, one_pass
from directrix.clicks.log import ALL_CLICKED, Log, moves
from directrix.clicks.sessions import Cells, Pairs
from directrix.data.memory import check_room
from directrix.data.missing import check_finite
from directrix.data.queries import Queries, need_queries
from directrix.data.scale import Scale
from directrix.data.sparse import dense
from directrix.errors import Advice, InputError, MissingExtra, amount, warn
from directrix.parameters import check_choice, seed_number, whole
from directrix.tables import ShowsTables, Table, json_value
from directrix.threads import one_blas_thread
from directrix.types import Array, Float64Array, Progress

METHODS = ("all-pairs", "pivot", "chain", "random-pair", "random-top", "em", "regression-em", "trust")
# These are pseudo-counts. Larger ones would pull the relevance of rare documents, and therefore theta.
_PRIOR = (0.01, 0.01)
# Most passes of expectation maximization. They usually end earlier, by `_GAIN`.
_PASSES = 2000
# Penalty of the coefficients of regression-em. Standardized features make it the same for all.
_RIDGE = 1.0
# Gain of log-likelihood by a pass below which the iteration stops. It is far less than what an interval
# spans.
_GAIN = 1e-3
# Intervals of theta are widened by this. Passes of less than that gain, and pseudo-counts, change theta by
# less at its bound.
_LEFT_OPEN = 1e-4
# Impressions per pair from which "em" is not doubted. With 3, 8, 25 and 75, theta_2 was 1.8, 1.2, 1.07 and
# 1.02 times too high.
_MANY = 30
# A propensity is reported as hardly identified if the ends of its interval differ by more than this factor.
_WIDE = 4.0
# Short lists end where a position has fewer than this share of the impressions of the one above.
_FEWER = 0.95
# Smallest number of queries for intervals. Those from fewer are too narrow, as in `mean_interval`.
_FEWEST = 6
# Standard errors beyond which the test reports trust bias. Those of few queries are too low, so the limit is
# high.
_CLEAR = 4.0
# Relative rounding error of sums over queries.
_ROUNDING = 1e-9
# Stands for infinity in samples, since quantiles between infinite numbers are NaN.
_INFINITE = 1e300
# The number of times that each query counts in a sample.
_Weights = Float64Array


@dataclass(frozen=True, eq=False)
class Propensities(ShowsTables):
    """Position bias of a log; made by `propensities`."""

    method: str
    theta: Float64Array
    """Probability of examination by position, relative to position 1: ``theta[0]`` is 1 (n_positions,). For
    "trust" the alpha of P(click) = alpha_k r + beta_k."""
    interval: Float64Array
    """95 % intervals of ``theta`` from resampled queries (n_positions, 2); unbounded for fewer than six."""
    beta: Float64Array
    """For "trust" the beta of that formula; else zeros (n_positions,)."""
    beta_interval: Float64Array
    """95 % intervals of ``beta`` (n_positions, 2)."""
    n_queries: int
    n_resamples: int
    seed: int

    def tables(self) -> tuple[Table, ...]:
        """Return the propensities as a table."""
        columns = {"propensity": self.theta, "low": self.interval[:, 0], "high": self.interval[:, 1]}
        if self.method == "trust":
            low, high = self.beta_interval.T
            columns = {"alpha" if c == "propensity" else c: values for c, values in columns.items()}
            columns |= {"beta": self.beta, "beta low": low, "beta high": high}
        rows = zip(*columns.values(), strict=True)
        return (
            Table(
                f"position bias by {self.method}, {amount(self.n_queries, 'queries')}",
                ("position", *columns),
                tuple((str(k), *map(float, row)) for k, row in enumerate(rows, start=1)),
                notes=(
                    "relative to position 1. low, high: 95 % interval from "
                    f"{self.n_resamples} resamples of the queries.",
                ),
                digits=4,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types."""
        return dict(json_value(vars(self)))

    def plot(self, ax: Any = None) -> Any:
        """Draw the propensities with their intervals as a band, and return the matplotlib Axes.

        Raises `MissingExtra` if matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise MissingExtra("plot", "the picture of propensities") from error
        if ax is None:
            ax = pyplot.subplots(figsize=(5.2, 3.4), layout="constrained")[1]
        positions = np.arange(1, len(self.theta) + 1)
        ax.fill_between(positions, *self.interval.T, alpha=0.25)
        ax.plot(positions, self.theta, marker="o", label=self.method)
        ax.set(xlabel="position", ylabel="propensity, relative to position 1", ylim=(0.0, None))
        return ax


def propensities(
    log: Log,
    method: str = "all-pairs",
    *,
    features: Queries | None = None,
    n_positions: int | None = None,
    n_resamples: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> Propensities:
    r"""Estimate position bias from a log, with 95 % intervals by resampling queries.

    ===============  =================================================================================
    all-pairs        documents that were shown for the same query at several positions, by several rankers or
                     at random: maximizes the likelihood over all pairs of positions (Agarwal et al. 2019);
                     biased if users trust some positions more, like all methods but "trust"
    pivot, chain     from such documents too: ratio of the rates of clicks at k and 1; product of the
                     ratios of neighboring positions
    random-pair      pivot, with documents weighted by impressions, n n' / (n + n'): where position 1 and k
                     are swapped half of the time, the ratio of clicks of Joachims et al. (2017)
    random-top       ratio of the rates of clicks, where the order of the documents is random
    em               the position-based model (`PBM`), too high with few impressions per document
    regression-em    the same, with relevance as a logistic regression on features (Wang et al. 2018): for
                     logs in which documents hardly move; wrong where features do not explain relevance
    trust            P(click) = alpha_k r + beta_k: users also click irrelevant documents at positions they
                     trust (Agarwal et al. 2019b). With r the rate of clicks at position 1, alpha_1 = 1 and
                     beta_1 = 0, since a log identifies no more; alpha may exceed 1, beta may be < 0
    ===============  =================================================================================

    Parameters
    ----------
    log : Log, with sessions or counts
    method : str
    features : Queries, optional
        Of all documents of the log, by identifiers, for "regression-em"; missing ones count as the mean.
    n_positions : int >= 2, optional
        Number of positions, from the first, such as those that were randomized; default: all.
    n_resamples, seed : int >= 20, int >= 0
    progress : function, optional
        Called with (samples so far, all samples, "resampling").

    Returns
    -------
    Propensities

    Raises
    ------
    InputError
        If the log does not identify the bias. The message says what to log.

    Notes
    -----
    A warning names intervals whose upper end exceeds four times the lower one, "em" with fewer than 30
    impressions per document of a query, and "all-pairs" where clicks look like trust bias. Sums are kept by
    query, so a resample costs a matrix product.
    Agarwal et al. (2019), doi:10.1145/3289600.3291017; Joachims et al. (2017), doi:10.1145/3018661.3018699;
    Wang et al. (2018), doi:10.1145/3159652.3159732; Agarwal et al. (2019b), doi:10.1145/3308558.3313697.

    Examples
    --------
    >>> import directrix as dx
    >>> q, _ = dx.data.make_linear(100, 10, 3, seed=0)
    >>> log = dx.clicks.simulate(q, q.labels, n_sessions=20_000, policy="shuffle", seed=0)
    >>> bias = dx.clicks.propensities(log)
    >>> float(bias.theta[0]), bool(bias.theta[4] < 0.6)
    (1.0, True)
    """
    check_choice(method, "method", METHODS)
    whole(n_resamples, "n_resamples", "propensities", least=20)
    seed, (cells, k) = seed_number(seed), _checked_cells(log, n_positions)
    estimator, n_queries = _estimator(method, cells, log.pairs, k, features), len(log.pairs.query_ids)
    value = estimator(np.ones(n_queries))
    theta, beta = _intervals(estimator, n_queries, n_resamples, seed, progress)
    if isinstance(estimator, _Counts):
        theta[1:] += (-_LEFT_OPEN, _LEFT_OPEN)
    if n_queries < _FEWEST:
        theta[1:], beta[1:] = (0.0, np.inf), (-np.inf, np.inf)
    for text in _doubts(method, theta, estimator, cells):
        warn(text)
    return Propensities(method, value[0], theta, value[1], beta, n_queries, n_resamples, seed)


def _doubts(method: str, theta: Float64Array, estimator: Any, cells: Cells) -> Iterator[str]:
    """Yield why estimates are unreliable, from intervals of theta and the test of trust bias."""
    trust = estimator.trust if isinstance(estimator, _AllPairs) else None
    shown = np.bincount(cells.position, cells.impressions)[1:]
    impressions = int(shown.sum()) // len(np.unique(cells.pair))
    if trust is not None and abs(trust[0]) > _CLEAR:
        yield (
            "rates of clicks of the same documents at two positions are not in proportion, by "
            f"{abs(trust[0]):.0f} standard errors. If users trust some positions more, all-pairs is biased; "
            "compare with method trust."
        )
    elif trust is not None and trust[1] > -_CLEAR / 2.0:
        yield (
            "the log is too short to exclude that users trust some positions more, which may make "
            "propensities of all-pairs wrong by a factor of two. Give a longer log, or randomize more."
        )
    if method == "em" and impressions < _MANY:
        yield (
            f"each document of a query has {amount(impressions, 'impressions')} on average; with fewer than "
            f"{_MANY}, em overestimates propensities. Compare with method all-pairs, or give a longer log."
        )
    wide = np.flatnonzero(~(theta[:, 1] <= _WIDE * theta[:, 0]))
    if wide.size:
        at = wide[np.argmin(theta[wide, 0] / theta[wide, 1])]
        yield (
            f"the log hardly identifies the propensity at {len(wide)} of {len(theta)} positions, e.g. "
            f"{at + 1}: from {theta[at, 0]:.2g} to {theta[at, 1]:.2g}. Gains divide by it: give a longer "
            f"log, of at least {_FEWEST} queries, fewer positions, or propensities of a log whose documents "
            "move more within a query."
        )
    rises = np.flatnonzero((theta[1:, 0] > theta[:-1, 1] + 1e-6) & (shown[1:] < _FEWER * shown[:-1]))
    # With "trust", alpha may rise from one position to the next.
    if method != "trust" and rises.size:
        k = int(rises[0]) + 1
        yield (
            f"the propensity rises from position {k} to {k + 1}, more than by chance. If the log mixes "
            "devices with lists of different lengths or layouts, estimate the propensities of each."
        )


def _intervals(
    estimator: Any, n_queries: int, n_resamples: int, seed: int, progress: Progress | None
) -> Float64Array:
    """Return the ends of the 95 % interval of an estimate by samples of the queries (2, k, 2)."""
    rng, samples = np.random.default_rng(seed), []
    with one_blas_thread():
        for done in range(n_resamples):
            if progress is not None:
                progress(done, n_resamples, "resampling")
            weights = rng.multinomial(n_queries, np.full(n_queries, 1.0 / n_queries))
            samples.append(estimator(weights.astype(np.float64)))
    resampled = np.array(samples)
    # A sample without clicks gives no estimate, so its value may be as large as any.
    resampled[~np.isfinite(resampled)] = _INFINITE
    ends = np.moveaxis(np.quantile(resampled, (0.025, 0.975), axis=0, method="weibull"), 0, -1)
    return np.where(ends > 1e-3 * _INFINITE, np.inf, ends)


def _checked_cells(log: Log, n_positions: int | None) -> tuple[Cells, int]:
    """Return the counts of the first positions, and their number; `InputError` if they tell nothing."""
    k, cells = log.n_positions, log.aggregate()
    if n_positions is not None:
        k = min(k, whole(n_positions, "n_positions", "propensities", least=2))
    cells = Cells(*(column[cells.position <= k] for column in cells))
    clicks = np.bincount(cells.position, cells.clicks, k + 1)[1:]
    if k < 2 or not clicks.all():
        positions = ", ".join(map(str, np.flatnonzero(clicks == 0) + 1)) or "2"
        problem = f"the log has no clicks at position {positions}; each needs some. Give a longer log"
        if (first := int(np.argmin(clicks > 0))) < 2:
            raise InputError(f"{problem}.")
        raise InputError(
            f"{problem}, or only the first positions.",
            Advice("positions", n=first),
        )
    if (cells.clicks == cells.impressions).all():
        raise InputError(ALL_CLICKED)
    return cells, k


def _estimator(method: str, cells: Cells, pairs: Pairs, k: int, features: Queries | None) -> Any:
    """Return the function from weights of queries to theta and beta (2, k)."""
    n_queries = len(pairs.query_ids)
    if method == "random-top":
        return _random_top(cells, pairs, k)
    if method == "regression-em":
        return _Regression(cells, pairs, k, features)
    moved = _Moved.of(cells, pairs, k)
    is_shown = moved.n > 0
    # A link is two positions at which the same document was shown, for the same query.
    links = [
        (i, j)
        for i in range(k)
        for j in (i + 1 + np.flatnonzero(is_shown[is_shown[:, i], i + 1 :].any(axis=0))).tolist()
    ]
    # The method all-pairs keeps three sums by query for each link, and the others five for each position.
    n_sums = 3 * len(links) if method == "all-pairs" else 5 * k
    check_room(
        16 * n_queries * n_sums, f"sums of {n_queries:,} queries by position", Advice("positions", n=10)
    )
    if method in ("em", "all-pairs"):
        _check_connected(k, links)
        return _PositionBased(cells, pairs, k) if method == "em" else _AllPairs(moved, k, links, n_queries)
    wanted = [(i - 1, i) if method == "chain" else (0, i) for i in range(1, k)]
    if missing := [pair for pair in wanted if pair not in links]:
        what = ", ".join(f"{i + 1} and {j + 1}" for i, j in missing)
        raise _not_identified(f"at positions {what}")
    if method == "trust":
        return _line_of_trust(moved, k, n_queries)
    if method == "random-pair":
        # A swap moves two documents of a query between the positions 1 and k.
        both = is_shown[:, :1] & is_shown[:, 1:]
        single = [str(i) for i, at in enumerate(both.T, start=2) if np.bincount(moved.query[at]).max() < 2]
        if single:
            raise InputError(
                "random-pair needs swaps, and no query has two documents that were both shown at positions 1 "
                f"and {', '.join(single)}. Choose pivot or all-pairs, for documents that moved in another "
                "way."
            )
    sums = [moved.rates(i, j, n_queries, weighted=method == "random-pair") for i, j in wanted]
    above, below = (np.stack([rates[side] for rates in sums], axis=1) for side in (0, 1))
    return _ratio(below, above, chained=method == "chain")


def _not_identified(where: str) -> InputError:
    return InputError(
        "the log cannot tell position bias from relevance: no document was shown for the same query "
        f"{where}. Randomize a little: swap position 1 with a random position in some sessions; serve "
        "several rankers; or give features of the documents.",
        Advice("regression-em"),
    )


def _check_connected(k: int, links: list[tuple[int, int]]) -> None:
    """Raise `InputError` unless moving documents connect all positions with the first."""
    reached = {0}
    for _ in range(k):
        reached |= {end for link in links if reached.intersection(link) for end in link}
    if rest := sorted(set(range(k)) - reached):
        raise _not_identified(f"at position {', '.join(str(i + 1) for i in rest)} and at others")


def _random_top(cells: Cells, pairs: Pairs, k: int) -> Callable[[_Weights], Float64Array]:
    """Return the ratio of rates of clicks; `InputError` if positions are far more regular than random."""
    query = pairs.query[cells.pair]
    last = np.zeros(len(pairs.query_ids), dtype=np.int64)
    np.maximum.at(last, query, cells.position)
    n = np.bincount(cells.pair, cells.impressions, len(pairs))
    shown = n > 0
    places, times = last[pairs.query[shown]], n[shown]
    # This is the chi-squared of uniform positions: the sum of N^2 K / n, minus n.
    squares = np.bincount(cells.pair, cells.impressions.astype(np.float64) ** 2, len(pairs))[shown]
    statistic, freedom = float((squares * places / times - times).sum()), float((places - 1).sum())
    if statistic > 1.1 * freedom + 6.0 * np.sqrt(2.0 * freedom):
        raise InputError(
            "the order of the documents is not random: they are at some positions more often than at others "
            f"(chi-squared {statistic:,.0f}, {freedom:,.0f} degrees of freedom), so rates of clicks show "
            "relevance too. Shuffle the first positions in some sessions and give only these, or type "
            "method='all-pairs', if documents moved."
        )
    at = query * k + cells.position - 1
    n, c = (sums.reshape(-1, k) for sums in cells.sums(at, k * len(pairs.query_ids)))
    # The clicks at a position are compared with those at position 1, for as many impressions.
    first = np.divide(c[:, :1], n[:, :1], out=np.zeros((len(n), 1)), where=n[:, :1] > 0)
    return _ratio(c[:, 1:], first * n[:, 1:], chained=False)


class _Moved(NamedTuple):
    """Counts of the pairs that were shown at several positions."""

    query: Array
    """Query (n_moved,)."""
    n: Float64Array
    """Impressions (n_moved, k)."""
    c: Float64Array
    """Clicks (n_moved, k)."""

    @classmethod
    def of(cls, cells: Cells, pairs: Pairs, k: int) -> _Moved:
        moved = Cells(*(column[moves(cells)] for column in cells))
        pair, row = np.unique(moved.pair, return_inverse=True)
        check_room(
            32 * k * len(pair), f"counts of {len(pair):,} documents by position", Advice("positions", n=10)
        )
        n, c = (sums.reshape(-1, k) for sums in moved.sums(row * k + moved.position - 1, k * len(pair)))
        return cls(pairs.query[pair], n, c)

    def rates(self, i: int, j: int, n_queries: int, *, weighted: bool = False) -> tuple[Array, Array, Array]:
        """Return sums by query over documents shown at i and j: rates of clicks at i, at j, and weights."""
        both = (self.n[:, i] > 0) & (self.n[:, j] > 0)
        n, c, query = self.n[both][:, [i, j]], self.c[both][:, [i, j]], self.query[both]
        w = n.prod(axis=1) / n.sum(axis=1) if weighted else np.ones(len(n))
        at_i, at_j, total = (np.bincount(query, terms, n_queries) for terms in (*((c / n).T * w), w))
        return at_i, at_j, total


def _ratio(below: Float64Array, above: Float64Array, *, chained: bool) -> Callable[[_Weights], Float64Array]:
    """Return the estimator whose theta at 2, ... are ratios of sums over queries, or products of them."""

    def theta(weights: _Weights) -> Float64Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: Float64Array = (weights @ below) / (weights @ above)
        return _with_first(ratios.cumprod() if chained else ratios)

    return theta


def _with_first(theta: Float64Array) -> Float64Array:
    """Return 1 and these values, and zeros as beta (2, k)."""
    whole_theta = np.append(1.0, theta)
    return np.stack([whole_theta, np.zeros(len(whole_theta))])


def _test_of_trust(moved: _Moved, links: list[tuple[int, int]], n_queries: int) -> tuple[float, float]:
    """Test whether rates of clicks y at a position grow with those at one above, x, in proportion.

    With trust bias they grow faster: the slope cov(x, y) / var(x) exceeds mean(y) / mean(x). The excess is
    the sum over pairs of positions of w (mean(x) cov(x, y) - mean(y) var(x)), where w is the weight of the
    documents, and var is without the variance of clicks. Return the excess, and the excess minus that of
    twice the slope, w mean(y) var(x), in units of their standard errors over queries.
    """
    values, influence, size = np.zeros(2), np.zeros((n_queries, 2)), 0.0
    for i, j in links:
        sums = _sums_of_line(moved, i, j, n_queries)
        w, x, y, xy, xx = sums.sum(axis=0)
        if w > 0.0:
            excess, double = (x * xy - y * xx) / w, (y * xx - x * x * y / w) / w
            of_excess = np.array([-excess, xy, -xx, x, -y]) / w
            of_double = np.array([x * x * y / w**2 - double, -2.0 * x * y / w, xx - x * x / w, 0.0, y]) / w
            values += excess, excess - double
            influence += sums @ np.stack([of_excess, of_excess - of_double], axis=1)
            size += abs(y * xx / w)
    errors = np.std(influence, axis=0, ddof=1) * np.sqrt(n_queries) if n_queries > 1 else np.zeros(2)
    # Queries that are all the same give no estimate of the variance.
    errors[errors <= _ROUNDING * size] = np.inf
    return float(values[0] / errors[0]), float(values[1] / errors[1])


class _AllPairs:
    """Maximum of the likelihood over all pairs of positions; concave in the logarithms of theta and r."""

    def __init__(self, moved: _Moved, k: int, links: list[tuple[int, int]], n_queries: int) -> None:
        self._k, self._ends = k, np.array(links)
        sums = [moved.rates(i, j, n_queries) for i, j in links]
        self._sums = np.stack([np.stack(rates, axis=1) for rates in sums], axis=2).reshape(n_queries, -1)
        # These are the logarithms of theta by position and of r by link. A sample begins at the optimum of
        # the whole log.
        self._start = np.full(k + len(links), -0.5)
        self.trust = _test_of_trust(moved, links, n_queries)

    def __call__(self, weights: _Weights) -> Float64Array:
        from scipy.optimize import minimize

        at_i, at_j, total = (weights @ self._sums).reshape(3, -1)
        clicked, k = np.stack([at_i, at_j], axis=1), self._k
        rest = total[:, None] - clicked

        # The log-likelihood of rates of clicks p = theta r is the sum of clicked log p + rest log(1 - p).
        def loss(x: Float64Array) -> tuple[float, Float64Array]:
            z = x[self._ends] + x[k:, None]
            p = np.exp(z)
            slope = clicked - rest * p / (1.0 - p)
            grad = np.append(np.bincount(self._ends.ravel(), slope.ravel(), k), slope.sum(axis=1))
            return -float((clicked * z + rest * np.log1p(-p)).sum()), -grad

        bounds = [(-12.0, 0.0)] * k + [(-12.0, -1e-6)] * len(self._ends)
        optimum = minimize(loss, self._start, jac=True, method="L-BFGS-B", bounds=bounds)
        if (weights == 1.0).all():
            self._start = optimum.x
        return _with_first(np.exp(optimum.x[1:k] - optimum.x[0]))


class _Counts:
    """Counts by pair and position, with the query of each."""

    def __init__(self, cells: Cells, pairs: Pairs, pair: Array, n_pairs: int) -> None:
        self._counts = GroupCounts.of(pair, cells.position - 1, cells.impressions, cells.clicks, n_pairs)
        self._query = pairs.query[cells.pair]

    def weighted(self, weights: _Weights) -> GroupCounts:
        """Return the counts of weighted queries."""
        w = weights[self._query]
        return self._counts._replace(n=self._counts.n * w, c=self._counts.c * w)


class _PositionBased(_Counts):
    """Expectation maximization of the position-based model; then warm starts."""

    def __init__(self, cells: Cells, pairs: Pairs, k: int) -> None:
        super().__init__(cells, pairs, cells.pair, len(pairs))
        # A start of 1 at the first position would keep the others below it.
        self._start = np.full(len(pairs), 0.3), np.full(k, 0.5)

    def __call__(self, weights: _Weights) -> Float64Array:
        free = np.arange(len(self._start[1]))
        r, theta, *_ = maximize(self.weighted(weights), self._start, free, _PRIOR, _PASSES, _GAIN)
        if (weights == 1.0).all():
            self._start = r, theta
        return _with_first(theta[1:] / theta[0])


def _line_of_trust(moved: _Moved, k: int, n_queries: int) -> Callable[[_Weights], Float64Array]:
    """Return the estimator of the line of the rates of clicks at k over those at 1, for the same documents.

    Its slope is alpha_k and its intercept beta_k, relative to position 1. The variance of the rates at 1 is
    that of relevance and that of clicks; the latter, x (1 - x) / (n - 1), is subtracted. Raises `InputError`
    if the documents have the same rate.
    """
    # The shape is (n_queries, 5, k - 1).
    stacked = np.stack([_sums_of_line(moved, 0, j, n_queries) for j in range(1, k)], axis=2)

    def line(weights: _Weights) -> Float64Array:
        total, x, y, xy, xx = np.tensordot(weights, stacked, axes=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y, xy, xx = (sums / total for sums in (x, y, xy, xx))
            spread = xx - x * x
            slope = np.where(spread > 0.0, xy - x * y, np.nan) / spread
        return np.stack([np.append(1.0, slope), np.append(0.0, y - slope * x)])

    if not np.isfinite(line(np.ones(n_queries))).all():
        raise InputError(
            "the log does not identify trust bias: documents that were shown at position 1 at least "
            "twice and further down do not differ in their rates of clicks. Randomize the first "
            "positions in more sessions, or leave trust bias out: method='all-pairs'."
        )
    return line


def _sums_of_line(moved: _Moved, i: int, j: int, n_queries: int) -> Float64Array:
    """Return weighted sums of 1, x, y, x y and the square of x without noise, by query (n_queries, 5)."""
    both = (moved.n[:, i] > 1) & (moved.n[:, j] > 0)
    n, at = moved.n[both][:, [i, j]], moved.query[both]
    x, y = (moved.c[both][:, [i, j]] / n).T
    w = n.prod(axis=1) / n.sum(axis=1)
    square = x * x - x * (1.0 - x) / (n[:, 0] - 1.0)
    columns = (w, w * x, w * y, w * x * y, w * square)
    return np.stack([np.bincount(at, column, n_queries) for column in columns], axis=1)


class _Regression(_Counts):
    """Expectation maximization with relevance as a logistic regression on features; then warm starts."""

    def __init__(self, cells: Cells, pairs: Pairs, k: int, features: Queries | None) -> None:
        if features is None:
            raise InputError(
                "regression-em needs features of the documents.",
                Advice("features"),
            )
        need_queries(features, "propensities(features=)")
        check_finite(features, "the features", allow_missing=True)
        shown = np.unique(cells.pair)
        rows = Pairs.of_queries(features).places(pairs)[shown]
        if (n := int((rows < 0).sum())) > 0:
            bad = shown[np.argmax(rows < 0)]
            raise InputError(
                f"features lack {n:,} of {len(rows):,} documents of the log, first {pairs.doc_ids[bad]!r} of "
                f"query {pairs.query_ids[pairs.query[bad]]!r}; each needs a row with the same identifiers."
            )
        X = dense(features.features[rows]).astype(np.float64)
        X = Scale.fit("standard", X).apply(X, np.array([0, len(X)]))
        self._X = np.column_stack([np.ones(len(X)), X[:, X.any(axis=0)]])
        super().__init__(cells, pairs, np.searchsorted(shown, cells.pair), len(shown))
        self._start = np.zeros(self._X.shape[1]), np.full(k, 0.5)

    def __call__(self, weights: _Weights) -> Float64Array:
        counts = self.weighted(weights)
        n = np.add.reduceat(counts.n, counts.ptr[:-1])
        clicks = np.bincount(counts.group, counts.c)
        coefficients, theta = self._start
        value = -np.inf
        for _ in range(_PASSES):
            relevance = expit(self._X @ coefficients)
            posterior, relevant, loglik = one_pass(counts, relevance, theta, (0.0, 0.0))
            # One Newton step of the logistic regression on the posterior relevance, with a ridge penalty.
            gap = n * (posterior - relevance)
            curvature = self._X.T * (n * relevance * (1.0 - relevance)) @ self._X
            curvature[np.diag_indices_from(curvature)] += _RIDGE
            step = np.linalg.solve(curvature, self._X.T @ gap - _RIDGE * coefficients)
            coefficients = coefficients + step
            theta = (clicks + _PRIOR[0]) / (relevant + sum(_PRIOR))
            before, value = value, loglik
            if value - before < _GAIN:
                break
        if (weights == 1.0).all():
            self._start = coefficients, theta
        return _with_first(theta[1:] / theta[0])
