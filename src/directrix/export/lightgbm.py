"""LightGBM's own text."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np

from directrix.data.frames import Categories, name_of
from directrix.errors import InputError
from directrix.export.formula import Formula
from directrix.export.target import ExportTarget, version_of
from directrix.models.lightgbm_text import CATEGORICAL
from directrix.models.trees import Trees, lightgbm
from directrix.types import Array, Float64Array

# The contributions of this number of rows are verified: one takes as long as hundreds of scores.
_EXPLAINED = 200
# Contributions may miss the score by this share of the sum of their absolute values, by rounding.
_TOLERANCE = 1e-9
_VERSION = version_of("lightgbm")


_REJECTED = re.compile(r"""[][{}",:\s]""")
"""Characters that separate names in LightGBM's text, or that it rejects in names."""


def _write(formula: Formula) -> bytes:
    """Return the text that ``lightgbm.Booster(model_file=...)`` reads."""
    names = None if _rejected(formula) is not None else formula.names
    # A column of pandas has the categories as texts, one that counts as missing, and numbers: a frame may
    # hold a category such as 7 as a number or as text, which directrix takes for the same.
    of_pandas = [
        [*texts, "", *_numbers(texts).values()] for texts in formula.categories or () if texts is not None
    ]
    trees = formula.model
    if formula.categories is not None:
        trees = _with_numbers(trees, formula.categories)
    return f"{trees.to_lightgbm(names)}\npandas_categorical:{json.dumps(of_pandas)}\n".encode()


def _rejected(formula: Formula) -> str | None:
    """Return a name of a feature that LightGBM's text cannot hold, if there is one."""
    return next((name for name in formula.names or () if not name or _REJECTED.search(name)), None)


def _numbers(names: tuple[str, ...]) -> dict[int, int | float]:
    """Return the categories whose names are those of numbers, by their places."""
    numbers: dict[int, int | float] = {}
    for place, name in enumerate(names):
        with suppress(ValueError, OverflowError):
            number = float(name)
            numbers[place] = int(number) if number.is_integer() else number
    return {n: x for n, x in numbers.items() if np.isfinite(x) and name_of(x) == names[n]}


def _with_numbers(trees: Trees, categories: Categories) -> Trees:
    """Return trees whose sets also have the places of categories as numbers, which follow the texts."""
    threshold, sets = trees.threshold.copy(), list[tuple[int, ...]]()
    for split in np.flatnonzero(trees.decision & CATEGORICAL).tolist():
        names, chosen = categories[trees.feature[split]] or (), trees.categories[int(threshold[split])]
        more = [len(names) + 1 + n for n, place in enumerate(_numbers(names)) if place in chosen]
        # The threshold of a split by categories is the number of its set.
        threshold[split] = len(sets)
        sets.append((*chosen, *more))
    return replace(trees, threshold=threshold, categories=tuple(sets))


def _note(formula: Formula) -> str:
    lost = _rejected(formula)
    return "" if lost is None else f"the features have no names there, since LightGBM rejects {lost!r}"


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by LightGBM; contributions must add up to them."""
    booster = lightgbm().Booster(model_str=content.decode())
    scores: Float64Array = booster.predict(X, raw_score=True, num_threads=1)
    if booster.num_trees():
        shares = booster.predict(X[:_EXPLAINED], pred_contrib=True, num_threads=1)
        rest = np.abs(shares.sum(axis=1) - scores[:_EXPLAINED])
        if not (rest <= _TOLERANCE * np.abs(shares).sum(axis=1)).all():
            raise InputError(
                f"LightGBM's contributions (pred_contrib) miss the scores by up to {rest.max():.2g}; choose "
                "another target, e.g. python, and report this model."
            )
    return scores


TARGET = ExportTarget(
    "LightGBM's text",
    _write,
    _read,
    _VERSION and f"{_VERSION} (scores and contributions)",
    models=(Trees,),
    takes_categories=True,
    has_contributions=True,
    note=_note,
)
