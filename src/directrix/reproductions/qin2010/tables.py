"""Tables 1 to 3 and the numbers of the figures, published values next to ours with the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import paired, paired_t
from directrix.laws.bounds import BOUNDS, rank_bounds
from directrix.reports.crossval import shown
from directrix.reports.report import Section
from directrix.reproductions.paper import beside, paper
from directrix.reproductions.qin2010.claims import ORDERINGS, POSITIONS, SCORES, stated_on
from directrix.reproductions.qin2010.curves import FIGURES, FUTURE_FIGURES, Bounded, ErrorCurve
from directrix.reproductions.qin2010.methods import (
    MAP,
    NDCG_10,
    NDCG_ALL,
    NDCG_EQ_5,
    OWN,
    PUBLISHED_METHODS,
    SHORT,
    ndcg_at,
)
from directrix.reproductions.qin2010.protocol import CollectionResults, Results
from directrix.surrogates.approx import soft_ranks
from directrix.tables import PValue, Table, Value
from directrix.types import Float64Array

_PAPER = paper("qin2010")
_EPOCHS = (1, 10, 50, 100, 200)
_PUBLISHED_ON = ("TD2003", "TD2004")  # collections of Tables 2 and 3


def tables(results: Results) -> tuple[Section, ...]:
    """Make all tables, in the order of the paper."""
    collections = results.collections
    methods = list(next(iter(collections.values())).compared.entries)
    accuracy = [
        _mean_ap("table-2", collections, methods),
        _mean_ap("table-3", collections, ["ApproxNDCG", "ApproxAP"]),
    ]
    if "OHSUMED" in collections:
        ohsumed = collections["OHSUMED"]
        accuracy += [_ndcg_n(ohsumed), _ndcg_curve(ohsumed), _edition_3(ohsumed)]
    if "MQ2008" in collections:
        accuracy.append(_edition_4(collections["MQ2008"]))
    others = {name: one.by_measure for name, one in collections.items() if one.by_measure is not None}
    future = [_future(others), _own(others)] if others else []
    future += [_errors("future-errors", name, collections[name].curves, FUTURE_FIGURES) for name in others]
    chosen = [_chosen(name, one.compared) for name, one in collections.items()]
    chosen += [_chosen(f"{name}, other measures", compared) for name, compared in others.items()]
    errors = [table for name, one in collections.items() for table in _approximation(name, one.curves)]
    sections = (
        Section("Approximation", (_table_1(), *errors)),
        Section("Ranking accuracy", tuple(accuracy)),
        Section("Tests of the orderings", (_tests(collections),)),
        Section("Other measures (future work of the paper)", tuple(future)),
        Section("What validation chose", tuple(chosen)),
    )
    return tuple(section for section in sections if section.tables)


def _table_1() -> Table:
    ours, bounds = soft_ranks(SCORES, alpha=100.0), rank_bounds(SCORES, 100.0)
    ranks = (-SCORES).argsort().argsort() + 1
    columns = zip(SCORES, ranks, POSITIONS, ours, bounds, strict=True)
    rows = [
        (
            f"x{i}",
            float(score),
            int(rank),
            *beside(float(published), float(soft)),
            abs(float(soft - rank)),
            float(bound),
        )
        for i, (score, rank, published, soft, bound) in enumerate(columns, 1)
    ]
    return _PAPER.table("table-1", rows)


def _approximation(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Iterator[Table]:
    """Make a table of the errors, and one of the bounds of the theorems."""
    yield _errors("errors", name, curves, FIGURES)
    bounds = [
        (
            label,
            *(value for kind in BOUNDS for value in _mean_bounds(curve.bounds[kind])),
            sum(bounded.broken for bounded in curve.bounds.values()),
        )
        for label, curve in _curves(curves, FIGURES)
    ]
    yield _PAPER.table("bounds", bounds, name=name)


def _curves(
    curves: Mapping[str, Mapping[float, ErrorCurve]], figures: Sequence[str]
) -> list[tuple[str, ErrorCurve]]:
    return [
        (f"{figure.split()[0]}, {figure.split()[2]} = {value:g}", curve)
        for figure in figures
        for value, curve in curves[figure].items()
    ]


def _errors(
    key: str, name: str, curves: Mapping[str, Mapping[float, ErrorCurve]], figures: Sequence[str]
) -> Table:
    rows = _curves(curves, figures)
    n_epochs = len(rows[0][1].rho)
    epochs = [*(e for e in _EPOCHS if e < n_epochs), n_epochs]
    errors = [
        (label, *(float(curve.rho[e - 1]) for e in epochs), float(curve.rho.mean())) for label, curve in rows
    ]
    columns = ("surrogate", *(f"epoch {e}" for e in epochs), "mean")
    return _PAPER.table(key, errors, columns=columns, name=name)


def _mean_bounds(bounded: Bounded) -> tuple[Value, ...]:
    means = (_mean_where(values, bounded.covered) for values in (bounded.bound, bounded.error))
    return float(bounded.covered.mean()), *means


def _mean_where(values: Float64Array, weights: Float64Array) -> float | None:
    known = ~np.isnan(values)
    return float(np.average(values[known], weights=weights[known])) if known.any() else None


def _mean_ap(key: str, collections: Mapping[str, CollectionResults], methods: Sequence[str]) -> Table:
    columns, groups = ["algorithm"], [("", 1)]
    for name in _PUBLISHED_ON:
        columns += ["published", *(["ours", "difference"] if name in collections else [])]
        groups.append((name, 3 if name in collections else 1))
    others = [name for name in collections if name not in _PUBLISHED_ON]
    columns += ["ours"] * len(others)
    groups += [(name, 1) for name in others]
    rows = []
    for method in methods:
        row: list[Value] = [method]
        for name in _PUBLISHED_ON:
            published = _PAPER.published["mean_ap"].get(method, {}).get(name)
            is_run = name in collections
            row += beside(published, collections[name].compared.mean(method, MAP)) if is_run else [published]
        rows.append([*row, *(collections[name].compared.mean(method, MAP) for name in others)])
    named = _PAPER.captions["notes"]
    notes = [named["ours"]] if len(methods) > len(PUBLISHED_METHODS) else []
    notes += [named["edition"]] if set(_PUBLISHED_ON) & set(collections) else []
    return _PAPER.table(key, rows, columns=columns, groups=groups, notes=notes)


def _ndcg_n(results: CollectionResults) -> Table:
    published, compared = _PAPER.published["ndcg_n"], results.compared
    rows = [
        (
            method,
            *beside(published.get(method), compared.mean(method, NDCG_ALL)),
            compared.mean(method, NDCG_EQ_5),
            compared.mean(method, MAP),
        )
        for method in compared.entries
    ]
    return _PAPER.table("ndcg-n", rows)


def _ndcg_curve(results: CollectionResults) -> Table:
    rows = [
        (method, *(results.compared.mean(method, ndcg_at(k).name) for k in range(1, 11)))
        for method in results.compared.entries
    ]
    return _PAPER.table("ndcg-at-k", rows)


def _edition_3(results: CollectionResults) -> Table:
    rows = [
        (
            method,
            *beside(ap, results.compared.mean(method, MAP)),
            *beside(ndcg, results.compared.mean(method, NDCG_10)),
        )
        for method, (ap, ndcg) in _PAPER.published["letor_3"].items()
    ]
    return _PAPER.table("letor-3", rows)


def _edition_4(results: CollectionResults) -> Table:
    rows = []
    for method, published in _PAPER.published["letor_4"].items():
        values = results.compared.values(method, MAP)
        error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
        rows.append((method, *beside(published, results.compared.mean(method, MAP)), error))
    return _PAPER.table("letor-4", rows)


def _future(others: Mapping[str, CrossValidation]) -> Table:
    rows = [
        (method, *(compared.mean(method, measure) for compared in others.values() for measure in OWN))
        for method in OWN.values()
    ]
    columns = ("surrogate", *(SHORT[measure] for _ in others for measure in OWN))
    groups = (("", 1), *((name, len(OWN)) for name in others))
    return _PAPER.table("future", rows, columns=columns, groups=groups)


def _own(others: Mapping[str, CrossValidation]) -> Table:
    """Compare the surrogate of every measure with the best of the others: question (b) of the paper."""
    rows = []
    for name, compared in others.items():
        for measure, own in OWN.items():
            means = {method: compared.mean(method, measure) for method in OWN.values()}
            mean = means.pop(own)
            rival = max(means, key=means.__getitem__)
            test = paired_t(*(compared.values(method, measure) for method in (own, rival)))
            place = f"{1 + sum(other > mean for other in means.values())} of {len(OWN)}"
            rows.append((name, SHORT[measure], own, mean, place, rival, means[rival], PValue(test.p)))
    return _PAPER.table("own", rows)


def _tests(collections: Mapping[str, CollectionResults]) -> Table:
    rows = []
    for (first, second, measure, *_), name in stated_on(collections, ORDERINGS):
        a, b = (collections[name].compared.values(method, measure) for method in (first, second))
        test, pair = paired_t(a, b), paired(a, b)
        wins = f"{pair.wins}/{pair.losses}/{pair.ties}"
        row = (f"{first} - {second}", name, SHORT[measure], test.difference)
        rows.append((*row, PValue(test.p), PValue(pair.p), wins))
    return _PAPER.table("tests", rows)


def _chosen(name: str, compared: CrossValidation) -> Table:
    rows = []
    for method in compared.entries:
        cells = []
        for result in compared.results[method]:
            tried = [one.settings for one in result.tried]
            varied = [name for name in tried[0] if len({repr(settings[name]) for settings in tried}) > 1]
            kept = result.tried[result.chosen]
            chosen = ", ".join(f"{name} {shown(kept.settings[name])}" for name in varied)
            cells.append(f"{chosen or '-'} ({kept.steps})")
        rows.append((method, *cells, compared.seconds(method)))
    return _PAPER.table("chosen", rows, columns=("algorithm", *compared.folds, "seconds"), name=name)
