"""Analysis of text: from words to terms, by stemmers and stop words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from directrix.errors import InputError, MissingExtra, short_text

_SAME = {
    # All forms of the apostrophe become one, also that of Hebrew.
    **dict.fromkeys("\u2018\u2019\u02bc\uff07\u05f3", "'"),
    # Hebrew writes this mark within abbreviations.
    "\u05f4": '"',
}
# No reader sees these: soft hyphens, joiners, marks of direction, variation selectors, byte order marks.
_SEEN_ALIKE = re.compile(
    f"[{''.join(_SAME)}\xad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]"
)
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_APART = re.compile(
    rf"[{_KATAKANA}\u3005-\u3007\u3021-\u3029\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    rf"\U00020000-\U0003ffff](?:(?<=[{_KATAKANA}])[{_KATAKANA}]*+)?"
)
"""Runs of Katakana, and single ideographs and letters of Hiragana: each is a word."""
_CUTS = {
    **dict.fromkeys(("porter", "lovins"), re.compile("'s$")),
    "french": re.compile("^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'"),
    "italian": re.compile("^(?:[cdlmstv]|all|agl|coll|dall|dagl|dell|degl|gl|nell|negl|pell|sull|sugl|un)'"),
    "catalan": re.compile("^[dlmnst]'"),
    "irish": re.compile("^[bdm]'"),
}
"""Articles and endings with an apostrophe, which these stemmers leave in some or all versions."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, by the same rules for documents, queries and stop words.

    Words are those of Unicode's rules (UAX #29): letters with their combining marks, digits and underscores;
    an apostrophe or a full stop between two letters, and a full stop or a comma between two digits, are part
    of the word. An ideograph, or a letter of Hiragana, is a word of its own. Texts that readers see alike
    have the same words: case is folded, characters are composed (NFC), and invisible characters are left out.
    Cost: O(length of the text).
    """
    if text.isascii():
        return _pattern().findall(text.lower())
    text = unicodedata.normalize("NFC", text).casefold()
    text = _SEEN_ALIKE.sub(lambda match: _SAME.get(match[0], ""), text)
    # The lower case of the Turkish capital dotted I has a combining dot, which other words lack. Without the
    # dot, the letter may combine with the mark after it.
    text = re.sub("i\u0307+", "i", unicodedata.normalize("NFC", text))
    text = unicodedata.normalize("NFC", text)
    return _pattern().findall(_APART.sub(r" \g<0> ", text))


@cache
def _pattern() -> re.Pattern[str]:
    """Compile the pattern of a word, for which marks are looked up: `re` has no class of them."""
    marks = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M")
    # `re` looks a character up in a table if it is below U+10000, and else in one range after another.
    low, high = re.sub(r"[^\0-\uffff]", "", marks), re.sub(r"[\0-\uffff]", "", marks)
    run = rf"[\w{low}]*+(?:(?=[^\0-\uffff])[{high}][\w{low}]*+)*+"
    letter = r"[^\W\d_]"
    in_letters = rf"['.\xb7\u055f\u2024\u2027\ufe52\uff0e](?={letter})(?<={letter}.|[{marks}].)"
    in_number = r"['.,;\u060c\u066b\u066c\u2024\u2044\ufe50\ufe52\uff0c\uff0e](?=\d)(?<=\d.)"
    in_hebrew = '"(?=[\u05d0-\u05ea])(?<=[\u0591-\u05f2].)'
    return re.compile(rf"\w{run}(?:(?:{in_letters}|{in_number}|{in_hebrew}){run})*+")


STOP_WORDS = tuple(
    words_of(
        "a an and are as at be but by for if in into is it no not of on or such that the their then there "
        "these they this to was will with"
    )
)
"""The 33 English stop words of Lucene."""


def check_analyzer(name: str) -> None:
    """Raise `InputError` unless a name is "none" or a Snowball stemmer, with or without ``+stop``.

    Raises `MissingExtra` if no stemmer is installed.
    """
    stemmer, plus, stop = name.partition("+")
    if stemmer != "none" and stemmer not in (stemmers := _library().algorithms()):
        raise InputError(
            f"analyzer {short_text(name)}: there is no stemmer {stemmer!r}; choose none or one of "
            f"{', '.join(stemmers)}, followed by +stop to leave out stop words."
        )
    if plus and stop != "stop":
        raise InputError(
            f"analyzer {short_text(name)}: after + only stop is known. Type e.g. {stemmer}+stop."
        )


def analyzed(words: Sequence[str], analyzer: str, stop_words: Collection[str]) -> list[str | None]:
    """Return the term of every word; None for a stop word that the analyzer leaves out."""
    stemmer, leaves_out, _ = analyzer.partition("+")
    terms = [_CUTS[stemmer].sub("", word) for word in words] if stemmer in _CUTS else words
    terms = terms if stemmer == "none" else _library().Stemmer(stemmer).stemWords(terms)
    pairs = zip(words, terms, strict=True)
    return [None if leaves_out and word in stop_words else term for word, term in pairs]


def _library() -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise MissingExtra("text", "to reduce words to their stems") from error
    return Stemmer
