"""The reproduction of Yue et al. (2007): SVMmap on runs as features, TREC-7."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.experiments.yue2007.collection import read_collection
from directrix.experiments.yue2007.methods import QUICK, Grid
from directrix.experiments.yue2007.protocol import Settings, run_trials
from directrix.experiments.yue2007.results import ColumnResult, results
from directrix.reports.report import Curve, Figure, Panel, PerQuery, Report
from directrix.reports.yue2007.claims import claims
from directrix.reports.yue2007.tables import tables
from directrix.reports.yue2007.text import MISSING, PAPER, TITLE, differs, how, sections, summary

if TYPE_CHECKING:
    from directrix.reproductions.request import Request

__all__ = ["report", "reproduce"]

_TRIALS, _QUICK_TRIALS = 50, 2


def reproduce(request: Request) -> Report:
    """Run what is left of the trials, and report on all of them.

    Parameters
    ----------
    request : Request
        ``data`` holds ``trec7/qrels.trec7.txt`` and ``trec7/runs``; ``trials`` are splits of the topics, 50
        if it is None, 2 if it is ``quick``.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If the data are missing, or the folder holds a run of other settings.
    """
    trials = request.trials or (_QUICK_TRIALS if request.quick else _TRIALS)
    chosen = Settings(trials=trials, seed=request.seed, grid=QUICK if request.quick else Grid())
    collection = read_collection(request.data)
    path, settings = request.open({**chosen.fixed(), "data": collection.digest}, trials=trials)
    begun = time.monotonic()
    with request.progress("trials of a data set") as progress:
        cells = run_trials(collection, chosen, path, n_jobs=request.jobs, progress=progress)
    found = results(collection, chosen, cells)
    seconds = {
        "training": round(sum(sum(column.seconds.values()) for column in found), 1),
        "this call": round(time.monotonic() - begun, 1),
    }
    return report(found, chosen, {**settings, "seconds": seconds}, request.command)


def report(found: Sequence[ColumnResult], settings: Settings, record: dict[str, Any], command: str) -> Report:
    """The report of finished trials.

    Parameters
    ----------
    found : sequence of ColumnResult
        Of `directrix.experiments.yue2007.results.results`.
    settings : Settings
        What they depend on.
    record : dict
        For ``settings.json``.
    command : str
        Writes it again.
    """
    return Report(
        name="yue2007",
        title=TITLE,
        paper=PAPER,
        summary=summary(found),
        tables=tables(found),
        figures=(_by_c(found),),
        claims=claims(found),
        missing=MISSING,
        how=how(found, settings),
        settings=record,
        command=command,
        per_query=tuple(map(_per_query, found)),
        sections=sections(found, settings),
        differs=differs(settings),
        more={"columns": [column.to_dict() for column in found]},
    )


def _per_query(column: ColumnResult) -> PerQuery:
    values = {figure.name: figure.values for figure in column.methods}
    values |= {f"{figure.name} ({figure.run})": figure.values for figure in column.base}
    return PerQuery(column.name, "AP, mean over trials", column.topics, values)


def _by_c(found: Sequence[ColumnResult]) -> Figure:
    panels = tuple(
        Panel(
            column.name,
            tuple(
                Curve(method, np.array(list(worth)), np.array(list(worth.values())))
                for method, worth in column.by_c.items()
            ),
            "C",
            "MAP of the test topics",
            x_scale="log",
        )
        for column in found
    )
    return Figure(
        "map-by-c",
        "MAP of the test topics at each C, whatever validation chose; not in the paper.",
        panels,
        "For each data set a line a method: MAP over C, low where C is too small or too large.",
    )
