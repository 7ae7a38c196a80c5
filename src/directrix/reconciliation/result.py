"""The result of `reconcile`: matching settings, switches between two settings, tables and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from directrix.reconciliation.diagnosis import Diagnosis
from directrix.reconciliation.settings import OWN
from directrix.tables import Table

# The words of a field's values; values that are not here are shown as they are.
_WORDS: dict[str, dict[Any, str]] = {
    "gain": {"exp": "2^label - 1", "linear": "label"},
    "discount": {
        "log2": "1/log2(1 + rank)",
        "letor3": "1/log2(rank), ranks 1 and 2 alike",
        "none": "1",
        "position": "-rank",
    },
    "ties": {
        "expected": "mean over all orders",
        "order": "order of the file",
        "reversed": "order of the file, reversed",
        "trec": "document id, descending",
        "id ascending": "document id, ascending",
        "ranx": "order of ranx's sort",
        "worst": "lowest label first",
        "together": "tied documents retrieved together",
        "best": "highest label first",
    },
    "empty": {"zero": "0", "one": "1", "skip": "left out"},
    "denominator": {
        "relevant": "all relevant documents",
        "capped": "min(relevant documents, k)",
        "retrieved": "retrieved documents",
        "k": "k",
    },
    "ideal": {"cut-off": "cut off at k", "whole list": "of the whole list"},
    "queries": {
        "both": "judged queries of the run",
        "judged": "all judged queries",
        "run": "all queries of the run",
        "one list": "all documents as one query",
    },
    "missing": {"count": "count", "dropped": "dropped"},
    "unjudged": {"not relevant": "not relevant", "removed": "removed"},
    "k": {None: "whole list"},
}
# The words of a field; a field that is not here is shown by its name.
_TITLES = {
    "ties": "order of ties",
    "empty": "queries without relevant documents",
    "rel": "lowest relevant label",
    "k": "cut-off",
    "p": "persistence",
    "ideal": "ideal DCG",
    "missing": "relevant documents not retrieved",
    "unjudged": "unjudged documents",
}


class Switch(NamedTuple):
    """One point on which two settings differ."""

    name: str
    """Field of the measure, or ``"ideal"``, ``"queries"``, ``"missing"``, ``"unjudged"``."""
    before: Any
    """Its value in the first setting."""
    after: Any
    """Its value in the second."""
    symbol: str = ""
    """Symbol of the measure."""

    @property
    def short(self) -> str:
        """Name and new value: ``ties=order``."""
        return f"{self.name}={self.after}"

    @property
    def words(self) -> str:
        """Both values in words.

        >>> Switch("rel", 1, 2).words, Switch("gain", "exp", "linear").words
        ('lowest relevant label: 2 instead of 1', 'gain: label instead of 2^label - 1')
        """
        old, new = (
            "relevant documents retrieved"
            if (self.symbol, self.name, value) == ("AP", "denominator", "retrieved")
            else _WORDS.get(self.name, {}).get(value, str(value))
            for value in (self.before, self.after)
        )
        return f"{_TITLES.get(self.name, self.name)}: {new} instead of {old}"

    def to_dict(self) -> dict[str, Any]:
        """Return the switch in JSON types."""
        return {"switch": self.name, "from": self.before, "to": self.after, "words": self.words}


@dataclass(frozen=True)
class SettingMatch:
    """A setting that gives the number; it represents all with the same value for every query."""

    value: float
    """The measure under it."""
    tools: tuple[str, ...]
    """Tools with this setting by default; ``"directrix"`` is the measure as it was given."""
    switches: tuple[Switch, ...]
    """Differences from the measure as it was given."""
    nearest_tools: tuple[str, ...]
    """Tools with the same default that differ least from it."""
    from_tool: tuple[Switch, ...]
    """Differences from their default."""
    n_settings: int
    """Number of settings, itself included, that no query of these data distinguishes from it."""
    free: tuple[str, ...]
    """Switches that alone change nothing in these data."""
    setting: dict[str, Any]
    """Value of every switch."""

    @property
    def words(self) -> str:
        """Tools with this setting by default, else the nearest tool and the switches from it."""
        if self.tools:
            return ", ".join(self.tools)
        return f"{', '.join(self.nearest_tools)} with " + "; ".join(switch.words for switch in self.from_tool)

    def to_dict(self) -> dict[str, Any]:
        """Return the setting in JSON types."""
        return {
            "value": self.value,
            "tools": list(self.tools),
            "switches": [switch.to_dict() for switch in self.switches],
            "nearest_tools": list(self.nearest_tools),
            "from_tool": [switch.to_dict() for switch in self.from_tool],
            "settings": self.n_settings,
            "no_effect": list(self.free),
            "setting": self.setting,
        }


@dataclass(frozen=True)
class Between:
    """The fewest switches that lead from one number to another."""

    start: str
    """The number to start from."""
    is_exact: bool
    """Whether both numbers have settings; else the nearest ones are compared."""
    switches: tuple[Switch, ...]
    """Differences between the two settings."""
    before: dict[str, Any]
    """The setting that gives the number to start from."""
    after: dict[str, Any]
    """The setting that gives the number that was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Return both settings and the switches in JSON types."""
        return {
            "from": self.start,
            "exact": self.is_exact,
            "switches": [switch.to_dict() for switch in self.switches],
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True)
class Reconciliation:
    """Result of `reconcile`; ``print`` shows it."""

    measure: str
    """The measure that was asked for."""
    number: str
    """The number that was asked for."""
    interval: tuple[float, float]
    """Values that are printed as that number."""
    value: float
    """The measure as it was asked for."""
    n_queries: int
    """Number of judged queries of the ranking."""
    n_docs: int
    """Number of their documents."""
    tools: tuple[tuple[str, float, bool], ...]
    """Each tool's default value, and whether it is the number."""
    n_settings: int
    """Number of settings that were tried."""
    n_matches: int
    """Number of those that give the number."""
    n_ways: int
    """Number of those that also differ from each other in the value of some query."""
    matches: tuple[SettingMatch, ...]
    """The latter, at most 100: tools first, then the fewest switches."""
    is_cut: bool
    """Whether the settings give the number only if further decimals are truncated, not rounded."""
    nearest: SettingMatch | None
    """The setting with the nearest value, if none gives the number."""
    between: Between | None
    """The fewest switches from another number."""
    diagnosis: Diagnosis
    """Properties of the data that make numbers differ."""

    @property
    def distance(self) -> float:
        """Distance of the nearest setting from the number; 0 if a setting gives it."""
        if self.nearest is None:
            return 0.0
        low, high = self.interval
        return max(low - self.nearest.value, self.nearest.value - high, 0.0)

    @property
    def answer(self) -> tuple[str, ...]:
        """Findings in sentences."""
        tools = [name for name, _, same in self.tools if same and name != OWN]
        does = "give" if len(tools) > 1 else "gives"
        by_default = f"{', '.join(tools)} {does} it by default" if tools else "no tool gives it by default"
        if self.nearest is not None:
            out = [
                f"None of {self.n_settings:,} settings gives {self.measure} = {self.number}; the nearest "
                f"gives {self.nearest.value:.6g}, {self.distance:.2g} away: {self.nearest.words}."
            ]
        elif not self.matches[0].switches:
            out = [f"{self.measure} is {self.number} without any switch; {by_default}."]
        else:
            # Without such a tool, the nearest one and its switches say how to get the number.
            way = "" if tools else f"; {self.matches[0].words} does"
            out = [f"{self.measure} = {self.number}: {by_default}{way}."]
        if self.is_cut:
            out.append("The number is not rounded: its further decimals are cut off.")
        if self.n_matches > 1:
            text = f"{self.n_matches:,} of {self.n_settings:,} settings give the number"
            if self.n_ways == 1:
                out.append(
                    f"{text}, and under all of them every query has the same value: these data cannot tell "
                    "them apart."
                )
            else:
                out.append(
                    f"{text}; they differ in the value of single queries in {self.n_ways:,} ways. The number "
                    "alone does not decide between these: give more of its decimals, or the number of "
                    "another measure."
                )
        if (between := self.between) is not None:
            n, to = len(between.switches), f"From {between.start} to {self.number}"
            if not between.is_exact:
                to += ", or to the settings nearest to them"
            words = "; ".join(switch.words for switch in between.switches)
            way = f"{n} switch{'es' * (n > 1)} ({words})."
            out.append(f"{to}: {way if n else 'no switch, the same setting is nearest to both.'}")
        return tuple(out)

    def tables(self, top: int = 10) -> tuple[Table, ...]:
        """Return tables of the settings that give the number, of the tools, and of the data.

        Parameters
        ----------
        top : int
            Number of settings to show.
        """
        # Without a setting that gives the number, the table shows the nearest one.
        rows = tuple(
            (
                ", ".join(match.tools) or "-",
                ", ".join(switch.short for switch in match.switches) or "none",
                len(match.switches),
                match.value,
                match.n_settings,
                ", ".join(match.free) or "-",
            )
            for match in self.matches[:top] or (() if self.nearest is None else (self.nearest,))
        )
        relation = "Settings that give" if self.matches else "The setting nearest to"
        more = self.n_ways - len(self.matches[:top])
        matches = Table(
            f"{relation} {self.measure} = {self.number}",
            ("tool", "switches", "n", "value", "settings", "no effect"),
            rows,
            notes=(f"{more:,} more are not shown.",) if more > 0 else (),
            digits=6,
        )
        tools = Table(
            f"{self.measure} by default",
            ("tool", "value", "is the number"),
            tuple((name, value, "yes" if same else "no") for name, value, same in self.tools),
            digits=6,
        )
        return matches, tools, *self.diagnosis.tables()

    def __str__(self) -> str:
        return "\n\n".join(
            ["\n".join(self.answer), *(table.text() for table in self.tables()), *self.diagnosis.remarks]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON types."""
        return {
            "measure": self.measure,
            "number": self.number,
            "interval": list(self.interval),
            "value": self.value,
            "queries": self.n_queries,
            "documents": self.n_docs,
            "answer": list(self.answer),
            "settings": self.n_settings,
            "matching": self.n_matches,
            "ways": self.n_ways,
            "cut_off_decimals": self.is_cut,
            "matches": [match.to_dict() for match in self.matches],
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
            "distance": self.distance,
            "between": None if self.between is None else self.between.to_dict(),
            "tools": [{"tool": name, "value": v, "matches": same} for name, v, same in self.tools],
            "diagnosis": self.diagnosis.to_dict(),
        }
