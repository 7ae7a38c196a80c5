"""The reproduction of He and Liu (2010): coefficients, trade-off, performance, and whether these agree."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from directrix.experiments.he2010.methods import ONE_START
from directrix.experiments.he2010.protocol import Settings, coefficients, digest, read_collections, train
from directrix.experiments.he2010.results import Found, agreement, found_of, trade_off
from directrix.reports.he2010.claims import claims
from directrix.reports.he2010.figures import figures
from directrix.reports.he2010.performance import PERFORMANCE
from directrix.reports.he2010.tables import sections, tables
from directrix.reports.he2010.text import PAPER, TITLE, differs, how, missing, summary
from directrix.reports.rankings import compared_by_query
from directrix.reports.report import PerQuery, Report
from directrix.reports.request import Request

__all__ = ["report", "reproduce"]


def reproduce(request: Request) -> Report:
    """Run what is left of the experiments of He & Liu (2010), Section 6, and report them.

    Parameters
    ----------
    request : Request
        ``data`` holds ``letor/OHSUMED``, and ``letor/TD2003`` and ``letor/TD2004`` if they are there.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If none of the collections is there, or the folder holds a run of other settings.

    Notes
    -----
    About 15 minutes of a core for each collection of OHSUMED's size; ``quick`` 20 seconds.
    """
    chosen = Settings.of(quick=request.quick, seed=request.seed)
    collections = read_collections(request.data, chosen.grids.folds)
    path, settings = request.open({**chosen.fixed(), "data": digest(collections)})
    begun = time.monotonic()
    with request.progress("coefficients") as progress:
        cells = coefficients(collections, chosen, path, n_jobs=request.jobs, progress=progress)
    with request.progress("trainings") as progress:
        trained = train(collections, chosen, path, n_jobs=request.jobs, progress=progress)
    found = [
        found_of(name, splits, chosen.sweep, cells, trained[name]) for name, splits in collections.items()
    ]
    seconds = {
        "training": round(sum(one.crossval.seconds(e) for one in found for e in one.crossval.entries), 1),
        "this call": round(time.monotonic() - begun, 1),
    }
    record = {**settings, "seconds": seconds}
    return report(found, cells[("tendency", "apart")], chosen, record, request.command)


def report(
    found: Sequence[Found], apart: dict[str, Any], settings: Settings, record: dict[str, Any], command: str
) -> Report:
    """The report of finished cells.

    Parameters
    ----------
    found : sequence of Found
        One a collection.
    apart : dict
        Of `directrix.experiments.he2010.coefficients.apart`.
    settings : Settings
        What they depend on.
    record : dict
        For ``settings.json``.
    command : str
        Writes it again.
    """
    trades = [trade_off(one) for one in found]
    agreements = [(one.name, agreement(one, measure)) for one in found for measure in PERFORMANCE]
    return Report(
        name="he2010",
        title=TITLE,
        paper=PAPER,
        summary=summary(found, trades, agreements),
        tables=tables(found, apart, settings.sweep, trades, agreements),
        figures=figures(found, trades, agreements),
        claims=claims(found, apart, settings.sweep, trades, agreements),
        missing=missing(found),
        how=how(found, settings),
        settings=record,
        command=command,
        per_query=tuple(part for one in found for part in _per_query(one)),
        sections=sections(len(found), len(agreements)),
        differs=differs(settings),
    )


def _per_query(one: Found) -> tuple[PerQuery, ...]:
    """Every measure of the same rankings."""
    entries = [entry for entry in one.crossval.entries if entry != ONE_START]
    return compared_by_query(
        one.name, one.crossval, one.splits, entries, {name: name for name in PERFORMANCE}
    )
