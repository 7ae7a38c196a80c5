"""What He and Liu (2010) say of their tables and figures, checked sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.experiments.he2010.coefficients import STRUCTURAL, Sweep
from directrix.experiments.he2010.methods import LISTNET, MAP, NDCG
from directrix.experiments.he2010.results import Agreement, Found, TradeOff
from directrix.experiments.significance import Significance, paired_t
from directrix.reports.he2010.performance import PERFORMANCE
from directrix.reports.he2010.tables import BOUNDS
from directrix.reports.report import Claim, Verdict
from directrix.types import Float64Array

__all__ = ["claims"]

_SMALL = 0.25  # a coefficient is "very strong" below this share of the smallest "big" one
_WEAK = 0.1  # a coefficient is no arbitrarily strong one above this share of the range of the measure
_LEVEL = 0.05
_KNEE = 250.0  # alpha up to which training rises, by the paper


def claims(
    found: Sequence[Found],
    apart: Mapping[str, Any],
    sweep: Sweep,
    trades: Sequence[TradeOff],
    agreements: Sequence[tuple[str, Agreement]],
) -> tuple[Claim, ...]:
    """All of them, in the order of the paper.

    Of test queries a claim holds if p < .05 in the paired t-test over them. Training values and coefficients
    are facts about these queries, not a sample: there the sign decides, and folds that agree are counted.
    """
    made = list(_theorems(apart, sweep))
    for one, trade in zip(found, trades, strict=True):
        made += [*_tendency(one), *_trade_off(one.name, trade), *_training(one), *_test(one)]
    made += [_agreement(name, each) for name, each in agreements]
    return tuple(made)


def _theorems(apart: Mapping[str, Any], sweep: Sweep) -> Iterable[Claim]:
    families = sweep.families()
    for family, source in (("SoftRank", "Theorem 2"), (MAP, "Theorem 3"), (NDCG, "Theorem 3")):
        values = [each["coefficient"] for each in apart[family]]
        bounds = [
            (each["coefficient"], bound)
            for label, each in zip(families[family], apart[family], strict=True)
            for bound in (BOUNDS.get(_value(label)) if family == "SoftRank" else each["bound"],)
            if bound is not None
        ]
        best = min(values)
        kept = all(value <= bound + 1e-12 for value, bound in bounds)
        label = list(families[family])[values.index(best)]
        yield Claim(
            f"{family} can have arbitrarily strong tendency correlation, within its bound",
            source,
            "holds" if best < 1e-3 and kept else "does not hold",
            f"where no scores tie eps* goes down to {best:.1e} ({label}); "
            f"{len(bounds)} bound{'s' * (len(bounds) != 1)}, {'none' if kept else 'one at least'} exceeded",
        )
    shares = {n: e["coefficient"] / e["range"] for n, e in zip(STRUCTURAL, apart["structural"], strict=True)}
    yield Claim(
        "SVMmap, DORM, PermuRank and SVMndcg cannot always have arbitrarily strong tendency correlation",
        "Theorem 4",
        "holds" if min(shares.values()) > _WEAK else "does not hold",
        "eps* as a share of the range of the measure: " + _listed(shares, ".2f"),
    )


def _tendency(one: Found) -> Iterable[Claim]:
    said = {
        "SoftRank": "eps* of SoftRank decreases as sigma decreases",
        MAP: "eps* of ApproxRank-MAP decreases as alpha increases",
        NDCG: "eps* of ApproxRank-NDCG decreases as alpha increases",
    }
    for family, text in said.items():
        folds = np.array(list(one.coefficients[family].values()))  # from blunt to sharp
        steps, mean = np.diff(folds, axis=0), folds.mean(axis=1)
        yield Claim(
            f"{one.name}: {text}",
            "Table 3",
            "holds" if (np.diff(mean) <= 0.0).all() else "does not hold",
            f"mean over folds {mean[0]:.3f} to {mean[-1]:.3f} in {len(mean) - 1} steps, of which "
            f"{int((np.diff(mean) <= 0).sum())} fall; of all folds {int((steps <= 0).sum())}/{steps.size}",
        )
    sharpest = {family: float(list(one.coefficients[family].values())[-1].mean()) for family in said}
    large = {name: one.coefficients["structural"][name] for name in STRUCTURAL}
    others = {"AP": one.coefficients[MAP], "nDCG": one.coefficients[NDCG]}
    margins = [
        large[name].min() - others["AP" if name in ("SVMmap", "PermuRank") else "nDCG"]["alpha=100"].max()
        for name in large
    ]
    yield Claim(
        f"{one.name}: eps* of SVMmap, DORM, PermuRank and SVMndcg is big",
        "Table 3",
        "holds" if min(margins) > 0.0 else "does not hold",
        f"{_listed({n: float(v.mean()) for n, v in large.items()}, '.3f')}; above ApproxRank at alpha = "
        "100 in every "
        f"fold by {min(margins):.3f} at least",
    )
    least = min(float(values.mean()) for values in large.values())
    yield Claim(
        f"{one.name}: with proper parameters the three have very strong tendency correlation",
        "Table 3",
        "holds" if max(sharpest.values()) < _SMALL * least else "does not hold",
        f"eps* at the sharpest: {_listed(sharpest, '.3f')}, a quarter of {least:.3f} asked; no 0, for "
        "documents with equal features tie",
    )
    steep = np.array([v.mean() for label, v in one.coefficients["beta"].items() if label != "beta=1"])
    yield Claim(
        f"{one.name}: results are not very sensitive to beta",
        "Sect. 6.2",
        "holds" if np.ptp(steep) < 0.01 else "does not hold",
        f"eps* at alpha = 100, beta >= 10: {steep.min():.4f} to {steep.max():.4f}",
    )


def _trade_off(name: str, trade: TradeOff) -> Iterable[Claim]:
    one, many = trade.one.mean(axis=1), trade.many.mean(axis=1)
    inside = (trade.alphas >= 50.0) & (trade.alphas <= _KNEE)
    last = (trade.alphas >= _KNEE) & (trade.alphas <= 400.0)
    all_of = (trade.alphas >= 50.0) & (trade.alphas <= 400.0)
    for text, values, where, sign in (
        ("with alpha below 250 training MAP with restarts increases with alpha", many, inside, 1),
        ("with alpha below 250 training MAP from one start increases with alpha", one, inside, 1),
        ("training MAP with restarts keeps increasing for alpha in [50, 400]", many, all_of, 1),
        ("training MAP from one start decreases for alpha in [250, 400]", one, last, -1),
    ):
        if where.sum() < 2:
            continue
        x, y = trade.alphas[where], values[where]
        up = int((np.diff(y) * sign > 0.0).sum())
        yield Claim(
            f"{name}: {text}",
            "Sect. 6.3",
            "holds" if up == len(y) - 1 else "does not hold",
            f"{y[0]:.4f} at alpha = {x[0]:g}, {y[-1]:.4f} at {x[-1]:g}, highest at {x[y.argmax()]:g}; "
            f"{up} of {len(y) - 1} steps that way",
        )
    at = int((trade.alphas <= _KNEE).sum()) - 1
    if 0 < at < len(one) - 1:
        ends = [int((trade.one[at] > trade.one[end]).sum()) for end in (0, -1)]
        yield Claim(
            f"{name}: there is a trade-off: as alpha grows training MAP from one start rises, then falls",
            "Sect. 6.3",
            "holds" if one[at] > max(one[0], one[-1]) else "does not hold",
            f"{one[0]:.4f} at alpha = {trade.alphas[0]:g}, {one[at]:.4f} at {trade.alphas[at]:g}, "
            f"{one[-1]:.4f} at {trade.alphas[-1]:g}; that at {trade.alphas[at]:g} is above the first in "
            f"{ends[0]} of {trade.one.shape[1]} folds, above the last in {ends[1]}",
        )
    both = trade.many[all_of].mean(axis=0), trade.one[all_of].mean(axis=0)
    test = paired_t(*both)
    gains = 100.0 * (many[all_of] / one[all_of] - 1.0)
    yield Claim(
        f"{name}: training MAP with restarts is better than without",
        "Sect. 6.3",
        _verdict(test),
        f"by {gains.min():.1f} to {gains.max():.1f} %, alpha in [50, 400]; paired t over the "
        f"{test.n} folds: p = {test.p:.2g}; the paper says much better, 8.28 % on TD2003 at alpha = 300",
    )


def _training(one: Found) -> Iterable[Claim]:
    orders = [
        (MAP, "SVMmap", "AP"),
        *([] if one.name == "OHSUMED" else [(MAP, "PermuRank", "AP")]),  # of TD2003 and TD2004 alone
        (MAP, LISTNET, "AP"),
        *(
            (better, worse, measure)
            for measure in ("nDCG@5", "nDCG@10")
            for better in ("SoftRank", NDCG)
            for worse in ("DORM", "SVMndcg", LISTNET)
        ),
    ]
    for better, worse, measure in orders:
        name, table, _ = PERFORMANCE[measure]
        a, b = (_folds(one, entry, measure) for entry in (better, worse))
        yield Claim(
            f"{one.name}: training {name} of {better} is above that of {worse}",
            f"Table {table}",
            "holds" if a.mean() > b.mean() else "does not hold",
            f"{a.mean():.4f} and {b.mean():.4f}; above in {int((a > b).sum())} of {len(a)} folds",
        )


def _folds(one: Found, entry: str, measure: str) -> Float64Array:
    results = one.crossval.results[entry]
    return np.array([result.tried[result.chosen].train[measure] for result in results])


def _test(one: Found) -> Iterable[Claim]:
    others = [e for e in one.crossval.entries if e != MAP and not e.startswith(f"{MAP},")]
    means = {entry: one.crossval.mean(entry, "AP") for entry in others}
    second = max(means, key=lambda entry: means[entry])
    best = _ordered(one, MAP, second, "AP", f"test MAP of {MAP} is the best")
    yield replace(best, evidence=f"best of the others: {second}; {best.evidence}")
    orders = [(LISTNET, worse, "AP") for worse in ("SVMmap", "PermuRank")]
    for measure in ("nDCG@5", "nDCG@10"):
        orders += [(better, LISTNET, measure) for better in ("SoftRank", NDCG)]
        orders += [(LISTNET, worse, measure) for worse in ("DORM", "SVMndcg")]
    for better, worse, measure in orders:
        name = PERFORMANCE[measure][0]
        yield _ordered(one, better, worse, measure, f"test {name} of {better} is above that of {worse}")


def _ordered(one: Found, better: str, worse: str, measure: str, text: str) -> Claim:
    test = paired_t(*(one.crossval.values(entry, measure) for entry in (better, worse)))
    means = [one.crossval.mean(entry, measure) for entry in (better, worse)]
    return Claim(
        f"{one.name}: {text}",
        f"Table {PERFORMANCE[measure][2]}",
        _verdict(test),
        f"{means[0]:.4f} and {means[1]:.4f}; paired t over {test.n} queries: difference "
        f"{test.difference:+.4f}, "
        f"p = {test.p:.2g}",
    )


def _agreement(name: str, each: Agreement) -> Claim:
    test, training = (paired_t(each.by_fold[side], 0.0 * each.by_fold[side]) for side in ("test", "train"))
    return Claim(
        f"{name}: the stronger the tendency correlation, the higher test {PERFORMANCE[each.measure][0]}",
        "Theorem 1, Sect. 6.5",
        _verdict(test),
        f"Kendall's tau over {len(each.points)} surrogates, mean of {test.n} folds {test.difference:+.2f} "
        f"(t-test of the folds against 0: p = {test.p:.2g}); on training queries "
        f"{training.difference:+.2f} (p = {training.p:.2g})",
    )


def _verdict(test: Significance) -> Verdict:
    if not test.p < _LEVEL:
        return "not significant"
    return "holds" if test.difference > 0.0 else "does not hold"


def _value(label: str) -> float:
    return float(label.partition("=")[2])


def _listed(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
