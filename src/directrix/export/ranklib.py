"""RankLib's text of linear models and of trees; features count from 1, and missing ones are 0."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from directrix.errors import InputError
from directrix.export.formula import Formula, Linear
from directrix.export.nodes import TreeSplit, in_float32, missing_as_zero, nested, without_categories
from directrix.export.target import ExportTarget, only
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

_TITLE = "RankLib"


def _write(formula: Formula) -> bytes:
    """Return the text that RankLib's ``-load`` reads."""
    model = only(formula, _TITLE, Linear, Trees).model
    if isinstance(model, Linear):
        pairs = " ".join(f"{f + 1}:{model.weights[f].item()!r}" for f in range(formula.n_features))
        return f"## Coordinate Ascent\n## Restart = 1\n\n{pairs}\n".encode()
    assert isinstance(model, Trees)
    without_categories(model, _TITLE)
    missing_as_zero(model, _TITLE)
    roots = nested(in_float32(model), lambda value: f"<output> {value!r} </output>\n", _split)
    trees = "".join(
        f'<tree id="{n}" weight="1.0">\n<split>\n{root}</split>\n</tree>\n'
        for n, root in enumerate(roots, start=1)
    )
    head = f"## LambdaMART\n## No. of trees = {len(roots)}\n\n"
    return f"{head}<ensemble>\n{trees}</ensemble>\n".encode()


def _split(split: TreeSplit, left: str, right: str) -> str:
    return (
        f"<feature> {split.feature + 1} </feature>\n<threshold> {split.threshold!r} </threshold>\n"
        f'<split pos="left">\n{left}</split>\n<split pos="right">\n{right}</split>\n'
    )


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores as RankLib computes them, which reads lines without their blanks."""
    lines = [line.strip() for line in content.decode().splitlines()]
    kind, body = lines[0], "".join(line for line in lines if not line.startswith("##"))
    rows = np.nan_to_num(X.astype(np.float32), nan=0.0)
    scores = np.zeros(len(X), np.float32)
    if kind == "## Coordinate Ascent":
        total = np.zeros(len(X))
        for pair in body.split(" "):
            feature, weight = re.fullmatch(r"(\d+):(\S+)", pair).groups()  # type: ignore[union-attr]
            total += float(weight) * rows[:, int(feature) - 1]
        return total
    if kind != "## LambdaMART":
        raise InputError(f"RankLib has no {kind!r}; write the model again.")
    for tree in ElementTree.fromstring(body):
        values = _values(tree[0], rows, np.arange(len(X)), np.zeros(len(X), np.float32))
        scores += values * np.float32(tree.attrib["weight"])
    return scores.astype(np.float64)


def _values(node: ElementTree.Element, rows: Array, own: Array, values: Array) -> Array:
    if node[0].tag == "output":
        values[own] = np.float32(node[0].text or "")
        return values
    feature, threshold = int(node[0].text or "") - 1, np.float32(node[1].text or "")
    is_left = rows[own, feature] <= threshold
    for child, chosen in ((node[2], is_left), (node[3], ~is_left)):
        _values(child, rows, own[chosen], values)
    return values


TARGET = ExportTarget(
    "RankLib's text",
    _write,
    _read,
    lambda: "a reader of RankLib's text",
    is_single=True,
    takes_missing=False,
    keeps_constant=False,
)
