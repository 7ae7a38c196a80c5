"""``directrix predict``: scores of every row, or a TREC run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directrix.cli.output import remark


def predict(
    model: Annotated[Path, typer.Argument(help="Model file of `directrix train`.", show_default=False)],
    data: Annotated[Path, typer.Argument(help="Data to score, LETOR / svmlight.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default standard output.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="TAG", help="Write a TREC run with this tag instead of one score per line."),
    ] = None,
) -> None:
    """Score every row of a file: one score per line in the order of the file, or a TREC run."""
    from directrix.cli.scores import score_lines
    from directrix.data.letor import read_letor
    from directrix.data.letor_write import replacing
    from directrix.data.trec import Run, write_trec_run
    from directrix.rankers.model_file import load

    if run is not None and run.split() != [run]:
        raise typer.BadParameter(f"--run {run!r}: a tag is one word, e.g. --run directrix.")
    if run is not None and output is None:
        raise typer.BadParameter("--run writes a file; add --output, e.g. -o run.txt.")
    ranker = load(model)
    q = read_letor(data, n_features=ranker.n_features_in_)
    scores = ranker.predict_queries(q)
    if output is None:
        typer.echo(score_lines(scores), nl=False)
        return
    if run is None:
        with replacing(output) as file:
            file.write(score_lines(scores).encode())
    else:
        write_trec_run(Run.from_scores(q, scores, run), output)
    remark(f"saved: {output} ({q.n_docs} scores of {q.n_queries} queries)")
