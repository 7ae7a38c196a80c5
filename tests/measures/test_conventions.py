"""Conventions as values, and what they change."""

import re

import numpy as np
import pytest

import directrix as dx


def test_under_sets_every_field_that_the_measure_has():
    assert dx.NDCG(k=10).under("trec_eval") == dx.NDCG(k=10, gain="linear", ties="trec")
    assert dx.NDCG(k=10).under("letor3") == dx.NDCG(k=10, discount="letor3", ties="order")
    assert dx.NDCG(k=10).under("letor4") == dx.NDCG(k=10, ties="order")
    assert dx.NDCG().under("catboost") == dx.NDCG(gain="linear", ties="worst", empty="one")
    assert dx.AP(k=5).under("lightgbm") == dx.AP(k=5, denominator="capped", ties="order", empty="one")
    assert dx.AP(k=5).under("xgboost") == dx.AP(k=5).under("lightgbm")
    assert dx.RR().under("lightgbm") == dx.RR(ties="order")
    assert dx.Precision(k=5).under("trec_eval") == dx.Precision(k=5, ties="trec")
    assert dx.ERR(k=20).under("gdeval") == dx.ERR(k=20, l_max=4, ties="trec")
    assert dx.KendallTau().under("ranx") == dx.KendallTau()


@pytest.mark.parametrize("name", dx.conventions())
def test_every_convention_applies_to_every_measure_and_settles(name):
    for text in (
        "nDCG@10",
        "DCG",
        "AP",
        "RR",
        "P@5",
        "R@5",
        "Success@5",
        "Rprec",
        "ERR@20",
        "RBP",
        "ROCArea",
        "tau",
    ):
        once = dx.measure(text).under(name)
        assert once.under(dx.convention(name)) == once
        assert dx.measure(repr(once)) == once


def test_a_convention_of_ones_own():
    mine = dx.Convention("mine", (("gain", "linear"),), (("AP", (("empty", "skip"),)),))
    assert dx.NDCG(k=3).under(mine) == dx.NDCG(k=3, gain="linear")
    assert dx.AP().under(mine) == dx.AP(empty="skip")
    assert hash(mine) == hash(dx.Convention("mine", (("gain", "linear"),), (("AP", (("empty", "skip"),)),)))


def test_unknown_names_are_told_the_presets():
    with pytest.raises(dx.InputError, match=re.escape('Did you mean "trec_eval"?')):
        dx.convention("treceval")
    with pytest.raises(dx.InputError, match="the presets are trec_eval, gdeval, letor3"):
        dx.convention("none of these")
    assert dx.convention("TREC-eval") is dx.convention("trec_eval")


def test_a_value_that_the_measure_cannot_take_leaves_the_field_alone():
    """IPrec has no expectation over ties, so it keeps its order under a tool that takes one."""
    assert dx.IPrec(recall=0.5).under("sklearn") == dx.IPrec(recall=0.5)
    assert dx.IPrec(recall=0.5).under("lightgbm") == dx.IPrec(recall=0.5, ties="order")


def test_all_conventions_at_once():
    scores, labels = [3.0, 2.0, 1.0, 1.0], [0, 2, 1, 0]
    found = dx.evaluate_conventions(["nDCG@3", "AP"], scores, labels, doc_ids=["a", "b", "c", "d"])
    assert tuple(found) == ("directrix", *dx.conventions())
    ideal = 3 + 1 / np.log2(3)
    np.testing.assert_allclose(
        found["lightgbm"]["nDCG@3"], (3 / np.log2(3) + 1 / 2) / ideal, rtol=1e-15, atol=0
    )
    np.testing.assert_allclose(found["letor3"]["nDCG@3"], (3 + 1 / np.log2(3)) / (3 + 1), rtol=1e-15, atol=0)
    # d stands before c: ids descend
    np.testing.assert_allclose(found["gdeval"]["nDCG@3"], 3 / np.log2(3) / ideal, rtol=1e-15, atol=0)
    np.testing.assert_allclose(
        found["trec_eval"]["nDCG@3"], 2 / np.log2(3) / (2 + 1 / np.log2(3)), rtol=1e-15, atol=0
    )


def test_tools_that_need_ids_are_left_out_without_them():
    found = dx.evaluate_conventions("AP", [2.0, 1.0], [0, 1])
    assert set(dx.conventions()) - set(found) == {"trec_eval", "gdeval"}


@pytest.mark.parametrize(("empty", "value"), [("zero", 0.0), ("one", 1.0), ("skip", np.nan)])
@pytest.mark.parametrize(
    "name", ["nDCG", "AP", "RR", "P@2", "R@2", "Success@2", "Rprec", "ERR", "RBP", "IPrec@0.5"]
)
def test_a_query_without_relevant_documents(name, empty, value):
    m = dx.measure(f"{name.split('@')[0]}(empty={empty})" + (f"@{name.split('@')[1]}" if "@" in name else ""))
    got = m([3.0, 2.0, 1.0, 5.0], [0, 0, 0, 4], [0, 3, 4])
    assert got[1] > 0
    np.testing.assert_array_equal(got[0], value)


def test_relevant_below_rel_is_not_relevant():
    assert dx.AP(rel=2, empty="one")([1.0], [1.0], [0, 1]) == [1.0]
    assert dx.ERR(empty="one")([-np.inf, 1.0], [3.0, 0.0], [0, 2]) == [0.0]
