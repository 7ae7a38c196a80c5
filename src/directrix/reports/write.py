"""Writing of a report in all formats, into the folder of its run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.files import replacing
from directrix.reports.figures import data_of, draw, need_plot
from directrix.reports.folder import write_settings
from directrix.reports.html import html
from directrix.reports.page import csv_files, page
from directrix.reports.report import Claim, Report, displayed, tally
from directrix.tables import Table, json_value, notes_once


def write_report(folder: Path, report: Report) -> None:
    """Write a report in all formats; every file is written atomically.

    Parameters
    ----------
    folder : Path
        Folder made by `directrix.papers.workspace.Workspace.open`. Its new files are ``tables.txt``,
        ``tables.json``, ``tables.tex``, ``tables/NN-TITLE.csv``, ``tables/claims.csv``,
        ``figures/NAME.png``, ``.svg``, ``.pdf`` and ``.csv`` (its points), ``page.md``, ``report.html`` and
        ``settings.json``.
    report : Report

    Raises
    ------
    MissingExtra
        If matplotlib is not installed; before anything is written.
    """
    need_plot()
    shown: Report = displayed(report)
    pictures = {
        f"{figure.name}.{form}": draw(figure, form)
        for figure in shown.all_figures
        for form in ("png", "svg", "pdf")
    }
    drawn = {figure.name: pictures[f"{figure.name}.svg"].decode() for figure in shown.all_figures}
    texts = {
        "tables.txt": text_of(shown) + "\n",
        "tables.json": json.dumps(document(report), indent=1, allow_nan=False) + "\n",
        "tables.tex": _latex(shown.tables),
        **{f"tables/{name}": table.csv() for name, table in csv_files(report).items()},
        **{f"figures/{figure.name}.csv": data_of(figure).csv() for figure in report.all_figures},
        "page.md": page(shown),
        "report.html": html(shown, drawn),
    }
    files = {f"figures/{name}": data for name, data in pictures.items()}
    files |= {name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}
    for name, data in files.items():
        _write(folder / name, data)
    write_settings(folder, report.settings)


def write_page(path: Path, report: Report) -> None:
    """Write only the HTML file of a report, atomically.

    Raises `MissingExtra` if it has figures and matplotlib is not installed.
    """
    shown: Report = displayed(report)
    drawn = {figure.name: draw(figure, "svg").decode() for figure in shown.all_figures}
    _write(path, html(shown, drawn).encode())


def publish(folder: Path, report: Report) -> None:
    """Write only the page, its pictures and the tables that it links to, for a site.

    Parameters
    ----------
    folder : Path
        Folder of pages, e.g. ``docs/reproductions``. The files are ``NAME.md``, ``NAME/FIGURE.png`` and
        ``NAME/TABLE.csv``, with the name of the report.
    report : Report

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    need_plot()
    shown: Report = displayed(report)
    for figure in shown.all_figures:
        _write(folder / report.name / f"{figure.name}.png", draw(figure, "png"))
    for name, table in csv_files(report).items():
        if table.detail or not table.title:
            _write(folder / report.name / name, table.csv().encode())
    _write(folder / f"{report.name}.md", page(shown, pictures=report.name, tables=report.name).encode())


def text_of(report: Report) -> str:
    """All tables as text, each note once, and the claims."""
    texts = [table.text() for table in notes_once(report.tables)]
    return "\n\n\n".join([*texts, *([_claims_text(report.claims)] if report.claims else [])])


def _claims_text(claims: Sequence[Claim]) -> str:
    """Verdict, place and claim on one line, our figures on the next."""
    lines = [f"Claims of the paper. {tally(claims)}", ""]
    for claim in claims:
        lines += [f"{claim.judged:<17}  {claim.source}: {claim.text}", f"{'':<19}{claim.evidence}"]
    return "\n".join(lines)


def document(report: Report) -> dict[str, Any]:
    """Return the report as JSON: tables, claims and values by query, without text and rankings."""
    return {
        "name": report.name,
        "settings": dict(report.settings),
        "tables": json_value([table.json() for table in report.tables]),
        "claims": [
            {
                "claim": c.text,
                "source": c.source,
                "verdict": c.verdict,
                "tested": c.tested,
                "evidence": c.evidence,
            }
            for c in report.claims
        ],
        "missing": [{"what": what, "why": why} for what, why in report.missing],
        "per_query": [
            {
                "name": part.name,
                "measure": part.measure,
                "queries": list(part.query_ids),
                "values": json_value({name: np.asarray(values) for name, values in part.values.items()}),
            }
            for part in report.per_query
        ],
    }


def _latex(tables: Sequence[Table]) -> str:
    return "\n\n".join([r"% needs \usepackage{booktabs}", *(table.latex() for table in tables)]) + "\n"


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(data)
