"""The value of every setting equals a loop over documents and over all orders of tied ones."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import directrix as dx
from directrix.reconciliation.material import material_of_run
from directrix.reconciliation.settings import space_of
from directrix.reconciliation.values import compute, precision_of_thresholds

from .naive import naive_value
from .naive import precision_of_thresholds as by_loop


def drawn_queries(seed):
    """A run and qrels with ties, unjudged and missing documents, and queries that one of them lacks."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in "abcdefg":
        docs = [f"d{i}" for i in rng.permutation(9)]
        if query != "f":
            run[query] = {
                doc: float(score) for doc, score in zip(docs[:6], rng.integers(0, 4, 6), strict=True)
            }
        if query != "g":
            highest = 0 if query == "e" else 2
            qrels[query] = {doc: int(rng.integers(0, highest + 1)) for doc in docs[2:]}
    return run, qrels


def as_lists(run, qrels):
    """Queries as `naive_value` takes them: retrieved documents in the order of the run, then the others."""
    queries = []
    for query in dict.fromkeys([*qrels, *run]):
        scores, labels = run.get(query, {}), qrels.get(query, {})
        queries.append([(scores.get(doc), labels.get(doc), doc) for doc in dict.fromkeys([*scores, *labels])])
    return queries


def settings_of(name, run, qrels):
    """The measure of a name, its settings, and their values."""
    measure, material = dx.measure(name), material_of_run(run, qrels)
    space = space_of(measure, material)
    return measure, space, *compute(measure, space, material)


@pytest.mark.parametrize("name", ["nDCG@3", "nDCG", "AP@4", "AP"])
def test_every_setting_equals_the_loops(name):
    run, qrels = drawn_queries(seed=3)
    measure, space, means, _ = settings_of(name, run, qrels)
    queries = as_lists(run, qrels)
    rng = np.random.default_rng(0)
    rows = [0, *rng.choice(len(means), 400, replace=False)]
    settings = [{"k": None, **space.setting(row)} for row in rows]
    checked = 0
    for row, setting in zip(rows, settings, strict=True):
        # the sort of ranx has no loop here; all documents as one query have too many orders
        if setting["ties"] == "ranx" or (setting["ties"] == "expected" and setting["queries"] == "one list"):
            continue
        expected = naive_value(measure.symbol, setting, queries)
        np.testing.assert_allclose(means[row], expected, rtol=1e-12, atol=1e-15, err_msg=str(setting))
        checked += 1
    assert checked > 250


@pytest.mark.parametrize("name", ["nDCG@3", "AP@4"])
def test_each_axis_changes_some_value(name):
    _, space, means, _ = settings_of(name, *drawn_queries(seed=3))
    grid = np.full([len(values) for values in space.axes.values()], np.nan)
    grid[tuple(space.codes.T)] = means
    for column, (axis, values) in enumerate(space.axes.items()):
        first, *others = np.moveaxis(grid, column, 0)
        for value, other in zip(values[1:], others, strict=True):
            assert (np.abs(first - other) > 1e-6).any(), (axis, value)


def test_settings_share_a_signature_only_if_all_queries_have_the_same_value():
    run, qrels = (
        {"x": 3.0, "y": 2.0, "z": 1.0},
        {"a": {"x": 1, "y": 0, "z": 1}, "b": {"x": 0, "y": 1, "z": 0}},
    )
    _, space, _, signatures = settings_of("nDCG@2", {"a": run, "b": run}, qrels)
    assert signatures[space.row_with({"gain": "linear"})] == signatures[0]  # labels are 0 and 1
    assert signatures[space.row_with({"ties": "worst"})] == signatures[0]  # no scores tie
    assert signatures[space.row_with({"discount": "letor3"})] != signatures[0]


def test_the_data_decide_which_switches_there_are():
    plain = material_of_run({"a": {"x": 1.0, "y": 1.0}}, {"a": {"x": 1, "y": 0}})
    assert not space_of(dx.measure("nDCG@2"), plain).axes.keys() & {"queries", "missing", "unjudged"}
    run, qrels = drawn_queries(seed=3)
    axes = space_of(dx.measure("AP"), material_of_run(run, qrels)).axes
    assert axes["queries"] == ("both", "judged", "run", "one list")
    assert axes["rel"] == (1, 2)
    assert axes["denominator"] == ("relevant", "capped", "retrieved")
    assert axes["empty"] == ("zero", "skip", "one")


def test_values_of_queries_that_differ_a_little_differ():
    """(3 + 1/log2(3) + 1/log2(5)) / (3 + 1/log2(3) + 1/2), and the same with 2 for 3: .983 and .978."""
    run, qrels = {"a": {"w": 4.0, "x": 3.0, "y": 2.0, "z": 1.0}}, {"a": {"w": 2, "x": 1, "y": 0, "z": 1}}
    _, space, means, signatures = settings_of("nDCG", run, qrels)
    linear = space.row_with({"gain": "linear"})
    assert abs(means[0] - means[linear]) < 0.006
    assert signatures[0] != signatures[linear]


def test_precision_of_thresholds_equals_a_loop_and_scikit_learn():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 12, 50)
    qptr = np.append(0, np.cumsum(sizes))
    scores, labels = rng.integers(0, 4, qptr[-1]).astype(float), rng.integers(0, 2, qptr[-1]).astype(float)
    scores[rng.random(qptr[-1]) < 0.1] = -np.inf
    got = precision_of_thresholds(scores, labels, qptr, 1.0)
    for q, (first, last) in enumerate(itertools.pairwise(qptr)):
        s, y = scores[first:last], labels[first:last]
        docs = [(score, label, "") for score, label in zip(s, y, strict=True) if score > -np.inf]
        expected = by_loop(docs, y.tolist(), {"rel": 1, "denominator": "relevant"})
        np.testing.assert_allclose(got[q], np.nan if expected is None else expected, rtol=1e-14)
        if y.any() and np.isfinite(s).all():
            np.testing.assert_allclose(got[q], average_precision_score(y, s), rtol=1e-12)
