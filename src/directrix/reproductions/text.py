"""Phrases that the pages of several papers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

QUICK_RUN = (
    "**This is a quick run**: few settings and folds, and short trainings. It shows that everything works; "
    "its numbers are not results."
)
"""First paragraph of the page of a quick run."""


def listed(numbers: Iterable[float]) -> str:
    """Write numbers with commas between them."""
    return ", ".join(f"{number:g}" for number in numbers)


def shown(value: object) -> str:
    """Write the value of a setting."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def elsewhere(source: str, collection: str, original: Sequence[str]) -> str:
    """Add to the source of a statement the collections it is about, if the checked one is not among them."""
    return source if collection in original else f"{source}, of {' and '.join(original)}"
