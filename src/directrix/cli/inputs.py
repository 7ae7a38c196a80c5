"""What every command does before its work: standard input becomes a file, options name columns."""

from __future__ import annotations

import contextlib
import functools
import inspect
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from directrix.cli.memory import check_address_space
from directrix.cli.options import without_default
from directrix.data.columns import ColumnNames

_WITHOUT_NUMBERS = ("methods", "doctor")  # commands
_ON_CLUSTERS = ("train", "evaluate", "compare", "certify", "crossval")  # commands
_OUTPUTS = ("output", "report", "thresholds", "page", "against")  # the last names an input a second time


class StandardInput(type(Path())):  # type: ignore[misc]
    """A file that holds what standard input held, and is called ``-``: files are read more than once."""

    def __str__(self) -> str:
        return "-"

    def __fspath__(self) -> str:
        return str(super().__str__())


def _option(name: str, what: str) -> Any:
    default = {
        "--qid-column": "qid, query_id, q_id, topic or query.",
        "--label-column": "label, relevance, rel or grade.",
        "--doc-id-column": "docno, doc_id, docid, document or doc, if there is one.",
        "--feature-columns": "all others.",
        "--categorical-columns": "those of a dictionary type.",
        "--score-column": "score or sim.",
    }
    metavar = "NAME,..." if name.endswith("-columns") else "NAME"
    text = f"Column{'s' * name.endswith('-columns')} of {what}. Default: {default[name]}"
    panel = "Columns of CSV, TSV, JSON lines, Parquet and Arrow"
    return Annotated[str | None, without_default(name, metavar=metavar, help=text, rich_help_panel=panel)]


_COLUMNS: dict[str, Any] = {
    "qid_column": _option("--qid-column", "queries"),
    "label_column": _option("--label-column", "labels"),
    "doc_id_column": _option("--doc-id-column", "documents"),
    "feature_columns": _option("--feature-columns", "features, separated by commas"),
    "categorical_columns": _option("--categorical-columns", "features that are categories, for trees"),
}
_OF_RUNS = {"score_column": _option("--score-column", "scores of runs")}


_CLUSTER = Annotated[
    str | None,
    without_default(
        metavar="local:N|dask://HOST:PORT",
        help="Where to compute: N processes of this machine, or a Dask cluster. Data are then a folder of "
        "`directrix shard`; crossval spreads its trainings.",
    ),
]


def with_inputs(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes ``-`` for a file, and options in place of a parameter ``columns``.

    Some also get ``--cluster``, and run within that cluster.
    """
    signature = inspect.signature(command, eval_str=True)
    columns = _COLUMNS | (_OF_RUNS if {"rankings", "runs"} & signature.parameters.keys() else {})
    parameters = []
    for name, parameter in signature.parameters.items():
        options = columns if name == "columns" else {name: parameter.annotation}
        default = None if name == "columns" else parameter.default
        parameters += [
            parameter.replace(name=key, annotation=kind, default=default, kind=parameter.KEYWORD_ONLY)
            for key, kind in options.items()
        ]

    if command.__name__ in _ON_CLUSTERS:
        parameters.append(
            inspect.Parameter("cluster", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_CLUSTER)
        )

    @functools.wraps(command)
    def run(**given: Any) -> None:
        if command.__name__ not in _WITHOUT_NUMBERS:
            check_address_space()
        if "columns" in signature.parameters:
            given["columns"] = _names({name: given.pop(name) for name in columns})
        with _on_cluster(given.pop("cluster", None)), _standard_input(given) as replaced:
            command(**replaced)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _on_cluster(text: str | None) -> contextlib.AbstractContextManager[Any]:
    if text is None:
        return contextlib.nullcontext()
    from directrix.cluster.connect import cluster_of

    return cluster_of(text)


def _names(given: dict[str, str | None]) -> ColumnNames:
    qid, label, doc_id, *lists = (given[name] for name in _COLUMNS)
    features, categorical = (None if text is None else tuple(filter(None, text.split(","))) for text in lists)
    for option, names in (("--feature-columns", features), ("--categorical-columns", categorical)):
        if names == ():
            raise typer.BadParameter(f"{option}: there is no name; type e.g. {option} bm25,age.")
    return ColumnNames(qid, label, doc_id, features, categorical, score=given.get("score_column"))


@contextmanager
def _standard_input(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Write standard input to a file while the block runs, if an input is ``-``; two are wrong usage."""
    inputs = {name: value for name, value in given.items() if name not in _OUTPUTS}
    paths = [path for value in inputs.values() for path in (value if isinstance(value, list) else [value])]
    if not (count := paths.count(Path("-"))):
        yield given
        return
    if count > 1:
        raise typer.BadParameter(
            f"'-', standard input, is given {count} times and can be read once; write the others to files."
        )
    with tempfile.TemporaryDirectory(prefix="directrix-") as folder:
        spooled = StandardInput(folder, "standard-input")
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield given | {name: _replaced(value, spooled) for name, value in inputs.items()}


def _replaced(value: Any, spooled: Path) -> Any:
    if isinstance(value, list):
        return [_replaced(entry, spooled) for entry in value]
    return spooled if value == Path("-") else value
