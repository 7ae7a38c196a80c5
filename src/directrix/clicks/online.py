"""Online evaluation: tests of interleaved sessions, and of sessions that one of two rankers served (A/B)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from directrix.clicks.estimates import student_interval
from directrix.clicks.log import Log
from directrix.clicks.sessions import Sessions
from directrix.data.checks import as_floats, check_length, is_missing
from directrix.data.grouping import run_starts
from directrix.errors import InputError, amount, short_text, warn
from directrix.measures.bootstrap import batch_sizes, equal_signs_p
from directrix.parameters import check_choice, number, seed_number, share
from directrix.tables import PValue, ShowsTables, Table, json_value
from directrix.types import Array, Float64Array, Int64Array

# Credits that differ by less are a tie. Marginalized credits are sums of fractions, which rounding separates.
_EQUAL = 1e-9
# Samples of users for an interval by the bootstrap.
_N_RESAMPLES = 10_000
Interval = Literal["bootstrap", "delta"]
_INTERVALS = {"bootstrap": "percentiles of samples of users", "delta": "the delta method and Student's t"}


@dataclass(frozen=True)
class Contrast:
    """Comparison of two rankers by one measure; errors treat users, not sessions, as independent.

    Parameters
    ----------
    measure, first, second : str
        Names of the measure and of the rankers.
    values : (float, float)
        Values of the rankers; NaN without sessions to divide by.
    difference, error : float
        First minus second (half of that for shares of wins), and its standard error by the delta method; NaN
        if all users have the same difference.
    interval : (float, float)
        Interval of the difference with confidence 1 - alpha; NaN for that, and for fewer than six users by
        the bootstrap.
    p : float
        Two-sided p-value; at least twice the chance of the observed values, if users were exchanged.
    n_sessions, n_users : int
    alpha : float
    """

    measure: str
    first: str
    second: str
    values: tuple[float, float]
    difference: float
    error: float
    interval: tuple[float, float]
    p: float
    n_sessions: int
    n_users: int
    alpha: float

    def detectable(self, power: float = 0.8) -> float:
        """Return the true difference that the same number of sessions detects with this probability.

        (z_(1 - alpha/2) + z_power) times the standard error.
        """
        from scipy.special import ndtri

        return float((ndtri(1.0 - self.alpha / 2.0) + ndtri(share(power, "power"))) * self.error)

    def sessions_needed(self, difference: float, power: float = 0.8) -> int:
        """Return the number of sessions that detect a true difference with this probability.

        It is n (detectable / difference)^2 after n sessions, with the same number of sessions per user.
        """
        size = abs(number(difference, "difference", example=0.01))
        # The negated comparison also holds for NaN.
        if not size * self.error > 0.0:
            raise InputError(
                f"difference={size:g} with standard error {self.error:g}: both must be above 0; give a "
                "difference such as .01, and sessions that differ."
            )
        return math.ceil(self.n_sessions * (self.detectable(power) / size) ** 2)


@dataclass(frozen=True)
class OnlineTest(ShowsTables):
    """Result of `interleaving_test` and `ab_test`."""

    contrasts: tuple[Contrast, ...]
    """Pairs of rankers in their order, each by every measure."""
    interval: Interval
    """Method of intervals and p-values."""

    def tables(self) -> tuple[Table, ...]:
        """Return the contrasts as a table."""
        first = self.contrasts[0]
        heads = ("pair", "measure", "first", "second", "difference", "low", "high", "p", "detectable")
        rows = tuple(
            (pair, c.measure, *c.values, c.difference, *c.interval, PValue(c.p), c.detectable())
            for pair, c in ((f"{c.first} - {c.second}", c) for c in self.contrasts)
        )
        note = (
            f"difference: first minus second; of wins half of it, Delta. low, high: {1.0 - first.alpha:.0%} "
            f"interval by {_INTERVALS[self.interval]}; nan if users are too few or equal. p: two-sided, each "
            "alone, of wins by user by the exact sign test. detectable: the true difference that as many "
            "sessions detect in 4 of 5 tests."
        )
        title = f"{amount(first.n_sessions, 'sessions')} of {amount(first.n_users, 'users')}"
        return (Table(title, heads, rows, notes=(note,), digits=4),)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types; values that are not finite are None."""
        return dict(json_value({"interval": self.interval, "contrasts": list(map(vars, self.contrasts))}))


