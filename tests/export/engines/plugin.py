"""
The learning-to-rank plugins: o19s for Elasticsearch, and OpenSearch's.

Sources: o19s/elasticsearch-learning-to-rank at the tags v1.5.8-es8.9.2, v1.5.9-es8.11.4, v1.5.12-es9.0.8, and
opensearch-project/opensearch-learning-to-rank-base at 2.19.6.0, 3.1.0.0, 3.2.0.0, 3.7.0.0 and 3.8.0.0.
Comments name files below src/main/java/com/o19s/es/ltr.
"""

import numpy as np

from .rules import RefusedError, Split, keys, leaf_of, number, parsed, require, single

VERSIONS = {
    "elasticsearch": ("1.5.8", "1.5.9"),
    "opensearch": ("3.1", "3.7", "3.8"),
}
MISSING = {
    # ranker/DenseFeatureVector: a feature whose query does not match is 0.0
    ("elasticsearch", "1.5.8"): "zero",
    ("opensearch", "3.1"): "zero",
    # ranker/SparseFeatureVector, dectree/NaiveAdditiveDecisionTree: it is NaN, and `threshold > NaN` is false
    ("opensearch", "3.7"): "second",
    # ranker/dectree/NaiveAdditiveDecisionTree: NaN goes to the child that `missing` names
    ("elasticsearch", "1.5.9"): "named",
    ("opensearch", "3.8"): "named",
}
SIGMOID = {"binary:logistic": True, "reg:logistic": True}
NOOP = {"binary:logitraw": False, "rank:pairwise": False, "reg:linear": False}
"""Objectives of all versions in ranker/parser/XGBoostJsonParser.setNormalizer; newer ones know more."""


def load(content, engine, version, names):
    """Return the scores of rows by a body of `_ltr/_featureset/SET/_createmodel`; the set has ``names``."""
    # strict parsers: rest/RestCreateModelFromSet.ParserState, feature/store/StoredLtrModel.LtrModelDefinition
    body = parsed(content)
    keys(body, required=("model",), optional=("validation",), of="create_model_from_set")
    keys(body["model"], required=("name", "model"), of="model")
    require(isinstance(body["model"]["name"], str), "[name] is no string")
    model = body["model"]["model"]
    keys(model, required=("type", "definition"), optional=("feature_normalizers",), of="model")
    require(not model.get("feature_normalizers"), "the evaluator has no normalizers of features")
    definition = model["definition"]
    if isinstance(definition, str):
        definition = parsed(definition)
    if model["type"] == "model/linear":
        return linear(definition, names)
    if model["type"] == "model/xgboost+json":
        return xgboost(definition, engine, version, names)
    raise RefusedError(f"no parser of {model['type']!r}")


def linear(definition, names):
    """Sum in float32 over all features of the set: ranker/parser/LinearRankerParser, linear/LinearRanker."""
    require(isinstance(definition, dict), "Expected start object")
    for name, value in definition.items():
        require(name in names, f"Feature [{name}] is unknown.")
        require(isinstance(value, int | float), "Expected a float")
    weights = [single(definition.get(name, 0.0)) for name in names]

    def scores(X):
        X, total = (
            np.nan_to_num(single(X), nan=0.0, posinf=np.inf, neginf=-np.inf),
            np.zeros(len(X), np.float32),
        )
        for feature, weight in enumerate(weights):
            total += weight * X[:, feature]
        return total

    return scores


def xgboost(definition, engine, version, names):
    """Sum trees in float32: parser/XGBoostJsonParser.XGBoostDefinition, NaiveAdditiveDecisionTree.score."""
    logistic = False
    if isinstance(definition, dict):
        keys(definition, required=("splits",), optional=("objective",), of="xgboost_definition")
        known = {**SIGMOID, **NOOP}
        logistic = known.get(definition.get("objective", "reg:linear"))
        require(logistic is not None, "not a valid XGBoost objective")
        definition = definition["splits"]
    require(isinstance(definition, list), "Expected [START_ARRAY] or [START_OBJECT]")
    require(definition, "XGBoost model must define at lease one tree")
    missing = MISSING[engine, version]
    trees = [tree(one, missing, engine, names) for one in definition]

    def scores(X):
        X, total = single(X), np.zeros(len(X), np.float32)
        if missing == "zero":
            X = np.where(np.isnan(X), np.float32(0), X)
        for one in trees:
            total += np.float32(1) * single(leaf_of(one, X))
        return single(1 / (1 + np.exp(-np.float64(total)))) if logistic else total

    return scores


def tree(root, missing, engine, names):
    """Read a node by SplitParserState: `split_condition > value` is the first child."""
    node_keys = ("nodeid", "depth", "split", "split_condition", "no", "yes", "missing", "leaf", "children")
    keys(root, optional=node_keys, of="node")
    for name in {"nodeid", "depth", "no", "yes", "missing"} & root.keys():
        require(isinstance(root[name], int) and not isinstance(root[name], bool), f"[{name}] is no integer")
    if "leaf" in root:
        require("nodeid" in root, "This leaf does not have all the required fields")
        return single(number(root["leaf"], "leaf"))
    for name in ("nodeid", "depth", "split", "split_condition", "no", "yes", "children"):
        require(name in root, "This split does not have all the required fields")
    children = root["children"]
    require(
        isinstance(children, list) and len(children) == 2, "This split does not have all the required fields"
    )
    keys(children[0], required=("nodeid",), optional=node_keys, of="node")
    keys(children[1], required=("nodeid",), optional=node_keys, of="node")
    require(
        [child["nodeid"] for child in children] == [root["yes"], root["no"]], "Split structure is invalid"
    )
    require(root["split"] in names, f"Unknown feature [{root['split']}]")
    if missing == "named" and engine == "elasticsearch":
        # SplitParserState.toNode hands the boxed missingNodeId to an int: null is a NullPointerException
        require("missing" in root, "missingNodeId is null")
    elif missing == "named":
        # splitHasValidChildren, since 3.8.0.0
        require(root.get("missing", root["no"]) in (root["yes"], root["no"]), "Split structure is invalid")
    threshold = single(number(root["split_condition"], "split_condition"))
    left_if_missing = missing == "named" and root.get("missing") == root["yes"]
    left, right = (tree(child, missing, engine, names) for child in children)
    return Split(
        names.index(root["split"]),
        lambda values: np.where(np.isnan(values), left_if_missing, threshold > values),
        left,
        right,
    )
