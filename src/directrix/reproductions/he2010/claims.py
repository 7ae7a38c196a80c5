"""Statements of the paper, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import paired_t
from directrix.reports.report import Claim
from directrix.reproductions.claims import Ordering, ahead, check_ordering, fact, p_value, scored, verdict
from directrix.reproductions.he2010.agreement import Agreement, Coefficients, TradeOff
from directrix.reproductions.he2010.coefficients import STRUCTURAL, Sweep, parameter
from directrix.reproductions.he2010.methods import LISTNET, MAP, NDCG
from directrix.reproductions.he2010.protocol import MEASURES, Results
from directrix.reproductions.he2010.published import BOUNDS

_SMALL = 0.25  # a coefficient is "very strong" below this share of the smallest "big" one
_WEAK = 0.1  # a coefficient is not arbitrarily strong above this share of the range of the measure
_KNEE = 250.0  # alpha up to which training values rise, by the paper
_GRADED = ("nDCG@5", "nDCG@10")
_TENDENCY = {
    "SoftRank": "eps* of SoftRank decreases as sigma decreases",
    MAP: "eps* of ApproxRank-MAP decreases as alpha increases",
    NDCG: "eps* of ApproxRank-NDCG decreases as alpha increases",
}


def _training(first: str, second: str, measure: str, *collections: str) -> Ordering:
    return Ordering(first, second, measure, f"Table {MEASURES[measure].training}", collections, "training")


def _test(first: str, second: str, measure: str) -> Ordering:
    return Ordering(first, second, measure, f"Table {MEASURES[measure].test}")


ORDERINGS = {
    "training": (
        _training(MAP, "SVMmap", "AP"),
        _training(MAP, "PermuRank", "AP", "TD2003", "TD2004"),
        _training(MAP, LISTNET, "AP"),
        *(
            _training(better, worse, measure)
            for measure in _GRADED
            for better in ("SoftRank", NDCG)
            for worse in ("DORM", "SVMndcg", LISTNET)
        ),
    ),
    "test": (
        *(_test(LISTNET, worse, "AP") for worse in ("SVMmap", "PermuRank")),
        *(
            _test(*pair, measure)
            for measure in _GRADED
            for pair in (("SoftRank", LISTNET), (NDCG, LISTNET), (LISTNET, "DORM"), (LISTNET, "SVMndcg"))
        ),
    ),
}
"""Orderings of methods that the paper states, by part of the queries."""

_STEPS = (  # entry, range of alpha, sign of the steps
    ("with alpha below 250 training MAP with restarts increases with alpha", "many", (50.0, _KNEE), 1),
    ("with alpha below 250 training MAP from one start increases with alpha", "one", (50.0, _KNEE), 1),
    ("training MAP with restarts keeps increasing for alpha in [50, 400]", "many", (50.0, 400.0), 1),
    ("training MAP from one start decreases for alpha in [250, 400]", "one", (_KNEE, 400.0), -1),
)


def claims(results: Results) -> tuple[Claim, ...]:
    """Check all statements, in the order of the paper.

    On test queries a claim holds if p < .05 in the paired t-test over them. Training values and coefficients
    are facts about these queries, not a sample: their sign decides, and the folds that agree are counted.
    """
    made = list(_theorems(results.apart, results.settings.sweep))
    for name, one in results.collections.items():
        made += [
            *_tendency(name, one.coefficients),
            *_trade_off(name, one.trade_off),
            *_ordered(name, one.compared, "training"),
            _best(name, one.compared),
            *_ordered(name, one.compared, "test"),
        ]
    made += [
        _agreement(name, agreement)
        for name, one in results.collections.items()
        for agreement in one.agreements
    ]
    return tuple(made)


def _theorems(apart: Mapping[str, Any], sweep: Sweep) -> Iterator[Claim]:
    families = sweep.families()
    for family, source in (("SoftRank", "Theorem 2"), (MAP, "Theorem 3"), (NDCG, "Theorem 3")):
        labels, values = list(families[family]), [each["coefficient"] for each in apart[family]]
        limits = [BOUNDS.get(parameter(label)) for label in labels]
        if family != "SoftRank":
            limits = [each["bound"] for each in apart[family]]
        bounds = [(value, bound) for value, bound in zip(values, limits, strict=True) if bound is not None]
        best = min(values)
        is_within = all(value <= bound + 1e-12 for value, bound in bounds)
        yield fact(
            f"{family} can have arbitrarily strong tendency correlation, within its bound",
            source,
            f"where no scores tie eps* goes down to {best:.1e} ({labels[values.index(best)]}); {len(bounds)} "
            f"bound{'s' * (len(bounds) != 1)}, {'none' if is_within else 'at least one'} exceeded",
            holds=best < 1e-3 and is_within,
        )
    shares = {n: e["coefficient"] / e["range"] for n, e in zip(STRUCTURAL, apart["structural"], strict=True)}
    yield fact(
        "SVMmap, DORM, PermuRank and SVMndcg cannot always have arbitrarily strong tendency correlation",
        "Theorem 4",
        "eps* as a share of the range of the measure: " + _listed(shares, ".2f"),
        holds=min(shares.values()) > _WEAK,
    )


def _tendency(name: str, coefficients: Coefficients) -> Iterator[Claim]:
    for family, text in _TENDENCY.items():
        folds = np.array(list(coefficients[family].values()))  # from blunt to sharp
        steps, mean = np.diff(folds, axis=0), folds.mean(axis=1)
        yield fact(
            f"{name}: {text}",
            "Table 3",
            f"mean over folds {mean[0]:.3f} to {mean[-1]:.3f} in {len(mean) - 1} steps, of which "
            f"{int((np.diff(mean) <= 0).sum())} fall; of all folds {int((steps <= 0).sum())}/{steps.size}",
            holds=bool((np.diff(mean) <= 0.0).all()),
        )
    sharpest = {family: float(list(coefficients[family].values())[-1].mean()) for family in _TENDENCY}
    large = {name: coefficients["structural"][name] for name in STRUCTURAL}
    others = {"AP": coefficients[MAP], "nDCG": coefficients[NDCG]}
    margin = min(
        large[name].min() - others["AP" if name in ("SVMmap", "PermuRank") else "nDCG"]["alpha=100"].max()
        for name in large
    )
    means = {name: float(values.mean()) for name, values in large.items()}
    yield fact(
        f"{name}: eps* of SVMmap, DORM, PermuRank and SVMndcg is big",
        "Table 3",
        f"{_listed(means, '.3f')}; above ApproxRank at alpha = 100 in every fold by at least {margin:.3f}",
        holds=bool(margin > 0.0),
    )
    least = min(means.values())
    yield fact(
        f"{name}: with proper parameters the three have very strong tendency correlation",
        "Table 3",
        f"eps* at the sharpest: {_listed(sharpest, '.3f')}, a quarter of {least:.3f} is needed; none is 0, "
        "because documents with equal features tie",
        holds=max(sharpest.values()) < _SMALL * least,
    )
    steep = np.array([v.mean() for label, v in coefficients["beta"].items() if label != "beta=1"])
    yield fact(
        f"{name}: results are not very sensitive to beta",
        "Sect. 6.2",
        f"eps* at alpha = 100, beta >= 10: {steep.min():.4f} to {steep.max():.4f}",
        holds=bool(np.ptp(steep) < 0.01),
    )


def _trade_off(name: str, trade: TradeOff) -> Iterator[Claim]:
    alphas = trade.alphas
    means = {"one": trade.one.mean(axis=1), "many": trade.many.mean(axis=1)}
    one, many = means.values()
    for text, start, (low, high), sign in _STEPS:
        inside = (alphas >= low) & (alphas <= high)
        if inside.sum() < 2:
            continue
        x, y = alphas[inside], means[start][inside]
        n_steps, n_as_stated = len(y) - 1, int((np.diff(y) * sign > 0.0).sum())
        yield fact(
            f"{name}: {text}",
            "Sect. 6.3",
            f"{y[0]:.4f} at alpha = {x[0]:g}, {y[-1]:.4f} at {x[-1]:g}, highest at {x[y.argmax()]:g}; "
            f"{n_as_stated} of {n_steps} steps in this direction",
            holds=n_as_stated == n_steps,
        )
    at = int((alphas <= _KNEE).sum()) - 1
    if 0 < at < len(one) - 1:
        first, last = (int((trade.one[at] > trade.one[end]).sum()) for end in (0, -1))
        yield fact(
            f"{name}: there is a trade-off: as alpha grows training MAP from one start rises, then falls",
            "Sect. 6.3",
            f"{one[0]:.4f} at alpha = {alphas[0]:g}, {one[at]:.4f} at {alphas[at]:g}, {one[-1]:.4f} at "
            f"{alphas[-1]:g}; that at {alphas[at]:g} is above the first in {first} of {trade.one.shape[1]} "
            f"folds, above the last in {last}",
            holds=bool(one[at] > max(one[0], one[-1])),
        )
    inside = (alphas >= 50.0) & (alphas <= 400.0)
    test = paired_t(trade.many[inside].mean(axis=0), trade.one[inside].mean(axis=0))
    gains = 100.0 * (many[inside] / one[inside] - 1.0)
    yield Claim(
        f"{name}: training MAP with restarts is better than without",
        "Sect. 6.3",
        verdict(test),
        f"by {gains.min():.1f} to {gains.max():.1f} %, alpha in [50, 400]; paired t-test over the {test.n} "
        f"folds: {p_value(test.p)}; the paper says much better, 8.28 % on TD2003 at alpha = 300",
    )


def _ordered(name: str, compared: CrossValidation, part: str) -> Iterator[Claim]:
    for ordering in ORDERINGS[part]:
        if not ordering.collections or name in ordering.collections:
            yield check_ordering(ordering, name, compared, MEASURES[ordering.measure].name)


def _best(name: str, compared: CrossValidation) -> Claim:
    """Compare ApproxRank-MAP with the best of the others."""
    others = [entry for entry in compared.entries if not entry.startswith(MAP)]
    rivals = [scored(compared, entry, "AP") for entry in others]
    second = max(rivals, key=lambda rival: rival.mean)
    claim = ahead(
        f"{name}: test MAP of {MAP} is the best",
        "Table 7",
        scored(compared, MAP, "AP"),
        second,
    )
    return replace(claim, evidence=f"best of the others: {second.name}; {claim.evidence}")


def _agreement(name: str, agreement: Agreement) -> Claim:
    test, training = (
        paired_t(agreement.by_fold[side], 0.0 * agreement.by_fold[side]) for side in ("test", "train")
    )
    return Claim(
        f"{name}: the stronger the tendency correlation, the higher test {MEASURES[agreement.measure].name}",
        "Theorem 1, Sect. 6.5",
        verdict(test),
        f"Kendall's tau over {len(agreement.points)} surrogates, mean of {test.n} folds "
        f"{test.difference:+.2f} (t-test of the folds against 0: {p_value(test.p)}); on training queries "
        f"{training.difference:+.2f} ({p_value(training.p)})",
    )


def _listed(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
