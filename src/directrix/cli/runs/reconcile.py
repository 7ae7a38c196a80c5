"""``directrix runs reconcile``: the conventions under which a number was computed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_bar, remark, show
from directrix.cli.reading import RankedOptions

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


def reconcile_command(
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
    from directrix.measures.names import measure as parse_measure
    from directrix.reconciliation.printed import printed
    from directrix.reconciliation.search import reconcile as reconcile_number

    with options.usage():
        asked = parse_measure(measure)
        tool = options.convention_named(convention)
        for name, number in (("--value", value), ("--from", start)):
            if number is not None:
                printed(number, asked, name)
    ranking = _ranking(data, scores, reading)
    with progress_bar("trying settings") as progress:
        found = reconcile_number(value, asked, **ranking, convention=tool, start=start, progress=progress)
    if form is options.Format.table:
        for text in (*found.answer, *found.diagnosis.remarks):
            remark(text)
    show(form, found.tables(top), found.to_dict())
    if not found.matches:
        raise typer.Exit(options.NOT_SHOWN)


def _ranking(data: Path, scores: Path, reading: RankedOptions) -> dict[str, Any]:
    """Return the ranking and its labels as arguments of `directrix.reconcile`."""
    from directrix.cli.rankings import judged_rankings, read_trec

    if (trec := read_trec(data, [scores], reading.names())) is not None:
        qrels, (run,) = trec
        return {"run": run, "qrels": qrels}
    (ranking,) = judged_rankings(data, [scores], reading)
    return ranking.arrays
