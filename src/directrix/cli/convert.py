"""``directrix convert``: a data file in another format, or with the labels of judgments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from directrix.cli.options import argument, option
from directrix.cli.output import relevant_text, remark, sizes_text
from directrix.cli.reading import TrainingData, TrainingOptions, check_writable
from directrix.data.file import DataFile
from directrix.data.formats import LETOR, QRELS, inputs, named, outputs


def convert_command(
    *,
    source: Annotated[Path, argument(metavar="IN", help=f"{inputs()}; text plain or compressed.")],
    target: Annotated[Path, argument(metavar="OUT", help=f"{outputs()}.")],
    qrels: Annotated[
        Path | None,
        option(help="Judgments, which become the labels. Queries without any are left out."),
    ] = None,
    reading: TrainingOptions,
) -> None:
    """Convert a data file to another format, or its labels to TREC qrels.

    With --qrels, features that a search engine logged become training data. Values are preserved exactly;
    comments other than the document id are dropped. Conversion from and to Parquet and Arrow needs little
    memory, however large the file.
    """
    from directrix.data.file import convert_file

    if named(target) is None:
        raise typer.BadParameter(
            f"{target}: convert does not write a format with this ending; it writes {outputs()}. Choose one."
        )
    check_writable(target, source, qrels)
    if qrels is None:
        rows, queries, features = convert_file(source, target, reading.missing.value, reading.names())
    else:
        rows, queries, features = _convert_labeled(source, target, qrels, reading)
    size = sizes_text(rows, queries, None if named(target) is QRELS else features)
    remark(f"saved: {target} ({size})")


def _convert_labeled(source: Path, target: Path, qrels: Path, reading: TrainingData) -> tuple[int, int, int]:
    """Convert features, with the labels of judgments; return the numbers of rows, queries and features."""
    from directrix.cli.rankings import check_no_features, read_qrels, with_own_columns
    from directrix.data.grouping import identifier_text
    from directrix.data.trec.join import labeled

    columns = replace(reading.names(), has_labels=False)
    files = with_own_columns([DataFile(source, columns), DataFile(qrels, columns)])
    check_no_features(files, replace(columns, features=None))
    judgments = read_qrels(files[1])
    q = labeled(files[0].queries(reading.missing.value), judgments)
    with (named(target) or LETOR).writing(target) as add:
        add(q)
    # Only the queries of the features are written, so others do not count as lacking relevant documents.
    kept = set(map(identifier_text, q.query_ids))
    of_kept = (judgments.of_query(place) for place, name in enumerate(judgments.query_ids) if name in kept)
    relevant = sum(label > 0.0 for labels in of_kept for label in labels.values())
    remark(relevant_text(relevant, int((q.labels > 0.0).sum())))
    return q.n_docs, q.n_queries, q.n_features
