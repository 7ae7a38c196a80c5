"""Sentences of the page: what the results say, and values for `page.md`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from directrix.reports.report import Claim
from directrix.reproductions.collection import absent
from directrix.reproductions.he2010.methods import MAP
from directrix.reproductions.he2010.protocol import COLLECTIONS, CollectionResults, Results
from directrix.reproductions.paper import paper

_PAPER = paper("he2010")


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarize the results on each collection."""
    collections = results.collections.items()
    agreements = (
        _PAPER.section(
            "summary of agreement",
            name=name,
            n=len(agreement.points),
            measure=agreement.measure,
            tau=agreement.kendall["test"][0],
            least=agreement.by_fold["test"].min(),
            most=agreement.by_fold["test"].max(),
        )
        for name, one in collections
        for agreement in one.agreements
    )
    parts = (*(_of_collection(name, one) for name, one in collections), *agreements)
    return tuple(sentence for part in parts for sentence in part)


def _of_collection(name: str, results: CollectionResults) -> tuple[str, ...]:
    compared, trade = results.compared, results.trade_off
    sharp = results.coefficients[MAP]
    first, last = next(iter(sharp)), list(sharp)[-1]
    structural = [float(values.mean()) for values in results.coefficients["structural"].values()]
    means = {entry: compared.mean(entry, "AP") for entry in compared.entries if "," not in entry}
    best = max(means, key=means.__getitem__)
    return _PAPER.section(
        "summary of a collection",
        name=name,
        first=sharp[first].mean(),
        first_label=first,
        last=sharp[last].mean(),
        last_label=last,
        least=min(structural),
        most=max(structural),
        best=best,
        highest=means[best],
        means=means,
        range=max(means.values()) - min(means.values()),
        gain=100.0 * (trade.many.mean() / trade.one.mean() - 1.0),
    )


def details(results: Results) -> dict[str, Any]:
    """Return values for the placeholders of the page."""
    data = "; ".join(
        f"{name}, {len(one.collection.splits)} folds, {len(one.compared.query_ids)} test queries"
        for name, one in results.collections.items()
    )
    minutes = results.seconds / 60.0
    return {
        "settings": results.settings,
        "data": data,
        "minutes": minutes,
        "absent": absent(COLLECTIONS, results.collections),
    }
