"""
Elasticsearch's own learning to rank: `PUT _ml/trained_models/NAME`, and the rescorer `learning_to_rank`.

Sources: elastic/elasticsearch at main and 8.15. Comments name classes of x-pack/plugin/core, in the package
xpack.core.ml.inference and its packages trainedmodel.ltr, ensemble, tree and inference. The rescorer is in
x-pack/plugin/ml, package xpack.ml.inference.ltr.
"""

import numpy as np

from .rules import Split, keys, leaf_of, number, parsed, require, single

VERSIONS = ("8.14", "8.15")
OPERATORS = {"gt": np.greater, "gte": np.greater_equal, "lt": np.less, "lte": np.less_equal}


def load(content, version, names):
    """The scores of rows; ``names`` are those of the queries, and before 8.15 of fields, too."""
    body = parsed(content)
    # TrainedModelConfig.STRICT_PARSER, and what validate(forCreation) calls illegal to set
    keys(
        body,
        required=("definition", "inference_config"),
        optional=("model_id", "model_type", "description", "tags", "metadata", "input", "model_size_bytes"),
        of="trained_model_config",
    )
    keys(body["inference_config"], required=("learning_to_rank",), of="inference_config")
    extracted = extractors(body["inference_config"]["learning_to_rank"])
    fields = []
    if "input" in body:
        keys(body["input"], required=("field_names",), of="input")
        fields = body["input"]["field_names"]
    if version == "8.14":
        # TrainedModelConfig.Builder.validate: the fields are needed, and are read as features of their names
        require(fields, "[input.field_names] must not be empty")
        require(
            all(part for field in fields for part in field.split(".")),
            "[input.field_names] has an empty part",
        )
    else:
        # LearningToRankConfig.validateTrainedModelInput, since 8.15 (pull request 109437)
        require(not fields, "cannot specify [input.field_names] for a model of type [learning_to_rank]")
    known = {name: index for index, name in enumerate(names) if name in extracted or name in fields}
    return ensemble(body["definition"], known)


def extractors(config):
    """The names that queries extract, by LearningToRankConfig.STRICT_PARSER and QueryExtractorBuilder."""
    keys(
        config,
        optional=("num_top_feature_importance_values", "feature_extractors", "default_params"),
        of="learning_to_rank",
    )
    found = []
    for one in config.get("feature_extractors", []):
        keys(one, required=("query_extractor",), of="feature_extractors")
        extractor = one["query_extractor"]
        keys(extractor, required=("feature_name", "query"), optional=("default_score",), of="query_extractor")
        require(isinstance(extractor["feature_name"], str), "[feature_name] is no string")
        require(
            number(extractor.get("default_score", 0.0), "default_score") >= 0,
            "default_score must be positive",
        )
        query = extractor["query"]
        # QueryProvider: a query is an object of one clause
        require(isinstance(query, dict) and len(query) == 1, "Inference config query is not parsable")
        found.append(extractor["feature_name"])
    require(len(set(found)) == len(found), "[feature_extractors] contains duplicate [feature_name] values")
    return set(found)


def ensemble(definition, known):
    """Sum doubles and round to float32: TrainedModelDefinition, Ensemble (strict), EnsembleInferenceModel."""
    keys(definition, required=("trained_model",), optional=("preprocessors",), of="definition")
    require(not definition.get("preprocessors"), "the evaluator has no preprocessors")
    keys(definition["trained_model"], required=("ensemble",), of="trained_model")
    model = definition["trained_model"]["ensemble"]
    keys(
        model,
        required=("trained_models",),
        optional=("feature_names", "target_type", "aggregate_output"),
        of="ensemble",
    )
    require(isinstance(model["trained_models"], list), "[trained_models] needs to be in an array")
    # LearningToRankConfig.isTargetTypeSupported
    require(model.get("target_type", "regression") == "regression", "target_type")
    require(model["trained_models"], "[trained_models] must not be empty")
    weights = np.ones(len(model["trained_models"]))
    if "aggregate_output" in model:  # WeightedSum, with as many weights as trees
        keys(model["aggregate_output"], required=("weighted_sum",), of="aggregate_output")
        keys(model["aggregate_output"]["weighted_sum"], optional=("weights",), of="weighted_sum")
        weights = np.array(model["aggregate_output"]["weighted_sum"].get("weights", weights), float)
        require(
            len(weights) == len(model["trained_models"]), "[aggregate_output] expects value array of size"
        )
    trees = []
    for one in model["trained_models"]:
        keys(one, required=("tree",), of="trained_models")
        trees.append(tree(one["tree"], known))

    def scores(X):
        # queries give float32, which the model reads as doubles; a column of NaN is for what nothing extracts
        X = np.column_stack([np.float64(single(X)), np.full(len(X), np.nan)])
        return single(
            np.sum([weight * leaf_of(one, X) for weight, one in zip(weights, trees, strict=True)], axis=0)
        )

    return scores


def tree(found, known):
    """Read a tree, whose own feature_names count: Tree, TreeNode.Builder.validate, TreeInferenceModel."""
    keys(found, required=("feature_names", "tree_structure"), optional=("target_type",), of="tree")
    require(found.get("target_type", "regression") == "regression", "target_type")
    names, nodes = found["feature_names"], found["tree_structure"]
    require(nodes, "[tree_structure] must not be empty")
    optional = ("decision_type", "threshold", "left_child", "right_child", "default_left", "split_feature")
    optional += ("node_index", "split_gain", "leaf_value", "number_samples")
    for node in nodes:
        keys(node, optional=optional, of="tree_node")
        require(node.get("node_index", 0) >= 0, "[node_index] must be a non-negative integer.")
        require(node.get("number_samples", 0) >= 0, "[number_samples] must be greater than or equal to 0")
    reached = set()

    def built(index):
        # Tree.detectMissingNodes, detectCycle
        require(0 <= index < len(nodes), f"[tree] contains missing nodes {index}")
        require(index not in reached, f"[tree] contains cycle at node {index}")
        reached.add(index)
        node = nodes[index]
        if "left_child" not in node:
            require("leaf_value" in node, "[leaf_value] is required for a leaf node.")
            return number(node["leaf_value"], "leaf_value")
        require("threshold" in node, "[threshold] must exist for non-leaf node.")
        require(0 <= node.get("split_feature", -1) < len(names), "the split has no feature")
        require(isinstance(node.get("default_left", False), bool), "[default_left] is no boolean")
        test = OPERATORS.get(node.get("decision_type", "lte"))
        require(test is not None, f"no operator {node.get('decision_type')!r}")
        threshold = number(node["threshold"], "threshold")
        default_left = node.get("default_left", False)

        def goes_left(values):
            # InnerNode.isMissing: what is not a valid double, and an infinite number is none
            return np.where(np.isfinite(values), test(values, threshold), default_left)

        left, right = built(node["left_child"]), built(node["right_child"])
        return Split(known.get(names[node["split_feature"]], -1), goes_left, left, right)

    return built(0)