def interleaving_test(
    credits: Mapping[str, Any],
    users: Any = None,
    *,
    interval: Interval = "bootstrap",
    alpha: float = 0.05,
    seed: int = 0,
) -> OnlineTest:
    r"""Test which ranker users prefer in interleaved sessions.

    Three contrasts of each pair of rankers are tested: ``"wins"``, Delta = (wins + ties / 2) / n - 1/2 over
    sessions, won by the higher credit (Chapelle, Joachims, Radlinski and Yue 2012); ``"wins by user"``, the
    same over users, won by more sessions; and ``"credit"`` per session.

    Parameters
    ----------
    credits : dict of ranker to array (n_sessions,)
        Credit of each ranker in each session by `InterleavedList.credit`, 0 without clicks.
    users : array (n_sessions,), optional
        User of each session. Default: a different user in each session.
    interval : {"bootstrap", "delta"}
        Method of intervals and p-values: percentiles of resampled users, or the delta method.
    alpha : float in (0, 1)
        Level; intervals have confidence 1 - alpha.
    seed : int >= 0
        Seed of the 10,000 samples of the bootstrap.

    Raises
    ------
    InputError
        If there are fewer than two rankers or users, or the numbers of sessions differ.

    Notes
    -----
    Sessions of one user are correlated; treating them as independent finds spurious differences. For
    optimized lists use ``"credit"``: random clicks have expected credit 0, but one ranker may win more often.
    Cost: a sort of the users, and O(number of users with different sums) per sample.

    Examples
    --------
    >>> import directrix as dx
    >>> credits = {"A": [1, 2, 0, 1, 0, 1], "B": [0, 1, 0, 1, 1, 0]}
    >>> result = dx.clicks.interleaving_test(credits, users=["u", "u", "v", "v", "w", "w"])
    >>> round(result.contrasts[0].difference, 4)  # (3 + 2 / 2) / 6 - 1/2
    0.1667
    """
    contrast = _contrasting(interval, alpha, seed)
    if not isinstance(credits, Mapping) or len(credits) < 2:
        raise InputError(
            "credits must be a dictionary of two or more rankers; give e.g. "
            '{"A": credits_a, "B": credits_b}, one number for each session.'
        )
    columns = {
        str(name): as_floats(credit, str(name), "one number per session").ravel()
        for name, credit in credits.items()
    }
    sizes = {name: len(credit) for name, credit in columns.items()}
    if len(set(sizes.values())) > 1 or not all(np.isfinite(credit).all() for credit in columns.values()):
        raise InputError(
            f"credits must be one finite number per session, got {sizes}; give 0 where a ranker earned none."
        )
    n = next(iter(sizes.values()))
    user = _user_numbers(users, n)
    contrasts = []
    for names in combinations(columns, 2):
        both = np.stack([columns[name] for name in names], axis=1)
        wins = _wins(both[:, 0] - both[:, 1])
        of_users = _wins(np.bincount(user, wins @ np.array([1.0, -1.0])).astype(np.float64))
        sums = _by_user(np.arange(len(of_users)), of_users)
        contrasts += [
            contrast("wins", names, _by_user(user, wins), n, 0.5),
            replace(contrast("wins by user", names, sums, n, 0.5), p=_sign_p(of_users)),
            contrast("credit", names, _by_user(user, both), n),
        ]
    return OnlineTest(tuple(contrasts), interval)


