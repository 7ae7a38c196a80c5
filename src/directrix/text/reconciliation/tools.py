"""What each tool does by default, as a setting of a space."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

from directrix.measures.base import RankingMeasure
from directrix.measures.convention import convention
from directrix.text.reconciliation.switches import Space

_ARRAYS_ONLY = {"missing": "dropped"}  # a tool that takes arrays does not see what was not retrieved


class Tool(NamedTuple):
    """A tool, or one of its options: a convention, and what differs from it."""

    name: str
    convention: str
    changes: dict[str, Any]
    symbols: tuple[str, ...] = ()
    """Measures that it is an option of, or has by another name; () = all that the tool has."""
    cut_off: int | None = None
    """Where it cuts off a measure that is written without a cut-off; None: nowhere."""


TOOLS = (
    Tool("trec_eval", "trec_eval", {}),
    Tool("trec_eval -c", "trec_eval", {"queries": "judged"}),
    Tool("trec_eval -J", "trec_eval", {"unjudged": "removed"}),
    Tool("gdeval", "gdeval", {}),
    Tool("letor3", "letor3", _ARRAYS_ONLY),
    Tool("letor4", "letor4", _ARRAYS_ONLY),
    Tool("sklearn", "sklearn", _ARRAYS_ONLY),
    Tool("sklearn average_precision_score", "sklearn", _ARRAYS_ONLY | {"ties": "together"}, ("AP",)),
    Tool("lightgbm", "lightgbm", _ARRAYS_ONLY),
    Tool("xgboost", "xgboost", _ARRAYS_ONLY, cut_off=32),
    Tool("xgboost NAME-", "xgboost", _ARRAYS_ONLY | {"empty": "zero"}, ("nDCG", "AP"), 32),
    Tool("catboost", "catboost", _ARRAYS_ONLY),
    Tool("catboost type=Exp", "catboost", _ARRAYS_ONLY | {"gain": "exp"}, ("nDCG", "DCG")),
    Tool("ranx", "ranx", {}),
    Tool("ranx NAME_burges", "ranx", {"gain": "exp"}, ("nDCG", "DCG")),
)
"""Tools in the order in which they are reported."""

OWN = "directrix"
"""Name of the setting that was asked for."""


def rows_of_tools(measure: RankingMeasure, space: Space) -> dict[str, int]:
    """Return the row of each tool that has the measure, by its name; first the measure as it was given."""
    known = frozenset(field.name for field in fields(measure))
    values = {axis.name: axis.values for axis in space.axes}
    rows = {OWN: 0}
    for tool in TOOLS:
        preset = convention(tool.convention)
        if measure.symbol not in tool.symbols and (tool.symbols or not preset.has(measure)):
            continue
        wanted = preset.fields_for(type(measure).__name__, known)
        chosen = {name: value for name, value in wanted.items() if value in values.get(name, ())}
        unreachable = [
            name for name, value in wanted.items() if name not in chosen and value != getattr(measure, name)
        ]
        # a query set or documents that the data do not have change nothing
        option = {name: value for name, value in tool.changes.items() if value in values.get(name, ())}
        if " " in tool.name and option == {}:
            continue
        if getattr(measure, "k", 0) is None and tool.cut_off in values.get("k", ()):
            option["k"] = tool.cut_off
        row = space.row_with(chosen | option)
        if row >= 0 and not any(_matters(name, measure, wanted[name]) for name in unreachable):
            rows[tool.name] = row
    return rows


def _matters(name: str, measure: RankingMeasure, value: Any) -> bool:
    """Whether a field of a tool that the space lacks is one that the measure could have."""
    return value in measure.choices.get(name, (value,))
