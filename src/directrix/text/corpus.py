"""The words of all documents as numbers, field by field."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from directrix.data.checks import frozen
from directrix.data.grouping import object_array
from directrix.errors import InputError
from directrix.text.analysis import (
    STOP_WORDS,
    Analyzer,
    FieldTerms,
    Tokens,
    Vocabulary,
    as_terms,
    one_after_another,
    words_of,
)
from directrix.text.documents import Document
from directrix.types import Array, Progress


class _Numbers(dict[str, int]):
    """Numbers words as they come."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class _Field:
    """The words of one field, document by document."""

    def __init__(self) -> None:
        self.ids, self.ends = array("i"), array("q")

    def add(self, row: int, ids: Iterable[int]) -> None:
        self.pad(row)
        self.ids.extend(ids)
        self.ends.append(len(self.ids))

    def pad(self, n_docs: int) -> None:
        """Add documents that lack the field."""
        end = len(self.ids)
        self.ends.extend([end] * (n_docs - len(self.ends)))

    def tokens(self) -> Tokens:
        offsets = np.concatenate([[0], np.array(self.ends, dtype=np.int64)])
        return Tokens(np.array(self.ids, dtype=np.int32), offsets)


def numbered(
    documents: Iterable[Document], fields: tuple[str, ...] | None, progress: Progress | None
) -> dict[str, Any]:
    """Return identifiers, different words and fields of documents.

    Raises `InputError` if an identifier comes twice, a field is in no document, or there is no word.
    """
    places: dict[str, str] = {}
    numbers, of_field = _Numbers(), {name: _Field() for name in fields or ()}
    others: dict[str, None] = {}
    for row, (place, name, texts) in enumerate(documents):
        if name in places:
            raise InputError(
                f"{place}: the identifier {name!r} is that of the document at {places[name]} too; each "
                "document needs another. Remove or rename one of them."
            )
        places[name] = place
        for field, text in texts.items():
            if fields is None or field in of_field:
                of_field.setdefault(field, _Field()).add(row, map(numbers.__getitem__, words_of(text)))
            else:
                others[field] = None
        if progress is not None:
            progress(len(places), 0, name)
    absent = [name for name, field in of_field.items() if not field.ends]
    if absent and places:
        raise InputError(
            f"no document has a field {absent[0]!r}; they have {', '.join([*others, *of_field][:20])}. "
            "Choose among these, or leave out the choice."
        )
    if not numbers:
        raise InputError(
            f"{len(places)} documents were read, and none has a word of text; at least one is needed. Check "
            "the fields."
        )
    for words in of_field.values():
        words.pad(len(places))
    return {
        "doc_ids": object_array(places),
        "words": tuple(numbers),
        "fields": {name: field.tokens() for name, field in of_field.items()},
    }


ALL = "all"
"""The field that holds all others, of documents with several."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """The contents of an `Index`, and the statistics that formulas need."""

    doc_ids: Array
    words: tuple[str, ...]
    fields: Mapping[str, Tokens]
    analyzers: tuple[str, ...]
    stop_words: tuple[str, ...] = STOP_WORDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "doc_ids", frozen(self.doc_ids, "doc_ids"))
        for name in self.analyzers:
            Analyzer.named(name)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.doc_ids)

    @property
    def whole(self) -> str:
        """The field of all text."""
        return ALL if len(self.fields) > 1 else next(iter(self.fields))

    @property
    def text_fields(self) -> tuple[str, ...]:
        """Fields that features have: those of the documents, and of several also "all", which joins them."""
        return (*self.fields, ALL) if len(self.fields) > 1 else tuple(self.fields)

    def terms(self, field: str, analyzer: str) -> FieldTerms:
        """Return a field as terms of an analyzer; what was computed once is kept.

        Raises
        ------
        InputError
            If there is no such field or analyzer.
        """
        key = (field, analyzer)
        if key not in self._terms:
            if field not in self.text_fields:
                raise InputError(f"there is no field {field!r}; choose one of {', '.join(self.text_fields)}.")
            words = (
                one_after_another(list(self.fields.values()))
                if field not in self.fields
                else self.fields[field]
            )
            known = self.vocabulary(analyzer)
            self._terms[key] = FieldTerms(as_terms(words, known.term_of), len(known.numbers))
        return self._terms[key]

    def vocabulary(self, analyzer: str) -> Vocabulary:
        """Return the terms of an analyzer; what was computed once is kept.

        Raises
        ------
        InputError
            If the index does not have this analyzer.
        """
        if analyzer not in self.analyzers:
            raise InputError(
                f"the index has no analyzer {analyzer!r}, but {', '.join(self.analyzers)}; choose one of "
                "them, or build it again with others.",
            )
        if analyzer not in self._vocabularies:
            named = Analyzer.named(analyzer)
            self._vocabularies[analyzer] = named.vocabulary(self.words, frozenset(self.stop_words))
        return self._vocabularies[analyzer]

    def query_terms(self, text: str, analyzer: str) -> list[str]:
        """Return the terms of a query in their order, without stop words if the analyzer leaves them out."""
        terms = Analyzer.named(analyzer).terms(words_of(text), frozenset(self.stop_words))
        return [term for term in terms if term is not None]

    @cached_property
    def _terms(self) -> dict[tuple[str, str], FieldTerms]:
        return {}

    @cached_property
    def _vocabularies(self) -> dict[str, Vocabulary]:
        return {}

    @cached_property
    def rows(self) -> dict[str, int]:
        """Number of each document by its identifier."""
        return {name: row for row, name in enumerate(self.doc_ids)}
