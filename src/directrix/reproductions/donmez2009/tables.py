"""Tables 1 to 4 and the numbers of the figures and sentences, published values next to ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.experiments.significance import paired_t
from directrix.reports.tables import Table, Value
from directrix.reproductions.donmez2009.certificates import GAIN_EPOCHS
from directrix.reproductions.donmez2009.methods import entry_name
from directrix.reproductions.donmez2009.pairs import MATCHED, equal_pairs
from directrix.reproductions.donmez2009.protocol import CollectionResults, Key, Results
from directrix.reproductions.donmez2009.published import CONSTRUCTIONS, NOTE, TRAINED
from directrix.reproductions.donmez2009.settings import MEASURES, NETS
from directrix.reproductions.reproduction import TableGroup

_TRAINED = {"chosen": "chosen by validation", "converged": "best on training", "polished": "polished"}
_OTHERS = {
    "random": "random",
    "epoch 7": "epoch 7, trained for nDCG@10",
    "epoch 12": "epoch 12, trained for nDCG@10",
    "RR weights": "trained for RR",
}
_CERTIFIED = (
    *("data", "net", "measure", "weights"),
    *("value", "norm", "rising", "of", "largest", "optimum"),
)


def tables(results: Results) -> tuple[TableGroup, ...]:
    """Make all tables, in the order of the paper."""
    constructions = (
        _constructions("Table 1: forces for MAP", results, "AP"),
        _constructions("Table 2: forces for MRR", results, "RR"),
        _constructions("As Tables 1 and 2, for nDCG", results, "nDCG"),
    )
    return (
        TableGroup("Constructions of the forces", constructions),
        TableGroup("Local optimality", (_optimality(results), _others(results))),
        TableGroup("Which measure to train for", (_matching(results, "mlp"), _matching(results, "linear"))),
        TableGroup("Effective pairs", (_pairs(results), _equal(results))),
        TableGroup("What validation chose", (_rates(results),)),
    )


def _constructions(title: str, results: Results, measure: str) -> Table:
    published = CONSTRUCTIONS.get(measure, {})
    collections = results.collections
    parts = [_construction_values(one, measure) for one in collections.values()]
    rows = [
        (name, *(value for part in parts for value in part[name]), *published.get(name, ()))
        for name in parts[0]
    ]
    heads, groups = ["valid", "test", "SE", "p"] * len(parts), [("", 1), *((name, 4) for name in collections)]
    notes = [
        "Two-layer net. SE: standard error over queries. p: two-sided paired t-test over the test queries, "
        "against the first line. The validation queries also chose the rate and the epoch.",
    ]
    if published:
        heads += ["valid", "SE"]
        groups.append(("web, published", 2))
        notes.append(NOTE)
    return Table(title, ("construction", *heads), tuple(rows), tuple(groups), tuple(notes), digits=4)


def _construction_values(results: CollectionResults, measure: str) -> dict[str, tuple[Value, ...]]:
    constructions = results.constructions(measure)
    usual = constructions[0]
    rows: dict[str, tuple[Value, ...]] = {}
    for one in constructions:
        defined = one.values[~np.isnan(one.values)]
        error = float(defined.std(ddof=1) / np.sqrt(len(defined)))
        p = None if one is usual else paired_t(one.values, usual.values).p
        rows[one.name] = (results.valid(measure, one.name), one.mean, error, p)
    return rows


def _optimality(results: Results) -> Table:
    settings, certificates = results.settings, results.certificates
    kinds = list(_TRAINED)
    rows: list[tuple[Value, ...]] = []
    for key, one in sorted(
        results.of_kind(*kinds).items(),
        key=lambda item: (*item[0][1:3], MEASURES.index(item[0][3]), kinds.index(item[0][0])),
    ):
        small, single = (
            certificates.get((f"{key[0]}, {steps}", *key[1:])) for steps in ("small steps", "one weight")
        )
        level = f" ({small['n_level']} level)" if small and small["n_level"] else ""
        rows.append(
            (
                *_certified(key, one),
                small and f"{small['n_rising']}{level}",
                single and f"{single['n_rising']} of {single['n_directions']}",
            )
        )
    return Table(
        "Local optimality of trained weights (Section 7.1)",
        (*_CERTIFIED, "small", "one weight"),
        tuple(rows),
        groups=(("", 6), ("steps 0.1 to 1", 4), ("other steps", 2)),
        notes=(
            "rising: number of random directions in which a step raises the measure on the training queries; "
            "largest: the largest rise. optimum: yes if none rises, so that with "
            f"{1.0 - settings.delta:.0%} confidence fewer than {settings.eps:.0%} of all directions do. "
            "level: number of directions without a rise, in which a step leaves the measure unchanged; the "
            "paper's formula counts these as rising, its text does not; they do not count as rising here.",
            "small: rising with steps of .001 to .01. one weight: number of weights that raise the measure "
            "if they alone are moved; up and down are counted separately.",
            "best on training: of all epochs at all rates. polished: moved from there along rising "
            f"directions until a test finds none, or for {settings.polish_moves} moves. Each test after one "
            "that found a rising direction has more directions.",
        ),
        digits=4,
    )


def _certified(key: Key, one: Any) -> tuple[Value, ...]:
    kind, collection, model, measure = key
    return (
        *(collection, NETS[model], measure, {**_TRAINED, **_OTHERS}[kind]),
        *(one["value"], f"{one['norm']:.2f}", one["n_rising"], one["n_directions"]),
        *(f"{one['largest_rise']:.5f}", "yes" if one["is_local_optimum"] else "no"),
    )


def _others(results: Results) -> Table:
    rows: list[tuple[Value, ...]] = []
    for key, one in results.certificates.items():
        if key[0] in _OTHERS:
            gain = results.certificates.get((f"gain from {key[0]}", *key[1:]))
            gains = (None, None) if gain is None else (gain[1] - gain[0], max(gain[1:]) - gain[0])
            rows.append((*_certified(key, one), *gains))
    return Table(
        "Weights that were not trained to the end, or for another measure (Section 8)",
        (*_CERTIFIED, "1 epoch", f"{GAIN_EPOCHS} epochs"),
        tuple(rows),
        groups=(("", 6), ("steps 0.1 to 1", 4), ("gain of training on", 2)),
        notes=(
            "measure: what is tested. gain: the best training value of this number of epochs of further "
            "training for it, minus that of the weights.",
        ),
        digits=4,
    )


def _matching(results: Results, model: str) -> Table:
    collections = results.collections
    matchings = [one.matching(model) for one in collections.values()]
    webs = TRAINED if model == "mlp" else {}
    rows: list[tuple[Value, ...]] = []
    for target in MEASURES:
        for i, trained in enumerate(MEASURES):
            cells: list[Value] = [target, trained]
            for match in (matching.match(target, trained) for matching in matchings):
                sign = "–" if match.p is None else "Y" if match.is_significant else "N"
                cells += [match.mean, match.error, sign]
            rows.append((*cells, *(cell for web in webs.values() for cell in web[target][i])))
    heads = (*["score", "SE", "sig."] * len(collections), *["score", "sig."] * len(webs))
    return Table(
        f"{'Tables' if webs else 'As Tables'} 3 and 4: every training tested on every measure, {NETS[model]} "
        "nets",
        ("test", "train", *heads),
        tuple(rows),
        groups=(("", 2), *((name, 3) for name in collections), *((web, 2) for web in webs)),
        notes=(
            "sig.: Y = the paired t-test against the training for the tested measure has p < .05, N = not.",
            "Scores are means over the test queries of all folds, SE their standard error.",
            *((NOTE,) if webs else ()),
        ),
        digits=4,
    )


def _pairs(results: Results) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            *(one.collection, NETS[one.model], one.measure),
            *(one.by_epoch[0], one.by_epoch[-1], round(one.mean)),
            *(100.0 * one.share, 100.0 * one.binary_share),
        )
        for one in results.pairs
    ]
    return Table(
        "Pairs that teach, per epoch (Section 7.2)",
        ("data", "net", "trained for", "start", "end", "mean", "% of graded", "% of binary"),
        tuple(rows),
        groups=(("", 3), ("pairs with a force", 3), ("mean, as a share", 2)),
        notes=(
            "graded: all pairs of documents with different labels. binary: all pairs of a relevant and an "
            "irrelevant document; measures of graded labels can have more than 100 % of these.",
        ),
        digits=1,
    )


def _equal(results: Results) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            *(target, other.trained, matched.size, other.size, round(matched.pairs), round(other.pairs)),
            *(matched.mean(target), other.mean(target), test.difference, test.p),
        )
        for measure in MEASURES
        if measure in MATCHED
        for target, matched, other, test in equal_pairs(results.sized, measure)
    ]
    return Table(
        "Trainings on about as many effective pairs (Figure 5), artificial data, two-layer nets",
        (
            *("test", "other", "queries", "queries of other", "pairs", "pairs of other"),
            *("matched", "value of other", "difference", "p"),
        ),
        tuple(rows),
        notes=(
            "matched: trained for the tested measure; other: trained for the other measure, on that number "
            "of queries which makes the number of effective pairs per epoch nearest, by a factor below 2. p: "
            "paired t-test.",
        ),
        digits=4,
    )


def _rates(results: Results) -> Table:
    rates = results.settings.rates
    rows: list[tuple[Value, ...]] = []
    chosen: list[float] = []
    for name, one in results.collections.items():
        for model in NETS:
            for measure, full in one.collection.measures.items():
                by_fold = [
                    settings["learning_rate"] for settings in one.compared.selected(entry_name(model, full))
                ]
                chosen += by_fold
                rows.append((name, NETS[model], measure, *map(by_fold.count, rates)))
    n_ends = sum(rate in (rates[0], rates[-1]) for rate in chosen)
    return Table(
        "How often validation chose each learning rate",
        ("data", "net", "trained for", *(f"{rate:g}" for rate in rates)),
        tuple(rows),
        notes=(
            f"{n_ends} of {len(chosen)} trainings have a rate at an end of the grid; beyond it there may be "
            "a better one.",
        ),
    )
