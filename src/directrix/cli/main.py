"""The ``directrix`` command: all commands, their preparation, and exit statuses of errors.

docs/how-to/operate.md lists the exit statuses.
"""

from __future__ import annotations

import atexit
import difflib
import errno
import functools
import gc
import inspect
import io
import logging
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path, PosixPath
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from directrix import __version__
from directrix.cli.advice import message_of
from directrix.cli.headings import heading_of
from directrix.cli.limits import Stopped, check_address_space, shortage, stoppable
from directrix.cli.options import ThreadsOption, column_option
from directrix.cli.output import discard_output, remark
from directrix.data.columns import ROLES
from directrix.errors import InputError, MissingExtra
from directrix.registry import COMMANDS

# For each word that was typed without its group, this is the command it means.
_GROUPED = {name.split()[1]: name for name in COMMANDS if " " in name}
_GROUPED |= {"features": "runs features", "text-features": "text features"}
_WITHOUT_NUMBERS = ("methods_command", "doctor_command")
# Options whose value "-" does not mean standard input: files to write, and the name of a ranking.
_OUTPUTS = ("output", "report", "thresholds", "page", "test_output", "against")

# The system takes the memory back at once, so collecting garbage first would only cost time: a sixth of that
# of a short command.
atexit.register(gc.freeze)


class StandardInput(PosixPath):
    """A copy of standard input, named ``-``: files are read more than once."""

    def __str__(self) -> str:
        return "-"

    def __fspath__(self) -> str:
        return str(super().__str__())


class _Command(TyperCommand):
    """A command whose options are under headings in its help."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        param: Any
        for param in self.params:
            if param.param_type_name == "option":
                param.rich_help_panel = heading_of(param.name)
            elif param.nargs == -1:
                # Typer would show the type of several files as list[Path].
                param.bare_type = lambda: "path"


class _Commands(TyperGroup):
    """Turn every error that a user can cause into one message on stderr and an exit status.

    ``ctx.obj`` of a command is the command line as it was typed.
    """

    def main(self, *args: Any, **settings: Any) -> Any:
        # Trainers use one thread of BLAS. OpenBLAS starts all when it is loaded, and ends the process where
        # it cannot.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # A stream that a caller redirected stays as it is.
        now = sys.stdout if sys.stdout is sys.__stdout__ else None
        # Under PYTHONUNBUFFERED, a write that a full disk cuts short would lose the rest without an error.
        if now is not None and isinstance(now.buffer, io.RawIOBase):
            sys.stdout = open(1, "w", encoding=now.encoding, errors=now.errors, closefd=False)  # noqa: SIM115
        # Help and tables must not fail on terminals of few characters; `echo` checks exact results itself.
        if now is not None:
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            with stoppable():
                return super().main(*args, **settings)
        # Help is printed before there is a command, whose errors `invoke` handles.
        except OSError as error:
            text = f"error: the output cannot be written: {error.strerror or error}; check the disk."
            typer.echo(text, err=True)
            discard_output()
            raise SystemExit(1) from None
        except Stopped as stopped:
            typer.echo(f"stopped by {stopped.name}; every file is complete or as it was before", err=True)
            raise SystemExit(stopped.exit_status) from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.obj = shlex.join(["directrix", *args])
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; without its group, it answers with the line to type."""
        word = args[0]
        if word in _GROUPED and word not in self.commands and not ctx.resilient_parsing:
            name = _GROUPED[word]
            line = ctx.obj.replace(f" {word}", f" {name}", 1)
            remark(f"error: {word} is now directrix {name}; type `{line}`.")
            raise typer.Exit(2)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: remark(f"note: {message_of(message)}")
                return super().invoke(ctx)
        except typer.BadParameter as error:
            # Pydantic writes these words before the message of a validator.
            error.message = error.message.removeprefix("Value error, ")
            if choice := re.match(r"'(.+?)' is not one of (.+)\.", error.message):
                near = difflib.get_close_matches(choice[1].lower(), re.findall(r"'(.+?)'", choice[2]), n=1)
                error.message += f" Did you mean {near[0]!r}?" if near else ""
            raise
        except (InputError, MissingExtra) as error:
            _fail(message_of(error))
        except (MemoryError, OSError, ImportError, RuntimeError) as error:
            if (text := shortage(error)) is not None:
                _fail(text)
            if not isinstance(error, OSError) or error.errno == errno.EPIPE:
                raise
            name = error.filename or _unnamed_place()
            _fail(f"{name}: {error.strerror or error}; check the path and its permissions.")


app = typer.Typer(
    name="directrix",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learning to rank by optimizing the measure you report.",
)


