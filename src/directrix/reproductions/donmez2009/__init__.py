"""Donmez, Svore and Burges (2009): local optimality of LambdaRank, and which measure to train for."""

from directrix.reproductions.base import Reproduction
from directrix.reproductions.donmez2009.claims import claims
from directrix.reproductions.donmez2009.collection import read
from directrix.reproductions.donmez2009.figures import figures, per_query
from directrix.reproductions.donmez2009.protocol import run
from directrix.reproductions.donmez2009.settings import QUICK, Settings
from directrix.reproductions.donmez2009.tables import tables
from directrix.reproductions.donmez2009.text import details, summary
from directrix.reproductions.paper import paper

REPRODUCTION = Reproduction(
    paper=paper("donmez2009"),
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
)
"""OHSUMED, MQ2008 and artificial data; the folder of the data may lack the first two."""
