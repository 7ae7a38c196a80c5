"""ONNX: features and scores of trees are float32, and all other sums are double."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from directrix.errors import MissingExtra
from directrix.export.formula import Formula, Input, Linear, Summand
from directrix.export.target import ExportTarget, version_of
from directrix.export.trees import Node, nodes_of
from directrix.models.trees import Trees
from directrix.rankers.calibration import SHARE, Calibration
from directrix.types import Array, Float64Array

_OPSET, _ML_OPSET, _IR = 17, 3, 8
"""Operators and file version that onnxruntime 1.15 and later read."""
_COLUMNS = ("modes", "featureids", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")


class _Graph:
    """Nodes and constants of a graph that is being built; every operator returns the name of its result."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        # An argument that is not the name of a result becomes a constant.
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def constant(self, values: Any) -> str:
        array = np.asarray(values)
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def double(self, name: str) -> str:
        return self("Cast", name, to=self._onnx.TensorProto.DOUBLE)


def _write(formula: Formula) -> bytes:
    """Return a model from ``features`` float32 (n, n_features) to ``score`` float64 (n,).

    A calibrated model has another output, ``probability`` float64 (n,).
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingExtra("export", "writing ONNX") from error
    helper, graph = onnx.helper, _Graph(onnx)
    terms = [_term(graph, summand) for summand in formula.parts]
    total = terms[0]
    for term in terms[1:]:
        total = graph("Add", total, term)
    results = {"score": total}
    if formula.calibration is not None:
        results["probability"] = _probability(graph, formula.calibration, total)
    # Sums are columns, and results have one dimension.
    for name, column in results.items():
        graph.nodes.append(helper.make_node("Squeeze", [column, graph.constant(np.array([1]))], [name]))
    features = helper.make_tensor_value_info("features", onnx.TensorProto.FLOAT, ["n", formula.n_features])
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, ["n"]) for name in results]
    made = helper.make_graph(graph.nodes, "directrix", [features], outputs, graph.constants)
    versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    model = helper.make_model(made, opset_imports=versions, ir_version=_IR, producer_name="directrix")
    named = {"feature_names": formula.names, "categories": formula.categories}
    helper.set_model_props(
        model, {key: json.dumps(value) for key, value in named.items() if value is not None}
    )
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _term(graph: _Graph, summand: Summand) -> str:
    model = summand.model
    if isinstance(model, Trees):
        return _trees(graph, model)
    columns = _columns(graph, summand.inputs)
    if isinstance(model, Linear):
        return _linear(graph, model, columns)
    linear = None if model.linear is None else _linear(graph, model.linear, columns)
    units = columns
    for n, (weights, bias) in enumerate(model.layers):
        sums = graph("Add", graph("MatMul", units, weights), bias[None, :])
        active = graph({"relu": "Relu", "tanh": "Tanh"}[model.activation], sums)
        units = graph("Add", active, units) if model.adds_inputs(n) else active
    score = graph("MatMul", units, model.last[:, None])
    return score if linear is None else graph("Add", score, linear)


def _linear(graph: _Graph, model: Linear, columns: str) -> str:
    return graph("Add", graph("MatMul", columns, model.weights[:, None]), np.array([[model.constant]]))


def _columns(graph: _Graph, inputs: tuple[Input, ...]) -> str:
    """Return the columns that a model sees, side by side."""
    chosen = np.array([entry.feature for entry in inputs], dtype=np.int64)
    values = raw = graph.double(graph("Gather", "features", chosen, axis=1))
    if any(entry.kind == "knots" for entry in inputs):
        values = graph("Concat", *(_column(graph, raw, i, entry) for i, entry in enumerate(inputs)), axis=1)
    elif not all(entry.is_feature for entry in inputs):
        # All columns are computed together, by constants of one row.
        is_log = np.array([[entry.kind == "log" for entry in inputs]])
        if is_log.any():
            values = graph("Where", is_log, _log(graph, raw), raw)
        values = graph("Sub", values, np.array([[entry.center for entry in inputs]]))
        values = graph("Mul", values, np.array([[entry.factor for entry in inputs]]))
    if all(entry.missing is None for entry in inputs):
        return values
    empty_values = np.array([[np.nan if entry.missing is None else entry.missing for entry in inputs]])
    return graph("Where", graph("IsNaN", raw), empty_values, values)


def _column(graph: _Graph, raw: str, place: int, entry: Input) -> str:
    """Return one column: between knots the sum of what each piece rises up to the value."""
    x = graph("Gather", raw, np.array([place]), axis=1)
    if entry.kind != "knots":
        x = _log(graph, x) if entry.kind == "log" else x
        return graph("Mul", graph("Sub", x, np.array([[entry.center]])), np.array([[entry.factor]]))
    knots, scores = np.array(entry.knots), np.array(entry.scores)
    # A single knot gives its score everywhere; the product gives it the shape of the column.
    if len(knots) == 1:
        return graph("Add", graph("Mul", x, np.array([[0.0]])), np.array([[scores[0]]]))
    # Each piece between two knots contributes its slope times the length that lies below the value.
    inside = graph("Max", graph("Sub", x, knots[None, :-1]), np.array([[0.0]]))
    piece = graph("Min", inside, np.diff(knots)[None, :])
    rises = (np.diff(scores) / np.diff(knots))[:, None]
    return graph("Add", graph("MatMul", piece, rises), np.array([[scores[0]]]))


def _probability(graph: _Graph, calibration: Calibration, score: str) -> str:
    # The curve is a logistic function, or a line through knots with a small share of a rising function.
    t = graph("Add", graph("Mul", score, np.array(calibration.slope)), np.array(calibration.intercept))
    if not calibration.knots:
        return graph("Sigmoid", t)
    regression = _column(
        graph, score, 0, Input(0, "knots", knots=calibration.knots, scores=calibration.values)
    )
    size = graph("Add", graph("Abs", t), np.array(1.0))
    rising = graph("Mul", graph("Add", graph("Div", t, size), np.array(1.0)), np.array(0.5 * SHARE))
    return graph("Add", graph("Mul", regression, np.array(1.0 - SHARE)), rising)


def _log(graph: _Graph, x: str) -> str:
    return graph("Mul", graph("Sign", x), graph("Log", graph("Add", graph("Abs", x), np.array(1.0))))


def _trees(graph: _Graph, trees: Trees) -> str:
    """Return the sum of the trees."""
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    tree_ids, node_ids, leaf_trees, leaf_nodes = list[int](), list[int](), list[int](), list[int]()
    for number, nodes in enumerate(nodes_of(trees)):
        rows = _node_rows(nodes)
        for values, column in zip(columns.values(), zip(*rows, strict=True), strict=True):
            values.extend(column)
        tree_ids += [number] * len(rows)
        node_ids += range(len(rows))
        # A tree has one leaf more than splits, and its leaves are the last nodes.
        leaf_trees += [number] * (len(nodes) // 2 + 1)
        leaf_nodes += range(len(nodes) // 2, len(nodes))
    scores = graph(
        "TreeEnsembleRegressor",
        "features",
        domain="ai.onnx.ml",
        aggregate_function="SUM",
        n_targets=1,
        nodes_treeids=tree_ids,
        nodes_nodeids=node_ids,
        **{f"nodes_{key}": values for key, values in columns.items()},
        target_treeids=leaf_trees,
        target_nodeids=leaf_nodes,
        target_ids=[0] * len(leaf_nodes),
        target_weights=trees.leaf.tolist(),
    )
    return graph.double(scores)


def _node_rows(nodes: list[Node]) -> list[tuple[Any, ...]]:
    """Return the values of `_COLUMNS` of each node; a set of categories becomes one node for each of them."""
    rows: list[tuple[Any, ...]] = [("LEAF", 0, 0.0, 0, 0, 0)] * len(nodes)
    for place, node in enumerate(nodes):
        if (split := node.split) is None:
            continue
        if split.categories is None:
            sides = node.left, node.right, int(split.missing_left)
            rows[place] = ("BRANCH_LEQ", split.feature, split.threshold, *sides)
            continue
        *others, last = split.categories
        # ONNX compares with one category per node. A node that fails asks the next one, which is appended
        # after the nodes of the tree.
        for category in others:
            rows[place] = ("BRANCH_EQ", split.feature, float(category), node.left, len(rows), 0)
            place = len(rows)
            rows.append(())
        rows[place] = ("BRANCH_EQ", split.feature, float(last), node.left, node.right, 0)
    return rows


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    results = session.run(None, {"features": X.astype(np.float32)})
    return np.column_stack(results) if len(results) > 1 else results[0]


TARGET = ExportTarget(
    "ONNX",
    _write,
    _read,
    version_of("onnxruntime"),
    is_single=True,
    takes_categories=True,
    keeps_calibration=True,
)
