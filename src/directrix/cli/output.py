"""Results on stdout, as a table for people or as JSON or TSV for programs; remarks on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

__all__ = [
    "Format",
    "FormatOption",
    "PaperFormat",
    "PaperFormatOption",
    "print_json",
    "print_rows",
    "progress_bar",
    "progress_of",
    "remark",
]


class Format(StrEnum):
    """How to print a table."""

    table = "table"
    json = "json"
    tsv = "tsv"


class PaperFormat(StrEnum):
    """How to print a table that may stand in a paper."""

    table = "table"
    json = "json"
    tsv = "tsv"
    latex = "latex"


FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the result.")]
PaperFormatOption = Annotated[PaperFormat, typer.Option("--format", "-f", help="How to print the result.")]


def remark(text: str) -> None:
    """Say something that is not the result."""
    typer.echo(text, err=True)


def print_json(value: Any) -> None:
    """Print a JSON document; NaN becomes null, for JSON has no NaN."""
    typer.echo(json.dumps(_plain(value), indent=1, allow_nan=False))


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], form: Format) -> None:
    """Print a table: aligned with numbers of four decimals, or TSV with every digit."""
    if form is Format.tsv:
        for row in [columns, *rows]:
            typer.echo("\t".join(_field(cell) for cell in row))
        return
    cells = [[_shown(cell) for cell in row] for row in rows]
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
        typer.echo("  ".join(padded).rstrip())


def _field(cell: Any) -> str:
    return "" if cell is None else str(cell).replace("\t", " ").replace("\n", " ")


def _shown(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else _field(cell)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show progress on stderr while the block runs, if stderr is a terminal.

    Yields a function of the number done, the number in all, and what is being done.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(text, total=None)

        def report(done: int, total: int, now: str) -> None:
            progress.update(task, completed=done, total=total, description=f"{text}: {now}")

        yield report


@contextmanager
def progress_of(text: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show how far a long run is: a bar on a terminal, else, as in a log, a line every twentieth part.

    Yields a function of the number done, the number in all, and the time left in words.
    """
    if sys.stderr.isatty():
        with progress_bar(text) as report:
            yield report
        return
    shown = 0

    def say(done: int, total: int, now: str) -> None:
        nonlocal shown
        if done * 20 // total > shown:
            shown = done * 20 // total
            remark(f"{text}: {done} of {total}, {now}")

    yield say
