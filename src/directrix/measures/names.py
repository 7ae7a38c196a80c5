"""Measures from text: the `ir-measures` grammar, aliases, every ``repr``, and the user's modules.

In: a text, or anything else that names a measure. Out: the measure, a frozen value:

>>> measure("nDCG(gain=linear)@10")
NDCG(k=10, gain='linear', discount='log2', ties='expected', empty='zero')
>>> measure("recip_rank") == measure("MRR") == measure("RR")
True
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from numbers import Number
from typing import Any

from directrix.errors import NO_ITEMS, InputError, short_text
from directrix.measures.base import RankingMeasure
from directrix.parsing import (
    IN_MODULE,
    LONGEST,
    UNREADABLE,
    Call,
    build,
    call_of,
    import_named,
    parse_tree,
    unknown_name,
)
from directrix.registry import MEASURES, classes

# Patterns of trec_eval's names, and the text of the same measure here, with the number filled in.
_NAMES = {
    r"recip_rank": "RR",
    r"map_cut[_.](\d+)": "AP@{}",
    r"ndcg_cut[_.](\d+)": "nDCG(gain=linear)@{}",
    r"P[_.](\d+)": "P@{}",
    r"recall[_.](\d+)": "R@{}",
    r"success[_.](\d+)": "Success@{}",
    r"relative_P[_.](\d+)": "P(relative=True)@{}",
    r"Rprec_mult_([\d.]+)": "Rprec(times={})",
    r"iprec_at_recall_([\d.]+)": "IPrec@{}",
    r"gm_map": "GMAP",
    r"set_P": "P",
    r"set_relative_P": "P(relative=True)",
    r"set_recall": "R",
    r"set_F": "SetF",
    r"set_map": "SetAP",
    r"num_q": "NumQ",
    r"num_ret": "NumRet",
    r"num_rel": "NumRel",
    r"num_rel_ret": "NumRet(rel=1)",
}


def from_trec_eval(text: str) -> str:
    """Translate a name that trec_eval prints or takes (P_5, P.5); any other text is returned unchanged.

    The names map, Rprec, bpref and infAP need no translation. The name ndcg is directrix's nDCG, which has
    exponential gains; ndcg_cut_10 has trec_eval's linear ones.
    """
    for pattern, name in _NAMES.items():
        if match := re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            return name.format(*match.groups())
    return text


ALIASES = {
    "recip_rank": "RR",
    "map": "AP",
    "mrr": "RR",
    "prec": "Precision",
    "auc": "ROCArea",
    "tau": "KendallTau",
    "setp": "Precision",
    "setr": "Recall",
    **dict.fromkeys(("hit", "hits", "hitrate", "hit_rate", "hr"), "Success"),
}
"""Other names of measures, in lower case."""
_DEFINED: dict[str, type[RankingMeasure]] = {}
"""User-defined measures, by name in lower case."""
# Whether texts come from a file. A context variable keeps this apart for every thread and task.
_FROM_FILE = ContextVar("from_file", default=False)
# ir_measures writes the gain of nDCG into a field ``dcg``, together with the discount.
_FOREIGN_FIELDS = {("dcg", "log2"): ("gain", "linear"), ("dcg", "exp-log2"): ("gain", "exp")}
# Names such as nDCG10 and nDCG_10, for which a hint writes the cut-off as it is meant.
_NUMBERED = re.compile(r"([A-Za-z]+)_?([0-9]+)")
# Possessive quantifiers never backtrack, so a long text cannot make the match slow.
_CUT_OFF = re.compile(r"\s*+[0-9.]++\s*+")


@dataclass(frozen=True, kw_only=True, repr=False)
class UndefinedMeasure(RankingMeasure):
    """A measure of a model file that is not defined here: the model can predict, but has no score."""

    text: str
    """Text in the file."""

    def __repr__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """Return the text of the file."""
        return self.text

    def check_labels(self, highest: float) -> None:
        """Raise `InputError`: the measure cannot be computed."""
        raise InputError(
            f"measure {self.text!r} of the model file is not defined here; define it first "
            "(directrix.define_measure, or import your module that does), then load the model again, or "
            "choose another one: measure='nDCG@10'."
        )


def measures() -> tuple[str, ...]:
    """Return the short names of all measures, those of `directrix.define_measure` last.

    Examples
    --------
    >>> measures()[:4]
    ('nDCG', 'DCG', 'AP', 'RR')
    """
    return tuple(dict.fromkeys(kind.symbol for kind in [*classes(MEASURES).values(), *_DEFINED.values()]))


def measure(text: Any) -> RankingMeasure:
    """Return the measure that a text names; a measure is returned unchanged.

    Parameters
    ----------
    text : str or measure
        ``NAME(field=value, ...)@cut-off`` in the grammar of ir-measures, any case; the
        parentheses and the cut-off may be missing. Also every ``repr`` of a measure, and the
        aliases MAP, MRR, Prec, AUC, tau, and for Success HitRate, hit_rate, Hit, Hits and HR:
        ``"HitRate@10"``. Also trec_eval's names: map, recip_rank, P_5, recall_100, success_1, map_cut_100,
        iprec_at_recall_0.10, set_F, num_rel_ret, and ndcg_cut_10, with its linear gains (ndcg alone is
        nDCG).

        ``"my_module:MyMeasure@10"`` imports a measure of your own from a Python module of the current
        folder or of ``sys.path``, which runs the code of that module. Names in model files are
        never imported.

        A class of measures, ``NDCG`` or ``NDCG @ 10``, stands for the measure with all other fields at their
        defaults. A measure of the package ir_measures stands for the measure of that name here, with the
        parameters that it was given: ``ir_measures.nDCG @ 10`` is ``"nDCG@10"``, which has exponential gains.

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
    if isinstance(text, type) and issubclass(text, RankingMeasure):
        return text()
    # The package ir_measures need not be installed, so its measures are recognized by their attributes.
    if hasattr(text, "NAME") and hasattr(text, "params"):
        # Its own text omits some parameters, so the text here has all that the measure was given.
        parameters = dict(text.params)
        cut = parameters.pop("cutoff", None)
        pairs = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        text = f"{text.NAME}({pairs})" + ("" if cut is None else f"@{cut}")
    if not isinstance(text, str) or len(text) > LONGEST:
        raise InputError(_unreadable(text))
    return _read_in_file(text) if _FROM_FILE.get() else _read(text)


