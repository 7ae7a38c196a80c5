"""The page of Chapelle and Wu (2010): tables, LETOR's values next to ours, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import compare
from directrix.papers.chapelle2010 import (
    CURVE,
    LETOR3,
    LINEAR,
    LISTWISE,
    QUICK,
    Chapelle2010,
    SmoothedResults,
    Theory,
    curve,
    rivals,
    truncations,
)
from directrix.papers.claims import Scored, ahead, scored, training_by_fold
from directrix.papers.paper import Paper, Words, line, settings_rows, with_difference
from directrix.papers.workspace import Compared
from directrix.reports.report import Claim, Figure, Panel, PerQuery, Section
from directrix.tables import Table, Value

WORDS = Words.of("chapelle2010")
_SHOWN = ("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "AP")
_SOFT = "SoftNDCG"
# The paper compares these methods.
_COMPARED = (LINEAR, _SOFT, "RankSVM", "Regression", *LISTWISE, "RankBoost", "FRank")
# A rate counts as 1 if it is below 1 by at most this.
_NEARLY = 0.05
# A further optimizer gains little if its gain is at most this share of that of the annealing.
_LITTLE = 0.05
# Features are float32, so equal values may differ by this.
_ROUNDING = 1e-6
# The number of rivals in a figure. More lines cannot be told apart.
_LINES = 6


# claims


def _claims(results: SmoothedResults) -> Iterator[Claim]:
    name, first = results.first.collection.name, results.first.compared
    yield from _of_paths(results)
    yield from _of_theory(results.theory)
    yield from _best(first, name)
    yield from listwise_claims(results.first)
    yield from _of_cut_offs(first, name)


def _of_paths(results: SmoothedResults) -> Iterator[Claim]:
    experiment = results.settings
    full, at_once = (results.paths[path] for path in (experiment.whole_path, experiment.at_once))
    yield ahead(
        *WORDS.statement("improves"),
        Scored("after the last round", full.train[:, -1]),
        Scored("after the first", full.train[:, 1]),
        unit="folds",
    )
    yield ahead(
        *WORDS.statement("stop-early"),
        Scored("at the round that validation chose", full.on_test(full.chosen)),
        Scored(f"at sigma = {experiment.sigma_last:g}:", full.test[-1]),
    )
    yield ahead(
        *WORDS.statement("local-optimum"),
        Scored("objective after annealing", full.surrogate[:, -1]),
        Scored("at once", at_once.surrogate[:, -1]),
        unit="folds",
    )
    gain = float((full.surrogate[:, -1] - full.surrogate[:, 0]).mean())
    left = float((full.further - full.surrogate[:, -1]).mean())
    yield WORDS.fact(
        "kinks",
        holds=left <= _LITTLE * gain,
        gain=gain,
        n_folds=len(full.train),
        left=left,
        failed=full.statuses.get("line_search", 0),
        rounds=sum(full.statuses.values()),
    )


def _of_theory(theory: Theory) -> Iterator[Claim]:
    first, last = theory.gaps[0], theory.gaps[-1]
    holds = {
        "error": theory.is_bounded and theory.rate >= 1.0 - _NEARLY,
        "lipschitz": theory.scaled_gradient <= _ROUNDING and theory.steepest <= 1.0,
        # The loss is at most 1, so a bound above it does not decide the claim.
        "overfitting": None if first >= 1.0 else last > first,
        "infinity": theory.moved <= 1e-3 and theory.unregularized <= _ROUNDING,
        "rescaled": theory.rescaled_value <= _ROUNDING
        and theory.rescaled_gradient <= theory.own_gradient + _ROUNDING,
    }
    values = {"theory": theory, "first": first, "last": last}
    return (WORDS.fact(key, holds=is_true, **values) for key, is_true in holds.items())


def _best(compared: CrossValidation, name: str) -> Iterator[Claim]:
    systems = {
        entry: Scored(entry, curve(compared, entry))
        for entry in (LINEAR, *rivals(compared))
        if entry in _COMPARED
    }
    first = systems.pop(LINEAR)
    if systems:
        yield best_claim(name, first, *systems.values())
    if _SOFT in systems:
        yield ahead(*WORDS.statement("above-softrank", name=name, measure=CURVE), first, systems[_SOFT])


def best_claim(collection: str, first: Scored, *others: Scored) -> Claim:
    """Check whether the first method is above all others."""
    claim = ahead(*WORDS.statement("best", first=first, name=collection, measure=CURVE), first, *others)
    place = 1 + sum(other.mean > first.mean for other in others)
    evidence = f"place {place} of the {1 + len(others)} that the paper compares; {claim.evidence}"
    return replace(claim, evidence=evidence)


def listwise_claims(result: Compared) -> Iterator[Claim]:
    """Check RankSVM against the listwise methods, and against LETOR's if all folds were run."""
    compared, name = result.compared, result.collection.name
    if "RankSVM" not in compared.entries:
        return
    svm, *others = (
        Scored(entry, curve(compared, entry)) for entry in ("RankSVM", *LISTWISE) if entry in compared.entries
    )
    if others:
        yield ahead(*WORDS.statement("listwise", name=name, measure=CURVE), svm, *others)
    theirs = _published(result).get("RankSVM", {}).get("ndcg")
    if theirs is not None:
        ours = compared.mean("RankSVM", "nDCG@10")
        yield WORDS.fact("ranksvm", holds=None, ours=ours, theirs=theirs)


