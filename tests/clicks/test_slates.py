"""Estimates from randomized lists: the truth of a ranking, where clicks are as each assumes."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError

DOCS = ("a", "b", "c")
RELEVANCE = {"a": 1.0, "b": 0.5, "c": 0.25}
THETA = (1.0, 0.5, 0.5)
TARGET = ("b", "c", "a")
RANKINGS = list(itertools.permutations(DOCS))
SHARES = dict(zip(RANKINGS, [1, 2, 1, 1, 2, 1], strict=True))  # of 8; no two documents have equal places
KINDS = ("whole-list", "independent", "reward-interaction", "pseudo-inverse")


def by_position(ranking):
    """Clicks that depend on the document and its position: their distribution."""
    chances = [theta * RELEVANCE[d] for theta, d in zip(THETA, ranking, strict=True)]
    for clicks in itertools.product([0, 1], repeat=3):
        yield clicks, float(np.prod([p if c else 1 - p for p, c in zip(chances, clicks, strict=True)]))


def by_cascade(ranking):
    """The first attractive document is clicked, and the user leaves: clicks depend on those above."""
    left = 1.0
    for k, d in enumerate(ranking):
        p = 0.5 * RELEVANCE[d]
        yield tuple(int(j == k) for j in range(3)), left * p
        left *= 1 - p
    yield (0, 0, 0), left


def by_list(ranking):
    """A click on the document at 1 if the last one is no better: it depends on the whole list."""
    yield (int(RELEVANCE[ranking[2]] >= RELEVANCE[ranking[0]]), 0, 0), 1.0


EXACT = {
    by_position: KINDS,
    by_cascade: ("whole-list", "reward-interaction"),
    by_list: ("whole-list",),
}


def truth(clicks_of, ranking=TARGET, k=2):
    return sum(p * sum(clicks[:k]) for clicks, p in clicks_of(ranking)) / k


def log_of(sessions, **more):
    rows = [
        (number, "q", d, k + 1, int(c))
        for number, (ranking, clicks) in enumerate(sessions)
        for k, (d, c) in enumerate(zip(ranking, clicks, strict=True))
    ]
    names = ("session", "query", "doc", "position", "clicked")
    return dx.clicks.Log.from_frame(dict(zip(names, zip(*rows, strict=True), strict=True)) | more)


def values(log, kinds=KINDS, target=TARGET, k=2):
    ranking = {"q": {d: -float(i) for i, d in enumerate(target)}}
    with warnings.catch_warnings(action="ignore"):
        result = dx.clicks.evaluate(log, {"new": ranking}, f"CTR@{k}", estimators=kinds, propensities=THETA)
    return {kind: result.estimate("new", kind).value for kind in kinds}


@pytest.mark.parametrize("clicks_of", EXACT, ids=lambda f: f.__name__)
@pytest.mark.parametrize("k", [2, 3])
def test_a_log_with_every_outcome_as_often_as_it_is_likely_gives_the_truth(clicks_of, k):
    every = [(r, c, SHARES[r] * Fraction(p)) for r in RANKINGS for c, p in clicks_of(r)]
    unit = max(part.denominator for *_, part in every)
    log = log_of([(r, c) for r, c, part in every for _ in range(int(part * unit))])
    found = values(log, k=k)
    for kind in EXACT[clicks_of]:
        assert found[kind] == pytest.approx(truth(clicks_of, k=k), abs=1e-12)
    wrong = {kind for kind in KINDS if abs(found[kind] - truth(clicks_of, k=k)) > 0.01}
    if clicks_of is by_list or (clicks_of is by_cascade and k == 2):
        assert "independent" in wrong
        assert wrong <= set(KINDS) - set(EXACT[clicks_of])


@pytest.mark.parametrize("clicks_of", EXACT, ids=lambda f: f.__name__)
def test_propensities_of_the_log_give_the_truth_on_average(clicks_of):
    kinds = [kind for kind in ("whole-list", "reward-interaction") if kind in EXACT[clicks_of]]
    mean = dict.fromkeys(kinds, 0.0)
    for ranking in RANKINGS:
        above = [sum(n for r, n in SHARES.items() if r[:k] == ranking[:k]) for k in range(4)]
        chances = [above[k + 1] / above[k] for k in range(3)]
        for clicks, p in clicks_of(ranking):
            log = log_of([(ranking, clicks)], propensity=chances)
            for kind in kinds:
                if ranking[0] == TARGET[0] and (kind != "whole-list" or ranking[1] == TARGET[1]):
                    mean[kind] += p * SHARES[ranking] / 8 * values(log, [kind])[kind]
                else:  # the estimate is 0, as of one that says nothing
                    with pytest.raises(InputError, match="never shows"):
                        values(log, [kind])
    assert mean == pytest.approx(dict.fromkeys(kinds, truth(clicks_of)), abs=1e-12)


@pytest.mark.parametrize("kind", ["naive", "ips", *KINDS])
def test_the_logging_ranker_earns_its_own_clicks(kind):
    rng = np.random.default_rng(0)
    rankings = {query: rng.permutation(6) for query in "pqrst"}
    rows = {name: [] for name in ("session", "query", "doc", "position", "clicked")}
    for session in range(200):
        query = "pqrst"[session % 7 % 5]
        for k, d in enumerate(rankings[query][:4]):
            row = (session, query, f"d{d}", k + 1, int(rng.random() < 0.6 / (k + 1)))
            for name, cell in zip(rows, row, strict=True):
                rows[name].append(cell)
    log = dx.clicks.Log.from_frame(rows)
    run = {query: {f"d{d}": -float(i) for i, d in enumerate(order)} for query, order in rankings.items()}
    with pytest.warns(UserWarning, match="only 5 queries"):
        result = dx.clicks.evaluate(
            log, {"log": run}, "CTR@3", estimators=[kind], propensities=[1.0, 0.4, 0.3, 0.2]
        )
    top = np.array(rows["position"]) <= 3
    assert result.estimate("log", kind).value == pytest.approx(np.mean(np.array(rows["clicked"])[top]))
    assert result.estimate("log", kind).unshown == 0.0
