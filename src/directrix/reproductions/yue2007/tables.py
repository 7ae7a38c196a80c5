"""Tables 6 to 11, published values next to ours on TREC-7, and what validation chose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from directrix.experiments.significance import Paired
from directrix.reports.report import Section
from directrix.reproductions.paper import paper
from directrix.reproductions.yue2007.examples import hypotheses
from directrix.reproductions.yue2007.protocol import Results
from directrix.reproductions.yue2007.results import DataSetResult
from directrix.tables import Table

_PAPER = paper("yue2007")
_LAST_OF_RUNS = 8  # tables from 9 on compare with other SVMs
_KINDS = {
    "structural SVMs": ("SVMmap", "SVMroc"),
    "classification": ("SVMacc", "SVMacc3", "SVMacc4"),
    "balanced classification": ("SVMacc2",),
    "classification with the hinge": ("SVMacc (hinge)",),
}


def tables(results: Results) -> tuple[Section, ...]:
    """Make Tables 1 to 11, what Theorem 1 says, how often validation chose each C, and MAP at each C."""
    by_name = {one.name: one for one in results.data_sets}
    wanted = [
        {**table, "data_sets": names, "title": table["title"] + more}
        for table in _PAPER.published["tables"]
        for names, more in (
            (table["data_sets"], ""),
            (table.get("with_documents", []), ", collections with documents"),
        )
    ]
    present = [table for table in wanted if table["data_sets"] and by_name.keys() >= set(table["data_sets"])]
    of_runs, of_methods = (
        tuple(
            _compared(table, by_name) for table in present if (table["number"] <= _LAST_OF_RUNS) is is_of_runs
        )
        for is_of_runs in (True, False)
    )
    data_sets = ", ".join(f"{one.name} ({one.n_runs} runs)" for one in results.data_sets)
    return (
        Section("Examples and data", (*_examples(), *_statistics(results), *_constraints(results))),
        Section("How to read the tables", text=_PAPER.section("reading", data_sets=data_sets)),
        Section("Against single runs", of_runs),
        Section("Against other SVMs", of_methods),
        Section("Which C", _by_c(results), _PAPER.section("choices", settings=results.settings)),
    )


def _compared(published: dict[str, Any], by_name: dict[str, DataSetResult]) -> Table:
    number, names = published["number"], published["data_sets"]
    data_sets = [by_name[name] for name in names]
    has_runs = number <= _LAST_OF_RUNS
    systems = [(one.methods[0], *one.base) if has_runs else one.methods for one in data_sets]
    rows = []
    nothing = [None] * len(published["rows"][0])  # of methods that are not the paper's
    for row, theirs in zip(
        zip(*systems, strict=False), chain(published["rows"], repeat(nothing)), strict=False
    ):
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


def _examples() -> Iterator[Table]:
    """Tables 1 to 4."""
    for example in _PAPER.published["examples"]:
        documents, labels, found = hypotheses(example)
        first, second = example["tables"]
        n, other = len(documents), example["other"]
        rows = [
            ("p", *map(int, labels)),
            ("rank(h1)", *range(n, 0, -1)),
            ("rank(h2)", *range(1, n + 1)),
        ]
        yield _PAPER.table("example", rows, columns=("document", *documents), number=first)
        yield _PAPER.table("example-values", found, number=second, other=other)


def _statistics(results: Results) -> Iterator[Table]:
    """Table 5."""
    ours = [(f"{one.name} (ours)", *one.statistics) for one in results.data_sets]
    theirs = [
        (one["name"] + " (published)", *one["row"], None, None) for one in _PAPER.published["statistics"]
    ]
    yield _PAPER.table("statistics", [*ours, *theirs], bins=results.settings.grid.bins)


def _constraints(results: Results) -> Iterator[Table]:
    """Make a table of what Algorithm 1 adds, next to the bound of Theorem 1; none without such trials."""
    settings, counted = results.settings, results.constraints
    rows = [
        (
            one.name,
            f"{count.c:g}",
            count.added,
            count.largest,
            f"{count.bound:.1e}",
            count.passes,
            count.one_slack,
        )
        for one in counted
        for count in one.counts
    ]
    if rows:
        yield _PAPER.table(
            "constraints",
            rows,
            n_trials=min(settings.counted, settings.trials),
            n_train=settings.n_train,
            epsilon=settings.grid.epsilon,
            n_trainings=sum(one.n_trainings for one in counted),
            n_converged=sum(one.n_converged for one in counted),
            radius=max(one.radius for one in counted),
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
        n_ends = n = 0
        for one in results.data_sets:
            for method in methods:
                counts = list(one.chosen[method].values())
                n_ends, n = n_ends + counts[0] + (counts[-1] if len(counts) > 1 else 0), n + sum(counts)
                often.append((one.name, method, *counts, one.seconds[method] / sum(counts)))
                worth.append((one.name, method, *one.by_c[method].values()))
        heads = ("data set", "model", *(f"{c:g}" for c in results.data_sets[0].chosen[methods[0]]))
        chosen.append(
            _PAPER.table(
                "chosen", often, columns=(*heads, "seconds per trial"), kind=kind, n_ends=n_ends, n=n
            )
        )
        means.append(_PAPER.table("means", worth, columns=heads, kind=kind))
    return (*chosen, *means)
