"""Tables 6 to 11, published values next to ours on TREC-7, and what validation chose."""

from __future__ import annotations

from typing import Any

from directrix.experiments.significance import Paired
from directrix.reports.report import Section
from directrix.reports.tables import Table
from directrix.reproductions.paper import paper
from directrix.reproductions.yue2007.protocol import Results
from directrix.reproductions.yue2007.results import DataSetResult

_PAPER = paper("yue2007")
_KINDS = {
    "structural SVMs": ("SVMmap", "SVMroc"),
    "classification": ("SVMacc", "SVMacc3", "SVMacc4"),
    "balanced classification": ("SVMacc2",),
}


def tables(results: Results) -> tuple[Section, ...]:
    """Make Tables 6 to 11, how often validation chose each C, and MAP of the test topics at each C."""
    by_name = {one.name: one for one in results.data_sets}
    numbered = tuple(_compared(published, by_name) for published in _PAPER.published["tables"])
    data_sets = ", ".join(f"{one.name} ({one.n_runs} runs)" for one in results.data_sets)
    return (
        Section("How to read the tables", text=_PAPER.section("reading", data_sets=data_sets)),
        Section("Against single runs", numbered[:3]),
        Section("Against other SVMs", numbered[3:]),
        Section("Which C", _by_c(results), _PAPER.section("choices", settings=results.settings)),
    )


def _compared(published: dict[str, Any], by_name: dict[str, DataSetResult]) -> Table:
    number, names = published["number"], published["data_sets"]
    data_sets = [by_name[name] for name in names]
    has_runs = number <= 8
    systems = [(one.methods[0], *one.base) if has_runs else one.methods for one in data_sets]
    rows = []
    for row, theirs in zip(zip(*systems, strict=False), published["rows"], strict=False):
        ours = [value for system in row for value in (system.mean, _wins(system.against))]
        rows.append((row[0].name, *ours, *(value or None for value in theirs)))
    best = [
        f"Best runs of {one.name!r}, in order: {', '.join(s.run for s in one.base)}." for one in data_sets
    ]
    return _PAPER.table(
        "compared",
        rows,
        columns=("model", *["MAP", "W/L"] * (len(data_sets) + 2)),
        groups=(("", 1), *((name, 2) for name in (*names, "TREC 9", "TREC 10"))),
        notes=best if has_runs else (),
        number=number,
        title=published["title"],
    )


def _wins(against: Paired | None) -> str | None:
    if against is None:
        return None
    counts = [against.wins, against.losses, *([against.ties] if against.ties else [])]
    return "/".join(map(str, counts)) + (" **" if against.is_clear else "")


def _by_c(results: Results) -> tuple[Table, ...]:
    chosen, means = [], []
    for kind, methods in _KINDS.items():
        often, worth = [], []
        for one in results.data_sets:
            for method in methods:
                counts = one.chosen[method].values()
                often.append((one.name, method, *counts, one.seconds[method] / sum(counts)))
                worth.append((one.name, method, *one.by_c[method].values()))
        heads = ("data set", "model", *(f"{c:g}" for c in results.data_sets[0].chosen[methods[0]]))
        chosen.append(_PAPER.table("chosen", often, columns=(*heads, "seconds per trial"), kind=kind))
        means.append(_PAPER.table("means", worth, columns=heads, kind=kind))
    return (*chosen, *means)
