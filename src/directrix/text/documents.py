"""Documents and queries from files, frames and records; text from markup.

Any source of texts goes in. Documents come out one after another, or queries as a dict::

    for place, name, fields in iter_documents("collection.jsonl"):
        fields["title"]
    query_texts("queries.tsv")["q1"]
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from directrix.data.checks import is_missing
from directrix.data.columns import DOC, QUERY, ColumnNames, column_list
from directrix.data.file import DataFile
from directrix.data.files import open_data, readable, without_compression
from directrix.data.formats import ARROW, COLUMNS
from directrix.data.frames import cells_of, columns_of
from directrix.data.grouping import check_identifiers, identifier_text
from directrix.data.tables.text import TO_UTF8, row_places
from directrix.errors import Advice, InputError, short_text, warn

# A tag of TREC text, such as <DOCNO> or </P>.
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Topics of TREC repeat the name of a field in its text, as in "Number: 301".
_LABEL = re.compile(r"^\s*(?:number|topic|description|narrative)\s*:", re.IGNORECASE)
# A line of SMART text that begins a document, such as ".I 7", or a field, such as ".T".
_SMART = re.compile(r"\.([A-Z])(?:\s+(\S+))?\s*")
_SMART_FIELDS = {"T": "title", "A": "authors", "B": "source", "K": "keywords", "W": "text"}
_TOPIC_FIELDS = {"desc": "description", "narr": "narrative"}
_BEGIN = re.compile(r"<(doc|top)>", re.IGNORECASE)


class Document(NamedTuple):
    """A document, or a query, with its texts."""

    place: str
    """Where it comes from, for messages."""
    name: str
    fields: Mapping[str, str]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers."""
    with readable(path), open_data(path) as file:
        for number, line in enumerate(file, start=1):
            yield number, line.decode("utf-8", "replace")


def markup_of(path: Path, key: str) -> Callable[[Path], Iterator[Document]] | None:
    """Return the reader for the first line of a file that is not blank, if it is TREC or SMART markup."""
    with readable(path), open_data(path) as file:
        while line := file.readline(4096):
            text = line.decode("utf-8", "replace").strip()
            if begin := _BEGIN.match(text):
                if key == "docno" and begin[1].lower() == "top":
                    raise InputError(
                        f"{path}: documents are needed, got queries (<top>). Give the collection."
                    )
                return _trec
            if text:
                return _smart if text.startswith(".I ") else None
    return None


def _smart(path: Path) -> Iterator[Document]:
    place, name, field = "", "", ""
    fields: dict[str, list[str]] = {}
    for number, line in _lines(path):
        mark = _SMART.fullmatch(line)
        # A field's mark is alone on its line. With more words, the line is text.
        if mark is None or (mark[2] and mark[1] != "I"):
            if field:
                fields.setdefault(field, []).append(line)
        elif mark[1] != "I":
            field = _SMART_FIELDS.get(mark[1], "")
        else:
            if place:
                yield Document(place, name, _text(fields))
            place, name, field, fields = f"{path}:{number}", mark[2] or "", "", {}
    if place:
        yield Document(place, name, _text(fields))


def _trec(path: Path) -> Iterator[Document]:
    begun, block, end = 0, list[str](), ""
    for number, line in _lines(path):
        if not begun:
            if (begin := _BEGIN.search(line)) is None:
                continue
            begun, block, end = number, [], f"</{begin[1].lower()}>"
            line = line[begin.end() :]
        before, is_end, _ = line.lower().partition(end)
        block.append(line[: len(before)])
        if is_end:
            yield Document(f"{path}:{begun}", *_of_tags("".join(block)))
            begun = 0
    if begun:
        raise InputError(
            f"{path}:{begun}: a document begins here and has no {end.upper()}; the file is cut off. Fetch it "
            "again, or remove this document."
        )


