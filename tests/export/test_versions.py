"""Files for versions of engines: what a missing feature is, and what a version rejects."""

import json

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError
from directrix.export.formula import formula_of
from directrix.export.target import target as find_target
from directrix.models.trees import Trees
from tests.messages import rejects

from .conftest import data

BIG = float(np.finfo(np.float32).max)


def trees_of(thresholds, decisions, leaf=(1.0, 2.0)):
    """One tree of one split of the first of two features for each threshold."""
    n = len(thresholds)
    return Trees(
        2,
        n_leaves=np.full(n, 2),
        feature=np.zeros(n, np.int32),
        threshold=np.array(thresholds, float),
        decision=np.array(decisions, np.uint8),
        left=np.full(n, -1, np.int32),
        right=np.full(n, -2, np.int32),
        gain=np.zeros(n),
        leaf=np.resize(np.array(leaf), 2 * n),
        count=np.ones(2 * n, np.uint32),
    )


def by_the_plugin(content, names, X, rule):
    """Scores row by row: what a missing feature is differs between versions."""
    trees = json.loads(json.loads(content)["model"]["model"]["definition"])
    scores = []
    for row in X.astype(np.float32):
        total = np.float32(0.0)
        for node in trees:
            while "leaf" not in node:
                value = row[names.index(node["split"])]
                if np.isnan(value) and rule == "zero":
                    value = np.float32(0.0)
                if np.isnan(value):
                    yes = rule == "named" and node["missing"] == node["yes"]
                else:
                    yes = np.float32(node["split_condition"]) > value
                node = node["children"][0 if yes else 1]
            total += np.float32(node["leaf"])
        scores.append(float(total))
    return np.array(scores)


RULES = {"opensearch:3.1": "zero", "opensearch:3.5": "no", "opensearch:3.8": "named"}
RULES |= {"elasticsearch:1.5.8": "zero", "elasticsearch:1.5.9": "named"}


@pytest.fixture(scope="module")
def rankers():
    """Trees whose missing features are 0, and trees that learned a side for them; and rows."""
    raw = data(missing=True, names=[*"abcde"])
    zeros = dx.Queries.from_arrays(
        raw.features, raw.labels, qid=np.repeat(np.arange(40), 20), feature_names=[*"abcde"], missing="zero"
    )
    settings = {"n_trees": 20, "oblivious": False, "min_data_in_leaf": 5}
    return {
        "zero": dx.BoostedRanker(**settings).fit_queries(zeros),
        "learned": dx.BoostedRanker(**settings).fit_queries(raw),
    }, raw


def single(q):
    return q.features.astype(np.float32).astype(float)


