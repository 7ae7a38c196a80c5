"""Measures as a tool counts them, and as much of that as can be trained for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from directrix.measures.base import RankingMeasure
from directrix.measures.convention import Convention
from directrix.measures.convention import convention as find_convention
from directrix.measures.evaluation import warn_lacking
from directrix.measures.names import measure as parse_measure

__all__ = ["Rules"]


class Rules:
    """Turns texts into measures that count as a tool does; measures are taken as they are.

    Parameters
    ----------
    tool : Convention or str, optional
        None: directrix's own rules.
    """

    def __init__(self, tool: Convention | str | None) -> None:
        self._tool = None if tool is None else find_convention(tool)
        self.name = "default" if self._tool is None else self._tool.name

    def __call__(self, measure: RankingMeasure | str, *, always: bool = False) -> RankingMeasure:
        """Return the measure to be counted; ``always``: a measure under the convention too."""
        found = parse_measure(measure)
        return found.under(self._tool) if self._tool and (always or isinstance(measure, str)) else found

    def trained_for(self, measure: RankingMeasure | str) -> RankingMeasure:
        """Return what methods train for: gain, discount and denominators of the tool.

        How it breaks ties and what it says of queries without relevant documents concern finished
        scores; LambdaRank can be trained for neither.
        """
        found = self(measure)
        if self._tool is None or not isinstance(measure, str):
            return found
        own = parse_measure(measure)
        kept = {name: getattr(own, name) for name in ("ties", "empty") if hasattr(own, name)}
        return replace(found, **kept)

    def warn(self, names: Sequence[str], measures: Sequence[RankingMeasure]) -> None:
        """Warn of measures that the tool does not have."""
        if self._tool is not None:
            warn_lacking(self._tool, list(names), list(measures), "Leave those out, or convention=.")
