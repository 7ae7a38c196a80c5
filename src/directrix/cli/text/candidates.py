"""``directrix text candidates``: the best documents of every query by BM25."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_bar, remark, write_run
from directrix.cli.reading import check_writable
from directrix.cli.text.inputs import IdColumnOption, IndexArgument, QueriesArgument, QueryFieldOption


def text_candidates_command(
    *,
    index: IndexArgument,
    queries: QueriesArgument,
    k: Annotated[int, Option("-k", min=1, help="Number of documents per query.")] = 1000,
    output: options.RunOutputOption = None,
    field: Annotated[
        str | None, options.option(help="Field of the documents. Default: all fields together.")
    ] = None,
    analyzer: Annotated[
        str | None, options.option(help="How words become terms. Default: the last of the index.")
    ] = None,
    k1: Annotated[float, Option(min=0.0, help="Parameter of BM25.")] = 1.2,
    b: Annotated[float, Option(min=0.0, max=1.0, help="Parameter of BM25.")] = 0.75,
    tag: Annotated[str, Option(help="Name of the run.")] = "bm25",
    query_field: QueryFieldOption = None,
    id_column: IdColumnOption = None,
) -> None:
    """Find the best documents of every query by BM25, as a TREC run.

    Documents without any word of the query are not retrieved; equal scores keep the order of the documents.
    """
    from directrix.text.documents import query_texts
    from directrix.text.index import Index

    options.check_tag("--tag", tag)
    check_writable(output, index, queries)
    texts = query_texts(queries, query_field, id_column)
    loaded = Index.load(index)
    with progress_bar("queries") as report:
        run = loaded.candidates(texts, k, field=field, analyzer=analyzer, k1=k1, b=b, progress=report)
    answered = set(run.query_ids)
    if lacking := [name for name in texts if name not in answered]:
        remark(f"note: {len(lacking)} of {len(texts)} queries have no document: {', '.join(lacking[:5])}")
    write_run(replace(run, tag=tag), output)
