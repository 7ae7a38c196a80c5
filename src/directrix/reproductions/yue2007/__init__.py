"""Yue, Finley, Radlinski and Joachims (2007), sections 4 and 5: SVMmap on runs as features, TREC-7."""

from directrix.reproductions.reproduction import Reproduction
from directrix.reproductions.yue2007.claims import claims
from directrix.reproductions.yue2007.figures import figures, per_query
from directrix.reproductions.yue2007.protocol import QUICK, Settings, more, read, run, seconds
from directrix.reproductions.yue2007.tables import tables
from directrix.reproductions.yue2007.text import MISSING, PAPER, TITLE, differs, how, summary

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
    missing=lambda _: MISSING,
    per_query=per_query,
    differs=differs,
    seconds=seconds,
    more=more,
)
"""A full run takes about an hour of one core, a quick run about two minutes."""
