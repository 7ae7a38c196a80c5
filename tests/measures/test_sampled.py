"""Values of lists with drawn negatives, on examples that can be enumerated."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import directrix as dx
from directrix.measures.sampled import estimates_for_full_lists
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


def estimates(names, scores, labels, qptr, probability):
    """The mean of the estimates, also of measures whose ranks the draw does not tell."""
    arrays = np.array(scores), np.array(labels), np.array(qptr), np.array(probability)
    values = estimates_for_full_lists([*map(dx.measure, names)], *arrays)
    return dict(zip(names, map(np.mean, values), strict=True))


@pytest.mark.parametrize("rank", [1, 2, 4, 9])
def test_ranks_are_corrected_on_the_mean_of_all_draws(rank):
    scores, labels, probability = all_draws(rank)
    measures, qptr = ["ROCArea", "RR", "Success@3"], np.arange(0, len(scores) + 1, M + 1)
    result = dx.evaluate(measures, scores, labels, qptr=qptr, sampling=probability)
    corrected = estimates(measures, scores, labels, qptr, probability)
    full = dx.evaluate(measures, -np.arange(1.0, N + 1), np.arange(1, N + 1) == rank, group=[N])
    np.testing.assert_allclose(result.corrected["ROCArea"], full["ROCArea"], rtol=1e-12)  # linear in the rank
    of_rank = {"RR": lambda r: Fraction(1, r), "Success@3": lambda r: r <= 3}
    for name, value in of_rank.items():
        np.testing.assert_allclose(corrected[name], expected_of_draws(value, rank), rtol=1e-12)
        assert abs(corrected[name] - full[name]) <= abs(result[name] - full[name]) + 1e-12


def test_sampled_values_overstate_what_corrected_ones_do_not():
    """Over a law of ranks the correction removes more than half of the difference."""
    means = np.zeros(3)
    for rank, share in ((1, 0.3), (2, 0.2), (4, 0.2), (6, 0.2), (9, 0.1)):
        scores, labels, probability = all_draws(rank)
        qptr = np.arange(0, len(scores) + 1, M + 1)
        sampled = dx.evaluate("nDCG@5", scores, labels, qptr=qptr)["nDCG@5"]
        full = dx.evaluate("nDCG@5", -np.arange(1.0, N + 1), np.arange(1, N + 1) == rank, group=[N])
        corrected = estimates(["nDCG@5"], scores, labels, qptr, probability)["nDCG@5"]
        means += share * np.array([full["nDCG@5"], sampled, corrected])
    assert means[1] - means[0] > 0.15
    assert 0 < means[2] - means[0] < 0.4 * (means[1] - means[0])


def test_a_document_stands_for_as_many_as_it_was_drawn_from():
    rng = np.random.default_rng(0)
    n = 60
    scores, labels = rng.integers(0, 12, n) / 4.0, rng.integers(0, 3, n) * (rng.random(n) < 0.4)
    times = np.where(labels > 0, 1, rng.integers(1, 5, n))
    qid = np.sort(rng.integers(0, 5, n))
    measures, qptr = ["nDCG@5", "AP", "R@4", "RR", "ERR@3"], np.searchsorted(qid, np.arange(6))
    corrected = estimates(measures, scores, labels, qptr, 1.0 / times)
    copies = [np.repeat(array, times) for array in (scores, labels, qid)]
    expected = dx.evaluate(measures, *copies[:2], qid=copies[2])
    for name in measures:
        np.testing.assert_allclose(corrected[name], expected[name], rtol=1e-9)


def lists_of(n, m, n_queries, seed=0):
    """Full lists of a relevant document and n others, and the same with m of them."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_queries, n + 1))
    scores[:, 0] += 2.0
    labels = np.zeros((n_queries, n + 1))
    labels[:, 0] = 1.0
    drawn = {"labels": labels[:, : m + 1].ravel(), "group": [m + 1] * n_queries}
    probability = np.where(drawn["labels"] > 0.0, 1.0, m / n)
    full = {"scores": scores.ravel(), "labels": labels.ravel(), "group": [n + 1] * n_queries}
    return full, {"scores": scores[:, : m + 1].ravel(), **drawn, "sampling": probability}


NAMES = ["nDCG@1", "nDCG@10", "RR", "Success@100", "nDCG", "ROCArea"]


@pytest.mark.parametrize(
    ("m", "told"),
    [
        (15, ["ROCArea"]),
        (60, ["Success@100", "nDCG", "ROCArea"]),
        (150, ["nDCG@10", "RR", "Success@100", "nDCG", "ROCArea"]),
        (270, NAMES),
    ],
)
def test_what_a_draw_does_not_tell_has_no_estimate(m, told):
    """The others are near the values of the full lists."""
    full, drawn = lists_of(300, m, 800)
    expected, result = dx.evaluate(NAMES, **full), dx.evaluate(NAMES, **drawn)
    assert [name for name in NAMES if not np.isnan(result.corrected[name])] == told
    for name in told:
        np.testing.assert_allclose(result.corrected[name], expected[name], rtol=0.25)
    lacking = [name for name in NAMES if name not in told]
    note = (
        f"There is no estimate of {', '.join(lacking)} for all candidates: a drawn negative stands for up to"
    )
    assert (note in result.note) == bool(lacking)


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
