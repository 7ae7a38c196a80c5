"""How switches and settings are written for people."""

from __future__ import annotations

from typing import Any

_WORDS: dict[str, dict[Any, str]] = {
    "gain": {"exp": "2^label - 1", "linear": "label"},
    "discount": {"log2": "1/log2(1 + rank)", "letor3": "1/log2(rank), ranks 1 and 2 alike"},
    "ties": {
        "expected": "mean over all orders",
        "order": "order of the file",
        "reversed": "order of the file, reversed",
        "trec": "document id, descending",
        "id ascending": "document id, ascending",
        "ranx": "order of ranx's sort",
        "worst": "lowest label first",
        "together": "tied documents retrieved together",
        "best": "highest label first",
    },
    "empty": {"zero": "0", "one": "1", "skip": "left out"},
    "denominator": {
        "relevant": "all relevant documents",
        "capped": "min(relevant documents, k)",
        "retrieved": "retrieved documents",
        "k": "k",
    },
    "ideal": {"cut-off": "cut off at k", "whole list": "of the whole list"},
    "queries": {
        "both": "judged queries of the run",
        "judged": "all judged queries",
        "run": "all queries of the run",
        "one list": "all documents as one query",
    },
    "missing": {"count": "count", "dropped": "dropped"},
    "unjudged": {"not relevant": "not relevant", "removed": "removed"},
    "k": {None: "whole list"},
}
_TITLES = {
    "ties": "order of ties",
    "empty": "queries without relevant documents",
    "rel": "lowest relevant label",
    "k": "cut-off",
    "ideal": "ideal DCG",
    "missing": "relevant documents not retrieved",
    "unjudged": "unjudged documents",
}


def switch_title(switch: str) -> str:
    """Name of a switch for people.

    >>> switch_title("rel")
    'lowest relevant label'
    """
    return _TITLES.get(switch, switch)


def value_words(switch: str, value: Any, symbol: str = "") -> str:
    """Text of a value of a switch; ``symbol`` is the measure's.

    >>> value_words("gain", "linear"), value_words("k", 10)
    ('label', '10')
    """
    if (symbol, switch, value) == ("AP", "denominator", "retrieved"):
        return "relevant documents retrieved"
    return _WORDS.get(switch, {}).get(value, str(value))
