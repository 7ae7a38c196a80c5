"""The experiments of papers, repeated: one folder for each paper."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from directrix.errors import InputError

if TYPE_CHECKING:
    from typing import Any

    from directrix.reproductions.base import Reproduction

__all__ = ["PAPERS", "reproduction"]

PAPERS = {
    "qin2010": "Qin, Liu & Li (2010): ApproxRank, OHSUMED",
    "chapelle2010": "Chapelle & Wu (2010): SmoothRank, OHSUMED",
    "yue2007": "Yue et al. (2007): SVMmap on runs as features, TREC-7",
    "donmez2009": "Donmez, Svore & Burges (2009): local optimality of LambdaRank, OHSUMED",
    "he2010": "He & Liu (2010): tendency correlation, OHSUMED",
}
"""Name of each folder, and what its paper is about."""


def reproduction(name: str) -> Reproduction[Any, Any, Any]:
    """Return the reproduction of a paper, a key of `PAPERS`; `InputError` for other names."""
    if name not in PAPERS:
        known = "; ".join(f"{key}: {about}" for key, about in PAPERS.items())
        raise InputError(f"{name!r} is not the name of a reproduction. Give one of these. {known}.")
    paper: Reproduction[Any, Any, Any] = importlib.import_module(
        f"directrix.reproductions.{name}"
    ).REPRODUCTION
    return paper
