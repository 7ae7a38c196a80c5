"""The ``directrix`` command: one group, one file per command, errors as exit statuses.

Exit status: 0 fine, 1 the data cannot be used, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import errno
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from directrix import __version__
from directrix.cli.certify import certify
from directrix.cli.compare import compare
from directrix.cli.convert import convert
from directrix.cli.crossval import crossval
from directrix.cli.demo import demo
from directrix.cli.doctor import doctor
from directrix.cli.evaluate import evaluate
from directrix.cli.features import features
from directrix.cli.methods import methods
from directrix.cli.predict import predict
from directrix.cli.reproduce import reproduce
from directrix.cli.tendency import tendency
from directrix.cli.train import train
from directrix.cli.wording import for_the_shell
from directrix.errors import InputError, MissingExtra

__all__ = ["app"]


class _Commands(TyperGroup):
    """Turns what users can cause into one message on stderr and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _note
                return super().invoke(ctx)
        except (InputError, MissingExtra) as error:
            _fail(error.in_shell if isinstance(error, InputError) else str(error))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            place = error.filename or "a file"
            _fail(f"{place}: {error.strerror or error}; check the path and its permissions.")
        except MemoryError:
            _fail("the data do not fit into memory; use fewer queries or a machine with more.")
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="directrix",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
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
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", is_eager=True, callback=_print_version
        ),
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads for the kernels; default all cores, or DIRECTRIX_NUM_THREADS."),
    ] = None,
) -> None:
    if threads is not None:
        from directrix.threads import set_threads

        set_threads(threads)


def _fail(message: str) -> None:
    typer.echo(f"error: {for_the_shell(message)}", err=True)
    raise typer.Exit(1) from None


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"note: {for_the_shell(str(message))}", err=True)


_COMMANDS = (
    *(train, predict, evaluate, compare, crossval, certify, tendency),
    *(convert, features, methods, reproduce, demo, doctor),
)
for _command in _COMMANDS:
    app.command()(_command)

if __name__ == "__main__":
    app()