def _of_tags(block: str) -> tuple[str, dict[str, str]]:
    """Return identifier and fields of the text between the tags of a document or topic.

    Text outside of all tags is the field ``text``; tags within a field, such as <P>, are left out. The fields
    of topics need no closing tags: each begins where the one before ends.
    """
    block = _COMMENT.sub(" ", block)
    is_topic = re.search(r"<num>", block, re.IGNORECASE) is not None
    fields: dict[str, list[str]] = {}
    field, at = "", 0
    for tag in _TAG.finditer(block):
        fields.setdefault(field or "text", []).append(block[at : tag.start()])
        at, tagged = tag.end(), _TOPIC_FIELDS.get(tag[2].lower(), tag[2].lower())
        if tag[1]:
            field = "" if tagged == field else field
        elif is_topic or not field:
            field = tagged
    fields.setdefault(field or "text", []).append(block[at:])
    text = _text({key: [_LABEL.sub("", html.unescape(piece)) for piece in fields[key]] for key in fields})
    name = text.pop("docno", "") or text.pop("num", "")
    return name, {key: value for key, value in text.items() if value}


def _text(fields: dict[str, list[str]]) -> dict[str, str]:
    return {field: " ".join(" ".join(pieces).split()) for field, pieces in fields.items()}


_IDS = {"docno": (*DOC, "_id", "id"), "qid": (*QUERY, "_id", "id")}
# Python decodes a wrong byte to this character, which is in no word.
_REPLACED = "\ufffd"
# Rows of a table that are held as Python texts together.
_ROWS = 1 << 14
_QUERY_TEXTS = ("query", "text", "title", "question")
_NEEDED = (
    "a path, a frame or dict of columns, a dict {identifier: text}, or dicts or named tuples with an "
    "identifier and texts are needed"
)


def iter_documents(source: Any, id_column: str | None = None) -> Iterator[Document]:
    """Yield documents, one after another, from any supported source.

    Parameters
    ----------
    source : path, frame, dict, data set of ir_datasets, or iterable of dicts or named tuples
        A file or folder: JSON lines, CSV, TSV, Parquet, Arrow, TREC or SMART text; any other file of a
        folder is one document. A table without a known name in its first line has the columns identifier
        and text.
    id_column : str, optional
        Default: the first one present of docno, doc_id, docid, corpus-id, document, doc, _id,
        id.

    Raises
    ------
    InputError
        If a document has no identifier, or something cannot be read.
    """
    return _checked(_Reader("docno", id_column).records(source), "document")


def query_texts(source: Any, field: str | None = None, id_column: str | None = None) -> dict[str, str]:
    """Return the texts of the queries, in their order; see `iter_documents`.

    Parameters
    ----------
    source : as `iter_documents`
    field : str, optional
        Field of a query to search for. Default: the first one present of query, text, title, question.
    id_column : str, optional
        Default: the first one present of qid, query_id, q_id, query-id, topic,
        query, _id, id.

    Raises
    ------
    InputError
        If a query has no identifier or occurs twice, or the field is missing.
    """
    queries: dict[str, str] = {}
    # Topics of TREC have a title, and other files a query, a text or a question.
    wanted = _QUERY_TEXTS if field is None else (field,)
    for place, name, fields in _checked(_Reader("qid", id_column).records(source), "query"):
        text = next((fields[key] for key in wanted if key in fields), None)
        if text is None:
            raise InputError(
                f"{place}: query {name} has no {' or '.join(wanted)}, but "
                f"{column_list([*fields]) or 'no field at all'}.",
                Advice("query-field"),
            )
        if name in queries:
            raise InputError(
                f"{place}: query {name} is there twice; each identifier may occur once. Remove or rename one."
            )
        queries[name] = text
    if not queries:
        name = str(source) if isinstance(source, str | os.PathLike) else "queries"
        raise InputError(f"{name}: there is no query; at least one is needed. Check the file.")
    return queries


