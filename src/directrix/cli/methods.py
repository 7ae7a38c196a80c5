"""``directrix methods``: the methods that ``train`` chooses from."""

from __future__ import annotations

from typing import Annotated

from directrix.cli import options
from directrix.cli.output import remark, show


def methods_command(
    name: Annotated[str | None, options.argument(metavar="METHOD", help="Method to show in full.")] = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """List the methods of train, or show one with its settings, grid, cost and source."""
    from directrix.rankers.methods import method, methods
    from directrix.tables import Table

    with options.usage():
        chosen = methods() if name is None else (method(name),)
    if name is not None:
        entries = chosen[0].describe().items()
        table = Table("", ("", ""), tuple((key, _text(value)) for key, value in entries))
    else:
        heads = ("method", "model", "trainer", "grid", "use when")
        summaries = [m.summary() for m in chosen]
        columns = ("name", "model", "trainer", "grid", "use_when")
        table = Table("", heads, tuple(tuple(_text(summary[c]) for c in columns) for summary in summaries))
    # Descriptions need scikit-learn, which takes a second to import.
    show(form, [table], [m.describe() for m in chosen] if form is options.Format.json else None)
    if name is None and form is options.Format.table:
        remark("`directrix methods NAME` shows settings, cost and source")


def _text(value: object) -> str:
    if value is None or value in ({}, []):
        return "-"
    if isinstance(value, dict):
        return "; ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    return ", ".join(str(entry) for entry in value) if isinstance(value, list | tuple) else str(value)
