"""Tables 1 to 4 and the numbers of the figures and sentences, published values next to ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.experiments.significance import paired_t
from directrix.reports.report import Section
from directrix.reproductions.donmez2009.certificates import GAIN_EPOCHS
from directrix.reproductions.donmez2009.methods import entry_name
from directrix.reproductions.donmez2009.pairs import MATCHED, equal_pairs
from directrix.reproductions.donmez2009.protocol import CollectionResults, Key, Results
from directrix.reproductions.donmez2009.settings import CONSTRUCTIONS, MEASURES, NETS
from directrix.reproductions.paper import paper
from directrix.tables import PValue, Table, Value

_PAPER = paper("donmez2009")
_TRAINED = {"chosen": "chosen by validation", "converged": "best on training", "polished": "polished"}
_OTHERS = {
    "random": "random",
    "epoch 7": "epoch 7, trained for nDCG@10",
    "epoch 12": "epoch 12, trained for nDCG@10",
    "RR weights": "trained for RR",
}


def tables(results: Results) -> tuple[Section, ...]:
    """Make all tables, in the order of the paper."""
    constructions = (
        _constructions("Table 1: forces for MAP", results, "AP"),
        _constructions("Table 2: forces for MRR", results, "RR"),
        _constructions("As Tables 1 and 2, for nDCG", results, "nDCG"),
    )
    matchings = (_matching(results, "mlp"), _matching(results, "linear"))
    optimality = (_trainings(results), _optimality(results), _others(results), *_large(results))
    return (
        Section("Constructions of the forces", constructions),
        Section("Local optimality", optimality),
        Section("Which measure to train for", matchings),
        Section("Effective pairs", (_pairs(results), _equal(results))),
        Section("Future work of the paper", (_by_construction(results), *_other_weights(results))),
        Section("What validation chose", (_rates(results),)),
    )


def _constructions(title: str, results: Results, measure: str) -> Table:
    published, collections = _PAPER.published["constructions"].get(measure, {}), results.collections
    parts = [_construction_values(one, measure) for one in collections.values()]
    absent = (None, None) if published else ()
    rows = [
        (name, *(value for part in parts for value in part[name]), *published.get(name, absent))
        for name in parts[0]
    ]
    columns = ("construction", *["valid", "test", "SE", "p"] * len(parts))
    groups = (("", 1), *((name, 4) for name in collections))
    if not published:
        return _PAPER.table("constructions", rows, columns=columns, groups=groups, title=title)
    return _PAPER.table(
        "constructions",
        rows,
        columns=(*columns, "valid", "SE"),
        groups=(*groups, ("web, published", 2)),
        notes=(_PAPER.captions["notes"]["web"],),
        title=title,
    )


def _construction_values(results: CollectionResults, measure: str) -> dict[str, tuple[Value, ...]]:
    constructions = results.constructions(measure)
    if measure == "RR":
        constructions.insert(1, results.every_change())
    usual = constructions[0]
    rows: dict[str, tuple[Value, ...]] = {}
    for one in constructions:
        defined = one.values[~np.isnan(one.values)]
        error = float(defined.std(ddof=1) / np.sqrt(len(defined)))
        p = None if one is usual else PValue(paired_t(one.values, usual.values).p)
        rows[one.name] = (results.valid(measure, one.name), one.mean, error, p)
    return rows


def _optimality(results: Results) -> Table:
    settings, certificates = results.settings, results.certificates
    kinds = list(_TRAINED)
    rows = []
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
    return _PAPER.table("optimality", rows, settings=settings, confidence=1.0 - settings.delta)


def _certified(key: Key, one: Any) -> tuple[Value, ...]:
    kind, collection, model, measure = key
    return (collection, NETS[model], measure, {**_TRAINED, **_OTHERS}[kind], *_tested(one))


def _tested(one: Any) -> tuple[Value, ...]:
    return (
        *(one["value"], f"{one['norm']:.3g}", one["n_rising"], one["n_directions"]),
        *(f"{one['largest_rise']:.5f}", "yes" if one["is_local_optimum"] else "no"),
    )


def _trainings(results: Results) -> Table:
    rows = [
        (
            *(collection, NETS[model], measure, f"{one['rate']:g}", one["epochs"]["chosen"]),
            *(f"{one['best_rate']:g}", one["epochs"]["converged"]),
            ", ".join(f"{rate}: {n}" for rate, n in one["restarts"].items()),
        )
        for (_, collection, model, measure), one in results.trainings.items()
    ]
    return _PAPER.table("trainings", rows, settings=results.settings)


def _large(results: Results) -> tuple[Table, ...]:
    size = results.settings.large
    rows = []
    for (kind, model, measure), one in results.large.items():
        if kind != "tested":
            where = results.large["tested", model, measure]
            rest = [where[name] if kind == "chosen" else None for name in ("test", "error", "rate", "epoch")]
            restarts = ", ".join(f"{rate}: {n}" for rate, n in where["restarts"].items())
            rows.append((NETS[model], measure, _TRAINED[kind], *_tested(one), *rest, restarts))
    return (_PAPER.table("large", rows, size=size.size),) if size and rows else ()


def _by_construction(results: Results) -> Table:
    rows: dict[tuple[str, ...], list[Value]] = {}
    for one in results.counted:
        row = rows.setdefault((one.collection, NETS[one.model], one.measure), [])
        row += [one.start, one.end]
    groups = (("", 3), *((name, 2) for name in CONSTRUCTIONS))
    columns = ("data", "net", "measure", *["start", "end"] * len(CONSTRUCTIONS))
    listed = [(*key, *counts) for key, counts in rows.items()]
    return _PAPER.table("by-construction", listed, columns=columns, groups=groups)


def _other_weights(results: Results) -> tuple[Table, ...]:
    rows = [
        (collection, kind, name, measure, *_tested(one), one["relative"]["n_rising"])
        for (kind, collection, name, measure), one in results.others.items()
    ]
    return (_PAPER.table("other-weights", rows),) if rows else ()


def _others(results: Results) -> Table:
    rows = []
    for key, one in results.certificates.items():
        if key[0] in _OTHERS:
            gain = results.certificates.get((f"gain from {key[0]}", *key[1:]))
            gains = (None, None) if gain is None else (gain[1] - gain[0], max(gain[1:]) - gain[0])
            rows.append((*_certified(key, one), *gains))
    return _PAPER.table("others", rows, epochs=GAIN_EPOCHS)


def _matching(results: Results, model: str) -> Table:
    collections = results.collections
    matchings = [one.matching(model) for one in collections.values()]
    webs = _PAPER.published["trained"] if model == "mlp" else {}
    rows = []
    for target in MEASURES:
        for i, trained in enumerate(MEASURES):
            cells: list[Value] = [target, trained]
            for match in (matching.match(target, trained) for matching in matchings):
                sign = "–" if match.p is None else "Y" if match.is_significant else "N"
                cells += [match.mean, match.error, sign]
            rows.append((*cells, *(cell for web in webs.values() for cell in web[target][i])))
    heads = (*["score", "SE", "sig."] * len(collections), *["score", "sig."] * len(webs))
    return _PAPER.table(
        "matching",
        rows,
        columns=("test", "train", *heads),
        groups=(("", 2), *((name, 3) for name in collections), *((web, 2) for web in webs)),
        notes=(_PAPER.captions["notes"]["web"],) if webs else (),
        tables="Tables" if webs else "As Tables",
        net=NETS[model],
    )


def _pairs(results: Results) -> Table:
    rows = [
        (
            *(one.collection, NETS[one.model], one.measure),
            *(one.by_epoch[0], one.by_epoch[-1], round(one.mean)),
            *(100.0 * one.share, 100.0 * one.binary_share),
            None if one.changing is None else round(one.changing),
        )
        for one in results.pairs
    ]
    return _PAPER.table("pairs", rows)


def _equal(results: Results) -> Table:
    rows = [
        (
            *(target, other.trained, matched.size, other.size, round(matched.pairs), round(other.pairs)),
            *(matched.mean(target), other.mean(target), test.difference, PValue(test.p)),
        )
        for measure in MEASURES
        if measure in MATCHED
        for target, matched, other, test in equal_pairs(results.sized, measure)
    ]
    return _PAPER.table("equal", rows)


def _rates(results: Results) -> Table:
    rates = results.settings.rates
    rows = []
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
    columns = ("data", "net", "trained for", *(f"{rate:g}" for rate in rates))
    return _PAPER.table("rates", rows, columns=columns, n_ends=n_ends, n=len(chosen))
