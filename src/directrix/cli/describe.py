"""``directrix describe``: the card of a model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.files import check_writable, features_for, read_for
from directrix.cli.output import echo, print_json, remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import inputs


class CardFormat(StrEnum):
    """How to print a card."""

    table = "table"
    json = "json"
    markdown = "markdown"


def describe(
    context: typer.Context,
    model: options.ModelArgument,
    data: Annotated[
        Path | None,
        options.argument(
            metavar="DATA",
            help=f"Data to measure the model and the importance of its features on: {inputs()}.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        options.without_default("--measure", "-m", help="Further measures to report on DATA; repeatable."),
    ] = None,
    report: Annotated[Path | None, options.without_default(help="HTML page to write.")] = None,
    seed: options.SeedOption = 0,
    missing: options.ModelMissingOption = None,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
    form: Annotated[CardFormat, Option("--format", "-f", help="Output format.")] = CardFormat.table,
) -> None:
    """Print the card of a model: its training and data, figures with intervals, features, known limits."""
    from directrix.experiments.card import card_of
    from directrix.rankers.loading import load
    from directrix.reports.card import card_report
    from directrix.reports.write import text_of, write_page

    names = []
    with options.usage():
        if measures:
            names = options.measure_names(measures)
        if names and data is None:
            raise typer.BadParameter("--measure is reported on DATA; give it too: describe MODEL DATA.")
    check_writable(report, model, data)
    ranker, q = load(model), None
    if data is not None:
        q = read_for([ranker], data, missing, columns)
        q = features_for(q, ranker, data, model, by_position=by_position)
    found = card_of(ranker, model, q, names, seed=seed)
    page = card_report(found, model=str(model), data=None if data is None else str(data), command=context.obj)
    if form is CardFormat.json:
        print_json(found)
    elif form is CardFormat.markdown:
        parts = [f"# {page.title}", page.paper, *(table.markdown() for table in page.tables)]
        echo("\n\n".join(parts), exact=True)
    else:
        echo(text_of(page))
    if report is not None:
        write_page(report, page)
        remark(f"open: {report}")