@pytest.mark.parametrize("to", [*RULES, "opensearch", "elasticsearch", "opensearch:3", "elasticsearch:8"])
@pytest.mark.parametrize("kind", ["zero", "learned"])
def test_a_missing_feature_takes_its_side_in_the_versions_that_a_file_is_for(to, kind, rankers, tmp_path):
    (ranker, q), path = (rankers[0][kind], rankers[1]), tmp_path / "m"
    named = [rule for text, rule in RULES.items() if text.startswith(to)] or [RULES["elasticsearch:1.5.9"]]
    if kind == "learned" and named == ["zero"]:
        with rejects(InputError):
            dx.export(ranker, path, to=to)
        return
    found = dx.export(ranker, path, to=to, check=q)
    assert (kind == "learned" and ":" not in to) <= ("older ones read a missing feature as 0" in found.note)
    expected = ranker.trees_.predict(np.nan_to_num(single(q)) if kind == "zero" else single(q))
    for rule in named:
        if kind == "zero" or rule != "zero":
            scores = by_the_plugin(path.read_bytes(), q.feature_names, q.features, rule)
            np.testing.assert_allclose(scores, expected, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("to", ["opensearch", "opensearch:3.5", "opensearch:3.8", "xgboost", "vespa", "solr"])
@pytest.mark.parametrize("decision", [8, 10])
def test_all_numbers_go_to_one_side_and_missing_ones_to_the_other(to, decision, fitted):
    """LightGBM's threshold is then beyond float32, and a limit above it would be infinite."""
    target = find_target(to)
    if target.reader is None:
        pytest.skip("nothing is installed that reads it")
    trees = trees_of([1e300, np.finfo(float).max, BIG, -1e300], [decision] * 4)
    formula = formula_of(fitted("trees")[0])
    formula = formula._replace(
        parts=(formula.parts[0]._replace(model=trees, inputs=formula.parts[0].inputs[:2]),), n_features=2
    )
    X = np.zeros((4, 2))
    X[:, 0] = [np.nan, BIG, 0.0, np.nextafter(np.float32(-BIG), np.float32(0.0))]
    content = target.content(formula)
    assert b"Infinity," not in content
    np.testing.assert_allclose(target.read(content, formula, X), trees.predict(X), rtol=0.0, atol=1e-6)
    if "opensearch" in to:
        scores = by_the_plugin(content, formula.all_names, X, "named" if to.endswith("8") else "no")
        np.testing.assert_allclose(scores, trees.predict(X), rtol=0.0, atol=1e-6)


def test_a_tree_whose_missing_features_need_too_many_splits_is_rejected(fitted):
    depth = 24
    trees = Trees(
        depth,
        n_leaves=np.array([depth + 1]),
        feature=np.arange(depth, dtype=np.int32),
        threshold=np.ones(depth),
        decision=np.zeros(depth, np.uint8),
        left=np.append(np.arange(1, depth), -1 - depth).astype(np.int32),
        right=(-1 - np.arange(depth)).astype(np.int32),
        gain=np.zeros(depth),
        leaf=np.arange(depth + 1.0),
        count=np.ones(depth + 1, np.uint32),
    )
    formula = formula_of(fitted("trees")[0])
    formula = formula._replace(parts=(formula.parts[0]._replace(model=trees),), n_features=depth)
    with rejects(InputError):
        find_target("opensearch:3.5").content(formula)
    assert len(find_target("opensearch:3.8").content(formula)) > 1000


@pytest.mark.parametrize(
    "to",
    [
        "solr:x",
        "solr:",
        "opensearch:3..5",
        "xgboost:3",
        "elasticsearch:3.5",
        "elastic:7.17",
        "none:1",
        "solr:９",
    ],
)
def test_a_version_that_is_none_or_makes_no_difference_is_rejected(to):
    with rejects(InputError):
        find_target(to)


def by_solr(content, names, X):
    model, scores = json.loads(content), []
    is_zero = model["params"].get("isNullSameAsZero", True)
    for row in np.nan_to_num(X) if is_zero else X:
        total = np.float32(0.0)
        for tree in model["params"]["trees"]:
            node = tree["root"]
            while "feature" in node:
                value = np.float32(row[names.index(node["feature"])])
                below = value <= np.float32(node["threshold"]) + np.float32(1e-6)
                node = node["left" if (node["missing"] == "left" if np.isnan(value) else below) else "right"]
            total += np.float32(node["value"])
        scores.append(float(total))
    return np.array(scores)


def test_solr_names_the_side_of_missing_features_from_9_2_on(rankers, tmp_path):
    by_kind, q = rankers
    for kind, ranker in by_kind.items():
        for to in ("solr", "solr:9", "solr:9.2", "solr:9.1", "solr:8"):
            if kind == "learned" and to in ("solr:9.1", "solr:8"):
                with rejects(InputError):
                    dx.export(ranker, tmp_path / "m", to=to)
                continue
            found = dx.export(ranker, tmp_path / "m", to=to, check=q)
            assert ("from 9.2 on" in found.note and '"defaultValue": "NaN"' in found.note) == (
                kind == "learned"
            )
            content = (tmp_path / "m").read_bytes()
            # older versions reject these keys
            assert (b"isNullSameAsZero" in content, b'"missing"' in content) == (kind == "learned",) * 2
            expected = ranker.trees_.predict(np.nan_to_num(single(q)) if kind == "zero" else single(q))
            np.testing.assert_allclose(
                by_solr(content, q.feature_names, q.features), expected, rtol=0, atol=1e-5
            )


def test_a_threshold_that_solrs_slack_hides_is_rejected(fitted):
    formula = formula_of(fitted("trees")[0])
    (part,) = formula.parts
    for threshold, is_held in ((1e-20, False), (-1e-14, False), (1e-35, True), (1e-10, True), (0.5, True)):
        model = trees_of([threshold], [0])
        small = formula._replace(parts=(part._replace(model=model, inputs=part.inputs[:2]),), n_features=2)
        if is_held:
            find_target("solr").content(small)
            continue
        with rejects(InputError):
            find_target("solr").content(small)


def test_linear_models_that_fill_missing_features_are_rejected_where_those_count_zero(fitted, tmp_path):
    """Without data to compare, too, if the training data had missing features."""
    ranker, _ = fitted("linear, missing")
    for to in ("solr", "ranklib", "opensearch", "elasticsearch"):
        with rejects(InputError):
            dx.export(ranker, tmp_path / "m", to=to)
    assert "counts 0" in dx.export(fitted("linear, named")[0], tmp_path / "m", to="solr").note


def test_elasticsearch_computes_features_by_queries(tmp_path):
    q = data(names=[*"abcde"])
    ranker = dx.BoostedRanker(n_trees=5).fit_queries(q)
    used = [q.feature_names[f] for f in formula_of(ranker).used]
    path = tmp_path / "m"

    def body(**settings):
        found = dx.export(ranker, path, check=q, **{"to": "elastic", **settings})
        return json.loads(path.read_text()), found.note

    empty, note = body()
    extractors = empty["inference_config"]["learning_to_rank"]["feature_extractors"]
    assert extractors == [{"query_extractor": {"feature_name": name, "query": {}}} for name in used]
    assert "input" not in empty
    assert "feature_extractors" in note
    assert note.endswith(f"give queries for {', '.join(used)}")
    trees = empty["definition"]["trained_model"]["ensemble"]["trained_models"]
    assert all(tree["tree"]["feature_names"] == used for tree in trees)
    root, *_ = trees[0]["tree"]["tree_structure"]
    assert root["number_samples"] == q.n_docs
    queries = {name: {"match": {name: "{{query}}"}} for name in "abcde"}
    given, note = body(queries=queries)
    assert note == ""
    assert [one["query_extractor"]["query"] for one in extractors_of(given)] == [queries[n] for n in used]
    partly, note = body(queries={used[0]: queries[used[0]]})
    assert used[0] not in note.partition("queries for ")[2]
    assert len(extractors_of(partly)) == len(used)
    old, note = body(to="elastic:8.14")
    assert (old["input"], old["inference_config"]["learning_to_rank"]) == ({"field_names": used}, {})
    assert note == ""
    both, _ = body(to="elastic:8.14", queries={used[0]: queries[used[0]]})
    assert both["input"] == {"field_names": used[1:]}
    assert body(to="elastic:8.14", queries=queries)[0]["input"] == {"field_names": ["directrix_no_field"]}


def extractors_of(body):
    return body["inference_config"]["learning_to_rank"]["feature_extractors"]


def test_queries_of_other_features_and_of_other_formats_are_rejected(fitted, tmp_path):
    ranker, _ = fitted("trees")
    for to, queries in (
        ("solr", {"feature_1": {}}),
        ("elastic", {"feature_9": {}}),
        ("elastic", {"feature_1": "match"}),
        ("elastic", [1]),
    ):
        with rejects(InputError):
            dx.export(ranker, tmp_path / "m", to=to, queries=queries)
    assert list(tmp_path.iterdir()) == []
