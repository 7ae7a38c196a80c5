"""``directrix tendency``: how far the changes of surrogates are from those of the measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import Missing, MissingOption, read_data
from directrix.cli.output import Format, FormatOption, print_json, print_rows, progress_bar, remark

if TYPE_CHECKING:
    from directrix.data.queries import Queries


def tendency(
    data: Annotated[Path, typer.Argument(help="Labelled data, LETOR / svmlight.", show_default=False)],
    surrogates: Annotated[
        list[str] | None,
        typer.Option(
            "--surrogate",
            "-s",
            help='E.g. "ApproxAP(alpha=100)"; repeat for several. Default: all, over their parameters.',
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", "-m", help="Default: the one that each surrogate stands for.", show_default=False
        ),
    ] = None,
    models: Annotated[int, typer.Option(min=2, help="Random linear models.")] = 100,
    norm: Annotated[float, typer.Option(help="Length of their weights: the unit of scores.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the models.")] = 0,
    missing: MissingOption = Missing.error,
    form: FormatOption = Format.table,
) -> None:
    """Tendency correlation of surrogates and measures: how far their changes are apart, over random models.

    The largest difference of a change of the surrogate, times one best factor, and that of the measure,
    between two models on any query. 0 = they move together.

    JSON: {"models": .., "norm": .., "seed": .., "queries": .., "rows": [{"surrogate": .., "measure": ..,
    "coefficient": .., "k": .., "median": .., "query": ..}]}.
    """
    from directrix.cli.settings import usage
    from directrix.experiments.tendency_on_data import (
        EVERY_SURROGATE,
        check_models,
        random_models,
        surrogate_tendencies,
        with_value,
    )
    from directrix.measures.names import measure as parse_measure

    with usage():
        check_models(models, norm)
        chosen = [with_value(text) for text in dict.fromkeys(surrogates or EVERY_SURROGATE)]
        standard = None if measure is None else parse_measure(measure)
    q = read_data(data, missing)
    if not surrogates:
        chosen = _that_take(chosen, q)
    with progress_bar("tendency") as report:
        drawn = random_models(models, q.n_features, norm=norm, seed=seed)
        found = surrogate_tendencies(chosen, q, measure=standard, models=drawn, progress=report)
    rows = [_row(s, t, standard, q) for s, t in zip(chosen, found, strict=True)]
    if form is Format.json:
        about = {"models": models, "norm": norm, "seed": seed, "queries": q.n_queries}
        print_json({**about, "rows": rows})
        return
    remark(
        f"coefficient: at most so far is a change of k times the surrogate from that of its measure, between "
        f"two of {models} random models on any of {q.n_queries} queries; 0 = they move together"
    )
    remark("median: the same on the median query; query: where they differ most")
    print_rows(list(rows[0]), [list(row.values()) for row in rows], form)


def _that_take(surrogates: list[Any], q: Queries) -> list[Any]:
    """Those that are defined for the labels."""
    from directrix.errors import InputError

    taken = []
    for surrogate in surrogates:
        try:
            surrogate.prepare(q.labels, q.qptr)
        except InputError as error:
            remark(f"note: without {surrogate!r}: {error}")
        else:
            taken.append(surrogate)
    return taken


def _row(surrogate: Any, found: Any, standard: Any, q: Queries) -> dict[str, Any]:
    import numpy as np

    return {
        "surrogate": repr(surrogate),
        "measure": (surrogate.measure if standard is None else standard).name,
        "coefficient": found.coefficient,
        "k": found.k,
        "median": float(np.nanmedian(found.by_query)),
        "query": str(q.query_ids[found.query]),
    }
