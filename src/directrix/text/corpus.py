"""Documents as numbers of words, and their terms under each analyzer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from directrix.data.checks import frozen
from directrix.errors import InputError
from directrix.text.analysis import STOP_WORDS, Analyzer, Vocabulary, words_of
from directrix.text.terms import FieldTerms, Tokens, as_terms, one_after_another
from directrix.types import Array

ALL = "all"
"""The field that holds all others, of documents with several."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """What an `Index` stores, and what formulas need of it."""

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
