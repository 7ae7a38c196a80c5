"""Tables 1 to 3 and the numbers of the figures, published values next to ours with the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from directrix.experiments.significance import paired, paired_t
from directrix.laws.bounds import BOUNDS
from directrix.reports.tables import Table, Value
from directrix.reproductions.qin2010.claims import ORDERINGS
from directrix.reproductions.qin2010.curves import FIGURES, Bounded, ErrorCurve
from directrix.reproductions.qin2010.methods import (
    MAP,
    NDCG_10,
    NDCG_ALL,
    NDCG_EQ_5,
    PUBLISHED_METHODS,
    SHORT,
    ndcg_at,
)
from directrix.reproductions.qin2010.protocol import CollectionResults, Results
from directrix.reproductions.qin2010.published import LETOR_3, MEAN_AP, NDCG_N, POSITIONS, SCORES
from directrix.reproductions.reproduction import TableGroup
from directrix.reproductions.text import shown
from directrix.surrogates.approx_rank import soft_ranks
from directrix.types import Float64Array

_EPOCHS = (1, 10, 50, 100, 200)
_PUBLISHED_ON = ("TD2003", "TD2004")  # collections of Tables 2 and 3
_MEANS = "Means of the test folds."
_DISCOUNT = (
    "NDCG has the discount of LETOR's script (1, 1, 1/log2 3, ...), but for the column of Eq. 5 "
    "(1/log2(1 + rank))."
)
_OURS = "ListNet, RankSVM and the rows with L-BFGS are not in the paper."
_EDITION = "Published values are of the edition LETOR 2.0, with other features, and need not agree."
_KINDS = {"gap": "least gap (Cor. 4)", "ranks": "all positions", "relevant": "relevant positions"}


def tables(results: Results) -> tuple[TableGroup, ...]:
    """Make all tables, in the order of the paper."""
    collections = results.collections
    methods = list(next(iter(collections.values())).compared.entries)
    accuracy = [
        _mean_ap("Table 2: ranking accuracy in terms of MAP", collections, methods),
        _mean_ap("Table 3: ApproxNDCG and ApproxAP in terms of MAP", collections, ["ApproxNDCG", "ApproxAP"]),
    ]
    if "OHSUMED" in collections:
        ohsumed = collections["OHSUMED"]
        accuracy += [_ndcg_n(ohsumed), _ndcg_curve(ohsumed), _edition_3(ohsumed)]
    errors = [table for name, one in collections.items() for table in _approximation(name, one.curves)]
    return (
        TableGroup("Approximation", (_table_1(), *errors)),
        TableGroup("Ranking accuracy", tuple(accuracy)),
        TableGroup("Tests of the orderings", (_tests(collections),)),
        TableGroup("What validation chose", tuple(map(_chosen, collections.values()))),
    )


def _table_1() -> Table:
    ours = soft_ranks(SCORES, alpha=100.0)
    ranks = (-SCORES).argsort().argsort() + 1
    rows = [
        (f"x{i}", float(score), int(rank), float(published), float(soft), float(soft - published))
        for i, (score, rank, published, soft) in enumerate(
            zip(SCORES, ranks, POSITIONS, ours, strict=True), 1
        )
    ]
    heads = ("document", "score", "position", "published", "ours", "difference")
    return Table("Table 1: position approximation at alpha = 100", heads, tuple(rows), digits=5)


def _approximation(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Iterator[Table]:
    """Make a table of the errors, and one of the bounds of the theorems."""
    rows = [
        (f"{figure.split()[0]}, {figure.split()[2]} = {value:g}", curve)
        for figure in FIGURES
        for value, curve in curves[figure].items()
    ]
    n_epochs = len(rows[0][1].rho)
    epochs = [*(e for e in _EPOCHS if e < n_epochs), n_epochs]
    yield Table(
        f"Figures 1 to 3: error of approximation, {name}",
        ("surrogate", *(f"epoch {e}" for e in epochs), "mean"),
        tuple(
            (label, *(float(curve.rho[e - 1]) for e in epochs), float(curve.rho.mean()))
            for label, curve in rows
        ),
        notes=(
            "rho: mean over the training queries of fold 1 of |surrogate - measure|; accuracy is 1 - rho.",
            "By alpha with beta = 10, by beta with alpha = 100. The paper prints curves of TD2004 (ApproxAP) "
            "and OHSUMED (ApproxNDCG), not numbers, and does not give its values of alpha and beta.",
        ),
        digits=4,
    )
    yield Table(
        f"Bounds of the theorems, {name}",
        ("surrogate", *["share", "bound", "error"] * len(BOUNDS), "above"),
        tuple(
            (
                label,
                *(value for kind in BOUNDS for value in _mean_bounds(curve.bounds[kind])),
                sum(bounded.broken for bounded in curve.bounds.values()),
            )
            for label, curve in rows
        ),
        groups=(("", 1), *((_KINDS[kind], 3) for kind in BOUNDS), ("", 1)),
        notes=(
            "Theorem 5 (ApproxAP) or 6 (ApproxNDCG), of the error eps of soft positions: bounded by the "
            "least gap of scores; the largest measured error of all documents; that of relevant documents, "
            "which is all that the proofs use.",
            "share: of queries times epochs that the theorem covers: no scores tie, for ApproxAP eps < 1/2, "
            "and the bound is below 1. bound, error: their means over these. above: number of errors above "
            "one of their bounds.",
        ),
        digits=4,
    )


def _mean_bounds(bounded: Bounded) -> tuple[Value, ...]:
    means = (_mean_where(values, bounded.covered) for values in (bounded.bound, bounded.error))
    return float(bounded.covered.mean()), *means


def _mean_where(values: Float64Array, weights: Float64Array) -> float | None:
    known = ~np.isnan(values)
    return float(np.average(values[known], weights=weights[known])) if known.any() else None


def _mean_ap(title: str, collections: Mapping[str, CollectionResults], methods: Sequence[str]) -> Table:
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
            published = MEAN_AP.get(method, {}).get(name)
            row.append(published)
            if name in collections:
                ours = collections[name].compared.mean(method, MAP)
                row += [ours, None if published is None else ours - published]
        row += [collections[name].compared.mean(method, MAP) for name in others]
        rows.append(tuple(row))
    notes = (_MEANS, *([_OURS] if len(methods) > len(PUBLISHED_METHODS) else []))
    if set(_PUBLISHED_ON) & set(collections):
        notes = (*notes, _EDITION)
    return Table(title, tuple(columns), tuple(rows), tuple(groups), notes)


def _ndcg_n(results: CollectionResults) -> Table:
    rows: list[tuple[Value, ...]] = []
    for method in results.compared.entries:
        published, ours = NDCG_N.get(method), results.compared.mean(method, NDCG_ALL)
        others = [results.compared.mean(method, measure) for measure in (NDCG_EQ_5, MAP)]
        rows.append((method, published, ours, None if published is None else ours - published, *others))
    heads = ("algorithm", "published", "ours", "difference", "by Eq. 5", "MAP")
    notes = (_MEANS, _DISCOUNT, _OURS, _EDITION)
    title = "NDCG@n on OHSUMED (Sect. 6.4 and 6.5)"
    groups = (("", 1), ("NDCG@n", 4), ("", 1))
    return Table(title, heads, tuple(rows), groups, notes=notes, digits=4)


def _ndcg_curve(results: CollectionResults) -> Table:
    rows: list[tuple[Value, ...]] = [
        (method, *(results.compared.mean(method, ndcg_at(k).name) for k in range(1, 11)))
        for method in results.compared.entries
    ]
    heads = ("algorithm", *(f"@{k}" for k in range(1, 11)))
    notes = (_MEANS, _DISCOUNT, _OURS, "The paper prints Figures 4 and 5 as curves, without numbers.")
    return Table("Figures 4 and 5: NDCG@1 to NDCG@10 on OHSUMED", heads, tuple(rows), notes=notes, digits=4)


def _edition_3(results: CollectionResults) -> Table:
    rows: list[tuple[Value, ...]] = []
    for method, published in LETOR_3.items():
        ours = [results.compared.mean(method, measure) for measure in (MAP, NDCG_10)]
        pairs = zip(published, ours, strict=True)
        rows.append((method, *(value for a, b in pairs for value in (a, b, b - a))))
    heads = ("algorithm", *["published", "ours", "difference"] * 2)
    notes = (
        _MEANS,
        "Published on LETOR's site for LETOR 3.0, the edition that is used here, by its script, which keeps "
        "documents with equal scores in the order of the file.",
    )
    title = "OHSUMED beside LETOR 3.0's own baselines (not in the paper)"
    return Table(title, heads, tuple(rows), (("", 1), ("MAP", 3), ("NDCG@10", 3)), notes)


def _tests(collections: Mapping[str, CollectionResults]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for first, second, measure, _, names, _ in ORDERINGS:
        for name in names:
            if name in collections:
                a, b = (collections[name].compared.values(method, measure) for method in (first, second))
                test, pair = paired_t(a, b), paired(a, b)
                wins = f"{pair.wins}/{pair.losses}/{pair.ties}"
                row = (f"{first} - {second}", name, SHORT[measure], test.difference)
                rows.append((*row, test.p, pair.p, wins))
    heads = ("methods", "collection", "measure", "difference", "p (t)", "p (ranks)", "W/L/T")
    notes = (
        "Mean difference over the test queries of all folds; paired t-test and Wilcoxon's signed ranks, "
        "two-tailed, each comparison by itself. W/L/T: queries on which the first is higher, lower, level.",
    )
    return Table("Published orderings, tested", heads, tuple(rows), notes=notes, digits=4)


def _chosen(results: CollectionResults) -> Table:
    rows: list[tuple[Value, ...]] = []
    for method in results.compared.entries:
        cells = []
        for result in results.compared.results[method]:
            tried = [one.settings for one in result.tried]
            varied = [name for name in tried[0] if len({repr(settings[name]) for settings in tried}) > 1]
            kept = result.tried[result.chosen]
            chosen = ", ".join(f"{name} {shown(kept.settings[name])}" for name in varied)
            cells.append(f"{chosen or '-'} ({kept.steps})")
        rows.append((method, *cells, results.compared.seconds(method)))
    heads = ("algorithm", *results.compared.folds, "seconds")
    notes = (
        "In brackets: the epoch, iteration or round that was kept. Seconds: of all candidates on all folds.",
    )
    title = f"What validation chose, {results.collection.name}"
    return Table(title, heads, tuple(rows), notes=notes, digits=1)
