"""One Python file without dependencies."""

from __future__ import annotations

import inspect
import platform
import subprocess
import sys
import tempfile
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.export import portable
from directrix.export.formula import Formula, Input, Linear, Network, Summand
from directrix.export.target import ExportTarget
from directrix.export.trees import nested, nodes_of
from directrix.rankers.calibration import SHARE
from directrix.types import Array, Float64Array


def _write(formula: Formula) -> bytes:
    """Return the source of `directrix.export.portable`, with the model in it."""
    names = ""
    for f in range(formula.n_features):
        # A comment says which number stands for each category.
        categories = None if formula.categories is None else formula.categories[f]
        numbers = (f", {place} for {name!a}" for place, name in enumerate(categories or ()))
        names += f"# {f} {formula.name(f)!a}{''.join(numbers)}\n"
    model = "".join(f"    {_entry(summand)!r},\n" for summand in formula.parts)
    empty = 'MODEL: "list[Any]" = []\nN_FEATURES = 0\nCALIBRATION: "tuple[Any, ...]" = ()\n'
    # The exported file is the source of a module that is tested here, with the model instead of its
    # empty one.
    before, _, after = inspect.getsource(portable).partition(empty)
    calibration: tuple[Any, ...] = ()
    if (curve := formula.calibration) is not None:
        calibration = curve.slope, curve.intercept, curve.knots, curve.values, SHARE
    content = f'MODEL: "list[Any]" = [\n{model}]\nN_FEATURES = {formula.n_features}\n'
    content += f'CALIBRATION: "tuple[Any, ...]" = {calibration!r}\n'
    return f"{before}# features, in their order:\n{names}{content}{after}".encode()


def _entry(summand: Summand) -> tuple[Any, ...]:
    """Return the entry of a model in the list of the file: its kind, its columns, and its numbers."""
    model, is_plain = summand.model, all(entry == Input(f) for f, entry in enumerate(summand.inputs))
    inputs = None if is_plain else [astuple(entry) for entry in summand.inputs]
    if isinstance(model, Linear):
        return "linear", inputs, model.weights.tolist(), model.constant
    if isinstance(model, Network):
        layers = [
            (weights.T.tolist(), bias.tolist(), model.adds_inputs(n))
            for n, (weights, bias) in enumerate(model.layers)
        ]
        linear = [] if model.linear is None else [model.linear.weights.tolist(), model.linear.constant]
        return "network", inputs, layers, model.last.tolist(), linear, model.activation
    roots: list[Any] = nested(nodes_of(model), float, lambda split, left, right: (*split, left, right))
    return "trees", None, roots


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by a new process of Python that sees no other package."""
    lines = "".join(",".join(map(repr, row)) + "\n" for row in X.tolist())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.py")
        path.write_bytes(content)
        # These options keep the packages and settings of the user out of the process.
        command = [sys.executable, "-I", "-S", str(path)]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(
            f"Python cannot run this file: {done.stderr.strip().rpartition(chr(10))[2]}; choose "
            "another target."
        )
    results = np.array([line.split(",") for line in done.stdout.splitlines()], dtype=np.float64)
    return results if results.shape[1] > 1 else results[:, 0]


TARGET = ExportTarget(
    "Python",
    _write,
    _read,
    f"Python {platform.python_version()}",
    takes_categories=True,
    keeps_calibration=True,
)
