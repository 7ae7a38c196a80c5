"""Results on stdout, as tables for people or as JSON or TSV for programs; notes and progress on stderr."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from directrix.cli.options import Format
from directrix.errors import InputError, amount, one_line, visible

if TYPE_CHECKING:
    from directrix.data.trec.runs import Run
    from directrix.reports.report import Report
    from directrix.tables import Table


# Seconds without a line after which `progress_log` prints a sign of life.
_SILENCE = 10.0


def show(form: Format, tables: Sequence[Table], document: Any, rows: Table | None = None) -> None:
    """Print a result in the format of ``--format``.

    ``tables`` are for people, ``document`` is for JSON, and ``rows`` is the table for ``--format tsv``, by
    default the first one.
    """
    if form is Format.json:
        print_json(document)
    elif form is Format.tsv:
        echo((rows or tables[0]).tsv(), exact=True)
    elif form is Format.latex:
        echo("\n\n".join([r"% needs \usepackage{booktabs}", *(t.latex() for t in tables)]), exact=True)
    elif form is Format.markdown:
        echo("\n\n".join(t.markdown() for t in tables), exact=True)
    else:
        echo("\n\n".join(t.text() for t in tables))


def print_json(value: Any) -> None:
    """Print a JSON document; NaN and infinities become null, since JSON has neither."""
    from directrix.tables import json_value

    echo(json.dumps(json_value(value), indent=1, allow_nan=False))


def echo(text: str, *, exact: bool = False, nl: bool = True) -> None:
    """Print a result, escaped unless ``exact``; `InputError` if standard output does not take it."""
    # Python has None for a stream that is closed, for which Typer prints nothing.
    if sys.stdout is None:
        raise InputError("standard output is closed, so the result is lost. Type a file after `>`.")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    # A terminal gets visible characters only, since others could change what it shows.
    is_exact = exact and not sys.stdout.isatty()
    try:
        data = text.encode(encoding) if is_exact else visible(text).encode(encoding, "backslashreplace")
    except UnicodeEncodeError as error:
        raise InputError(
            f"standard output has the encoding {encoding}, which lacks {text[error.start]!a}; one with it is "
            "needed. Type PYTHONIOENCODING=utf-8 before the command, or rename what has this character."
        ) from None
    try:
        typer.echo(data.decode(encoding), nl=nl)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        discard_output()
        check = "`ulimit -f`, the size limit of files" if error.errno == errno.EFBIG else "`df -h`"
        raise InputError(
            f"standard output was not written ({error.strerror}); there must be space for all of it: "
            f"check {check}."
        ) from error


def discard_output(stream: int = 1) -> None:
    """Drop what is left in the buffer of a standard stream, which would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def remark(*lines: str) -> None:
    """Print a note, which is not part of the result, on stderr; one that a full disk rejects is dropped."""
    try:
        typer.echo("\n".join(map(one_line, lines)), err=True)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        discard_output(2)


def write_text(text: str, output: Path | None, content: str) -> None:
    """Write a text to a file, with a note on its content, or print it if there is no file."""
    from directrix.data.files import replacing

    if output is None:
        echo(text, nl=False, exact=True)
        return
    with replacing(output) as file:
        file.write(text.encode())
    remark(f"saved: {output} ({content})")


def write_run(run: Run, output: Path | None) -> None:
    """Write a run to a file, as TREC text or JSON lines by its name, or to standard output without one."""
    import numpy as np

    from directrix.data.files import without_compression
    from directrix.data.trec.runs import run_text

    size = f"{amount(len(run.doc_ids), 'documents')} of {amount(len(run.query_ids), 'queries')}"
    if output is None or without_compression(output).suffix not in (".jsonl", ".ndjson"):
        write_text(run_text(run), output, size)
        return
    lines = []
    for query, (first, last) in zip(run.query_ids, pairwise(run.qptr.tolist()), strict=True):
        for rank, i in enumerate(np.argsort(-run.scores[first:last], kind="stable"), start=1):
            doc, score = str(run.doc_ids[first + i]), float(run.scores[first + i])
            row = {"qid": query, "docno": doc, "rank": rank, "score": score}
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    write_text("".join(lines), output, size)


def sizes_text(rows: int, queries: int, features: int | None) -> str:
    """Return the size of a written file in words; judgments have no features."""
    text = f"{amount(rows, 'rows')}, {amount(queries, 'queries')}"
    return text if features is None else f"{text}, {amount(features, 'features')}"


def relevant_text(relevant: int, retrieved: int) -> str:
    """Return a sentence on the relevant documents that a file of features lacks."""
    return (
        f"relevant: {amount(relevant, 'documents')}, {retrieved} of them retrieved; measures of this file do "
        f"not count the other {relevant - retrieved}"
    )


def save_report(path: Path | None, report: Callable[[], Report]) -> None:
    """Write the HTML page of ``--report``, if there is one."""
    if path is not None:
        from directrix.reports.write import write_page

        write_page(path, report())
        remark(f"open: {path}")


def _compiling() -> str:
    """Return what a line of progress adds while kernels are compiled, which is no step of a training run."""
    # Numba is not imported for this, since importing it takes longer than a line of progress may.
    kernels = sys.modules.get("directrix.kernels")
    return ", compiling kernels" if kernels is not None and kernels.is_compiling() else ""


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar on stderr while the block runs, if stderr is a terminal.

    Yields a function of the number of finished items, their total, and the name of the current one.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Description(TextColumn):
        def render(self, task: Task) -> Text:
            return super().render(task).append(_compiling())

    columns = (
        Description("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=None)

        def report(done: int, total: int, current: str) -> None:
            progress.update(task, completed=done, total=total, description=one_line(f"{text}: {current}"))

        yield report


@contextmanager
def progress_log(text: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a search: a bar on a terminal; in a log, a line for each finished item, or every 10 s without one.

    Yields a function of the number of finished items, their total, and the last result or current name.
    """
    if sys.stderr.isatty():
        with progress_bar(text) as report:
            yield report
        return
    begun = last = time.monotonic()
    finished, current, ended = 0, "", threading.Event()

    def print_line(done: int, total: int, now: str) -> None:
        nonlocal last, finished, current
        if done > finished:
            remark(f"[{done}/{total}] {now}")
            last, finished, current = time.monotonic(), done, ""
        else:
            current = f"[{min(done + 1, total)}/{total}] {now}"

    def print_signs() -> None:
        nonlocal last
        while not ended.wait(1.0):
            if current and time.monotonic() - last >= _SILENCE:
                last = time.monotonic()
                remark(f"{current}{_compiling()} ({last - begun:.0f} s so far)")

    thread = threading.Thread(target=print_signs, daemon=True)
    # Where the system starts no more threads, there are no signs.
    with suppress(RuntimeError):
        thread.start()
    try:
        yield print_line
    finally:
        ended.set()


@contextmanager
def progress_lines(text: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show the progress of a long run: a bar on a terminal; in a log, one line after each twentieth.

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
