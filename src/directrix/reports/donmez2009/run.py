"""Runs what is left, and makes the report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from directrix.experiments.donmez2009.certificates import run_certificates
from directrix.experiments.donmez2009.collection import read_collections
from directrix.experiments.donmez2009.comparison import Comparison, compare_collection
from directrix.experiments.donmez2009.protocol import run_sizes, run_trainings
from directrix.experiments.donmez2009.results import Found, pair_counts, sized
from directrix.experiments.donmez2009.settings import QUICK, Settings
from directrix.reports.donmez2009.claims import claims
from directrix.reports.donmez2009.figures import figures
from directrix.reports.donmez2009.tables import short, tables
from directrix.reports.donmez2009.text import PAPER, TITLE, how, missing, summary
from directrix.reports.report import PerQuery, Report

if TYPE_CHECKING:
    from directrix.reproductions.request import Request

__all__ = ["reproduce"]


def reproduce(request: Request, settings: Settings | None = None) -> Report:
    """Repeat the experiments of Donmez, Svore & Burges (2009) on LETOR and artificial data.

    Parameters
    ----------
    request : Request
        Its data may hold ``letor/OHSUMED`` and ``letor/MQ2008``; what is not there is left out, and said.
    settings : Settings, optional
        Default: `QUICK` if ``request.quick``, else ``Settings()``; their seed is that of the request.
        ``replace(Settings(), artificial=PAPER)`` has the paper's size of the artificial data.

    Returns
    -------
    Report
    """
    from dataclasses import replace

    chosen = replace(settings or (QUICK if request.quick else Settings()), seed=request.seed)
    collections, absent = read_collections(request.data, chosen)
    fixed = {
        **chosen.fixed(),
        "data": {each.name: [split.digest for split in each.splits] for each in collections},
    }
    path, shown = request.open(fixed)
    begun = time.monotonic()
    more = {"n_jobs": request.jobs}
    with request.progress("trainings that are watched") as progress:
        trainings = run_trainings(collections, chosen, path, progress=progress, **more)
    with request.progress("tests of local optimality") as progress:
        certificates = run_certificates(collections, trainings, chosen, path, progress=progress, **more)
    with request.progress("trainings on growing numbers of queries") as progress:
        sizes = run_sizes(collections, chosen, path, progress=progress, **more)
    comparisons = []
    for each in collections:
        with request.progress(f"trainings on {each.name}") as progress:
            comparisons.append(compare_collection(each, chosen, path, progress=progress, **more))
    found = Found(
        chosen,
        tuple(comparisons),
        trainings,
        certificates,
        pair_counts(collections, trainings),
        sized(sizes),
        tuple(absent),
    )
    shown["seconds"] = {"this call": round(time.monotonic() - begun, 1)}
    return Report(
        name=request.name,
        title=TITLE,
        paper=PAPER,
        summary=summary(found),
        tables=tables(found),
        figures=figures(found),
        claims=claims(found),
        missing=missing(found),
        how=how(found),
        settings=shown,
        command=request.command,
        per_query=tuple(_per_query(one, measure) for one in comparisons for measure in one.measures),
    )


def _per_query(one: Comparison, measure: str) -> PerQuery:
    """Values of the two-layer nets on every test query, one for each measure trained for."""
    values = {
        f"trained for {short(trained)}": np.asarray(row[measure])
        for trained, row in one.matchings["mlp"].values.items()
    }
    return PerQuery(one.name, short(measure), one.query_ids, values)
