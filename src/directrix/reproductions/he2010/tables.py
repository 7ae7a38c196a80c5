"""Tables 3 to 11, and the numbers of the figures and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import paired_t
from directrix.reports.crossval import settings_text
from directrix.reports.report import Section
from directrix.reproductions.he2010.agreement import Agreement, TradeOff
from directrix.reproductions.he2010.coefficients import BOUNDS, SHOWN, STRUCTURAL, parameter
from directrix.reproductions.he2010.methods import LISTNET, MAP, NDCG, ONE_START
from directrix.reproductions.he2010.protocol import MEASURES, CollectionResults, Results
from directrix.reproductions.he2010.theorem_claims import two_digits
from directrix.reproductions.he2010.theorems import SIZES, SMOOTH, example_bounds
from directrix.reproductions.paper import beside, paper
from directrix.tables import PValue, Table, Value

_PAPER = paper("he2010")
_Collections = Mapping[str, CollectionResults]
_SETTINGS = ("alpha", "sigma", "C", "target", "temperature", "l2")  # shown of those that were chosen


def tables(results: Results) -> tuple[Section, ...]:
    """Make all tables, in the order of the paper; the last section is its appendix."""
    collections = results.collections.items()
    agreements = [(name, agreement) for name, one in collections for agreement in one.agreements]
    trade_offs = (_trade_off(name, one.trade_off) for name, one in collections)
    numbered = (_performance(results, measure, part) for part in ("training", "test") for measure in MEASURES)
    points = (_points(name, agreement) for name, agreement in agreements)
    appendix = (
        _sweep(results, "table-10", "sigma", {"SoftRank": "SoftRank, "}),
        _sweep(results, "table-11", "alpha", {MAP: f"{MAP}, ", NDCG: f"{NDCG}, "}),
        _sweep(results, "beta", "beta", {"beta": ""}),
    )
    return (
        Section("Tendency correlation", (_table_3(results), *map(_theorem_1, results.collections.values()))),
        Section("The theorems on data made for them", (_theorem_2(results), _apart(results), _weak(results))),
        Section("The trade-off: alpha and random restarts", (*trade_offs, _sentences(results))),
        Section("Ranking performance", (*numbered, _chosen(results))),
        Section(
            "Does a stronger tendency correlation give a better measure?", (_agreement(agreements), *points)
        ),
        Section("Appendix: coefficients over all parameters", appendix),
    )


def _table_3(results: Results) -> Table:
    families, collections = results.settings.sweep.families(), results.collections
    rows = [
        (_named(family, label), *_by_fold(collections, family, label))
        for family, labels in SHOWN.items()
        for label in labels
        if label in families[family]
    ]
    return _folds_table(
        "table-3", "method", rows, [(n, one.compared.folds) for n, one in collections.items()]
    )


def _named(family: str, label: str) -> str:
    return label if family == "structural" else f"{family} {label}"


def _theorem_1(one: CollectionResults) -> Table:
    means = [one.coefficients, one.losses, one.monotone]
    rows = [
        (_named(family, label), *(float(of[family][label].mean()) for of in means))
        for family, labels in SHOWN.items()
        for label in labels
        if label in one.coefficients[family]
    ]
    return _PAPER.table("theorem-1", rows, name=one.collection.name)


def _theorem_2(results: Results) -> Table:
    rows = []
    for label, values in zip(
        results.settings.sweep.families()["SoftRank"], results.apart["SoftRank"], strict=True
    ):
        sigma, published = parameter(label), BOUNDS.get(parameter(label))
        bounds = (published, *example_bounds(sigma), values["coefficient"])
        rows.append((_whole(sigma), *(None if bound is None else two_digits(bound) for bound in bounds)))
    return _PAPER.table("theorem-2", rows)


def _weak(results: Results) -> Table:
    made = {(one["n_relevant"], one["surrogate"]): one for one in results.weak}
    ap, ndcg = (
        (*(STRUCTURAL[n] for n in ("SVMmap", "PermuRank")), SMOOTH[0]),
        (*(STRUCTURAL[n] for n in ("SVMndcg", "DORM")), SMOOTH[1]),
    )
    rows = []
    for n_relevant in SIZES:
        cells = []
        for names in (ap, ndcg):
            group = [made[n_relevant, name] for name in names]
            cells += [group[0]["rise"], *(one["surrogate rise"] for one in group)]
        rows.append((n_relevant, group[0]["n_docs"], *cells))
    return _PAPER.table("weak", rows)


def _by_fold(collections: _Collections, family: str, label: str) -> list[float]:
    folds = [one.coefficients[family][label] for one in collections.values()]
    return [float(value) for values in folds for value in (*values, values.mean())]


def _folds_table(
    key: str, first: str, rows: Sequence[Sequence[Any]], groups: Sequence[tuple[str, Sequence[str]]]
) -> Table:
    """Make a table with the folds of some collections and their mean."""
    columns = (first, *(head for _, folds in groups for head in (*folds, "mean")))
    widths = (("", 1), *((name, len(folds) + 1) for name, folds in groups))
    return _PAPER.table(key, rows, columns=columns, groups=widths)


def _apart(results: Results) -> Table:
    rows = []
    for family, surrogates in results.settings.sweep.families().items():
        if family == "beta":
            continue
        for label, values in zip(surrogates, results.apart[family], strict=True):
            bound = values["bound"]
            shown = None if bound is None else "> 1" if bound > 1.0 else two_digits(bound)
            rows.append((_named(family, label), values["coefficient"], shown, values["range"]))
    return _PAPER.table("apart", rows)


def _trade_off(name: str, trade: TradeOff) -> Table:
    rows = []
    for alpha, one, many in zip(trade.alphas, trade.one, trade.many, strict=True):
        ours = (float(one.mean()), float(many.mean()))
        gain = 100.0 * (ours[1] / ours[0] - 1.0)
        rows.append((_whole(alpha), *ours, gain, f"{int((many > one).sum())}/{len(one)}"))
    return _PAPER.table("trade-off", rows, name=name)


def _sentences(results: Results) -> Table:
    """Make a table of the numbers in the sentences of the paper, next to ours."""
    trades = {name: one.trade_off for name, one in results.collections.items()}
    rows: list[Sequence[Any]] = []
    for published in _PAPER.published["training_map"]:
        name, alpha = published["collection"], published["alpha"]
        trade = trades.get(name)
        at = np.flatnonzero(trade.alphas == alpha) if trade is not None else np.empty(0, dtype=int)
        for start, field in (("one start", "one"), ("30 starts", "many")):
            text = f"training MAP of ApproxRank-MAP on {name}, alpha = {alpha:g}, {start}"
            ours = beside(published[field], float(getattr(trade, field)[at[0]].mean())) if len(at) else None
            rows.append((text, *(ours or (published[field], None, None))))
    return _PAPER.table("sentences", rows)


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)


def _performance(results: Results, measure: str, part: str) -> Table:
    """Make one of Tables 4 to 6, of training queries, or 7 to 9, of test queries."""
    collections = results.collections
    entries = next(iter(collections.values())).compared.entries
    heads = (MEASURES[measure].name, "- ListNet", *(["p"] if part == "test" else []))
    rows = [
        (
            entry,
            *(
                v
                for one in collections.values()
                for v in _against_listnet(one.compared, entry, measure, part)
            ),
        )
        for entry in entries
        if entry != ONE_START
    ]
    return _PAPER.table(
        part,
        rows,
        columns=("method", *(head for _ in collections for head in heads)),
        groups=(("", 1), *((name, len(heads)) for name in collections)),
        measure=MEASURES[measure],
    )


def _against_listnet(compared: CrossValidation, entry: str, measure: str, part: str) -> tuple[Value, ...]:
    """Return a mean, its difference from ListNet, and for test queries p."""
    if part == "training":
        value, base = (compared.train(name, measure) for name in (entry, LISTNET))
        return value, None if entry == LISTNET else value - base
    if entry == LISTNET:
        return compared.mean(entry, measure), None, None
    mean, base = (compared.mean(name, measure) for name in (entry, LISTNET))
    test = paired_t(compared.values(entry, measure), compared.values(LISTNET, measure))
    return mean, mean - base, PValue(test.p)


def _chosen(results: Results) -> Table:
    """Make the table of the settings that validation chose in every fold."""
    rows = []
    for name, one in results.collections.items():
        for entry in one.compared.entries:
            selected = one.compared.selected(entry)
            chosen = [settings_text({k: v for k, v in of.items() if k in _SETTINGS}) for of in selected]
            rows.append((name, entry, *chosen, one.compared.seconds(entry)))
    folds = next(iter(results.collections.values())).compared.folds
    return _PAPER.table("chosen", rows, columns=("data", "method", *folds, "seconds"))


def _agreement(agreements: Sequence[tuple[str, Agreement]]) -> Table:
    rows = []
    for name, agreement in agreements:
        pairs = [of[side] for side in ("train", "test") for of in (agreement.kendall, agreement.spearman)]
        values = [None if np.isnan(value) else value for pair in pairs for value in pair]
        rows.append((name, MEASURES[agreement.measure].name, len(agreement.points), *values))
    return _PAPER.table("agreement", rows)


def _points(name: str, agreement: Agreement) -> Table:
    rows = sorted(agreement.points, key=lambda point: point.coefficient)
    return _PAPER.table("points", rows, name=name, measure=MEASURES[agreement.measure].name)


def _sweep(results: Results, key: str, varied: str, families: Mapping[str, str]) -> Table:
    """Make a table over all values of a parameter; ``families`` has the prefixes of their heads."""
    collections = results.collections
    rows = [
        (
            _whole(parameter(label)),
            *(value for family in families for value in _by_fold(collections, family, label)),
        )
        for label in results.settings.sweep.families()[next(iter(families))]
    ]
    groups = [
        (f"{prefix}{name}", one.compared.folds)
        for prefix in families.values()
        for name, one in collections.items()
    ]
    return _folds_table(key, varied, rows, groups)
