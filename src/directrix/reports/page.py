"""The page of a report: its outline, and its Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from directrix.reports.report import MARKS, Claim, Figure, Report, claims_table, tally
from directrix.tables import Table, escaped_markdown, notes_once

CLAIMS = "Claims of the paper"
ENDING = ("What was done", "What differs from the paper", "What could not be done")
"""Headings after the results."""

Block = str | Table | Figure


def page(report: Report, *, pictures: str = "figures", tables: str = "tables") -> str:
    """Return the page of a report in Markdown.

    Parameters
    ----------
    report : Report
    pictures, tables : str
        Folders of the PNG and of the CSV files, relative to the page.
    """
    links = {table.title: f"{tables}/{name}" for name, table in csv_files(report).items()}
    made = f"This page is what `{report.command}` writes; the same command resumes a run that was stopped."
    seconds = report.settings.get("seconds", {}).get("all parts")
    # A run that was resumed knows the time of all its calls.
    if seconds is not None:
        time = f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
        time = f"{seconds:.0f} seconds" if seconds < 120 else time
        made += f" Its parts, one after another, took {time} by the clock."
    texts = [f"# {escaped_markdown(report.title)}", report.paper, made]
    for title, blocks in outline(report):
        if title == CLAIMS:
            blocks = [blocks[0], f"[Our figures for each claim]({links['']}).", *_verdicts(report.claims)]
        texts += [f"## {escaped_markdown(title)}", *(_markdown(block, pictures, links) for block in blocks)]
    return "\n\n".join(filter(None, texts)) + "\n"


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


def csv_files(report: Report) -> dict[str, Table]:
    """Names of the CSV files, and the tables in them: number and beginning of the title; ``claims.csv``."""
    titles = [table.title.lower() for table in report.tables]
    slugs = [re.sub("[^a-z0-9]+", "-", title).strip("-")[:48].rstrip("-") for title in titles]
    files = {
        f"{number:02d}-{slug or 'table'}.csv": table
        for number, (slug, table) in enumerate(zip(slugs, report.tables, strict=True), 1)
    }
    return files | ({"claims.csv": claims_table(report.claims)} if report.claims else {})


def _markdown(block: Block, pictures: str, links: Mapping[str, str]) -> str:
    if isinstance(block, Table):
        if block.detail:
            notes = escaped_markdown(" ".join(block.notes))
            link = f"[{len(block.rows)} rows]({links[block.title]})"
            return f"**{escaped_markdown(block.title)}**: {link}. {notes}".rstrip()
        return _narrow(block).markdown()
    if isinstance(block, Figure):
        alt = escaped_markdown(" ".join(block.alt.split())).replace("[", "\\[").replace("]", "\\]")
        return f"![{alt}]({pictures}/{block.name}.png)\n\n*{escaped_markdown(block.title)}*"
    return block


def _verdicts(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield a list of claims for each verdict; ``DATA: CLAIM`` on several data sets is one item."""
    parts = [(" ".join(claim.text.split()).partition(": "), claim) for claim in claims]
    n_data = Counter(text for (_, _, text), _ in parts)
    for verdict, mark in MARKS.items():
        items: dict[str, tuple[list[str], list[str]]] = {}
        for (data, colon, text), claim in parts:
            if claim.verdict == verdict:
                is_shared = text and n_data[text] > 1
                places, names = items.setdefault(text if is_shared else data + colon + text, ([], []))
                places.append(claim.source)
                names += [data] * bool(is_shared)
        rows = (
            f"- {escaped_markdown(text)} ({escaped_markdown('; '.join(dict.fromkeys(places)))})"
            + (f": {escaped_markdown(', '.join(names))}" if names else "")
            for text, (places, names) in items.items()
        )
        if items:
            yield f"**{mark} {verdict}**\n\n" + "\n".join(rows)


def _narrow(table: Table) -> Table:
    """Return the table with the name of a group before its first column only, if no reader can mistake it."""
    if not table.groups or not all(name for name, _ in table.groups[1:]):
        return table
    firsts = [f"{name}: " if name and not i else "" for name, n in table.groups for i in range(n)]
    columns = map("".join, zip(firsts, table.columns, strict=True))
    return replace(table, columns=tuple(columns), groups=())


def joined(texts: Iterable[str]) -> str:
    """Join paragraphs of Markdown; consecutive items form one list."""
    document = ""
    after_item = False
    for text in texts:
        is_item = text.startswith("- ")
        document += ("\n" if is_item and after_item else "\n\n" if document else "") + text
        after_item = is_item
    return document
