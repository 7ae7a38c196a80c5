"""Results on stdout, as a table for people or as JSON or TSV for programs; remarks and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from directrix.cli.options import Format
from directrix.errors import visible


def echo(text: str, *, exact: bool = False, nl: bool = True) -> None:
    """Print a result; control characters are escaped, except ``exact``, for a program that reads them."""
    typer.echo(text if exact and not sys.stdout.isatty() else visible(text), nl=nl)


def remark(text: str) -> None:
    """Print on stderr what is not part of the result."""
    typer.echo(visible(text), err=True)


def remark_on_relevant(relevant: int, retrieved: int) -> None:
    """Say how many relevant documents are not in a file of features."""
    remark(
        f"relevant: {relevant} documents, {retrieved} of them retrieved; measures of this file do not count "
        f"the other {relevant - retrieved}"
    )


def print_json(value: Any) -> None:
    """Print a JSON document; NaN and infinities become null, since JSON has neither."""
    from directrix.tables import json_value

    echo(json.dumps(json_value(value), indent=1, allow_nan=False))


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], form: Format) -> None:
    """Print a table: aligned, with four decimals, or TSV with all digits."""
    if form is Format.tsv:
        for row in [columns, *rows]:
            echo("\t".join(_field(cell) for cell in row), exact=True)
        return
    cells = [[_rounded(cell) for cell in row] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(columns, *cells, strict=True)]
    numeric = [
        bool(rows) and all(cell is None or isinstance(cell, int | float) for cell in column)
        for column in (zip(*rows, strict=True) if rows else [()] * len(columns))
    ]
    for line in [columns, *cells]:
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ]
        echo("  ".join(padded).rstrip())


def _field(cell: Any) -> str:
    return "" if cell is None else str(cell).replace("\t", " ").replace("\n", " ")


def _rounded(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else _field(cell)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar on stderr while the block runs, if stderr is a terminal.

    Yields a function of the number of finished items, their total, and the name of the current one.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=None)

        def report(done: int, total: int, current: str) -> None:
            progress.update(task, completed=done, total=total, description=visible(f"{text}: {current}"))

        yield report


@contextmanager
def progress_lines(text: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show the progress of a long run: a bar on a terminal; in a log one line after each twentieth.

    Yields a function of the number of finished items, their total, and the remaining time in words.
    """
    if sys.stderr.isatty():
        with progress_bar(text) as report:
            yield report
        return
    printed = 0

    def print_line(done: int, total: int, remaining: str) -> None:
        nonlocal printed
        if done * 20 // total > printed:
            printed = done * 20 // total
            remark(f"{text}: {done} of {total}, {remaining}")

    yield print_line
