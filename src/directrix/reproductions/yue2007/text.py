"""Sentences of the page: what the results say, and values for `page.md`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from directrix.reports.report import Claim
from directrix.reproductions.paper import paper
from directrix.reproductions.yue2007.claims import better
from directrix.reproductions.yue2007.protocol import Results
from directrix.reproductions.yue2007.results import DataSetResult
from directrix.reproductions.yue2007.texts import COLLECTIONS

_PAPER = paper("yue2007")


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Say on each data set what SVMmap is better and worse than."""
    sentences = [one for data_set in results.data_sets for one in _of_data_set(data_set)]
    return (*sentences, *_PAPER.section("verdicts"))


def _of_data_set(data_set: DataSetResult) -> tuple[str, ...]:
    first, *others = *data_set.methods, *data_set.base[:1]
    kinds: dict[str, list[str]] = {"better than": [], "worse than": [], "no clear difference from": []}
    named = dict(zip(("holds", "does not hold", "not significant"), kinds.values(), strict=True))
    for system in others:
        name = f"{system.name.lower()} (`{system.run}`)" if system.run else system.name
        named[better(first, system)].append(f"{name} {system.mean:.3f}")
    compared = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)
    return _PAPER.section("summary", name=data_set.name, first=first, compared=compared)


def _absent(names: Sequence[str]) -> str | None:
    """Say which collections were not read; None if all were."""
    missing = [f"`text/{folder}`" for name, folder in COLLECTIONS.items() if name not in names]
    return (
        f"{', '.join(missing)} are not in the data folder. Add them, and run the command again."
        if missing
        else None
    )


def details(results: Results) -> dict[str, Any]:
    """Return values for the placeholders of the page."""
    settings, data_sets = results.settings, results.data_sets
    return {
        "settings": settings,
        "texts": ", ".join(one.name for one in data_sets if one.name in COLLECTIONS)
        or "Cranfield, CACM, NPL",
        "absent": _absent([one.name for one in data_sets]),
        "hours": sum(sum(one.seconds.values()) for one in data_sets) / 3600,
        "trainings": sum(
            settings.trials * len(counts) for one in data_sets for counts in one.chosen.values()
        ),
        "unconverged": sum(sum(one.not_converged.values()) for one in data_sets),
    }
