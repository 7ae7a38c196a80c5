"""``directrix methods``: the methods that train takes."""

from __future__ import annotations

from typing import Annotated

from directrix.cli import options
from directrix.cli.output import print_json, print_rows, remark


def methods(
    name: Annotated[str | None, options.argument(metavar="METHOD", help="Method to show in full.")] = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """List the methods of train, or show one with its settings, grid, cost and source."""
    from directrix.rankers.methods import method, methods

    with options.usage():
        chosen = methods() if name is None else (method(name),)
    if form is options.Format.json:
        print_json([m.describe() for m in chosen])
    elif name is not None:
        entries = chosen[0].describe()
        print_rows(["", ""], [[key, _text(value)] for key, value in entries.items()], form)
    else:
        columns = ("name", "model", "trainer", "grid", "use_when")
        rows = [[_text(m.summary()[column]) for column in columns] for m in chosen]
        print_rows(["method", "model", "trainer", "grid", "use when"], rows, form)
        if form is options.Format.table:
            remark("`directrix methods NAME` shows settings, cost and source")


def _text(value: object) -> str:
    if value is None or value in ({}, []):
        return "-"
    if isinstance(value, dict):
        return "; ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    return ", ".join(str(entry) for entry in value) if isinstance(value, list | tuple) else str(value)
