"""Documents as numbers of their words."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from directrix.data.grouping import object_array
from directrix.errors import InputError
from directrix.text.analysis import words_of
from directrix.text.documents import Document
from directrix.text.terms import Tokens

Progress = Callable[[int, int, str], None]
"""Takes the number of finished items, of all items (0: not known), and the name of the present one."""


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
