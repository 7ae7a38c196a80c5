"""Chapelle and Wu (2010): SmoothRank against baselines, its smoothing, cut-off and theory, on LETOR."""

from directrix.reproductions.base import Reproduction
from directrix.reproductions.chapelle2010.claims import claims
from directrix.reproductions.chapelle2010.figures import figures, per_query
from directrix.reproductions.chapelle2010.protocol import read, run, seconds
from directrix.reproductions.chapelle2010.settings import QUICK, Settings
from directrix.reproductions.chapelle2010.tables import tables
from directrix.reproductions.chapelle2010.text import details, summary
from directrix.reproductions.paper import paper

REPRODUCTION = Reproduction(
    paper=paper("chapelle2010"),
    full=Settings(),
    quick=QUICK,
    read=read,
    run=run,
    claims=claims,
    tables=tables,
    figures=figures,
    summary=summary,
    per_query=per_query,
    details=details,
    seconds=seconds,
)
"""OHSUMED and MQ2008 take about 15 minutes of one core, a quick run less than one."""
