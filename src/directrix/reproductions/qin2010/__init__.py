"""Qin, Liu and Li (2010), section 6: surrogates by approximated positions, ApproxAP and ApproxNDCG."""

from directrix.reproductions.qin2010.claims import claims
from directrix.reproductions.qin2010.figures import figures, per_query
from directrix.reproductions.qin2010.protocol import QUICK, Settings, read, run, seconds
from directrix.reproductions.qin2010.tables import tables
from directrix.reproductions.qin2010.text import PAPER, TITLE, differs, how, missing, summary
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
    differs=differs,
    seconds=seconds,
)
"""OHSUMED and MQ2008 take three to four minutes of one core, most of it for Algorithm 1 and SoftRank."""
