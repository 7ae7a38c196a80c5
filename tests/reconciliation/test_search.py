"""The settings that give a number: by hand, by brute force over all pairs, and for numbers of tools."""

import itertools
import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score

import directrix as dx
from directrix.reconciliation.material import material_of_arrays
from directrix.reconciliation.search import reconcile
from directrix.reconciliation.settings import space_of
from directrix.reconciliation.values import compute
from directrix.registry import MEASURES, classes
from tests.messages import rejects


def ranking(n_queries=12, n_docs=9, seed=0):
    """Scores with ties, labels 0-3, one query without relevant documents."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, (n_queries, n_docs)) * (rng.random((n_queries, n_docs)) < 0.5)
    labels[0] = 0
    scores = (rng.standard_normal((n_queries, n_docs)) + 0.5 * labels).round(1)
    qid = np.repeat(np.arange(n_queries), n_docs)
    return {"scores": scores.ravel(), "labels": labels.ravel().astype(float), "qid": qid}


def ids(data, name="D{:03}"):
    return np.array([name.format(i) for i in np.random.default_rng(1).permutation(len(data["scores"]))])


def printed_to(value, decimals):
    return f"{value:.{decimals}f}"


NAMES = ("nDCG@5", "nDCG", "DCG@5", "AP", "AP@4", "RR", "P@3", "R@4", "Rprec", "ERR@5")
OF_TOOLS = [(n, t) for t in dx.measures.conventions() for n in NAMES if dx.convention(t).has(dx.measure(n))]


@pytest.mark.parametrize(("name", "tool"), OF_TOOLS)
def test_a_number_of_every_convention_is_found(name, tool):
    data = ranking()
    data["doc_ids"] = ids(data)
    value = dx.evaluate(name, **data, convention=tool)[name]
    found = reconcile(printed_to(value, 6), name, **data)
    assert any(tool in match.tools for match in found.matches)
    assert dict((t, v) for t, v, _ in found.tools)[tool] == pytest.approx(value, rel=1e-12)


def test_numbers_of_scikit_learn():
    data = ranking()
    scores, labels = (data[name].reshape(12, 9) for name in ("scores", "labels"))
    for k in (3, 5, None):
        name = "nDCG" if k is None else f"nDCG@{k}"
        for score, measure in ((ndcg_score, name), (dcg_score, name.removeprefix("n"))):
            found = reconcile(printed_to(score(labels, scores, k=k), 5), measure, **data)
            assert "sklearn" in found.matches[0].tools


def test_the_switches_of_a_number_are_the_fewest():
    """A number made with two known switches is found with at most two, and with the two among the matches."""
    data = ranking(n_queries=40)
    value = dx.evaluate(dx.NDCG(k=6, gain="linear"), **data)
    (number,) = value.values()
    found = reconcile(printed_to(number, 7), "nDCG@5", **data)
    assert [{s.name: s.after for s in match.switches} for match in found.matches] == [
        {"k": 6, "gain": "linear"}
    ]
    assert found.matches[0].tools == ()
    assert found.matches[0].nearest_tools == ("sklearn",)
    assert [(s.name, s.before, s.after) for s in found.matches[0].from_tool] == [("k", 5, 6)]
    assert "no tool gives it by default; sklearn with cut-off: 6 instead of 5 does" in found.answer[0]


def test_the_way_between_two_numbers_is_the_shortest_of_all_pairs():
    data, measure = ranking(), dx.measure("nDCG@5")
    material = material_of_arrays(**data)
    space = space_of(measure, material)
    means, _ = compute(measure, space, material)
    rng = np.random.default_rng(0)
    for first, last in rng.choice(len(means), (8, 2)):
        numbers = [printed_to(means[row], 3) for row in (first, last)]
        ends = [np.flatnonzero(np.abs(means - float(text)) <= 5e-4 + 1e-12) for text in numbers]
        expected = min(int((space.codes[a] != space.codes[b]).sum()) for a, b in itertools.product(*ends))
        between = reconcile(numbers[1], measure, **data, start=numbers[0]).between
        assert between.is_exact
        assert len(between.switches) == expected
        changed = {name for name, value in between.before.items() if between.after[name] != value}
        assert {s.name for s in between.switches} == changed


def test_the_persistence_of_trec_eval_is_a_switch():
    data = ranking() | {"doc_ids": ids(ranking())}
    value = dx.evaluate("RBP(p=0.9)", **data, convention="trec_eval")["RBP(p=0.9)"]
    (match,) = [m for m in reconcile(printed_to(value, 6), "RBP", **data).matches if "trec_eval" in m.tools]
    assert {switch.short for switch in match.switches} == {"p=0.9", "ties=trec"}


def test_without_a_match_the_nearest_setting_is_named():
    found = reconcile("0.0123", "nDCG@5", **ranking(), start="0.0100")
    assert found.matches == ()
    assert found.n_matches == 0
    assert found.distance == pytest.approx(found.nearest.value - 0.01235)
    assert found.answer[0].startswith("None of ")
    assert not found.between.is_exact
    assert "nearest to them" in found.answer[-1]
    assert found.tables()[0].title == "The setting nearest to nDCG@5 = 0.0123"


def test_decimals_that_are_cut_off_are_a_last_resort():
    data = {"scores": [3.0, 2.0, 1.0], "labels": [0, 1, 1], "group": [3]}  # P@3 = 2/3
    found = reconcile("0.6666", "P@3", **data)
    assert found.is_cut
    assert found.matches[0].switches == ()
    assert not reconcile("0.6667", "P@3", **data).is_cut


def test_data_that_cannot_tell_settings_apart_are_called_so():
    found = reconcile("1.0", "nDCG@5", [2.0, 1.0], [1, 0], group=[2])
    assert found.n_matches > 10
    assert len(found.matches) == 1
    assert found.matches[0].n_settings == found.n_matches
    assert any("these data cannot tell them apart" in text for text in found.answer)
    assert {"gain", "ties", "empty"} <= set(found.matches[0].free)


def test_frames_and_files_and_arrays_give_the_same(tmp_path):
    run = {"1": {"a": 3.0, "b": 2.0}, "2": {"a": 1.0, "c": 0.5}}
    qrels = {"1": {"a": 0, "b": 1}, "2": {"c": 2, "d": 1}}
    for name, given, tail in (("run", run, " x"), ("qrels", qrels, "")):
        lines = [
            f"{q} Q0 {d} {'0 ' * bool(tail)}{v}{tail}\n" for q, of in given.items() for d, v in of.items()
        ]
        (tmp_path / name).write_text("".join(lines))
    by_dict = reconcile("0.5000", "RR", run=run, qrels=qrels).to_dict()
    assert by_dict == reconcile("0.5000", "RR", run=tmp_path / "run", qrels=tmp_path / "qrels").to_dict()
    scores, labels = [3.0, 2.0, 1.0, 0.5, -np.inf], [0, 1, np.nan, 2, 1]
    arrays = reconcile("0.5000", "RR", scores, labels, qid=[1, 1, 2, 2, 2], doc_ids=list("abacd"))
    assert (arrays.value, arrays.n_matches) == (by_dict["value"], by_dict["matching"])


def test_the_result_is_json_and_text_and_progress_is_reported():
    calls, data = [], {"scores": [2.0, 1.0], "labels": [1, 0], "group": [2]}
    found = reconcile("1.0", dx.NDCG(k=2), **data, start="1.0", progress=lambda *call: calls.append(call))
    assert calls
    assert all(done < total for done, total, _ in calls)
    assert json.loads(json.dumps(found.to_dict()))["matches"][0]["switches"] == []
    assert "nDCG@2 by default" in str(found)
    assert found.between.switches == ()


def test_the_convention_is_where_switches_are_counted_from():
    data = ranking()
    value = dx.evaluate("nDCG@5", **data, convention="lightgbm")["nDCG@5"]
    assert reconcile(printed_to(value, 6), "nDCG@5", **data, convention="lightgbm").matches[0].switches == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {"scores": [1.0], "labels": None},
        {"scores": [1.0], "labels": [1, 0]},
        {"scores": [1.0, 0.0], "labels": [1, 0]},
        {"scores": [1.0, np.inf], "labels": [1, 0], "group": [2]},
        {"scores": [1.0, np.nan], "labels": [1, 0], "group": [2]},
        {"scores": [], "labels": [], "group": []},
        {"scores": [1.0], "labels": [1], "qid": [1], "group": [1]},
        {"scores": [1.0], "labels": [1], "run": {}, "qrels": {}},
        {"run": {"1": {"a": 1.0}}},
        {"scores": [-np.inf], "labels": [1], "group": [1]},
        {"scores": [1.0], "labels": [np.nan], "group": [1]},
        # ROC area needs documents of different labels, and ties by ids need ids
        {"measure": "ROCArea", "scores": [1.0, 2.0], "labels": [1, 1], "group": [2]},
        {"measure": dx.NDCG(ties="trec"), "scores": [1.0, 1.0], "labels": [1, 0], "group": [2]},
    ],
)
def test_data_that_cannot_be_used_are_rejected(arguments):
    with rejects(dx.InputError):
        reconcile("0.5", **{"measure": "nDCG@5"} | arguments)


def test_rows_of_queries_may_be_in_any_order():
    data = ranking()
    data["doc_ids"] = ids(data, "D{}")
    # another order of the queries' rows, with the rows of each query in their order
    mixed = np.argsort(np.tile(np.arange(9), 12), kind="stable")
    expected = reconcile("0.6", "nDCG@5", **data)
    got = reconcile("0.6", "nDCG@5", **{name: values[mixed] for name, values in data.items()})
    assert got.tools == expected.tools
    assert got.n_matches == expected.n_matches


def test_xgboost_cuts_off_at_32_where_no_cut_off_is_given():
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal(50), rng.integers(0, 3, 50)
    value = dx.evaluate(dx.NDCG(k=32), scores, labels, group=[len(labels)])["nDCG@32"]
    found = reconcile(printed_to(value, 6), "nDCG", scores, labels, group=[len(labels)])
    assert set(found.matches[0].tools) == {"xgboost", "xgboost NAME-"}
    tools = {name: value for name, value, _ in reconcile("0", "nDCG@31", scores, labels, group=[50]).tools}
    assert tools["xgboost"] == tools["lightgbm"]
    short = reconcile("1.0", "nDCG", [2.0, 1.0], [1, 0], group=[2])
    assert {"xgboost", "lightgbm"} <= set(short.matches[0].tools)
    # all documents are judged, and all queries ranked
    assert not {"trec_eval -c", "trec_eval -J"} & {name for name, _, _ in short.tools}


def test_no_setting_is_tried_twice_under_two_names():
    """The ideal DCG of a whole list is that of the whole list."""
    space = space_of(dx.measure("nDCG@3"), material_of_arrays([3.0, 2.0, 1.0, 0.0], [0, 1, 2, 0], group=[4]))
    settings = [space.setting(row) for row in range(len(space.codes))]
    assert not [s for s in settings if s["k"] is None and s["ideal"] == "whole list"]
    assert len({tuple(s.values()) for s in settings}) == len(settings)
    assert all(space.row_with(s) == row for row, s in enumerate(settings))


@pytest.mark.parametrize(
    ("number", "measure", "labels"),
    [
        ("66.67", "P@3", [0, 1, 1]),
        ("1.0", "nDCG@1", [1, 0]),  # the first rank has no cut-off below it
        ("0.5000", "GMAP", [0, 1]),  # the exponential of a mean of logarithms, which are at most 0
        ("2", "NumRel", [1, 1]),
        ("1.0", dx.NDCG(ties="trec"), [1, 0]),  # no documents tie, so no ids are needed
    ],
)
def test_the_measure_as_it_was_given_needs_no_switch(number, measure, labels):
    scores = -np.arange(len(labels), dtype=float)
    found = reconcile(number, measure, scores, labels, group=[len(labels)])
    assert found.matches[0].switches == ()


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_every_measure_has_settings(name):
    """With subtopics where the measure needs them, unjudged and missing documents, and ties."""
    rng = np.random.default_rng(0)
    measure = classes(MEASURES)[name]()
    labels = rng.integers(0, 3, 30).astype(float)
    labels[rng.random(30) < 0.2] = np.nan
    if measure.sees == "subtopics":
        labels = np.stack([labels, np.where(labels > 1, 1.0, 0.0)], axis=1)
    scores = rng.standard_normal(30).round(1)
    scores[:3] = -np.inf
    data = {"scores": scores, "labels": labels, "qid": np.repeat([0, 1, 2], 10), "doc_ids": np.arange(30)}
    found = reconcile("0.5", measure, **data)
    assert json.dumps(found.to_dict())
    assert found.diagnosis.ties_from <= found.diagnosis.ties_to + 1e-12
    assert reconcile(repr(found.value), measure, **data).matches[0].switches == ()


def test_average_precision_of_scikit_learn():
    data = ranking(n_queries=60)
    scores, labels = (data[name].reshape(60, 9) for name in ("scores", "labels"))
    kept = (labels > 0).any(axis=1)
    scores, relevant = scores[kept].round(), (labels[kept] > 0).astype(float)  # ties of several relevant ones
    data = {"scores": scores.ravel(), "labels": relevant.ravel(), "group": np.full(len(scores), 9)}
    value = np.mean([average_precision_score(y, s) for y, s in zip(relevant, scores, strict=True)])
    found = reconcile(printed_to(value, 6), "AP", **data)
    assert found.matches[0].tools == ("sklearn average_precision_score",)
    assert found.matches[0].tools[0] not in [name for name, _, _ in reconcile("0.5", "AP@5", **data).tools]


def test_a_tool_is_named_before_the_measure_as_it_was_given_unless_that_is_nearer():
    """Without ties both are one switch away; no tool has this discount with this gain."""
    asked, data = dx.NDCG(k=5, discount="letor3", gain="linear"), ranking(n_queries=40)
    (value,) = dx.evaluate(asked @ 6, **data).values()
    assert reconcile(printed_to(value, 7), asked, **data).matches[0].nearest_tools == ("directrix",)
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal(40), rng.integers(0, 3, 40)
    value = dx.evaluate(dx.AP(rel=2), scores, labels, doc_ids=np.arange(40), group=[len(labels)])["AP(rel=2)"]
    found = reconcile(printed_to(value, 6), "AP", scores, labels, group=[len(labels)])
    assert "trec_eval" in found.matches[0].nearest_tools
    assert found.answer[0].endswith("with lowest relevant label: 2 instead of 1 does.")
