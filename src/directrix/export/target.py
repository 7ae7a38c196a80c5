"""`ExportTarget`: a format of models, with its writer and its reader.

The name of a format goes in, with a version if its files differ between versions. Its target writes a
formula as a file, and reads a file back for verification::

    chosen = target("opensearch:3.5")
    content = chosen.content(formula_of(ranker))
    scores = chosen.read(content, formula_of(ranker), X)
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from directrix.errors import Advice, InputError, short_text
from directrix.export.formula import Formula, Linear, Network
from directrix.export.trees import for_float32, in_float32, splits_of
from directrix.models.trees import Trees
from directrix.registry import TARGETS
from directrix.types import Array, Float64Array

ANY_MODEL = "onnx, vespa, sql or python"
"""Targets that take every model without scales by query."""

Version = tuple[int, ...]
"""Numbers of a version: (3, 5) for 3.5."""

_KINDS: dict[Any, str] = {Linear: "a linear model", Network: "a network", Trees: "trees"}


@dataclass(frozen=True)
class ExportTarget:
    """A format of models.

    Parameters
    ----------
    title : str
        Description for users.
    write : callable
        Function from a formula that the target supports, see `content`, to the content of the file.
    read : callable
        Function from the content, the formula and features (n_rows, n_features) to scores float64 (n_rows,).
        Its reader uses only the names of the features from the formula. For a calibrated model the result has
        two columns: scores and probabilities. A score is NaN if versions of the program disagree on it.
    reader : str or None
        Name and version of that reader; None if it is not installed.
    models : tuple of types
        The supported types of models, if it supports only one model of unscaled features; () for any formula.
    is_single : bool
        Whether the program uses float32 for features and scores.
    takes_missing : tuple of types
        The types of models for which the program supports missing features; in others it reads them as 0.
    takes_categories : bool
        Whether splits by categories can be written.
    takes_queries : bool
        Whether the file holds the queries that compute the features.
    has_contributions : bool
        Whether the program also gives contributions of features, for which it needs the counts of leaves.
    keeps_constant : bool
        Whether the file stores the constant of a linear model, on which no order depends.
    keeps_calibration : bool
        Whether the file also gives the probabilities of a calibrated model.
    held : callable, optional
        Function from thresholds to those that the program will use, if they can differ in the last digit.
    rounds_trees : bool
        Whether the program may use float32 for the features of trees, and double precision for all sums.
    note : callable, optional
        Function from the formula to what users must know of its file, in one sentence; "" if nothing.
    """

    title: str
    write: Callable[[Formula], bytes]
    read: Callable[[bytes, Formula, Array], Float64Array]
    reader: str | None
    models: tuple[type, ...] = ()
    is_single: bool = False
    takes_missing: tuple[type, ...] = (Linear, Network, Trees)
    takes_categories: bool = False
    takes_queries: bool = False
    has_contributions: bool = False
    keeps_constant: bool = True
    keeps_calibration: bool = False
    held: Callable[[Array], Array] = lambda thresholds: thresholds
    rounds_trees: bool = False
    note: Callable[[Formula], str] = lambda formula: ""

    def content(self, formula: Formula) -> bytes:
        """Return the content of the file; `InputError` if the format does not support the formula."""
        if formula.calibration is not None and not self.keeps_calibration:
            raise InputError(
                f"{self.title} holds scores alone, and this model is calibrated: its probabilities would "
                f"be lost. Choose {ANY_MODEL}.",
                Advice("export-scores"),
            )
        if self.models:
            self._check_model(formula)
        summands = list(formula.parts)
        # Thresholds are rounded down to float32, which sends every float32 the same way as before.
        rounded = in_float32 if self.is_single else for_float32 if self.rounds_trees else lambda trees: trees
        for place, summand in enumerate(summands):
            if isinstance(summand.model, Trees):
                self._check_trees(summand.model)
                summands[place] = summand._replace(model=rounded(summand.model))
        return self.write(formula._replace(parts=tuple(summands)))

    @property
    def reads_zeros(self) -> bool:
        """Whether the program reads missing features as 0 in some kind of model that it takes."""
        return not set(self.models or _KINDS) <= set(self.takes_missing)

    def fills(self, formula: Formula) -> bool:
        """Whether the program reads a missing feature as 0, and the model as another number."""
        return any(
            entry.missing not in (None, 0.0)
            for summand in formula.parts
            if not isinstance(summand.model, self.takes_missing)
            for entry in summand.inputs
        )

    def check_filled(self, formula: Formula) -> None:
        """Raise `InputError` if missing features count otherwise in the program."""
        if self.fills(formula):
            raise InputError(
                f"{self.title} reads missing features as 0, and the model as the mean of the training data; "
                f"choose {ANY_MODEL}.",
                Advice("train-on-zeros"),
            )

    def rounds_features(self, formula: Formula) -> bool:
        """Whether the program may use float32 for features."""
        has_trees = any(isinstance(summand.model, Trees) for summand in formula.parts)
        return self.is_single or (self.rounds_trees and has_trees)

    def _check_model(self, formula: Formula) -> None:
        """Raise `InputError` unless the formula is one model that the target takes, of plain features."""
        first = formula.parts[0]
        if len(formula.parts) > 1:
            what = "adds up " + " and ".join(_KINDS[type(summand.model)] for summand in formula.parts)
        elif not isinstance(first.model, self.models):
            what = f"is {_KINDS[type(first.model)]}"
        # A union of scales has more columns than there are features.
        elif len(first.inputs) > formula.n_features or not all(entry.is_feature for entry in first.inputs):
            what = "scales its features by logarithms or quantiles, or twice"
        else:
            return
        taken = " or ".join(_KINDS[kind] for kind in self.models)
        method = "ApproxNDCG" if Linear in self.models else "LambdaMART"
        raise InputError(
            f"{self.title} takes {taken} of plain features, and this model {what}; choose {ANY_MODEL}, or "
            f"train such a model, e.g. the method {method}."
        )

    def _check_trees(self, trees: Trees) -> None:
        """Raise `InputError` unless the target can carry the trees."""
        if trees.categories and not self.takes_categories:
            raise InputError(
                f"{self.title} has no categories here; choose onnx, lightgbm, python or sql, or train "
                "without features of categories."
            )
        # A program that reads 0 agrees with trees that send 0 and missing features to the same side.
        if Trees not in self.takes_missing and sends_missing(trees):
            raise InputError(
                f"{self.title} reads missing features as 0, and these trees send them another way; choose "
                "lightgbm, xgboost, onnx, elastic, vespa, sql or python.",
                Advice("train-on-zeros"),
            )


def sends_missing(trees: Trees) -> bool:
    """Whether any split sends a missing feature to another side than 0."""
    return any(split.missing_left != split.zero_left for split in splits_of(trees))


def target(text: str) -> ExportTarget:
    """Return a target by its name, and a version if its files differ between versions: "opensearch:3.5".

    Raises `InputError` for an unknown name, and a version that is not one, or makes no difference.
    """
    name, colon, numbers = text.partition(":")
    # The names alone are known here, because the module of a target may import a large package.
    if name not in TARGETS:
        near = difflib.get_close_matches(name.lower(), TARGETS, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"there is no target {short_text(text)}; type one of {', '.join(TARGETS)}.{meant}")
    module = import_module(f"directrix.{TARGETS[name]}")
    if colon and not hasattr(module, "of_version"):
        raise InputError(f"{short_text(text)}: the files of {name} suit all versions; type {name}.")
    if colon and not re.fullmatch(r"\d{1,4}(\.\d{1,4})*", numbers, re.ASCII):
        raise InputError(
            f"a version must be numbers with points, got {short_text(text)}; type e.g. {name} or "
            "opensearch:3.5."
        )
    chosen: ExportTarget = (
        module.of_version(name, tuple(map(int, numbers.split("."))) if colon else None)
        if hasattr(module, "of_version")
        else module.TARGET
    )
    return chosen


def last(version: Version) -> Version:
    """Return a version after all that a version stands for: 3 stands for 3.0 to 3.9 and more."""
    return *version, sys.maxsize


def titled(title: str, version: Version | None) -> str:
    """Return a title with a version, if there is one."""
    return title if version is None else f"{title} {'.'.join(map(str, version))}"


def version_of(package: str) -> str | None:
    """Return the name and version of a package, None if it is not installed."""
    # Some packages have other names for machines with and without GPUs.
    for name in (package, f"{package}-cpu", f"{package}-gpu"):
        try:
            return f"{package} {version(name)}"
        except PackageNotFoundError:
            pass
    return None