def _checked(records: Iterable[Document], what: str) -> Iterator[Document]:
    first, n_replaced = "", 0
    for record in records:
        check_identifiers([record.name], what, [record.place].__getitem__)
        if any(_REPLACED in text for text in record.fields.values()):
            first, n_replaced = first or record.place, n_replaced + 1
        yield record
    # The warning follows the last document, when their number is known.
    if n_replaced:
        others, damaged = (
            (f" and {n_replaced - 1} more", f"these {what}s") if n_replaced > 1 else ("", f"this {what}")
        )
        warn(
            f"{first}{others}: the character U+FFFD takes the place of bytes that are not UTF-8, so "
            f"words of {damaged} may be cut. Convert the file, e.g. `iconv -f latin1 -t utf-8 OLD > NEW`."
        )


class _Reader(NamedTuple):
    """Reads documents, or queries: ``key`` is "docno" or "qid" and says which names identifiers have."""

    key: str
    id_column: str | None

    def records(self, source: Any) -> Iterator[Document]:
        """Yield documents from any supported source; see `iter_documents`."""
        if isinstance(source, str | os.PathLike):
            file = DataFile(source)
            if file.path.is_dir() and file.content != "folder":
                return self._of_folder(file.path)
            if (documents := self._of_file(file)) is not None:
                return documents
            raise InputError(
                f"{file} has no form in which documents or queries are read: JSON lines, CSV, TSV, Parquet, "
                "Arrow, TREC text (<DOC> or <top>) or SMART text (.I 1). Give a file with such a name or "
                "first line, or a folder of text files."
            )
        # Data sets of ir_datasets have these iterators.
        if iterator := getattr(source, {"docno": "docs_iter", "qid": "queries_iter"}[self.key], None):
            return self._of_objects(iterator())
        if isinstance(source, Mapping) and all(isinstance(text, str) for text in source.values()):
            named = source.items()
            return (Document(f"{self.key} {name}", str(name), {"text": text}) for name, text in named)
        if isinstance(source, Mapping) or hasattr(source, "columns") or hasattr(source, "schema"):
            return self._of_frame(source, "the frame", "the frame, row {}".format)
        if isinstance(source, Iterable):
            return self._of_objects(source)
        raise InputError(f"{short_text(source)} holds no documents or queries; {_NEEDED}.")

    def _of_objects(self, entries: Iterable[Any], where: str = "") -> Iterator[Document]:
        """Yield dicts, and named tuples such as those of ir_datasets, as documents."""
        for number, entry in enumerate(entries):
            place = where or f"entry {number}"
            fields = entry if isinstance(entry, Mapping) else getattr(entry, "_asdict", dict)()
            if not fields:
                raise InputError(f"{place} is {short_text(entry)}; {_NEEDED}.")
            # Hits of Elasticsearch and OpenSearch hold the document under this key.
            if isinstance(source := fields.get("_source"), Mapping):
                fields = {key: fields[key] for key in ("_id",) if key in fields} | {**source}
            name = self._id_name(list(fields), place)
            yield Document(place, _identifier(fields[name]), _texts(fields, name))

    def _of_folder(self, folder: Path) -> Iterator[Document]:
        """Yield all files below a folder, by name; a file of unknown form is one document, named by its path.

        Links out of the folder are left out: in an untrusted folder they could add private files to an index
        that may be shared.
        """
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        root = folder.resolve()
        links = {path for path in files if path.is_symlink() and not path.resolve().is_relative_to(root)}
        if links:
            warn(
                f"{folder}: {len(links)} symbolic links lead out of the folder and are left out. If their "
                f"files belong to it, copy them: `cp -rL {folder} NEW`."
            )
        if len(links) == len(files):
            raise InputError(f"{folder} has no files; at least one document is needed. Check `ls {folder}`.")
        for path in files:
            if path in links:
                continue
            if (documents := self._of_file(DataFile(path))) is not None:
                yield from documents
            else:
                text = "".join(line for _, line in _lines(path))
                yield Document(str(path), path.relative_to(folder).as_posix(), {"text": text})

    def _of_file(self, file: DataFile) -> Iterator[Document] | None:
        """Return the documents of a file; None if its form is not known."""
        # The name of a table decides before its content, because its text may begin like markup.
        path, content = file.path, file.content
        if not (ARROW.is_named(path) or content in ARROW.contents or COLUMNS.is_named(path)):
            if (kind := markup_of(path, self.key)) is not None:
                return kind(path)
            if content not in COLUMNS.contents:
                return None
        return self._of_table(file)

    def _of_table(self, file: DataFile) -> Iterator[Document]:
        path = file.path
        if file.text_form == "jsonl":
            yield from self._of_json_lines(path)
            return
        names = file.names
        is_tsv = without_compression(path).suffix == ".tsv"
        if is_tsv and len(names) == 2 and self.id_column is None and not set(names) & set(_IDS[self.key]):
            # These files have an identifier, a tab and a text on each line, and no names of columns.
            for number, line in _lines(path):
                identifier, _, text = line.partition("\t")
                if identifier.strip():
                    yield Document(f"{path}:{number}", identifier.strip(), {"text": text.strip()})
            return
        table = file.with_columns(ColumnNames(doc_id=self._id_name(names, str(path)))).table()
        # A column of CSV that is not UTF-8 is read as bytes, which would count as no text.
        wrong = [field.name for field in table.schema if str(field.type) in ("binary", "large_binary")]
        if file.text_form and wrong:
            raise InputError(f"{path}: the column {wrong[0]} is not UTF-8 text, which is needed. {TO_UTF8}")
        place = row_places(path)
        for first in range(0, table.num_rows, _ROWS):
            yield from self._of_frame(table.slice(first, _ROWS), str(path), place, first)

    def _of_json_lines(self, path: Path) -> Iterator[Document]:
        """Yield objects, one after another; their texts are fields.

        A line ``{"index": {"_id": "d1"}}`` of Elasticsearch's bulk format names the document of the next one.
        """
        action: dict[str, Any] = {}
        with readable(path), open_data(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    try:
                        entry = json.loads(line)
                    except (ValueError, RecursionError) as error:
                        raise InputError(
                            f"{path}:{number}: {line[:40].decode(errors='replace')!r} is no JSON object "
                            f'({error}); each line reads {{"docno": "d1", "text": "words"}}.'
                        ) from None
                    is_action = isinstance(entry, dict) and [*entry] in (["index"], ["create"])
                    if is_action and isinstance(target := next(iter(entry.values())), dict):
                        action = target
                        continue
                    document, action = {**action, "_source": entry} if action else entry, {}
                    yield from self._of_objects([document], f"{path}:{number}")

    def _of_frame(
        self, frame: Any, what: str, place: Callable[[int], str], first: int = 0
    ) -> Iterator[Document]:
        """Yield rows of a table; columns of text, or lists of it, are fields; others only identifiers."""
        cells = {name: cells_of(column) for name, column in columns_of(frame, what, _NEEDED).items()}
        names = cells.pop(self._id_name([*cells], what))
        for row, name in enumerate(names):
            texts = _texts({key: column[row] for key, column in cells.items()})
            yield Document(place(first + row), _identifier(name), texts)

    def _id_name(self, names: Sequence[Any], what: str) -> Any:
        """Return the name of the column of identifiers."""
        wanted = _IDS[self.key] if self.id_column is None else (self.id_column,)
        for name in wanted:
            if name in names:
                return name
        problem = f"there is no {' or '.join(wanted)}, which would hold the identifiers"
        if self.key == "docno" and (queries := [name for name in names if name in QUERY]):
            problem = (
                f"documents are needed, got queries (by the name {queries[0]}), or documents without a name"
            )
        raise InputError(
            f"{what}: {problem}; there are {column_list(names)}.",
            Advice("id-column"),
        )


def _texts(fields: Mapping[Any, Any], id_name: Any = None) -> dict[str, str]:
    """Return the fields that are text, with lists of texts joined; others are no words to search."""
    texts = {}
    for key, value in fields.items():
        is_list = isinstance(value, list) and value and all(isinstance(text, str) for text in value)
        if key != id_name and (is_list or isinstance(value, str)):
            texts[str(key)] = " ".join(value) if is_list else value
    return texts


def _identifier(value: Any) -> str:
    """Return an identifier as text, "" for one that is missing."""
    return "" if is_missing(value) else identifier_text(value)
