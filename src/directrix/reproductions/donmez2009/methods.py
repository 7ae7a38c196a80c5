"""Trainings that are compared on test queries: constructions of the forces, and measures to train for."""

from __future__ import annotations

from typing import Any

from directrix.experiments.crossval import Entry
from directrix.reproductions.donmez2009.collection import MeasuredCollection
from directrix.reproductions.donmez2009.settings import (
    CONSTRUCTIONS,
    EVERY_CHANGE,
    NETS,
    USUAL,
    Settings,
    options_of,
)

COMPARED = ("nDCG", "AP", "RR")
"""Measures that all constructions are trained for. The paper has MAP and MRR; nDCG represents graded ones."""


def entry_name(model: str, measure: str, construction: str = USUAL) -> str:
    """Return the name of the entry of a net, a measure by its full name, and a construction."""
    return f"{model} for {measure}" + (f", {construction}" if construction != USUAL else "")


def entries(collection: MeasuredCollection, settings: Settings) -> list[Entry]:
    """Return both nets with the usual forces for every measure, and the two-layer net with all others."""
    fixed: dict[str, Any] = {"epochs": settings.epochs, "patience": settings.patience}
    methods = {
        "linear": ("LambdaRank", fixed),
        "mlp": ("LambdaRank-MLP", {**fixed, "hidden": (settings.hidden,)}),
    }
    measures = collection.measures
    rows: list[tuple[str, str, str]] = [
        (model, measure, USUAL) for model in NETS for measure in measures.values()
    ]
    rows += [("mlp", measures[measure], name) for measure in COMPARED for name in CONSTRUCTIONS[1:]]
    rows += [("mlp", measures["RR"], EVERY_CHANGE)]
    return [
        Entry(
            entry_name(model, measure, construction),
            methods[model][0],
            {**methods[model][1], **options_of(measure, construction)},
            {"learning_rate": settings.rates},
            measure,
        )
        for model, measure, construction in rows
    ]
