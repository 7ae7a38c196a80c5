"""Measures under the convention of another tool, for reporting and for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from directrix.measures.base import RankingMeasure
from directrix.measures.convention import Convention
from directrix.measures.convention import convention as find_convention
from directrix.measures.evaluation import warn_lacking
from directrix.measures.names import measure as parse_measure


class Rules:
    """Parses measures and puts them under the convention of a tool; measure objects are kept as they are.

    Without a tool: directrix's own rules.
    """

    def __init__(self, tool: Convention | str | None) -> None:
        self._tool = None if tool is None else find_convention(tool)
        self.name = "default" if self._tool is None else self._tool.name

    def __call__(self, measure: RankingMeasure | str, *, always: bool = False) -> RankingMeasure:
        """Return the measure to report; with ``always`` a measure object is put under the convention too."""
        parsed = parse_measure(measure)
        return parsed.under(self._tool) if self._tool and (always or isinstance(measure, str)) else parsed

    def trained_for(self, measure: RankingMeasure | str) -> RankingMeasure:
        """Return the measure that methods train for: with gain, discount and denominators of the tool.

        The tool's rules for ties and for queries without relevant documents concern finished scores;
        LambdaRank cannot be trained for them.
        """
        reported = self(measure)
        if self._tool is None or not isinstance(measure, str):
            return reported
        plain = parse_measure(measure)
        tie_rules = {name: getattr(plain, name) for name in ("ties", "empty") if hasattr(plain, name)}
        return replace(reported, **tie_rules)

    def warn(self, names: Sequence[str], measures: Sequence[RankingMeasure]) -> None:
        """Warn about measures that the tool does not have."""
        if self._tool is not None:
            warn_lacking(self._tool, list(names), list(measures), "Leave out those, or the convention.")
