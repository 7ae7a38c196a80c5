"""What a target is: how a formula is written for it, and how what was written is read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from directrix.errors import InputError
from directrix.export.formula import Formula, Linear, Network, Summand
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

ANY_MODEL = "onnx, vespa, sql or python"
"""Targets that take every model without scales by query."""

_KINDS: dict[Any, str] = {Linear: "a linear model", Network: "a network", Trees: "trees"}


@dataclass(frozen=True)
class ExportTarget:
    """A format of models.

    Parameters
    ----------
    title : str
        What it is, for users.
    write : callable
        From a `Formula` to the content of the file; `InputError` if the format cannot carry it.
    read : callable
        From the content, the formula and features (n_rows, n_features) to scores float64 (n_rows,), by a
        reader that knows the formula only by the names of its features.
    reader : callable
        Name and version of that reader, or None if it is not installed.
    is_single : bool
        Whether features and scores are float32 there.
    takes_missing : bool
        Whether a feature can be missing there; else the file reads it as 0.
    has_contributions : bool
        Whether the program also gives contributions of features, for which it needs the counts of leaves.
    keeps_constant : bool
        Whether it has the constant of a linear model, which no order depends on.
    held : callable, optional
        From thresholds to those that the program will have, where they can differ in the last digit.
    """

    title: str
    write: Callable[[Formula], bytes]
    read: Callable[[bytes, Formula, Array], Float64Array]
    reader: Callable[[], str | None]
    is_single: bool = False
    takes_missing: bool = True
    has_contributions: bool = False
    keeps_constant: bool = True
    held: Callable[[Array], Array] = lambda thresholds: thresholds


def only(formula: Formula, title: str, *kinds: type) -> Summand:
    """Return the one part of a formula, if it is of these kinds and sees features as they are.

    Raises `InputError` otherwise, with the targets that can say it.
    """
    taken = " or ".join(_KINDS[kind] for kind in kinds)
    if len(formula.parts) > 1:
        what = "adds up " + " and ".join(_KINDS[type(part.model)] for part in formula.parts)
    elif not isinstance(formula.parts[0].model, kinds):
        what = f"is {_KINDS[type(formula.parts[0].model)]}"
    elif len(formula.parts[0].inputs) > formula.n_features or not all(
        one.is_feature for one in formula.parts[0].inputs
    ):
        what = "scales its features by logarithms or quantiles, or twice"
    else:
        return formula.parts[0]
    raise InputError(f"{title} takes {taken} of plain features, and this model {what}; choose {ANY_MODEL}.")


def only_trees(formula: Formula, title: str) -> Trees:
    """Return the trees that a formula is; `InputError` if it is anything else."""
    trees = only(formula, title, Trees).model
    return trees if isinstance(trees, Trees) else Trees.none(formula.n_features)


def version_of(package: str) -> Callable[[], str | None]:
    """Return a function that names an installed package with its version."""

    def reader() -> str | None:
        from importlib.metadata import PackageNotFoundError, version

        for name in (package, f"{package}-cpu", f"{package}-gpu"):
            try:
                return f"{package} {version(name)}"
            except PackageNotFoundError:
                pass
        return None

    return reader
