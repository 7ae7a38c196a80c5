"""The page of Donmez et al. (2009): Tables 1 to 4, Figures 1 to 6, and whether the statements hold here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
# The paper compares the constructions for each measure in these places.
_SOURCES = {"nDCG": "Sect. 7", "AP": "Table 1", "RR": "Table 2"}
# The paper says "one to two orders of magnitude below": a share between 10^-2 and 10^-1. Half an order is
# allowed on both sides, because the statement is rounded.
_FROM, _TO = 10.0**-2.5, 10.0**-0.5
# Each line has the measure that is tested, the training that should be best, and the trainings behind it.
_BEST = (
    ("nDCG", "nDCG", ("nDCG@10", "AP", "RR")),
    ("AP", "AP", ("nDCG", "nDCG@10", "RR")),
    ("nDCG@10", "nDCG", ("nDCG@10",)),
    ("RR", "nDCG", ("RR",)),
    ("RR", "nDCG", (EVERY_RR,)),
)
# The evidence of a claim names certificates by one of these forms, whichever tells them apart.
_NET, _MEASURE, _KIND = "{collection}, {net}", "{collection}, {net}, {measure}", "{collection}, {kind}, {net}"
_LEARNED = {"chosen": "chosen by validation", "converged": "best on training", "polished": "polished"}
_OTHERS = {
    "random": "random",
    "epoch 7": "epoch 7, trained for nDCG@10",
    "epoch 12": "epoch 12, trained for nDCG@10",
    "RR weights": "trained for RR",
}
_STEP = "step size η"
# The page says how to repeat the trainings that a full run does not do, see `Large`.
_UNSIZED = (
    "Not run, because each takes hours on a small machine. From Python: "
    '`find_paper("donmez2009").reproduce(workspace, Donmez2009(large=Large(trained=(("mlp", "nDCG"),))))`.'
)


# claims


def _claims(results: Optimality) -> Iterator[Claim]:
    collections = results.collections.items()
    for name, comparison in collections:
        for measure in (*COMPARED, EVERY_RR):
            first, *others = comparison.constructions(TRAINED[measure][0])
            first = comparison.every_change() if measure == EVERY_RR else first
            source = _SOURCES[TRAINED[measure][0]]
            yield ahead(
                *WORDS.statement("constructions", name=name, measure=measure, source=source), first, *others
            )
    yield from _on_optima(results)
    yield from _on_pairs(results)
    for name, comparison in collections:
        yield from _matched(name, comparison)
    matched = [name for name in dict.fromkeys(run.trained for run in results.sized) if name in MATCHED]
    yield from (_equal(results.sized, name) for name in matched)
    yield from (_shrinks(results.sized, name) for name in matched)


def _on_optima(results: Optimality) -> Iterator[Claim]:
    """Check Sections 5, 7.1 and 8, as far as weights were tested; the evidence names the certificates."""
    confidence, converged = 1.0 - results.settings.delta, results.of_kind("converged")
    for number, measure in enumerate(MEASURES, start=1):
        learned = {key: certificate for key, certificate in converged.items() if key[-1] == measure}
        values = {"measure": measure, "number": number, "confidence": confidence}
        yield from _checked("local-optimum", learned, _is_optimum, _counts(learned), **values)
    for key, large in results.of_kind("large").items():
        learned = {key: large["converged"]}
        values = {"measure": key[-1], "confidence": confidence}
        values |= {"value": large["converged"]["value"], "chance": large["chance"]}
        yield from _checked("large", learned, _is_optimum, _counts(learned), **values)
    polished = results.of_kind("polished")
    n_optima = sum(map(_is_optimum, polished.values()))
    evidence = f"{n_optima} of {len(polished)} polished weights are certified; {_counts(polished, _MEASURE)}"
    yield from _checked("polished", polished, _is_optimum, evidence)
    # The exceptions are named, because this claim is one sentence about all certificates.
    rising = "; ".join(
        _place(key, _MEASURE) for key, certificate in converged.items() if not _falls(certificate)
    )
    exceptions = f", except for {rising}" if rising else " for all measures, nets and data"
    evidence = f"The mean over directions falls with every step{exceptions}"
    yield from _checked("falls", converged, _falls, evidence)
    small = results.of_kind("converged, small steps")
    if small:
        # Results of both step lengths are consistent if they agree on which weights are optima.
        same = (
            _is_optimum(certificate) == _is_optimum(converged["converged", *key[1:]])
            for key, certificate in small.items()
        )
        yield WORDS.fact("small-steps", holds=all(same), evidence=_counts(small, _MEASURE))
    one_weight = results.of_kind("converged, one weight")
    evidence = _counts(one_weight, _MEASURE)
    yield from _checked("gradient", one_weight, lambda certificate: not certificate["n_rising"], evidence)
    yield from _higher(results)
    random = results.of_kind("random")
    yield from _checked("random", random, lambda certificate: certificate["n_rising"] > 0, _counts(random))
    early = results.of_kind("epoch 7", "epoch 12")
    yield from _checked("early", early, _is_optimum, _counts(early, _KIND))
    of_rr = results.of_kind("RR weights")
    yield from _checked("mrr-weights", of_rr, _is_optimum, _counts(of_rr, _KIND))
    series_of = results.of_kind("gain from epoch 7", "gain from epoch 12", "gain from RR weights")
    gains = "; ".join(
        f"{collection}, {kind.removeprefix('gain from ')}: {series[1] - series[0]:+.4f}, "
        f"{max(series[1:]) - series[0]:+.4f}"
        for (kind, collection, _, _), series in series_of.items()
    )
    evidence = f"After one epoch, and best of {GAIN_EPOCHS}: {gains}"
    yield from _checked("gains", series_of, lambda series: series[1] > series[0], evidence)


def _checked(
    key: str, certificates: _Certificates, is_true: Callable[[Any], bool], evidence: str, **values: Any
) -> Iterator[Claim]:
    """Make a claim that holds if it is true of every certificate; none without a certificate."""
    if certificates:
        holds = all(map(is_true, certificates.values()))
        yield WORDS.fact(key, holds=holds, evidence=evidence, **values)


def _place(key: Key, form: str) -> str:
    kind, collection, model, measure = key
    return form.format(kind=kind, collection=collection, net=NETS[model], measure=measure)


def _counts(certificates: _Certificates, form: str = _NET) -> str:
    return "; ".join(
        f"{_place(key, form)}: {certificate['n_rising']} of {certificate['n_directions']} rise"
        + (f", by at most {certificate['largest_rise']:.5f}" if certificate["n_rising"] else "")
        + (f", {certificate['n_level']} level" if certificate["n_level"] else "")
        for key, certificate in certificates.items()
    )


def _is_optimum(certificate: Any) -> bool:
    return bool(certificate["is_local_optimum"])


def _falls(certificate: Any) -> bool:
    return all(after < before for before, after in pairwise([0.0, *certificate["mean_change"]]))


def _higher(results: Optimality) -> Iterator[Claim]:
    """Check whether the artificial data, of both sizes, have higher values than OHSUMED."""
    converged = results.of_kind("converged")
    values = {
        f"{NETS[model]}, {measure}": (converged[kind, ARTIFICIAL, model, measure]["value"], test["value"])
        for (kind, collection, model, measure), test in converged.items()
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
    counts = [run for run in results.pairs if run.model == "mlp"]
    means: dict[str, dict[str, float]] = {}
    for run in counts:
        means.setdefault(run.collection, {})[run.measure] = run.mean
    listed = "; ".join(
        f"{name}: " + " > ".join(f"{m} {by[m]:,.0f}" for m in sorted(by, key=by.__getitem__, reverse=True))
        for name, by in means.items()
    )
    holds = all(by[a] > by[b] for by in means.values() for a, b in pairwise(MEASURES))
    yield WORDS.fact("more-pairs", holds=holds, pairs=listed)
    rr_runs = [run for run in counts if run.measure == "RR"]
    yield WORDS.fact(
        "mrr-pairs",
        holds=all(_FROM <= run.binary_share <= _TO for run in rr_runs),
        shares="; ".join(f"{run.collection} {run.binary_share:.1%}" for run in rr_runs),
        changing="; ".join(f"{run.collection} {run.changing_share or 0.0:.1%}" for run in rr_runs),
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
    """Test the lead of a training over every other one with about as many effective pairs."""
    rows, target = equal_pairs(runs, trained), TRAINED[trained][0]
    tests, leads = [], []
    for other in dict.fromkeys(run.trained for _, run, _ in rows):
        pairs = [row for row in rows if row[1].trained == other]
        # The same test queries are in all sizes. Their leads are averaged over the sizes before the test, so
        # that every query counts once.
        lead = np.mean([np.subtract(a.test[target], b.test[target]) for a, b, _ in pairs], axis=0)
        test, n = paired_t(lead, np.zeros_like(lead)), len(pairs)
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
    others: list[tuple[Value, ...]] = []
    for key, certificate in results.certificates.items():
        if key[0] in _OTHERS:
            series = results.certificates.get((f"gain from {key[0]}", *key[1:]))
            gains = (None, None) if series is None else (series[1] - series[0], max(series[1:]) - series[0])
            others.append((*_certified(key, certificate), *gains))
    not_trained = WORDS.table("others", others, epochs=GAIN_EPOCHS)
    optimality = (_trainings(results), _optimality(results), not_trained, *_large(results))
    equal = [
        (
            *(trained, other.trained, matched.size, other.size, round(matched.pairs), round(other.pairs)),
            *(run.mean(TRAINED[trained][0]) for run in (matched, other)),
            *(test.difference, PValue(test.p)),
        )
        for trained in MATCHED
        for matched, other, test in equal_pairs(results.sized, trained)
    ]
    linear = replace(_matching(results, "linear"), detail=True)
    return (
        Section("Constructions of the lambdas", constructions),
        Section("Local optimality", optimality),
        Section("Which measure to train for", (_matching(results, "mlp"), linear)),
        Section("Effective pairs", (_pairs(results), WORDS.table("equal", equal))),
        Section("What validation chose", (_rates(results),)),
    )


def _constructions(title: str, results: Optimality, measure: str) -> Table:
    published = WORDS.published["constructions"].get(measure, {})
    values: dict[str, list[Value]] = {}
    for comparison in results.collections.values():
        usual, *others = comparison.constructions(measure)
        every = [comparison.every_change()] if measure == "RR" else []
        for system in (usual, *every, *others):
            p = None if system is usual else PValue(paired_t(system.values, usual.values).p)
            values.setdefault(system.name, []).extend(
                (comparison.valid(measure, system.name), *mean_and_error(system.values), p)
            )
    absent = (None, None) if published else ()
    rows = [(name, *cells, *published.get(name, absent)) for name, cells in values.items()]
    heads = [("", ["construction"]), *((name, ["valid", "test", "SE", "p"]) for name in results.collections)]
    heads += [("web, published", ["valid", "SE"])] if published else []
    notes = ["web"] if published else []
    return WORDS.table("constructions", rows, heads=heads, notes=notes, title=title)


def _trainings(results: Optimality) -> Table:
    rows = [
        (
            *(collection, NETS[model], measure, f"{training['rate']:g}", training["epochs"]["chosen"]),
            *(f"{training['best_rate']:g}", training["epochs"]["converged"]),
            ", ".join(f"{rate}: {n}" for rate, n in training["restarts"].items()),
        )
        for (_, collection, model, measure), training in results.trainings.items()
        if collection in EXAMINED
    ]
    return WORDS.table("trainings", rows, settings=results.settings)


def _optimality(results: Optimality) -> Table:
    experiment, certificates = results.settings, results.certificates
    kinds = list(_LEARNED)
    rows = []
    for key, certificate in sorted(
        results.of_kind(*kinds).items(),
        key=lambda item: (*item[0][1:3], MEASURES.index(item[0][3]), kinds.index(item[0][0])),
    ):
        small, single = (
            certificates.get((f"{key[0]}, {steps}", *key[1:])) for steps in ("small steps", "one weight")
        )
        # The paper's formula counts directions without any change as rising, its text does not.
        level = f" ({small['n_level']} level)" if small and small["n_level"] else ""
        rows.append(
            (
                *_certified(key, certificate),
                small and f"{small['n_rising']}{level}",
                single and f"{single['n_rising']} of {single['n_directions']}",
            )
        )
    return WORDS.table("optimality", rows, settings=experiment, confidence=1.0 - experiment.delta)


def _certified(key: Key, certificate: Any) -> tuple[Value, ...]:
    kind, collection, model, measure = key
    return (collection, NETS[model], measure, {**_LEARNED, **_OTHERS}[kind], *_tested(certificate))


def _tested(test: Any) -> tuple[Value, ...]:
    return (
        *(test["value"], f"{test['norm']:.3g}", test["n_rising"], test["n_directions"]),
        *(f"{test['largest_rise']:.5f}", "yes" if test["is_local_optimum"] else "no"),
    )


def _large(results: Optimality) -> Iterator[Table]:
    rows: list[tuple[Value, ...]] = []
    for (_, _, model, measure), training in results.of_kind("large").items():
        restarts = ", ".join(f"{rate}: {n}" for rate, n in training["restarts"].items())
        tested = [training[name] for name in ("test", "error", "rate", "epoch")]
        for kind, rest in (("chosen", tested), ("converged", [None] * 4)):
            rows.append((NETS[model], measure, _LEARNED[kind], *_tested(training[kind]), *rest, restarts))
    large = results.settings.large
    if large and rows:
        yield WORDS.table("large", rows, size=large.size)


def _matching(results: Optimality, model: str) -> Table:
    matchings = {name: comparison.matching(model) for name, comparison in results.collections.items()}
    webs = WORDS.published["trained"] if model == "mlp" else {}
    rows = []
    for target in MEASURES:
        for i, trained in enumerate(TRAINED):
            cells: list[Value] = [target, trained]
            # The training for the tested measure has no p, because it is what the others are compared with.
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
            *(run.collection, NETS[run.model], run.measure),
            *(run.by_epoch[0], run.by_epoch[-1], round(run.mean)),
            *(100.0 * run.share, 100.0 * run.binary_share),
            None if run.changing is None else round(run.changing),
        )
        for run in results.pairs
    ]
    return WORDS.table("pairs", rows)


def _rates(results: Optimality) -> Table:
    rates = results.settings.rates
    rows = []
    chosen: list[float] = []
    for name, comparison in results.collections.items():
        for model in NETS:
            for measure, full in measures_of(comparison.collection).items():
                selected = comparison.compared.selected(entry_name(model, full))
                by_fold = [hyperparameters["learning_rate"] for hyperparameters in selected]
                chosen += by_fold
                rows.append((name, NETS[model], measure, *map(by_fold.count, rates)))
    # A rate at an end of the grid shows that a better one may lie outside.
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
    drawn += [WORDS.figure(*item) for item in panels.items()]
    return (figure for figure in drawn if figure.panels)


def _directions(certificates: _Certificates, measure: str) -> list[Panel]:
    panels = []
    for (_, collection, model, tested), certificate in certificates.items():
        if tested == measure:
            x = [0.0, *certificate["steps"]]
            # The curves are changes. Each begins at the value of the weights, with a change of 0.
            *directions, highest = certificate["value"] + np.array(
                [[0.0, *row] for row in (*certificate["shown"], certificate["max_change"])]
            )
            curves = [line(f"direction {i}", x, row) for i, row in enumerate(directions, 1)]
            curves.append(line(f"highest of {certificate['n_directions']}", x, highest, "dashed"))
            title = f"{collection}, {NETS[model]}"
            panels.append(Panel(title, tuple(curves), _STEP, f"mean {measure}, training queries"))
    return panels


def _sizes(runs: Sequence[Sized], target: str) -> Panel:
    runs_by_training = {trained: [run for run in runs if run.trained == trained] for trained in TRAINED}
    curves = tuple(
        line(f"trained for {trained}", [run.pairs for run in group], [run.mean(target) for run in group])
        for trained, group in runs_by_training.items()
    )
    return Panel(f"tested on {target}", curves, "effective pairs per epoch", f"mean {target}", "log")


def _per_query(results: Optimality) -> Iterator[PerQuery]:
    for name, comparison in results.collections.items():
        values, query_ids = comparison.matching("mlp").values, tuple(map(str, comparison.compared.query_ids))
        for measure in MEASURES:
            by_training = {f"trained for {trained}": values[trained][measure] for trained in TRAINED}
            yield PerQuery(name, measure, query_ids, by_training)


# sentences


def _summary(results: Optimality, claims: Sequence[Claim]) -> Iterator[str]:
    for name, comparison in results.collections.items():
        rows = {measure: comparison.constructions(measure) for measure in COMPARED}
        rows["RR"] += [comparison.every_change()]
        best = {measure: max(systems, key=lambda system: system.mean) for measure, systems in rows.items()}
        first = ", ".join(f"{measure}: `{system.name}` {system.mean:.3f}" for measure, system in best.items())
        yield from WORDS.section("summary of constructions", name=name, best=first)
    for name, comparison in results.collections.items():
        matching = comparison.matching("mlp")
        best_training = ", ".join(f"{target} by {matching.best(target)}" for target in MEASURES)
        yield from WORDS.section("summary of trainings", name=name, best=best_training)
    for kind, text in (
        ("converged", "the weights of the best training epoch"),
        ("polished", "polished weights"),
    ):
        if certificates := list(results.of_kind(kind).values()):
            rising = [certificate["n_rising"] for certificate in certificates]
            tried = sorted({certificate["n_directions"] for certificate in certificates})
            yield from WORDS.section(
                "summary of optimality",
                weights=text,
                n_optima=sum(certificate["is_local_optimum"] for certificate in certificates),
                n=len(certificates),
                directions=f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}",
                least=min(rising),
                most=max(rising),
                largest=max(certificate["largest_rise"] for certificate in certificates),
            )


def _details(results: Optimality) -> dict[str, Any]:
    experiment, collections = results.settings, results.collections
    present = [name for name in experiment.letor if name in collections]
    folds = " and ".join(f"{name} ({experiment.folds} of its 5 folds)" for name in present)
    return {
        "large": experiment.large and str(experiment.large),
        "size": "one table has this size" if experiment.large else "no table has this size",
        "unsized": _UNSIZED if experiment.large else "A quick run leaves out all data of this size.",
        "letor": f"{folds}, LETOR: labels 0 to 2, relevant from 1 on. " if folds else "",
        "queries": "; ".join(f"{name} {len(runs.compared.query_ids)}" for name, runs in collections.items()),
        "n_directions": next((tested["n_directions"] for tested in results.certificates.values()), 0),
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
