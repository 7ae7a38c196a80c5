"""The report of an experiment as a value: tables, figures, checked claims, values by query.

Tables, figures and texts go in. `directrix.reports.write` makes files of the report that comes out:

>>> table = Table("Results", ("method", "MAP"), (("SVMmap", 0.25),))
>>> sections = (Section("All methods", (table,)),)
>>> Report(name="demo", title="Demo", paper="", summary=(), sections=sections, command="").tables[0].title
'Results'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from directrix.errors import InputError, one_line
from directrix.tables import Table
from directrix.types import Float64Array

Verdict = Literal["holds", "does not hold", "not significant", "not tested"]

# A panel has no room for a label with more characters than this.
_LONGEST_LABEL = 50

MARKS: dict[Verdict, str] = {"holds": "✓", "does not hold": "✗", "not significant": "≈", "not tested": "?"}
"""Sign before a verdict, so that it can be seen without color."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A line, or a set of points, of a panel.

    Parameters
    ----------
    label : str
        Text in the legend; "" = not in the legend.
    x, y : float (n,)
        Points; NaN in ``y`` breaks the line.
    style : {"line", "points", "dashed", "bars"}
        Dashed lines are bounds and published values.
    """

    label: str
    x: Float64Array
    y: Float64Array
    style: Literal["line", "points", "dashed", "bars"] = "line"

    def __post_init__(self) -> None:
        if np.shape(self.x) != np.shape(self.y) or np.ndim(self.x) != 1:
            raise InputError(
                f"curve {self.label!r}: x has shape {np.shape(self.x)}, y {np.shape(self.y)}; "
                "both need the same number of points, shape (n,)."
            )


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title : str
    curves : tuple of Curve
    x_label, y_label : str
        Labels of the axes, with the unit.
    x_scale, y_scale : {"linear", "log"}
        An axis without a value above 0 is always linear.
    x_names : tuple of str
        Names at x = 0, 1, ..., for example of methods; () = numbers.
    """

    title: str
    curves: tuple[Curve, ...]
    x_label: str
    y_label: str
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    x_names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels side by side, written as ``NAME.png``, ``.svg``, ``.pdf`` and ``.csv``.

    Parameters
    ----------
    name : str
        Stem of the files: lower-case letters, digits, hyphens.
    title : str
        Title, with the figure of the paper that it reproduces.
    panels : tuple of Panel
    alt : str
        Description for readers who cannot see it.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    alt: str


@dataclass(frozen=True)
class Claim:
    """A checked sentence of a paper.

    Parameters
    ----------
    text : str
        The claim.
    source : str
        Its place in the paper: "Table 2", "Sect. 6.3".
    verdict : {"holds", "does not hold", "not significant", "not tested"}
        "not significant": p >= .05 at this number of queries, whatever the sign of the difference; "not
        tested": no values by query, so no test can be made.
    evidence : str
        Our values, with the test.
    tested : str
        Sample of the test, such as "106 queries"; "" for a fact.
    """

    text: str
    source: str
    verdict: Verdict
    evidence: str
    tested: str = ""

    @property
    def judged(self) -> str:
        """The verdict with its sign and the sample of the test."""
        over = f" ({self.tested})" if self.tested else ""
        return f"{MARKS[self.verdict]} {self.verdict}{over}"


