"""Tables of the reproduction: constructions, optimality, pairs, matching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from directrix.experiments.donmez2009.certificates import GAIN_EPOCHS
from directrix.experiments.donmez2009.comparison import Comparison
from directrix.experiments.donmez2009.results import EqualPairs, Found, equal_pairs
from directrix.experiments.donmez2009.settings import MODELS
from directrix.experiments.significance import paired_t
from directrix.reports.donmez2009.published import CONSTRUCTIONS, MEASURES, NOTE, TRAINED
from directrix.reports.tables import Table, Value

__all__ = ["NETS", "short", "tables"]

NETS = {"linear": "single-layer", "mlp": "two-layer"}
_SE = "SE: standard error over queries. p: two-sided paired t-test over the test queries, against"
_WEIGHTS = {
    "chosen": "chosen by validation",
    "converged": "best on training",
    "polished": "polished",
    "epoch 7": "epoch 7, trained for nDCG@10",
    "epoch 12": "epoch 12, trained for nDCG@10",
    "RR weights": "trained for RR",
    "random": "random",
}


def short(measure: str) -> str:
    """Name without the least relevant label: "AP" for "AP(rel=2)"."""
    return measure.split("(")[0]


def tables(found: Found) -> tuple[Table, ...]:
    """All tables, those of the paper in its order."""
    return (
        _constructions("Table 1: forces for MAP", found, "AP"),
        _constructions("Table 2: forces for MRR", found, "RR"),
        _constructions("As Tables 1 and 2, for nDCG", found, "nDCG"),
        _optimality(found),
        _others(found),
        _matching(found, "mlp"),
        _matching(found, "linear"),
        _pairs(found),
        _equal(found),
        _rates(found),
    )


def _constructions(title: str, found: Found, measure: str) -> Table:
    published = CONSTRUCTIONS.get(measure)
    parts = [_of(one, measure) for one in found.comparisons]
    rows: list[tuple[Value, ...]] = []
    for number, first in enumerate(parts[0]):
        cells: list[Value] = [first.name]
        for part in parts:
            one = part[number]
            p = None if number == 0 else float(paired_t(one.values, part[0].values).p)
            cells += [one.valid, one.mean, one.error, p]
        rows.append((*cells, *(published[first.name] if published else ())))
    names = [(one.name, 4) for one in found.comparisons]
    return Table(
        title,
        ("construction", *["valid", "test", "SE", "p"] * len(names), *(("valid", "SE") if published else ())),
        tuple(rows),
        groups=(("", 1), *names, *((("web, published", 2),) if published else ())),
        notes=(
            f"Two-layer net. {_SE} the first line. The validation queries chose the rate and the epoch, too.",
            *((NOTE,) if published else ()),
        ),
        digits=4,
    )


def _of(comparison: Comparison, measure: str) -> Sequence[Any]:
    return next(rows for name, rows in comparison.constructions.items() if short(name) == measure)


def _optimality(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = []
    at = found.certificates
    for (what, collection, model, measure), one in at.items():
        if what not in ("chosen", "converged", "polished"):
            continue
        small = at.get((f"{what}, small steps", collection, model, measure))
        single = at.get((f"{what}, one weight", collection, model, measure))
        rows.append(
            (
                *_place(what, collection, model, measure),
                *_certified(one),
                small and _with_level(small),
                single and f"{single['n_rising']} of {single['n_directions']}",
            )
        )
    order = list(_WEIGHTS.values())
    rows.sort(
        key=lambda row: (
            row[0],
            row[1] != NETS["linear"],
            MEASURES.index(str(row[2])),
            order.index(str(row[3])),
        )
    )
    return Table(
        "Local optimality of trained weights (Section 7.1)",
        (*_PLACE, *_CERTIFIED, "small", "one weight"),
        tuple(rows),
        groups=(("", 6), ("steps 0.1 to 1", 4), ("other steps", 2)),
        notes=(
            "rising: random directions in which a step raises the measure on the training queries; "
            "largest: the most that one does. optimum: yes if none rises, so that with "
            f"{1.0 - found.settings.delta:.0%} confidence fewer than {found.settings.eps:.0%} of all "
            "directions do. level: no rise, but a step that leaves the measure as it is; the paper's formula "
            "counts these as rising, its text does not, nor is it done here.",
            "small: rising with steps of .001 to .01. one weight: weights that raise the measure when "
            "they alone are moved, up and down counted apart.",
            "best on training: of all epochs at all rates. polished: from there along rising directions "
            "until a test finds none, which has more directions after each that found one, or for "
            f"{found.settings.polish_moves} moves.",
        ),
        digits=4,
    )


def _with_level(one: Any) -> str:
    return f"{one['n_rising']}" + (f" ({one['n_level']} level)" if one["n_level"] else "")


_PLACE = ("data", "net", "measure", "weights")
_CERTIFIED = ("value", "norm", "rising", "of", "largest", "optimum")


def _place(what: str | int, collection: str | int, model: str | int, measure: str | int) -> tuple[Value, ...]:
    return collection, NETS[str(model)], short(str(measure)), _WEIGHTS[str(what)]


def _certified(one: Any) -> tuple[Value, ...]:
    optimum = "yes" if one["is_local_optimum"] else "no"
    return (
        one["value"],
        f"{one['norm']:.2f}",
        one["n_rising"],
        one["n_directions"],
        f"{one['largest_rise']:.5f}",
        optimum,
    )


def _others(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = []
    for (what, *place), one in found.certificates.items():
        if what not in ("random", "epoch 7", "epoch 12", "RR weights"):
            continue
        gain = found.certificates.get((f"gain from {what}", *place))
        gains = (None, None) if gain is None else (gain[1] - gain[0], max(gain[1:]) - gain[0])
        rows.append((*_place(what, *place), *_certified(one), *gains))
    return Table(
        "Weights that were not trained to the end, or for another measure (Section 8)",
        (*_PLACE, *_CERTIFIED, "1 epoch", f"{GAIN_EPOCHS} epochs"),
        tuple(rows),
        groups=(("", 6), ("steps 0.1 to 1", 4), ("gain of training on", 2)),
        notes=(
            "measure: what is tested. gain: the best training value of so many epochs of training for it, "
            "minus that of the weights.",
        ),
        digits=4,
    )


def _matching(found: Found, model: str) -> Table:
    webs = list(TRAINED) if model == "mlp" else []
    rows: list[tuple[Value, ...]] = []
    for target, trained in ((target, trained) for target in MEASURES for trained in MEASURES):
        cells: list[Value] = [target, trained]
        for one in found.comparisons:
            names = {short(name): name for name in one.measures}
            match = one.matchings[model].match(names[target], names[trained])
            sign = "–" if match.p is None else "Y" if match.is_significant else "N"
            cells += [match.mean, match.error, sign]
        rows.append((*cells, *(cell for web in webs for cell in TRAINED[web][target, trained])))
    names_of = [(one.name, 3) for one in found.comparisons]
    number = "Tables 3 and 4" if webs else "As Tables 3 and 4"
    return Table(
        f"{number}: every training tested on every measure, {NETS[model]} nets",
        ("test", "train", *["score", "SE", "sig."] * len(names_of), *["score", "sig."] * len(webs)),
        tuple(rows),
        groups=(("", 2), *names_of, *((web, 2) for web in webs)),
        notes=(
            "sig.: Y = the paired t-test against the training for the tested measure has p < .05, N = not.",
            "Scores are means over the test queries of all folds, SE their standard error.",
            *((NOTE,) if webs else ()),
        ),
        digits=4,
    )


def _pairs(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            one.collection,
            NETS[one.model],
            short(one.measure),
            one.first,
            one.last,
            round(one.mean),
            100.0 * one.share,
            100.0 * one.binary_share,
        )
        for one in found.pairs
    ]
    return Table(
        "Pairs that teach, per epoch (Section 7.2)",
        ("data", "net", "trained for", "start", "end", "mean", "% of graded", "% of binary"),
        tuple(rows),
        groups=(("", 3), ("pairs with a force", 3), ("mean, as a share", 2)),
        notes=(
            "graded: all pairs of documents with different labels. binary: of a relevant and an "
            "irrelevant one; measures of graded labels can have more than 100 % of these.",
        ),
        digits=1,
    )


def _equal(found: Found) -> Table:
    rows: list[tuple[Value, ...]] = []
    for target in (m for m in _measures(found) if short(m) in ("RR", "nDCG@10")):
        rows += [_equal_row(row) for row in equal_pairs(found.sized, target)]
    return Table(
        "Trainings on about as many effective pairs (Figure 5), artificial data, two-layer nets",
        (
            *("test", "other", "queries", "queries of other", "pairs", "pairs of other"),
            *("matched", "value of other", "difference", "p"),
        ),
        tuple(rows),
        notes=(
            "matched: trained for the tested measure; other: for the other one, on as many queries as "
            "make the number of effective pairs per epoch nearest, by a factor below 2. p: paired t-test.",
        ),
        digits=4,
    )


def _equal_row(row: EqualPairs) -> tuple[Value, ...]:
    sizes = row.size, row.other_size, round(row.pairs), round(row.other_pairs)
    return (short(row.target), short(row.other), *sizes, row.mean, row.other_mean, row.difference, row.p)


def _measures(found: Found) -> list[str]:
    return list(dict.fromkeys(one.trained for one in found.sized))


def _rates(found: Found) -> Table:
    rates = found.settings.rates
    rows: list[tuple[Value, ...]] = []
    chosen = []
    for one in found.comparisons:
        for model in MODELS:
            for measure in one.measures:
                chosen.append(one.rates[f"{model} for {measure}"])
                counts = (chosen[-1].count(rate) for rate in rates)
                rows.append((one.name, NETS[model], short(measure), *counts))
    ends = sum(rate in (rates[0], rates[-1]) for folds in chosen for rate in folds)
    return Table(
        "How often validation chose each learning rate",
        ("data", "net", "trained for", *(f"{rate:g}" for rate in rates)),
        tuple(rows),
        notes=(
            f"{ends} of {sum(map(len, chosen))} trainings have a rate at an end of the grid; beyond it "
            "there may be "
            "a better one.",
        ),
    )
