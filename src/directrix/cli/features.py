"""``directrix features``: TREC runs as data to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directrix.cli.files import check_writable
from directrix.cli.output import progress_bar, remark
from directrix.cli.topics import TOPICS_HELP, positions_of

if TYPE_CHECKING:
    from directrix.data.trec.scores import Form, RunScores
    from directrix.data.trec.thresholds import RunThresholds


class RunForm(StrEnum):
    """What of a run is cut or written."""

    score = "score"
    percentile = "percentile"
    minmax = "minmax"


def features(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="TREC runs, plain or compressed; columns in this order.",
            show_default=False,
        ),
    ],
    qrels: Annotated[Path, typer.Option(help="TREC judgements.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="LETOR file to write; .gz .bz2 .xz compress.", show_default=False
        ),
    ],
    _word: Annotated[
        bool, typer.Option("--runs", help="May stand before the runs: --runs A.gz B.gz.", show_default=False)
    ] = False,
    bins: Annotated[
        int | None,
        typer.Option(min=0, help="Thresholds a run; 0 writes the values themselves. Default 50."),
    ] = None,
    form: Annotated[
        RunForm | None,
        typer.Option(
            help="Values of a run: its scores, or percentiles or min-max within the topic. Default score.",
            show_default=False,
        ),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents of a run and topic that count.")] = 1000,
    topics: Annotated[
        str | None, typer.Option(help=f"Topics to write: {TOPICS_HELP}. Default all.", show_default=False)
    ] = None,
    train_topics: Annotated[
        str | None,
        typer.Option(
            help="Topics that thresholds are taken from, likewise. Default all.", show_default=False
        ),
    ] = None,
    thresholds: Annotated[
        Path | None,
        typer.Option(
            help="Where to keep the thresholds. Default OUTPUT.thresholds.json.", show_default=False
        ),
    ] = None,
    thresholds_from: Annotated[
        Path | None,
        typer.Option(help="Thresholds that this command kept, for the same runs.", show_default=False),
    ] = None,
) -> None:
    """Turn TREC runs into queries whose features say which thresholds each run's score exceeds.

    The documents of a topic are the union of the runs' first ones; only judged topics count. Thresholds
    lie where relevant documents do, so take them from the training topics: --train-topics.
    """
    if thresholds_from is not None and any(
        given is not None for given in (bins, form, train_topics, thresholds)
    ):
        raise typer.BadParameter(
            "--thresholds-from brings thresholds and their form: leave out --bins, --form, --train-topics "
            "and --thresholds."
        )
    if bins == 0 and any(given is not None for given in (train_topics, thresholds)):
        raise typer.BadParameter("--bins 0 takes no thresholds: leave out --train-topics and --thresholds.")
    from directrix.data.trec.features import runs_as_features
    from directrix.data.trec.thresholds import RunThresholds, write_runs

    keep = thresholds or Path(f"{output}.thresholds.json")
    if keep.resolve() == output.resolve():
        raise typer.BadParameter(f"--thresholds {keep}: is the file of -o too; give another name.")
    check_writable(output, *runs, qrels, thresholds_from)
    check_writable(keep, *runs, qrels)
    kept = None if thresholds_from is None else RunThresholds.read(thresholds_from)
    with progress_bar("runs") as report:

        def read() -> Iterator[Path]:
            for number, path in enumerate(runs):
                report(number, len(runs), path.name)
                yield path

        scores = runs_as_features(read(), qrels, depth)
        _say_what_is_left_out(scores)
        written = (
            scores if topics is None else scores.take(positions_of(topics, scores.query_ids, "--topics"))
        )
        made = bins != 0 and kept is None
        if made:
            kept = _thresholds(scores, bins or 50, (form or RunForm.score).value, train_topics)
        report(len(runs), len(runs), output.name)
        write_runs(written, output, kept, (form or RunForm.score).value)
    if made and kept is not None:
        kept.write(keep)
        remark(f"saved: {keep} (thresholds, for --thresholds-from)")
    _say_what_is_saved(written, output, len(scores.tags) if kept is None else kept.n_features)


def _thresholds(scores: RunScores, bins: int, form: Form, train_topics: str | None) -> RunThresholds:
    from directrix.data.trec.thresholds import RunThresholds

    if train_topics is not None:
        scores = scores.take(positions_of(train_topics, scores.query_ids, "--train-topics"))
    elif form == "score":
        remark(
            f"note: thresholds are taken from all {scores.n_queries} topics with their judgements, so none "
            "of them is unseen; to test on some, give the others as --train-topics."
        )
    if form == "score" and not (scores.labels > 0.0).any():
        remark(
            "note: no relevant document was retrieved for the topics that thresholds are taken from, so they "
            "lie at quantiles of all scores there; give topics with relevant documents as --train-topics."
        )
    return RunThresholds.of(scores, bins, form)


def _say_what_is_left_out(scores: RunScores) -> None:
    for topics, why in ((scores.unjudged, "have no judgements"), (scores.unretrieved, "are in no run")):
        if topics:
            shown = ", ".join(topics[:5]) + (", ..." if len(topics) > 5 else "")
            remark(f"note: left out, for they {why}: topics {shown} ({len(topics)} in all)")


def _say_what_is_saved(written: RunScores, output: Path, n_features: int) -> None:
    found, judged = int((written.labels > 0.0).sum()), int(written.n_relevant.sum())
    remark(
        f"saved: {output} ({written.n_queries} topics, {written.n_docs} documents, {n_features} features of "
        f"{len(written.tags)} runs)"
    )
    remark(
        f"relevant: {judged} documents, {found} of them retrieved; measures on this file do not know the "
        f"other {judged - found}"
    )
