"""The page of a report: its outline, and its Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from directrix.reports.report import Figure, Report, claims_table, tally
from directrix.tables import Table, escaped_markdown, notes_once

CLAIMS = "Claims of the paper"
ENDING = ("What was done", "What differs from the paper", "What could not be done")
"""Headings after the results."""

Block = str | Table | Figure

FILES = (
    "The command writes this page (`page.md`) and its interactive form (`report.html`), the tables as text,\n"
    "JSON, LaTeX and CSV, the figures as PNG, SVG, PDF and points (CSV), every finished part\n"
    "(`cells.jsonl`), and the settings on which the figures depend (`settings.json`). If it was stopped,\n"
    "the same command resumes it."
)


def page(report: Report, *, pictures: str = "figures") -> str:
    """Return the page of a report in Markdown; ``pictures`` is the folder of PNG files, relative to it."""
    texts = [
        f"# {escaped_markdown(report.title)}",
        report.paper,
        f"This page is what `{report.command}` writes.",
    ]
    for title, blocks in outline(report):
        texts += [f"## {escaped_markdown(title)}", *(_markdown(block, pictures) for block in blocks)]
    not_run = "<!-- not run: needs the data of the paper, and more time than a test has -->\n"
    texts += ["## How to repeat it", f"{not_run}```console\n$ {report.command}\n```"]
    seconds = report.settings.get("seconds", {}).get("all parts")
    # A run that was resumed knows the time of all its calls.
    if seconds is not None:
        time = f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
        time = f"{seconds:.0f} seconds" if seconds < 120 else time
        texts.append(f"Its parts, one after another, took {time} by the clock.")
    return "\n\n".join(filter(None, [*texts, FILES])) + "\n"


def outline(report: Report) -> list[tuple[str, list[Block]]]:
    """Return the headings of a page, each with its blocks: Markdown, tables and figures."""
    # A note is below the first table that has it, so sections take their tables from one sequence.
    tables = iter(notes_once(report.tables))
    missing = "\n".join(f"- {escaped_markdown(what)}: {why}" for what, why in report.missing)
    headed_blocks: list[tuple[str, Sequence[Block]]] = [("In short", [joined(report.summary)])]
    if report.claims:
        headed_blocks.append((CLAIMS, [tally(report.claims), claims_table(report.claims)]))
    headed_blocks += [
        (s.title, [joined(s.text), *islice(tables, len(s.tables)), *s.figures]) for s in report.sections
    ]
    headed_blocks.append(("Figures", report.figures))
    texts = (joined(report.how), joined(report.differs), missing)
    headed_blocks += [(title, [text]) for title, text in zip(ENDING, texts, strict=True)]
    # Empty texts, and headings without any content, are left out.
    kept = ((title, [block for block in blocks if block]) for title, blocks in headed_blocks)
    return [(title, blocks) for title, blocks in kept if blocks]


def _markdown(block: Block, pictures: str) -> str:
    if isinstance(block, Table):
        return block.markdown()
    if isinstance(block, Figure):
        alt = escaped_markdown(" ".join(block.alt.split())).replace("[", "\\[").replace("]", "\\]")
        return f"![{alt}]({pictures}/{block.name}.png)\n\n*{escaped_markdown(block.title)}*"
    return block


def joined(texts: Iterable[str]) -> str:
    """Join paragraphs of Markdown; consecutive items form one list."""
    document = ""
    after_item = False
    for text in texts:
        is_item = text.startswith("- ")
        document += ("\n" if is_item and after_item else "\n\n" if document else "") + text
        after_item = is_item
    return document
