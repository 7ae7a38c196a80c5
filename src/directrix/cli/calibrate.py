"""``directrix calibrate``: probabilities of relevance from the scores of a model."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from directrix.cli import options
from directrix.cli.output import remark, show
from directrix.cli.reading import (
    ModelOptions,
    check_model,
    check_writable,
    query_classes,
)
from directrix.data.file import DataFile
from directrix.errors import amount

if TYPE_CHECKING:
    from directrix.data.queries import Queries


class Kind(StrEnum):
    """Kind of a calibration."""

    isotonic = "isotonic"
    platt = "platt"


def calibrate_command(
    *,
    model: options.ModelArgument,
    data: options.DataArgument,
    output: Annotated[Path, options.option("--output", "-o", help="Model file to write.")],
    kind: Annotated[
        Kind,
        Option(help="Isotonic regression, for some thousand documents, or Platt's sigmoid, for hundreds."),
    ] = Kind.isotonic,
    rel: Annotated[float, Option(min=1e-9, help="Lowest label that counts as relevant.")] = 1.0,
    by: Annotated[
        Path | None,
        options.option(help="File with a segment of each query, as for `directrix evaluate --by`."),
    ] = None,
    reading: ModelOptions,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Calibrate the scores of a model to probabilities of relevance, and write the model with them.

    DATA are labeled queries that the model was not trained on. Scores and their order do not change;
    `directrix predict --probability` writes the probabilities. The printed curve and errors are
    cross-validated on the queries of DATA.
    """
    from dataclasses import replace

    from directrix.data.tables.files import has_sampled_negatives
    from directrix.experiments.calibration import calibration_curve, cross_calibrated
    from directrix.rankers.calibration import Calibration
    from directrix.rankers.inputs import warn_if_trained_on
    from directrix.rankers.model_file import read_model, write_model

    check_writable(output, data, by)
    check_model(model, data)
    saved = read_model(model)
    q = reading.read(saved, data, model)
    warn_if_trained_on(q, saved.training, stacklevel=1)
    if has_sampled_negatives(DataFile(data)):
        remark(
            f"note: {data} has sampled negatives, so the probabilities are higher than with all items; "
            "calibrate on lists with all items, such as those of `directrix events interactions "
            "--test-output`"
        )
    scores = saved.predict_queries(q)
    calibration = Calibration.fit(scores, q.labels, kind.value, rel)
    # The saved calibration uses all queries; the printed curve is of queries that it did not see.
    probabilities = cross_calibrated(scores, q, kind.value, rel)
    curve = calibration_curve(probabilities, q, rel=rel, by=None if by is None else _by_query(by, q))
    write_model(replace(saved, calibration=calibration), output)
    show(form, curve.tables(), curve.to_dict())
    remark(f"saved: {output} ({kind.value} calibration on {amount(q.n_docs, 'documents')})")


def _by_query(path: Path, q: Queries) -> dict[Hashable, str]:
    """Return the segment of each query of the data that has one."""
    classes = query_classes(path)
    return {query: classes[str(query)] for query in q.query_ids if str(query) in classes}
