"""``directrix clicks propensities``: the position bias of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.clicks.inputs import LogArgument
from directrix.cli.options import Missing
from directrix.cli.output import progress_bar, save_report, show
from directrix.cli.reading import LogOptions, MissingOption, check_writable
from directrix.data.columns import ColumnNames
from directrix.data.file import DataFile


def clicks_propensities_command(
    *,
    log: LogArgument,
    method: Annotated[
        str,
        Option(
            help="all-pairs, pivot or chain: documents at several positions; random-top, random-pair: random "
            "positions; em; regression-em: by --features; trust: with clicks that trust brings."
        ),
    ] = "all-pairs",
    features: Annotated[
        Path | None, options.option(help="Features of the documents of the log, for regression-em.")
    ] = None,
    positions: Annotated[
        int | None, options.option(min=2, help="Number of positions, from the first. Default: all.")
    ] = None,
    missing: MissingOption = Missing.error,
    columns: LogOptions,
    resamples: Annotated[int, Option(min=20, help="Number of bootstrap samples of queries.")] = 200,
    seed: options.SeedOption = 0,
    report: options.ReportOption = None,
    form: options.FormatOption = options.Format.table,
    context: typer.Context,
) -> None:
    """Estimate position bias: the probability of examining each position, relative to the first.

    Prints 95 % intervals. If the log does not identify the bias, for example because every document was shown
    at one position per query, an error says what to log.
    """
    from directrix.clicks.log import Log
    from directrix.clicks.position_bias import propensities
    from directrix.reports.clicks import propensities_report

    check_writable(report, log, features)
    read = Log.read(log, **columns.by_role())
    of_documents = None
    if features is not None:
        given = columns.by_role()
        names = ColumnNames(qid=given.get("query"), doc_id=given.get("doc"), has_labels=False)
        of_documents = DataFile(features, names).with_own_columns().queries(missing.value)
    with progress_bar("samples of queries") as progress:
        bias = propensities(
            read,
            method,
            features=of_documents,
            n_positions=positions,
            n_resamples=resamples,
            seed=seed,
            progress=progress,
        )
    show(form, bias.tables(), bias.to_dict())
    save_report(report, lambda: propensities_report(bias, data=str(log), command=context.obj))
