"""From text to measures: the `ir-measures` grammar, aliases, and every ``repr``."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import fields
from functools import lru_cache
from typing import Any

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.cascade import ERR, RBP
from directrix.measures.dcg import DCG, NDCG
from directrix.measures.pairs import KendallTau, ROCArea
from directrix.measures.precision import AP, RR, IPrec, Precision, Recall, RPrecision, Success

__all__ = ["measure", "measures"]

_CLASSES: tuple[type[RankingMeasure], ...] = (
    NDCG, DCG, AP, RR, Precision, Recall, Success, RPrecision, IPrec, ERR, RBP, ROCArea, KendallTau,
)  # fmt: skip
_ALIASES = {"map": AP, "mrr": RR, "prec": Precision, "auc": ROCArea, "tau": KendallTau, "rprec": RPrecision}
_BY_NAME: dict[str, type[RankingMeasure]] = (
    {cls.__name__.lower(): cls for cls in _CLASSES} | {cls.symbol.lower(): cls for cls in _CLASSES} | _ALIASES
)
# how ir_measures spells the gain of nDCG
_FOREIGN_FIELDS = {"dcg": {"log2": ("gain", "linear"), "exp-log2": ("gain", "exp")}}
_PATTERN = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\((.*)\))?\s*(?:@\s*([0-9.]+))?\s*", re.DOTALL)


def measures() -> tuple[str, ...]:
    """Short names of all measures.

    Examples
    --------
    >>> measures()[:4]
    ('nDCG', 'DCG', 'AP', 'RR')
    """
    return tuple(cls.symbol for cls in _CLASSES)


def measure(text: str | RankingMeasure) -> RankingMeasure:
    """Return the measure that a text names; a measure is returned as it is.

    Parameters
    ----------
    text : str or measure
        ``NAME(field=value, ...)@cut-off`` in the grammar of ir-measures, any case; the
        parentheses and the cut-off may be missing. Also every ``repr`` of a measure, and the
        aliases MAP, MRR, Prec, AUC, tau.

    Raises
    ------
    InputError
        If no measure has that name, or it has no such field or value.

    Examples
    --------
    >>> measure("nDCG@10")
    NDCG(k=10, gain='exp', discount='log2', ties='expected', empty='zero')
    >>> measure("map(rel=2)@100").name
    'AP(rel=2)@100'
    """
    if isinstance(text, RankingMeasure):
        return text
    if not isinstance(text, str):
        raise InputError(_unreadable(text))
    return _read(text)


@lru_cache(maxsize=1024)  # measures are frozen values, and a search asks for the same one thousands of times
def _read(text: str) -> RankingMeasure:
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise InputError(_unreadable(text))
    name, arguments, cut = match.groups()
    cls = _BY_NAME.get(name.lower())
    if cls is None:
        raise InputError(_unknown_name(name, text))
    given = _arguments(arguments or "", text)
    if cut is not None:
        if cls.at not in {field.name for field in fields(cls)}:
            raise InputError(f"measure {text!r}: {cls.symbol} has no cut-off; write {cls.symbol!r}.")
        if cls.at in given:
            raise InputError(
                f"measure {text!r}: the cut-off is given twice, as {cls.at}={given[cls.at]!r} and as @{cut}; "
                f"one is needed, e.g. directrix.measure('{cls.symbol}@{cut}')."
            )
        given[cls.at] = _number(cut, text)
    known = [field.name for field in fields(cls)]
    for field in given:
        if field not in known:
            raise InputError(
                f"measure {text!r}: {cls.__name__} has no field {field!r}; its fields are {', '.join(known)}."
            )
    return cls(**given)


def _unreadable(text: object) -> str:
    return (
        f"measure {text!r} cannot be read; needed is NAME, NAME@k or NAME(field=value)@k, "
        "e.g. directrix.measure('nDCG@10')."
    )


def _unknown_name(name: str, text: str) -> str:
    near = difflib.get_close_matches(name.lower(), _BY_NAME, n=3, cutoff=0.5)
    symbols = dict.fromkeys(_BY_NAME[key].symbol for key in near)
    return (
        f"measure {text!r}: there is no measure {name!r}"
        + (f"; did you mean {' or '.join(symbols)}? " if symbols else ". ")
        + f"Known are {', '.join(measures())}."
    )


def _arguments(inside: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        given: dict[str, Any] = {}
        for keyword in call.keywords:
            # an unquoted word is a string: gain=linear
            value = (
                keyword.value.id if isinstance(keyword.value, ast.Name) else ast.literal_eval(keyword.value)
            )
            field = str(keyword.arg)
            if isinstance(value, str) and value in _FOREIGN_FIELDS.get(field, {}):
                field, value = _FOREIGN_FIELDS[field][value]
            given[field] = value
    except (SyntaxError, ValueError):
        raise InputError(
            f"measure {text!r}: {inside!r} cannot be read; inside the parentheses stand "
            "field=value pairs, e.g. directrix.measure('AP(rel=2)@100')."
        ) from None
    return given


def _number(cut: str, text: str) -> int | float:
    try:
        return float(cut) if "." in cut else int(cut)
    except ValueError:
        raise InputError(
            f"measure {text!r}: the cut-off {cut!r} is not a number, e.g. directrix.measure('nDCG@10')."
        ) from None
