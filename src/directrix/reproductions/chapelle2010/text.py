"""Sentences of the page: what the results say, and values for `page.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import compare
from directrix.reports.report import Claim
from directrix.reproductions.chapelle2010.methods import CURVE, LINEAR, curve, rivals
from directrix.reproductions.chapelle2010.protocol import COLLECTIONS, Results
from directrix.reproductions.collection import absent
from directrix.reproductions.paper import paper

_PAPER = paper("chapelle2010")


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarize the results on each collection, and count the verdicts."""
    sentences = [one for name, compared in results.compared.items() for one in _places(name, compared)]
    first = results.compared[results.first]
    if "SmoothAP" in first.entries:
        ap, ap_of_ndcg = (first.mean(entry, "AP") for entry in ("SmoothAP", LINEAR))
        sentences += _PAPER.section("summary of SmoothAP", name=results.first, ap=ap, ap_of_ndcg=ap_of_ndcg)
    verdicts = Counter(claim.verdict for claim in claims)
    return (*sentences, *_PAPER.section("summary of claims", n=len(claims), verdicts=verdicts))


def _places(name: str, compared: CrossValidation) -> Iterator[str]:
    """Say which place SmoothNDCG has, by two measures, and which differences the test could miss."""
    values = {entry: curve(compared, entry) for entry in (LINEAR, *rivals(compared))}
    for measure, means in (
        ("nDCG@10", {entry: compared.mean(entry, "nDCG@10") for entry in values}),
        (CURVE, {entry: float(one.mean()) for entry, one in values.items()}),
    ):
        ordered = sorted(means, key=lambda entry: -means[entry])
        best = next(entry for entry in ordered if entry != LINEAR)
        yield from _PAPER.section(
            "summary of a collection",
            name=name,
            measure=measure,
            place=ordered.index(LINEAR) + 1,
            n=len(means),
            value=means[LINEAR],
            best=best,
            value_of_best=means[best],
        )
    yield f"{name}: {compare(values, against=LINEAR).power_note}"


def details(results: Results) -> dict[str, Any]:
    """Return values for the placeholders of the page; a quick run does not name every collection."""
    is_quick = results.settings.collections is not None
    return {
        "settings": results.settings,
        "folds": ", ".join(f"{name}: {len(one.splits)} folds" for name, one in results.collections.items()),
        "quick": "A quick run leaves them out." if is_quick else None,
        "absent": absent(COLLECTIONS, COLLECTIONS if is_quick else results.collections),
    }
