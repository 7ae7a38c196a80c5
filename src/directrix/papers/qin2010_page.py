"""The page of Qin, Liu and Li (2010): Tables 1 to 3, Figures 1 to 5, and whether the statements hold here."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import detectable, paired_t
from directrix.laws.bounds import BOUNDS, ap_bound, ndcg_bound, rank_bounds
from directrix.papers.claims import Ordering, check_ordering, comparable, p_value, scored
from directrix.papers.paper import Paper, Results, Words, line, settings_rows, with_difference
from directrix.papers.qin2010 import (
    COLLECTIONS,
    FIGURES,
    MAP,
    NDCG_10,
    NDCG_ALL,
    NDCG_EQ_5,
    OWN,
    PUBLISHED_METHODS,
    QUICK,
    SHORT,
    Approximated,
    Curves,
    ErrorCurve,
    Qin2010,
    ndcg_at,
)
from directrix.rankers.means import mean_and_error
from directrix.reports.report import Claim, Figure, Panel, PerQuery, Section, tally
from directrix.surrogates.approx import soft_ranks
from directrix.tables import PValue, Table, Value

_Results = Results[Qin2010, Approximated]
_Collections = Mapping[str, Approximated]

WORDS = Words.of("qin2010")
_FULL = {short: name for name, short in SHORT.items()}
_ORDERINGS, _COMPARABLE = (
    tuple(Ordering(**{**stated, "measure": _FULL[stated["measure"]]}) for stated in WORDS.published[kind])
    for kind in ("orderings", "comparable")
)
# The scores of Table 1, and their approximate positions as printed.
_SCORES, _POSITIONS = (np.array(WORDS.published[name]) for name in ("scores", "positions"))
# The paper reports MAP (True) on some collections, and NDCG (False) on another one.
_ORIGINAL = {True: ("TD2003", "TD2004"), False: ("OHSUMED",)}
# The table of errors shows these epochs and the last one.
_EPOCHS = (1, 10, 50, 100, 200)


# claims


def _claims(results: _Results) -> Iterator[Claim]:
    collections = results.collections
    yield from _of_table_1()
    for name, result in collections.items():
        yield from _of_curves(name, result.curves)
    for ordering, name in _stated_on(collections, _ORDERINGS):
        original = [place for place in ordering.collections if place in _ORIGINAL[ordering.measure == MAP]]
        placed = ordering._replace(source=_elsewhere(ordering.source, name, original))
        yield check_ordering(placed, name, collections[name].compared, SHORT[ordering.measure])
    for pair, name in _stated_on(collections, _COMPARABLE):
        yield comparable(
            *WORDS.statement("comparable", name=name, pair=pair, measure=SHORT[pair.measure]),
            scored(collections[name].compared, pair.first, pair.measure),
            scored(collections[name].compared, pair.second, pair.measure),
        )


def _stated_on(present: Container[str], orderings: Iterable[Ordering]) -> list[tuple[Ordering, str]]:
    """Return every ordering with every collection on which it can be checked."""
    return [(ordering, name) for ordering in orderings for name in ordering.collections if name in present]


def _elsewhere(source: str, collection: str, original: Sequence[str]) -> str:
    """Add to the source of a statement the collections it is about, if the checked one is not among them."""
    return source if collection in original else f"{source}, of {' and '.join(original)}"


def _of_table_1() -> Iterator[Claim]:
    """Compute the approximate positions of Table 1 again, and the bounds that the paper derives from them."""
    published, ours = WORDS.published, soft_ranks(_SCORES, alpha=100.0)
    eps = float(np.abs(ours - np.array([2, 4, 1, 5, 3])).max())
    bound = float(rank_bounds(_SCORES, 100.0).max())
    # The paper prints five decimals.
    same = np.allclose(ours, _POSITIONS, rtol=0, atol=5.1e-6) and round(eps, 5) == published["eps"]
    holds = bool(same and round(bound, 5) == published["eps_bound"] and eps < bound)
    yield WORDS.fact("table-1", holds=holds, eps=eps, bound=bound)
    ap, ndcg = ap_bound(published["eps"], n_relevant=1, beta=100.0), ndcg_bound(published["eps"])
    holds = round(ap, 4) == published["ap_bound"] and round(ndcg, 5) == published["ndcg_bound"]
    yield WORDS.fact("table-1-bounds", holds=holds, ap=ap, ndcg=ndcg)


def _of_curves(name: str, curves: Curves) -> Iterator[Claim]:
    for figure, source in (
        ("ApproxAP by alpha", _elsewhere("Fig. 1", name, ["TD2004"])),
        ("ApproxNDCG by alpha", _elsewhere("Fig. 3", name, ["OHSUMED"])),
    ):
        by_alpha = curves[figure]
        values = {"name": name, "surrogate": figure.split()[0], "source": source}
        yield _accurate("accurate", by_alpha, 0.95, values)
        if 100.0 in by_alpha:
            yield _accurate("sharp", {100.0: by_alpha[100.0]}, 0.98, values)
        yield falls(name, figure, source, by_alpha)
    yield falls(name, "ApproxAP by beta", _elsewhere("Fig. 2", name, ["TD2004"]), curves["ApproxAP by beta"])
    bounds = [bound for by in curves.values() for curve in by.values() for bound in curve.bounds.values()]
    broken = sum(bound.broken for bound in bounds)
    shares = [bound.share for bound in bounds]
    yield WORDS.fact(
        "bounds", holds=broken == 0, name=name, broken=broken, least=min(shares), most=max(shares)
    )


def _accurate(
    key: str, curves: Mapping[float, ErrorCurve], accuracy: float, values: Mapping[str, str]
) -> Claim:
    """Check the accuracy in every epoch; the evidence says from which epoch it holds."""
    since = {value: curve.above(accuracy) for value, curve in curves.items()}
    by_alpha = [
        f"alpha = {value:g}: {1 - curve.rho[0]:.1%} after epoch 1, {1 - curve.rho[-1]:.1%} at the end"
        + ("" if since[value] == 1 else f", above from epoch {since[value] or 'none'} on")
        for value, curve in curves.items()
    ]
    holds = all(first == 1 for first in since.values())
    return WORDS.fact(key, holds=holds, by_alpha="; ".join(by_alpha), **values)


def falls(name: str, figure: str, source: str, curves: Mapping[float, ErrorCurve]) -> Claim:
    """Check that every step of the parameter lowers the error, by paired t-tests over training queries.

    The claim holds if all steps lower it, and does not hold if one raises it; else it is not significant.
    Errors are means over the epochs.
    """
    surrogate, _, parameter = figure.split()
    tests = {
        f"{low:g} to {high:g}": paired_t(before.by_query, after.by_query)
        for (low, before), (high, after) in pairwise(curves.items())
    }
    steps = "; ".join(f"{step}: {-test.difference:+.5f} ({p_value(test.p)})" for step, test in tests.items())
    means = ", ".join(f"{value:g}: {curve.rho.mean():.4f}" for value, curve in curves.items())
    values = {"name": name, "surrogate": surrogate, "parameter": parameter, "source": source}
    tested = f"{len(next(iter(curves.values())).by_query)} training queries"
    return WORDS.claim("falls", *tests.values(), tested=tested, means=means, steps=steps, **values)


# tables


def _tables(results: _Results) -> tuple[Section, ...]:
    collections = results.collections
    methods = list(next(iter(collections.values())).compared.entries)
    accuracy = [_mean_ap(collections, methods)]
    if "OHSUMED" in collections:
        accuracy += _on_ohsumed(collections["OHSUMED"].compared)
    others = {n: result.by_measure for n, result in collections.items() if result.by_measure is not None}
    cross_validations = {name: result.compared for name, result in collections.items()}
    cross_validations |= {f"{name}, other measures": compared for name, compared in others.items()}
    chosen = [
        WORDS.table(
            "chosen",
            settings_rows(compared, has_steps=True),
            heads=[("", ("algorithm", *compared.folds, "seconds"))],
            name=name,
        )
        for name, compared in cross_validations.items()
    ]
    errors = [table for name, result in collections.items() for table in _approximation(name, result.curves)]
    return (
        Section("Approximation", (_table_1(), *errors)),
        Section("Ranking accuracy", tuple(accuracy)),
        Section("Other measures (future work of the paper)", tuple(_other_measures(others))),
        Section("What validation chose", tuple(chosen)),
    )


def _table_1() -> Table:
    ours, bounds = soft_ranks(_SCORES, alpha=100.0), rank_bounds(_SCORES, 100.0)
    ranks = (-_SCORES).argsort().argsort() + 1
    columns = zip(_SCORES.tolist(), ranks.tolist(), _POSITIONS.tolist(), ours.tolist(), bounds, strict=True)
    rows = [
        (f"x{i}", score, rank, *with_difference(published, soft), abs(soft - rank), float(bound))
        for i, (score, rank, published, soft, bound) in enumerate(columns, 1)
    ]
    return WORDS.table("table-1", rows)


def _approximation(name: str, curves: Curves) -> Iterator[Table]:
    """Make a table of the errors, and one of the bounds of the theorems."""
    labeled = [
        (f"{surrogate}, {parameter} = {value:g}", curve)
        for surrogate, _, parameter in map(str.split, FIGURES)
        for value, curve in curves[f"{surrogate} by {parameter}"].items()
    ]
    n_epochs = len(labeled[0][1].rho)
    epochs = [*(e for e in _EPOCHS if e < n_epochs), n_epochs]
    errors = [
        (label, *(float(curve.rho[e - 1]) for e in epochs), float(curve.rho.mean()))
        for label, curve in labeled
    ]
    heads = [("", ("surrogate", *(f"epoch {e}" for e in epochs), "mean"))]
    yield WORDS.table("errors", errors, heads=heads, name=name)
    rows = [
        (
            label,
            *(value for kind in BOUNDS for value in curve.bounds[kind][:3]),
            sum(bounded.broken for bounded in curve.bounds.values()),
        )
        for label, curve in labeled
    ]
    yield WORDS.table("bounds", rows, name=name)


def _mean_ap(collections: _Collections, methods: Sequence[str]) -> Table:
    """Make a table of MAP on the paper's collections, whether they were run or not, and on the others."""
    published = _ORIGINAL[True]
    others = [name for name in collections if name not in published]
    heads = [("", ["algorithm"])]
    heads += [
        (name, ["published", "ours", "difference"] if name in collections else ["published"])
        for name in published
    ]
    heads += [(name, ["ours"]) for name in others]
    rows = []
    for method in methods:
        row: list[Value] = [method]
        for name in published:
            theirs = WORDS.published["mean_ap"].get(method, {}).get(name)
            is_run = name in collections
            row += (
                with_difference(theirs, collections[name].compared.mean(method, MAP)) if is_run else [theirs]
            )
        rows.append([*row, *(collections[name].compared.mean(method, MAP) for name in others)])
    notes = ["ours"] * (len(methods) > len(PUBLISHED_METHODS))
    notes += ["edition"] * any(name in collections for name in published)
    return WORDS.table("table-2", rows, heads=heads, notes=notes)


