"""Tables 6 to 11, published values next to ours on TREC-7, and what validation chose."""

from __future__ import annotations

from directrix.experiments.significance import Paired
from directrix.reports.tables import Table, Value
from directrix.reproductions.reproduction import TableGroup
from directrix.reproductions.yue2007.protocol import Results
from directrix.reproductions.yue2007.published import TABLES
from directrix.reproductions.yue2007.results import DataSetResult

NOTES = (
    "MAP: mean over topics of the mean over trials, with all relevant documents of the judgements.",
    "W/L: topics on which SVMmap is higher/lower, and level where there are three numbers.",
    "Two stars: p < .05, two-tailed Wilcoxon signed-rank test over the topics.",
    "TREC 9 and TREC 10: as published. They have other topics, documents and runs, so ours need not agree.",
)
"""Notes of Tables 6 to 11."""
_BY_C = (
    "Mean over trials, whatever validation chose. The largest value of a row is no result, because the test "
    "topics would have chosen it."
)
_KINDS = {
    "structural SVMs": ("SVMmap", "SVMroc"),
    "classification": ("SVMacc", "SVMacc3", "SVMacc4"),
    "balanced classification": ("SVMacc2",),
}


def tables(results: Results) -> tuple[TableGroup, ...]:
    """Make Tables 6 to 11, how often validation chose each C, and MAP of the test topics at each C."""
    by_name = {one.name: one for one in results.data_sets}
    numbered = [_compared(number, by_name) for number in TABLES]
    data_sets = ", ".join(f"{one.name} ({one.n_runs} runs)" for one in results.data_sets)
    reading = (
        f'- Data sets: {data_sets}. "Without the best": the run with the highest MAP has no features, but\n'
        "  is still compared with SVMmap.",
        "- The best runs are those of the highest MAP over all topics, known only once these are judged.",
    )
    choices = (
        f"Validation on {results.settings.n_valid} topics chooses C in every trial. Three tables show how\n"
        "often it chose each C, three show MAP of the test topics at each C."
    )
    return (
        TableGroup("How to read the tables", text=reading),
        TableGroup("Against single runs", tuple(numbered[:3])),
        TableGroup("Against other SVMs", tuple(numbered[3:])),
        TableGroup("Which C", _by_c(results), (choices,)),
    )


def _compared(number: int, by_name: dict[str, DataSetResult]) -> Table:
    title, names, published = TABLES[number]
    data_sets = [by_name[name] for name in names]
    has_runs = number <= 8
    systems = [(one.methods[0], *one.base) if has_runs else one.methods for one in data_sets]
    rows: list[tuple[Value, ...]] = []
    for row, (nine, wins_nine, ten, wins_ten) in zip(zip(*systems, strict=False), published, strict=False):
        ours = [value for system in row for value in (system.mean, _wins(system.against))]
        rows.append((row[0].name, *ours, nine, wins_nine or None, ten, wins_ten or None))
    best = [
        f"Best runs of {one.name!r}, in order: {', '.join(s.run for s in one.base)}." for one in data_sets
    ]
    return Table(
        title=f"Table {number}: {title}",
        columns=("model", *["MAP", "W/L"] * (len(data_sets) + 2)),
        groups=(("", 1), *((name, 2) for name in (*names, "TREC 9", "TREC 10"))),
        rows=tuple(rows),
        notes=(*NOTES, *(best if has_runs else ())),
    )


def _wins(against: Paired | None) -> str | None:
    if against is None:
        return None
    counts = [against.wins, against.losses, *([against.ties] if against.ties else [])]
    return "/".join(map(str, counts)) + (" **" if against.is_clear else "")


def _by_c(results: Results) -> tuple[Table, ...]:
    chosen, means = [], []
    for kind, methods in _KINDS.items():
        often: list[tuple[Value, ...]] = []
        worth: list[tuple[Value, ...]] = []
        for one in results.data_sets:
            for method in methods:
                counts = one.chosen[method].values()
                often.append((one.name, method, *counts, one.seconds[method] / sum(counts)))
                worth.append((one.name, method, *one.by_c[method].values()))
        heads = ("data set", "model", *(f"{c:g}" for c in results.data_sets[0].chosen[methods[0]]))
        title = f"How often validation chose each C: {kind}"
        chosen.append(Table(title, (*heads, "seconds per trial"), tuple(often), digits=1))
        means.append(Table(f"MAP of the test topics at each C: {kind}", heads, tuple(worth), notes=(_BY_C,)))
    return (*chosen, *means)
