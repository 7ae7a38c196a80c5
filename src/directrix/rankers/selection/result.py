"""The result of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from directrix.rankers.selection.trial import CUT_SHORT, UNTRAINED, Candidate
from directrix.types import Float64Array


@dataclass(frozen=True)
class Search:
    """The result of a search.

    Parameters
    ----------
    ranker : Ranker
        Fitted with the chosen settings, or an `EnsembleRanker` of ``members``.
    chosen : Candidate
        The best single candidate, unless an earlier method is as good: see `preferred`.
    candidates : tuple of Candidate
        All that were tried, in order.
    selection : str
        On which queries the choice was made, in words.
    why : str
        By how much the chosen candidate is ahead of the best of another method, or the ensemble of the best
        single candidate, with the standard error, in words.
    gap : float
        Mean over the training queries of abs(surrogate - its measure), at the end: how far what was
        optimized is from what it replaces; NaN where no surrogate of a measure was optimized.
    remarks : tuple of str
        What the caller should know: that no query could teach an order, or none could choose.
    members : tuple of (Candidate, float)
        The members of the ensemble with their weights, the heaviest first; empty for a single ranker.
    scores : float64 (n_docs,)
        Scores of the validation queries of all folds by what was chosen, before it was trained again on all
        queries, in units of their spread on the training queries.
    folds : int or None
    seed : int
        As they were given: with the data they determine the folds, see `selection_folds`.
    """

    ranker: Any
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    selection: str
    why: str
    gap: float
    remarks: tuple[str, ...] = ()
    members: tuple[tuple[Candidate, float], ...] = ()
    scores: Float64Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    folds: int | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        """What was chosen, in words."""
        count = len(self.members)
        return f"an ensemble of {count} candidates" if count else self.chosen.label

    def part_of(self, candidate: Candidate) -> str:
        """Return "chosen", "member 0.25" (with its weight), or the outcome of the candidate.

        After how many steps the time budget stopped it follows: "chosen, stopped after 8 of 300 trees".
        """
        part = "chosen" if candidate is self.chosen and not self.members else candidate.outcome
        for member, weight in self.members:
            if member is candidate:
                part = f"member {weight:.2f}"
        if not candidate.progress or part == UNTRAINED:
            return part
        stopped = f"stopped after {candidate.progress}"
        return stopped if part == CUT_SHORT else f"{part}, {stopped}"
