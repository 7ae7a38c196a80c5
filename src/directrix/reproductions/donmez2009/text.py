"""Sentences of the page: what the results say, and values for `page.md`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from directrix.reports.report import Claim
from directrix.reproductions.collection import absent
from directrix.reproductions.donmez2009.methods import COMPARED
from directrix.reproductions.donmez2009.protocol import Results
from directrix.reproductions.donmez2009.settings import MEASURES, NETS, Large
from directrix.reproductions.paper import paper

_PAPER = paper("donmez2009")
_WEIGHTS = {"converged": "the weights of the best training epoch", "polished": "polished weights"}


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarize the comparisons on each collection, and the tests of local optimality."""
    sentences: list[str] = []
    for name, one in results.collections.items():
        best = [max(one.constructions(measure), key=lambda row: row.mean) for measure in COMPARED]
        first = ", ".join(
            f"{measure}: `{row.name}` {row.mean:.3f}" for measure, row in zip(COMPARED, best, strict=True)
        )
        sentences += _PAPER.section("summary of constructions", name=name, best=first)
    for name, one in results.collections.items():
        matching = one.matching("mlp")
        best_training = ", ".join(f"{target} by {matching.best(target)}" for target in MEASURES)
        sentences += _PAPER.section("summary of trainings", name=name, best=best_training)
    for kind, text in _WEIGHTS.items():
        if certificates := list(results.of_kind(kind).values()):
            rising = [one["n_rising"] for one in certificates]
            tried = sorted({one["n_directions"] for one in certificates})
            sentences += _PAPER.section(
                "summary of optimality",
                weights=text,
                n_optima=sum(one["is_local_optimum"] for one in certificates),
                n=len(certificates),
                directions=f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}",
                least=min(rising),
                most=max(rising),
                largest=max(one["largest_rise"] for one in certificates),
            )
    return tuple(sentences)


def details(results: Results) -> dict[str, Any]:
    """Return values for the placeholders of the page."""
    settings, collections = results.settings, results.collections
    folds = " and ".join(
        f"{name} ({n} of its 5 folds)" for name, n in settings.letor_folds.items() if name in collections
    )
    large = settings.large
    return {
        "settings": settings,
        "large": large and _of_size(large),
        "letor": f"{folds}, LETOR: labels 0 to 2, relevant from 1 on. " if folds else "",
        "queries": "; ".join(f"{name} {len(one.compared.query_ids)}" for name, one in collections.items()),
        "n_directions": next((one["n_directions"] for one in results.certificates.values()), 0),
        "absent": absent(settings.letor_folds, collections),
    }


def _of_size(large: Large) -> str:
    size = large.size
    numbers = f"{size.n_train:,} / {size.n_valid:,} / {size.n_test:,} queries to train, validate and test"
    nets = ", ".join(f"{NETS[model]} net for {measure}" for model, measure in large.trained)
    rates = ", ".join(f"{rate:g}" for rate in large.rates)
    return f"{size.n_features} features, {size.n_monomials:,} monomials, {numbers}; {nets}; rates {rates}."