def _of_cut_offs(compared: CrossValidation, name: str) -> Iterator[Claim]:
    entries = truncations(compared)
    for k, entry in entries.items():
        measure = f"nDCG@{k}"
        if k != "50" and measure in compared.measures:
            yield ahead(
                *WORDS.statement("cut-off", measure=measure, name=name, k=k),
                scored(compared, LINEAR, measure)._replace(name="k = 50:"),
                scored(compared, entry, measure)._replace(name=f"k = {k}:"),
            )
    smallest = next(iter(entries))
    if smallest != "50":
        measure = f"nDCG@{smallest}"
        by_fold = [
            training_by_fold(compared, entry, measure) - np.array(compared.folds_of(entry, measure))
            for entry in (entries[smallest], LINEAR)
        ]
        yield ahead(
            *WORDS.statement("overfits", k=smallest),
            Scored(f"{measure}, training minus test, k = {smallest}:", by_fold[0]),
            Scored("k = 50:", by_fold[1]),
            unit="folds",
        )


# tables


def _tables(results: SmoothedResults) -> tuple[Section, ...]:
    first = results.first.compared
    by_k = truncations(first)
    # The training values of the last column show that a short cut-off overfits.
    train = [first.train(entry, "nDCG@10") for entry in by_k.values()]
    cut_offs = [(*row, value) for row, value in zip(_measured(first, by_k, "50"), train, strict=True)]
    heads = [("", ("method", *first.folds, "seconds"))]
    experiment, path = results.settings, results.paths[results.settings.whole_path]
    means = [values.mean(axis=0) for values in (path.surrogate, path.train, path.valid)]
    means.append(path.test.mean(axis=1))
    rounds = [
        (name, *(float(mean[i]) for mean in means), int((path.chosen == i).sum()))
        for i, name in enumerate(["start", *(f"{sigma:g}" for sigma in path.sigmas)])
    ]
    tables = (
        WORDS.table("annealing", rounds, settings=experiment, n_folds=len(path.train), n=len(path.fold_of)),
        *map(compared_table, results.collections.values()),
        WORDS.table("cut-offs", cut_offs),
        WORDS.table("settings", settings_rows(first), heads=heads),
    )
    return (Section("Tables", tables),)


def _place(name: str) -> str:
    """Say where the paper shows a collection."""
    if name == "OHSUMED":
        return "Figure 3, OHSUMED"
    return f"Figure 4, {name}" if name in LETOR3 else f"{name}, which is not in the paper"


def _published(result: Compared) -> Mapping[str, Mapping[str, float]]:
    """Return LETOR's values of a collection; of fewer folds none, because these have other queries."""
    values: Mapping[str, Any] = (
        WORDS.published.get(result.collection.name, {}) if result.has_all_folds else {}
    )
    return values


def compared_table(result: Compared) -> Table:
    """Make a table of SmoothNDCG and its rivals, best first, with LETOR's values if all folds were run."""
    compared, theirs = result.compared, _published(result)
    entries = sorted((LINEAR, *rivals(compared)), key=lambda entry: -compared.mean(entry, "nDCG@10"))
    rows = []
    for row, entry in zip(_measured(compared, {e: e for e in entries}, LINEAR), entries, strict=True):
        letor = theirs.get(entry, {})
        ndcg, _, difference = with_difference(letor.get("ndcg"), compared.mean(entry, "nDCG@10"))
        rows.append((*row, letor.get("ap"), ndcg, difference))
    table = WORDS.table("compared", rows, place=_place(result.collection.name), n=len(compared.query_ids))
    return replace(table, detail=result.collection.name != "OHSUMED")


def _measured(compared: CrossValidation, rows: Mapping[str, str], reference: str) -> list[tuple[Value, ...]]:
    """Return for every row its name, test values of its entry, and p of nDCG@10 against a row, by Holm."""
    values = {name: compared.values(entry, "nDCG@10") for name, entry in rows.items()}
    pairs = compare(values, against=reference).pairs if len(values) > 1 else ()
    p = {pair.first: pair.adjusted for pair in pairs}
    return [
        (name, *(compared.mean(entry, measure) for measure in _SHOWN), p.get(name))
        for name, entry in rows.items()
    ]


