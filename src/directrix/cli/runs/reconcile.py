"""``directrix runs reconcile``: the conventions under which a number was computed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_bar, remark, show
from directrix.cli.reading import RankedOptions
from directrix.data.file import DataFile

_Scores = Annotated[
    Path,
    options.argument(
        metavar="SCORES|MODEL",
        help="File with one score per line, a model file, or a run: TREC text or table.",
    ),
]
_Value = Annotated[
    str, Option("--value", show_default=False, help="The printed number, with all its decimals.")
]
_Measure = Annotated[str, Option("--measure", "-m", help="Measure that was printed, e.g. nDCG@10.")]
_From = Annotated[
    str | None,
    options.option(
        "--from", help="Another number: print the fewest changes of conventions from it to --value."
    ),
]
_Top = Annotated[int, Option(min=1, help="Number of settings to show.")]


def runs_reconcile_command(
    *,
    data: options.JudgedArgument,
    scores: _Scores,
    value: _Value,
    measure: _Measure = "nDCG@10",
    start: _From = None,
    convention: options.ConventionOption = None,
    top: _Top = 10,
    reading: RankedOptions,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Find the conventions under which a measure gives the number that another tool printed.

    Tries gain, discount, order of ties, empty queries, cut-off, denominators, relevance level, query sets and
    missing documents, and searches the data for causes of differences.

    Exit status 3 means that no setting gives the number.
    """
    from directrix.cli.rankings import judged_rankings, read_trec
    from directrix.measures.names import measure as parse_measure
    from directrix.reconciliation.printed import printed
    from directrix.reconciliation.search import reconcile as reconcile_number

    with options.usage():
        asked = parse_measure(measure)
        tool = options.convention_named(convention)
        for name, number in (("--value", value), ("--from", start)):
            if number is not None:
                printed(number, asked, name)
    ranking: dict[str, Any]
    # A run and qrels are passed as they are, since the search also tries ways to join them.
    if (trec := read_trec([DataFile(path, reading.names()) for path in (data, scores)])) is not None:
        ranking = {"run": trec[1][0], "qrels": trec[0]}
    else:
        ranking = judged_rankings(data, [scores], reading)[0].arrays
    with progress_bar("trying settings") as progress:
        result = reconcile_number(value, asked, **ranking, convention=tool, start=start, progress=progress)
    if form is options.Format.table:
        for text in (*result.answer, *result.diagnosis.remarks):
            remark(text)
    show(form, result.tables(top), result.to_dict())
    if not result.matches:
        raise typer.Exit(options.NOT_SHOWN)