def _on_ohsumed(compared: CrossValidation) -> Iterator[Table]:
    """Make a table of NDCG@n, and one of NDCG@1 to NDCG@10."""
    mean, published = compared.mean, WORDS.published
    yield WORDS.table(
        "ndcg-n",
        [
            (
                method,
                *with_difference(published["ndcg_n"].get(method), mean(method, NDCG_ALL)),
                mean(method, NDCG_EQ_5),
                mean(method, MAP),
            )
            for method in compared.entries
        ],
    )
    yield WORDS.table("ndcg-at-k", [(method, *_by_cut_off(compared, method)) for method in compared.entries])


def _by_cut_off(compared: CrossValidation, method: str) -> list[float]:
    return [compared.mean(method, ndcg_at(k).name) for k in range(1, 11)]


def _other_measures(others: Mapping[str, CrossValidation]) -> Iterator[Table]:
    """Compare surrogates of several measures on all of them, and then with the best of the others.

    The second table answers question (b) of the paper. There are no tables without cross-validations.
    """
    if not others:
        return
    values = [
        (method, *(compared.mean(method, measure) for compared in others.values() for measure in OWN))
        for method in OWN.values()
    ]
    heads = [("", ["surrogate"]), *((name, [SHORT[measure] for measure in OWN]) for name in others)]
    yield WORDS.table("future", values, heads=heads)
    rows = []
    for name, compared in others.items():
        for measure, surrogate in OWN.items():
            means = {method: compared.mean(method, measure) for method in OWN.values()}
            mean = means.pop(surrogate)
            rival = max(means, key=means.__getitem__)
            test = paired_t(*(compared.values(method, measure) for method in (surrogate, rival)))
            place = f"{1 + sum(other > mean for other in means.values())} of {len(OWN)}"
            rows.append((name, SHORT[measure], surrogate, mean, place, rival, means[rival], PValue(test.p)))
    yield WORDS.table("own", rows)