def ab_test(
    log: Log,
    measures: Sequence[str] = ("CTR@10", "first click RR", "first click rank", "abandonment"),
    *,
    interval: Interval = "delta",
    alpha: float = 0.05,
    seed: int = 0,
) -> OnlineTest:
    r"""Compare the clicks in sessions that one of two rankers served.

    - ``"CTR@k"``: clicks per impression at the first k positions.
    - ``"first click RR"``: mean of 1 / position of the first click, 0 without clicks.
    - ``"first click rank"``: mean position of the first click in sessions with clicks; lower is better.
    - ``"abandonment"``: fraction of sessions without clicks; lower is better where answers need a click.

    Each measure is a ratio R = sum_u x_u / sum_u z_u of sums over the sessions of a user. The delta method
    gives the variance of the difference as n / (n - 1) sum_u (e_u,A - e_u,B)^2, e_u = (x_u - R z_u) / sum_v
    z_v, over the n users, even if users have sessions with both rankers (Deng, Knoblich and Lu 2018).

    Parameters
    ----------
    log : Log
        Sessions, with the ranker that served each and, optionally, users.
    measures : sequence of str
    interval, alpha, seed
        As in `interleaving_test`.

    Raises
    ------
    InputError
        If the log has no sessions or not two rankers, or a measure is not known.

    Warns
    -----
    UserWarning
        If the log has times, and one ranker was served only after the other.

    Examples
    --------
    >>> import directrix as dx
    >>> frame = {"session": [1, 1, 2, 2, 3, 3, 4, 4], "query": ["q"] * 8, "doc": ["a", "b"] * 4}
    >>> frame |= {"position": [1, 2] * 4, "clicked": [0, 1, 0, 0, 1, 0, 1, 1], "ranker": list("AAAABBBB")}
    >>> dx.clicks.ab_test(dx.clicks.Log.from_frame(frame), ["CTR@10"]).contrasts[0].values
    (0.25, 0.75)
    """
    contrast = _contrasting(interval, alpha, seed)
    sessions = log.sessions
    if sessions.ranker is None or len(sessions.rankers) != 2:
        raise InputError(
            f"A/B tests need two rankers, the log names {len(sessions.rankers)}; give the column that says "
            'which of them served a session: Log.from_frame(frame, ranker="variant").'
        )
    n = len(sessions.query)
    if sessions.time is not None:
        of_a, of_b = (
            [time for time in sessions.time[sessions.ranker == number] if not is_missing(time)]
            for number in (0, 1)
        )
        if of_a and of_b and (max(of_a) < min(of_b) or max(of_b) < min(of_a)):
            warn(
                f"{' and '.join(sessions.rankers)} were never served at the same time, so a difference may "
                "come from the time. Serve both on the same days, to random users."
            )
    user = _user_numbers(sessions.user, n)
    contrasts = []
    for name in [measures] if isinstance(measures, str) else measures:
        sums = np.zeros((user.max() + 1, 2, 2))
        np.add.at(sums, (user, sessions.ranker), np.stack(_session_values(name, sessions), axis=1))
        contrasts.append(contrast(name, sessions.rankers, sums, n))
    return OnlineTest(tuple(contrasts), interval)


def _session_values(name: str, sessions: Sessions) -> tuple[Array, Array]:
    """Return numerator and denominator of a measure for each session."""
    n, session = len(sessions.query), sessions.session
    if match := re.fullmatch(r"CTR@([1-9]\d*)", str(name)):
        top = sessions.position <= int(match[1])
        return np.bincount(session, top & sessions.click, n), np.bincount(session, top, n)
    rows = np.flatnonzero(sessions.click)
    rows = rows[run_starts(session[rows])]
    first = np.zeros(n)
    first[session[rows]] = sessions.position[rows]
    is_clicked = first > 0.0
    values = {
        "first click RR": (is_clicked / np.maximum(first, 1.0), np.ones(n)),
        "first click rank": (first, is_clicked),
        "abandonment": (~is_clicked, np.ones(n)),
    }
    if name not in values:
        raise InputError(
            f"measure {short_text(name)} is not one of CTR@k, {', '.join(values)}; type e.g. CTR@10."
        )
    return values[name]


def _user_numbers(users: Any, n_sessions: int) -> Int64Array:
    """Return the number of the user of each session."""
    names = np.arange(n_sessions) if users is None else np.asarray(users)
    check_length(len(names), n_sessions, "users", "sessions")
    try:
        numbers = np.unique(names, return_inverse=True)[1]
    except TypeError as error:
        raise InputError(
            f"users: {error}; names of one type are needed. Type list(map(str, users))."
        ) from None
    if n_sessions == 0 or numbers.max() == 0:
        raise InputError(
            f"{amount(n_sessions, 'sessions')} of one user; the variance between users needs two or more."
        )
    return np.asarray(numbers, dtype=np.int64)


def _wins(gaps: Float64Array) -> Float64Array:
    """Share of each of two rankers in each row (n, 2): 1 for the winner, one half in a tie."""
    first = 0.5 + 0.5 * np.where(np.abs(gaps) <= _EQUAL, 0.0, np.sign(gaps))
    return np.stack([first, 1.0 - first], axis=1)


def _sign_p(wins: Float64Array) -> float:
    from scipy.stats import binomtest

    won, lost = (wins == 1.0).sum(axis=0).tolist()
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def _by_user(user: Int64Array, values: Float64Array) -> Float64Array:
    """Sum values (n_sessions, 2) of two rankers in the same sessions; numerators and numbers of sessions."""
    n = np.bincount(user)
    return np.stack([np.stack([np.bincount(user, column), n], axis=1) for column in values.T], axis=1)


