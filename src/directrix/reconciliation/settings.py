"""The settings of a measure: axes of conventions and data, tools as settings, and values under each."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from directrix.measures.base import CHOICES, RankingMeasure
from directrix.measures.convention import convention, conventions
from directrix.measures.dcg import DCG, NDCG
from directrix.measures.precision import AP, BinaryMeasure, Recall
from directrix.measures.prepared import Prepared
from directrix.measures.terms import HIGHEST_EXPONENT, query_sums
from directrix.reconciliation.material import Material
from directrix.types import Array, Float64Array, Int64Array, Progress

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


ARRANGED = ("reversed", "best", "id ascending")
"""Orders of tied documents that measures do not have: documents are rearranged before they are ranked."""

TOGETHER = "together"
"""Tied documents of AP are retrieved together, as by scikit-learn's average_precision_score."""

_MOST_LEVELS = 5  # of relevance that are tried as thresholds
_CUT_OFFS = (5, 10, 20, 32, 100, 1000)  # tried for a measure without one; 32 is that of XGBoost


class Axis(NamedTuple):
    """One switch: its name and its values, the one that was asked for first."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Space:
    """All combinations of the values of some axes that make sense together.

    Parameters
    ----------
    axes : tuple of Axis
    codes : int8 (n_settings, n_axes)
        Position of the value on each axis; the first setting is the one that was asked for, all 0.
    row : int64 (number of values of each axis, ...)
        Row of ``codes`` of every combination, -1 for those without a sense.
    """

    axes: tuple[Axis, ...]
    codes: Array
    row: Array

    def setting(self, row: int) -> dict[str, Any]:
        """Value of every axis in a row of ``codes``."""
        return {
            axis.name: axis.values[code]
            for axis, code in zip(self.axes, self.codes[row].tolist(), strict=True)
        }

    def row_with(self, chosen: dict[str, Any]) -> int:
        """Row of the setting with these values and otherwise those asked for; -1 if there is none."""
        code = []
        for axis in self.axes:
            value = chosen.get(axis.name, axis.values[0])
            if value not in axis.values:
                return -1
            code.append(axis.values.index(value))
        return int(self.row[tuple(code)])

    def value(self, row: int, name: str) -> Any:
        """Value of one axis in a row of ``codes``, None if there is no such axis."""
        return self.setting(row).get(name)


def space_of(measure: RankingMeasure, material: Material) -> Space:
    """Return all settings that these data could show apart, those of every tool among them."""
    axes = [*_axes_of_measure(measure, material), *_axes_of_data(material)]
    axes = [axis for axis in axes if len(axis.values) > 1]
    sizes = [len(axis.values) for axis in axes]
    codes = np.indices(sizes, dtype=np.int8).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), np.int8)
    kept = ~_senseless(axes, codes, measure, material)
    row = np.where(kept, np.cumsum(kept) - 1, -1).reshape(sizes)
    return Space(tuple(axes), np.ascontiguousarray(codes[kept]), row)


def _axes_of_measure(measure: RankingMeasure, material: Material) -> list[Axis]:
    of_tools = _values_of_tools(measure)
    axes = []
    for field in fields(measure):
        name, asked = field.name, getattr(measure, field.name)
        allowed = measure.choices.get(name) or CHOICES.get(name) or ()
        others = [
            *(value for value in allowed or of_tools.get(name, ()) if _possible(name, value, material)),
            *([not asked] if isinstance(asked, bool) else []),
            *_more_values(measure, name, allowed, material),
        ]
        axes.append(Axis(name, tuple(dict.fromkeys([asked, *others]))))
    if isinstance(measure, NDCG):
        axes.append(Axis("ideal", ("cut-off", "whole list")))
    return axes


def _values_of_tools(measure: RankingMeasure) -> dict[str, list[Any]]:
    """Values that tools set each field of the measure to."""
    known = frozenset(field.name for field in fields(measure))
    values: dict[str, list[Any]] = {}
    for tool in map(convention, conventions()):
        if tool.has(measure):
            for name, value in tool.fields_for(type(measure).__name__, known).items():
                values.setdefault(name, []).append(value)
    return values


def _more_values(
    measure: RankingMeasure, name: str, allowed: tuple[Any, ...], material: Material
) -> list[Any]:
    """Values to try that the field of the measure itself does not list."""
    if name == "k":
        return _cut_offs(getattr(measure, name), material)
    if name == "rel" and isinstance(measure, BinaryMeasure):
        labels = np.unique(material.labels)
        return [int(v) if v == int(v) else v for v in labels[labels > 0.0][:_MOST_LEVELS].tolist()]
    if name == "ties" and "order" in allowed:
        ways = [*ARRANGED, *([TOGETHER] if isinstance(measure, AP) else [])]
        return [way for way in ways if way != "id ascending" or material.doc_ids is not None]
    return ["retrieved"] if name == "denominator" and isinstance(measure, AP) else []


def _possible(name: str, value: Any, material: Material) -> bool:
    """Whether the data have what a value needs: order by document ids needs ids, or no ties."""
    if name == "gain" and value == "exp":
        return float(material.labels.max(initial=0.0)) <= HIGHEST_EXPONENT
    return not (name == "ties" and value == "trec") or material.doc_ids is not None or not has_ties(material)


def has_ties(material: Material) -> bool:
    """Whether documents of a query have the same score in single precision, as trec_eval reads it."""
    kept = material.retrieved
    with np.errstate(over="ignore"):
        single = material.scores[kept].astype(np.float32)
    query = material.query[kept]
    order = np.lexsort((single, query))
    return bool(((np.diff(single[order]) == 0) & (np.diff(query[order]) == 0)).any())


def _cut_offs(asked: Any, material: Material) -> list[Any]:
    longest = int(np.diff(material.qptr).max(initial=0))
    if asked is None:
        return [k for k in _CUT_OFFS if k < longest]
    return [k for k in (asked - 1, asked + 1) if k >= 1] + [None]


def _axes_of_data(material: Material) -> list[Axis]:
    ranked, judged = material.ranked, material.judged
    queries = ["both"]
    queries += ["judged"] if (judged & ~ranked).any() else []
    queries += ["run"] if (ranked & ~judged).any() else []
    queries += ["one list"] if material.both.sum() > 1 else []
    return [
        Axis("queries", tuple(queries)),
        Axis("missing", ("count", "dropped") if not material.retrieved.all() else ("count",)),
        Axis("unjudged", ("not relevant", "removed") if material.unjudged.any() else ("not relevant",)),
    ]


def _senseless(axes: list[Axis], codes: Array, measure: RankingMeasure, material: Material) -> Array:
    """Return which combinations have no value, or equal another one of the space by definition."""

    def where(name: str, value: Any) -> Array:
        for column, axis in enumerate(axes):
            if axis.name == name:
                code = axis.values.index(value) if value in axis.values else -1
                return np.asarray(codes[:, column] == code)
        return np.full(len(codes), getattr(measure, name, None) == value)

    # the expectation of a quotient is not the quotient of the expectations
    out = where("denominator", "retrieved") & where("ties", "expected") & isinstance(measure, AP)
    out |= where("ideal", "whole list") & where("k", None)
    out |= where("ties", TOGETHER) & ~where("k", None)  # a cut-off could part a group
    if material.doc_ids is None:
        out |= where("ties", "trec") & where("queries", "one list")
    return out


_ARRAYS_ONLY = {"missing": "dropped"}  # a tool that takes arrays does not see what was not retrieved


class Tool(NamedTuple):
    """A tool, or one of its options: a convention, and what differs from it."""

    name: str
    convention: str
    changes: dict[str, Any]
    symbols: tuple[str, ...] = ()
    """Measures that it is an option of, or has by another name; () = all that the tool has."""
    cut_off: int | None = None
    """Where it cuts off a measure that is written without a cut-off; None: nowhere."""


TOOLS = (
    Tool("trec_eval", "trec_eval", {}),
    Tool("trec_eval -c", "trec_eval", {"queries": "judged"}),
    Tool("trec_eval -J", "trec_eval", {"unjudged": "removed"}),
    Tool("gdeval", "gdeval", {}),
    Tool("letor3", "letor3", _ARRAYS_ONLY),
    Tool("letor4", "letor4", _ARRAYS_ONLY),
    Tool("sklearn", "sklearn", _ARRAYS_ONLY),
    Tool("sklearn average_precision_score", "sklearn", _ARRAYS_ONLY | {"ties": "together"}, ("AP",)),
    Tool("lightgbm", "lightgbm", _ARRAYS_ONLY),
    Tool("xgboost", "xgboost", _ARRAYS_ONLY, cut_off=32),
    Tool("xgboost NAME-", "xgboost", _ARRAYS_ONLY | {"empty": "zero"}, ("nDCG", "AP"), 32),
    Tool("catboost", "catboost", _ARRAYS_ONLY),
    Tool("catboost type=Exp", "catboost", _ARRAYS_ONLY | {"gain": "exp"}, ("nDCG", "DCG")),
    Tool("ranx", "ranx", {}),
    Tool("ranx NAME_burges", "ranx", {"gain": "exp"}, ("nDCG", "DCG")),
)
"""Tools in the order in which they are reported."""

OWN = "directrix"
"""Name of the setting that was asked for."""


def rows_of_tools(measure: RankingMeasure, space: Space) -> dict[str, int]:
    """Return the row of each tool that has the measure, by its name; first the measure as it was given."""
    known = frozenset(field.name for field in fields(measure))
    values = {axis.name: axis.values for axis in space.axes}
    rows = {OWN: 0}
    for tool in TOOLS:
        preset = convention(tool.convention)
        if measure.symbol not in tool.symbols and (tool.symbols or not preset.has(measure)):
            continue
        wanted = preset.fields_for(type(measure).__name__, known)
        chosen = {name: value for name, value in wanted.items() if value in values.get(name, ())}
        unreachable = [
            name for name, value in wanted.items() if name not in chosen and value != getattr(measure, name)
        ]
        # a query set or documents that the data do not have change nothing
        option = {name: value for name, value in tool.changes.items() if value in values.get(name, ())}
        if " " in tool.name and option == {}:
            continue
        if getattr(measure, "k", 0) is None and tool.cut_off in values.get("k", ()):
            option["k"] = tool.cut_off
        row = space.row_with(chosen | option)
        if row >= 0 and not any(_matters(name, measure, wanted[name]) for name in unreachable):
            rows[tool.name] = row
    return rows


def _matters(name: str, measure: RankingMeasure, value: Any) -> bool:
    """Whether a field of a tool that the space lacks is one that the measure could have."""
    return value in measure.choices.get(name, (value,))


def precision_of_thresholds(
    scores: Float64Array, labels: Float64Array, qptr: Int64Array, rel: float
) -> Float64Array:
    r"""Average precision over thresholds of the score, :math:`\sum_n (R_n - R_{n-1}) P_n`, of every query.

    Each relevant document has the precision at the end of its group of equal scores. NaN for a query without
    relevant documents; those of score -inf count among the relevant ones and earn nothing.

    >>> precision_of_thresholds(np.ones(2), np.array([1.0, 0.0]), np.array([0, 2]), 1.0)
    array([0.5])
    """
    sizes = np.diff(qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-scores, query))
    ranked, relevant = scores[order], (labels[order] >= rel).astype(np.float64)
    n_relevant = query_sums(relevant, qptr)
    is_last = np.append((ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1]), True)[: len(ranked)]
    place = np.arange(len(ranked))
    # the last place of each document's group: the next place that is last
    last = place[is_last][np.cumsum(is_last) - is_last]
    hits = np.cumsum(relevant) - np.repeat(np.append(0.0, np.cumsum(n_relevant))[:-1], sizes)
    precision = hits[last] / (last - np.repeat(qptr[:-1], sizes) + 1.0)
    earned = query_sums(np.where(ranked > -np.inf, relevant * precision, 0.0), qptr)
    return np.asarray(np.divide(earned, n_relevant, out=np.full(len(sizes), np.nan), where=n_relevant > 0.0))


_FILLS = {"zero": 0.0, "one": 1.0, "skip": np.nan}
_DIGITS = 10  # to which values of a query are the same: two ways to the same formula differ in the last bits


class Variant(NamedTuple):
    """The documents that are ranked, and their order where scores tie."""

    arranged: str
    one_list: bool
    missing: str
    unjudged: str


class VariantDocuments(NamedTuple):
    """The documents of a variant, as measures take them."""

    scores: Float64Array
    labels: Float64Array
    judgments: Float64Array
    qptr: Int64Array
    doc_ids: Array | None


class Computed(NamedTuple):
    """The value of every setting, and a number shared by settings that agree on all queries."""

    means: Float64Array
    signatures: Int64Array


def documents_of_variant(material: Material, variant: Variant) -> VariantDocuments:
    """Select and order the documents of a variant."""
    kept = np.ones(len(material.scores), dtype=bool)
    if variant.missing == "dropped":
        kept &= material.retrieved
    if variant.unjudged == "removed":
        kept &= ~material.unjudged
    query = material.query
    if variant.one_list:
        kept &= material.both[query]
        query = np.zeros_like(query)
    key = _order_of_ties(material, variant.arranged)
    rows = np.flatnonzero(kept)
    if key is not None:
        rows = rows[np.lexsort((key[rows], query[rows]))]
    n_queries = 1 if variant.one_list else len(material.qptr) - 1
    qptr = np.append(0, np.cumsum(np.bincount(query[rows], minlength=n_queries)))
    ids = None if material.doc_ids is None else material.doc_ids[rows]
    parts = material.scores[rows], material.labels[rows], material.judgments[rows]
    return VariantDocuments(*parts, qptr, ids)


def _order_of_ties(material: Material, arranged: str) -> Array | None:
    """Key by which documents are sorted before they are ranked; None: as they are."""
    if arranged == "reversed":
        return -np.arange(len(material.scores))
    if arranged == "best":
        return -material.labels
    if arranged == "id ascending":
        assert material.doc_ids is not None, "without ids there is no such order"
        return np.unique([str(name) for name in material.doc_ids.tolist()], return_inverse=True)[1]
    return None


class SettingMeasure(NamedTuple):
    """A measure as a setting defines it: one that exists, or a quotient of two."""

    measure: RankingMeasure
    ideal: str = ""
    denominator: str = ""
    together: bool = False

    def parts(self) -> tuple[RankingMeasure, ...]:
        """Measures whose values it is made of."""
        m: Any = self.measure
        if self.ideal == "whole list":
            return (DCG(k=m.k, gain=m.gain, discount=m.discount, ties=m.ties),)
        if self.denominator == "retrieved":
            return m, Recall(k=m.k, rel=m.rel, ties=m.ties, empty="skip")
        return (m,)

    def combine(self, parts: list[Float64Array], docs: VariantDocuments) -> Float64Array:
        """Values of the queries from those of its parts."""
        first = parts[0]
        if self.together:
            level = float(getattr(self.measure, "rel", 1))
            first = precision_of_thresholds(docs.scores, docs.labels, docs.qptr, level)
        if self.ideal == "whole list":
            m: Any = self.measure
            whole = replace(m, k=None)
            norm = np.asarray(whole.label_part(docs.labels, docs.qptr))
            return np.asarray(np.divide(first, norm, out=np.full(len(norm), np.nan), where=norm > 0.0))
        if self.denominator == "retrieved":  # (sum / R) / (hits / R)
            out = np.where(np.isnan(first), np.nan, 0.0)
            return np.asarray(np.divide(first, parts[1], out=out, where=parts[1] > 0.0))
        return first


def measure_of_setting(measure: RankingMeasure, setting: dict[str, Any]) -> tuple[SettingMeasure, str]:
    """Return the measure of a setting, without its empty queries, and how its documents are arranged."""
    known = {field.name for field in fields(measure)}
    chosen = {name: value for name, value in setting.items() if name in known}
    ties = chosen.get("ties")
    arranged, together = ties if ties in ARRANGED else "", ties == TOGETHER
    if arranged or together:
        chosen["ties"] = "order"
    denominator = "retrieved" if chosen.get("denominator") == "retrieved" and measure.symbol == "AP" else ""
    if denominator:
        chosen["denominator"] = "relevant"
    if "empty" in known:
        chosen["empty"] = "skip"
    return SettingMeasure(
        replace(measure, **chosen), setting.get("ideal", ""), denominator, together
    ), arranged


def compute(
    measure: RankingMeasure, space: Space, material: Material, progress: Progress | None = None
) -> Computed:
    """Evaluate every setting of a space.

    Measures of the same documents share one sort, and settings that differ in what an empty query counts or
    in which queries are averaged share their values.
    """
    means, signatures = np.empty(len(space.codes)), np.empty(len(space.codes), dtype=np.int64)
    work: dict[Variant, dict[SettingMeasure, list[int]]] = {}
    settings = [space.setting(row) for row in range(len(space.codes))]
    for row, setting in enumerate(settings):
        formula, arranged = measure_of_setting(measure, setting)
        variant = Variant(
            arranged,
            setting.get("queries") == "one list",
            setting.get("missing", "count"),
            setting.get("unjudged", "not relevant"),
        )
        work.setdefault(variant, {}).setdefault(formula, []).append(row)
    asked = getattr(measure, "empty", None)
    for done, (variant, formulas) in enumerate(work.items()):
        if progress is not None:
            progress(done, len(work), variant.arranged or "settings")
        for formula, values in _values(formulas, documents_of_variant(material, variant)):
            for row in formulas[formula]:
                chosen = _averaged(values, settings[row], material, asked)
                means[row] = formula.measure.summary(chosen)
                signatures[row] = hash((np.round(chosen, _DIGITS) + 0.0).tobytes())
    return Computed(means, signatures)


def _values(formulas: Any, docs: VariantDocuments) -> list[tuple[SettingMeasure, Float64Array]]:
    parts = list(dict.fromkeys(part for formula in formulas for part in formula.parts()))
    labels = docs.labels if all(part.sees == "labels" for part in parts) else docs.judgments
    of_part = dict(zip(parts, Prepared(parts, labels, docs.qptr, docs.doc_ids)(docs.scores), strict=True))
    return [(f, f.combine([of_part[part] for part in f.parts()], docs)) for f in formulas]


def _averaged(
    values: Float64Array, setting: dict[str, Any], material: Material, asked: str | None
) -> Float64Array:
    """Values of the queries over which a setting averages."""
    queries = setting.get("queries", "both")
    if queries != "one list":
        averaged = {"judged": material.judged, "run": material.ranked, "both": material.both}
        values = values[averaged[queries]]
    empty = setting.get("empty", asked)
    return values if empty is None else np.where(np.isnan(values), _FILLS[empty], values)
