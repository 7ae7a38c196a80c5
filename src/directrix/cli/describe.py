"""``directrix describe``: the card of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directrix.cli import options
from directrix.cli.output import echo, save_report, show
from directrix.cli.reading import ModelOptions, check_writable, load_model
from directrix.data.formats import inputs


def describe_command(
    *,
    context: typer.Context,
    model: options.ModelArgument,
    data: Annotated[
        Path | None,
        options.argument(
            metavar="DATA",
            help=f"Data for measures and feature importances: {inputs()}.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        options.option(
            "--measure", "-m", metavar="NAME,...", help="Further measures to report on DATA; repeatable."
        ),
    ] = None,
    report: options.ReportOption = None,
    seed: options.SeedOption = 0,
    reading: ModelOptions,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Print a model card: training, data, measures with intervals, features and known limits."""
    from directrix.experiments.card import card_of
    from directrix.reports.card import card_report
    from directrix.tables import notes_once

    names = []
    with options.usage():
        if measures:
            names = options.measure_names(measures)
        if names and data is None:
            raise typer.BadParameter("--measure needs DATA; type describe MODEL DATA.")
    check_writable(report, model, data)
    ranker, q = load_model(model, data), None
    if data is not None:
        q = reading.read(ranker.model_, data, model)
    card = card_of(ranker, model, q, names, seed=seed)
    page = card_report(card, model=str(model), data=None if data is None else str(data), command=context.obj)
    if form is options.Format.markdown:
        echo(f"# {page.title}\n\n{page.paper}\n", exact=True)
    show(form, notes_once(page.tables), card)
    save_report(report, lambda: page)
