"""Arguments and options that several commands share, each declared once, and the checks of their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli.advice import message_of
from directrix.data.columns import ROLES
from directrix.data.formats import inputs
from directrix.errors import InputError, short_text
from directrix.parsing import UNREADABLE, parse_literal

if TYPE_CHECKING:
    from directrix.measures.convention import Convention


NOT_SHOWN = 3
"""Exit status of a command that succeeds with a negative result."""


class Missing(StrEnum):
    """Meaning of ``nan`` and ``NULL`` as feature values."""

    error = "error"
    zero = "zero"
    nan = "nan"


Format = StrEnum("Format", ["table", "json", "tsv", "latex", "markdown"])
"""How to print a result."""

argument = partial(typer.Argument, show_default=False)
"""An argument; none has a default that ``--help`` could show."""

option = partial(typer.Option, show_default=False)
"""An option whose help describes its default."""


def column_option(key: str) -> Any:
    """Return the type of the parameter for a column, or for several, by the table of roles."""
    role = ROLES[key]
    metavar = "NAME,..." if role.is_list else "NAME"
    return Annotated[str | None, option(role.option, metavar=metavar, help=role.help)]


DataArgument = Annotated[
    Path, argument(metavar="DATA", help=f"Labeled data: {inputs()}; text plain or compressed.")
]
JudgedArgument = Annotated[
    Path, argument(metavar="DATA", help="Labeled data, or qrels for runs: TREC text or tables.")
]
ModelArgument = Annotated[Path, argument(metavar="MODEL", help="Model file written by `directrix train`.")]
RankingsArgument = Annotated[
    list[Path],
    argument(
        metavar="SCORES|MODEL...",
        help="Files with one score per line, model files, or runs: TREC text or tables.",
    ),
]
MeasuresOption = Annotated[
    list[str] | None,
    option(
        "--measure",
        "-m",
        metavar="NAME,...",
        help="Measures to report, e.g. AP,nDCG@10; repeatable. Default: nDCG@10 and AP.",
    ),
]
MeasureOption = Annotated[str, Option("--measure", "-m", help="Measure to optimize, and to select by.")]
ConventionOption = Annotated[
    str | None, option(help="Compute measures as another tool does: letor3, trec_eval, sklearn, ...")
]
SettingsOption = Annotated[
    list[str] | None,
    option(
        "--set",
        metavar="KEY=VALUE",
        help="Fix a setting instead of searching over its values, e.g. alpha=50; repeatable.",
    ),
]
SeedOption = Annotated[int, Option(min=0, max=2**32 - 1, help="Seed of all random numbers.")]
JobsOption = Annotated[int, Option(help="Number of parallel training runs; -1 = one per core.")]
NamesOption = Annotated[
    list[str] | None,
    option(
        "--name",
        metavar="NAME",
        help="Name of each ranking in the output, in order. Default: run tags or file names.",
    ),
]
RunOutputOption = Annotated[
    Path | None,
    option(
        "--output", "-o", help="File to write: a TREC run, or JSON lines (.jsonl). Default: standard output."
    ),
]
AllJudgedOption = Annotated[
    bool,
    Option(
        "--all-judged",
        help="Count every judged query of the qrels, with an empty ranking for those that a run lacks, as "
        "trec_eval does by -c.",
    ),
]
ReportOption = Annotated[Path | None, option("--report", help="HTML page to write.")]
FormatOption = Annotated[Format, Option("--format", "-f", help="Output format.")]
ThreadsOption = Annotated[
    int | None,
    option(min=1, max=4096, help="Number of threads. Default: DIRECTRIX_NUM_THREADS, else all cores."),
]
ClusterOption = Annotated[
    str | None,
    option(
        metavar="local:N|dask://HOST:PORT",
        help="Where to compute: N processes of this machine, or a Dask cluster. Data are then a folder of "
        "`directrix cluster shard`; lab crossval spreads its training runs.",
    ),
]


def parse_settings(texts: Sequence[str] | None, options: dict[str, str]) -> dict[str, Any]:
    """Read the ``key=value`` texts of ``--set``; values that are not Python literals stay text.

    Raises `InputError` if a text has no ``=``, a key appears twice, or another option sets the key, as in
    ``options={"random_state": "--seed"}``.
    """
    values: dict[str, Any] = {}
    for text in texts or ():
        key, sign, value = text.partition("=")
        if not sign or not key.isidentifier():
            raise InputError(f"--set {short_text(text)}: KEY=VALUE is needed; type e.g. --set alpha=50.")
        if key in values:
            raise InputError(f"--set {key} is given twice; give it once.")
        if key in options:
            raise InputError(f"--set {key} and {options[key]} set the same value; give only {options[key]}.")
        # Words that other languages use for Python's constants are understood too.
        try:
            values[key] = parse_literal(value)
        except UNREADABLE:
            values[key] = {"true": True, "false": False, "none": None}.get(value.lower(), value)
    return values


def comma_separated(texts: Sequence[str] | None) -> list[str]:
    """Return the distinct values of a repeatable option, each of which may be a list with commas.

    Commas within parentheses belong to the value: ``RBP(p=0.8, rel=2)``.
    """
    words = []
    for text in texts or ():
        start, depth = 0, 0
        for i, letter in enumerate(text + ","):
            depth += (letter == "(") - (letter == ")")
            if letter == "," and (depth <= 0 or i == len(text)):
                words.append(text[start:i].strip())
                start = i + 1
    return list(dict.fromkeys(filter(None, words)))


def measure_names(given: Sequence[str] | None, default: Sequence[str] = ("nDCG@10", "AP")) -> list[str]:
    """Return the measures given on the command line, without repetitions, after parsing each of them."""
    from directrix.measures.names import measure

    names = comma_separated(given or default)
    if given and not names:
        raise InputError("--measure names no measure; type e.g. -m nDCG@10,AP.")
    for name in names:
        measure(name)
    return names


def convention_named(name: str | None) -> Convention | None:
    """Return the convention of ``--convention``; None for the default."""
    from directrix.measures.convention import convention

    return None if name in (None, "default") else convention(str(name))


def check_jobs(jobs: int) -> None:
    """Raise `InputError` unless ``jobs`` is a number of processes or -1."""
    if jobs == 0 or jobs < -1:
        raise InputError(
            f"--jobs {jobs}: a number of parallel training runs is needed, or -1 for one per core; "
            "type e.g. --jobs 2."
        )


def check_tag(option: str, tag: str | None) -> None:
    """Report a run tag that is not one word as wrong usage."""
    if tag is not None and tag.split() != [tag]:
        raise typer.BadParameter(f"{option} {tag!r}: a tag is one word, e.g. {option} bm25.")


@contextmanager
def usage() -> Iterator[None]:
    """Report an error in an option as wrong usage (exit status 2), not as an error in the data."""
    try:
        yield
    # `InputError` and scikit-learn's errors of parameters are ValueErrors.
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(message_of(error)) from None
