"""``directrix runs features``: queries whose features are the scores of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli.options import argument, option
from directrix.cli.output import progress_bar, relevant_text, remark
from directrix.cli.reading import RunOptions, check_writable
from directrix.data.file import DataFile
from directrix.data.files import open_data, readable
from directrix.errors import InputError, amount

if TYPE_CHECKING:
    from directrix.data.trec.features import Form, RunScores
    from directrix.fusion.thresholds import RunThresholds


TOPICS_HELP = (
    "numbers and ranges (351,353-360), @FILE with a list of topics, or a LETOR file with these queries"
)


class RunForm(StrEnum):
    """Values of a run that are compared with thresholds, or written."""

    score = "score"
    percentile = "percentile"
    minmax = "minmax"


def runs_features_command(
    *,
    runs: Annotated[
        list[Path],
        argument(
            metavar="RUN...",
            help="Runs: TREC text, plain or compressed, or tables; each becomes a group of features.",
        ),
    ],
    qrels: Annotated[Path, option(help="Qrels: TREC text or a table.")],
    output: Annotated[Path, option("--output", "-o", help="LETOR file to write; .gz .bz2 .xz compress it.")],
    bins: Annotated[
        int | None,
        option(min=0, help="Number of thresholds per run; 0 writes the values themselves. Default 50."),
    ] = None,
    form: Annotated[
        RunForm | None,
        option(
            help="Values of a run: scores, or percentiles or min-max values within a topic. Default score."
        ),
    ] = None,
    depth: Annotated[int, Option(min=1, help="Number of documents per run and topic to use.")] = 1000,
    topics: Annotated[str | None, option(help=f"Topics to write: {TOPICS_HELP}. Default all.")] = None,
    train_topics: Annotated[
        str | None,
        option(help="Topics from which thresholds are computed, in the same form. Default all."),
    ] = None,
    thresholds: Annotated[
        Path | None, option(help="File for the thresholds. Default OUTPUT.thresholds.json.")
    ] = None,
    thresholds_from: Annotated[
        Path | None, option(help="Thresholds written by this command for the same runs.")
    ] = None,
    columns: RunOptions,
) -> None:
    """Turn runs into queries whose features say which thresholds the score of each run exceeds.

    The documents of a topic are the union of the top documents of the runs; only judged topics are written.
    Thresholds depend on the judgments: use --train-topics to compute them from training topics only.
    """
    from directrix.fusion.thresholds import RunThresholds, write_runs

    _check_options(bins, form, train_topics, thresholds, thresholds_from)
    # Other data need the same thresholds, so they are always written, next to the features.
    target = thresholds or Path(f"{output}.thresholds.json")
    if target.resolve() == output.resolve():
        raise typer.BadParameter(f"--thresholds {target} is the file of -o too; give another name.")
    check_writable(output, *runs, qrels, thresholds_from)
    check_writable(target, *runs, qrels)
    kind: Form = (form or RunForm.score).value
    used = None if thresholds_from is None else RunThresholds.read(thresholds_from)
    with progress_bar("runs") as report:
        scores = _read(runs, qrels, depth, columns, report)
        written = _chosen(scores, topics, "--topics")
        # Thresholds of another file are used as they are; --bins 0 writes the values, which need none.
        if used is None and bins != 0:
            used = _thresholds(scores, 50 if bins is None else bins, kind, train_topics)
        report(len(runs), len(runs), output.name)
        write_runs(written, output, used, kind)
    if used is not None and thresholds_from is None:
        used.write(target)
        remark(f"saved: {target} (thresholds, for --thresholds-from)")
    _remark_on_output(written, output, len(scores.tags) if used is None else used.n_features)


def _check_options(bins: int | None, form: Any, topics: Any, thresholds: Any, thresholds_from: Any) -> None:
    if thresholds_from is not None and any(value is not None for value in (bins, form, topics, thresholds)):
        raise typer.BadParameter(
            "--thresholds-from sets the thresholds and their form: leave out --bins, --form, --train-topics "
            "and --thresholds."
        )
    if bins == 0 and any(value is not None for value in (topics, thresholds)):
        raise typer.BadParameter("--bins 0 uses no thresholds: leave out --train-topics and --thresholds.")


def _read(
    runs: list[Path], qrels: Path, depth: int, columns: RunOptions, report: Callable[[int, int, str], None]
) -> RunScores:
    """Read runs and qrels, with a note about the topics that only one of them has."""
    from directrix.cli.rankings import check_no_features, read_qrels, with_own_columns
    from directrix.data.trec.features import runs_as_features

    judgments, *rankings = with_own_columns([columns.file(path) for path in (qrels, *runs)])
    check_no_features([judgments, *rankings], columns.names())

    def reported() -> Iterator[Any]:
        for number, ranking in enumerate(rankings):
            report(number, len(runs), ranking.path.name)
            yield ranking.run() if ranking.is_table else ranking.path

    scores = runs_as_features(reported(), read_qrels(judgments), depth)
    for topics, which in ((scores.unjudged, "without judgments"), (scores.unretrieved, "in no run")):
        if topics:
            shown = ", ".join(topics[:5]) + (", ..." if len(topics) > 5 else "")
            remark(f"note: topics {which} are left out ({len(topics)}): {shown}")
    return scores


def _chosen(scores: RunScores, text: str | None, option: str) -> RunScores:
    """Return the topics that a text names, in ascending order; all without a text.

    A range may contain topics that do not exist. Raises `InputError` if any other topic does not exist, no
    topic is named, or a file cannot be read.
    """
    if text is None:
        return scores
    topics = scores.query_ids
    position = {topic: i for i, topic in enumerate(topics)}
    chosen, missing = set(), []
    for word in _words(text):
        if word in position:
            chosen.add(position[word])
            continue
        low, dash, high = word.partition("-")
        if dash and low.isdecimal() and high.isdecimal():
            chosen |= {
                i
                for topic, i in position.items()
                if topic.isdecimal() and int(low) <= int(topic) <= int(high)
            }
        else:
            missing.append(word)
    if missing or not chosen:
        problem = f"there is no topic {', '.join(missing[:5])}" if missing else "no topic is named"
        raise InputError(
            f"{option} {text}: {problem}; runs and qrels share {len(topics)} topics, {topics[0]} to "
            f"{topics[-1]}. Give {TOPICS_HELP}."
        )
    return scores.take(sorted(chosen))


def _thresholds(scores: RunScores, bins: int, kind: Form, train_topics: str | None) -> RunThresholds:
    """Compute the thresholds from the training topics."""
    from directrix.fusion.thresholds import RunThresholds

    scores = _chosen(scores, train_topics, "--train-topics")
    if train_topics is None and kind == "score":
        remark(
            f"note: thresholds are computed from all {scores.n_queries} topics and their judgments, so none "
            "of these topics can serve as a test topic; to test on some, give the others as --train-topics."
        )
    if kind == "score" and not (scores.labels > 0.0).any():
        remark(
            "note: no relevant document was retrieved for the topics from which thresholds are computed, so "
            "these are quantiles of all scores; give topics with relevant documents as --train-topics."
        )
    return RunThresholds.of(scores, bins, kind)


def _remark_on_output(written: RunScores, output: Path, n_features: int) -> None:
    retrieved, relevant = int((written.labels > 0.0).sum()), int(written.n_relevant.sum())
    remark(
        f"saved: {output} ({amount(written.n_queries, 'topics')}, {amount(written.n_docs, 'documents')}, "
        f"{amount(n_features, 'features')} of {amount(len(written.tags), 'runs')})"
    )
    remark(relevant_text(relevant, retrieved))


def _words(text: str) -> list[str]:
    # A list of topics is a file with "@" before its name; a LETOR file has the topics of its queries.
    if text.startswith("@"):
        path = Path(text[1:])
        with readable(path), open_data(path) as file:
            return [word for line in file for word in line.decode("utf-8", "backslashreplace").split()]
    if Path(text).is_file():
        return [str(query) for query in DataFile(text).queries("nan").query_ids]
    return text.replace(",", " ").split()
