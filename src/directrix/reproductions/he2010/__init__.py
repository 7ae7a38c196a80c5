"""He and Liu (2010), Section 6: tendency correlation, restarts, and ranking performance."""

from directrix.reproductions.base import Reproduction
from directrix.reproductions.he2010.claims import claims
from directrix.reproductions.he2010.figures import figures, per_query
from directrix.reproductions.he2010.protocol import QUICK, Settings, read, run, seconds
from directrix.reproductions.he2010.tables import tables
from directrix.reproductions.he2010.text import details, summary
from directrix.reproductions.paper import paper

REPRODUCTION = Reproduction(
    paper=paper("he2010"),
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
"""About 15 minutes of a core for each collection of OHSUMED's size; a quick run takes 20 seconds."""
