"""
Solr's learning-to-rank module: `PUT /schema/model-store`.

Sources: apache/solr at main, and before and after SOLR-16596, which is in 9.2. Comments name classes below
solr/modules/ltr/src/java/org/apache/solr/ltr. SolrPluginUtils is in solr/core, the JSON parser in solr/solrj.
"""

import json

import numpy as np

from .rules import RefusedError, Split, leaf_of, require, single

VERSIONS = ("9.1", "9.2")  # SOLR-16596 of 9.2 has `missing` and `isNullSameAsZero`
SLACK = np.float32(1e-6)  # MultipleAdditiveTreesModel.RegressionTreeNode.NODE_SPLIT_SLACK
CLASSES = "org.apache.solr.ltr.model."
ACTIVATIONS = {  # NeuralNetworkModel.DefaultLayer.setActivation
    "identity": lambda values: values,
    "relu": lambda values: np.where(values < 0, np.float32(0), values),
    "leakyrelu": lambda values: np.where(values < 0, np.float32(0.01) * values, values),
    "tanh": lambda values: single(np.tanh(np.float64(values))),
    "sigmoid": lambda values: single(1 / (1 + np.exp(-np.float64(values)))),
}


def load(content, version, names, *, default=0.0):
    """Return the scores of rows; the feature store has ``names``, and ``default`` for a missing feature."""
    require(np.isfinite(default) or version == "9.2", "Feature.setDefaultValue is of 9.2")

    def refuse(literal):
        raise RefusedError(f"{literal} is not JSON")

    try:
        model = json.loads(content.decode("utf-8"), parse_constant=refuse)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RefusedError(str(error)) from error
    # store/rest/ManagedModelStore.fromLTRScoringModelMap, LTRScoringModel.validate
    require(isinstance(model, dict) and isinstance(model.get("name"), str), "a model without a name")
    used = [one.get("name") for one in model.get("features") or []]
    require(used, "no features declared for model")
    require(len(set(used)) == len(used), "duplicated feature")
    for one in model["features"]:
        require(one.get("name") in names, f"Feature: {one.get('name')} not found in store")
        require(one.get("norm") is None, "the evaluator has no normalizers")
    kind, params = model.get("class"), model.get("params") or {}
    columns = [names.index(name) for name in used]
    if kind == f"{CLASSES}LinearModel":
        scores = linear(params, used)
    elif kind == f"{CLASSES}MultipleAdditiveTreesModel":
        scores = trees(params, version, used)
    elif kind == f"{CLASSES}NeuralNetworkModel":
        scores = network(params, len(used))
    else:
        raise RefusedError(f"the evaluator has no class {kind!r}")

    def by_names(X):
        # LTRScoringQuery.ModelWeight.makeNormalizedFeaturesAndScore: the default where there is no value
        X = single(X)[:, columns]
        return scores(np.where(np.isnan(X), np.float32(default), X))

    return by_names


def setters(found, known):
    """Require setters of all keys: SolrPluginUtils.invokeSetters."""
    for name in found:
        require(name in known, f"No setter corrresponding to '{name}'")


def linear(params, used):
    """Sum in float32, with weights of all features: LinearModel."""
    setters(params, ("weights",))
    weights = params.get("weights", {})
    for name in used:
        require(isinstance(weights.get(name), int | float), f"Model lacks weight(s) for {name}")

    def scores(X):
        total = np.zeros(len(X), np.float32)
        for feature, name in enumerate(used):
            total += X[:, feature] * single(weights[name])
        return total

    return scores


def floats(value, of):
    """Take a string: the setters of float and String take no Double or Long."""
    require(isinstance(value, str), f"argument type mismatch of {of}")
    return single(float(value))


def trees(params, version, used):
    """Sum weights times leaves in float32: MultipleAdditiveTreesModel."""
    setters(params, ("trees", "isNullSameAsZero") if version == "9.2" else ("trees",))
    null_is_zero = params.get("isNullSameAsZero", True)
    require(isinstance(null_is_zero, bool), "argument type mismatch of isNullSameAsZero")
    require(isinstance(params.get("trees"), list), "no trees declared for model")
    roots = []
    for tree in params["trees"]:
        setters(tree, ("weight", "root"))
        require({"weight", "root"} <= tree.keys(), "MultipleAdditiveTreesModel tree doesn't contain a tree")
        roots.append((floats(tree["weight"], "weight"), node(tree["root"], version, used, null_is_zero)))

    def scores(X):
        total = np.zeros(len(X), np.float32)
        for weight, root in roots:
            total += weight * single(leaf_of(root, X))
        return total

    return scores


def node(found, version, used, null_is_zero):
    """Read a node: RegressionTreeNode, validateNode, scoreNode and scoreNodeWithNullSupport."""
    known = ("value", "feature", "threshold", "left", "right")
    setters(found, (*known, "missing") if version == "9.2" else known)
    if "feature" not in found:
        require(
            "left" not in found and "right" not in found,
            "MultipleAdditiveTreesModel tree node is leaf with left",
        )
        return floats(found.get("value", "0"), "value")
    for name in ("threshold", "left", "right"):
        require(name in found, f"MultipleAdditiveTreesModel tree node is missing {name}")
    # a tree that asks for a feature that the model does not list scores 0 there, which no export means
    require(found["feature"] in used, f"{found['feature']} does not exist in the feature vector")
    threshold = floats(found["threshold"], "threshold") + SLACK
    if not null_is_zero:
        require(isinstance(found.get("missing"), str), "a switch over null")

    def goes_left(values):
        # with isNullSameAsZero, a NaN is on the right: it is not less or equal
        return (values <= threshold) | (np.isnan(values) & (not null_is_zero and found["missing"] == "left"))

    left, right = (node(found[side], version, used, null_is_zero) for side in ("left", "right"))
    return Split(used.index(found["feature"]), goes_left, left, right)


def network(params, n_inputs):
    """Compute layers in float32, one product after another: NeuralNetworkModel."""
    setters(params, ("layers",))
    layers = []
    for layer in params.get("layers", []):
        setters(layer, ("matrix", "bias", "activation"))
        matrix, bias = layer["matrix"], layer["bias"]
        # List<List<Double>>: a number without a point is a Long, and the cast fails
        require(
            all(isinstance(value, float) for row in [*matrix, bias] for value in row),
            "Long cannot be cast to Double",
        )
        require({len(row) for row in matrix} == {n_inputs}, "Dimension mismatch")
        require(len(bias) == len(matrix), "Dimension mismatch")
        require(layer.get("activation") in ACTIVATIONS, "Invalid activation function")
        n_inputs = len(matrix)
        layers.append((single(matrix), single(bias), ACTIVATIONS[layer["activation"]]))
    require(n_inputs == 1, "The output matrix should only have one row")

    def scores(X):
        for matrix, bias, activation in layers:
            sums = np.tile(bias, (len(X), 1))
            for column in range(matrix.shape[1]):
                sums += matrix[:, column] * X[:, [column]]
            X = activation(sums)
        return X[:, 0]

    return scores
