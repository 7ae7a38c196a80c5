"""Simulated logs: labeled queries, a ranker that shows them, and a model of the users who click."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from directrix.clicks.base import ClickModel
from directrix.clicks.log import Log
from directrix.clicks.models import model as model_named
from directrix.clicks.sessions import Pairs, Sessions
from directrix.data.checks import as_floats
from directrix.data.memory import check_room
from directrix.data.queries import Queries, need_queries
from directrix.errors import Advice, InputError, short_text
from directrix.parameters import check_choice, number, seed_number, whole
from directrix.types import Array, Float64Array

EXAMINATION = (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06)
"""Examination by position that Joachims et al. (2005) measured; further positions have the last value."""
ATTRACTION = (0.1, 0.16, 0.28, 0.52, 1.0)
"""Probability of a click on an examined document by its label, 0 to 4."""
POLICIES = ("deterministic", "shuffle", "swap", "plackett-luce")
# Random numbers that are drawn together, which bounds memory.
_NUMBERS = 1 << 22


def simulate(  # noqa: PLR0913 - all but the first three are optional and by name
    queries: Queries,
    ranker: Any,
    model: ClickModel | str = "PBM",
    *,
    n_sessions: int = 100_000,
    seed: int = 0,
    policy: str = "deterministic",
    n_positions: int = 10,
    eta: float = 1.0,
    attraction: Any = ATTRACTION,
    trust: Any = None,
) -> Log:
    r"""Simulate sessions of users who see rankings of labeled documents and click.

    Each session has a random query. In PBM, position k is examined with probability p_k^eta, where p is the
    measured `EXAMINATION`. UBM uses this curve for the distance to the last click, DCM for continuing after a
    click, and DBN its second value for continuing. In SDBN and DBN satisfaction is as likely as attraction.

    Parameters
    ----------
    queries : Queries
        With labels.
    ranker : fitted ranker, scores, or dict of them
        The ranker that is served; from a dict, a random one in each session. Scores are (n_docs,).
    model : str or ClickModel
        Name of a click model, or a fitted one, which keeps all parameters except those of documents.
    n_sessions : int >= 1
    seed : int >= 0
        Seed; the same seed gives the same log.
    policy : {"deterministic", "shuffle", "swap", "plackett-luce"}
        By decreasing score; with the first positions shuffled (RandTop), or position 1 swapped with a random
        one (RandPair); or sampled in proportion to exp(score).
    n_positions : int >= 1
        Number of documents that are shown.
    eta : float >= 0
        Severity of position bias; 0: none.
    attraction : sequence of float in [0, 1]
        Probability of a click on an examined document, by label.
    trust : (relevant, other), optional
        Trust bias: probabilities of a click on an examined document that attracts, and on one that does not,
        instead of 1 and 0; numbers, or one per position (Agarwal et al. 2019, doi:10.1145/3308558.3313697).

    Returns
    -------
    Log

    Raises
    ------
    InputError
        If an argument is out of range, or labels have no attraction.

    Notes
    -----
    Cost: O(n_sessions n_positions), about 3 seconds per million sessions of ten; "plackett-luce" samples all
    documents of a query.

    Examples
    --------
    >>> import directrix as dx
    >>> q, _ = dx.data.make_linear(20, 12, 3, seed=0)
    >>> log = dx.clicks.simulate(q, q.labels, "PBM", n_sessions=1000, seed=0)
    >>> log.n_sessions, log.n_positions
    (1000, 10)
    """
    need_queries(queries, "simulate")
    n, depth = whole(n_sessions, "n_sessions", "simulate"), whole(n_positions, "n_positions", "simulate")
    check_choice(policy, "policy", POLICIES)
    number(n_positions, "n_positions", "simulate", most=2**15 - 1, example=10)
    check_room(16 * n * depth, f"{n:,} sessions with {depth:,} positions", Advice("sessions"))
    eta = number(eta, "eta", "simulate", least=0.0, example=1.0)
    curve = np.array([*EXAMINATION, *EXAMINATION[-1:] * depth])[:depth] ** eta
    users = model_named(model) if isinstance(model, str) else model
    if not isinstance(users, ClickModel):
        raise InputError(f"model={short_text(model)}; a click model or its name is needed, e.g. 'PBM'.")
    clicked = _by_label(queries, attraction)
    rng = np.random.default_rng(seed_number(seed))
    log = _unclicked(queries, ranker, n, depth, policy, rng)
    users = users.known(log.pairs, clicked, curve, _trust(trust, depth))
    return users.simulate(log, seed)


def _by_label(queries: Queries, attraction: Any) -> Float64Array:
    values = as_floats(attraction, "attraction", "one probability per label")
    if values.ndim != 1 or not ((values >= 0.0) & (values <= 1.0)).all():
        raise InputError(
            f"attraction={short_text(attraction)}; it must be probabilities in [0, 1], by label."
        )
    labels = queries.labels
    if (bad := (labels != np.floor(labels)) | (labels < 0) | (labels >= len(values))).any():
        raise InputError(
            f"label {labels[bad][0]:g} has no attraction; integers from 0 to {len(values) - 1} are needed. "
            "Type attraction=(...), with a probability for each label."
        )
    return values[labels.astype(np.int64)]


def _trust(trust: Any, depth: int) -> tuple[Float64Array, Float64Array] | None:
    if trust is None:
        return None
    try:
        relevant, other = (np.broadcast_to(np.asarray(p, np.float64), depth).copy() for p in trust)
    except (TypeError, ValueError):
        relevant = other = np.full(1, np.nan)
    if not ((relevant <= 1.0) & (other >= 0.0) & (relevant >= other)).all():
        raise InputError(
            f"trust={short_text(trust)}; two probabilities, relevant >= other, or one of each for every of "
            f"{depth} positions are needed, e.g. trust=(0.98, 0.2)."
        )
    return relevant, other


def _unclicked(
    queries: Queries, ranker: Any, n: int, depth: int, policy: str, rng: np.random.Generator
) -> Log:
    """Return the log of what rankers show in ``n`` sessions of random queries, without clicks."""
    rankers = dict(ranker) if isinstance(ranker, Mapping) else {"": ranker}
    # A number stands for a query and a ranker. Sorted numbers make the sessions grouped by query.
    served = np.sort(rng.integers(queries.n_queries * len(rankers), size=n))
    shown = np.full((n, depth), -1, dtype=np.int32)
    for r, server in enumerate(rankers.values()):
        scores = _scores(queries, server)
        for q in range(queries.n_queries):
            first, last = np.searchsorted(served, [q * len(rankers) + r, q * len(rankers) + r + 1])
            docs = np.arange(queries.qptr[q], queries.qptr[q + 1])
            if first < last and len(docs):
                k = min(depth, len(docs))
                shown[first:last, :k] = docs[_places(scores[docs], last - first, k, policy, rng)]
    is_shown = shown >= 0
    if not is_shown.any():
        raise InputError("the queries have no documents; one or more are needed.")
    some = is_shown[:, 0]
    pairs = Pairs.of_queries(queries)
    pair = shown[is_shown]
    sessions = Sessions(
        np.concatenate([[0], np.cumsum(is_shown[some].sum(axis=1))]).astype(np.int64),
        pairs.query[shown[some, 0]].astype(np.int32),
        pair,
        np.broadcast_to(np.arange(1, depth + 1, dtype=np.int16), shown.shape)[is_shown],
        np.zeros(len(pair), dtype=bool),
    )
    if isinstance(ranker, Mapping):
        number = (served % len(rankers))[some].astype(np.int32)
        sessions = sessions._replace(ranker=number, rankers=tuple(map(str, ranker)))
    return Log(pairs, sessions)


def _scores(queries: Queries, ranker: Any) -> Float64Array:
    scores = queries.scores(ranker) if hasattr(ranker, "predict") else as_floats(ranker, "scores")
    if scores.shape != (queries.n_docs,) or not np.isfinite(scores).all():
        raise InputError(
            f"the ranker gives scores of shape {scores.shape} for {queries.n_docs} documents; a finite score "
            "for each is needed. Give a fitted ranker, or an array of scores."
        )
    return scores


def _places(scores: Float64Array, n: int, k: int, policy: str, rng: np.random.Generator) -> Array:
    """Return which documents of a query n sessions show at k positions, (n, k) or (1, k)."""
    top = np.argsort(-scores, kind="stable")[:k]
    if policy == "shuffle":
        return top[np.argsort(rng.random((n, k)), axis=1)]
    if policy == "swap":
        order, other = np.tile(top, (n, 1)), rng.integers(k, size=n)
        order[:, 0] = top[other]
        order[np.arange(n), other] = top[0]
        return order
    if policy == "plackett-luce":
        samples, at_once = [], max(1, _NUMBERS // len(scores))
        # The documents with the largest sums of score and Gumbel noise are a sample of the Plackett-Luce
        # model.
        for first in range(0, n, at_once):
            noisy = -scores - rng.gumbel(size=(min(at_once, n - first), len(scores)))
            best = np.argpartition(noisy, k - 1, axis=1)[:, :k]
            order = np.argsort(np.take_along_axis(noisy, best, axis=1), axis=1)
            samples.append(np.take_along_axis(best, order, axis=1))
        return np.concatenate(samples)
    return top[None]
