"""Tables 1 to 3 and what the figures say in numbers, published figures beside ours with the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from directrix.experiments.qin2010.curves import FIGURES, ErrorCurve
from directrix.experiments.qin2010.methods import (
    MAP,
    NDCG_10,
    NDCG_ALL,
    NDCG_EQ_5,
    PUBLISHED_METHODS,
    ndcg_at,
)
from directrix.experiments.qin2010.protocol import Found
from directrix.experiments.significance import paired, paired_t
from directrix.laws.bounds import BOUNDS
from directrix.reports.qin2010.claims import ORDERINGS
from directrix.reports.qin2010.published import LETOR_3, MEAN_AP, NDCG_N, POSITIONS, SCORES
from directrix.reports.tables import Table, Value
from directrix.surrogates.positions import soft_ranks
from directrix.types import Float64Array

__all__ = ["SHORT", "tables"]

SHORT = {
    MAP: "MAP",
    NDCG_ALL: "NDCG@n",
    NDCG_EQ_5: "NDCG@n of Eq. 5",
    **{ndcg_at(k).name: f"NDCG@{k}" for k in range(1, 11)},
}
"""Measures as tables write them."""

_EPOCHS = (1, 10, 50, 100, 200)
_MEANS = "Means of the test folds."
_DISCOUNT = (
    "NDCG has the discount of LETOR's script (1, 1, 1/log2 3, ...), but for the column of Eq. 5 "
    "(1/log2(1 + rank))."
)
_OURS = "ListNet, RankSVM and the rows with L-BFGS are not in the paper."
_EDITION = "Published of the edition LETOR 2.0, with other features: no figures to be met."
_KINDS = {"gap": "least gap (Cor. 4)", "ranks": "all positions", "relevant": "relevant positions"}


def tables(found: Mapping[str, Found]) -> tuple[Table, ...]:
    """All tables, in the order of the paper."""
    made = [_table_1()]
    for name, each in found.items():
        made += [_errors(name, each.curves), _bounds(name, each.curves)]
    made += [
        _mean_ap("Table 2: ranking accuracy in terms of MAP", found, _rows(found)),
        _mean_ap("Table 3: ApproxNDCG and ApproxAP in terms of MAP", found, ["ApproxNDCG", "ApproxAP"]),
    ]
    if "OHSUMED" in found:
        made += [_ndcg_n(found["OHSUMED"]), _ndcg_curve(found["OHSUMED"]), _edition_3(found["OHSUMED"])]
    return (*made, _tests(found), *(_chosen(each) for each in found.values()))


def _rows(found: Mapping[str, Found]) -> list[str]:
    return list(next(iter(found.values())).compared.entries)


def _table_1() -> Table:
    ours = soft_ranks(SCORES, alpha=100.0)
    ranks = (-SCORES).argsort().argsort() + 1
    rows = [
        (f"x{i}", float(s), int(rank), float(said), float(here), float(here - said))
        for i, (s, rank, said, here) in enumerate(zip(SCORES, ranks, POSITIONS, ours, strict=True), 1)
    ]
    heads = ("document", "score", "position", "published", "ours", "difference")
    return Table("Table 1: position approximation at alpha = 100", heads, tuple(rows), digits=5)


def _errors(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Table:
    rows: list[tuple[Value, ...]] = []
    n_epochs = len(next(iter(curves[FIGURES[0]].values())).rho)
    epochs = [*(e for e in _EPOCHS if e < n_epochs), n_epochs]
    for figure in FIGURES:
        surrogate, _, parameter = figure.split()
        for value, curve in curves[figure].items():
            at = [float(curve.rho[e - 1]) for e in epochs]
            rows.append((f"{surrogate}, {parameter} = {value:g}", *at, float(curve.rho.mean())))
    heads = ("surrogate", *(f"epoch {e}" for e in epochs), "mean")
    notes = (
        "rho: mean over the training queries of fold 1 of |surrogate - measure|; accuracy is 1 - rho.",
        "By alpha with beta = 10, by beta with alpha = 100. The paper prints curves of TD2004 (ApproxAP) and "
        "OHSUMED (ApproxNDCG), not figures, and does not say its values of alpha and beta.",
    )
    return Table(f"Figures 1 to 3: error of approximation, {name}", heads, tuple(rows), notes=notes, digits=4)


def _bounds(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for figure in FIGURES:
        surrogate, _, parameter = figure.split()
        for value, curve in curves[figure].items():
            row: list[Value] = [f"{surrogate}, {parameter} = {value:g}"]
            for kind in BOUNDS:
                each = curve.bounds[kind]
                row += [float(each.covered.mean()), _mean_where(each.bound, each.covered)]
                row.append(_mean_where(each.error, each.covered))
            rows.append((*row, sum(each.broken for each in curve.bounds.values())))
    heads = ("surrogate", *["share", "bound", "error"] * len(BOUNDS), "above")
    notes = (
        "Theorem 5 (ApproxAP) or 6 (ApproxNDCG), of the error eps of soft positions: bounded by the least "
        "gap of scores; the largest measured of all documents; of relevant ones, all that the proofs use.",
        "share: of queries times epochs of which the theorem says something: no scores tie, for ApproxAP "
        "eps < 1/2, and the bound is below 1. bound, error: their means over these. above: how often an "
        "error was above one of its bounds.",
    )
    groups = (("", 1), *((_KINDS[kind], 3) for kind in BOUNDS), ("", 1))
    return Table(f"Bounds of the theorems, {name}", heads, tuple(rows), groups, notes, digits=4)


def _mean_where(values: Float64Array, weights: Float64Array) -> float | None:
    known = ~np.isnan(values)
    return float(np.average(values[known], weights=weights[known])) if known.any() else None


def _mean_ap(title: str, found: Mapping[str, Found], names: Sequence[str]) -> Table:
    columns, groups = ["algorithm"], [("", 1)]
    for name in ("TD2003", "TD2004"):
        there = name in found
        columns += ["published", *(["ours", "difference"] if there else [])]
        groups.append((name, 3 if there else 1))
    others = [name for name in found if name not in ("TD2003", "TD2004")]
    columns += ["ours"] * len(others)
    groups += [(name, 1) for name in others]
    rows = []
    for method in names:
        row: list[Value] = [method]
        for name in ("TD2003", "TD2004"):
            said = MEAN_AP.get(method, {}).get(name)
            row.append(said)
            if name in found:
                here = found[name].compared.mean(method, MAP)
                row += [here, None if said is None else here - said]
        row += [found[name].compared.mean(method, MAP) for name in others]
        rows.append(tuple(row))
    notes = (_MEANS, *([_OURS] if len(names) > len(PUBLISHED_METHODS) else []))
    if {"TD2003", "TD2004"} & set(found):
        notes = (*notes, _EDITION)
    return Table(title, tuple(columns), tuple(rows), tuple(groups), notes)


def _ndcg_n(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = []
    for method in found.compared.entries:
        said, here = NDCG_N.get(method), found.compared.mean(method, NDCG_ALL)
        other = [found.compared.mean(method, measure) for measure in (NDCG_EQ_5, MAP)]
        rows.append((method, said, here, None if said is None else here - said, *other))
    heads = ("algorithm", "published", "ours", "difference", "by Eq. 5", "MAP")
    notes = (_MEANS, _DISCOUNT, _OURS, _EDITION)
    title = "NDCG@n on OHSUMED (Sect. 6.4 and 6.5)"
    groups = (("", 1), ("NDCG@n", 4), ("", 1))
    return Table(title, heads, tuple(rows), groups, notes=notes, digits=4)


def _ndcg_curve(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = [
        (method, *(found.compared.mean(method, ndcg_at(k).name) for k in range(1, 11)))
        for method in found.compared.entries
    ]
    heads = ("algorithm", *(f"@{k}" for k in range(1, 11)))
    notes = (_MEANS, _DISCOUNT, _OURS, "The paper prints Figures 4 and 5 as curves, without numbers.")
    return Table("Figures 4 and 5: NDCG@1 to NDCG@10 on OHSUMED", heads, tuple(rows), notes=notes, digits=4)


def _edition_3(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = []
    for method, said in LETOR_3.items():
        here = [found.compared.mean(method, measure) for measure in (MAP, NDCG_10)]
        pairs = zip(said, here, strict=True)
        rows.append((method, *(value for a, b in pairs for value in (a, b, b - a))))
    heads = ("algorithm", *["published", "ours", "difference"] * 2)
    notes = (
        _MEANS,
        "Published on LETOR's site for LETOR 3.0, the edition that is used here, by its script, in which "
        "equal scores keep the order of the file.",
    )
    title = "OHSUMED beside LETOR 3.0's own baselines (not in the paper)"
    return Table(title, heads, tuple(rows), (("", 1), ("MAP", 3), ("NDCG@10", 3)), notes)


def _tests(found: Mapping[str, Found]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for first, second, measure, _, names in ORDERINGS:
        for name in names:
            if name in found:
                a, b = (found[name].compared.values(method, measure) for method in (first, second))
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


def _chosen(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = []
    for method in found.compared.entries:
        cells = []
        for result in found.compared.results[method]:
            every = [each.settings for each in result.tried]
            varied = [name for name in every[0] if len({repr(each[name]) for each in every}) > 1]
            kept = result.tried[result.chosen]
            shown = ", ".join(_setting(name, kept.settings[name]) for name in varied)
            cells.append(f"{shown or '-'} ({kept.steps})")
        rows.append((method, *cells, found.compared.seconds(method)))
    heads = ("algorithm", *found.compared.folds, "seconds")
    notes = (
        "In brackets the epoch, iteration or round that was kept. Seconds: of all candidates on all folds.",
    )
    title = f"What validation chose, {found.collection.name}"
    return Table(title, heads, tuple(rows), notes=notes, digits=1)


def _setting(name: str, value: object) -> str:
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
