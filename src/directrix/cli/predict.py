"""``directrix predict``: the scores of a model, one per row of a file, or as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from directrix.cli import options
from directrix.cli.output import write_text
from directrix.cli.reading import (
    ModelOptions,
    check_model,
    check_writable,
)
from directrix.data.columns import column_list
from directrix.data.file import DataFile
from directrix.data.formats import inputs
from directrix.errors import InputError, amount

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.types import Float64Array


def predict_command(
    *,
    model: options.ModelArgument,
    data: Annotated[Path, options.argument(metavar="DATA", help=f"Data to score: {inputs()}.")],
    output: Annotated[
        Path | None,
        options.option("--output", "-o", help="File to write. Default: standard output."),
    ] = None,
    run: Annotated[
        str | None,
        options.option(metavar="TAG", help="Write a TREC run with this tag instead of one score per line."),
    ] = None,
    probability: Annotated[
        bool,
        Option("--probability", help="Write the probabilities of a calibrated model instead of its scores."),
    ] = False,
    diversify_column: Annotated[
        str | None,
        options.option(
            metavar="NAME",
            help="Separate documents with the same value of this column, by maximal marginal relevance: "
            "write minus the ranks.",
        ),
    ] = None,
    trade_off: Annotated[
        float,
        Option(
            min=0.0, max=1.0, help="For --diversify-column: 1 uses the probability alone, 0 the column alone."
        ),
    ] = 0.7,
    reading: ModelOptions,
) -> None:
    """Score every row of a file: one score per line in the order of the file, or a TREC run."""
    from dataclasses import replace

    import numpy as np

    from directrix.data.trec.runs import Run, document_names, run_text

    # A model file is read without a ranker, since `load` imports scikit-learn, which takes a second.
    from directrix.rankers.model_file import read_model

    options.check_tag("--run", run)
    check_writable(output, model, data)
    check_model(model, data)
    saved = read_model(model)
    q = reading.read(saved, data, model, has_labels=False)
    scores = saved.predict_queries(q)
    if probability or diversify_column is not None:
        scores = saved.probabilities(scores)
    if diversify_column is not None:
        scores = _diversified(scores, q, data, diversify_column, trade_off)
    if run is None:
        # The shortest text of a number that reads back as the same bits is its `repr`.
        text = "".join(f"{score!r}\n" for score in q.restore(scores).tolist())
    else:
        names = np.array(document_names(q), dtype=object)
        text = run_text(replace(Run.from_scores(q, scores, run), doc_ids=names))
    write_text(text, output, f"{amount(q.n_docs, 'scores')} of {amount(q.n_queries, 'queries')}")


def _diversified(
    probabilities: Float64Array, q: Queries, path: Path, column: str, trade_off: float
) -> Float64Array:
    from directrix.diversity.rerank import mmr

    names = q.feature_names or ()
    if column in names:
        values = q.features[:, names.index(column)]
        return mmr(probabilities, values, trade_off=trade_off, qptr=q.qptr)
    file = DataFile(path)
    if column not in file.names:
        raise InputError(
            f"{path}: there is no column {column}; its columns are "
            f"{column_list(file.names) or 'without names'}. Type --diversify-column NAME with one of a CSV, "
            "TSV, JSON lines, Parquet or Arrow file."
        )
    values = file.column(column).to_pylist()
    return mmr(probabilities, [values[row] for row in q.rows], trade_off=trade_off, qptr=q.qptr)
