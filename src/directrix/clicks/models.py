"""Click models by name: three baselines, two models of positions, and four cascade models."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.clicks._kernels.em import pass_over_sessions
from directrix.clicks.base import ClickModel, Memoryless, at_position
from directrix.clicks.expectation import GroupCounts, log_prior, maximize
from directrix.clicks.log import Log, counted
from directrix.clicks.sessions import Pairs
from directrix.errors import InputError
from directrix.parameters import check_choice
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Float64Array, Int64Array

# Sessions that are processed together, which bounds memory.
_SESSIONS = 1 << 16
# Rows of a chunk of sessions that one thread sums over.
_ROWS = 1 << 19
# Largest position that UBM accepts.
_DEEPEST = 1000


class GCTR(Memoryless):
    """One rate of clicks for all documents and positions: a baseline; made by `model`."""

    def _fit(self, log: Log) -> None:
        cells = log.aggregate()
        rate = float(self.rate(cells.clicks.sum(), cells.impressions.sum()))
        self.attraction_, self.examination_ = np.full(len(log.pairs), rate), np.ones(log.n_positions)

    def _attraction_of(self, log: Log) -> Float64Array:
        return np.full(len(log.pairs), self.attraction_[0])


class RCTR(Memoryless):
    """A rate of clicks for each position: a baseline; made by `model`."""

    def _fit(self, log: Log) -> None:
        cells = log.aggregate()
        n, c = cells.sums(cells.position - 1, log.n_positions)
        self.attraction_, self.examination_ = np.ones(len(log.pairs)), self.rate(c, n)

    def _attraction_of(self, log: Log) -> Float64Array:
        return np.ones(len(log.pairs))


class DCTR(Memoryless):
    """A rate of clicks for each pair of query and document: a baseline; made by `model`."""

    def _fit(self, log: Log) -> None:
        cells = log.aggregate()
        n, c = cells.sums(cells.pair, len(log.pairs))
        self.attraction_, self.examination_ = self.rate(c, n), np.ones(log.n_positions)

    def _assume(self, curve: Float64Array) -> None:
        self.examination_ = np.ones(len(curve))


class PBM(Memoryless):
    r"""The position-based model; made by `model`.

    .. math:: P(c = 1) = \theta_k\, r(q, d)

    The examination is identified up to a factor, so that of position 1 is 1. Counts suffice. Richardson et
    al. (2007), doi:10.1145/1242572.1242643; Craswell et al. (2008), doi:10.1145/1341531.1341545.
    """

    def _fit(self, log: Log) -> None:
        _fit_groups(self, self.counts(log), log.n_positions, np.arange(1, log.n_positions))

    def counts(self, log: Log) -> GroupCounts:
        """Count clicks by pair and position."""
        cells = log.aggregate()
        return GroupCounts.of(cells.pair, cells.position - 1, cells.impressions, cells.clicks, len(log.pairs))


class UBM(ClickModel):
    r"""The user browsing model: examination depends on the position and on that of the last click above.

    .. math:: P(c_k = 1 \mid c_{<k}) = \theta_{k,k'}\, r(q, d)

    The examination of position 1 is 1, as in `PBM`; made by `model`. Logs may have up to 1,000 positions.
    Dupret & Piwowarski (2008), doi:10.1145/1390334.1390392.
    """

    def _fit(self, log: Log) -> None:
        k = self._checked(log.n_positions)
        _fit_groups(self, self.counts(log), k * k, np.flatnonzero(np.tri(k))[1:])
        self.examination_ = np.tril(self.examination_.reshape(k, k))

    @staticmethod
    def _checked(n_positions: int) -> int:
        """Reject a last position whose square would be an array out of proportion to any log."""
        if n_positions > _DEEPEST:
            raise InputError(
                f"UBM has a probability for each two of the {n_positions:,} positions; at most {_DEEPEST:,} "
                "are possible. Drop the rows below, or choose the model PBM."
            )
        return n_positions

    def counts(self, log: Log) -> GroupCounts:
        """Count clicks by pair, position, and position of the last click above."""
        k, s = log.n_positions, log.sessions
        # For each row this is the position of the last click above in its session, 0 if there is none.
        above = np.zeros(len(s.click), dtype=np.int16)
        for first in range(0, len(s.query), _SESSIONS):
            ptr = s.ptr[first : first + _SESSIONS + 1]
            click, position = s.click[ptr[0] : ptr[-1]], s.position[ptr[0] : ptr[-1]]
            row = np.maximum.accumulate(np.where(click, np.arange(len(click)), -1))
            row = np.concatenate([[-1], row[:-1]])
            begins = np.repeat(ptr[:-1] - ptr[0], np.diff(ptr))
            above[ptr[0] : ptr[-1]] = np.where(row >= begins, position[np.maximum(row, 0)], 0)
        keys, n, c = counted(log, (s.position - 1) * np.int32(k) + above, k * k)
        return GroupCounts.of(keys // (k * k), keys % (k * k), n, c, len(log.pairs))

    def _assume(self, curve: Float64Array) -> None:
        k = self._checked(len(curve))
        after = np.subtract.outer(np.arange(k), np.arange(k))
        self.examination_ = np.tril(curve[np.clip(after, 0, k - 1)])

    def _by_position(self) -> dict[str, Array]:
        return {
            f"after a click at {k}" if k else "no click": column
            for k, column in enumerate(self.examination_.T)
        }

    def _begin(self, n: int, *, marginal: bool) -> Array:
        start = np.zeros((n, len(self.examination_))) if marginal else np.zeros(n, dtype=np.int64)
        if marginal:
            start[:, 0] = 1.0
        return start

    def _examined(self, state: Array, position: Array) -> Float64Array:
        row = np.minimum(position, len(self.examination_)) - 1
        if state.ndim == 1:
            return np.asarray(self.examination_[row, state])
        # The state is a distribution over the positions of the last click, so this is a mean over them.
        return np.asarray(np.einsum("ij,ij->i", state, self.examination_[row]))

    def _next(self, state: Array, row: dict[str, Any], click: Array | None) -> Array:
        last = len(self.examination_) - 1
        # No document is below the last position, so a click there needs no state of its own.
        position = np.minimum(row["position"], last)
        if click is not None:
            return np.where(click, position, state)
        examination = self.examination_[np.minimum(row["position"], last + 1) - 1]
        after: Array = state * (1.0 - examination * row["attraction"][:, None])
        after[np.arange(len(after)), position] += row["p"]
        return after


class _Cascade(ClickModel):
    """Models of users who go from the top down and stop somewhere."""

    perseverance_ = 1.0
    """Probability of continuing after a document that did not satisfy."""
    continuation_: Float64Array = np.ones(1)
    """Probability of continuing after a click, by position, if the document did not satisfy."""
    satisfaction_: Float64Array = np.empty(0)
    """Probability that a clicked document satisfies (n_pairs,); empty if none ever does."""

    def _begin(self, n: int, *, marginal: bool) -> Array:
        return np.ones(n)

    def _examined(self, state: Array, position: Array) -> Float64Array:
        return state

    def _next(self, state: Array, row: dict[str, Any], click: Array | None) -> Array:
        attraction, satisfied = row["attraction"], row.get("satisfaction", 0.0)
        on = at_position(self.continuation_, row["position"]) * (1.0 - satisfied) * self.perseverance_
        if click is None:
            return np.asarray(state * (attraction * on + (1.0 - attraction) * self.perseverance_))
        # A missed document is one that was examined and not clicked; Bayes' rule gives its probability
        # without a click.
        silent, missed = 1.0 - row["p"], state * (1.0 - attraction)
        left = np.divide(missed, silent, out=np.zeros(len(silent)), where=silent > 0.0)
        return np.asarray(np.where(click, on, left * self.perseverance_))

    def _count(self, log: Log, last_row: Int64Array) -> None:
        """Set attractions by counting clicks and impressions down to the last row of each session."""
        s = log.sessions
        seen = np.arange(len(s.pair)) <= last_row[s.session]
        n = np.bincount(s.pair[seen], minlength=len(log.pairs))
        self.attraction_ = self.rate(np.bincount(s.pair[seen & s.click], minlength=len(log.pairs)), n)


class CM(_Cascade):
    """The cascade model: users go down to their first click, and stop; made by `model`.

    A session with two clicks has probability 0, and its log-likelihood is -inf; fitting counts only the rows
    above the second click. Craswell et al. (2008), doi:10.1145/1341531.1341545.
    """

    continuation_ = np.zeros(1)

    def _fit(self, log: Log) -> None:
        s = log.sessions
        clicked = np.flatnonzero(s.click)[::-1]
        last_row = s.ptr[1:] - 1
        # The rows run from the bottom to the top, so the first click of a session is set last and remains.
        last_row[s.session[clicked]] = clicked
        self._count(log, last_row)


class DCM(_Cascade):
    r"""The dependent click model: after a click at position k users continue with probability lambda_k.

    Documents down to the last click were examined, or all if there is none; lambda_k is 1 - (sessions whose
    last click is at k) / (sessions with a click at k). Closed form; made by `model`. Guo, Liu & Wang (2009),
    doi:10.1145/1498759.1498818.
    """

    def _fit(self, log: Log) -> None:
        s, k = log.sessions, log.n_positions + 1
        last_row, is_last = _bottom(log)
        self._count(log, last_row)
        n, last = (np.bincount(s.position[rows], minlength=k)[1:] for rows in (s.click, is_last))
        self.continuation_ = self.rate(n - last, n)

    def _assume(self, curve: Float64Array) -> None:
        self.continuation_ = curve

    def _by_position(self) -> dict[str, Array]:
        return {"continuation": self.continuation_}


class SDBN(_Cascade):
    """The simplified dynamic Bayesian network: each document has a probability of satisfaction.

    Documents down to the last click were examined, or all if there is none; satisfaction is last clicks /
    clicks. Closed form; made by `model`. Chapelle & Zhang (2009), doi:10.1145/1526709.1526711.
    """

    def _fit(self, log: Log) -> None:
        s, n = log.sessions, len(log.pairs)
        last_row, is_last = _bottom(log)
        self._count(log, last_row)
        clicks, last = (np.bincount(s.pair[rows], minlength=n) for rows in (s.click, is_last))
        self.satisfaction_ = self.rate(last, clicks)

    def known(self, pairs: Pairs, attraction: Float64Array, *others: Any) -> ClickModel:
        """Return a model with known attractions, which are also the probabilities of satisfaction."""
        users = super().known(pairs, attraction, *others)
        setattr(users, "satisfaction_", attraction)  # noqa: B010 - a copy of this class
        return users

    def _by_position(self) -> dict[str, Array]:
        return {"perseverance": np.array([self.perseverance_])}

    def _values(self, log: Log) -> dict[str, Float64Array]:
        return super()._values(log) | {"satisfaction": self._of_pairs(self.satisfaction_, log)}


class DBN(SDBN):
    """The dynamic Bayesian network: like `SDBN`, but users continue with a probability below 1. See `model`.

    ``perseverance_`` is fitted too, by forward and backward sums. Chapelle & Zhang (2009), section 5.
    """

    def _assume(self, curve: Float64Array) -> None:
        self.perseverance_ = float(curve[min(1, len(curve) - 1)])

    def _fit(self, log: Log) -> None:
        n = len(log.pairs)
        self.attraction_, self.satisfaction_, self.perseverance_ = np.full(n, 0.5), np.full(n, 0.5), 0.9
        for _ in range(self.max_iter):
            sums, (on, trials, value) = _pass(log, self.attraction_, self.satisfaction_, self.perseverance_)
            rates = self.attraction_, self.satisfaction_, np.array([self.perseverance_])
            self.trace_.append(value + log_prior(self.prior, *rates))
            if len(self.trace_) > 1 and self.trace_[-1] - self.trace_[-2] < self.tol * len(log.sessions.pair):
                return
            # The sums are clicks and examinations, then satisfactions and the clicks that could satisfy.
            self.attraction_, self.satisfaction_ = self.rate(sums[0], sums[1]), self.rate(sums[2], sums[3])
            self.perseverance_ = float(self.rate(on, trials))
        self.check_converged(converged=False)


MODELS: dict[str, type[ClickModel]] = {
    kind.__name__: kind for kind in (PBM, CM, DCM, SDBN, DBN, UBM, GCTR, RCTR, DCTR)
}
"""Every click model by its name."""


def model(name: str, *, prior: Any = (0.01, 0.01), max_iter: int = 500, tol: float = 1e-7) -> ClickModel:
    """Return an unfitted click model by its name.

    ====  ====================================================================================
    PBM   position-based: a position is examined, then the document attracts; EM
    UBM   user browsing: examination also depends on the last click above; EM
    CM    cascade: users stop at their first click; closed form
    DCM   dependent clicks: users continue after a click at k with probability lambda_k; closed form
    SDBN  simplified dynamic Bayesian network: a click may satisfy; closed form
    DBN   dynamic Bayesian network: users also lose patience; EM
    GCTR  baselines: one rate of clicks, RCTR one for each position, DCTR one for each pair
    ====  ====================================================================================

    Parameters
    ----------
    name : str
    prior, max_iter, tol
        As in `ClickModel`.

    Raises
    ------
    InputError
        If there is no such model, or a parameter is out of range.

    Examples
    --------
    >>> from directrix import clicks
    >>> frame = {"session": [1, 1, 2, 2], "query": ["q"] * 4, "doc": ["a", "b", "b", "a"]}
    >>> log = clicks.Log.from_frame(frame | {"position": [1, 2, 1, 2], "clicked": [1, 0, 0, 1]})
    >>> model = clicks.model("DCTR", prior=(1, 1)).fit(log)
    >>> model.attraction_  # (clicks + 1) / (impressions + 2)
    array([0.75, 0.25])
    >>> model.perplexity(log)
    array([1.33333333, 1.33333333])
    """
    upper = name.upper() if isinstance(name, str) else name
    check_choice(upper, "model", MODELS)
    return MODELS[upper](prior=prior, max_iter=max_iter, tol=tol)


def _bottom(log: Log) -> tuple[Int64Array, Array]:
    """Return the row of the last click of each session, or its last row; and which rows are last clicks."""
    s = log.sessions
    last_row, clicked = s.ptr[1:] - 1, np.flatnonzero(s.click)
    last_row[s.session[clicked]] = clicked
    is_last = np.zeros(len(s.click), dtype=bool)
    is_last[last_row] = True
    return last_row, is_last & s.click


def _fit_groups(users: ClickModel, counts: GroupCounts, n_groups: int, free: Array) -> None:
    """Set attractions and the examination of each group by expectation maximization."""
    n, c = (np.bincount(counts.group, x, n_groups) for x in (counts.n, counts.c))
    rate = np.divide(c, n, out=np.zeros(n_groups), where=n > 0)
    # The passes begin at the rates of clicks, relative to the first, as if all documents were alike.
    examination = np.clip(rate / (rate[0] or 1.0), 0.05, 0.95)
    examination[0] = 1.0
    start = np.full(len(counts.ptr) - 1, 0.5), examination
    tolerance = users.tol * float(counts.n.sum())
    users.attraction_, users.examination_, users.trace_, converged = maximize(
        counts, start, free, users.prior, users.max_iter, tolerance
    )
    users.check_converged(converged=converged)


def _pass(log: Log, a: Float64Array, s: Float64Array, gamma: float) -> tuple[Float64Array, Float64Array]:
    """Return the sums of `pass_over_sessions` by pair, and over all sessions."""
    sessions, sums = log.sessions, np.zeros((4, len(log.pairs)))
    firsts = np.searchsorted(sessions.query, np.arange(len(log.pairs.query_ids) + 1))
    # Chunks consist of whole queries, so no pair is in two of them.
    bounds = query_chunks(sessions.ptr[firsts], _ROWS)
    of_chunk = np.zeros((len(bounds) - 1, 3))

    def work(chunk: int) -> None:
        first, last = firsts[bounds[chunk]], firsts[bounds[chunk + 1]]
        rows = sessions.ptr, sessions.pair, sessions.click
        pass_over_sessions(*rows, first, last, a, s, gamma, sums, of_chunk[chunk])

    run_chunks(work, len(of_chunk))
    return sums, of_chunk.sum(axis=0)
