"""Tables 3, 10 and 11, and the numbers of the figures and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from directrix.reports.tables import Table, Value
from directrix.reproductions.he2010.agreement import Agreement, TradeOff
from directrix.reproductions.he2010.coefficients import STRUCTURAL, parameter
from directrix.reproductions.he2010.methods import MAP, NDCG
from directrix.reproductions.he2010.performance import chosen, performance
from directrix.reproductions.he2010.protocol import MEASURES, CollectionResults, Results
from directrix.reproductions.he2010.published import BOUNDS, TRAINING_MAP
from directrix.reproductions.reproduction import TableGroup

_Collections = Mapping[str, CollectionResults]
_SHOWN = {  # of Table 3; the appendix has all
    "SoftRank": ("sigma=0.1", "sigma=0.01", "sigma=0.001"),
    MAP: ("alpha=10", "alpha=100", "alpha=400"),
    NDCG: ("alpha=10", "alpha=100", "alpha=400"),
}
_EPS = "eps*: random linear models on the training queries of a fold; 0 = moves as the measure does."
_MEASURE = (
    "SoftRank, ApproxRank-NDCG, SVMndcg and DORM against NDCG of the whole list, the others against AP."
)


def tables(results: Results) -> tuple[TableGroup, ...]:
    """Make all tables, in the order of the paper; the last group is its appendix."""
    collections = results.collections.items()
    agreements = [(name, agreement) for name, one in collections for agreement in one.agreements]
    return (
        TableGroup("Tendency correlation", (_table_3(results), _apart(results))),
        TableGroup(
            "The trade-off: alpha and random restarts",
            (
                *(_trade_off(name, one.trade_off) for name, one in collections),
                _sentences(results),
            ),
        ),
        TableGroup(
            "Ranking performance",
            (
                *(performance(results, measure, "training") for measure in MEASURES),
                *(performance(results, measure, "test") for measure in MEASURES),
                chosen(results),
            ),
        ),
        TableGroup(
            "Does a stronger tendency correlation give a better measure?",
            (_agreement(agreements), *(_points(name, agreement) for name, agreement in agreements)),
        ),
        TableGroup(
            "Appendix: coefficients over all parameters",
            (
                _sweep(
                    results,
                    "Table 10: eps* of SoftRank over sigma",
                    "sigma",
                    {"SoftRank": "SoftRank, "},
                    _EPS,
                ),
                _sweep(
                    results,
                    "Table 11: eps* of ApproxRank over alpha",
                    "alpha",
                    {MAP: f"{MAP}, ", NDCG: f"{NDCG}, "},
                    _EPS,
                ),
                _sweep(
                    results,
                    "eps* of ApproxRank-MAP over beta, alpha = 100",
                    "beta",
                    {"beta": ""},
                    "Not a table of the paper, which says that beta hardly matters.",
                ),
            ),
        ),
    )


def _table_3(results: Results) -> Table:
    families, collections = results.settings.sweep.families(), results.collections
    rows: list[tuple[Value, ...]] = [
        (f"{family} {label}", *_by_fold(collections, family, label))
        for family, labels in _SHOWN.items()
        for label in labels
        if label in families[family]
    ]
    rows += [(name, *_by_fold(collections, "structural", name)) for name in STRUCTURAL]
    return _folds_table(
        "Table 3: tendency correlation coefficients eps*",
        "method",
        rows,
        [(name, one.compared.folds) for name, one in collections.items()],
        (_EPS, _MEASURE, "The copy of the paper that we have lacks the digits of its coefficients."),
    )


def _by_fold(collections: _Collections, family: str, label: str) -> list[float]:
    folds = [one.coefficients[family][label] for one in collections.values()]
    return [float(value) for values in folds for value in (*values, values.mean())]


def _folds_table(
    title: str,
    first: str,
    rows: Sequence[tuple[Value, ...]],
    groups: Sequence[tuple[str, Sequence[str]]],
    notes: tuple[str, ...],
) -> Table:
    """Make a table with the folds of some collections and their mean."""
    return Table(
        title,
        (first, *(head for _, folds in groups for head in (*folds, "mean"))),
        tuple(rows),
        groups=(("", 1), *((name, len(folds) + 1) for name, folds in groups)),
        notes=notes,
    )


def _apart(results: Results) -> Table:
    rows: list[tuple[Value, ...]] = []
    for family, surrogates in results.settings.sweep.families().items():
        if family == "beta":
            continue
        for label, values in zip(surrogates, results.apart[family], strict=True):
            published = BOUNDS.get(parameter(label)) if label.startswith("sigma") else None
            bound = values["bound"] if published is None else published
            name = label if family == "structural" else f"{family} {label}"
            shown = None if bound is None else f"{bound:.2g}"
            rows.append((name, values["coefficient"], shown, values["range"]))
    return Table(
        "Theorems 2 to 4: eps* where no scores tie",
        ("method", "eps*", "bound", "range of the measure"),
        tuple(rows),
        notes=(
            "Random orders of 200 documents with scores .1 apart, labels 0 to 2, 5 queries.",
            "Bound: of SoftRank the paper's two examples; of ApproxRank twice the error bound of Qin et al. "
            "(2010), by Lemma 1; - where it gives no bound at this alpha.",
        ),
        digits=5,
    )


def _trade_off(name: str, trade: TradeOff) -> Table:
    rows: list[tuple[Value, ...]] = []
    for i, alpha in enumerate(trade.alphas):
        one, many = trade.one[i], trade.many[i]
        ours = (float(one.mean()), float(many.mean()))
        gain = 100.0 * (ours[1] / ours[0] - 1.0)
        rows.append((_whole(alpha), *ours, gain, f"{int((many > one).sum())}/{len(one)}"))
    return Table(
        f"Trade-off on {name}: training MAP of ApproxRank-MAP against alpha",
        ("alpha", "one start", "restarts", "gain %", "folds gained"),
        tuple(rows),
        notes=(
            "Gradient ascent from a random start; of restarts the result with the highest surrogate is kept.",
        ),
        digits=4,
    )


def _sentences(results: Results) -> Table:
    """Make a table of the numbers in the sentences of the paper, next to ours."""
    trades = {name: one.trade_off for name, one in results.collections.items()}
    rows: list[tuple[Value, ...]] = []
    for (name, alpha), published in TRAINING_MAP.items():
        trade = trades.get(name)
        at = np.flatnonzero(trade.alphas == alpha) if trade is not None else np.empty(0, dtype=int)
        for start, number, field in zip(("one start", "30 starts"), published, ("one", "many"), strict=True):
            ours = float(getattr(trade, field)[at[0]].mean()) if len(at) else None
            text = f"training MAP of ApproxRank-MAP on {name}, alpha = {alpha:g}, {start}"
            rows.append((text, number, ours, None if ours is None else ours - number))
    labels = results.settings.sweep.families()["SoftRank"]
    for label, values in zip(labels, results.apart["SoftRank"], strict=True):
        bound = BOUNDS.get(parameter(label))
        if bound is not None:
            text = f"eps* of SoftRank, {label}, N = 200, L = 3, delta = .1: at most"
            rows.append((text, bound, values["coefficient"], None))
    return Table(
        "Figures in the sentences of the paper",
        ("what", "published", "ours", "difference"),
        tuple(rows),
        notes=(
            "Of eps* the paper gives upper bounds, ours are measured. - for ours: not run, because the data "
            "are missing.",
        ),
        digits=4,
    )


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)


def _agreement(agreements: Sequence[tuple[str, Agreement]]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for name, agreement in agreements:
        pairs = [of[side] for side in ("train", "test") for of in (agreement.kendall, agreement.spearman)]
        values = [None if np.isnan(value) else value for pair in pairs for value in pair]
        rows.append((name, MEASURES[agreement.measure].name, len(agreement.points), *values))
    four = ("Kendall", "p", "Spearman", "p")
    return Table(
        "Rank correlation of -eps* with the measure, over surrogates and their parameters",
        ("data", "measure", "surrogates", *four, *four),
        tuple(rows),
        groups=(("", 3), ("training", 4), ("test", 4)),
        notes=(
            "Above 0: a stronger tendency correlation goes with a higher measure. p takes surrogates as "
            "independent; most are one surrogate at several parameters, so it is too small. The claims test "
            "the folds.",
        ),
    )


def _points(name: str, agreement: Agreement) -> Table:
    rows = tuple(
        (p.name, p.coefficient, p.train, p.test) for p in sorted(agreement.points, key=lambda p: p[1])
    )
    title = f"{name}: surrogates by eps*, with training and test {MEASURES[agreement.measure].name}"
    return Table(title, ("surrogate", "eps*", "training", "test"), rows, digits=4)


def _sweep(results: Results, title: str, varied: str, families: Mapping[str, str], note: str) -> Table:
    """Make a table over all values of a parameter; ``families`` has the prefixes of their heads."""
    collections = results.collections
    rows: list[tuple[Value, ...]] = [
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
    return _folds_table(title, varied, rows, groups, (note,))
