"""The reproduction of Qin, Liu and Li (2010): tables, figures and claims, beside the published ones."""

from __future__ import annotations

from dataclasses import replace

from directrix.experiments.qin2010.protocol import QUICK, Settings, read_collections, run
from directrix.reports.qin2010.claims import claims
from directrix.reports.qin2010.figures import figures, per_query
from directrix.reports.qin2010.prose import PAPER, TITLE, differs, how, missing, sections, summary
from directrix.reports.qin2010.tables import SHORT, tables
from directrix.reports.report import Report
from directrix.reports.request import Request

__all__ = ["reproduce"]


def reproduce(request: Request) -> Report:
    """Run what is left of section 6 of the paper, on the LETOR collections that are there, and report it.

    Parameters
    ----------
    request : Request
        ``data`` holds ``letor/OHSUMED``, ``letor/MQ2008``, ``letor/TD2003`` or ``letor/TD2004``, any of them.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If there is no collection, one cannot be read, or the folder holds a run of other settings or data.

    Notes
    -----
    OHSUMED and MQ2008 take three to four minutes of one core, most of it for Algorithm 1 and SoftRank;
    ``quick`` a tenth of that.
    """
    chosen = replace(QUICK if request.quick else Settings(), seed=request.seed)
    collections = read_collections(request.data, chosen)
    data = {name: each.digest for name, each in collections.items()}
    path, settings = request.open({**chosen.fixed(), "data": data})
    found = run(collections, chosen, path, n_jobs=request.jobs, progress=request.progress)
    settings["seconds"] = {name: round(each.seconds, 1) for name, each in found.items()}
    checked = claims(found, SHORT)
    return Report(
        name=request.name,
        title=TITLE,
        paper=PAPER,
        summary=summary(found, checked),
        tables=tables(found),
        figures=figures(found),
        claims=checked,
        missing=missing(found),
        how=how(found, chosen),
        settings=settings,
        command=request.command,
        per_query=per_query(found),
        sections=sections(found),
        differs=differs(found),
    )
