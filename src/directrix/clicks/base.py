"""Base of the click models: likelihood, probabilities, perplexity, simulation.

A model goes down the rows of a session. Its state is what it knows of the user before a row, such as the
position of the last click. `_begin` makes the state, `_examined` turns it into the probability that the user
sees the row, and `_next` updates it by the click. `_walk` does this for many sessions at once:

    state = model._begin(n_sessions)
    p = model._examined(state, position) * attraction
    state = model._next(state, row, click)
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from directrix.clicks.log import Log
from directrix.clicks.sessions import Cells, Pairs
from directrix.errors import InputError, NotConverged, amount, short_text, warn
from directrix.parameters import number, seed_number, whole
from directrix.tables import ShowsTables, Table, json_value
from directrix.types import Array, Float64Array

# Sessions that are walked through together. A session has at most 100 numbers of state, so this bounds
# memory.
_SESSIONS = 1 << 16
# Rows that are evaluated together, so that temporary arrays stay small.
_ROWS = 1 << 22


class ClickModel(ShowsTables):
    r"""A model of clicks; made by `model`.

    Parameters
    ----------
    prior : (float, float)
        Pseudo-counts of every rate: a rate is (successes + prior[0]) / (trials + prior[0] + prior[1]), the
        mode under a Beta(1 + prior[0], 1 + prior[1]) prior.
    max_iter : int >= 1
        Maximum number of passes of expectation maximization.
    tol : float >= 0
        Fitting stops when a pass increases the log-posterior by less than ``tol`` per impression.

    Attributes
    ----------
    pairs_ : Pairs
        Pairs of query and document of the training log.
    attraction_ : float64 (n_pairs,)
        Probability that an examined document is clicked.
    examination_ : float64 (n_positions,)
        Probability that a position is examined; for UBM (n_positions, n_positions), by position and by the
        position of the last click above, 0 if there is none.
    trace_ : list of float
        Log-posterior before each pass; empty for closed forms.
    """

    needs_sessions: ClassVar[bool] = True

    def __init__(self, *, prior: Any = (0.01, 0.01), max_iter: int = 500, tol: float = 1e-7) -> None:
        try:
            first, second = prior
        except (TypeError, ValueError):
            raise InputError(
                f"prior={short_text(prior)}; two pseudo-counts are needed: (0.01, 0.01)."
            ) from None
        self.prior = tuple(number(x, "prior", least=0.0, example=0.01) for x in (first, second))
        self.max_iter = whole(max_iter, "max_iter")
        self.tol = number(tol, "tol", least=0.0, example=1e-7)
        self.pairs_: Pairs | None = None
        self.attraction_: Float64Array = np.empty(0)
        self.examination_: Float64Array = np.ones(1)
        self.trace_: list[float] = []
        self._trust: tuple[Float64Array, Float64Array] | None = None

    @property
    def name(self) -> str:
        """Name of the model."""
        return type(self).__name__

    def fit(self, log: Log) -> ClickModel:
        """Fit the model to a log and return it.

        Raises
        ------
        InputError
            If the model needs sessions and the log has only counts.
        """
        if self.needs_sessions:
            _ = log.sessions
        self.pairs_, self.trace_, self._trust = log.pairs, [], None
        self._fit(log)
        return self

    def log_likelihood(self, log: Log) -> float:
        """Return the log-likelihood of all clicks of a log, in nats; -inf if the model excludes one of them.

        The attraction of an unknown document is the mean of the prior.
        """
        from scipy.special import xlog1py, xlogy

        total = 0.0
        for p, n, c, _ in self._predictions(log, given_clicks=True):
            total += float((xlogy(c, p) + xlog1py(n - c, -p)).sum())
        return total

    def click_probability(self, log: Log, *, given_clicks: bool = False) -> Float64Array:
        """Return the probability of a click for each row of the sessions, or each cell of counts.

        With ``given_clicks`` it is conditional on the clicks above in the session, else marginal.
        """
        return np.concatenate([p for p, *_ in self._predictions(log, given_clicks=given_clicks)])

    def perplexity(self, log: Log, *, given_clicks: bool = False) -> Float64Array:
        r"""Return the perplexity at each position, float64 (n_positions,); 1 is perfect, 2 is a coin flip.

        .. math:: 2^{-\frac{1}{n_k} \sum c \log_2 p + (1 - c) \log_2 (1 - p)}

        over the n_k sessions that have a position k; NaN if there are none.
        """
        from scipy.special import xlog1py, xlogy

        k = log.n_positions + 1
        total, shown = np.zeros(k), np.zeros(k)
        for p, n, c, position in self._predictions(log, given_clicks=given_clicks):
            total += np.bincount(position, xlogy(c, p) + xlog1py(n - c, -p), k)
            shown += np.bincount(position, n, k)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.exp(-total / shown)[1:])

    def simulate(self, log: Log, seed: int = 0) -> Log:
        """Return the log with clicks sampled from the model; the same seed gives the same clicks."""
        seed = seed_number(seed)
        sessions, values, clicks = log.sessions, self._values(log), []
        for block, (first, last) in enumerate(self._blocks(log)):
            rng = np.random.default_rng([seed, block])
            clicks.append(self._walk(log, values, (first, last), rng.random)[1])
        return Log(log.pairs, sessions._replace(click=np.concatenate(clicks)))

    def known(
        self,
        pairs: Pairs,
        attraction: Float64Array,
        curve: Float64Array,
        trust: tuple[Float64Array, Float64Array] | None = None,
    ) -> ClickModel:
        """Return a model with known attractions, for `simulate`.

        A model that is not fitted derives its other parameters from ``curve``, the examination by position.
        ``trust`` holds the probabilities, by position, of a click on an examined document that attracts, and
        on one that does not.
        """
        users = copy.copy(self)
        if users.pairs_ is None:
            users._assume(curve)
        users.pairs_, users.attraction_, users._trust = pairs, attraction, trust
        return users

    def tables(self) -> tuple[Table, ...]:
        """Return the parameters by position as a table."""
        columns = self._by_position()
        rows = zip(*columns.values(), strict=True)
        return (
            Table(
                f"{self.name}, {amount(len(self._fitted()), 'pairs')} of query and document",
                ("position", *columns),
                tuple((str(k), *map(float, row)) for k, row in enumerate(rows, start=1)),
                digits=4,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by position in JSON types."""
        return dict(json_value({"model": self.name, "n_pairs": len(self._fitted())} | self._by_position()))

    # These methods are what a model defines.

    def _fit(self, log: Log) -> None:
        raise NotImplementedError

    def _assume(self, curve: Float64Array) -> None:
        self.examination_ = curve

    def _by_position(self) -> dict[str, Array]:
        return {"examination": self.examination_}

    def _begin(self, n: int, *, marginal: bool) -> Array:
        """Return what sessions know before their first row."""
        raise NotImplementedError

    def _examined(self, state: Array, position: Array) -> Float64Array:
        """Return the probability that each of these positions is examined."""
        raise NotImplementedError

    def _next(self, state: Array, row: dict[str, Any], click: Array | None) -> Array:
        """Return what sessions know after a row; without ``click`` its probability is averaged over."""
        raise NotImplementedError

    # The methods below are what all models share.

    def rate(self, successes: Any, trials: Any) -> Any:
        """Return rates under the prior; 1/2 without trials and prior."""
        above, below = successes + self.prior[0], trials + sum(self.prior)
        return np.divide(above, below, out=np.full(np.shape(above), 0.5), where=np.asarray(below) > 0)

    def _fitted(self) -> Pairs:
        if self.pairs_ is None:
            raise InputError(f'this {self.name} is not fitted; type model("{self.name}").fit(log).')
        return self.pairs_

    def _of_pairs(self, values: Float64Array, log: Log) -> Float64Array:
        """Return values of the model's pairs for those of a log; the mean of the prior for unknown ones."""
        places = self._fitted().places(log.pairs)
        return np.where(places >= 0, values[places], float(self.rate(0.0, 0.0)))

    def _attraction_of(self, log: Log) -> Float64Array:
        return self._of_pairs(self.attraction_, log)

    def _attracted(self, attraction: Float64Array, position: Array) -> Float64Array:
        """Return the probability of a click on examined documents."""
        if self._trust is None:
            return attraction
        relevant, other = (at_position(values, position) for values in self._trust)
        return attraction * relevant + (1.0 - attraction) * other

    def _predictions(self, log: Log, *, given_clicks: bool) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield probabilities, impressions, clicks and positions, some sessions at a time."""
        sessions, values = log.sessions, self._values(log)
        for first, last in self._blocks(log, 1 if given_clicks else len(self.examination_)):
            rows = slice(sessions.ptr[first], sessions.ptr[last])
            p, _ = self._walk(log, values, (first, last), "given" if given_clicks else "marginal")
            yield p, np.ones(len(p)), sessions.click[rows].astype(np.float64), sessions.position[rows]

    def _blocks(self, log: Log, width: int = 1) -> list[tuple[int, int]]:
        """Return ranges of sessions; ``width`` numbers are known of each at most."""
        n, at_once = len(log.sessions.query), min(_SESSIONS, 100 * _SESSIONS // width)
        return [(first, min(first + at_once, n)) for first in range(0, n, at_once)]

    def _walk(
        self, log: Log, values: dict[str, Float64Array], block: tuple[int, int], clicks: Any
    ) -> tuple[Float64Array, Array]:
        """Go through sessions from the top, all at once: return probabilities of clicks, and the clicks.

        ``clicks``: "given", "marginal", or a function that draws uniform numbers.
        """
        s, marginal, (first, last) = log.sessions, clicks == "marginal", block
        begins, lengths = s.ptr[first:last] - s.ptr[first], np.diff(s.ptr[first : last + 1])
        rows = slice(s.ptr[first], s.ptr[last])
        pair, position, click = s.pair[rows], s.position[rows], s.click[rows].copy()
        attraction = self._attracted(values["attraction"][pair], position)
        p, state = np.empty(len(pair)), self._begin(last - first, marginal=marginal)
        for step in range(int(lengths.max(initial=0))):
            # Shorter sessions have ended, so only the others have a row at this step.
            going = np.flatnonzero(lengths > step)
            now = begins[going] + step
            row = {key: of_pair[pair[now]] for key, of_pair in values.items()} | {"position": position[now]}
            row["attraction"], before = attraction[now], state[going]
            p[now] = row["p"] = self._examined(before, row["position"]) * row["attraction"]
            if callable(clicks):
                click[now] = clicks(len(now)) < p[now]
            state[going] = self._next(before, row, None if marginal else click[now])
        return p, click

    def _values(self, log: Log) -> dict[str, Float64Array]:
        """Return the parameters by pair of a log."""
        return {"attraction": self._attraction_of(log)}

    def check_converged(self, *, converged: bool) -> None:
        """Warn unless expectation maximization converged."""
        if not converged:
            warn(
                f"{self.name} was still improving after {self.max_iter} passes; raise max_iter or tol.",
                NotConverged,
                stacklevel=4,
            )


class Memoryless(ClickModel):
    """Models with independent clicks, for which counts suffice."""

    needs_sessions = False

    def _predictions(self, log: Log, *, given_clicks: bool) -> Iterator[tuple[Array, Array, Array, Array]]:
        rows = log.content
        pair, position = rows.pair, rows.position
        n, c = (
            (rows.impressions, rows.clicks) if isinstance(rows, Cells) else (np.ones(len(pair)), rows.click)
        )
        attraction = self._attraction_of(log)
        for first in range(0, len(pair), _ROWS):
            block = slice(first, first + _ROWS)
            attracted = self._attracted(attraction[pair[block]], position[block])
            p = at_position(self.examination_, position[block]) * attracted
            yield p, n[block].astype(np.float64), c[block].astype(np.float64), position[block]

    def _begin(self, n: int, *, marginal: bool) -> Array:
        return np.empty(n)

    def _examined(self, state: Array, position: Array) -> Float64Array:
        return at_position(self.examination_, position)

    def _next(self, state: Array, row: dict[str, Any], click: Array | None) -> Array:
        return state


def at_position(by_position: Float64Array, position: Array) -> Float64Array:
    """Return a value for each position; positions below the last known one have its value."""
    return np.asarray(by_position[np.minimum(position, len(by_position)) - 1])
