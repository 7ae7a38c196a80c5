"""The evaluators refuse what the engines refuse, and see what an exporter could do wrong."""

import json

import numpy as np
import pytest

from .engines import elastic, plugin, ranklib, solr, vespa
from .engines.rules import RefusedError
from .test_engines import fitted, judge, names_of, written

LOADERS = {
    "elastic": "8.15",
    "elasticsearch": "1.5.9",
    "opensearch": "3.8",
    "ranklib": "2.10",
    "solr": "9.2",
    "vespa": "8",
}


@pytest.fixture
def file_of(tmp_path):
    def of(to, case="trees, missing"):
        return written(case, to, LOADERS[to], tmp_path / "model")[0]

    return of


REFUSED = [
    # strict parsers: an unknown key, a key twice, a number that JSON has not
    ("elastic", '"definition"', '"definitions"', "unknown field"),
    ("elastic", '"threshold": ', '"threshold": 1, "threshold": ', "duplicate key"),
    ("elastic", '"threshold": ', '"threshold": NaN, "split_gain": ', "NaN is not JSON"),
    ("elastic", '"left_child": 1,', '"left_child": 100000,', "missing nodes"),
    ("elastic", '"left_child": 1,', '"left_child": 0,', "cycle"),
    ("elastic", '"query": {', '"question": {', "unknown field"),
    ("elastic", '{"match": {"title": "{{query}}"}}', "{}", "query is not parsable"),
    ("elasticsearch", '\\"missing\\"', '\\"missed\\"', "unknown field"),
    ("elasticsearch", '\\"depth\\"', '\\"cover\\"', "unknown field"),
    ("elasticsearch", '\\"missing\\": 1,', "", "missingNodeId is null"),
    ("elasticsearch", '\\"yes\\": 1,', '\\"yes\\": 2,', "Split structure"),
    ("opensearch", '\\"missing\\": 1,', '\\"missing\\": 77,', "Split structure"),
    ("opensearch", '\\"nodeid\\"', '\\"node\\"', "unknown field"),
    ("solr", '"missing"', '"default"', "No setter"),
    ("solr", '"weight": "1"', '"weight": 1', "argument type mismatch"),
    ("solr", '"threshold"', '"limit"', "No setter"),
    ("vespa", "if (", "if [", "no token"),
    ("vespa", " < ", " <> ", "missing value"),
    ("vespa", "rank-profile", "rank profile", "no rank profile"),
]


@pytest.mark.parametrize(("to", "text", "other", "words"), REFUSED)
def test_a_file_that_the_engine_would_reject_is_refused(to, text, other, words, file_of):
    content = file_of(to).decode()
    assert text in content
    _, q = fitted("trees, missing")
    with pytest.raises(RefusedError, match=words):
        judge(content.replace(text, other, 1).encode(), to, LOADERS[to], names_of(q))


def body(definition):
    return json.dumps(
        {"model": {"name": "m", "model": {"type": "model/xgboost+json", "definition": definition}}}
    ).encode()


def stump(**changes):
    leaves = [{"nodeid": 1, "leaf": -1.0}, {"nodeid": 2, "leaf": 1.0}]
    node = {"nodeid": 0, "depth": 0, "split": "x", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 1}
    return {**node, "children": leaves, **changes}


