"""``directrix clicks describe`` and ``interleave``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.reading import LogColumns, RunColumns, check_writable
from directrix.cli.show import save_report, show
from directrix.cli.text import write_run

if TYPE_CHECKING:
    from directrix.clicks.interleaving import InterleavedList
    from directrix.data.trec.runs import Run

GROUP = "Learn from logs of clicks, and compare rankers by clicks."

_Log = Annotated[
    Path,
    options.argument(
        metavar="LOG",
        help="Log of clicks, one row per document that was shown, or counts: CSV, TSV, JSON lines, Parquet, "
        "Arrow, or a folder of the last two.",
    ),
]


def clicks_describe_command(
    *,
    log: _Log,
    columns: LogColumns,
    report: options.ReportOption = None,
    form: options.FormatOption = options.Format.table,
    context: typer.Context,
) -> None:
    """Print the size of a log of clicks, and clicks by position.

    The column moved says whether the log can tell position bias from relevance: how many of the impressions
    are of documents that were shown at other positions too.
    """
    from directrix.reports.clicks import log_report

    check_writable(report, log)
    read = columns.read(log)
    show(form, read.tables(), read.to_dict())
    save_report(report, partial(log_report, read, data=str(log), command=context.obj))


def clicks_interleave_command(
    *,
    runs: Annotated[
        list[Path], options.argument(metavar="RUN...", help="Two runs or more: TREC text or tables.")
    ],
    method: Annotated[
        str, Option(help="team-draft or probabilistic; or, for two runs, balanced or optimized.")
    ] = "team-draft",
    k: Annotated[int, Option("-k", min=1, help="Number of documents per query.")] = 10,
    names: options.NamesOption = None,
    output: Annotated[
        Path | None,
        options.option("--output", "-o", help="File for the lists: a TREC run, or JSON lines (.jsonl)."),
    ] = None,
    columns: RunColumns,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Interleave the rankings of two or more rankers: one list per query, and the credit of each click.

    A click on a document earns the credits of its row; in balanced lists they depend on all clicks of a
    session, see directrix.clicks.interleave. Each seed gives other lists: change it from session to session.
    """
    from directrix.cli.rankings import check_system_names, read_runs, system_names
    from directrix.clicks.interleaving import interleave
    from directrix.tables import Table

    if len(runs) < 2:
        raise typer.BadParameter("one run cannot be interleaved; give two or more.")
    with options.usage():
        check_system_names(names, runs)
    check_writable(output, *runs)
    read = read_runs(runs, columns.names())
    of_runs = system_names(runs, names, [run.tag for run in read])
    a, b, *others = (replace(run, tag=name) for run, name in zip(read, of_runs, strict=True))
    lists = interleave(a, b, method, others=others, k=k, seed=seed)
    assert isinstance(lists, dict)
    tables = [shown.tables()[0] for shown in lists.values()]
    rows = [(query, *row) for query, table in zip(lists, tables, strict=True) for row in table.rows]
    every = Table(f"Interleaved lists, {method}", ("query", *tables[0].columns), tuple(rows))
    document = [{"query": query, **shown.to_dict()} for query, shown in lists.items()]
    show(form, [every], {"method": method, "seed": seed, "lists": document})
    if output is not None:
        write_run(_run_of(lists), output)


def _run_of(lists: dict[str, InterleavedList]) -> Run:
    """Return lists as a run, whose scores fall by one from position to position."""
    import numpy as np

    from directrix.data.grouping import object_array
    from directrix.data.trec.runs import Run

    sizes = [len(shown.documents) for shown in lists.values()]
    documents = object_array(document for shown in lists.values() for document in shown.documents)
    scores = np.concatenate([np.arange(n, 0.0, -1.0) for n in sizes])
    qptr = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return Run("interleaved", tuple(lists), qptr, documents, scores)
