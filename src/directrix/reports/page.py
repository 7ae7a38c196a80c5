"""The page of a reproduction, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from directrix.reports.claims import MARKS, tally
from directrix.reports.report import Claim, Figure, Report, Section
from directrix.reports.tables import Table, escaped_markdown, notes_once

__all__ = ["FILES", "joined", "page", "sections_of"]

FILES = (
    "The command writes this page (`page.md`), the same to look into (`report.html`), the tables as text,\n"
    "JSON, LaTeX and CSV, the figures as PNG and SVG, every finished part (`cells.jsonl`), and what all\n"
    "that depends on (`settings.json`). Stopped and started again it goes on where it was."
)


def page(report: Report, *, pictures: str = "figures") -> str:
    """The page of a report, in Markdown.

    Parameters
    ----------
    report : Report
    pictures : str
        Folder of the PNG files as seen from the page.

    Returns
    -------
    str
        Head; what was found; claims with verdicts; tables; figures; what was done, differs, and could not be
        done; how to do it again.
    """
    parts = [
        f"# {report.title}",
        report.paper,
        f"This page is what `{report.command}` writes.",
        *(["## In short", joined(report.summary)] if report.summary else []),
        *_claims(report.claims),
    ]
    for section, tables in sections_of(report):
        parts += [f"## {section.title}", joined(section.text), *(table.markdown() for table in tables)]
    if report.figures:
        parts += ["## Figures", *(_figure(figure, pictures) for figure in report.figures)]
    for title, text in (
        ("What was done", joined(report.how)),
        ("What differs from the paper", joined(report.differs)),
        ("What could not be done", "\n".join(f"- {what}: {why}" for what, why in report.missing)),
    ):
        parts += [f"## {title}", text] if text else []
    again = "<!-- not run: needs the data of the paper, and more time than a test has -->\n"
    parts += ["## To do it again", f"{again}```console\n$ {report.command}\n```", FILES]
    return "\n\n".join(filter(None, parts)) + "\n"


def sections_of(report: Report) -> Iterator[tuple[Section, Sequence[Table]]]:
    """Sections of a report with their tables, whose notes stand once; one section if it has none."""
    tables = notes_once(report.tables)
    at = 0
    for section in report.sections or ((Section("Tables", len(tables)),) if tables else ()):
        yield section, tables[at : at + section.n_tables]
        at += section.n_tables


def joined(texts: Iterable[str]) -> str:
    """Paragraphs of Markdown; items that follow each other are one list."""
    found = ""
    before = False
    for text in texts:
        is_item = text.startswith("- ")
        found += ("\n" if is_item and before else "\n\n" if found else "") + text
        before = is_item
    return found


def _claims(claims: Sequence[Claim]) -> list[str]:
    if not claims:
        return []
    rows = [
        f"| {_cell(c.text)} | {_cell(c.source)} | {MARKS[c.verdict]} {c.verdict} | {_cell(c.evidence)} |"
        for c in claims
    ]
    head = ["| claim | where | here | our figures |", "| --- | --- | --- | --- |"]
    return ["## Claims of the paper", tally(claims), "\n".join([*head, *rows])]


def _cell(text: str) -> str:
    return escaped_markdown(" ".join(text.split()))


def _figure(figure: Figure, pictures: str) -> str:
    alt = escaped_markdown(" ".join(figure.alt.split())).replace("[", "\\[").replace("]", "\\]")
    return f"![{alt}]({pictures}/{figure.name}.png)\n\n*{escaped_markdown(figure.title)}*"
