"""The settings of a measure: axes of conventions and data, and the tools as settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.convention import convention, conventions
from directrix.measures.dcg import NDCG
from directrix.measures.precision import AP, BinaryMeasure
from directrix.measures.terms import HIGHEST_EXPONENT
from directrix.parameters import literal_words
from directrix.reconciliation.material import Material
from directrix.types import Array, Int64Array

ARRANGED = ("reversed", "best", "id ascending")
"""Tie orders that measures do not have: documents are rearranged before they are ranked."""

TOGETHER = "together"
"""Tied documents of AP are retrieved together, as in scikit-learn's average_precision_score."""

# Number of relevance levels that are tried as thresholds.
_MOST_LEVELS = 5
# Cut-offs that are tried for a measure without one; 32 is the default of XGBoost.
_CUT_OFFS = (5, 10, 20, 32, 100, 1000)
# Persistences of RBP that are tried; .8 is the default of ir_measures, and .9 that of trec_eval.
_PERSISTENCES = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class Space:
    """All meaningful combinations of the values of some axes."""

    axes: dict[str, tuple[Any, ...]]
    """The values of each switch, the one that was asked for first."""
    codes: Array
    """int8 (n_settings, n_axes): places of values on the axes; all 0 for the setting that was asked for,
    the first."""

    def setting(self, row: int) -> dict[str, Any]:
        """Return the value of every axis in a row of ``codes``."""
        codes = zip(self.axes.items(), self.codes[row].tolist(), strict=True)
        return {name: values[code] for (name, values), code in codes}

    def row_with(self, chosen: dict[str, Any]) -> int:
        """Return the row of the setting with these values, otherwise the requested ones; -1 if none."""
        code = [values.index(chosen.get(name, values[0])) for name, values in self.axes.items()]
        rows = np.flatnonzero((self.codes == code).all(axis=1))
        return int(rows[0]) if len(rows) else -1

    def n_switches(self, row: int, rows: Any = slice(None)) -> Int64Array:
        """Return the number of switches from one setting to others."""
        return np.asarray(np.count_nonzero(self.codes[rows] != self.codes[row], axis=1))


def space_of(measure: RankingMeasure, material: Material) -> Space:
    """Return all settings that these data could distinguish, including those of every tool."""
    ranked, has_judgments = material.ranked, material.judged
    # A set of queries, or of documents, is a choice only if the data have others, too.
    queries = {
        "both": True,
        "judged": (has_judgments & ~ranked).any(),
        "run": (ranked & ~has_judgments).any(),
        "one list": material.both.sum() > 1,
    }
    every = _axes_of_measure(measure, material) | {
        "queries": tuple(name for name, differs in queries.items() if differs),
        "missing": ("count", *(["dropped"] if not material.retrieved.all() else [])),
        "unjudged": ("not relevant", *(["removed"] if material.unjudged.any() else [])),
    }
    axes = {name: values for name, values in every.items() if len(values) > 1}
    sizes = [len(values) for values in axes.values()]
    codes = np.indices(sizes, dtype=np.int8).reshape(len(sizes), math.prod(sizes)).T
    return Space(axes, np.ascontiguousarray(codes[~_senseless(axes, codes, measure, material)]))


def _axes_of_measure(measure: RankingMeasure, material: Material) -> dict[str, tuple[Any, ...]]:
    """Return the values of every field: the requested one, those of measures and tools, and some more."""
    of_tools = [_fields_of(tool, measure) for tool in map(convention, conventions()) if tool.has(measure)]
    axes = {}
    for field in fields(measure):
        name, asked = field.name, getattr(measure, field.name)
        allowed = literal_words(type(measure)).get(name, ())
        values_of_tools = allowed or [values[name] for values in of_tools if name in values]
        others = [
            *(value for value in values_of_tools if _is_possible(name, value, material)),
            *([not asked] if isinstance(asked, bool) else []),
            *_more_values(measure, name, allowed, material),
        ]
        axes[name] = tuple(dict.fromkeys([asked, *others]))
    return axes | ({"ideal": ("cut-off", "whole list")} if isinstance(measure, NDCG) else {})


def _fields_of(tool: Any, measure: RankingMeasure) -> dict[str, Any]:
    """Return the values that a convention gives to the fields of the measure."""
    names = frozenset(field.name for field in fields(measure))
    chosen: dict[str, Any] = tool.fields_for(type(measure).__name__, names)
    return chosen


def _is_possible(name: str, value: Any, material: Material) -> bool:
    """Return whether the data support a value: order by document ids needs ids, or no ties."""
    if name == "gain" and value == "exp":
        return float(material.labels.max(initial=0.0)) <= HIGHEST_EXPONENT
    return (name, value) != ("ties", "trec") or is_ordered_by_ids(material)


def is_ordered_by_ids(material: Material) -> bool:
    """Return whether there are ids for tied documents, or none tie in single precision, as in trec_eval."""
    return material.doc_ids is not None or not material.tied(np.float32).any()


