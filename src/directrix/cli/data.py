"""``directrix convert``, ``interactions``, ``shard`` and ``features``: make data files from other files."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from directrix.cli.options import Missing, SeedOption, argument, option
from directrix.cli.reading import EventColumns, RunColumns, TrainingData, check_writable
from directrix.cli.show import progress_bar, remark
from directrix.data.files import open_data, readable, to_number
from directrix.data.formats import ARROW, LETOR, QRELS, Counts, inputs, named, outputs, read_file
from directrix.errors import InputError, amount

if TYPE_CHECKING:
    from directrix.data.interactions.build import Interactions
    from directrix.data.trec.features import Form, RunScores
    from directrix.fusion.thresholds import RunThresholds

TOPICS_HELP = (
    "numbers and ranges (351,353-360), @FILE with a list of topics, or a LETOR file with these queries"
)


def convert_command(
    *,
    source: Annotated[Path, argument(metavar="IN", help=f"{inputs()}; text plain or compressed.")],
    target: Annotated[Path, argument(metavar="OUT", help=f"{outputs()}.")],
    qrels: Annotated[
        Path | None,
        option(help="Judgments, which become the labels. Queries without any are left out."),
    ] = None,
    reading: TrainingData,
) -> None:
    """Convert a data file to another format, or its labels to TREC qrels.

    With --qrels, features that a search engine logged become training data. Values are preserved exactly;
    comments other than the document id are dropped. Conversion from and to Parquet and Arrow needs little
    memory, however large the file.
    """
    from directrix.data.formats import convert_file

    if named(target) is None:
        raise typer.BadParameter(
            f"{target}: convert does not write a format with this ending; it writes {outputs()}. Choose one."
        )
    check_writable(target, source, qrels)
    if qrels is None:
        n = convert_file(source, target, reading.missing.value, reading.names())
    else:
        n = _convert_labeled(source, target, qrels, reading)
    features = None if named(target) is QRELS else n.features
    remark(f"saved: {target} ({sizes_text(n.rows, n.queries, features)})")


def sizes_text(rows: int, queries: int, features: int | None) -> str:
    """Return the size of a written file in words; judgments have no features."""
    text = f"{amount(rows, 'rows')}, {amount(queries, 'queries')}"
    return text if features is None else f"{text}, {amount(features, 'features')}"


def _convert_labeled(source: Path, target: Path, qrels: Path, reading: TrainingData) -> Counts:
    """Convert features, with the labels of judgments."""
    from directrix.cli.rankings import named_columns, read_qrels, tables_of
    from directrix.data.grouping import identifier_text
    from directrix.data.trec.join import labeled

    given = replace(reading.names(), has_labels=False)
    tables = tables_of([source, qrels], given)
    names = named_columns(qrels, tables, replace(given, features=None))
    judged = read_qrels(qrels, **names(qrels, "label"))
    of_source = given.within(tables.get(source, ()))
    q = labeled(read_file(source, missing=reading.missing.value, columns=of_source), judged)
    with (named(target) or LETOR).writing(target) as add:
        add(q)
    kept = set(map(identifier_text, q.query_ids))
    of_kept = (judged.of_query(place) for place, name in enumerate(judged.query_ids) if name in kept)
    relevant = sum(label > 0.0 for labels in of_kept for label in labels.values())
    remark(relevant_text(relevant, int((q.labels > 0.0).sum())))
    return Counts(q.n_docs, q.n_queries, q.n_features)


def interactions_command(
    *,
    events: Annotated[Path, argument(metavar="EVENTS", help="Events: CSV, TSV, JSON lines, Parquet, Arrow.")],
    output: Annotated[Path, option("--output", "-o", help="Parquet or Arrow file to write.")],
    by: Annotated[
        Literal["day", "session", "user"],
        Option(help="A query is a user and a day from midnight UTC, a session, or a user."),
    ] = "day",
    grade: Annotated[
        list[str] | None,
        option(
            metavar="KIND=LABEL",
            help="Label of a kind of event; repeatable. Default: view=0, click=1, cart=2, purchase=3.",
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        option(help="Table of items by query, or of all items. Default: items with earlier events."),
    ] = None,
    decision: Annotated[
        str | None,
        option(metavar="TIME", help="Time of all queries, for --by user. Default: by the events."),
    ] = None,
    negatives: Annotated[
        int | None, option(min=1, help="Number of items without an event to sample per query. Default: all.")
    ] = None,
    sampling: Annotated[
        Literal["uniform", "popularity"],
        Option(help="Sample items uniformly, or by earlier events."),
    ] = "uniform",
    user_features: Annotated[Path | None, option(help="Table of features of users.")] = None,
    item_features: Annotated[Path | None, option(help="Table of features of items.")] = None,
    pair_features: Annotated[Path | None, option(help="Table of features of users and items.")] = None,
    split: Annotated[
        str | None,
        option(
            metavar="TIME",
            help="Write later queries, with all candidates, to --test-output; omit queries that span it.",
        ),
    ] = None,
    test_output: Annotated[Path | None, option(help="Parquet or Arrow file for the later queries.")] = None,
    missing: Annotated[Missing, Option(help="Features without a row; see train.")] = Missing.error,
    seed: SeedOption = 0,
    columns: EventColumns,
) -> None:
    """Make labeled queries from events such as views and purchases, without features from the future.

    Each query has a decision time. Labels come from later events, candidates and features from earlier ones.
    """
    from directrix.data.interactions.build import from_interactions
    from directrix.data.interactions.tables import moment

    if (split is None) != (test_output is None):
        raise typer.BadParameter("--split TIME and --test-output FILE belong together; give both, or none.")
    if test_output is not None and test_output.resolve() == output.resolve():
        raise typer.BadParameter(f"--test-output {test_output} is the file of -o too; give another name.")
    tables: dict[str, Any]
    tables = {"user_features": user_features, "item_features": item_features, "pair_features": pair_features}
    targets = [target for target in (output, test_output) if target is not None]
    for target in targets:
        if named(target) is not ARROW:
            raise typer.BadParameter(f"{target}: queries are written as *.parquet or *.arrow; choose one.")
        check_writable(target, events, candidates, *tables.values())
    at = None if split is None else moment(_time(split), "--split")
    make = partial(
        from_interactions,
        events,
        by=by,
        grades=_grades(grade),
        decision=_time(decision),
        candidates=candidates,
        missing=missing.value,
        seed=seed,
        **columns.names(),
        **tables,
    )
    for target, part in zip(targets, _parts(make, negatives, sampling, at, output), strict=True):
        with ARROW.writing(target) as add:
            add(part)
        remark(f"saved: {target} ({sizes_text(part.n_docs, part.n_queries, part.n_features)})")


def _parts(
    make: Callable[..., Interactions], negatives: int | None, sampling: str, split: float | None, output: Path
) -> Sequence[Interactions]:
    """Return all queries, or those before and after the split, these with all their candidates."""
    q = make(negatives=negatives, sampling=sampling)
    if is_drawn := bool((q.sampling < 1.0).any()):
        remark(
            f"note: {output} has sampled negatives; measures and calibrated probabilities are higher than "
            "with all items"
        )
    if split is None:
        return (q,)
    parts = q.split(split)
    if is_drawn:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were shown above
            return parts[0], make().split(split)[1]
    return parts


def _grades(texts: list[str] | None) -> dict[str, float] | None:
    grades = {}
    for text in texts or ():
        kind, _, label = text.rpartition("=")
        if not kind or math.isnan(to_number(label)):
            raise InputError(f"--grade {text}: KIND=LABEL is needed; type e.g. --grade order=3.")
        grades[kind] = to_number(label)
    return grades or None


def _time(text: str | None) -> str | float | None:
    """Return seconds as a number, and other times as the text of a date."""
    return text if text is None or math.isnan(to_number(text)) else to_number(text)


def shard_command(
    *,
    source: Annotated[
        Path, argument(metavar="IN", help=f"{inputs()}; a folder of Parquet files is one data set.")
    ],
    target: Annotated[Path, argument(metavar="OUT", help="Folder to write; it must be empty or not exist.")],
    shards: Annotated[
        int, Option("--shards", min=1, max=512, help="Number of shards, several for each worker.")
    ] = 64,
    reading: TrainingData,
) -> None:
    """Write a data file as shards: Arrow files of whole queries with about equally many documents.

    Then `directrix train OUT --valid V --cluster local:4` (or dask://HOST:PORT) trains on the shards. Memory
    use stays small, however large the file.
    """
    from directrix.data.shards.manifest import read_manifest
    from directrix.data.shards.write import write_shards_of

    if target.resolve() == source.resolve():
        raise typer.BadParameter(f"{target} is the input; name another folder for the shards.")
    write_shards_of(source, target, shards, reading.names(), reading.missing.value)
    manifest = read_manifest(target)
    sizes = [one.documents for one in manifest.shards]
    remark(
        f"saved: {target} ({len(sizes)} shards of {min(sizes):,} to {max(sizes):,} documents; "
        f"{amount(manifest.n_docs, 'documents')}, {amount(manifest.n_queries, 'queries')}, "
        f"{amount(manifest.n_features, 'features')})"
    )


class RunForm(StrEnum):
    """Values of a run that are compared with thresholds, or written."""

    score = "score"
    percentile = "percentile"
    minmax = "minmax"


def features_command(
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
    columns: RunColumns,
) -> None:
    """Turn runs into queries whose features say which thresholds the score of each run exceeds.

    The documents of a topic are the union of the top documents of the runs; only judged topics are written.
    Thresholds depend on the judgments: use --train-topics to compute them from training topics only.
    """
    from directrix.fusion.thresholds import RunThresholds, write_runs

    _check_options(bins, form, train_topics, thresholds, thresholds_from)
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
        if used is None and bins != 0:
            used = _thresholds(scores, 50 if bins is None else bins, kind, train_topics)
        report(len(runs), len(runs), output.name)
        write_runs(written, output, used, kind)
    if used is not None and thresholds_from is None:
        used.write(target)
        remark(f"saved: {target} (thresholds, for --thresholds-from)")
    _remark_on_output(written, output, len(scores.tags) if used is None else used.n_features)


def _check_options(bins: int | None, form: Any, topics: Any, thresholds: Any, thresholds_from: Any) -> None:
    if thresholds_from is not None and any(given is not None for given in (bins, form, topics, thresholds)):
        raise typer.BadParameter(
            "--thresholds-from sets the thresholds and their form: leave out --bins, --form, --train-topics "
            "and --thresholds."
        )
    if bins == 0 and any(given is not None for given in (topics, thresholds)):
        raise typer.BadParameter("--bins 0 uses no thresholds: leave out --train-topics and --thresholds.")


def _read(
    runs: list[Path], qrels: Path, depth: int, columns: RunColumns, report: Callable[[int, int, str], None]
) -> RunScores:
    """Read runs and qrels, with a note about the topics that only one of them has."""
    from directrix.cli.rankings import named_columns, read_qrels, tables_of
    from directrix.data.trec.features import runs_as_features
    from directrix.data.trec.runs import read_trec_run

    tables = tables_of([qrels, *runs], columns.names())
    names = named_columns(qrels, tables, columns.names())

    def reported() -> Iterator[Any]:
        for number, path in enumerate(runs):
            report(number, len(runs), path.name)
            yield read_trec_run(path, **names(path, "score")) if path in tables else path

    scores = runs_as_features(reported(), read_qrels(qrels, **names(qrels, "label")), depth)
    for topics, which in ((scores.unjudged, "without judgments"), (scores.unretrieved, "in no run")):
        if topics:
            shown = ", ".join(topics[:5]) + (", ..." if len(topics) > 5 else "")
            remark(f"note: topics {which} are left out ({len(topics)}): {shown}")
    return scores


def _chosen(scores: RunScores, topics: str | None, option: str) -> RunScores:
    return scores if topics is None else scores.take(_positions_of(topics, scores.query_ids, option))


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


def relevant_text(relevant: int, retrieved: int) -> str:
    """Return a sentence on the relevant documents that a file of features lacks."""
    return (
        f"relevant: {amount(relevant, 'documents')}, {retrieved} of them retrieved; measures of this file do "
        f"not count the other {relevant - retrieved}"
    )


def _positions_of(text: str, topics: tuple[str, ...], option: str) -> list[int]:
    """Return the positions of the topics that a text names, ascending.

    A range may contain topics that do not exist. Raises `InputError` if any other topic does not exist, no
    topic is named, or a file cannot be read.
    """
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
    return sorted(chosen)


def _words(text: str) -> list[str]:
    if text.startswith("@"):
        path = Path(text[1:])
        with readable(path), open_data(path) as file:
            return [word for line in file for word in line.decode("utf-8", "backslashreplace").split()]
    if Path(text).is_file():
        return [str(query) for query in read_file(Path(text)).query_ids]
    return text.replace(",", " ").split()
