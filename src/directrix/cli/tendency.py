"""``directrix tendency``: how far the changes of surrogates are from those of the measure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.output import print_json, print_rows, progress_bar, remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import read_file
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries


_CHANGE = {
    "linear": "k times the change of the surrogate",
    "monotone": "the change of the best non-decreasing function of the surrogate",
}


class TendencyTransform(StrEnum):
    """What may be done to a surrogate."""

    linear = "linear"
    monotone = "monotone"


def tendency(
    data: options.DataArgument,
    surrogates: Annotated[
        list[str] | None,
        options.without_default(
            "--surrogate",
            "-s",
            help='Surrogates, e.g. "ApproxAP(alpha=100),ListNet"; repeatable. Default: all, with several '
            "parameters each.",
        ),
    ] = None,
    measure: Annotated[
        str | None,
        options.without_default(
            "--measure", "-m", help="Measure. Default: the one each surrogate approximates."
        ),
    ] = None,
    models: Annotated[int, Option(min=2, help="Number of random linear models.")] = 100,
    norm: Annotated[float, Option(help="Norm of their weights, which sets the unit of scores.")] = 1.0,
    transform: Annotated[
        TendencyTransform,
        Option(
            help="What may be done to the surrogate: a factor k, or any non-decreasing function (slower)."
        ),
    ] = TendencyTransform.linear,
    seed: options.SeedOption = 0,
    missing: options.MissingOption = options.Missing.error,
    columns: ColumnNames = RECOGNIZED,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Compute the tendency correlation of surrogates and measures over random models.

    The coefficient is the largest difference, over pairs of models and queries, between the change of the
    surrogate, multiplied by the best constant k, and the change of the measure. 0 means that they
    change alike. --transform monotone has the best non-decreasing function in place of the constant.
    """
    from directrix.experiments.tendency_on_data import (
        EVERY_SURROGATE,
        random_models,
        surrogate_tendencies,
        with_value,
    )
    from directrix.measures.names import measure as parse_measure
    from directrix.parameters import positive

    with options.usage():
        positive(norm, "norm")
        chosen = [with_value(text) for text in options.comma_separated(surrogates or EVERY_SURROGATE)]
        goal = None if measure is None else parse_measure(measure)
    queries = read_file(data, missing=missing.value, columns=columns)
    if not surrogates:
        chosen = _defined_for(chosen, queries)
    with progress_bar("tendency") as report:
        weights = random_models(models, queries.n_features, norm=norm, seed=seed)
        results = surrogate_tendencies(
            chosen, queries, measure=goal, models=weights, transform=transform.value, progress=report
        )
    rows = [_row(surrogate, result, goal, queries) for surrogate, result in zip(chosen, results, strict=True)]
    if form is options.Format.json:
        settings = {
            **{"models": models, "norm": norm, "transform": transform.value, "seed": seed},
            "queries": queries.n_queries,
        }
        print_json({**settings, "rows": rows})
        return
    remark(
        f"coefficient: largest difference between {_CHANGE[transform]} and the change of the measure, over "
        f"all pairs of {models} random models and all {queries.n_queries} queries; 0 means that they change "
        "alike"
    )
    remark("median: the same on the median query; query: where the difference is largest")
    print_rows(list(rows[0]), [list(row.values()) for row in rows], form)


def _defined_for(surrogates: list[Any], queries: Queries) -> list[Any]:
    """Return the surrogates that are defined for the labels, with a remark about each of the others."""
    defined = []
    for surrogate in surrogates:
        try:
            surrogate.prepare(queries.labels, queries.qptr)
        except InputError as error:
            remark(f"note: {surrogate!r} is left out: {error}")
        else:
            defined.append(surrogate)
    return defined


def _row(surrogate: Any, result: Any, measure: Any, queries: Queries) -> dict[str, Any]:
    import numpy as np

    return {
        "surrogate": repr(surrogate),
        "measure": (surrogate.measure if measure is None else measure).name,
        "coefficient": result.coefficient,
        "k": None if np.isnan(result.k) else result.k,
        "median": float(np.nanmedian(result.by_query)),
        "query": str(queries.query_ids[result.query]),
    }
