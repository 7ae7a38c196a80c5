"""Matching of measures: by hand, and against trainings one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from directrix.data.synthetic import make_cubic
from directrix.errors import InputError
from directrix.experiments.crossval import Entry
from directrix.experiments.measure_matching import Matching, matching
from directrix.experiments.splits import k_fold_splits
from directrix.measures.names import measure
from directrix.rankers.methods import method

VALUES = {
    "nDCG": {"nDCG": [0.9, 0.8, 0.7], "AP": [0.4, 0.4, 0.4]},
    "AP": {"nDCG": [0.8, 0.8, 0.8], "AP": [0.5, 0.6, 0.7]},
    "baseline": {"nDCG": [0.5, 0.5, 0.5], "AP": [0.5, 0.6, 0.7]},
}


def test_a_line_has_the_mean_its_error_and_the_difference_to_the_matched_training():
    found = Matching(VALUES).match("AP", "nDCG")
    assert_allclose(found.mean, 0.4, rtol=1e-12, atol=0.0)
    assert np.isnan(found.error)  # of three equal values
    assert_allclose(found.difference, 0.4 - 0.6, rtol=1e-12, atol=0.0)
    # t of -.1 -.2 -.3 = -.2 / (.1 / sqrt(3)) = -2 sqrt(3); 2 degrees of freedom, so p = 1 - t / sqrt(2 + t^2)
    assert_allclose(found.p, 1.0 - np.sqrt(12.0) / np.sqrt(2.0 + 12.0), rtol=1e-9, atol=0.0)
    assert not found.is_significant


def test_the_error_is_the_deviation_with_one_degree_less_over_the_root_of_the_queries():
    assert_allclose(Matching(VALUES).match("AP", "AP").error, 0.1 / np.sqrt(3.0), rtol=1e-12, atol=0.0)


def test_the_matched_training_has_no_p_and_goes_before_its_equals():
    found = Matching(VALUES)
    assert found.match("AP", "AP").p is None
    assert not found.match("AP", "AP").is_significant
    assert found.match("AP", "baseline").p == 1.0
    assert found.best("AP") == "AP"
    assert found.targets == ("nDCG", "AP")
    assert found.trained == ("nDCG", "AP", "baseline")
    assert [(row.target, row.trained) for row in found.rows[:3]] == [
        ("nDCG", "nDCG"),
        ("nDCG", "AP"),
        ("nDCG", "baseline"),
    ]


def test_the_best_training_may_be_another():
    better = {**VALUES, "nDCG": {"nDCG": [0.9, 0.8, 0.7], "AP": [0.9, 0.9, 0.9]}}
    assert Matching(better).best("AP") == "nDCG"


def test_significant_is_below_five_percent():
    values = {name: {"AP": np.arange(8.0) + shift} for name, shift in (("AP", 0.0), ("other", 1.0))}
    assert Matching(values).match("AP", "other").is_significant


def test_undefined_queries_do_not_count():
    values = {
        "AP": {"AP": [np.nan, 0.5, 0.6, 0.7]},
        "other": {"AP": [np.nan, 0.4, 0.4, 0.4]},
    }
    found = Matching(values).match("AP", "other")
    assert_allclose([found.mean, found.difference], [0.4, -0.2], rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"AP": {"AP": [1.0, 2.0]}, "RR": {"RR": [1.0, 2.0]}}, r"training 'AP' .*'RR': \(\)"),
        ({"AP": {"AP": 1.0}}, r"shapes \{'AP': \(\)\}; one value per query"),
    ],
)
def test_what_cannot_be_matched_is_named(values, said):
    with pytest.raises(InputError, match=said):
        Matching(values)


def test_trainings_are_those_of_the_method_on_every_fold(tmp_path):
    splits = k_fold_splits(make_cubic(24, 8, 4, n_monomials=20, seed=1), 3)
    settings = {"epochs": 4, "learning_rate": 0.1}
    found = matching(
        splits,
        ["AP(rel=2)", "nDCG"],
        path=tmp_path / "cells.jsonl",
        settings=settings,
        baselines=[Entry("Regression", "Regression")],
    )
    assert found.targets == ("AP(rel=2)", "nDCG")
    assert found.trained == ("AP(rel=2)", "nDCG", "Regression")
    for trained, tested in (("AP(rel=2)", "nDCG"), ("nDCG", "AP(rel=2)")):
        goal, target = measure(trained), measure(tested)
        expected = []
        for split in splits:
            ranker = method("LambdaRank").ranker(measure=goal, random_state=0, **settings)
            ranker.fit_queries(split.train, split.valid, measure=goal)
            test = split.test
            expected.append(target(ranker.predict_queries(test), test.labels, test.qptr))
        assert_allclose(found.values[trained][tested], np.concatenate(expected), rtol=1e-12, atol=0.0)
