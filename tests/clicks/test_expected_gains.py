"""Expectations of estimators, by enumeration of all rankings and all clicks: equal to the truth, or not."""

import itertools
import warnings

import numpy as np
import pytest

import directrix as dx

DOCS = ("a", "b", "c")
RELEVANCE = np.array([0.8, 0.3, 0.5])
THETA = np.array([1.0, 0.55, 0.2])
ALPHA, BETA = np.array([0.7, 0.35, 0.1]), np.array([0.2, 0.15, 0.08])
RANKINGS = list(itertools.permutations(range(3)))
POLICY = dict(zip(RANKINGS, [0.05, 0.4, 0.1, 0.15, 0.05, 0.25], strict=True))
PLACES = np.array(
    [[sum(p for order, p in POLICY.items() if order[k] == d) for k in range(3)] for d in range(3)]
)
FEATURES = dx.Queries.from_arrays(np.eye(3), [0, 0, 0], qid=["q"] * 3, doc_ids=DOCS)
MODEL = np.array([0.6, 0.1, 0.9])  # wrong on purpose


def log_of(sessions):
    """A log of (ranking, clicks by position)."""
    rows = [
        (number, "q", DOCS[d], k + 1, int(c))
        for number, (order, clicks) in enumerate(sessions)
        for k, (d, c) in enumerate(zip(order, clicks, strict=True))
    ]
    names = ("session", "query", "doc", "position", "clicked")
    return dx.clicks.Log.from_frame(dict(zip(names, zip(*rows, strict=True), strict=True)))


def outcomes(alpha, beta=0.0, length=3):
    """Every ranking, cut to a length, with every vector of clicks and the probability of both."""
    for order, p in POLICY.items():
        shown = order[:length]
        chance = (alpha * RELEVANCE[list(order)] + beta)[:length]
        for clicks in itertools.product([0, 1], repeat=length):
            yield shown, clicks, p * np.prod(np.where(clicks, chance, 1 - chance))


def expectation(estimate, alpha, beta=0.0):
    return sum(p * estimate(log_of([(order, clicks)])) for order, clicks, p in outcomes(alpha, beta))


def gains(log, estimator, propensities, **options):
    q = dx.clicks.training_data(log, FEATURES, estimator, propensities=propensities, **options)
    assert list(q.doc_ids) == list(DOCS)
    return q.labels


UNBIASED = {
    "ips": {},
    "policy-aware": {"policy": PLACES},
    "affine": {},
    "doubly-robust": {"policy": PLACES, "model": MODEL},
}


@pytest.mark.parametrize("estimator", UNBIASED)
@pytest.mark.parametrize("has_trust", [False, True])
def test_the_expected_gain_is_the_relevance(estimator, has_trust):
    alpha, beta = (ALPHA, BETA) if has_trust else (THETA, np.zeros(3))
    given = [alpha, beta] if has_trust or estimator == "affine" else alpha
    options = UNBIASED[estimator]
    if estimator == "ips" and has_trust:
        with pytest.warns(UserWarning, match="^ips ignores the trust bias"):
            mean = expectation(lambda log: gains(log, estimator, given, **options), alpha, beta)
        assert np.abs(mean - RELEVANCE).max() > 0.3
    else:
        mean = expectation(lambda log: gains(log, estimator, given, **options), alpha, beta)
        assert mean == pytest.approx(RELEVANCE, abs=1e-12)


@pytest.mark.filterwarnings("ignore:these intervals")
def test_a_warning_names_all_estimators_that_ignore_trust_bias():
    rows = {"query": ["q"] * 2, "doc": ["a", "b"], "position": [1, 2], "clicked": [1, 0]}
    log = dx.clicks.Log.from_frame({"session": [1, 1]} | rows)
    run = {"q": {"a": 1.0, "b": 0.0}}
    with pytest.warns(UserWarning, match="^ips and clipped ignore the trust bias"):
        dx.clicks.evaluate(
            log, {"a": run}, "CTR@2", estimators=["ips", "clipped"], propensities=[ALPHA, BETA]
        )


def test_naive_and_clipped_gains_are_biased_by_known_amounts():
    naive = expectation(lambda log: gains(log, "naive", None), THETA)
    assert naive == pytest.approx(RELEVANCE * (PLACES @ THETA), abs=1e-12)
    clipped = expectation(lambda log: gains(log, "clipped", THETA, clip=0.4), THETA)
    assert clipped == pytest.approx(RELEVANCE * (PLACES @ np.array([1.0, 1.0, 0.5])), abs=1e-12)


def test_observed_positions_give_the_same_expectation():
    """Of two sessions: the mean of alpha over the positions at which the document was shown."""
    every = [(order, clicks, p) for order, clicks, p in outcomes(THETA, length=3)]
    some = [one for one in every if one[0] in RANKINGS[:3]]
    total = sum(p for *_, p in some)
    for estimator in ("policy-aware", "doubly-robust"):
        options = {"model": MODEL} if estimator == "doubly-robust" else {}
        mean = np.zeros(3)
        for one, other in itertools.product(some, some):
            p = one[2] * other[2] / total**2
            mean += p * gains(log_of([one[:2], other[:2]]), estimator, THETA, **options)
        assert mean == pytest.approx(RELEVANCE, abs=1e-12)


def value(log, measure, estimator="ips", **options):
    ranking = {"q": dict(zip(DOCS, [1.0, 3.0, 2.0], strict=True))}  # b, c, a
    with warnings.catch_warnings(action="ignore"):
        result = dx.clicks.evaluate(
            log, {"new": ranking}, measure, estimators=[estimator], features=FEATURES, **options
        )
    return result.estimate("new", estimator).value


TRUE_VALUES = {
    "DCG@2": 0.3 + 0.5 / np.log2(3),
    "P@2": (0.3 + 0.5) / 2,
    "ARP": -(0.3 + 2 * 0.5 + 3 * 0.8),
    "CTR@2": (0.3 * 1.0 + 0.5 * 0.55) / 2,
}


@pytest.mark.parametrize("estimator", [*UNBIASED, "self-normalized"])
@pytest.mark.parametrize("measure", TRUE_VALUES)
def test_the_expected_value_is_that_of_the_ranking(measure, estimator):
    options = UNBIASED.get(estimator, {})
    given = [THETA, np.zeros(3)] if estimator == "affine" else THETA
    mean = expectation(lambda log: value(log, measure, estimator, propensities=given, **options), THETA)
    assert mean == pytest.approx(TRUE_VALUES[measure], abs=1e-12)


def test_clicks_with_trust_bias_are_those_of_the_positions():
    mean = expectation(lambda log: value(log, "CTR@2", "affine", propensities=[ALPHA, BETA]), ALPHA, BETA)
    assert mean == pytest.approx((0.7 * 0.3 + 0.2 + 0.35 * 0.5 + 0.15) / 2, abs=1e-12)


def test_ndcg_of_unbiased_gains_is_biased():
    """By .15 of .73: the ideal value of noisy gains is not the ideal value of their means."""
    mean = expectation(lambda log: value(log, "nDCG(gain=linear)", propensities=THETA, biased=True), THETA)
    ideal = 0.8 + 0.5 / np.log2(3) + 0.3 / 2
    truth = (0.3 + 0.5 / np.log2(3) + 0.8 / 2) / ideal
    assert abs(mean - truth) > 0.1
    print(mean, truth)
