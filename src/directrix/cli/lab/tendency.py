"""``directrix lab tendency``: how alike surrogates and measures change over random models."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.advice import message_of
from directrix.cli.output import progress_bar, remark, show
from directrix.cli.reading import TrainingOptions
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries


_CHANGE = {
    "linear": "k times the change of the surrogate",
    "monotone": "the change of the best non-decreasing function of the surrogate",
}


class TendencyTransform(StrEnum):
    """Transforms of a surrogate under which its tendency is computed."""

    linear = "linear"
    monotone = "monotone"


def lab_tendency_command(
    *,
    data: options.DataArgument,
    surrogates: Annotated[
        list[str] | None,
        options.option(
            "--surrogate",
            "-s",
            metavar="SURROGATE,...",
            help='Surrogates, e.g. "ApproxAP(alpha=100),ListNet"; your own in a module, which is imported: '
            '"my_loss:MyLoss(alpha=3)"; repeatable. Default: all, with several parameters each.',
        ),
    ] = None,
    measure: Annotated[
        str | None,
        options.option("--measure", "-m", help="Measure. Default: the one each surrogate approximates."),
    ] = None,
    models: Annotated[int, Option(min=2, help="Number of random linear models.")] = 100,
    norm: Annotated[float, Option(help="Norm of the weights, which sets the unit of the scores.")] = 1.0,
    transform: Annotated[
        TendencyTransform,
        Option(help="Transform of the surrogate: a factor k, or any non-decreasing function (slower)."),
    ] = TendencyTransform.linear,
    seed: options.SeedOption = 0,
    reading: TrainingOptions,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Compute the tendency correlation of surrogates and measures over random models.

    The coefficient is the largest difference, over pairs of models and queries, between the change of the
    measure and k times that of the surrogate, for the best constant k. 0 means that they change alike.
    --transform monotone uses the best non-decreasing function instead of a constant.
    """
    from directrix.experiments.tendency_on_data import (
        EVERY_SURROGATE,
        random_models,
        surrogate_tendencies,
        with_value,
    )
    from directrix.measures.names import measure as parse_measure
    from directrix.parameters import positive
    from directrix.surrogates.names import typed_surrogate
    from directrix.tables import Table

    with options.usage():
        positive(norm, "norm")
        texts = options.comma_separated(surrogates or EVERY_SURROGATE)
        chosen = [with_value(typed_surrogate(text)) for text in texts]
        goal = None if measure is None else parse_measure(measure)
    queries = reading.read(data)
    # Of all surrogates, those that these labels do not suit are left out; a surrogate that was named is an
    # error instead.
    if not surrogates:
        chosen = _defined_for(chosen, queries)
    with progress_bar("tendency") as report:
        weights = random_models(models, queries.n_features, norm=norm, seed=seed)
        results = surrogate_tendencies(
            chosen, queries, measure=goal, models=weights, transform=transform.value, progress=report
        )
    rows = [_row(surrogate, result, goal, queries) for surrogate, result in zip(chosen, results, strict=True)]
    if form is not options.Format.json:
        remark(
            f"coefficient: largest difference between {_CHANGE[transform]} and the change of the measure, "
            f"over all pairs of {models} random models and all {queries.n_queries} queries; 0 means that "
            "they change alike"
        )
        remark("median: the same on the median query; query: where the difference is largest")
    table = Table("", tuple(rows[0]), tuple(tuple(row.values()) for row in rows), digits=4)
    arguments = {"models": models, "norm": norm, "transform": transform.value, "seed": seed}
    show(form, [table], {**arguments, "queries": queries.n_queries, "rows": rows})


def _defined_for(surrogates: list[Any], queries: Queries) -> list[Any]:
    """Return the surrogates that are defined for the labels, with a note about each of the others."""
    defined = []
    for surrogate in surrogates:
        try:
            surrogate.prepare(queries.labels, queries.qptr)
        except InputError as error:
            remark(f"note: {surrogate!r} is left out: {message_of(error)}")
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