def _unnamed_place() -> str:
    """Return the place of an error of the operating system that names no file."""
    with suppress(FileNotFoundError):
        os.getcwd()
        return "a file"
    return "the working folder"


def _fail(message: str) -> None:
    remark(*f"error: {message}".split("\n"))
    raise typer.Exit(1) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"directrix {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
    threads: ThreadsOption = None,
) -> None:
    _use_threads(threads)


def _use_threads(n: int | None) -> None:
    if n is not None:
        from directrix.threads import set_threads

        set_threads(n)


def _prepared(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with ``--threads`` that takes ``-`` for a file and runs within its ``--cluster``.

    A parameter whose type is a dataclass is a group of options: one for each role in its annotation, as of
    `Columns`, and one for each of its fields.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, tuple[Any, dict[str, str]]] = {}
    parameters = []
    for name, parameter in signature.parameters.items():
        kind, *roles = get_args(parameter.annotation) or [parameter.annotation]
        options = {name: (parameter.annotation, parameter.default)}
        if is_dataclass(kind):
            columns = {key: ROLES[key].option[2:].replace("-", "_") for key in (roles or [()])[0]}
            groups[name] = kind, columns
            options = {option: (column_option(key), None) for key, option in columns.items()}
            hints = get_type_hints(kind, include_extras=True)
            options |= {field: (hints[field], default) for field, default in _fields(kind).items()}
        parameters += [_parameter(key, hint, default) for key, (hint, default) in options.items()]
    parameters.append(_parameter("threads", ThreadsOption, None))
    offered = {f"--{parameter.name.replace('_', '-')}" for parameter in parameters}

    @functools.wraps(command)
    def run(*, threads: int | None, **values: Any) -> None:
        if command.__name__ in _WITHOUT_NUMBERS:
            # `doctor --compile` itself says that it compiles.
            logging.getLogger("directrix").setLevel(logging.ERROR)
        else:
            check_address_space()
        _use_threads(threads)
        for name, (group, columns) in groups.items():
            arguments = {field: values.pop(field) for field in _fields(group)}
            if columns:
                arguments["texts"] = {key: values.pop(option) for key, option in columns.items()}
            values[name] = group(**arguments)
        with _on_cluster(values.get("cluster")), _standard_input(values) as replaced:
            try:
                command(**replaced)
            # A table is read where the command is not known, so the advice may name an option it lacks.
            except InputError as error:
                _fail(message_of(error, offered))

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _fields(group: Any) -> dict[str, Any]:
    """Return the defaults of the options of a group, by name, but those that name columns."""
    return {field.name: field.default for field in fields(group) if field.name != "texts"}


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _on_cluster(text: str | None) -> AbstractContextManager[Any]:
    if text is None:
        return nullcontext()
    from directrix.cluster.connect import cluster_of

    return cluster_of(text)


@contextmanager
def _standard_input(arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Write standard input to a file while the block runs, if an input is ``-``; two are wrong usage."""
    inputs = {name: value for name, value in arguments.items() if name not in _OUTPUTS}
    paths = [path for value in inputs.values() for path in (value if isinstance(value, list) else [value])]
    if not (count := paths.count(Path("-"))):
        yield arguments
        return
    if count > 1:
        raise typer.BadParameter(
            f"'-', standard input, is given {count} times and can be read once; write the others to files."
        )
    with tempfile.TemporaryDirectory(prefix="directrix-") as folder:
        spooled = StandardInput(folder, "standard-input")
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield arguments | {name: _replaced(value, spooled) for name, value in inputs.items()}


def _replaced(value: Any, spooled: Path) -> Any:
    if isinstance(value, list):
        return [_replaced(entry, spooled) for entry in value]
    return spooled if value == Path("-") else value


def _add_commands() -> None:
    """Add all commands to the application; a group is made before its first command."""
    groups = {"": app}
    for name in COMMANDS:
        group, _, word = name.rpartition(" ")
        if group not in groups:
            groups[group] = typer.Typer(no_args_is_help=True)
            text = inspect.getdoc(import_module(f"directrix.cli.{group}"))
            app.add_typer(groups[group], name=group, help=text)
        home = import_module(f"directrix.cli.{name.replace(' ', '.')}")
        command = getattr(home, f"{name.replace(' ', '_')}_command")
        # Each paragraph becomes one line, which the width of the terminal breaks.
        text = re.sub(r"(?<!\n)\n(?=\S)", " ", inspect.cleandoc(command.__doc__))
        groups[group].command(word, cls=_Command, help=text)(_prepared(command))


_add_commands()