@pytest.mark.parametrize(
    ("engine", "version", "missing"),
    [
        ("elasticsearch", "1.5.8", -1.0),
        ("elasticsearch", "1.5.9", -1.0),
        ("opensearch", "3.1", -1.0),
        ("opensearch", "3.7", 1.0),
        ("opensearch", "3.8", -1.0),
    ],
)
def test_versions_of_the_plugins_route_missing_features_as_their_sources_say(engine, version, missing):
    scores = plugin.load(body([stump()]), engine, version, ["x"])
    X = np.array(
        [[np.nan], [0.0], [0.5], [np.nextafter(np.float32(0.5), np.float32(0))], [-np.inf], [np.inf]]
    )
    np.testing.assert_array_equal(scores(X), [missing, -1.0, 1.0, -1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    "definition", [[], {"splits": []}, {"splits": [stump()], "missing_as_zero": True}, {}, "[}"]
)
def test_the_plugins_refuse(definition):
    with pytest.raises(RefusedError):
        plugin.load(body(definition), "opensearch", "3.8", ["x"])


def test_the_plugins_limit_the_depth():
    def chain(depth):
        text = '{"nodeid": 0, "leaf": 0.0}'
        for level in range(1, depth + 1):
            split = json.dumps(stump(nodeid=level, yes=level - 1, no=-1, missing=-1, children=[]))
            text = split.replace("[]", f'[{text}, {{"nodeid": -1, "leaf": 1.0}}]')
        return f"[{text}]"

    assert plugin.load(body(chain(200)), "opensearch", "3.8", ["x"])
    with pytest.raises(RefusedError, match=r"nested too deeply|recursion"):
        plugin.load(body(chain(600)), "opensearch", "3.8", ["x"])


def test_elastic_takes_what_is_no_valid_double_for_missing():
    nodes = [
        {
            "node_index": 0,
            "split_feature": 0,
            "threshold": 0.5,
            "default_left": True,
            "left_child": 1,
            "right_child": 2,
        },
        {"node_index": 1, "leaf_value": -1.0},
        {"node_index": 2, "leaf_value": 1.0},
    ]
    tree = {"tree": {"feature_names": ["x"], "tree_structure": nodes}}
    content = {
        "inference_config": {"learning_to_rank": {}},
        "definition": {"trained_model": {"ensemble": {"trained_models": [tree]}}},
    }
    X = np.array([[0.5], [0.6], [np.inf], [np.nan]])
    fields = {**content, "input": {"field_names": ["x"]}}
    scores = elastic.load(json.dumps(fields).encode(), "8.14", ["x"])
    np.testing.assert_array_equal(scores(X), [-1.0, 1.0, -1.0, -1.0])
    with pytest.raises(RefusedError, match="cannot specify"):
        elastic.load(json.dumps(fields).encode(), "8.15", ["x"])
    with pytest.raises(RefusedError, match="must not be empty"):
        elastic.load(json.dumps(content).encode(), "8.14", ["x"])
    # nothing extracts the feature: it is missing for all documents
    scores = elastic.load(json.dumps(content).encode(), "8.15", ["x"])
    np.testing.assert_array_equal(scores(X), [-1.0] * 4)


def test_solr_adds_its_slack_and_sends_a_null_to_the_named_side():
    node = {
        "feature": "x",
        "threshold": "0.25",
        "left": {"value": "-1"},
        "right": {"value": "1"},
        "missing": "left",
    }
    model = {"class": f"{solr.CLASSES}MultipleAdditiveTreesModel", "name": "m", "features": [{"name": "x"}]}
    model["params"] = {"isNullSameAsZero": False, "trees": [{"weight": "1", "root": node}]}
    content = json.dumps(model).encode()
    X = np.array([[0.25], [0.2500009], [0.250002], [np.nan]])
    np.testing.assert_array_equal(solr.load(content, "9.2", ["x"], default=np.nan)(X), [-1, -1, 1, -1])
    with pytest.raises(RefusedError, match="No setter corrresponding to 'isNullSameAsZero'"):
        solr.load(content, "9.1", ["x"])
    for layers, words in (([[1, 2.0]], "Long"), ([[1.0, 2.0]], "Dimension mismatch")):
        network = {**model, "class": f"{solr.CLASSES}NeuralNetworkModel"}
        network["params"] = {"layers": [{"matrix": layers, "bias": [0.5], "activation": "identity"}]}
        with pytest.raises(RefusedError, match=words):
            solr.load(json.dumps(network).encode(), "9.2", ["x"])


def profile(expression):
    return f"rank-profile p {{\n first-phase {{\n expression {{ {expression} }}\n }}\n}}".encode()


@pytest.mark.parametrize(
    ("expression", "forests"),
    [
        ("if (x < 1.0, 1.0, 2.0) + if (!(x >= 2.0), 1.0, 2.0)", [2]),
        ("if (x < 1.0, 1.0, 2.0) + if (x <= 2.0, 1.0, 2.0)", [1]),
        ("if (x < 1.0, 1.0, 2.0) + 0.5 + if (x < 2.0, 1.0, 2.0)", [1, 1]),
        ("if (x < 1.0, 1.0, 2.0) + if (x < 2.0, 1.0, 2.0) + 0.5", [2]),
        ("if (x < 1.0, if (!(x > 0.5), 1.0, 3.0), 2.0)", []),
        ("0.5", []),
    ],
)
def test_vespa_knows_a_tree_by_its_conditions(expression, forests):
    assert vespa.load(profile(expression), ["x"]).forests == forests


def test_vespa_compares_with_floats_in_fast_forests():
    """The next double above a float is that float again."""
    above = float(np.nextafter(np.float64(np.float32(0.1)), 1.0))
    tree = f"if (x < {above!r}, 1.0, 0.0)"
    content = profile(f"{tree} + {tree}")
    X = np.float64(np.float32([[0.1]]))
    assert vespa.load(content, ["x"])(X) == [2.0]
    assert vespa.load(content, ["x"], fast_forest=True)(X) == [0.0]


def test_vespas_expressions_are_read_by_priority():
    X = np.array([[3.0], [np.nan]])
    scores = vespa.load(profile("-x ^ 2.0 + 2.0 * (1.0 - x) + (if (isNan(x) == 1, 0.0, x) < 5.0)"), ["x"])
    np.testing.assert_array_equal(scores(X), [(-3.0) ** 2 + 2 * (1 - 3.0) + 1.0, np.nan])


@pytest.mark.parametrize(
    "expression", ["1.0 +", "x y", "exp(1.0", "unknown", "1e999", "99999999999999999999"]
)
def test_vespa_refuses(expression):
    with pytest.raises(RefusedError):
        vespa.load(profile(expression), ["x"])


LINES = """## LambdaMART
<ensemble>
<tree id="1" weight="0.5">
<split>
<feature> 1 </feature>
<threshold> 0.25 </threshold>
<split pos="left">
<output> -1.0 </output>
</split>
<split pos="right">
<output> 1.0 </output>
</split>
</split>
</tree>
</ensemble>
"""


def test_ranklib_reads_a_missing_feature_as_zero():
    scores = ranklib.load(LINES.encode(), ["x"])
    X = np.array([[0.25], [np.nextafter(np.float32(0.25), np.float32(1))], [np.nan], [np.inf]])
    np.testing.assert_array_equal(scores(X), [-0.5, 0.5, -0.5, 0.5])


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("<split>\n<feature>", "<split> <feature>"),  # white space between two tags of a line is a child
        ("</feature>\n", "</feature> "),
        ("0.25", "a quarter"),
        ("<feature> 1", "<feature> 2"),
        ("LambdaMART", "LambdaRank"),
        ("</tree>", ""),
        ("-1.0", "\u22121.0"),
    ],
)
def test_ranklib_refuses(text, other):
    assert text in LINES
    with pytest.raises(RefusedError):
        ranklib.load(LINES.replace(text, other, 1).encode(), ["x"])
