"""MAP at each C, and values by topic."""

from __future__ import annotations

import numpy as np

from directrix.reports.report import Curve, Figure, Panel, PerQuery
from directrix.reproductions.paper import paper
from directrix.reproductions.yue2007.protocol import Results


def figures(results: Results) -> tuple[Figure, ...]:
    """Draw MAP of the test topics at each C."""
    panels = tuple(
        Panel(
            one.name,
            tuple(
                Curve(method, np.array(list(means)), np.array(list(means.values())))
                for method, means in one.by_c.items()
            ),
            "C",
            "MAP of the test topics",
            x_scale="log",
        )
        for one in results.data_sets
    )
    return (paper("yue2007").figure("map-by-c", panels),)


def per_query(results: Results) -> tuple[PerQuery, ...]:
    """Show AP of every method and of the best runs on every topic."""
    return tuple(
        PerQuery(
            one.name,
            "AP, mean over trials",
            one.topics,
            {f"{s.name} ({s.run})" if s.run else s.name: s.values for s in (*one.methods, *one.base)},
        )
        for one in results.data_sets
    )
