"""Results to show: `Table` and its forms (text, TSV, JSON, CSV, Markdown, LaTeX), and JSON values."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.errors import InputError, one_line

Value = str | float | int | None


class PValue(float):
    """The p-value of a test, shown as "< .001" where the digits of a table would show 0."""


class Latex(str):
    """A cell that is LaTeX already, in a table that is written as LaTeX only."""


# A cell with more characters loses its middle when it is shown.
_LONGEST_CELL = 1000


def stars(p: float) -> str:
    """``*`` for p < .05, ``**`` for p < .01, ``***`` for p < .001."""
    return "*" * ((p < 0.05) + (p < 0.01) + (p < 0.001))


# These characters have a meaning in LaTeX.
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
    # After a line end, `\\`, LaTeX would read a bracket as an option.
    "[": "{[}",
}


@dataclass(frozen=True)
class Table:
    """A table of results.

    Parameters
    ----------
    title : str
        Title; "" for a plain table, whose text has no rule and no marks for empty cells.
    columns : tuple of str
        Column headings; the first column names the rows.
    rows : tuple of tuple
        Text, numbers, or None for a cell without value, shown as ``-``.
    groups : tuple of (str, int)
        Headings above groups of columns, with their numbers of columns; "" for columns without one, () for
        none.
    notes : tuple of str
        Sentences that a reader must know.
    digits : int
        Decimals of floats as shown; JSON and CSV have all.
    detail : bool
        Whether the page of a paper links to the file of the table instead of showing its rows.

    Raises
    ------
    InputError
        If the width of a row or of the groups is not the number of columns.

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
    detail: bool = False

    def __post_init__(self) -> None:
        widths = {f"row {number}": len(row) for number, row in enumerate(self.rows)}
        if self.groups:
            widths = {"groups": sum(n for _, n in self.groups)} | widths
        for place, width in widths.items():
            if width != len(self.columns):
                raise InputError(
                    f"table {self.title!r}: {place} has {width} columns, the table has {len(self.columns)}; "
                    "give one value for every column, None for an empty cell."
                )

    def without(self, columns: Container[int]) -> Table:
        """Return the table without some columns, counted from 0; a group left without columns is removed too.

        Examples
        --------
        >>> Table("Figures", ("method", "MAP", "p"), (("SVMmap", 0.25, 0.5),)).without({1}).rows
        (('SVMmap', 0.5),)
        """
        kept = [i for i in range(len(self.columns)) if i not in columns]
        # Each column has the number of its group, so that removed columns reduce the sizes of their
        # groups.
        owners = [number for number, (_, n) in enumerate(self.groups) for _ in range(n)]
        sizes = Counter(owners[i] for i in kept if owners)
        return replace(
            self,
            columns=tuple(self.columns[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
            groups=tuple((name, sizes[i]) for i, (name, _) in enumerate(self.groups) if sizes[i]),
        )

    def displayed(self) -> Table:
        """Return the table as readers see it: each text on one line, a very long one without its middle."""
        return replace(
            self,
            title=one_line(self.title),
            columns=tuple(_displayed(name) for name in self.columns),
            rows=tuple(tuple(_displayed(cell) for cell in row) for row in self.rows),
            groups=tuple((_displayed(name), n) for name, n in self.groups),
            notes=tuple(map(one_line, self.notes)),
        )

    def text(self) -> str:
        """Aligned columns: numbers right-aligned, text left-aligned."""
        table = self.displayed()
        lines = [list(table.columns), *table._shown()]
        widths = [max(len(line[c]) for line in lines) for c in range(len(self.columns))]
        heads = []
        start = 0
        for name, n in table.groups:
            # Two blanks separate columns. A group's name that is wider than its columns widens the last
            # one.
            missing = len(name) - (sum(widths[start : start + n]) + 2 * (n - 1))
            widths[start + n - 1] += max(0, missing)
            heads.append(name.ljust(sum(widths[start : start + n]) + 2 * (n - 1)))
            start += n
        right = self.numeric()
        body = [_joined(line, widths, right) for line in lines]
        if self.title:
            rule = "  ".join("-" * width for width in widths)
            above = ["  ".join(heads).rstrip()] if heads else []
            body = [table.title, "", *above, body[0], rule, *body[1:]]
        return "\n".join([*body, *([""] if self.notes else []), *table.notes])

    def tsv(self) -> str:
        """Return tab-separated values with every digit, None as empty."""
        rows = [self.heads(), *self.rows]
        cells = (("" if cell is None else re.sub("[\t\n\r]", " ", str(cell)) for cell in row) for row in rows)
        return "\n".join(map("\t".join, cells))

    def json(self) -> dict[str, Any]:
        """Return the title, groups, columns, rows and notes, with every digit of numbers."""
        return {
            "title": self.title,
            "groups": [{"name": name, "columns": n} for name, n in self.groups],
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def csv(self) -> str:
        """Return comma-separated values with every digit: groups before their columns, None as empty.

        An apostrophe precedes a text that a spreadsheet would run as a formula.
        """
        text = io.StringIO()
        rows = ([_inert(cell) for cell in row] for row in (self.heads(), *self.rows))
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()

    def markdown(self) -> str:
        """Return a Markdown table; groups come before the headings of their columns."""
        table = self.displayed()
        rules = ["---:" if right else "---" for right in self.numeric()]
        escaped = [[escaped_markdown(cell) for cell in row] for row in [table.heads(), *table._shown()]]
        lines = ["| " + " | ".join(row) + " |" for row in [escaped[0], rules, *escaped[1:]]]
        notes = ["", escaped_markdown(" ".join(table.notes))] if self.notes else []
        title = [f"**{escaped_markdown(table.title)}**", ""] if self.title else []
        return "\n".join([*title, *lines, *notes])

    def latex(self) -> str:
        r"""Return a ``table`` environment for a document with ``\usepackage{booktabs}``."""
        numeric, table = self.numeric(), self.displayed()
        lines = [_row(table.columns), r"\midrule", *(_row(row) for row in table._shown())]
        if self.groups:
            # Groups are a row above the columns, with a rule below each group that has a name.
            cells, rules, start = [], [], 1
            for name, n in table.groups:
                cells.append(rf"\multicolumn{{{n}}}{{c}}{{{_escaped(name)}}}")
                rules += [rf"\cmidrule(lr){{{start}-{start + n - 1}}}"] if name else []
                start += n
            lines = [" & ".join(cells) + r" \\", "".join(rules), *lines]
        notes = [rf"\par\smallskip\footnotesize {_escaped(' '.join(table.notes))}"] if self.notes else []
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                *([rf"\caption{{{_escaped(table.title)}}}"] if self.title else []),
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
        """Column headings, each preceded by that of its group."""
        over = [name for name, n in self.groups for _ in range(n)] or [""] * len(self.columns)
        return [f"{name} {head}".strip() for name, head in zip(over, self.columns, strict=True)]

    def shown(self, value: Value) -> str:
        """Return the text of a cell: floats rounded; None and infinities "-", or empty in a plain table."""
        if value is None or value in (math.inf, -math.inf):
            return "-" if self.title else ""
        if isinstance(value, PValue) and value < 10.0**-self.digits:
            return f"< .{1:0{self.digits}d}"
        if isinstance(value, float):
            # The format's letter z turns "-0.000" into "0.000".
            return f"{value:z.{self.digits}f}"
        return value if isinstance(value, str) else str(value)

    def numeric(self) -> list[bool]:
        """Which columns contain only numbers."""
        columns: Sequence[Sequence[Value]] = list(zip(*self.rows, strict=True)) or [("",)] * len(self.columns)
        return [
            all(value is None or isinstance(value, int | float) for value in column) for column in columns
        ]

    def _shown(self) -> list[list[str]]:
        return [[self.shown(value) for value in row] for row in self.rows]


class ShowsTables:
    """Base of results that are shown as tables."""

    def tables(self) -> tuple[Table, ...]:
        """Return the result as tables."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())


def json_value(value: Any) -> Any:
    """Return a value in JSON types: NumPy's numbers as Python's, tuples as lists, NaN and infinity as None.

    Examples
    --------
    >>> json_value({"means": (0.5, float("nan")), "ranks": np.array([1, 2])})
    {'means': [0.5, None], 'ranks': [1, 2]}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: json_value(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def escaped_markdown(text: str) -> str:
    """Return the text on one line, with all characters escaped that Markdown would interpret."""
    # A bracket matters only before a link's address, and an ampersand only at the begin of an entity.
    return re.sub(r"([|*_<`\\]|\[(?=[^\]]*\]\()|&(?=#?\w+;))", r"\\\1", one_line(text))


def notes_once(tables: Sequence[Table]) -> list[Table]:
    """Return the tables with each note only under the first table that has it."""
    seen: set[str] = set()
    shown = []
    for table in tables:
        shown.append(replace(table, notes=tuple(note for note in table.notes if note not in seen)))
        seen.update(table.notes)
    return shown


def _displayed(cell: Any) -> Any:
    is_text = isinstance(cell, str) and not isinstance(cell, Latex)
    return one_line(cell, _LONGEST_CELL) if is_text else cell


def _joined(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    columns = zip(line, widths, right, strict=True)
    return "  ".join(cell.rjust(n) if is_right else cell.ljust(n) for cell, n, is_right in columns).rstrip()


def _escaped(text: str) -> str:
    return text if isinstance(text, Latex) else "".join(_LATEX.get(letter, letter) for letter in text)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _inert(cell: Any) -> Any:
    # Spreadsheets run a cell that begins with one of these characters as a formula, and an apostrophe
    # prevents it.
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in tuple("=+-@\t\r") and cell[1:] else cell
