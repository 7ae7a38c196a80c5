"""Tables 6 to 11 of Yue et al. (2007), beside ours on TREC-7."""

from __future__ import annotations

from collections.abc import Sequence

from directrix.experiments.significance import Paired
from directrix.experiments.yue2007.collection import ALL, WITHOUT_BEST
from directrix.experiments.yue2007.results import ColumnResult, Figure
from directrix.reports.tables import Table, Value

__all__ = ["NOTES", "tables"]

_Published = tuple[tuple[float, str, float, str], ...]
_FIRST = ("basic", "plain + basic")
_PUBLISHED: dict[int, tuple[str, tuple[str, ...], _Published]] = {
    6: (
        "Comparison with base functions",
        _FIRST,
        (
            (0.242, "", 0.236, ""),
            (0.204, "39/11 **", 0.181, "37/13 **"),
            (0.199, "38/12 **", 0.174, "43/7 **"),
            (0.188, "34/16 **", 0.174, "38/12 **"),
        ),
    ),
    7: (
        "Comparison with base functions, all runs",
        (ALL,),
        (
            (0.290, "", 0.287, ""),
            (0.280, "28/22", 0.283, "29/21"),
            (0.269, "30/20", 0.251, "36/14 **"),
            (0.266, "30/20", 0.233, "36/14 **"),
        ),
    ),
    8: (
        "Comparison with base functions, trained without the best run",
        (WITHOUT_BEST,),
        (
            (0.284, "", 0.288, ""),
            (0.280, "27/23", 0.283, "31/19"),
            (0.269, "30/20", 0.251, "36/14 **"),
            (0.266, "30/20", 0.233, "35/15 **"),
        ),
    ),
    9: (
        "Comparison with previous SVM methods",
        _FIRST,
        (
            (0.242, "", 0.236, ""),
            (0.237, "29/21", 0.234, "24/26"),
            (0.147, "47/3 **", 0.155, "47/3 **"),
            (0.219, "39/11 **", 0.207, "43/7 **"),
            (0.113, "49/1 **", 0.153, "45/5 **"),
            (0.155, "48/2 **", 0.155, "48/2 **"),
        ),
    ),
    10: (
        "Comparison with previous SVM methods, all runs",
        (ALL,),
        (
            (0.290, "", 0.287, ""),
            (0.282, "29/21", 0.278, "35/15 **"),
            (0.213, "49/1 **", 0.222, "49/1 **"),
            (0.270, "34/16 **", 0.261, "42/8 **"),
            (0.133, "50/0 **", 0.182, "46/4 **"),
            (0.233, "47/3 **", 0.238, "46/4 **"),
        ),
    ),
    11: (
        "Comparison with previous SVM methods, trained without the best run",
        (WITHOUT_BEST,),
        (
            (0.284, "", 0.288, ""),
            (0.274, "31/19 **", 0.272, "38/12 **"),
            (0.215, "49/1 **", 0.211, "50/0 **"),
            (0.267, "35/15 **", 0.258, "44/6 **"),
            (0.133, "50/0 **", 0.174, "46/4 **"),
            (0.228, "46/4 **", 0.234, "45/5 **"),
        ),
    ),
}
NOTES = (  # of all six
    "MAP: mean over topics of the mean over trials, with all relevant documents of the judgements.",
    "W/L: topics on which SVMmap is higher/lower, and level where there are three numbers.",
    "Two stars: p < .05, two-tailed Wilcoxon signed-rank test over the topics.",
    "TREC 9 and TREC 10: as published, of other topics, documents and runs; no figures to be met.",
)

_BY_C = "Mean over trials, whatever validation chose. The largest of a row is no result: test topics show it."


def tables(found: Sequence[ColumnResult]) -> tuple[Table, ...]:
    """Tables 6 to 11, how often validation chose each C, and what each C is worth.

    Parameters
    ----------
    found : sequence of ColumnResult
        Of `directrix.experiments.yue2007.results.results`.

    Returns
    -------
    tuple of Table
    """
    by_name = {column.name: column for column in found}
    numbered = [_compared(number, by_name) for number in _PUBLISHED]
    kinds = [
        ("structural SVMs", ["SVMmap", "SVMroc"]),
        ("classification", ["SVMacc", "SVMacc3", "SVMacc4"]),
        ("balanced classification", ["SVMacc2"]),
    ]
    return (
        *numbered,
        *(_chosen(f"How often validation chose each C: {kind}", found, names) for kind, names in kinds),
        *(_by_c(f"MAP of the test topics at each C: {kind}", found, names) for kind, names in kinds),
    )


def _compared(number: int, by_name: dict[str, ColumnResult]) -> Table:
    title, names, published = _PUBLISHED[number]
    columns = [by_name[name] for name in names]
    is_base = number <= 8
    lists = [[c.methods[0], *c.base] if is_base else list(c.methods) for c in columns]
    rows: list[tuple[Value, ...]] = []
    for i, line in enumerate(published[: len(lists[0])]):
        ours = [cell for figures in lists for cell in (figures[i].mean, _wins(figures[i].against))]
        nine, wins_nine, ten, wins_ten = line
        rows.append((lists[0][i].name, *ours, nine, wins_nine or None, ten, wins_ten or None))
    return Table(
        title=f"Table {number}: {title}",
        columns=("model", *["MAP", "W/L"] * (len(columns) + 2)),
        groups=(("", 1), *((name, 2) for name in (*names, "TREC 9", "TREC 10"))),
        rows=tuple(rows),
        notes=(*NOTES, *(f"Best runs of {c.name!r}, in order: {_runs(c.base)}." for c in columns if is_base)),
    )


def _runs(base: Sequence[Figure]) -> str:
    return ", ".join(figure.run for figure in base)


def _wins(against: Paired | None) -> str | None:
    if against is None:
        return None
    counts = [against.wins, against.losses, *([against.ties] if against.ties else [])]
    return "/".join(map(str, counts)) + (" **" if against.is_clear else "")


def _chosen(title: str, found: Sequence[ColumnResult], methods: Sequence[str]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for column in found:
        for method in methods:
            counts = column.chosen[method].values()
            rows.append((column.name, method, *counts, column.seconds[method] / sum(counts)))
    heads = ("data set", "model", *(f"{c:g}" for c in found[0].chosen[methods[0]]), "seconds a trial")
    return Table(title, heads, tuple(rows), digits=1)


def _by_c(title: str, found: Sequence[ColumnResult], methods: Sequence[str]) -> Table:
    rows: list[tuple[Value, ...]] = [
        (column.name, method, *column.by_c[method].values()) for column in found for method in methods
    ]
    heads = ("data set", "model", *(f"{c:g}" for c in found[0].by_c[methods[0]]))
    return Table(title, heads, tuple(rows), notes=(_BY_C,))
