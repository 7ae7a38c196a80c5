"""``directrix clicks describe``: the size of a log, and clicks by position."""

from __future__ import annotations

from functools import partial

import typer

from directrix.cli import options
from directrix.cli.clicks.inputs import LogArgument
from directrix.cli.output import remark, save_report, show
from directrix.cli.reading import LogOptions, check_writable


def clicks_describe_command(
    *,
    log: LogArgument,
    columns: LogOptions,
    report: options.ReportOption = None,
    form: options.FormatOption = options.Format.table,
    context: typer.Context,
) -> None:
    """Print the size of a log of clicks, and clicks by position.

    The column moved shows whether the log can separate position bias from relevance. It is the fraction of
    impressions whose document was also shown at other positions.
    """
    from directrix.clicks.log import Log
    from directrix.reports.clicks import log_report

    check_writable(report, log)
    read = Log.read(log, **columns.by_role())
    show(form, read.tables(), read.to_dict())
    # A user who names a column of impressions knows that such a log has counts only.
    if read.n_sessions is None and not columns.texts["impressions"]:
        remark("note: the log has counts only; if a column identifies sessions, type --session-column NAME")
    save_report(report, partial(log_report, read, data=str(log), command=context.obj))
