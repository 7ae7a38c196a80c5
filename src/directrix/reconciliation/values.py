"""The value of a measure under every setting."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import DCG
from directrix.measures.precision import Recall
from directrix.measures.prepared import Prepared
from directrix.measures.terms import query_sums
from directrix.reconciliation.material import Material
from directrix.reconciliation.settings import ARRANGED, TOGETHER, Space
from directrix.types import Array, Float64Array, Int64Array, Progress

# The value of a query without relevant documents, by the field `empty`.
_FILLS = {"zero": 0.0, "one": 1.0, "skip": np.nan}
# Decimals in which the values of a query must agree. Two ways to the same formula differ in the last bits.
_DIGITS = 10


class _Formula(NamedTuple):
    """A measure, or a quotient of measures, that a setting defines, with empty queries as NaN."""

    measure: Any
    divisor: str = ""
    """"whole ideal": the ideal DCG without a cut-off; "retrieved": the share of relevant ones retrieved."""
    together: bool = False

    @classmethod
    def of(cls, measure: RankingMeasure, setting: dict[str, Any]) -> _Formula:
        field_names = {field.name for field in fields(measure)}
        chosen = {name: value for name, value in setting.items() if name in field_names}
        together, divisor = chosen.get("ties") == TOGETHER, ""
        if together or chosen.get("ties") in ARRANGED:
            chosen["ties"] = "order"
        if setting.get("ideal") == "whole list":
            divisor = "whole ideal"
        if measure.symbol == "AP" and chosen.get("denominator") == "retrieved":
            divisor, chosen["denominator"] = "retrieved", "relevant"
        if "empty" in field_names:
            chosen["empty"] = "skip"
        return cls(replace(measure, **chosen), divisor, together)

    def parts(self) -> tuple[RankingMeasure, ...]:
        """Return the measures that it combines."""
        m = self.measure
        if self.divisor == "whole ideal":
            return (DCG(k=m.k, gain=m.gain, discount=m.discount, ties=m.ties),)
        return (m, Recall(k=m.k, rel=m.rel, ties=m.ties, empty="skip")) if self.divisor else (m,)

    def combine(self, terms: list[Float64Array], docs: _Documents) -> Float64Array:
        """Return the values of the queries from those of its parts."""
        value = terms[0]
        if self.together:
            rel = float(self.measure.rel)
            value = precision_of_thresholds(docs.scores, docs.labels, docs.qptr, rel)
        if not self.divisor:
            return value
        # The quotient (sum / R) / (hits / R) is sum / hits, the mean over the retrieved relevant documents.
        if self.divisor == "retrieved":
            divisor, without = terms[1], np.where(np.isnan(value), np.nan, 0.0)
        else:
            divisor = replace(self.measure, k=None).from_labels(docs.labels, docs.qptr)
            without = np.full(len(value), np.nan)
        return np.asarray(np.divide(value, divisor, out=without, where=divisor > 0.0))


class _Documents(NamedTuple):
    """Documents of some settings, as measures take them."""

    scores: Float64Array
    labels: Float64Array
    judgments: Float64Array
    qptr: Int64Array
    doc_ids: Any

    @classmethod
    def of(
        cls, material: Material, order: str, *, one_list: bool, dropped: bool, removed: bool
    ) -> _Documents:
        """Select the documents, and bring them into the order in which tied ones are ranked."""
        query, ids = material.query, material.doc_ids
        kept = np.ones(len(query), dtype=bool)
        if dropped:
            kept &= material.retrieved
        if removed:
            kept &= ~material.unjudged
        if one_list:
            kept &= material.both[query]
            query = np.zeros_like(query)
        rows = np.flatnonzero(kept)
        if order:
            if order == "id ascending":
                assert ids is not None, "without ids there is no such order"
                key: Array = np.unique([str(name) for name in ids.tolist()], return_inverse=True)[1]
            else:
                key = -material.labels if order == "best" else -np.arange(len(query))
            rows = rows[np.lexsort((key[rows], query[rows]))]
        n_queries = 1 if one_list else len(material.qptr) - 1
        qptr = np.append(0, np.cumsum(np.bincount(query[rows], minlength=n_queries)))
        arrays = material.scores[rows], material.labels[rows], material.judgments[rows]
        return cls(*arrays, qptr, None if ids is None else ids[rows])


def compute(
    measure: RankingMeasure, space: Space, material: Material, progress: Progress | None = None
) -> tuple[Float64Array, Int64Array]:
    """Return the value of every setting, and a number that settings share which agree on all queries.

    Measures of the same documents share one sort. Settings that differ only in the value of empty queries, or
    in the averaged queries, share their values. Raises `InputError` if all settings are undefined.
    """
    means, signatures = np.empty(len(space.codes)), np.empty(len(space.codes), dtype=np.int64)
    work: dict[tuple[Any, ...], dict[_Formula, list[int]]] = {}
    every_setting = [space.setting(row) for row in range(len(space.codes))]
    for row, setting in enumerate(every_setting):
        documents = (
            setting["ties"] if setting.get("ties") in ARRANGED else "",
            setting.get("queries") == "one list",
            setting.get("missing") == "dropped",
            setting.get("unjudged") == "removed",
        )
        work.setdefault(documents, {}).setdefault(_Formula.of(measure, setting), []).append(row)
    query_sets = {"judged": material.judged, "run": material.ranked, "both": material.both}
    asked = {"queries": "both", "empty": getattr(measure, "empty", None)}
    for done, ((order, one_list, dropped, removed), formulas) in enumerate(work.items()):
        if progress is not None:
            progress(done, len(work), order or "settings")
        docs = _Documents.of(material, order, one_list=one_list, dropped=dropped, removed=removed)
        terms = list(dict.fromkeys(term for formula in formulas for term in formula.parts()))
        labels = docs.labels if all(term.sees == "labels" for term in terms) else docs.judgments
        values = Prepared(terms, labels, docs.qptr, docs.doc_ids)(docs.scores)
        of_term = dict(zip(terms, values, strict=True))
        for formula, rows in formulas.items():
            of_queries = formula.combine([of_term[term] for term in formula.parts()], docs)
            for row in rows:
                setting = asked | every_setting[row]
                chosen = of_queries[query_sets.get(setting["queries"], slice(None))]
                chosen = np.where(np.isnan(chosen), _FILLS.get(setting["empty"], np.nan), chosen)
                means[row] = formula.measure.summary(chosen)
                # Adding 0 turns -0 into 0, which has other bytes.
                signatures[row] = hash((np.round(chosen, _DIGITS) + 0.0).tobytes())
    if np.isnan(means).all():
        raise InputError(
            f"{measure.name} is undefined for every query, under every setting; queries need documents of "
            "different labels. Look at the labels with numpy.unique(labels, return_counts=True)."
        )
    return means, signatures


def precision_of_thresholds(
    scores: Float64Array, labels: Float64Array, qptr: Int64Array, rel: float
) -> Float64Array:
    r"""Return average precision over thresholds of the score, :math:`\sum_n (R_n - R_{n-1}) P_n`.

    Each relevant document has the precision at the end of its group of equal scores. The value is NaN for a
    query without relevant documents; those with score -inf count as relevant but gain nothing.

    >>> precision_of_thresholds(np.ones(2), np.array([1.0, 0.0]), np.array([0, 2]), 1.0)
    array([0.5])
    """
    sizes = np.diff(qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-scores, query))
    ranked, relevant = scores[order], (labels[order] >= rel).astype(np.float64)
    n_relevant = query_sums(relevant, qptr)
    is_last = np.append((ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1]), True)[: len(ranked)]
    # The group of a document ends at the next position that is the last of a group.
    last = np.flatnonzero(is_last)[np.cumsum(is_last) - is_last]
    hits = np.cumsum(relevant) - np.repeat(np.append(0.0, np.cumsum(n_relevant))[:-1], sizes)
    precision = hits[last] / (last - np.repeat(qptr[:-1], sizes) + 1.0)
    earned = query_sums(np.where(ranked > -np.inf, relevant * precision, 0.0), qptr)
    return np.asarray(np.divide(earned, n_relevant, out=np.full(len(sizes), np.nan), where=n_relevant > 0.0))
