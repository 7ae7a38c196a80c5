"""Values of a measure under every setting of a space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import DCG
from directrix.measures.precision import Recall
from directrix.measures.prepared import Prepared
from directrix.text.reconciliation.material import Material
from directrix.text.reconciliation.switches import ARRANGED, TOGETHER, Space
from directrix.text.reconciliation.together import precision_of_thresholds
from directrix.types import Array, Float64Array, Int64Array

Progress = Callable[[int, int, str], None]
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
    """Of every setting: its value, and a number that settings share if all queries have the same values."""

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
        kept &= (material.ranked & material.judged)[query]
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
    arranged = chosen["ties"] if chosen.get("ties") in ARRANGED else ""
    together = chosen.get("ties") == TOGETHER
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
        which = {"judged": material.judged, "run": material.ranked}.get(queries)
        values = values[material.ranked & material.judged if which is None else which]
    empty = setting.get("empty", asked)
    return values if empty is None else np.where(np.isnan(values), _FILLS[empty], values)
