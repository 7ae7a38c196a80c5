"""The page of Donmez et al. (2009): Tables 1 to 4, Figures 1 to 6, and whether the statements hold here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from directrix.experiments.significance import paired_t
from directrix.papers.claims import LEVEL, Scored, ahead, p_value
from directrix.papers.donmez2009 import (
    EXAMINED,
    GAIN_EPOCHS,
    QUICK,
    Donmez2009,
    Key,
    Optimality,
    Trained,
    entry_name,
)
from directrix.papers.donmez2009_training import (
    ARTIFICIAL,
    COMPARED,
    EVERY_RR,
    MATCHED,
    MEASURES,
    NETS,
    TRAINED,
    USUAL,
    Sized,
    equal_pairs,
    measures_of,
)
from directrix.papers.paper import Paper, Words, line
from directrix.rankers.means import mean_and_error
from directrix.reports.report import Claim, Figure, Panel, PerQuery, Section
from directrix.tables import PValue, Table, Value

WORDS = Words.of("donmez2009")
_Certificates = Mapping[Key, Any]
_SOURCES = {"nDCG": "Sect. 7", "AP": "Table 1", "RR": "Table 2"}  # of constructions
_FROM, _TO = 10.0**-2.5, 10.0**-0.5  # one or two orders of magnitude below, rounded
_BEST = (  # measure that is tested, what is trained for, and the trainings that it is ahead of
    ("nDCG", "nDCG", ("nDCG@10", "AP", "RR")),
    ("AP", "AP", ("nDCG", "nDCG@10", "RR")),
    ("nDCG@10", "nDCG", ("nDCG@10",)),
    ("RR", "nDCG", ("RR",)),
    ("RR", "nDCG", (EVERY_RR,)),
)
_NET, _MEASURE, _KIND = "{collection}, {net}", "{collection}, {net}, {measure}", "{collection}, {kind}, {net}"
_LEARNED = {"chosen": "chosen by validation", "converged": "best on training", "polished": "polished"}
_OTHERS = {
    "random": "random",
    "epoch 7": "epoch 7, trained for nDCG@10",
    "epoch 12": "epoch 12, trained for nDCG@10",
    "RR weights": "trained for RR",
}
_STEP = "step size η"
_UNSIZED = (
    "Not run, because each takes hours on a small machine. From Python: "
    '`find_paper("donmez2009").reproduce(workspace, Donmez2009(large=Large(trained=(("mlp", "nDCG"),))))`.'
)


# claims


def _claims(results: Optimality) -> Iterator[Claim]:
    collections = results.collections.items()
    for name, one in collections:
        for measure in (*COMPARED, EVERY_RR):
            first, *others = one.constructions(TRAINED[measure][0])
            first = one.every_change() if measure == EVERY_RR else first
            source = _SOURCES[TRAINED[measure][0]]
            yield ahead(
                *WORDS.statement("constructions", name=name, measure=measure, source=source), first, *others
            )
    yield from _on_optima(results)
    yield from _on_pairs(results)
    for name, one in collections:
        yield from _matched(name, one)
    matched = [name for name in dict.fromkeys(run.trained for run in results.sized) if name in MATCHED]
    yield from (_equal(results.sized, name) for name in matched)
    yield from (_shrinks(results.sized, name) for name in matched)


def _on_optima(results: Optimality) -> Iterator[Claim]:
    """Check Sections 5, 7.1 and 8, as far as weights were tested; the evidence names the certificates."""
    confidence, converged = 1.0 - results.settings.delta, results.of_kind("converged")
    for number, measure in enumerate(MEASURES, start=1):
        learned = {key: one for key, one in converged.items() if key[-1] == measure}
        values = {"measure": measure, "number": number, "confidence": confidence}
        yield from _checked("local-optimum", learned, _is_optimum, _counts, **values)
    for key, large in results.of_kind("large").items():
        one, values = large["converged"], {"measure": key[-1], "confidence": confidence}
        values |= {"value": one["value"], "chance": large["chance"]}
        yield from _checked("large", {key: one}, _is_optimum, _counts, **values)
    yield from _checked("polished", results.of_kind("polished"), _is_optimum, _polished)
    yield from _checked("falls", converged, _falls, _which_rise)
    yield from _small_steps(results)
    one_weight = results.of_kind("converged, one weight")
    yield from _checked("gradient", one_weight, lambda one: not one["n_rising"], _by_measure)
    yield from _higher(results)
    yield from _checked("random", results.of_kind("random"), lambda one: one["n_rising"] > 0, _counts)
    yield from _checked("early", results.of_kind("epoch 7", "epoch 12"), _is_optimum, _by_kind)
    yield from _checked("mrr-weights", results.of_kind("RR weights"), _is_optimum, _by_kind)
    gains = results.of_kind("gain from epoch 7", "gain from epoch 12", "gain from RR weights")
    yield from _checked("gains", gains, lambda series: series[1] > series[0], _gains)


def _checked(
    key: str,
    certificates: _Certificates,
    is_true: Callable[[Any], bool],
    evidence: Callable[[_Certificates], str],
    **values: Any,
) -> Iterator[Claim]:
    """Make a claim that holds if it is true of every certificate; none without a certificate."""
    if certificates:
        holds = all(map(is_true, certificates.values()))
        yield WORDS.fact(key, holds=holds, evidence=evidence(certificates), **values)


def _place(key: Key, form: str) -> str:
    kind, collection, model, measure = key
    return form.format(kind=kind, collection=collection, net=NETS[model], measure=measure)


def _counts(certificates: _Certificates, form: str = _NET) -> str:
    return "; ".join(
        f"{_place(key, form)}: {one['n_rising']} of {one['n_directions']} rise"
        + (f", by at most {one['largest_rise']:.5f}" if one["n_rising"] else "")
        + (f", {one['n_level']} level" if one["n_level"] else "")
        for key, one in certificates.items()
    )


_by_measure, _by_kind = partial(_counts, form=_MEASURE), partial(_counts, form=_KIND)


def _is_optimum(certificate: Any) -> bool:
    return bool(certificate["is_local_optimum"])


def _falls(certificate: Any) -> bool:
    return all(after < before for before, after in pairwise([0.0, *certificate["mean_change"]]))


def _which_rise(certificates: _Certificates) -> str:
    rising = [_place(key, _MEASURE) for key, one in certificates.items() if not _falls(one)]
    exceptions = f", except for {'; '.join(rising)}" if rising else " for all measures, nets and data"
    return f"The mean over directions falls with every step{exceptions}"


def _polished(certificates: _Certificates) -> str:
    n_optima = sum(map(_is_optimum, certificates.values()))
    return f"{n_optima} of {len(certificates)} polished weights are certified; {_by_measure(certificates)}"


def _gains(certificates: _Certificates) -> str:
    gains = "; ".join(
        f"{collection}, {kind.removeprefix('gain from ')}: {series[1] - series[0]:+.4f}, "
        f"{max(series[1:]) - series[0]:+.4f}"
        for (kind, collection, _, _), series in certificates.items()
    )
    return f"After one epoch, and best of {GAIN_EPOCHS}: {gains}"


def _small_steps(results: Optimality) -> Iterator[Claim]:
    usual, small = results.of_kind("converged"), results.of_kind("converged, small steps")
    if small:
        same = (_is_optimum(one) == _is_optimum(usual["converged", *key[1:]]) for key, one in small.items())
        yield WORDS.fact("small-steps", holds=all(same), evidence=_by_measure(small))


def _higher(results: Optimality) -> Iterator[Claim]:
    """Compare OHSUMED with the artificial data, of both sizes."""
    converged = results.of_kind("converged")
    values = {
        f"{NETS[model]}, {measure}": (converged[kind, ARTIFICIAL, model, measure]["value"], one["value"])
        for (kind, collection, model, measure), one in converged.items()
        if collection == "OHSUMED"
    }
    if values:
        for (_, _, model, measure), large in results.of_kind("large").items():
            chance = f"random order {large['chance']:.3f}"
            values[f"{NETS[model]}, {measure}, data of the paper's size ({chance})"] = (
                large["converged"]["value"],
                converged["converged", "OHSUMED", model, measure]["value"],
            )
        shown = "; ".join(f"{name}: {a:.3f}, OHSUMED {b:.3f}" for name, (a, b) in values.items())
        yield WORDS.fact("higher", holds=all(a > b for a, b in values.values()), evidence=shown)


def _on_pairs(results: Optimality) -> Iterator[Claim]:
    """Compare the effective pairs of measures, and those of the constructions at the same weights."""
    counts = [one for one in results.pairs if one.model == "mlp"]
    means: dict[str, dict[str, float]] = {}
    for one in counts:
        means.setdefault(one.collection, {})[one.measure] = one.mean
    listed = "; ".join(
        f"{name}: " + " > ".join(f"{m} {by[m]:,.0f}" for m in sorted(by, key=by.__getitem__, reverse=True))
        for name, by in means.items()
    )
    holds = all(by[a] > by[b] for by in means.values() for a, b in pairwise(MEASURES))
    yield WORDS.fact("more-pairs", holds=holds, pairs=listed)
    of_rr = [one for one in counts if one.measure == "RR"]
    yield WORDS.fact(
        "mrr-pairs",
        holds=all(_FROM <= one.binary_share <= _TO for one in of_rr),
        shares="; ".join(f"{one.collection} {one.binary_share:.1%}" for one in of_rr),
        changing="; ".join(f"{one.collection} {one.changing_share or 0.0:.1%}" for one in of_rr),
        least=_FROM,
        most=_TO,
    )
    ends = {
        f"{collection}, {measure}": {name: end for name, (_, end) in by.items()}
        for (_, collection, model, measure), by in results.counted.items()
        if model == "mlp"
    }
    if ends:
        most = {place: max(by, key=by.__getitem__) for place, by in ends.items()}
        listed = "; ".join(
            f"{place}: {by[USUAL]:,}, {most[place]} {by[most[place]]:,}" for place, by in ends.items()
        )
        holds = all(by[USUAL] == max(by.values()) for by in ends.values())
        yield WORDS.fact("most-pairs", holds=holds, pairs=listed)


def _matched(name: str, results: Trained) -> Iterator[Claim]:
    values = results.matching("mlp").values
    for target, trained, others in _BEST:
        key = "matched" if trained == target else "not-matched"
        yield ahead(
            *WORDS.statement(key, name=name, target=target, trained=trained, other=others[0]),
            *(Scored(f"training for {m}", values[m][target]) for m in (trained, *others)),
        )
    for lowest in ("RR", EVERY_RR):
        tests = [
            paired_t(values[trained][target], values[lowest][target])
            for target in MEASURES
            for trained in MEASURES
            if trained != "RR"
        ]
        behind = [test for test in tests if test.difference > 0.0]
        yield WORDS.claim(
            "mrr-lowest",
            *tests,
            tested=f"{tests[0].n} queries",
            name=name,
            lowest=lowest,
            n_behind=len(behind),
            n=len(tests),
            n_clear=sum(test.p < LEVEL for test in behind),
            n_ahead=sum(test.difference < 0.0 and test.p < LEVEL for test in tests),
        )


def _equal(runs: Sequence[Sized], trained: str) -> Claim:
    rows, target = equal_pairs(runs, trained), TRAINED[trained][0]
    tests, leads = [], []
    for other in dict.fromkeys(row.other.trained for row in rows):
        pairs = [row for row in rows if row.other.trained == other]
        mean = np.mean([np.subtract(of.matched.test[target], of.other.test[target]) for of in pairs], axis=0)
        test, n = paired_t(mean, np.zeros_like(mean)), len(pairs)  # the lead, its mean over sizes
        tests.append(test)
        leads.append(f"than for {other} {test.difference:+.4f}, {p_value(test.p)}, {n} size{'s' * (n != 1)}")
    return WORDS.claim(
        "equal-pairs",
        *tests,
        tested=f"{len(runs[0].test[target])} queries",
        trained=trained,
        target=target,
        source=MATCHED[trained],
        leads="; ".join(leads) or "no sizes with about as many pairs",
    )


def _shrinks(runs: Sequence[Sized], trained: str) -> Claim:
    """Compare the lead of nDCG over the matched training on the fewest and the most queries."""
    target = TRAINED[trained][0]
    tests = {(run.trained, run.size): np.asarray(run.test[target], dtype=np.float64) for run in runs}
    sizes = sorted({run.size for run in runs})
    leads = {n: tests["nDCG", n] - tests[trained, n] for n in (sizes[0], sizes[-1])}
    return ahead(
        *WORDS.statement("lead-shrinks", trained=trained, target=target),
        *(Scored(f"lead with {n} queries", lead) for n, lead in leads.items()),
    )


# tables


def _tables(results: Optimality) -> tuple[Section, ...]:
    constructions = (
        _constructions("Table 1: lambdas for MAP", results, "AP"),
        _constructions("Table 2: lambdas for MRR", results, "RR"),
        replace(_constructions("As Tables 1 and 2, for nDCG", results, "nDCG"), detail=True),
    )
    linear = replace(_matching(results, "linear"), detail=True)
    optimality = (_trainings(results), _optimality(results), _not_trained(results), *_large(results))
    return (
        Section("Constructions of the lambdas", constructions),
        Section("Local optimality", optimality),
        Section("Which measure to train for", (_matching(results, "mlp"), linear)),
        Section("Effective pairs", (_pairs(results), _equal_table(results))),
        Section("What validation chose", (_rates(results),)),
    )


def _constructions(title: str, results: Optimality, measure: str) -> Table:
    published = WORDS.published["constructions"].get(measure, {})
    parts = {name: _construction_values(one, measure) for name, one in results.collections.items()}
    absent = (None, None) if published else ()
    rows = [
        (name, *(value for part in parts.values() for value in part[name]), *published.get(name, absent))
        for name in next(iter(parts.values()))
    ]
    heads = [("", ["construction"]), *((name, ["valid", "test", "SE", "p"]) for name in parts)]
    heads += [("web, published", ["valid", "SE"])] if published else []
    notes = ["web"] if published else []
    return WORDS.table("constructions", rows, heads=heads, notes=notes, title=title)


def _construction_values(results: Trained, measure: str) -> dict[str, tuple[Value, ...]]:
    usual, *others = results.constructions(measure)
    every = [results.every_change()] if measure == "RR" else []
    rows: dict[str, tuple[Value, ...]] = {}
    for one in (usual, *every, *others):
        p = None if one is usual else PValue(paired_t(one.values, usual.values).p)
        rows[one.name] = (results.valid(measure, one.name), *mean_and_error(one.values), p)
    return rows


def _trainings(results: Optimality) -> Table:
    rows = [
        (
            *(collection, NETS[model], measure, f"{one['rate']:g}", one["epochs"]["chosen"]),
            *(f"{one['best_rate']:g}", one["epochs"]["converged"]),
            ", ".join(f"{rate}: {n}" for rate, n in one["restarts"].items()),
        )
        for (_, collection, model, measure), one in results.trainings.items()
        if collection in EXAMINED
    ]
    return WORDS.table("trainings", rows, settings=results.settings)


def _optimality(results: Optimality) -> Table:
    settings, certificates = results.settings, results.certificates
    kinds = list(_LEARNED)
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
    return WORDS.table("optimality", rows, settings=settings, confidence=1.0 - settings.delta)


def _certified(key: Key, one: Any) -> tuple[Value, ...]:
    kind, collection, model, measure = key
    return (collection, NETS[model], measure, {**_LEARNED, **_OTHERS}[kind], *_tested(one))


def _tested(one: Any) -> tuple[Value, ...]:
    return (
        *(one["value"], f"{one['norm']:.3g}", one["n_rising"], one["n_directions"]),
        *(f"{one['largest_rise']:.5f}", "yes" if one["is_local_optimum"] else "no"),
    )


def _not_trained(results: Optimality) -> Table:
    rows = []
    for key, one in results.certificates.items():
        if key[0] in _OTHERS:
            gain = results.certificates.get((f"gain from {key[0]}", *key[1:]))
            gains = (None, None) if gain is None else (gain[1] - gain[0], max(gain[1:]) - gain[0])
            rows.append((*_certified(key, one), *gains))
    return WORDS.table("others", rows, epochs=GAIN_EPOCHS)


def _large(results: Optimality) -> Iterator[Table]:
    rows: list[tuple[Value, ...]] = []
    for (_, _, model, measure), one in results.of_kind("large").items():
        restarts = ", ".join(f"{rate}: {n}" for rate, n in one["restarts"].items())
        tested = [one[name] for name in ("test", "error", "rate", "epoch")]
        for kind, rest in (("chosen", tested), ("converged", [None] * 4)):
            rows.append((NETS[model], measure, _LEARNED[kind], *_tested(one[kind]), *rest, restarts))
    large = results.settings.large
    if large and rows:
        yield WORDS.table("large", rows, size=large.size)


def _matching(results: Optimality, model: str) -> Table:
    matchings = {name: one.matching(model) for name, one in results.collections.items()}
    webs = WORDS.published["trained"] if model == "mlp" else {}
    rows = []
    for target in MEASURES:
        for i, trained in enumerate(TRAINED):
            cells: list[Value] = [target, trained]
            for match in (matching.match(target, trained) for matching in matchings.values()):
                sign = "–" if match.p is None else "Y" if match.is_significant else "N"
                cells += [match.mean, match.error, sign]
            theirs = [web[target][i] if trained in MEASURES else (None, None) for web in webs.values()]
            rows.append((*cells, *chain.from_iterable(theirs)))
    heads = [("", ["test", "train"]), *((name, ["score", "SE", "sig."]) for name in matchings)]
    heads += [(f"{web}, published", ["score", "sig."]) for web in webs]
    tables, notes = ("Tables", ["web"]) if webs else ("As Tables", [])
    return WORDS.table("matching", rows, heads=heads, notes=notes, tables=tables, net=NETS[model])


def _pairs(results: Optimality) -> Table:
    rows = [
        (
            *(one.collection, NETS[one.model], one.measure),
            *(one.by_epoch[0], one.by_epoch[-1], round(one.mean)),
            *(100.0 * one.share, 100.0 * one.binary_share),
            None if one.changing is None else round(one.changing),
        )
        for one in results.pairs
    ]
    return WORDS.table("pairs", rows)


def _equal_table(results: Optimality) -> Table:
    rows = [
        (
            *(trained, other.trained, matched.size, other.size, round(matched.pairs), round(other.pairs)),
            *(of.mean(TRAINED[trained][0]) for of in (matched, other)),
            *(test.difference, PValue(test.p)),
        )
        for trained in MATCHED
        for matched, other, test in equal_pairs(results.sized, trained)
    ]
    return WORDS.table("equal", rows)


def _rates(results: Optimality) -> Table:
    rates = results.settings.rates
    rows = []
    chosen: list[float] = []
    for name, one in results.collections.items():
        for model in NETS:
            for measure, full in measures_of(one.collection).items():
                selected = one.compared.selected(entry_name(model, full))
                by_fold = [settings["learning_rate"] for settings in selected]
                chosen += by_fold
                rows.append((name, NETS[model], measure, *map(by_fold.count, rates)))
    n_ends = sum(rate in (rates[0], rates[-1]) for rate in chosen)
    heads = [("", ("data", "net", "trained for", *(f"{rate:g}" for rate in rates)))]
    return WORDS.table("rates", rows, heads=heads, n_ends=n_ends, n=len(chosen))


# figures and values by query


def _figures(results: Optimality) -> Iterator[Figure]:
    converged = results.of_kind("converged")
    drawn = [
        WORDS.figure(
            "directions",
            _directions(converged, measure),
            number=number,
            file=measure.lower().replace("@", "-"),
            measure=measure,
        )
        for number, measure in enumerate(MEASURES, start=1)
    ]
    panels = {
        "fig5-effective-pairs": [_sizes(results.sized, name) for name in ("RR", "nDCG@10") if results.sized],
        "fig6-random-weights": _directions(results.of_kind("random"), "nDCG"),
    }
    drawn += [WORDS.figure(name, of) for name, of in panels.items()]
    return (figure for figure in drawn if figure.panels)


def _directions(certificates: _Certificates, measure: str) -> list[Panel]:
    panels = []
    for (_, collection, model, tested), one in certificates.items():
        if tested == measure:
            x = [0.0, *one["steps"]]
            *directions, highest = one["value"] + np.array(
                [[0.0, *row] for row in (*one["shown"], one["max_change"])]
            )
            curves = [line(f"direction {i}", x, row) for i, row in enumerate(directions, 1)]
            curves.append(line(f"highest of {one['n_directions']}", x, highest, "dashed"))
            title = f"{collection}, {NETS[model]}"
            panels.append(Panel(title, tuple(curves), _STEP, f"mean {measure}, training queries"))
    return panels


def _sizes(runs: Sequence[Sized], target: str) -> Panel:
    of = {trained: [run for run in runs if run.trained == trained] for trained in TRAINED}
    curves = tuple(
        line(f"trained for {trained}", [run.pairs for run in some], [run.mean(target) for run in some])
        for trained, some in of.items()
    )
    return Panel(f"tested on {target}", curves, "effective pairs per epoch", f"mean {target}", "log")


def _per_query(results: Optimality) -> Iterator[PerQuery]:
    for name, one in results.collections.items():
        values, query_ids = one.matching("mlp").values, tuple(map(str, one.compared.query_ids))
        for measure in MEASURES:
            by_training = {f"trained for {trained}": values[trained][measure] for trained in TRAINED}
            yield PerQuery(name, measure, query_ids, by_training)


# sentences


def _summary(results: Optimality, claims: Sequence[Claim]) -> Iterator[str]:
    for name, one in results.collections.items():
        rows = {measure: one.constructions(measure) for measure in COMPARED}
        rows["RR"] += [one.every_change()]
        best = {measure: max(of, key=lambda row: row.mean) for measure, of in rows.items()}
        first = ", ".join(f"{measure}: `{row.name}` {row.mean:.3f}" for measure, row in best.items())
        yield from WORDS.section("summary of constructions", name=name, best=first)
    for name, one in results.collections.items():
        matching = one.matching("mlp")
        best_training = ", ".join(f"{target} by {matching.best(target)}" for target in MEASURES)
        yield from WORDS.section("summary of trainings", name=name, best=best_training)
    for kind, text in (
        ("converged", "the weights of the best training epoch"),
        ("polished", "polished weights"),
    ):
        if certificates := list(results.of_kind(kind).values()):
            rising = [one["n_rising"] for one in certificates]
            tried = sorted({one["n_directions"] for one in certificates})
            yield from WORDS.section(
                "summary of optimality",
                weights=text,
                n_optima=sum(one["is_local_optimum"] for one in certificates),
                n=len(certificates),
                directions=f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}",
                least=min(rising),
                most=max(rising),
                largest=max(one["largest_rise"] for one in certificates),
            )


def _details(results: Optimality) -> dict[str, Any]:
    settings, collections = results.settings, results.collections
    present = [name for name in settings.letor if name in collections]
    folds = " and ".join(f"{name} ({settings.folds} of its 5 folds)" for name in present)
    return {
        "large": settings.large and str(settings.large),
        "size": "one table has this size" if settings.large else "no table has this size",
        "unsized": _UNSIZED if settings.large else "A quick run leaves out all data of this size.",
        "letor": f"{folds}, LETOR: labels 0 to 2, relevant from 1 on. " if folds else "",
        "queries": "; ".join(f"{name} {len(one.compared.query_ids)}" for name, one in collections.items()),
        "n_directions": next((one["n_directions"] for one in results.certificates.values()), 0),
    }


PAPER = Paper(
    words=WORDS,
    full=Donmez2009(),
    quick=QUICK,
    claims=_claims,
    tables=_tables,
    figures=_figures,
    summary=_summary,
    per_query=_per_query,
    details=_details,
)
