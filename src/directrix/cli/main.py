"""The ``directrix`` command: the group of all commands; errors become exit statuses.

Exit status: 0 success, 1 the data cannot be used, 2 wrong usage, 128 + n stopped by signal n (130 by Ctrl-C).
"""

from __future__ import annotations

import atexit
import errno
import gc
import inspect
import itertools
import os
import re
import shlex
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from directrix import __version__
from directrix.cli.inputs import with_inputs
from directrix.cli.memory import shortage
from directrix.cli.options import message_of
from directrix.cli.output import remark
from directrix.cli.signals import Stopped, stoppable
from directrix.errors import InputError, MissingExtra
from directrix.registry import COMMANDS

# the system takes the memory back at once; to collect garbage first is a sixth of the time of a short command
atexit.register(gc.freeze)


class _Command(TyperCommand):
    """A command whose help shows a list as its elements: ``<path>``, not ``<list[Path]>``."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for param in self.params:
            shown = getattr(param, "bare_type", str)  # earlier versions of Typer show the elements
            if match := re.fullmatch(r"list\[(\w+)\]", shown()):
                vars(param)["bare_type"] = match[1].lower().__str__


class _Commands(TyperGroup):
    """Turn every error that a user can cause into one message on stderr and an exit status.

    ``ctx.obj`` of a command is the command line as it was typed.
    """

    def main(self, *args: Any, **settings: Any) -> Any:
        # trainers use one; OpenBLAS starts all when it is loaded, and ends the process where it cannot
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            with stoppable():
                return super().main(*args, **settings)
        except OSError as error:  # of help, which is printed before there is a command
            text = f"error: the output cannot be written: {error.strerror or error}; check the disk."
            typer.echo(text, err=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in its buffer would fail again
            raise SystemExit(1) from None
        except Stopped as stopped:
            typer.echo(f"stopped by {stopped.name}; every file is complete or as it was before", err=True)
            raise SystemExit(stopped.exit_status) from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.obj = shlex.join(["directrix", *args])
        return super().parse_args(ctx, _as_documented(args))

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _note
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # of Pydantic
            raise
        except (InputError, MissingExtra) as error:
            _fail(message_of(error))
        except (MemoryError, OSError, ImportError, RuntimeError) as error:
            if (text := shortage(error)) is not None:
                _fail(text)
            if not isinstance(error, OSError) or error.errno == errno.EPIPE:
                raise
            name = error.filename or "a file"
            _fail(f"{name}: {error.strerror or error}; check the path and its permissions.")


app = typer.Typer(
    name="directrix",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learning to rank by optimizing the measure you report.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"directrix {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
    threads: Annotated[
        int | None,
        Option(
            min=1,
            max=4096,
            help="Number of threads, before or after the command. Default: DIRECTRIX_NUM_THREADS, else all "
            "cores.",
        ),
    ] = None,
) -> None:
    if threads is not None:
        from directrix.threads import set_threads

        set_threads(threads)


def _as_documented(args: list[str]) -> list[str]:
    """Put ``--threads`` before the command, wherever it is typed."""
    first: list[str] = []
    others: list[str] = []
    words = iter(args)
    for word in words:
        name, sign, _ = word.partition("=")
        if word == "--":
            others += [word, *words]
        elif name == "--threads":
            first += [word] if sign else [word, *itertools.islice(words, 1)]
        else:
            others.append(word)
    # without its number it must be the last word, for which there is a message
    return first if first == ["--threads"] else first + others


def _fail(message: str) -> None:
    remark(f"error: {message}")
    raise typer.Exit(1) from None


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    remark(f"note: {message}")


for _name in COMMANDS:
    _module = vars(import_module(f"directrix.cli.{_name}"))
    _command = _module.get(f"{_name}_command") or _module[_name]
    # a paragraph on one line, which the width of the terminal breaks
    _help = re.sub(r"\n(?=\S)", " ", inspect.cleandoc(_command.__doc__))
    app.command(_name.replace("_", "-"), cls=_Command, help=_help)(with_inputs(_command))
