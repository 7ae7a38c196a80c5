"""``directrix clicks interleave``: two rankings as one list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import show, write_run
from directrix.cli.reading import RunOptions, check_writable


def clicks_interleave_command(
    *,
    runs: Annotated[
        list[Path], options.argument(metavar="RUN...", help="Two runs or more: TREC text or tables.")
    ],
    method: Annotated[
        str, Option(help="team-draft or probabilistic; for two runs also balanced or optimized.")
    ] = "team-draft",
    k: Annotated[int, Option("-k", min=1, help="Number of documents per query.")] = 10,
    names: options.NamesOption = None,
    output: Annotated[
        Path | None,
        options.option("--output", "-o", help="File for the lists: a TREC run, or JSON lines (.jsonl)."),
    ] = None,
    columns: RunOptions,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Interleave the rankings of two or more rankers into one list per query, with credits for clicks.

    A click on a document earns the credits in its row. In balanced lists, credits depend on all clicks of a
    session; see directrix.clicks.interleave. Use another seed, and thus another list, for each session.
    """
    from directrix.cli.rankings import check_system_names, read_rankings, system_names
    from directrix.clicks.interleaving import interleave
    from directrix.data.trec.runs import Run
    from directrix.tables import Table

    if len(runs) < 2:
        raise typer.BadParameter("one run cannot be interleaved; give two or more.")
    with options.usage():
        check_system_names(names, runs)
    check_writable(output, *runs)
    read = read_rankings(runs, columns.names())
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
        # In a run, the order is that of scores, which here fall by one from position to position.
        rankings = {
            query: {document: float(len(shown.documents) - i) for i, document in enumerate(shown.documents)}
            for query, shown in lists.items()
        }
        write_run(Run.from_frame(rankings, tag="interleaved"), output)
