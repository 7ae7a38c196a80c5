"""Qin, Liu and Li (2010), section 6: surrogates by approximated positions, ApproxAP and ApproxNDCG."""

from directrix.reproductions.base import Reproduction
from directrix.reproductions.paper import paper
from directrix.reproductions.qin2010.claims import claims
from directrix.reproductions.qin2010.figures import figures, per_query
from directrix.reproductions.qin2010.protocol import QUICK, Settings, read, run, seconds
from directrix.reproductions.qin2010.tables import tables
from directrix.reproductions.qin2010.text import details, summary

REPRODUCTION = Reproduction(
    paper=paper("qin2010"),
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
"""OHSUMED and MQ2008 take three to four minutes of one core, most of it for Algorithm 1 and SoftRank."""
