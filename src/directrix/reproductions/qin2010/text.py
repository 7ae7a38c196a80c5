"""Sentences of the page: what the results say, and values for `page.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from directrix.experiments.significance import detectable
from directrix.reports.report import Claim, tally
from directrix.reproductions.collection import absent
from directrix.reproductions.paper import paper
from directrix.reproductions.qin2010.methods import MAP, NDCG_ALL
from directrix.reproductions.qin2010.protocol import COLLECTIONS, CollectionResults, Results

_PAPER = paper("qin2010")


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarize the claims, and the results on each collection."""
    collections = results.collections
    sentences = [*_counted(claims)]
    for one in collections.values():
        sentences += _of_collection(one)
    if "OHSUMED" in collections:
        sentences += _beside_published(collections["OHSUMED"])
    for one in collections.values():
        sentences += _accuracy(one)
    return (*sentences, *_of_bounds(collections))


def _counted(claims: Sequence[Claim]) -> Iterator[str]:
    """Count the verdicts on approximation, and on methods: the latter are claims of Sections 6.3 to 6.5."""
    parts: dict[str, list[Claim]] = {"Accuracy of approximation": [], "Which method ranks better": []}
    accuracy, better = parts.values()
    for claim in claims:
        (better if claim.source.startswith("Sect. 6") else accuracy).append(claim)
    return (f"- {title}. {tally(part)}" for title, part in parts.items() if part)


def _of_collection(results: CollectionResults) -> tuple[str, ...]:
    compared = results.compared
    ranges = []
    for measure in (MAP, NDCG_ALL):
        means = {method: compared.mean(method, measure) for method in compared.entries}
        low, high = (pick(means, key=means.__getitem__) for pick in (min, max))
        ranges.append(f"{means[low]:.3f} ({low}) to {means[high]:.3f} ({high})")
    values, others = (compared.values(method, MAP) for method in ("ApproxAP", "SVMmap"))
    return _PAPER.section(
        "summary of a collection",
        name=results.collection.name,
        map=ranges[0],
        ndcg=ranges[1],
        n=len(values),
        error=float(np.std(values, ddof=1) / np.sqrt(len(values))),
        detectable=detectable(values, others),
    )


def _beside_published(results: CollectionResults) -> tuple[str, ...]:
    parts = []
    for method, published in _PAPER.published["ndcg_n"].items():
        ours = results.compared.mean(method, NDCG_ALL)
        parts.append(f"{method} {ours:.4f} ({ours - published:+.4f})")
    return _PAPER.section("summary of published values", methods=", ".join(parts))


def _accuracy(results: CollectionResults) -> tuple[str, ...]:
    parts = []
    for figure in ("ApproxAP by alpha", "ApproxNDCG by alpha"):
        curves = results.curves[figure]
        low, high = min(curves), max(curves)
        ends = [1 - curves[alpha].rho[-1] for alpha in (low, high)]
        least = [1 - curves[alpha].rho.max() for alpha in (low, high)]
        parts.append(
            f"{figure.split()[0]} ends with {ends[0]:.1%} at alpha = {low:g} and {ends[1]:.1%} at {high:g} "
            f"(least of all epochs {least[0]:.1%} and {least[1]:.1%})"
        )
    return _PAPER.section("summary of accuracy", name=results.collection.name, accuracy="; ".join(parts))


def _of_bounds(collections: Mapping[str, CollectionResults]) -> tuple[str, ...]:
    parts = []
    for name, one in collections.items():
        curves = [curve for by in one.curves.values() for curve in by.values() if curve.bounds]
        shares = [
            float(np.mean([curve.bounds[kind].covered.mean() for curve in curves]))
            for kind in ("gap", "relevant")
        ]
        parts.append(f"{name} {shares[0]:.0%} and {shares[1]:.0%}")
    return _PAPER.section("summary of bounds", shares=", ".join(parts))


def details(results: Results) -> dict[str, Any]:
    """Return values for the placeholders of the page."""
    collections = results.collections
    return {
        "settings": results.settings,
        "minutes": results.seconds / 60.0,
        "other_measures": " and ".join(n for n, one in collections.items() if one.by_measure) or None,
        "sets": "; ".join(
            f"{name}, {COLLECTIONS[name]}, {len(one.collection.splits)} folds"
            for name, one in collections.items()
        ),
        "replacements": None if {"TD2003", "TD2004"} & set(collections) else " and ".join(collections),
        "absent": absent(COLLECTIONS, collections),
    }
