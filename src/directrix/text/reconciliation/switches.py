"""The space of settings: every point on which tools differ, as an axis with its values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from directrix.measures.base import CHOICES, RankingMeasure
from directrix.measures.convention import convention, conventions
from directrix.measures.dcg import NDCG
from directrix.measures.precision import AP, BinaryMeasure
from directrix.measures.terms import HIGHEST_EXPONENT
from directrix.text.reconciliation.material import Material
from directrix.types import Array

ARRANGED = ("reversed", "best", "id ascending")
"""Orders of tied documents that measures do not have: documents are rearranged before they are ranked."""

TOGETHER = "together"
"""Tied documents of AP are retrieved together, as by scikit-learn's average_precision_score."""

_MOST_LEVELS = 5  # of relevance that are tried as thresholds
_CUT_OFFS = (5, 10, 20, 32, 100, 1000)  # tried for a measure without one; 32 is that of XGBoost


@dataclass(frozen=True)
class Axis:
    """One switch: its name and its values, the one that was asked for first."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Space:
    """All combinations of the values of some axes that make sense together.

    Parameters
    ----------
    axes : tuple of Axis
    codes : int8 (n_settings, n_axes)
        Position of the value on each axis; the first setting is the one that was asked for, all 0.
    row : int64 (number of values of each axis, ...)
        Row of ``codes`` of every combination, -1 for those without a sense.
    """

    axes: tuple[Axis, ...]
    codes: Array
    row: Array

    def setting(self, row: int) -> dict[str, Any]:
        """Value of every axis in a row of ``codes``."""
        return {
            axis.name: axis.values[code]
            for axis, code in zip(self.axes, self.codes[row].tolist(), strict=True)
        }

    def row_with(self, chosen: dict[str, Any]) -> int:
        """Row of the setting with these values and otherwise those asked for; -1 if there is none."""
        code = []
        for axis in self.axes:
            value = chosen.get(axis.name, axis.values[0])
            if value not in axis.values:
                return -1
            code.append(axis.values.index(value))
        return int(self.row[tuple(code)])

    def value(self, row: int, name: str) -> Any:
        """Value of one axis in a row of ``codes``, None if there is no such axis."""
        return self.setting(row).get(name)


def space_of(measure: RankingMeasure, material: Material) -> Space:
    """Return all settings that these data could show apart, those of every tool among them."""
    axes = [*_axes_of_measure(measure, material), *_axes_of_data(material)]
    axes = [axis for axis in axes if len(axis.values) > 1]
    sizes = [len(axis.values) for axis in axes]
    codes = np.indices(sizes, dtype=np.int8).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), np.int8)
    kept = ~_senseless(axes, codes, measure, material)
    row = np.where(kept, np.cumsum(kept) - 1, -1).reshape(sizes)
    return Space(tuple(axes), np.ascontiguousarray(codes[kept]), row)


def _axes_of_measure(measure: RankingMeasure, material: Material) -> list[Axis]:
    of_tools = _values_of_tools(measure)
    axes = []
    for field in fields(measure):
        name, asked = field.name, getattr(measure, field.name)
        allowed = measure.choices.get(name) or CHOICES.get(name) or ()
        others = [
            *(value for value in allowed or of_tools.get(name, ()) if _possible(name, value, material)),
            *([not asked] if isinstance(asked, bool) else []),
            *_more_values(measure, name, allowed, material),
        ]
        axes.append(Axis(name, tuple(dict.fromkeys([asked, *others]))))
    if isinstance(measure, NDCG):
        axes.append(Axis("ideal", ("cut-off", "whole list")))
    return axes


def _values_of_tools(measure: RankingMeasure) -> dict[str, list[Any]]:
    """Values that tools set each field of the measure to."""
    known = frozenset(field.name for field in fields(measure))
    values: dict[str, list[Any]] = {}
    for tool in map(convention, conventions()):
        if tool.has(measure):
            for name, value in tool.fields_for(type(measure).__name__, known).items():
                values.setdefault(name, []).append(value)
    return values


def _more_values(
    measure: RankingMeasure, name: str, allowed: tuple[Any, ...], material: Material
) -> list[Any]:
    """Values to try that the field of the measure itself does not list."""
    if name == "k":
        return _cut_offs(getattr(measure, name), material)
    if name == "rel" and isinstance(measure, BinaryMeasure):
        labels = np.unique(material.labels)
        return [int(v) if v == int(v) else v for v in labels[labels > 0.0][:_MOST_LEVELS].tolist()]
    if name == "ties" and "order" in allowed:
        ways = [*ARRANGED, *([TOGETHER] if isinstance(measure, AP) else [])]
        return [way for way in ways if way != "id ascending" or material.doc_ids is not None]
    return ["retrieved"] if name == "denominator" and isinstance(measure, AP) else []


def _possible(name: str, value: Any, material: Material) -> bool:
    """Whether the data have what a value needs: order by document ids needs ids, or no ties."""
    if name == "gain" and value == "exp":
        return float(material.labels.max(initial=0.0)) <= HIGHEST_EXPONENT
    return not (name == "ties" and value == "trec") or material.doc_ids is not None or not has_ties(material)


def has_ties(material: Material) -> bool:
    """Whether documents of a query have the same score in single precision, as trec_eval reads it."""
    kept = material.retrieved
    with np.errstate(over="ignore"):
        single = material.scores[kept].astype(np.float32)
    query = material.query[kept]
    order = np.lexsort((single, query))
    return bool(((np.diff(single[order]) == 0) & (np.diff(query[order]) == 0)).any())


def _cut_offs(asked: Any, material: Material) -> list[Any]:
    longest = int(np.diff(material.qptr).max(initial=0))
    if asked is None:
        return [k for k in _CUT_OFFS if k < longest]
    return [k for k in (asked - 1, asked + 1) if k >= 1] + [None]


def _axes_of_data(material: Material) -> list[Axis]:
    ranked, judged = material.ranked, material.judged
    queries = ["both"]
    queries += ["judged"] if (judged & ~ranked).any() else []
    queries += ["run"] if (ranked & ~judged).any() else []
    queries += ["one list"] if (ranked & judged).sum() > 1 else []
    return [
        Axis("queries", tuple(queries)),
        Axis("missing", ("count", "dropped") if not material.retrieved.all() else ("count",)),
        Axis("unjudged", ("not relevant", "removed") if material.unjudged.any() else ("not relevant",)),
    ]


def _senseless(axes: list[Axis], codes: Array, measure: RankingMeasure, material: Material) -> Array:
    """Which combinations have no value, or are another one of the space by definition."""

    def where(name: str, value: Any) -> Array:
        for column, axis in enumerate(axes):
            if axis.name == name:
                code = axis.values.index(value) if value in axis.values else -1
                return np.asarray(codes[:, column] == code)
        return np.full(len(codes), getattr(measure, name, None) == value)

    # the expectation of a quotient is not the quotient of the expectations
    out = where("denominator", "retrieved") & where("ties", "expected") & isinstance(measure, AP)
    out |= where("ideal", "whole list") & where("k", None)
    out |= where("ties", TOGETHER) & ~where("k", None)  # a cut-off could part a group
    if material.doc_ids is None:
        out |= where("ties", "trec") & where("queries", "one list")
    return out