def listed(measures: Any) -> tuple[list[Any], list[str]]:
    """Return the measures of an argument that takes one or several, as they were given, and their names."""
    # An array without dimensions holds one measure, but cannot be iterated.
    if getattr(measures, "shape", None) == () and hasattr(measures, "item"):
        measures = measures.item()
    is_one = isinstance(measures, str) or not isinstance(measures, Iterable)
    try:
        wanted = [measures] if is_one else list(measures)
    except NO_ITEMS as error:
        raise InputError(
            f"the measures are {short_text(measures)} ({error}); give names of measures."
        ) from None
    is_table = hasattr(measures, "columns")
    if is_table or any(isinstance(entry, Number) for entry in wanted):
        raise InputError(
            f"the measures are {'a table' if is_table else 'numbers'}; measures come first, then scores, "
            'then labels. Type e.g. evaluate("nDCG@10", scores, labels, qid=qid), or '
            'evaluate("nDCG@10", run=run, qrels=qrels).'
        )
    return wanted, [entry if isinstance(entry, str) else measure(entry).name for entry in wanted]


@contextmanager
def texts_of_a_file() -> Iterator[None]:
    """Read texts as in files: they cannot name modules, and unknown measures are `UndefinedMeasure`."""
    token = _FROM_FILE.set(True)
    try:
        yield
    finally:
        _FROM_FILE.reset(token)


def register(kind: type[RankingMeasure]) -> None:
    """Register a class under its symbol and name for `measure`; it replaces an earlier user-defined one.

    Raises `InputError` for the name of a built-in measure.
    """
    for name in (kind.symbol, kind.__name__):
        if name.lower() in _built_in():
            raise InputError(
                f"{name!r} is a name of the built-in measure {_built_in()[name.lower()].symbol}; choose "
                f"another one, e.g. {'My' + name!r}."
            )
    _DEFINED.update({kind.symbol.lower(): kind, kind.__name__.lower(): kind})
    # Texts that were read before may now mean the new class.
    _read.cache_clear()


