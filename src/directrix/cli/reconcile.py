"""``directrix reconcile``: under which conventions a measure has the number that another tool printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import echo, print_json, print_rows, progress_bar, remark
from directrix.data.columns import RECOGNIZED, ColumnNames

if TYPE_CHECKING:
    from directrix.reconciliation.result import Reconciliation

_Scores = Annotated[
    Path,
    options.argument(
        metavar="SCORES|MODEL",
        help="File with one score per line, a model file, or a run: TREC text or table.",
    ),
]
_Value = Annotated[
    str, Option("--value", show_default=False, help="The number, with all decimals that were printed.")
]
_Measure = Annotated[str, Option("--measure", "-m", help="What the number is called.")]
_From = Annotated[
    str | None,
    options.without_default("--from", help="Another number: print the fewest switches from it to --value."),
]
_Top = Annotated[int, Option(min=1, help="Number of settings to show.")]


def reconcile_command(
    data: options.JudgedArgument,
    scores: _Scores,
    value: _Value,
    measure: _Measure = "nDCG@10",
    start: _From = None,
    convention: options.ConventionOption = None,
    top: _Top = 10,
    missing: options.ModelMissingOption = None,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Find the conventions under which a measure has the number that another tool printed.

    Tries gain, discount, order of ties, empty queries, cut-off, denominators, relevance level, query sets and
    missing documents, and looks for what in the data makes numbers differ.

    Exit status: 0 fine, 1 the data cannot be used or no setting gives the number, 2 wrong usage.
    """
    from directrix.measures.names import measure as parse_measure
    from directrix.reconciliation.printed import highest_value, printed
    from directrix.reconciliation.search import reconcile as reconcile_number

    with options.usage():
        asked = parse_measure(measure)
        tool = options.convention_named(convention)
        for name, number in (("--value", value), ("--from", start)):
            if number is not None:
                printed(number, highest_value(asked), name)
    ranking = _ranking(data, scores, missing, columns, by_position=by_position)
    with progress_bar("trying settings") as progress:
        found = reconcile_number(value, asked, **ranking, convention=tool, start=start, progress=progress)
    _print(found, top, form)
    if not found.matches:
        raise typer.Exit(1)


def _ranking(
    data: Path, scores: Path, missing: options.Missing | None, columns: ColumnNames, *, by_position: bool
) -> dict[str, Any]:
    """Return the ranking and its labels as arguments of `directrix.reconcile`."""
    from directrix.cli.kinds import are_qrels, tables_of
    from directrix.cli.scores import judged_rankings, named_columns
    from directrix.data.trec.runs import read_trec_qrels, read_trec_run

    tables = tables_of([data, scores], columns)
    if are_qrels(data, [scores], tables, columns):
        names = named_columns(data, tables, columns)
        run = read_trec_run(scores, **names(scores, "score"))
        return {"run": run, "qrels": read_trec_qrels(data, **names(data, "label"))}
    (ranking,) = judged_rankings(data, [scores], missing, columns, names=None, by_position=by_position)
    return ranking.arrays


def _print(found: Reconciliation, top: int, form: options.Format) -> None:
    if form is options.Format.json:
        print_json(found.to_dict())
        return
    tables = found.tables(top)
    if form is options.Format.tsv:
        print_rows(tables[0].columns, tables[0].rows, form)
        return
    for text in (*found.answer, *found.diagnosis.remarks):
        remark(text)
    echo("\n\n".join(table.text() for table in tables))
