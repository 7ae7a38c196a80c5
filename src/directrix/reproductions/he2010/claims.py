"""Statements of the paper, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import paired_t
from directrix.reports.report import Claim
from directrix.reproductions.claims import (
    Ordering,
    ahead,
    check_ordering,
    p_value,
    scored,
    training_by_fold,
    verdict,
)
from directrix.reproductions.he2010.agreement import Agreement, Coefficients, TradeOff
from directrix.reproductions.he2010.coefficients import STRUCTURAL
from directrix.reproductions.he2010.methods import LISTNET, MAP, NDCG
from directrix.reproductions.he2010.protocol import MEASURES, Results
from directrix.reproductions.he2010.theorem_claims import on_theorems, transformation, with_values
from directrix.reproductions.paper import paper

_SMALL = 0.25  # a coefficient is "very strong" below this share of the smallest "big" one
_KNEE = 250.0  # alpha up to which training values rise, by the paper
_PAPER = paper("he2010")
_CANNOT_ALWAYS = (
    (("SVMmap", "PermuRank"), "AP"),
    (("DORM", "SVMndcg"), "nDCG@5"),
    (("DORM", "SVMndcg"), "nDCG@10"),
)
"""Methods, and the measure of whose training values Section 6.4 says so."""
_DECREASES = {
    "SoftRank": "decreases as sigma decreases",
    MAP: "decreases as alpha increases",
    NDCG: "decreases as alpha increases",
}


def claims(results: Results) -> tuple[Claim, ...]:
    """Check all statements, in the order of the paper.

    On test queries a claim holds if p < .05 in the paired t-test over them. Training values and coefficients
    are facts about these queries, not a sample: their sign decides, and the folds that agree are counted.
    """
    made = list(on_theorems(results))
    for name, one in results.collections.items():
        made += [
            *_tendency(name, one.coefficients),
            *_trade_off(name, one.trade_off),
            *_ordered(name, one.compared, "training"),
            *_cannot_always(name, one.compared),
            _best(name, one.compared),
            *_ordered(name, one.compared, "test"),
        ]
    made += [
        _agreement(name, agreement)
        for name, one in results.collections.items()
        for agreement in one.agreements
    ]
    made += [transformation(name, one) for name, one in results.collections.items()]
    return tuple(made)


def _cannot_always(name: str, compared: CrossValidation) -> Iterator[Claim]:
    """Check that structural SVMs are not above ListNet on the training queries of every fold."""
    for methods, measure in _CANNOT_ALWAYS:
        base = training_by_fold(compared, LISTNET, measure)
        for method in methods:
            n_above = int((training_by_fold(compared, method, measure) > base).sum())
            values = {"name": name, "method": method, "measure": MEASURES[measure].name}
            holds = n_above < len(base)
            yield _PAPER.fact("cannot-always", holds=holds, n_above=n_above, n_folds=len(base), **values)


def _tendency(name: str, coefficients: Coefficients) -> Iterator[Claim]:
    for family, decreases in _DECREASES.items():
        folds = np.array(list(coefficients[family].values()))  # from blunt to sharp
        steps, mean = np.diff(folds, axis=0), folds.mean(axis=1)
        yield _PAPER.fact(
            "decreases",
            holds=bool((np.diff(mean) <= 0.0).all()),
            name=name,
            family=family,
            decreases=decreases,
            mean=mean,
            last=mean[-1],
            n=len(mean) - 1,
            n_falls=int((np.diff(mean) <= 0).sum()),
            n_fold_falls=int((steps <= 0).sum()),
            n_fold_steps=steps.size,
        )
    sharpest = {family: float(list(coefficients[family].values())[-1].mean()) for family in _DECREASES}
    large = {name: coefficients["structural"][name] for name in STRUCTURAL}
    others = {"AP": coefficients[MAP], "nDCG": coefficients[NDCG]}
    margin = min(
        large[name].min() - others["AP" if name in ("SVMmap", "PermuRank") else "nDCG"]["alpha=100"].max()
        for name in large
    )
    means = {name: float(values.mean()) for name, values in large.items()}
    yield _PAPER.fact("big", holds=margin > 0.0, name=name, means=with_values(means, ".3f"), margin=margin)
    least = min(means.values())
    is_strong = max(sharpest.values()) < _SMALL * least
    yield _PAPER.fact(
        "strong", holds=is_strong, name=name, sharpest=with_values(sharpest, ".3f"), least=least
    )
    steep = np.array([v.mean() for label, v in coefficients["beta"].items() if label != "beta=1"])
    holds = bool(np.ptp(steep) < 0.01)
    yield _PAPER.fact("beta", holds=holds, name=name, least=steep.min(), most=steep.max())


def _trade_off(name: str, trade: TradeOff) -> Iterator[Claim]:
    alphas = trade.alphas
    means = {"one": trade.one.mean(axis=1), "many": trade.many.mean(axis=1)}
    one, many = means.values()
    for stated in _PAPER.published["steps"]:
        inside = (alphas >= stated["low"]) & (alphas <= stated["high"])
        if inside.sum() < 2:
            continue
        x, y = alphas[inside], means[stated["start"]][inside]
        n_steps, n_as_stated = len(y) - 1, int((np.diff(y) * stated["sign"] > 0.0).sum())
        yield _PAPER.fact(
            "steps",
            holds=n_as_stated == n_steps,
            name=name,
            text=stated["text"],
            x=x,
            y=y,
            last_x=x[-1],
            last_y=y[-1],
            highest=x[y.argmax()],
            n_as_stated=n_as_stated,
            n_steps=n_steps,
        )
    at = int((alphas <= _KNEE).sum()) - 1
    if 0 < at < len(one) - 1:
        first, last = (int((trade.one[at] > trade.one[end]).sum()) for end in (0, -1))
        yield _PAPER.fact(
            "trade-off",
            holds=bool(one[at] > max(one[0], one[-1])),
            name=name,
            one=one[[0, at, -1]],
            alphas=alphas[[0, at, -1]],
            first=first,
            last=last,
            n_folds=trade.one.shape[1],
        )
    inside = (alphas >= 50.0) & (alphas <= 400.0)
    test = paired_t(trade.many[inside].mean(axis=0), trade.one[inside].mean(axis=0))
    gains = 100.0 * (many[inside] / one[inside] - 1.0)
    yield _PAPER.claim(
        "restarts",
        verdict(test),
        name=name,
        least=gains.min(),
        most=gains.max(),
        test=test,
        p=p_value(test.p),
    )


def _ordered(name: str, compared: CrossValidation, part: Literal["test", "training"]) -> Iterator[Claim]:
    for stated in _PAPER.published[part]:
        ordering = Ordering(**stated, part=part)
        if not ordering.collections or name in ordering.collections:
            yield check_ordering(ordering, name, compared, MEASURES[ordering.measure].name)


def _best(name: str, compared: CrossValidation) -> Claim:
    """Compare ApproxRank-MAP with the best of the others."""
    others = [entry for entry in compared.entries if not entry.startswith(MAP)]
    second = max((scored(compared, entry, "AP") for entry in others), key=lambda rival: rival.mean)
    claim = ahead(*_PAPER.statement("best", name=name), scored(compared, MAP, "AP"), second)
    return replace(claim, evidence=f"best of the others: {second.name}; {claim.evidence}")


def _agreement(name: str, agreement: Agreement) -> Claim:
    test, training = (
        paired_t(agreement.by_fold[side], 0.0 * agreement.by_fold[side]) for side in ("test", "train")
    )
    return _PAPER.claim(
        "agreement",
        verdict(test),
        name=name,
        measure=MEASURES[agreement.measure].name,
        n=len(agreement.points),
        test=test,
        p=p_value(test.p),
        training=training,
        p_training=p_value(training.p),
    )
