"""The words and the published values of a paper: files in its folder that are edited without Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from directrix.reports.report import Claim, Figure, Panel, Verdict
from directrix.tables import Table

_NOTHING = "\0"


@dataclass(frozen=True)
class Paper:
    """The files ``page.md``, ``captions.toml`` and ``published.toml`` of a paper.

    Their texts may contain placeholders such as ``{settings.seed}`` or ``{rate:g}``, see `str.format`. A
    tuple is written as numbers with commas between them. A text with a placeholder whose value is None is
    left out.

    Parameters
    ----------
    title : str
        Heading of the page.
    citation : str
        Citation and question of the paper; Markdown.
    sections : mapping of str to tuple of str
        Other parts of ``page.md``, by their headings: paragraphs and items of lists.
    captions : mapping
        Titles, columns and notes of ``tables``; titles and descriptions of ``figures``; texts, sources and
        evidence of ``claims``; and ``notes`` that tables refer to by name.
    published : mapping
        Values as printed in the paper, and its orderings of methods.
    """

    title: str
    citation: str
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    captions: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, Any] = field(default_factory=dict)

    def section(self, heading: str, **values: Any) -> tuple[str, ...]:
        """Return the paragraphs of a part of the page; none if the page does not have it."""
        return _filled(self.sections.get(heading, ()), values)

    def pairs(self, heading: str, **values: Any) -> tuple[tuple[str, str], ...]:
        """Return the items ``- NAME: TEXT`` of a part of the page."""
        items = (item.removeprefix("- ").partition(": ") for item in self.section(heading, **values))
        return tuple((name, text) for name, _, text in items)

    def table(
        self,
        key: str,
        rows: Iterable[Sequence[Any]],
        *,
        columns: Sequence[str] = (),
        groups: Sequence[tuple[str, int]] = (),
        notes: Sequence[str] = (),
        **values: Any,
    ) -> Table:
        """Make a table with its title, notes and digits; ``columns`` and ``groups`` only if these vary."""
        caption, named = self.captions["tables"][key], self.captions.get("notes", {})
        written = [named.get(note, note) for note in caption.get("notes", ())]
        (title,) = _filled([caption["title"]], values)
        return Table(
            title,
            tuple(columns) or _filled(caption["columns"], values),
            tuple(map(tuple, rows)),
            tuple((name, n) for name, n in groups or caption.get("groups", ())),
            (*_filled(written, values), *notes),
            caption.get("digits", 3),
        )

    def figure(self, key: str, panels: Iterable[Panel], **values: Any) -> Figure:
        """Make a figure with its title and description; its name is the key unless the caption has one."""
        caption = self.captions["figures"][key]
        texts = (caption.get("name", key), caption["title"], caption["alt"])
        name, title, alt = _filled(texts, values)
        return Figure(name, title, tuple(panels), alt)

    def statement(self, key: str, **values: Any) -> tuple[str, str]:
        """Return text and source of a claim."""
        caption = self.captions["claims"][key]
        text, source = _filled((caption["text"], caption["source"]), values)
        return text, source

    def claim(self, key: str, verdict: Verdict, *, tested: Any = "", **values: Any) -> Claim:
        """Make a claim with its text, source and evidence; ``tested`` says what a test was over."""
        (evidence,) = _filled([self.captions["claims"][key]["evidence"]], values)
        return Claim(*self.statement(key, **values), verdict, evidence, tested)

    def fact(self, key: str, *, holds: bool, **values: Any) -> Claim:
        """Make a claim that needs no test of significance."""
        return self.claim(key, "holds" if holds else "does not hold", **values)


class _Filler(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, tuple):
            return ", ".join(f"{number:g}" for number in value)
        return _NOTHING if value is None else str(super().format_field(value, format_spec))


def _filled(texts: Iterable[str], values: Mapping[str, Any]) -> tuple[str, ...]:
    filled = (_Filler().vformat(text, (), values) for text in texts)
    return tuple(text for text in filled if _NOTHING not in text)


@cache
def paper(name: str) -> Paper:
    """Read the files of a paper: ``name`` is its folder.

    In ``page.md`` the first heading is the title, the text below it the citation; every other heading begins
    a section. Blank lines separate paragraphs, and every item of a list is a paragraph.
    """
    folder = Path(__file__).parent / name
    captions, published = (
        tomllib.loads((folder / file).read_text("utf-8")) for file in ("captions.toml", "published.toml")
    )
    first, *rest = re.split(r"^#+ ", (folder / "page.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    title, citation = first.split("\n", 1)
    headed = (part.split("\n", 1) for part in rest)
    sections = {heading: tuple(re.split(r"\n+(?=- )|\n\n+", body.strip())) for heading, body in headed}
    return Paper(title, citation.strip(), sections, captions, published)


def beside(published: float | None, ours: float) -> tuple[float | None, float, float | None]:
    """Return three cells: a published value, if there is one, ours, and the difference."""
    return published, ours, None if published is None else ours - published
