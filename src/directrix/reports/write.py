"""Writing of a report in all formats, into the folder of its run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.files import replacing
from directrix.reports.figures import data_of, draw, need_plot
from directrix.reports.folder import write_settings
from directrix.reports.html import html
from directrix.reports.page import csv_files, page
from directrix.reports.report import Report, displayed, tally
from directrix.tables import json_value, notes_once

# The tables in LaTeX need this package.
_PACKAGES = r"% needs \usepackage{booktabs}"


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
        "tables.tex": "\n\n".join([_PACKAGES, *(table.latex() for table in shown.tables)]) + "\n",
        **{f"tables/{name}": table.csv() for name, table in csv_files(report).items()},
        **{f"figures/{figure.name}.csv": data_of(figure).csv() for figure in report.all_figures},
        "page.md": page(shown),
        "report.html": html(shown, drawn),
    }
    files = {f"figures/{name}": data for name, data in pictures.items()}
    # Names of files may contain bytes that are no text. They are written as escapes.
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
    if report.claims:
        lines = [f"Claims of the paper. {tally(report.claims)}", ""]
        # Verdict, place and claim are on one line, our figures on the next.
        for claim in report.claims:
            lines += [f"{claim.judged:<17}  {claim.source}: {claim.text}", f"{'':<19}{claim.evidence}"]
        texts.append("\n".join(lines))
    return "\n\n\n".join(texts)


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
                "name": entry.name,
                "measure": entry.measure,
                "queries": list(entry.query_ids),
                "values": json_value({name: np.asarray(values) for name, values in entry.values.items()}),
            }
            for entry in report.per_query
        ],
    }


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(data)
