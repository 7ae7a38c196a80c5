"""``directrix text-features``: features of candidates, computed from an index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from directrix.cli import options, texts
from directrix.cli.files import check_writable
from directrix.cli.output import progress_bar, remark, remark_on_relevant
from directrix.data.formats import LETOR, named, outputs

_AT_ONCE = 100  # queries whose features are in memory together


def text_features(
    index: texts.IndexArgument,
    queries: texts.QueriesArgument,
    run: texts.CandidatesOption,
    output: Annotated[Path, options.without_default("--output", "-o", help=f"File to write: {outputs()}.")],
    qrels: Annotated[
        Path | None,
        options.without_default(help="Judgments, for labels; queries without any are left out."),
    ] = None,
    others: texts.WithOption = None,
    query_field: texts.QueryFieldOption = None,
    id_column: texts.IdColumnOption = None,
) -> None:
    """Compute features of candidates: every formula on every field and analyzer of the index.

    They are called FORMULA.FIELD.ANALYZER, such as bm25.title.english+stop; other runs are run.TAG. Without
    --qrels all labels are 0.
    """
    import numpy as np

    from directrix.data.trec.features import integer_topics
    from directrix.text.documents import query_texts
    from directrix.text.features import TextFeatures
    from directrix.text.index import Index

    form = named(output)
    if form is None or not (form.writer or form is LETOR):
        raise typer.BadParameter(f"{output}: features are not written with this ending; write {outputs()}.")
    inputs = (index, queries, run, qrels, *(others or ()))
    check_writable(output, *inputs)
    of = query_texts(queries, query_field, id_column)
    computed = TextFeatures.of(Index.load(index), of, run, qrels, texts.other_runs(others), None)
    n_queries, retrieved = len(computed.chosen), 0
    with progress_bar("queries") as report, form.writing(output) as add:
        for first in range(0, n_queries, _AT_ONCE):
            part = computed.queries(report, slice(first, first + _AT_ONCE))
            retrieved += int((part.labels > 0.0).sum())
            if form is LETOR:
                part = replace(part, query_ids=tuple(integer_topics(part.query_ids)))
            add(part)
    if unjudged := len(computed.run.query_ids) - n_queries:
        remark(f"note: {unjudged} of {n_queries + unjudged} queries are not judged and are left out")
    if form is LETOR:
        remark(f"note: {output} has no names of features; .parquet has them")
    n_rows = sum(int(computed.run.qptr[q + 1] - computed.run.qptr[q]) for q in computed.chosen)
    remark(f"saved: {output} ({n_rows} rows, {n_queries} queries, {len(computed.names)} features)")
    if computed.qrels is not None:
        used = {computed.run.query_ids[q] for q in computed.chosen}
        of_used = np.repeat([name in used for name in computed.qrels.query_ids], np.diff(computed.qrels.qptr))
        remark_on_relevant(int((of_used & (computed.qrels.labels > 0.0)).sum()), retrieved)