def defined(name: str) -> type[RankingMeasure] | None:
    """Return the class of a user-defined measure, or None."""
    return _DEFINED.get(name.lower())


@cache
def _built_in() -> dict[str, type[RankingMeasure]]:
    kinds = classes(MEASURES)
    by_name = {name.lower(): kind for name, kind in kinds.items()}
    by_symbol = {kind.symbol.lower(): kind for kind in kinds.values()}
    return by_name | by_symbol | {alias: kinds[name] for alias, name in ALIASES.items()}


def _known() -> dict[str, type[RankingMeasure]]:
    return _built_in() | _DEFINED


def _read_in_file(text: str) -> RankingMeasure:
    # Values are not evaluated yet: the fields of a user's measure may hold values of any kind.
    module, call, _ = _parsed(text, lambda _: None)
    if module:
        raise InputError(f"measure {text!r} names a Python module; names in files are not imported.")
    if call.fields and call.name.lower() not in _known():
        return UndefinedMeasure(text=text)
    return _read(text)


def _parsed(text: str, value: Callable[[ast.expr], Any]) -> tuple[str, Call, int | float | None]:
    """Return the module ("" if none is named), the name with its fields, and the number after @, or None."""
    named = IN_MODULE.fullmatch(text)
    module, rest = named.groups() if named else ("", from_trec_eval(text))
    before, _, after = rest.rpartition("@")
    is_cut = _CUT_OFF.fullmatch(after) is not None
    try:
        call = call_of(parse_tree(before if is_cut else rest), value)
        cut = None if not is_cut else float(after) if "." in after else int(after)
    except UNREADABLE:
        raise InputError(_unreadable(text)) from None
    if call.arguments or not call.name:
        raise InputError(_unreadable(text))
    return module, call, cut


def _value(tree: ast.expr) -> Any:
    # A bare word is text: gain=linear means gain="linear".
    return tree.id if isinstance(tree, ast.Name) else ast.literal_eval(tree)


# Measures are frozen values, and a search asks for the same one thousands of times.
@lru_cache(maxsize=1024)
def _read(text: str) -> RankingMeasure:
    module, call, cut = _parsed(text, _value)
    base = _imported(module, call.name, text) if module else _known().get(call.name.lower())
    if base is None:
        numbered = _NUMBERED.fullmatch(call.name)
        if numbered and numbered[1].lower() in _known():
            meant = "@".join(numbered.groups())
            raise InputError(f"{text!r}: there is no measure {call.name!r}; did you mean {meant}?")
        raise unknown_name(call.name, measures(), "measure", text)
    kind: Any = base if isinstance(base, type) else type(base)
    values: dict[str, Any] = dict(
        _FOREIGN_FIELDS.get((field, str(v)), (field, v)) for field, v in call.fields.items()
    )
    if cut is not None:
        if kind.at not in [field.name for field in fields(kind)]:
            raise InputError(f"measure {text!r}: {kind.symbol} has no cut-off; write {kind.symbol!r}.")
        if kind.at in values:
            raise InputError(
                f"measure {text!r}: the cut-off is given twice, as {kind.at}={values[kind.at]!r} and as "
                f"@{cut}; one is needed, e.g. directrix.measure('{kind.symbol}@{cut}')."
            )
        values[kind.at] = cut
    made: RankingMeasure = build(base, call._replace(fields=values), text)
    return made


def _imported(module: str, name: str, text: str) -> Any:
    """Import a measure, or a class of measures, that the user named."""
    example = "e.g. directrix.measure('my_module:MyMeasure@10')"
    value = import_named(module, name, f"measure {text!r}", example)
    kind = value if isinstance(value, type) else type(value)
    if not issubclass(kind, RankingMeasure):
        raise InputError(
            f"measure {text!r}: the module {module!r} has a {kind.__name__} of that name, not a measure; "
            f"directrix.define_measure makes measures, {example}."
        )
    return value


def _unreadable(text: object) -> str:
    return (
        f"measure {short_text(text, 200)} cannot be read; type NAME, NAME@k or NAME(field=value)@k, "
        "e.g. directrix.measure('nDCG@10')."
    )
