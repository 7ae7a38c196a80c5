"""The page of a reproduction, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from directrix.reports.claims import MARKS, tally
from directrix.reports.report import Claim, Figure, Report, Section
from directrix.tables import Table, escaped_markdown, notes_once

FILES = (
    "The command writes this page (`page.md`) and its interactive form (`report.html`), the tables as text,\n"
    "JSON, LaTeX and CSV, the figures as PNG and SVG, every finished part (`cells.jsonl`), and the settings\n"
    "on which the figures depend (`settings.json`). If it was stopped, the same command resumes it."
)


def page(report: Report, *, pictures: str = "figures") -> str:
    """Return the page of a report, in Markdown.

    Parameters
    ----------
    report : Report
    pictures : str
        Folder of the PNG files, relative to the page.

    Returns
    -------
    str
        Title; summary; claims with verdicts; tables; figures; what was done, what differs from the paper and
        what could not be done; how to repeat it.
    """
    parts = [
        f"# {escaped_markdown(report.title)}",
        report.paper,
        f"This page is what `{report.command}` writes.",
        *(["## In short", joined(report.summary)] if report.summary else []),
        *_claims(report.claims),
    ]
    for section, tables in sections_of(report):
        parts += [
            f"## {escaped_markdown(section.title)}",
            joined(section.text),
            *(table.markdown() for table in tables),
        ]
    if report.figures:
        parts += ["## Figures", *(_figure(figure, pictures) for figure in report.figures)]
    for title, text in (
        ("What was done", joined(report.how)),
        ("What differs from the paper", joined(report.differs)),
        (
            "What could not be done",
            "\n".join(f"- {escaped_markdown(what)}: {why}" for what, why in report.missing),
        ),
    ):
        parts += [f"## {title}", text] if text else []
    again = "<!-- not run: needs the data of the paper, and more time than a test has -->\n"
    parts += ["## How to repeat it", f"{again}```console\n$ {report.command}\n```", _duration(report), FILES]
    return "\n\n".join(filter(None, parts)) + "\n"


def sections_of(report: Report) -> Iterator[tuple[Section, Sequence[Table]]]:
    """Sections of a report with their tables, each note once; one section "Tables" if it has none."""
    tables = iter(notes_once(report.tables))
    for section in report.sections or ((Section("Tables", report.tables),) if report.tables else ()):
        yield section, list(islice(tables, len(section.tables)))


def joined(texts: Iterable[str]) -> str:
    """Paragraphs of Markdown; items that follow each other are one list."""
    document = ""
    after_item = False
    for text in texts:
        is_item = text.startswith("- ")
        document += ("\n" if is_item and after_item else "\n\n" if document else "") + text
        after_item = is_item
    return document


def _claims(claims: Sequence[Claim]) -> list[str]:
    if not claims:
        return []
    rows = [
        f"| {_cell(c.text)} | {_cell(c.source)} | {MARKS[c.verdict]} {c.judged} | {_cell(c.evidence)} |"
        for c in claims
    ]
    head = ["| claim | where | here | our figures |", "| --- | --- | --- | --- |"]
    return ["## Claims of the paper", tally(claims), "\n".join([*head, *rows])]


def _duration(report: Report) -> str:
    """Say how long all parts of a run took, over all calls of a run that was resumed."""
    seconds = report.settings.get("seconds", {}).get("all parts")
    if seconds is None:
        return ""
    time = f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
    return f"Its parts, one after another, took {time} by the clock."


def _cell(text: str) -> str:
    return escaped_markdown(" ".join(text.split()))


def _figure(figure: Figure, pictures: str) -> str:
    alt = escaped_markdown(" ".join(figure.alt.split())).replace("[", "\\[").replace("]", "\\]")
    return f"![{alt}]({pictures}/{figure.name}.png)\n\n*{escaped_markdown(figure.title)}*"