def tally(claims: Sequence[Claim]) -> str:
    """Return the number of claims with each verdict, as a sentence.

    Examples
    --------
    >>> tally([Claim("A beats B", "Table 1", "holds", ""), Claim("A beats C", "Table 1", "holds", "")])
    'Claims checked: 2; holds: 2; does not hold: 0; not significant at this number of queries: 0.'
    """
    n = Counter(claim.verdict for claim in claims)
    untested = f"; not tested: {n['not tested']}" if n["not tested"] else ""
    return (
        f"Claims checked: {len(claims)}; holds: {n['holds']}; does not hold: {n['does not hold']}; "
        f"not significant at this number of queries: {n['not significant']}{untested}."
    )


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return every claim with its place, its verdict and our values."""
    rows = (tuple(" ".join(t.split()) for t in (c.text, c.source, c.judged, c.evidence)) for c in claims)
    return Table("", ("claim", "where", "here", "our figures"), tuple(rows))


@dataclass(frozen=True, eq=False)
class PerQuery:
    """Values and rankings of several methods on the same queries, to inspect in a report.

    Parameters
    ----------
    name : str
        Name of the data.
    measure : str
        Name of the measure.
    query_ids : tuple of str
    values : mapping of str to float64 (n_queries,)
        Values of each method.
    rankings : mapping of str to (tuple of (str, int, float) tuples)
        First documents for each method and query: id, label, score; () = none.
    """

    name: str
    measure: str
    query_ids: tuple[str, ...]
    values: Mapping[str, Float64Array]
    rankings: Mapping[str, tuple[tuple[tuple[str, int, float], ...], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A section of the page, with its heading.

    Parameters
    ----------
    title : str
    tables : tuple of Table
        In the order of the paper, with published values next to ours and the difference.
    text : tuple of str
        Paragraphs of Markdown, before the tables.
    figures : tuple of Figure
        Figures after the tables.
    """

    title: str
    tables: tuple[Table, ...] = ()
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """The content of the page of a reproduction, a training run or a comparison.

    Parameters
    ----------
    name : str
        "qin2010", ...: name of the folder.
    title : str
        Title of the page.
    paper : str
        Authors, year, title, journal, DOI, and the question of the paper; Markdown.
    summary : tuple of str
        Results in sentences; paragraphs of Markdown, or items that begin with "- ".
    sections : tuple of Section
        The tables, under their headings.
    command : str
        The command that writes the report.
    figures : tuple of Figure
        Figures outside the sections, which come after all of them.
    claims : tuple of Claim
        The paper's orderings and sentences, one by one.
    missing : tuple of (str, str)
        Missing parts, as text, and the reasons (missing data, ...), as Markdown.
    how : tuple of str
        Description: data, protocol, settings, differences from the paper; paragraphs of Markdown.
    settings : mapping
        JSON: settings on which the results depend, versions, seeds, seconds.
    per_query : tuple of PerQuery
        Queries to inspect, one entry for each data set and measure.
    differs : tuple of str
        Differences from the paper, if ``how`` does not list them; paragraphs of Markdown.
    """

    name: str
    title: str
    paper: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    command: str
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    how: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    per_query: tuple[PerQuery, ...] = ()
    differs: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of all sections."""
        return tuple(table for section in self.sections for table in section.tables)

    @property
    def all_figures(self) -> tuple[Figure, ...]:
        """The figures of all sections, and the others."""
        return (*(figure for section in self.sections for figure in section.figures), *self.figures)


def _markdown(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))


# These fields are a single line of plain text, and not Markdown.
_ONE_LINE = ("title", "command")


def displayed(part: Any, show: Callable[[str], str] = _markdown) -> Any:
    """Return a report, or a part of it, with all texts but Markdown as `directrix.errors.one_line`."""
    if isinstance(part, Table):
        return part.displayed()
    if isinstance(part, str):
        return show(part)
    if isinstance(part, list | tuple):
        return tuple(displayed(member, show) for member in part)
    if isinstance(part, Mapping):
        return {show(name): displayed(value, show) for name, value in part.items()}
    if not is_dataclass(part) or isinstance(part, type):
        return part
    if isinstance(part, Figure | Panel):
        show = one_line if isinstance(part, Figure) else partial(one_line, most=_LONGEST_LABEL)
    shows = {f.name: one_line if f.name in _ONE_LINE and show is _markdown else show for f in fields(part)}
    return replace(part, **{name: displayed(getattr(part, name), how) for name, how in shows.items()})