def _more_values(
    measure: RankingMeasure, name: str, allowed: tuple[Any, ...], material: Material
) -> list[Any]:
    """Return values to try that the field of the measure itself does not list."""
    if name == "k":
        k = getattr(measure, name)
        longest = int(np.diff(material.qptr).max(initial=0))
        if k is None:
            return [cut_off for cut_off in _CUT_OFFS if cut_off < longest]
        return [cut_off for cut_off in (k - 1, k + 1) if cut_off >= 1] + [None]
    if name == "p":
        return list(_PERSISTENCES)
    if name == "rel" and isinstance(measure, BinaryMeasure):
        labels = np.unique(material.labels)
        return [int(v) if v == int(v) else v for v in labels[labels > 0.0][:_MOST_LEVELS].tolist()]
    if name == "ties" and "order" in allowed:
        orders = ARRANGED if material.doc_ids is not None else ARRANGED[:2]
        return [*orders, *([TOGETHER] if isinstance(measure, AP) else [])]
    return ["retrieved"] if name == "denominator" and isinstance(measure, AP) else []


def _senseless(
    axes: dict[str, tuple[Any, ...]], codes: Array, measure: RankingMeasure, material: Material
) -> Array:
    """Return the combinations that have no value, or equal another one by definition."""

    def where(name: str, value: Any) -> Array:
        if name not in axes:
            return np.full(len(codes), getattr(measure, name, None) == value)
        code = axes[name].index(value) if value in axes[name] else -1
        return np.asarray(codes[:, list(axes).index(name)] == code)

    # The expectation of a quotient is not the quotient of the expectations.
    out = where("denominator", "retrieved") & where("ties", "expected") & isinstance(measure, AP)
    out |= where("ideal", "whole list") & where("k", None)
    # A cut-off could split a group of tied documents.
    out |= where("ties", TOGETHER) & ~where("k", None)
    if material.doc_ids is None:
        out |= where("ties", "trec") & where("queries", "one list")
    return out


class Tool(NamedTuple):
    """A tool, or one of its options: a convention, and its differences from it."""

    name: str
    convention: str
    changes: dict[str, Any]
    """Values of switches; ``k`` applies only to a measure without a cut-off."""
    symbols: tuple[str, ...] = ()
    """Measures that have this option, or another name in the tool; () = all that the tool has."""


# A tool that takes arrays does not see documents that were not retrieved.
_ARRAYS_ONLY = {"missing": "dropped"}
# This is trec_eval's default persistence; other measures have no such field.
_RBP = {"p": 0.9}
TOOLS = (
    Tool("trec_eval", "trec_eval", _RBP),
    Tool("trec_eval -c", "trec_eval", _RBP | {"queries": "judged"}),
    Tool("trec_eval -J", "trec_eval", _RBP | {"unjudged": "removed"}),
    Tool("gdeval", "gdeval", {}),
    Tool("letor3", "letor3", _ARRAYS_ONLY),
    Tool("letor4", "letor4", _ARRAYS_ONLY),
    Tool("sklearn", "sklearn", _ARRAYS_ONLY),
    Tool("sklearn average_precision_score", "sklearn", _ARRAYS_ONLY | {"ties": TOGETHER}, ("AP",)),
    Tool("lightgbm", "lightgbm", _ARRAYS_ONLY),
    Tool("xgboost", "xgboost", _ARRAYS_ONLY | {"k": 32}),
    Tool("xgboost NAME-", "xgboost", _ARRAYS_ONLY | {"k": 32, "empty": "zero"}, ("nDCG", "AP")),
    Tool("catboost", "catboost", _ARRAYS_ONLY),
    Tool("catboost type=Exp", "catboost", _ARRAYS_ONLY | {"gain": "exp"}, ("nDCG", "DCG")),
    Tool("ranx", "ranx", {}),
    Tool("ranx NAME_burges", "ranx", {"gain": "exp"}, ("nDCG", "DCG")),
)
"""Tools in the order in which they are reported."""

OWN = "directrix"
"""Name of the setting that was asked for."""


def rows_of_tools(measure: RankingMeasure, space: Space) -> dict[str, int]:
    """Return the row of each tool that has the measure, by name; the measure as it was given comes first."""
    rows = {OWN: 0}
    for tool in TOOLS:
        preset = convention(tool.convention)
        wanted = _fields_of(preset, measure)
        has_it = measure.symbol in tool.symbols or (not tool.symbols and preset.has(measure))
        is_expressed = all(
            value in space.axes.get(name, (getattr(measure, name),))
            # A value that the measure does not know cannot be a difference.
            or value not in literal_words(type(measure)).get(name, (value,))
            for name, value in wanted.items()
        )
        # Sets of queries, or documents, that the data do not have change nothing.
        changes = {
            name: value
            for name, value in tool.changes.items()
            if value in space.axes.get(name, ()) and (name != "k" or getattr(measure, name) is None)
        }
        if has_it and is_expressed and (changes or tool.name == tool.convention):
            reachable = {name: value for name, value in wanted.items() if value in space.axes.get(name, ())}
            rows[tool.name] = space.row_with(reachable | changes)
    return {name: row for name, row in rows.items() if row >= 0}
