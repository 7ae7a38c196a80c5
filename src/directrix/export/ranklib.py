"""RankLib's text of linear models and of trees; features count from 1, and missing ones are 0."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from directrix.errors import InputError
from directrix.export.formula import Formula, Linear
from directrix.export.target import ExportTarget
from directrix.export.trees import TreeSplit, nested, nodes_of, tree_scores
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array


def _write(formula: Formula) -> bytes:
    """Return the text that RankLib's ``-load`` reads."""
    model = formula.model
    if isinstance(model, Linear):
        pairs = " ".join(f"{f + 1}:{model.weights[f].item()!r}" for f in range(formula.n_features))
        return f"## Coordinate Ascent\n## Restart = 1\n\n{pairs}\n".encode()
    roots = nested(nodes_of(model), lambda value: f"<output> {value!r} </output>\n", _split)
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
    # RankLib reads features as float32, and missing ones as 0.
    rows = np.nan_to_num(X.astype(np.float32), nan=0.0)
    if kind == "## Coordinate Ascent":
        total = np.zeros(len(X))
        for pair in body.split(" "):
            feature, weight = re.fullmatch(r"(\d+):(\S+)", pair).groups()  # type: ignore[union-attr]
            total += float(weight) * rows[:, int(feature) - 1]
        return total
    if kind != "## LambdaMART":
        raise InputError(f"RankLib has no {kind!r}; write the model again.")

    def step(node: ElementTree.Element, reached: Array) -> Any:
        if node[0].tag == "output":
            return np.float32(node[0].text or "")
        # Features are numbered from 1, as in LETOR text.
        feature, threshold = int(node[0].text or "") - 1, np.float32(node[1].text or "")
        return rows[reached, feature] <= threshold, node[2], node[3]

    trees = ((tree.attrib["weight"], tree[0]) for tree in ElementTree.fromstring(body))
    return tree_scores(trees, len(X), step, np.float32)


TARGET = ExportTarget(
    "RankLib's text",
    _write,
    _read,
    "a reader of RankLib's text",
    models=(Linear, Trees),
    is_single=True,
    takes_missing=(),
    keeps_constant=False,
)
