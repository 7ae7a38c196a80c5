"""``directrix text features``: features of candidates, as data for ``train``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from directrix.cli import options
from directrix.cli.output import progress_bar, relevant_text, remark, sizes_text
from directrix.cli.reading import check_writable
from directrix.cli.text.inputs import (
    CandidatesOption,
    IdColumnOption,
    IndexArgument,
    OtherRunsOption,
    QueriesArgument,
    QueryFieldOption,
    other_runs,
)
from directrix.data.columns import some_names
from directrix.data.formats import LETOR, named, outputs

# Number of queries whose features are in memory together.
_AT_ONCE = 100


def text_features_command(
    *,
    index: IndexArgument,
    queries: QueriesArgument,
    run: CandidatesOption,
    output: Annotated[Path, options.option("--output", "-o", help=f"File to write: {outputs()}.")],
    qrels: Annotated[
        Path | None,
        options.option(help="Judgments, for labels; queries without any are left out."),
    ] = None,
    others: OtherRunsOption = None,
    query_field: QueryFieldOption = None,
    id_column: IdColumnOption = None,
) -> None:
    """Compute features of candidates: every formula on every field and analyzer of the index.

    Features are named FORMULA.FIELD.ANALYZER, such as bm25.title.english+stop, or run.TAG for other runs.
    Without --qrels all labels are 0.
    """
    import numpy as np

    from directrix.cli.rankings import note_unmatched
    from directrix.data.letor.write import integer_topics
    from directrix.data.trec.runs import read_trec_run
    from directrix.text.documents import query_texts
    from directrix.text.features import TextFeatures
    from directrix.text.index import Index

    form = named(output)
    if form is None or not (form.writer or form is LETOR):
        raise typer.BadParameter(f"{output}: features are not written with this ending; write {outputs()}.")
    inputs = (index, queries, run, qrels, *(others or ()))
    check_writable(output, *inputs)
    texts = query_texts(queries, query_field, id_column)
    candidates = read_trec_run(run)
    more = other_runs(others, candidates)
    computed = TextFeatures.of(Index.load(index), texts, candidates, qrels, more, None, "nan")
    used = [computed.run.query_ids[q] for q in computed.chosen]
    n_queries, n_rows, retrieved = len(used), 0, 0
    lacking = np.zeros(len(computed.sources), dtype=np.int64)
    with progress_bar("queries") as report, form.writing(output) as add:
        for first in range(0, n_queries, _AT_ONCE):
            chunk = computed.queries(report, slice(first, first + _AT_ONCE))
            n_rows, retrieved = n_rows + chunk.n_docs, retrieved + int((chunk.labels > 0.0).sum())
            lacking += np.isnan(chunk.features).sum(axis=0)
            if form is LETOR:
                chunk = replace(chunk, query_ids=tuple(integer_topics(chunk.query_ids)))
            add(chunk)
    if computed.judged is not None:
        note_unmatched(computed.run.tag, [computed.run], computed.judged)
    if form is LETOR:
        in_order = ", ".join(computed.sources)
        remark(f"note: {output} stores no feature names; .parquet does. They are: {in_order}")
    if lacking.any():
        pairs = zip(computed.sources, lacking.tolist(), strict=True)
        counts = ", ".join(f"{name} ({n:,})" for name, n in pairs if n)
        how = "which `directrix train --missing` decides on"
        remark(f"note: values are missing, {how}: {counts} of {n_rows:,} rows")
    sizes = sizes_text(n_rows, n_queries, len(computed.sources))
    remark(f"saved: {output} ({sizes}: {some_names(computed.sources)})")
    if (judgments := computed.judged) is not None:
        relevant = sum(label > 0.0 for name in used for label in judgments[name].values())
        remark(relevant_text(relevant, retrieved))
