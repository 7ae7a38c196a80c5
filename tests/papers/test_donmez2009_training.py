"""The experiments of Donmez et al. (2009): data, trainings epoch by epoch, effective pairs, entries."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from directrix.data.queries import Queries
from directrix.experiments.significance import paired_t
from directrix.measures.names import measure
from directrix.objectives.objective import make_objective
from directrix.papers.donmez2009 import Donmez2009
from directrix.papers.donmez2009_training import (
    CONSTRUCTIONS,
    EVERY_CHANGE,
    Artificial,
    Sized,
    artificial,
    equal_pairs,
    lambda_for,
    measures_of,
    model_of,
    n_pairs,
    random_weights,
    sized,
    watch,
)
from directrix.papers.workspace import Collection
from directrix.surrogates.lambdas import Lambda
from directrix.trainers.stochastic import SGD
from tests.experiments.letor_folder import letor_folder

SIZE = Artificial(
    n_features=4, docs_per_query=8, n_monomials=34, n_train=6, n_valid=5, n_test=7, sizes=(3, 9)
)
SETTINGS = Donmez2009(rates=(0.1,), epochs=8, patience=3, hidden=3, artificial=SIZE, large=None)


@pytest.fixture(scope="module")
def split():
    return artificial(SIZE, 0)[0]


def test_training_queries_of_all_sizes_begin_alike_and_are_tested_on_the_same():
    split, larger = artificial(SIZE, 0)
    parts = [
        (part.n_queries, part.n_features) for part in (split.train, split.valid, split.test, larger.train)
    ]
    assert parts == [(6, 4), (5, 4), (7, 4), (9, 4)]
    assert_array_equal(split.train.features, larger.train.features[: split.train.n_docs])
    assert larger.test is split.test
    assert larger.valid is split.valid


def test_artificial_data_need_no_folder(tmp_path):
    collections = SETTINGS.read(tmp_path)
    assert list(collections) == ["artificial"]
    measures = measures_of(collections["artificial"])
    assert list(measures.values()) == ["nDCG", "nDCG@10", "AP(rel=2)", "RR(rel=2)"]


def test_as_many_folds_of_each_collection_are_kept(tmp_path):
    for name in ("MQ2008", "OHSUMED"):
        letor_folder(tmp_path / "letor" / name)
    collections = Donmez2009(folds=2, artificial=SIZE, large=None).read(tmp_path)
    assert {name: len(one.splits) for name, one in collections.items()} == {
        "OHSUMED": 2,
        "MQ2008": 2,
        "artificial": 1,
    }
    assert measures_of(collections["OHSUMED"])["RR"] == "RR"


@pytest.mark.parametrize("name", ["linear", "mlp"])
def test_recorded_values_are_those_of_sgd(split, name):
    model = model_of(name, SETTINGS)
    seen = watch(split, Lambda("AP(rel=2)"), model, 0.1, SETTINGS)
    start = random_weights(model, 4, 0)
    assert len(start) == (4 if name == "linear" else 4 * 3 + 3 + 3)
    trainer = SGD(
        learning_rate=0.1, epochs=7, shrink=0.8, shrink_chance=0.3, restart_after=50, random_state=0
    )
    objective = make_objective(split.train, Lambda("AP(rel=2)"), model)
    seventh = trainer.minimize(objective, start).params
    assert_array_equal(seen.early[7], seventh)
    for name, part in (("train", split.train), ("valid", split.valid)):
        scores = make_objective(part, Lambda("AP(rel=2)"), model).scores(seventh).astype(np.float64)
        expected = measure("AP(rel=2)")(scores, part.labels, part.qptr).mean()
        assert_allclose(seen.values[name][7], expected, rtol=1e-12, atol=0.0)
        assert seen.best[name][0] == int(np.argmax(seen.values[name]))
        assert seen.highest(name) == max(seen.values[name])
        assert len(seen.values[name]) == len(seen.pairs) == 9


def test_a_training_stops_after_patience_epochs_without_a_better_validation_value(split):
    settings = Donmez2009(epochs=200, patience=3, artificial=SIZE)
    trained = split, Lambda("nDCG"), model_of("linear", settings), 0.1, settings
    seen = watch(*trained, stops_early=True)
    assert len(seen.pairs) - 1 - seen.best["valid"][0] == 3 < 200
    assert len(watch(*trained).pairs) == 201


def test_a_training_restarts_after_50_epochs_of_one_validation_value(split):
    """Where all labels are alike no ranking is better than another; the training value moves all the time."""
    q = split.valid
    alike = Queries.from_arrays(q.features, np.ones(q.n_docs), group=np.diff(q.qptr))
    settings = Donmez2009(epochs=104, artificial=SIZE)
    seen = watch(replace(split, valid=alike), Lambda("nDCG"), model_of("linear", settings), 0.1, settings)
    assert seen.restarts == 2
    assert len(set(seen.values["train"][:51])) > 1


def test_a_training_begins_at_given_weights(split):
    start = np.array([1.0, 0.0, 0.0, 0.0])
    model, surrogate = model_of("linear", SETTINGS), Lambda("nDCG")
    seen = watch(split, surrogate, model, 0.1, SETTINGS, start=start)
    scores = make_objective(split.train, surrogate, model).scores(start).astype(np.float64)
    first = measure("nDCG")(scores, split.train.labels, split.train.qptr).mean()
    assert_allclose(seen.values["train"][0], first, rtol=1e-12, atol=0.0)


def test_pairs_are_those_of_different_labels(split):
    q = split.train
    graded = binary = 0
    for lo, hi in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        for a, b in combinations(q.labels[lo:hi], 2):
            graded += a != b
            binary += (a >= 2) != (b >= 2)
    assert (n_pairs(q), n_pairs(q, rel=2)) == (graded, binary)
    assert graded > binary > 0


def test_ndcg_learns_from_every_pair_of_different_labels(split):
    net = model_of("linear", SETTINGS)
    seen = watch(split, lambda_for("nDCG"), net, 0.1, SETTINGS)
    assert set(seen.pairs) == {n_pairs(split.train)}
    assert seen.changing == []
    for_ap = watch(split, lambda_for("AP(rel=2)"), net, 0.1, SETTINGS)
    assert set(for_ap.pairs) == {n_pairs(split.train, rel=2)}


def test_both_counts_of_pairs_are_kept_for_rr(split):
    """Of Eq. (11): relevant times irrelevant documents above the first relevant one."""
    net, q = model_of("linear", SETTINGS), split.train
    seen = watch(split, lambda_for("RR(rel=2)"), net, 0.1, SETTINGS)
    scores, literal, changing = q.features @ seen.early[7], 0, 0
    for lo, hi in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        relevant = (q.labels[lo:hi] >= 2)[np.argsort(-scores[lo:hi], kind="stable")]
        if relevant.any():
            first = int(np.argmax(relevant))
            literal += first * int(relevant.sum())
            changing += int((~relevant[first:]).sum())
    assert (seen.pairs[7], seen.changing[7]) == (literal, literal + changing)
    assert changing > 0


@pytest.mark.parametrize(("name", "pairs"), [("ranknet-weight-pairs", "misranked"), ("spring-smooth", "all")])
def test_lambdas_for_rr_are_those_of_equation_11(name, pairs):
    assert lambda_for("RR(rel=2)", name) == Lambda("RR(rel=2)", name, pairs=pairs)
    assert lambda_for("AP", name) == Lambda("AP", name)
    assert lambda_for("RR", EVERY_CHANGE) == Lambda("RR")


def test_trainings_on_about_as_many_pairs_are_compared_on_the_matched_measure():
    rng = np.random.default_rng(0)

    def one(size, trained, pairs):
        return Sized(size, trained, pairs, {"RR": rng.random(20), "nDCG": rng.random(20)})

    runs = [one(10, "nDCG", 1000.0), one(40, "nDCG", 4000.0), one(10, "RR", 500.0), one(80, "RR", 1200.0)]
    # 500 and 1,000 pairs differ by a factor of two.
    ((matched, other, test),) = equal_pairs(runs, "RR")
    assert (other.trained, matched.size, other.size) == ("nDCG", 80, 10)
    assert (matched.pairs, other.pairs) == (1200.0, 1000.0)
    assert test == paired_t(runs[3].test["RR"], runs[0].test["RR"])
    difference = matched.mean("RR") - other.mean("RR")
    assert_allclose(difference, test.difference, rtol=1e-12, atol=1e-15)


def test_sizes_ascend_within_a_measure():
    cells = {
        ("size", n, m): {"pairs": 1.0, "test": {"RR": [0.5]}}
        for n, m in ((9, "nDCG"), (9, "RR"), (3, "nDCG"), (3, "RR"))
    }
    runs = sized(cells)
    assert [(run.trained, run.size) for run in runs] == [("nDCG", 3), ("nDCG", 9), ("RR", 3), ("RR", 9)]
    assert runs[0].mean("RR") == 0.5


def test_rr_is_also_trained_with_every_change(split):
    found = SETTINGS.entries(Collection("artificial", (split,), rel=2))
    of_rr = [one.settings for one in found if one.measure == "RR(rel=2)" and one.method == "LambdaRank-MLP"]
    assert [one["pairs"] for one in of_rr if one["construction"] == CONSTRUCTIONS[0]] == ["misranked", "all"]
    assert {one.settings["pairs"] for one in found if not one.measure.startswith("RR")} == {"all"}


def test_every_construction_is_compared_for_three_measures_and_both_nets_for_all(split):
    found = SETTINGS.entries(Collection("artificial", (split,), rel=2))
    usual = [entry for entry in found if entry.settings["construction"] == "ranknet-weight-pairs"]
    assert [(entry.method, entry.measure) for entry in usual] == [
        (method, name)
        for method in ("LambdaRank", "LambdaRank-MLP")
        for name in ("nDCG", "nDCG@10", "AP(rel=2)", "RR(rel=2)", "RR(rel=2)")
    ]
    others = [entry for entry in found if entry not in usual]
    assert {(entry.measure, entry.settings["construction"]) for entry in others} == {
        (name, construction)
        for name in ("nDCG", "AP(rel=2)", "RR(rel=2)")
        for construction in CONSTRUCTIONS[1:]
    }
    assert {entry.method for entry in others} == {"LambdaRank-MLP"}
    assert all(entry.settings["epochs"] == 8 for entry in found)
    assert all(
        entry.settings.get("hidden") == ((3,) if entry.method == "LambdaRank-MLP" else None)
        for entry in found
    )
