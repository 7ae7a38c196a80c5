"""``directrix text index``: an index of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_bar, remark
from directrix.cli.reading import check_writable
from directrix.errors import amount


def text_index_command(
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
            "--fields",
            metavar="FIELD,...",
            help="Fields of a document to use, e.g. title,text; repeatable. Default: all.",
        ),
    ] = None,
    analyzers: Annotated[
        list[str] | None,
        options.option(
            "--analyzer",
            metavar="ANALYZER,...",
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
    # The default stop words are English, which a stemmer of another language hardly wants.
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
