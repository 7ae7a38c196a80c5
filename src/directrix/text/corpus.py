"""The words of all documents as numbers, field by field, and their terms under each analyzer."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import frozen
from directrix.data.grouping import object_array
from directrix.errors import InputError
from directrix.text.analysis import STOP_WORDS, analyzed, check_analyzer, words_of
from directrix.text.documents import Document
from directrix.text.fields import FieldTerms, Tokens, one_after_another
from directrix.types import Array, Progress


def numbered(
    documents: Iterable[Document], fields: tuple[str, ...] | None, progress: Progress | None
) -> dict[str, Any]:
    """Return identifiers, different words and fields of documents.

    Raises `InputError` if an identifier occurs twice, a field is in no document, or there is no word.
    """
    places: dict[str, str] = {}
    numbers: defaultdict[str, int] = defaultdict()
    # A word gets the next number when it is first seen.
    numbers.default_factory = numbers.__len__
    # Each field has the numbers of its words, the documents that have it, and their numbers of words.
    of_field = {name: (array("i"), array("q"), array("q")) for name in fields or ()}
    others: dict[str, None] = {}
    for row, (place, name, texts) in enumerate(documents):
        if name in places:
            raise InputError(
                f"{place}: the identifier {name!r} is that of the document at {places[name]} too; each "
                "document needs another. Remove or rename one of them."
            )
        places[name] = place
        for key, text in texts.items():
            if fields is None or key in of_field:
                ids, rows, sizes = of_field.setdefault(key, (array("i"), array("q"), array("q")))
                words = words_of(text)
                ids.extend(map(numbers.__getitem__, words))
                rows.append(row)
                sizes.append(len(words))
            else:
                others[key] = None
        if progress is not None:
            progress(len(places), 0, name)
    absent = [name for name, (_, rows, _) in of_field.items() if not rows]
    if absent and places:
        present = [*others, *(name for name in of_field if name not in absent)]
        raise InputError(
            f"no document has a field {absent[0]!r}; they have {', '.join(present[:20])}. "
            "Choose among these, or leave out the choice."
        )
    if not numbers:
        raise InputError(
            f"{len(places)} documents were read, and none has a word of text; at least one is needed. Check "
            "the fields."
        )
    tokens = {}
    for name, (ids, rows, sizes) in of_field.items():
        # A document without the field has no words between its offsets.
        offsets = np.zeros(len(places) + 1, dtype=np.int64)
        offsets[np.array(rows, dtype=np.int64) + 1] = sizes
        tokens[name] = Tokens(np.array(ids, dtype=np.int32), np.cumsum(offsets))
    return {"doc_ids": object_array(places), "words": tuple(numbers), "fields": tokens}


class Vocabulary(NamedTuple):
    """The words of an index as terms of an analyzer."""

    term_of: Array
    """int32: for every word the number of its term, -1 for one that is left out."""
    numbers: dict[str, int]
    """The number of every term."""


ALL = "all"
"""The field that joins all others, if documents have several."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """The contents of an `Index`, and the statistics that formulas need."""

    doc_ids: Array
    words: tuple[str, ...]
    fields: Mapping[str, Tokens]
    analyzers: tuple[str, ...]
    stop_words: tuple[str, ...] = STOP_WORDS
    _known: dict[Any, Any] = field(default_factory=dict, init=False)
    """Terms of fields and vocabularies of analyzers that were computed once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "doc_ids", frozen(self.doc_ids, "doc_ids"))
        for name in self.analyzers:
            check_analyzer(name)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.doc_ids)

    @property
    def text_fields(self) -> tuple[str, ...]:
        """Fields of features: those of the documents and, if there are several, "all", which joins them."""
        return (*self.fields, ALL) if len(self.fields) > 1 else tuple(self.fields)

    @property
    def whole(self) -> str:
        """The field of all text."""
        return self.text_fields[-1]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Number of each document by its identifier."""
        return {name: row for row, name in enumerate(self.doc_ids)}

    def terms(self, field: str, analyzer: str) -> FieldTerms:
        """Return a field as terms of an analyzer.

        Raises
        ------
        InputError
            If there is no such field or analyzer.
        """
        # Terms are computed when they are first needed, and kept.
        if (field, analyzer) not in self._known:
            if field not in self.text_fields:
                raise InputError(f"there is no field {field!r}; choose one of {', '.join(self.text_fields)}.")
            words = (
                self.fields[field] if field in self.fields else one_after_another(list(self.fields.values()))
            )
            vocabulary = self.vocabulary(analyzer)
            terms = FieldTerms(words.as_terms(vocabulary.term_of), len(vocabulary.numbers))
            self._known[field, analyzer] = terms
        computed: FieldTerms = self._known[field, analyzer]
        return computed

    def vocabulary(self, analyzer: str) -> Vocabulary:
        """Return the terms of an analyzer, numbered in the order of the words.

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
        if analyzer not in self._known:
            numbers: dict[str, int] = {}
            terms = analyzed(self.words, analyzer, frozenset(self.stop_words))
            term_of = [-1 if term is None else numbers.setdefault(term, len(numbers)) for term in terms]
            self._known[analyzer] = Vocabulary(np.array(term_of, dtype=np.int32), numbers)
        vocabulary: Vocabulary = self._known[analyzer]
        return vocabulary

    def query_terms(self, text: str, analyzer: str) -> list[str]:
        """Return the terms of a query in their order, without stop words if the analyzer leaves them out."""
        terms = analyzed(words_of(text), analyzer, self.stop_words)
        return [term for term in terms if term is not None]
