"""Chapelle and Wu (2010): SmoothRank against baselines, its smoothing, cut-off and theory, on LETOR."""

from directrix.reproductions.chapelle2010.claims import claims
from directrix.reproductions.chapelle2010.figures import figures, per_query
from directrix.reproductions.chapelle2010.protocol import read, run, seconds
from directrix.reproductions.chapelle2010.settings import QUICK, Settings
from directrix.reproductions.chapelle2010.tables import tables
from directrix.reproductions.chapelle2010.text import PAPER, TITLE, how, missing, summary
from directrix.reproductions.reproduction import Reproduction

__all__ = ["REPRODUCTION"]

REPRODUCTION = Reproduction(
    title=TITLE,
    paper=PAPER,
    full=Settings(),
    quick=QUICK,
    read=read,
    run=run,
    claims=claims,
    tables=tables,
    figures=figures,
    summary=summary,
    how=how,
    missing=missing,
    per_query=per_query,
    seconds=seconds,
)
"""OHSUMED and MQ2008 take about 15 minutes of one core, a quick run less than one."""
