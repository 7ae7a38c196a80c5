"""Values of lists with drawn negatives, on examples that can be enumerated."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import directrix as dx
from tests.messages import rejects

N, M = 9, 4  # documents of the full list, of which one is relevant, and negatives that are drawn


def all_draws(rank):
    """Scores, labels and probabilities of the list of every draw of M of the N - 1 negatives."""
    scores, labels, probability = [], [], []
    for drawn in itertools.combinations([r for r in range(1, N + 1) if r != rank], M):
        for r in (rank, *drawn):
            scores.append(-float(r))
            labels.append(float(r == rank))
            probability.append(1.0 if r == rank else M / (N - 1))
    return scores, labels, probability


def expected_of_draws(value_of_rank, rank):
    """The mean of a value of the estimated rank, over all draws, by counting (hypergeometric)."""
    above = [r for r in range(1, N + 1) if r != rank]
    draws = [sum(r < rank for r in drawn) for drawn in itertools.combinations(above, M)]
    return float(sum(Fraction(value_of_rank(1 + n * (N - 1) // M)) for n in draws) / len(draws))


@pytest.mark.parametrize("rank", [1, 2, 4, 9])
def test_ranks_are_corrected_on_the_mean_of_all_draws(rank):
    scores, labels, probability = all_draws(rank)
    measures = ["ROCArea", "RR", "Success@3"]
    result = dx.evaluate(
        measures, scores, labels, group=[M + 1] * (len(scores) // (M + 1)), sampling=probability
    )
    full = dx.evaluate(measures, -np.arange(1.0, N + 1), np.arange(1, N + 1) == rank, group=[N])
    np.testing.assert_allclose(result.corrected["ROCArea"], full["ROCArea"], rtol=1e-12)  # linear in the rank
    of_rank = {"RR": lambda r: Fraction(1, r), "Success@3": lambda r: r <= 3}
    for name, value in of_rank.items():
        np.testing.assert_allclose(result.corrected[name], expected_of_draws(value, rank), rtol=1e-12)
        assert abs(result.corrected[name] - full[name]) <= abs(result[name] - full[name]) + 1e-12


def test_sampled_values_overstate_what_corrected_ones_do_not():
    """Over a law of ranks the correction removes more than half of the difference."""
    means = np.zeros(3)
    for rank, share in ((1, 0.3), (2, 0.2), (4, 0.2), (6, 0.2), (9, 0.1)):
        scores, labels, probability = all_draws(rank)
        groups = [M + 1] * (len(scores) // (M + 1))
        sampled = dx.evaluate("nDCG@5", scores, labels, group=groups, sampling=probability)
        full = dx.evaluate("nDCG@5", -np.arange(1.0, N + 1), np.arange(1, N + 1) == rank, group=[N])
        means += share * np.array([full["nDCG@5"], sampled["nDCG@5"], sampled.corrected["nDCG@5"]])
    assert means[1] - means[0] > 0.15
    assert 0 < means[2] - means[0] < 0.4 * (means[1] - means[0])


def test_a_document_stands_for_as_many_as_it_was_drawn_from():
    rng = np.random.default_rng(0)
    n = 60
    scores, labels = rng.integers(0, 12, n) / 4.0, rng.integers(0, 3, n) * (rng.random(n) < 0.4)
    times = np.where(labels > 0, 1, rng.integers(1, 5, n))
    qid = rng.integers(0, 5, n)
    measures = ["nDCG@5", "AP", "R@4", "RR", "ERR@3"]
    result = dx.evaluate(measures, scores, labels, qid=qid, sampling=1.0 / times)
    copies = [np.repeat(array, times) for array in (scores, labels, qid)]
    expected = dx.evaluate(measures, *copies[:2], qid=copies[2])
    for name in measures:
        np.testing.assert_allclose(result.corrected[name], expected[name], rtol=1e-9)


def test_the_note_is_there_only_where_something_was_drawn():
    result = dx.evaluate("AP", [2, 1], [1, 0], group=[2], sampling=[1.0, 0.25])
    assert "50% of the documents are negatives that were drawn, with probability 0.25: the" in result.note
    none = dx.evaluate("AP", [2, 1], [1, 0], group=[2], sampling=[1.0, 1.0])
    assert (none.note, none.corrected) == ("", dict(none))
    plain = dx.evaluate("AP", [2, 1], [1, 0], group=[2])
    assert (plain.note, plain.corrected) == ("", {})


@pytest.mark.parametrize("sampling", [[1.0], [1.0, 0.0], [1.0, 1.5], [1.0, np.nan], "half"])
def test_what_is_no_probability_is_rejected(sampling):
    with rejects(dx.InputError):
        dx.evaluate("AP", [2, 1], [1, 0], group=[2], sampling=sampling)