def _contrasting(interval: Any, alpha: Any, seed: Any) -> Callable[..., Contrast]:
    """Return the function that contrasts two ratios, with an interval of this method.

    Its ``sums`` are numerators and denominators by user and ranker, (n_users, 2, 2).
    """
    check_choice(interval, "interval", _INTERVALS)
    alpha, seed = share(alpha, "alpha"), seed_number(seed)

    def contrast(
        measure: str, names: tuple[str, ...], sums: Float64Array, n: int, scale: float = 1.0
    ) -> Contrast:
        ratios, n_users = _ratios(sums.sum(axis=0)), len(sums)
        value = scale * float(ratios[0] - ratios[1])
        # The ranker with fewer users limits the degrees of freedom.
        users = int((sums[:, :, 1] > 0.0).sum(axis=0).min())
        error, (low, high), p, least = math.nan, (math.nan, math.nan), math.nan, _least_p(sums)
        # The delta method: the error of a ratio is that of the mean of its linearized deviations by user.
        if users > 1:
            influence = (sums[:, :, 0] - ratios * sums[:, :, 1]) / sums[:, :, 1].sum(axis=0)
            error = scale * math.sqrt(float((np.diff(influence) ** 2).sum()) * n_users / (n_users - 1))
        # An error this small means that only rounding makes the users differ.
        if error <= _EQUAL:
            error, p = math.nan, float(abs(value) <= _EQUAL)
        elif error > 0.0 and interval == "delta":
            (low, high), p = student_interval(value, error, users - 1, alpha)
        elif error > 0.0:
            drawn = scale * _resampled(sums, seed)
            tail = min(int((drawn <= 0.0).sum()), int((drawn >= 0.0).sum()))
            p = min(1.0, 2.0 * (tail + 1) / (len(drawn) + 1))
            # Samples lie between the lowest and the highest user, so those of few users give no interval.
            if equal_signs_p(users) <= alpha:
                low, high = np.quantile(drawn, [alpha / 2.0, 1.0 - alpha / 2.0]).tolist()
        if least > alpha:
            # As first arguments, NaN ends remain.
            low, high = min(low, 0.0), max(high, 0.0)
        both = (float(ratios[0]), float(ratios[1]))
        # The order of the arguments matters: `max` returns a first argument that is NaN.
        p = max(p, least)
        return Contrast(measure, names[0], names[1], both, value, error, (low, high), p, n, n_users, alpha)

    return contrast


def _least_p(sums: Float64Array) -> float:
    """Return twice the chance of the observed values, if a random ranker of the user's had them."""
    from scipy.special import gammaln

    # A user of both rankers may have either sign of the difference by chance. Among users of one ranker,
    # those with the same value can be exchanged, so only the users with other values count.
    values = _ratios(sums)
    is_of = ~np.isnan(values)
    differs = int((np.abs(values[:, 0] - values[:, 1]) > _EQUAL).sum())
    single = is_of.sum(axis=1) == 1
    of_single, is_first = np.nansum(values[single], axis=1), is_of[single, 0]
    _, kind, counts = np.unique(np.round(of_single, 9), return_inverse=True, return_counts=True)
    usual = kind == (counts.argmax() if len(counts) else 0)
    a, n = (np.array([count(is_first[usual]), count(is_first)]) for count in (np.sum, len))
    # These are logarithms of binomial coefficients, which overflow for many users.
    usual_ways, ways = gammaln(n + 1) - gammaln(a + 1) - gammaln(n - a + 1)
    return min(1.0, 2.0 * math.exp(usual_ways - ways - differs * math.log(2.0)))


def _ratios(sums: Array) -> Float64Array:
    """Divide numerators by denominators, (..., 2) to (...); NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def _resampled(sums: Float64Array, seed: int) -> Float64Array:
    """Differences in samples of users; users with equal sums are drawn together, by their number."""
    kinds, counts = np.unique(sums.reshape(len(sums), -1), axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = [
        rng.multinomial(len(sums), counts / len(sums), size=rows) @ kinds
        for rows in batch_sizes(_N_RESAMPLES, len(kinds))
    ]
    ratios = _ratios(np.concatenate(drawn).reshape(-1, 2, 2))
    return np.asarray((ratios[:, 0] - ratios[:, 1])[np.isfinite(ratios).all(axis=1)])
