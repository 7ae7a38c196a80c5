"""The best point of whole lines through linear weights, by exact line searches."""

from __future__ import annotations

import numpy as np

from directrix.errors import InputError
from directrix.experiments.cells import Progress
from directrix.experiments.optimality.certificate import LEVEL, ExactRise
from directrix.experiments.optimality.directions import OneWeight, RandomDirections
from directrix.experiments.optimality.point import Judge, Point
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch


def line_search_of(point: Point, measure: RankingMeasure) -> LineSearch:
    """Return the line search on a point's data.

    Raises `InputError` if the model is not linear, or the measure is not a sum over documents.
    """
    if not point.is_linear:
        raise InputError(
            f"exact=True: the scores of {point.model!r} do not move along straight lines; leave exact out, "
            "or test a linear model."
        )
    q = point.queries
    return LineSearch(measure, q.labels, q.qptr, query_weight=point.query_weight, doc_ids=q.doc_ids)


def exact_rises(
    point: Point,
    judge: Judge,
    search: LineSearch,
    directions: RandomDirections | OneWeight,
    reach: float,
    progress: Progress | None,
) -> tuple[ExactRise, ...]:
    """Search every line through the weights in both directions: within ``reach``, and anywhere.

    With one weight at a time every second direction is skipped: it lies on the line of the one before.
    """
    scores = judge.scores(point.params[None])[0]
    base = search.value(scores)
    reaches = (reach, np.inf)
    lines = range(0, directions.count, 2 if isinstance(directions, OneWeight) else 1)
    rises, places = np.zeros((2, len(lines))), np.zeros((2, len(lines)))
    for row, i in enumerate(lines):
        along = judge.scores(directions.block(i, i + 1))[0]
        for k, best in enumerate(search.best_within(scores, along, reaches)):
            rises[k, row], places[k, row] = best.value - base, best.t
        if progress is not None:
            progress(row + 1, len(lines), "lines")
    level = LEVEL * abs(base)
    summaries = []
    for k, distance in enumerate(reaches):
        row, n_rising = int(rises[k].argmax()), int((rises[k] > level).sum())
        best_point = (
            (float(rises[k, row]), lines[row], float(places[k, row])) if n_rising else (0.0, None, 0.0)
        )
        summaries.append(ExactRise(distance, n_rising, *best_point))
    return tuple(summaries)
