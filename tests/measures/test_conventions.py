"""Conventions as values, and what they change."""

import re

import numpy as np
import pytest

import directrix as dx
from directrix.measures.names import measures
from directrix.measures.precision import IPrec
from tests.messages import rejects


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


@pytest.mark.parametrize("name", dx.measures.conventions())
def test_every_convention_applies_to_every_measure_and_settles(name):
    for text in (*measures(), "nDCG@10", "P@5"):
        once = dx.measure(text).under(name)
        assert once.under(dx.convention(name)) == once
        assert dx.measure(repr(once)) == once


def test_a_convention_of_ones_own():
    mine = dx.measures.Convention("mine", (("gain", "linear"),), (("AP", (("empty", "skip"),)),))
    assert dx.NDCG(k=3).under(mine) == dx.NDCG(k=3, gain="linear")
    assert dx.AP().under(mine) == dx.AP(empty="skip")
    assert hash(mine) == hash(
        dx.measures.Convention("mine", (("gain", "linear"),), (("AP", (("empty", "skip"),)),))
    )


def test_unknown_names_are_told_the_presets():
    with pytest.raises(dx.InputError, match=re.escape('Did you mean "trec_eval"?')):
        dx.convention("treceval")
    with rejects(dx.InputError):
        dx.convention("none of these")
    assert dx.convention("TREC-eval") is dx.convention("trec_eval")


def test_a_value_that_the_measure_cannot_take_leaves_the_field_alone():
    """IPrec has no expectation over ties, so it keeps its order under a tool that takes one."""
    assert IPrec(recall=0.5).under("sklearn") == IPrec(recall=0.5)
    assert IPrec(recall=0.5).under("lightgbm") == IPrec(recall=0.5, ties="order")


def test_all_conventions_at_once():
    scores, labels = [3.0, 2.0, 1.0, 1.0], [0, 2, 1, 0]
    found = dx.experiments.evaluate_conventions(
        ["nDCG@3", "AP"], scores, labels, doc_ids=["a", "b", "c", "d"], group=[len(labels)]
    )
    assert tuple(found) == ("default", *dx.measures.conventions())
    assert tuple(found["letor4"]) == ("nDCG@3", "AP")
    assert [tool for tool in found if "AP" not in found[tool]] == ["gdeval", "sklearn"]
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
    found = dx.experiments.evaluate_conventions(["AP", "nDCG@1"], [2.0, 2.0], [0, 1], group=[2])
    assert set(dx.measures.conventions()) - set(found) == {"trec_eval", "gdeval"}
    need = "ties are broken by document id, some documents tie, and they have no ids"
    assert found.left_out["trec_eval"] == {"AP": need, "nDCG@1": need}
    assert found.left_out["gdeval"] == {"AP": "not in gdeval: prints nDCG@k and ERR@k only", "nDCG@1": need}


def test_tools_that_need_no_ids_are_kept_without_them():
    result = dx.experiments.evaluate_conventions(["AP", "nDCG@1"], [2.0, 1.0], [0, 1], group=[2])
    assert set(dx.measures.conventions()) <= set(result)
    assert "trec_eval" not in result.left_out


def test_no_number_stands_under_the_name_of_a_tool_that_does_not_print_it():
    """AP of scikit-learn and of gdeval: the one counts tied groups otherwise, the other has none."""
    found = dx.experiments.evaluate_conventions(
        [dx.AP(), "RR"], [1.0, 1.0], [0, 1], doc_ids=["a", "b"], group=[2]
    )
    assert list(found) == [
        "default",
        "trec_eval",
        "letor3",
        "letor4",
        "lightgbm",
        "xgboost",
        "catboost",
        "ranx",
    ]
    assert list(found["default"]) == ["AP", "RR"]
    assert list(found["lightgbm"]) == ["AP"]
    assert found.left_out["sklearn"]["AP"].startswith("not in sklearn: ndcg_score, dcg_score")
    assert "counts all of a tied group as retrieved together" in found.left_out["sklearn"]["AP"]
    assert "ranx" not in found.left_out


@pytest.mark.parametrize(
    ("tool", "text", "has"),
    [
        ("trec_eval", "RR", True),
        ("trec_eval", "RR@10", False),
        ("trec_eval", "IPrec@0.5", True),
        ("trec_eval", "ERR@20", False),
        ("gdeval", "nDCG@20", True),
        ("gdeval", "nDCG", False),
        ("letor3", "AP", True),
        ("letor3", "AP@10", False),
        ("ranx", "RBP", False),
        ("sklearn", "KendallTau", False),
    ],
)
def test_what_a_tool_has(tool, text, has):
    assert dx.convention(tool).has(dx.measure(text)) is has


def test_every_name_in_a_convention_is_the_name_of_a_measure():
    """A slip there would take a measure away from a tool."""
    for tool in map(dx.convention, dx.measures.conventions()):
        assert set(tool.measures) <= {name + at for name in measures() for at in ("", "@")}


def test_a_measure_that_the_tool_lacks_is_evaluated_with_a_warning():
    with pytest.warns(
        UserWarning, match=r"sklearn has no AP, RR \(ndcg_score.*use evaluate_conventions"
    ) as seen:
        found = dx.evaluate(["AP", "nDCG", "RR"], [2.0, 1.0], [0, 1], convention="sklearn", group=[2])
    assert [w.filename for w in seen] == [__file__]
    assert found["AP"] == 1 / 2
    mine = dx.measures.Convention("mine", (("gain", "linear"),))
    assert dx.evaluate("AP", [2.0, 1.0], [0, 1], convention=mine, group=[2]) == {"AP": 1 / 2}


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
