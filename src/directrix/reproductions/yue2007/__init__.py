"""Yue, Finley, Radlinski and Joachims (2007), sections 4 and 5: SVMmap on retrieval functions as features."""

from directrix.reproductions.base import Reproduction
from directrix.reproductions.paper import paper
from directrix.reproductions.yue2007.claims import claims
from directrix.reproductions.yue2007.figures import figures, per_query
from directrix.reproductions.yue2007.protocol import QUICK, Settings, more, read, run, seconds
from directrix.reproductions.yue2007.tables import tables
from directrix.reproductions.yue2007.text import details, summary

REPRODUCTION = Reproduction(
    paper=paper("yue2007"),
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
    more=more,
)
"""A full run takes about two hours of one core, a quick run about two minutes."""
