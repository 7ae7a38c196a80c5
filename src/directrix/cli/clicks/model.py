"""``directrix clicks model``: a click model fitted to a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directrix.cli import options
from directrix.cli.clicks.inputs import LogArgument, ModelOption
from directrix.cli.output import save_report, show
from directrix.cli.reading import LogOptions, check_writable


def clicks_model_command(
    *,
    log: LogArgument,
    model: ModelOption = "PBM",
    test: Annotated[
        Path | None, options.option(help="Log to test the model on. Default: the log that it is fitted to.")
    ] = None,
    columns: LogOptions,
    report: options.ReportOption = None,
    form: options.FormatOption = options.Format.table,
    context: typer.Context,
) -> None:
    """Fit a click model to a log, and print its parameters and its perplexity by position.

    Perplexity 1 is perfect, and 2 is a coin flip. It is computed over the sessions that have the position,
    marginally and given the clicks above. Use --test to compare models on a log of other sessions.
    """
    from directrix.clicks.log import Log
    from directrix.clicks.models import model as model_named
    from directrix.reports.clicks import model_report
    from directrix.tables import Table

    with options.usage():
        users = model_named(model)
    check_writable(report, log, test)
    read = Log.read(log, **columns.by_role())
    users.fit(read)
    tested = read if test is None else Log.read(test, **columns.by_role())
    likelihood = users.log_likelihood(tested)
    perplexity = {
        "marginal": users.perplexity(tested).tolist(),
        "given clicks": users.perplexity(tested, given_clicks=True).tolist(),
    }
    rows = zip(map(str, range(1, tested.n_positions + 1)), *perplexity.values(), strict=True)
    title = f"Perplexity on {test or log}, log-likelihood {likelihood:.6g}"
    tables = [*users.tables(), Table(title, ("position", *perplexity), tuple(rows), digits=4)]
    show(form, tables, users.to_dict() | {"log_likelihood": likelihood, "perplexity": perplexity})
    save_report(report, lambda: model_report(tables, model=users.name, data=str(log), command=context.obj))
