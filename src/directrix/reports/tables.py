"""A table as a value, and the forms in which it is shown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from directrix.errors import InputError

__all__ = ["Table", "Value", "escaped_markdown", "notes_once"]

Value = str | float | int | None

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after a line end it would be an option of that
}


@dataclass(frozen=True)
class Table:
    """A table of results.

    Parameters
    ----------
    title : str
        What it shows.
    columns : tuple of str
        Heads; the first column names the rows.
    rows : tuple of tuple
        Text, numbers, or None for a cell without value, shown as ``-``.
    groups : tuple of (str, int)
        Heads above the heads, and over how many columns each stands; "" over columns without one. ()
        = none.
    notes : tuple of str
        What a reader must know, a sentence each.
    digits : int
        Decimals of floats where they are shown; JSON has all.

    Raises
    ------
    InputError
        If a row, or the groups, are not as wide as the heads.

    Examples
    --------
    >>> print(Table("Figures", ("method", "MAP"), (("SVMmap", 0.25), ("best run", None))).text())
    Figures
    <BLANKLINE>
    method      MAP
    --------  -----
    SVMmap    0.250
    best run      -
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    digits: int = 3

    def __post_init__(self) -> None:
        for what, width in [
            ("groups", sum(n for _, n in self.groups) if self.groups else len(self.columns))
        ] + [(f"row {number}", len(row)) for number, row in enumerate(self.rows)]:
            if width != len(self.columns):
                raise InputError(
                    f"table {self.title!r}: {what} has {width} columns, its heads are {len(self.columns)}; "
                    "give one value for every head, None where there is none."
                )

    def text(self) -> str:
        """Aligned columns: numbers to the right, text to the left."""
        lines = [list(self.columns), *self._shown()]
        widths = [max(len(line[c]) for line in lines) for c in range(len(self.columns))]
        heads = []
        at = 0
        for name, n in self.groups:
            missing = len(name) - (sum(widths[at : at + n]) + 2 * (n - 1))
            widths[at + n - 1] += max(0, missing)
            heads.append(name.ljust(sum(widths[at : at + n]) + 2 * (n - 1)))
            at += n
        right = self.numeric()
        body = [_joined(line, widths, right) for line in lines]
        rule = "  ".join("-" * width for width in widths)
        parts = [self.title, "", *(["  ".join(heads).rstrip()] if heads else []), body[0], rule, *body[1:]]
        return "\n".join([*parts, *([""] if self.notes else []), *self.notes])

    def json(self) -> dict[str, Any]:
        """Title, groups, columns, rows and notes, numbers with every digit."""
        return {
            "title": self.title,
            "groups": [{"name": name, "columns": n} for name, n in self.groups],
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def csv(self) -> str:
        """Comma-separated values: groups before the heads of their columns, every digit, nothing for None."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.heads(), *self.rows])
        return text.getvalue()

    def markdown(self) -> str:
        """A table of Markdown; groups stand before the heads of their columns."""
        rules = ["---:" if right else "---" for right in self.numeric()]
        escaped = [[escaped_markdown(cell) for cell in row] for row in [self.heads(), *self._shown()]]
        lines = ["| " + " | ".join(row) + " |" for row in [escaped[0], rules, *escaped[1:]]]
        notes = ["", escaped_markdown(" ".join(self.notes))] if self.notes else []
        return "\n".join([f"**{escaped_markdown(self.title)}**", "", *lines, *notes])

    def latex(self) -> str:
        r"""A ``table`` environment for a document with ``\usepackage{booktabs}``."""
        numeric = self.numeric()
        lines = [_row(self.columns), r"\midrule", *(_row(row) for row in self._shown())]
        if self.groups:
            lines = [*_group_rows(self.groups), *lines]
        notes = [rf"\par\smallskip\footnotesize {_escaped(' '.join(self.notes))}"] if self.notes else []
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_escaped(self.title)}}}",
                rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
                r"\toprule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                *notes,
                r"\end{table}",
            ]
        )

    def heads(self) -> list[str]:
        """Heads of the columns with those of their groups."""
        over = [name for name, n in self.groups for _ in range(n)] or [""] * len(self.columns)
        return [f"{name} {head}".strip() for name, head in zip(over, self.columns, strict=True)]

    def shown(self, value: Value) -> str:
        """A cell as it is shown: floats rounded, "-" for None."""
        if value is None:
            return "-"
        return f"{value:z.{self.digits}f}" if isinstance(value, float) else str(value)  # z: no "-0.000"

    def numeric(self) -> list[bool]:
        """Which columns hold numbers alone."""
        columns: Sequence[Sequence[Value]] = list(zip(*self.rows, strict=True)) or [("",)] * len(self.columns)
        return [
            all(value is None or isinstance(value, int | float) for value in column) for column in columns
        ]

    def _shown(self) -> list[list[str]]:
        return [[self.shown(value) for value in row] for row in self.rows]


def escaped_markdown(text: str) -> str:
    """Text in which no letter means anything in Markdown."""
    return re.sub(r"([|*_<\\])", r"\\\1", text)


def notes_once(tables: Sequence[Table]) -> list[Table]:
    """Tables to be read one after the other: a note stands under the first that has it."""
    seen: set[str] = set()
    shown = []
    for table in tables:
        shown.append(replace(table, notes=tuple(note for note in table.notes if note not in seen)))
        seen.update(table.notes)
    return shown


def _joined(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    pad: Callable[[str, int, bool], str] = lambda cell, n, to_the_right: (  # noqa: E731
        cell.rjust(n) if to_the_right else cell.ljust(n)
    )
    return "  ".join(map(pad, line, widths, right)).rstrip()


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _group_rows(groups: Sequence[tuple[str, int]]) -> list[str]:
    cells, rules, at = [], [], 1
    for name, n in groups:
        cells.append(rf"\multicolumn{{{n}}}{{c}}{{{_escaped(name)}}}")
        rules += [rf"\cmidrule(lr){{{at}-{at + n - 1}}}"] if name else []
        at += n
    return [" & ".join(cells) + r" \\", "".join(rules)]
