"""Reproductions of papers: for each, one module runs the experiments and another makes the page."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from directrix.errors import InputError

if TYPE_CHECKING:
    from typing import Any

    from directrix.papers.paper import Paper

__all__ = ["PAPERS", "find_paper"]

PAPERS = {
    "qin2010": "Qin, Liu & Li (2010): ApproxRank, OHSUMED",
    "chapelle2010": "Chapelle & Wu (2010): SmoothRank, OHSUMED",
    "yue2007": "Yue et al. (2007): SVMmap on runs as features, TREC-7",
    "donmez2009": "Donmez, Svore & Burges (2009): local optimality of LambdaRank, OHSUMED",
    "he2010": "He & Liu (2010): tendency correlation, OHSUMED",
}
"""Name and subject of each paper."""


def find_paper(name: str) -> Paper[Any, Any]:
    """Return the paper with a name in `PAPERS`; `InputError` for other names."""
    if name not in PAPERS:
        names = "; ".join(f"{key}: {about}" for key, about in PAPERS.items())
        raise InputError(f"{name!r} is not the name of a paper. Give one of these. {names}.")
    paper: Paper[Any, Any] = importlib.import_module(f"directrix.papers.{name}_page").PAPER
    return paper