# figures and values by query


def _figures(results: _Results) -> Iterator[Figure]:
    for name, result in results.collections.items():
        panels = []
        for number, figure in enumerate(FIGURES, 1):
            surrogate, _, parameter = figure.split()
            fixed = {"ApproxAP by alpha": ", beta = 10", "ApproxAP by beta": ", alpha = 100"}.get(figure, "")
            lines = tuple(
                line(f"{parameter} = {value:g}", range(1, len(curve.rho) + 1), curve.rho)
                for value, curve in result.curves[figure].items()
            )
            title = f"Fig. {number}: {surrogate}{fixed}"
            panels.append(Panel(title, lines, "epoch", "mean error", y_scale="log"))
        yield WORDS.figure("errors", panels, name=name, file=name.lower())
    if "OHSUMED" in results.collections:
        compared = results.collections["OHSUMED"].compared
        for number, methods in (
            (4, ("SoftRank", "AdaRank.NDCG", "ApproxNDCG")),
            (5, ("ApproxAP", "ApproxNDCG")),
        ):
            lines = tuple(line(method, range(1, 11), _by_cut_off(compared, method)) for method in methods)
            panel = Panel("OHSUMED, means of the test folds", lines, "cut-off k", "NDCG@k")
            yield WORDS.figure("ndcg", [panel], number=number, methods=", ".join(methods))


