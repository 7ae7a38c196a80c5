"""``directrix text index``, ``candidates``, ``text-features``, ``rerank``, ``fuse`` and ``reconcile``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.data import relevant_text, sizes_text
from directrix.cli.reading import RankedData, RunColumns, check_writable, query_classes, some
from directrix.cli.show import echo, progress_bar, remark, show, write_text
from directrix.data.formats import LETOR, named, outputs
from directrix.errors import InputError, amount

if TYPE_CHECKING:
    from directrix.data.trec.runs import Run

_AT_ONCE = 100  # queries whose features are in memory together

_Index = Annotated[Path, options.argument(metavar="INDEX", help="Written by `directrix text index`.")]
_Queries = Annotated[
    Path,
    options.argument(
        metavar="QUERIES",
        help="Queries: JSON lines, CSV, TSV, Parquet, TREC topics (<top>) or SMART text (.I 1).",
    ),
]
_Candidates = Annotated[
    Path,
    options.option("--run", metavar="RUN", help="Candidates: a TREC run, or a table of documents."),
]
_With = Annotated[
    list[Path] | None,
    options.option(
        "--with",
        metavar="RUN",
        help="Scores of another system as features: a TREC run, or a table with a feature per numeric "
        "column. Documents that a run lacks get its lowest score of the query; empty cells, and rows that a "
        "table lacks, are missing values. Repeatable.",
    ),
]
_QueryField = Annotated[
    str | None,
    options.option(
        help="Field of a query to search for. Default: query, text, title or question, whichever is there."
    ),
]
_IdColumn = Annotated[
    str | None,
    options.option(
        metavar="NAME", help="Name of the identifier. Default: a known one, such as qid, _id or id."
    ),
]
_RunOutput = Annotated[
    Path | None,
    options.option(
        "--output", "-o", help="File to write: a TREC run, or JSON lines (.jsonl). Default: standard output."
    ),
]
_Scores = Annotated[
    Path,
    options.argument(
        metavar="SCORES|MODEL",
        help="File with one score per line, a model file, or a run: TREC text or table.",
    ),
]
_Value = Annotated[
    str, Option("--value", show_default=False, help="The printed number, with all its decimals.")
]
_Measure = Annotated[str, Option("--measure", "-m", help="Measure that was printed, e.g. nDCG@10.")]
_From = Annotated[
    str | None,
    options.option(
        "--from", help="Another number: print the fewest changes of conventions from it to --value."
    ),
]
_Top = Annotated[int, Option(min=1, help="Number of settings to show.")]


def index_command(
    *,
    documents: Annotated[
        Path,
        options.argument(
            metavar="DOCS",
            help="JSON lines, CSV, TSV, Parquet, TREC text (<DOC>), SMART text (.I 1), or a folder of "
            "them or of plain texts.",
        ),
    ],
    output: Annotated[Path, Option("--output", "-o", help="File to write.")] = Path("documents.index"),
    fields: Annotated[
        list[str] | None,
        options.option(
            "--fields", help="Fields of a document to use, e.g. title,text; repeatable. Default: all."
        ),
    ] = None,
    analyzers: Annotated[
        list[str] | None,
        options.option(
            "--analyzer",
            help="How words become terms: none, or a stemmer (english, porter, german, ...), with +stop "
            "without stop words; repeatable. Candidates are found by the last. Default: none,english+stop.",
        ),
    ] = None,
    stop_words: Annotated[
        Path | None,
        options.option(help="File of stop words. Default: the 33 of Lucene, for English."),
    ] = None,
    id_column: Annotated[
        str | None,
        options.option(
            metavar="NAME", help="Name of the identifier. Default: a known one, such as docno, _id or id."
        ),
    ] = None,
) -> None:
    """Index documents for the commands candidates, features and rerank.

    Words follow the rules of Unicode (UAX #29), and their case is folded. If documents have several fields,
    an additional one, called all, joins them.
    """
    from directrix.data.files import open_data, readable
    from directrix.text.analysis import STOP_WORDS
    from directrix.text.index import Index

    check_writable(output, documents, stop_words)
    stops: tuple[str, ...] = STOP_WORDS
    if stop_words is not None:
        with readable(stop_words), open_data(stop_words) as file:
            stops = tuple(file.read().decode("utf-8", "replace").split())
    with progress_bar("documents") as report:
        built = Index.build(
            documents,
            options.comma_separated(fields) or None,
            analyzers=options.comma_separated(analyzers) or ["none", "english+stop"],
            stop_words=stops,
            id_column=id_column,
            progress=report,
        )
    built.save(output)
    english = ("none", "english", "porter", "lovins")
    foreign = [name for name in built.analyzers if "+" in name and name.partition("+")[0] not in english]
    if foreign and stop_words is None:
        remark(f"note: {foreign[0]} leaves out English stop words; --stop-words FILE names others")
    for field, tokens in built.fields.items():
        if empty := int((tokens.offsets[1:] == tokens.offsets[:-1]).sum()):
            remark(f"note: {empty} of {built.n_docs} documents have no word in the field {field}")
    n_words = sum(len(tokens.ids) for tokens in built.fields.values())
    remark(
        f"saved: {output} ({amount(built.n_docs, 'documents')}, {amount(n_words, 'words')}, "
        f"{len(built.words):,} different, fields {', '.join(built.fields)}, "
        f"analyzers {', '.join(built.analyzers)})"
    )


def candidates_command(
    *,
    index: _Index,
    queries: _Queries,
    k: Annotated[int, Option("-k", min=1, help="Number of documents per query.")] = 1000,
    output: _RunOutput = None,
    field: Annotated[
        str | None, options.option(help="Field of the documents. Default: all fields together.")
    ] = None,
    analyzer: Annotated[
        str | None, options.option(help="How words become terms. Default: the last of the index.")
    ] = None,
    k1: Annotated[float, Option(min=0.0, help="Parameter of BM25.")] = 1.2,
    b: Annotated[float, Option(min=0.0, max=1.0, help="Parameter of BM25.")] = 0.75,
    tag: Annotated[str, Option(help="Name of the run.")] = "bm25",
    query_field: _QueryField = None,
    id_column: _IdColumn = None,
) -> None:
    """Find the best documents of every query by BM25, as a TREC run.

    Documents without any word of the query are not retrieved; equal scores keep the order of the documents.
    """
    from directrix.text.documents import query_texts
    from directrix.text.index import Index

    options.check_tag("--tag", tag)
    check_writable(output, index, queries)
    of = query_texts(queries, query_field, id_column)
    loaded = Index.load(index)
    with progress_bar("queries") as report:
        run = loaded.candidates(of, k, field=field, analyzer=analyzer, k1=k1, b=b, progress=report)
    found = set(run.query_ids)
    if lacking := [name for name in of if name not in found]:
        remark(f"note: {len(lacking)} of {len(of)} queries have no document: {', '.join(lacking[:5])}")
    write_run(replace(run, tag=tag), output)


def features_command(
    *,
    index: _Index,
    queries: _Queries,
    run: _Candidates,
    output: Annotated[Path, options.option("--output", "-o", help=f"File to write: {outputs()}.")],
    qrels: Annotated[
        Path | None,
        options.option(help="Judgments, for labels; queries without any are left out."),
    ] = None,
    others: _With = None,
    query_field: _QueryField = None,
    id_column: _IdColumn = None,
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
    of = query_texts(queries, query_field, id_column)
    candidates = read_trec_run(run)
    more = _other_runs(others, candidates)
    computed = TextFeatures.of(Index.load(index), of, candidates, qrels, more, None)
    used = [computed.run.query_ids[q] for q in computed.chosen]
    n_queries, n_rows, retrieved = len(used), 0, 0
    lacking = np.zeros(len(computed.sources), dtype=np.int64)
    with progress_bar("queries") as report, form.writing(output) as add:
        for first in range(0, n_queries, _AT_ONCE):
            part = computed.queries(report, slice(first, first + _AT_ONCE))
            n_rows, retrieved = n_rows + part.n_docs, retrieved + int((part.labels > 0.0).sum())
            lacking += np.isnan(part.features).sum(axis=0)
            if form is LETOR:
                part = replace(part, query_ids=tuple(integer_topics(part.query_ids)))
            add(part)
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
    remark(f"saved: {output} ({sizes}: {some(computed.sources)})")
    if (judged := computed.judged) is not None:
        relevant = sum(label > 0.0 for name in used for label in judged[name].values())
        remark(relevant_text(relevant, retrieved))


def rerank_command(
    *,
    model: options.ModelArgument,
    index: _Index,
    queries: _Queries,
    run: _Candidates,
    output: _RunOutput = None,
    others: _With = None,
    tag: Annotated[str, Option(help="Name of the run.")] = "directrix",
    query_field: _QueryField = None,
    id_column: _IdColumn = None,
) -> None:
    """Score candidates with a model that was trained on text features, and write a run.

    Only the features of the model are computed, by name; give the index of the training data. `directrix
    evaluate QRELS RUN` measures the result, and `directrix compare QRELS RUN RUN` tests the gain.
    """
    from directrix.data.trec.runs import Run, read_trec_run
    from directrix.rankers.model_file import read_model
    from directrix.text.documents import query_texts
    from directrix.text.index import Index

    options.check_tag("--tag", tag)
    check_writable(output, model, index, queries, run, *(others or ()))
    saved = read_model(model)
    if saved.feature_names is None:
        raise InputError(
            f"the model {model} was trained on features without names, so they are not known; train on "
            "a file of `directrix text features` that ends in .parquet."
        )
    of, candidates = query_texts(queries, query_field, id_column), read_trec_run(run)
    with progress_bar("queries") as report:
        features = Index.load(index).features(
            of,
            candidates,
            runs=_other_runs(others, candidates),
            names=list(saved.feature_names),
            progress=report,
        )
    write_run(replace(Run.from_scores(features, saved.predict_queries(features)), tag=tag), output)
    if without := len(of) - len(features.query_ids):
        remark(f"note: {without} of {len(of)} queries of {queries} have no candidates in {run}")


def fuse_command(
    *,
    runs: Annotated[
        list[Path], options.argument(metavar="RUN...", help="Two to ten runs: TREC text or tables.")
    ],
    qrels: Annotated[Path, options.option(help="Judgments: TREC text or a table.")],
    measure: options.MeasureOption = "nDCG@10",
    method: Annotated[str, Option(help="Which combination to use: auto, or the name of a row.")] = "auto",
    names: options.NamesOption = None,
    classes: Annotated[
        Path | None,
        options.option(
            help="File of query classes that get their own weights: one query and its class per line."
        ),
    ] = None,
    output: _RunOutput = None,
    config: Annotated[
        str | None,
        options.option(
            metavar="ENGINE",
            help="Print the configuration of opensearch, elasticsearch, vespa, qdrant or weaviate.",
        ),
    ] = None,
    columns: RunColumns,
    folds: Annotated[int, Option(min=2, help="Folds of queries for cross-validation.")] = 5,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Find the best weights of runs for a measure, and test whether they help.

    Weights, normalizer and constant of every method are chosen on all queries, and for cross-validation on
    the other folds. With -o, the combined run of all topics is written to a file.

    Normalizers of the scores s of a run for a query: min-max (s - min) / (max - min); z-score (s -
    mean) / deviation; sum (s - min) / sum of (s - min); rank 1 - (rank - 1) / n for n documents, rank 1 the
    best; none s.
    """
    import numpy as np

    from directrix.cli.rankings import check_system_names, note_unmatched, read_qrels_and_runs, system_names
    from directrix.fusion.engines import check_one_set_of_weights, computes, configuration
    from directrix.fusion.fuse import fuse as best_fusion

    with options.usage():
        check_system_names(names, runs)
    check_writable(output, qrels, *runs)
    judged, read = read_qrels_and_runs(qrels, runs, columns.names())
    of_runs = system_names(runs, names, [run.tag for run in read])
    named = [replace(run, tag=name) for run, name in zip(read, of_runs, strict=True)]
    of_query = None if classes is None else query_classes(classes)
    note_unmatched("the runs", named, judged.query_ids)
    with progress_bar("fusion") as report:
        fusion = best_fusion(
            named, judged, measure, method=method, classes=of_query, n_folds=folds, seed=seed, progress=report
        )
    if config is not None:
        if method == "auto":
            best, fusion = fusion.method, fusion.among(lambda one: computes(config, one))
            if fusion.method != best:
                remark(f"note: {config} does not support {best}; this is the best method that it supports")
        check_one_set_of_weights(fusion.of_class)
        text, differs = configuration(config, fusion.names, fusion.combination)
        echo(text, exact=True)
        for difference in differs:
            remark(f"note: {difference}")
        if not computes(config, fusion.combination):
            remark(f"note: the gain is that of {fusion.method}, which {config} does not compute")
    elif form is options.Format.table:
        echo(str(fusion))
    else:
        show(form, fusion.tables(), fusion.to_dict(), fusion.tables()[1])
    if config is not None or form is not options.Format.table:
        remark(f"note: chosen: {fusion.verdict}")
    if output is not None:
        fused = fusion.apply(named, of_query)
        write_run(fused, output)
        if empty := int((np.diff(fused.qptr) == 0).sum()):
            n = len(fused.query_ids)
            remark(f"note: no documents for {empty} of {n} queries, which `directrix evaluate` leaves out")


def reconcile_command(
    *,
    data: options.JudgedArgument,
    scores: _Scores,
    value: _Value,
    measure: _Measure = "nDCG@10",
    start: _From = None,
    convention: options.ConventionOption = None,
    top: _Top = 10,
    reading: RankedData,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Find the conventions under which a measure gives the number that another tool printed.

    Tries gain, discount, order of ties, empty queries, cut-off, denominators, relevance level, query sets and
    missing documents, and searches the data for causes of differences.

    Exit status 3 means that no setting gives the number.
    """
    from directrix.measures.names import measure as parse_measure
    from directrix.reconciliation.printed import printed
    from directrix.reconciliation.search import reconcile as reconcile_number

    with options.usage():
        asked = parse_measure(measure)
        tool = options.convention_named(convention)
        for name, number in (("--value", value), ("--from", start)):
            if number is not None:
                printed(number, asked, name)
    ranking = _ranking(data, scores, reading)
    with progress_bar("trying settings") as progress:
        found = reconcile_number(value, asked, **ranking, convention=tool, start=start, progress=progress)
    if form is options.Format.table:
        for text in (*found.answer, *found.diagnosis.remarks):
            remark(text)
    show(form, found.tables(top), found.to_dict())
    if not found.matches:
        raise typer.Exit(options.NOT_SHOWN)


def _ranking(data: Path, scores: Path, reading: RankedData) -> dict[str, Any]:
    """Return the ranking and its labels as arguments of `directrix.reconcile`."""
    from directrix.cli.rankings import judged_rankings, read_trec

    if (trec := read_trec(data, [scores], reading.names())) is not None:
        qrels, (run,) = trec
        return {"run": run, "qrels": qrels}
    (ranking,) = judged_rankings(data, [scores], reading)
    return ranking.arrays


def _other_runs(paths: list[Path] | None, candidates: Run) -> list[Run]:
    """Read the runs of ``--with``; a table gives one for each of its columns of numbers."""
    from directrix.data.formats import is_documents_table
    from directrix.data.trec.runs import read_trec_run

    runs = []
    for path in paths or ():
        runs += _columns_of(path, candidates) if is_documents_table(path) else [read_trec_run(path)]
    return runs


def _columns_of(path: Path, candidates: Run) -> list[Run]:
    """Return columns of numbers as runs by name; empty cells and rows that candidates lack stay missing."""
    import numpy as np
    import pyarrow.types as types

    from directrix.data.columns import DOC, QUERY, SCORES, column_list, find
    from directrix.data.files import short_name
    from directrix.data.tables.files import table_of
    from directrix.data.tables.text import row_places
    from directrix.data.trec.documents import of_frame
    from directrix.data.trec.join import check_overlap
    from directrix.data.trec.runs import Run

    table = table_of(path)
    names = [
        field.name
        for field in table.schema
        if field.name not in (*QUERY, *DOC, "rank")
        and (types.is_floating(field.type) or types.is_integer(field.type))
    ]
    if not names:
        raise InputError(
            f"{path} has no column of numbers other than identifiers and ranks; it has "
            f"{', '.join(table.column_names)}. Give a table with a column of scores."
        )
    keys = {key: find(table.column_names, key, None, str(path), "") for key in ("qid", "doc_id")}
    if others := [name for name in table.column_names if name not in (*names, *keys.values(), "rank")]:
        words = "no features are made of columns that are not numbers"
        remark(f"note: {path}: {words}: {column_list(others)}")
    rows = {key: table[name].to_pylist() for key, name in keys.items()} | {"score": range(table.num_rows)}
    call, named_so = "directrix.data.Run.from_frame(frame", {key: key for key in rows}
    documents = of_frame(rows, "score", str(path), named_so, call, row_places(path))
    in_table = Run(short_name(path), *documents[:4])
    check_overlap(candidates, in_table)
    rows_of_table = in_table.scores.astype(np.int64)
    place = dict(zip(_keys(in_table), rows_of_table, strict=True))
    aligned = np.array([place.get(key, -1) for key in _keys(candidates)], dtype=np.int64)
    runs = []
    for name in names:
        values = np.append(table[name].to_numpy().astype(np.float64), np.nan)
        of, place_of = (in_table, rows_of_table) if name in SCORES else (candidates, aligned)
        runs.append(replace(of, tag=name, scores=values[place_of]))
    return runs


def _keys(run: Run) -> Iterator[tuple[str, str]]:
    """Yield query and document of every row."""
    for query, (first, last) in zip(run.query_ids, pairwise(run.qptr.tolist()), strict=True):
        yield from ((query, doc) for doc in run.doc_ids[first:last])


def write_run(run: Run, output: Path | None) -> None:
    """Write a run to a file, as TREC text or JSON lines by its name, or to standard output without one."""
    from directrix.data.files import without_compression
    from directrix.data.trec.runs import run_text

    is_json = output is not None and without_compression(output).suffix in (".jsonl", ".ndjson")
    text = _json_lines(run) if is_json else run_text(run)
    write_text(
        text, output, f"{amount(len(run.doc_ids), 'documents')} of {amount(len(run.query_ids), 'queries')}"
    )


def _json_lines(run: Run) -> str:
    import numpy as np

    lines = []
    for query, (first, last) in zip(run.query_ids, pairwise(run.qptr.tolist()), strict=True):
        for rank, i in enumerate(np.argsort(-run.scores[first:last], kind="stable"), start=1):
            doc, score = str(run.doc_ids[first + i]), float(run.scores[first + i])
            row = {"qid": query, "docno": doc, "rank": rank, "score": score}
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)
