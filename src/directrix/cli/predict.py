"""``directrix predict``: scores of every row, or a TREC run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from directrix.cli import options
from directrix.cli.files import check_writable, features_for, read_for
from directrix.cli.output import echo, remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import inputs


def predict(
    model: options.ModelArgument,
    data: Annotated[Path, options.argument(metavar="DATA", help=f"Data to score: {inputs()}.")],
    output: Annotated[
        Path | None,
        options.without_default("--output", "-o", help="File to write. Default: standard output."),
    ] = None,
    run: Annotated[
        str | None,
        options.without_default(
            metavar="TAG", help="Write a TREC run with this tag instead of one score per line."
        ),
    ] = None,
    missing: options.ModelMissingOption = None,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
) -> None:
    """Score every row of a file: one score per line in the order of the file, or a TREC run."""
    from directrix.cli.scores import run_lines, score_lines
    from directrix.data.files import replacing
    from directrix.rankers.loading import load

    if run is not None and run.split() != [run]:
        raise typer.BadParameter(f"--run {run!r}: a tag is one word, e.g. --run directrix.")
    check_writable(output, model, data)
    ranker = load(model)
    q = read_for([ranker], data, missing, replace(columns, has_labels=False))
    q = features_for(q, ranker, data, model, by_position=by_position)
    scores = ranker.predict_queries(q)
    text = score_lines(q.restore(scores)) if run is None else run_lines(q, scores, run)
    if output is None:
        echo(text, nl=False, exact=True)
        return
    with replacing(output) as file:
        file.write(text.encode())
    remark(f"saved: {output} ({q.n_docs} scores of {q.n_queries} queries)")