# figures and values by query


def _figures(results: SmoothedResults) -> Iterator[Figure]:
    experiment, theory = results.settings, results.theory
    annealed = {
        f"lambda = {l2:g}": results.paths[replace(experiment.whole_path, l2=l2)] for l2 in experiment.path_l2
    }
    # Round 0 is the start, which has no smoothing.
    training = [line(label, path.sigmas, path.train.mean(axis=0)[1:]) for label, path in annealed.items()]
    test = [line(label, path.sigmas, path.test.mean(axis=1)[1:]) for label, path in annealed.items()]
    halved = "sigma, halved from right to left"
    panels = [
        Panel(title, tuple(lines), halved, "nDCG@50", x_scale="log")
        for title, lines in (("training queries", training), ("test queries", test))
    ]
    yield WORDS.figure("annealing", panels, name=results.first.collection.name)
    errors = (
        line("mean error of 20 lists", theory.steps, theory.errors),
        line("bound", theory.steps, theory.bounds, "dashed"),
    )
    error = Panel("error of SmoothNDCG", errors, "gap^2 / sigma", "|SmoothNDCG - nDCG|", y_scale="log")
    yield WORDS.figure("error", [error])
    for name, result in results.collections.items():
        yield from _compared(name, result.compared)
    first = results.first.compared
    cut_offs = {k: entry for k, entry in truncations(first).items() if k != "all"}
    curves = tuple(
        line(f"nDCG@{k}", map(float, cut_offs), [first.mean(e, f"nDCG@{k}") for e in cut_offs.values()])
        for k in (1, 3, 5, 10)
    )
    panel = Panel("cut-off in training", curves, "k in training", "test queries", x_scale="log")
    yield WORDS.figure("cut-offs", [panel])


def _compared(name: str, compared: CrossValidation) -> Iterator[Figure]:
    others = rivals(compared)
    for number, first in enumerate(range(0, len(others), _LINES), start=1):
        curves = tuple(
            line(entry, range(1, 11), [compared.mean(entry, f"nDCG@{k}") for k in range(1, 11)])
            for entry in (LINEAR, *others[first : first + _LINES])
        )
        best = max(curves, key=lambda curve: float(curve.y.mean())).label
        panel = Panel(name, curves, "k", "nDCG@k of the test queries")
        values = {"file": name.lower(), "place": _place(name), "part": number, "n": len(curves), "best": best}
        yield WORDS.figure("methods", [panel], **values)


def _per_query(results: SmoothedResults) -> Iterator[PerQuery]:
    for result in results.collections.values():
        yield from result.by_query((LINEAR, *rivals(result.compared)), {"nDCG@10": "nDCG@10"})


# sentences


def _summary(results: SmoothedResults, claims: Sequence[Claim]) -> Iterator[str]:
    for name, result in results.collections.items():
        yield from _places(name, result.compared)
    name, first = results.first.collection.name, results.first.compared
    if "SmoothAP" in first.entries:
        ap, ap_of_ndcg = (first.mean(entry, "AP") for entry in ("SmoothAP", LINEAR))
        yield from WORDS.section("summary of SmoothAP", name=name, ap=ap, ap_of_ndcg=ap_of_ndcg)


def _places(name: str, compared: CrossValidation) -> Iterator[str]:
    """Say which place SmoothNDCG has, by two measures, and which differences the test could miss."""
    values = {entry: curve(compared, entry) for entry in (LINEAR, *rivals(compared))}
    for measure, means in (
        ("nDCG@10", {entry: compared.mean(entry, "nDCG@10") for entry in values}),
        (CURVE, {entry: float(row.mean()) for entry, row in values.items()}),
    ):
        ordered = sorted(means, key=lambda entry: -means[entry])
        best = next(entry for entry in ordered if entry != LINEAR)
        yield from WORDS.section(
            "summary of a collection",
            name=name,
            measure=measure,
            place=ordered.index(LINEAR) + 1,
            n=len(means),
            value=means[LINEAR],
            best=best,
            value_of_best=means[best],
        )
    yield f"{name}: {compare(values, against=LINEAR).power_note}"


def _details(results: SmoothedResults) -> dict[str, Any]:
    """Return values for the placeholders of the page; a quick run does not name what it leaves out."""
    is_quick = results.settings.collections is not None
    collections = results.collections.items()
    return {
        "folds": ", ".join(f"{name}: {len(result.collection.splits)} folds" for name, result in collections),
        "quick": "A quick run leaves them out." if is_quick else None,
        **({"absent": dict.fromkeys(Chapelle2010.letor)} if is_quick else {}),
    }


PAPER = Paper(
    words=WORDS,
    full=Chapelle2010(),
    quick=QUICK,
    claims=_claims,
    tables=_tables,
    figures=_figures,
    summary=_summary,
    per_query=_per_query,
    details=_details,
)