def _per_query(results: _Results) -> Iterator[PerQuery]:
    for result in results.collections.values():
        methods = [method for method in PUBLISHED_METHODS if method in result.compared.entries]
        yield from result.by_query(methods, {MAP: "AP", NDCG_10: "NDCG@10"})


# sentences


def _summary(results: _Results, claims: Sequence[Claim]) -> Iterator[str]:
    collections = results.collections
    better = [claim for claim in claims if claim.source.startswith("Sect. 6")]
    accuracy = [claim for claim in claims if claim not in better]
    for title, group in (("Accuracy of approximation", accuracy), ("Which method ranks better", better)):
        if group:
            yield f"- {title}. {tally(group)}"
    for name, result in collections.items():
        yield from _of_collection(name, result.compared)
    if "OHSUMED" in collections:
        methods = []
        for method, published in WORDS.published["ndcg_n"].items():
            ours = collections["OHSUMED"].compared.mean(method, NDCG_ALL)
            methods.append(f"{method} {ours:.4f} ({ours - published:+.4f})")
        yield from WORDS.section("summary of published values", methods=", ".join(methods))
    shares = []
    for name, result in collections.items():
        curves = [curve for by in result.curves.values() for curve in by.values() if curve.bounds]
        gap, relevant = (
            float(np.mean([curve.bounds[kind].share for curve in curves])) for kind in ("gap", "relevant")
        )
        shares.append(f"{name} {gap:.0%} and {relevant:.0%}")
    yield from WORDS.section("summary of bounds", shares=", ".join(shares))


def _of_collection(name: str, compared: CrossValidation) -> tuple[str, ...]:
    ranges = []
    for measure in (MAP, NDCG_ALL):
        means = {method: compared.mean(method, measure) for method in compared.entries}
        low, high = (pick(means, key=means.__getitem__) for pick in (min, max))
        ranges.append(f"{means[low]:.3f} ({low}) to {means[high]:.3f} ({high})")
    values, others = (compared.values(method, MAP) for method in ("ApproxAP", "SVMmap"))
    return WORDS.section(
        "summary of a collection",
        name=name,
        map=ranges[0],
        ndcg=ranges[1],
        n=len(values),
        error=mean_and_error(values)[1],
        detectable=detectable(values, others),
    )


def _details(results: _Results) -> dict[str, Any]:
    collections, grids = results.collections, results.settings.grids.others
    return {
        "others": "few settings" if grids else "the library's grids (`directrix.method(NAME).grid`)",
        "other_measures": " and ".join(n for n, result in collections.items() if result.by_measure) or None,
        "sets": "; ".join(
            f"{name}, {COLLECTIONS[name]}, {len(result.collection.splits)} folds"
            for name, result in collections.items()
        ),
        "replacements": None if {*_ORIGINAL[True]} & {*collections} else " and ".join(collections),
    }


PAPER = Paper(
    words=WORDS,
    full=Qin2010(),
    quick=QUICK,
    claims=_claims,
    tables=_tables,
    figures=_figures,
    summary=_summary,
    per_query=_per_query,
    details=_details,
)
