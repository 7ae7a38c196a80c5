"""Statements of the paper, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import Significance, compare
from directrix.reports.report import Claim
from directrix.reproductions.chapelle2010.methods import CURVE, LINEAR, LISTWISE, curve, rivals, truncations
from directrix.reproductions.chapelle2010.paths import SmoothingPath
from directrix.reproductions.chapelle2010.protocol import Results, whole_path
from directrix.reproductions.chapelle2010.tables import published
from directrix.reproductions.chapelle2010.theory import Theory
from directrix.reproductions.claims import Scored, ahead, scored, training_by_fold, verdict
from directrix.reproductions.paper import paper
from directrix.types import Float64Array

_PAPER = paper("chapelle2010")
_SOFT = "SoftNDCG"
_COMPARED = (_SOFT, "RankSVM", "Regression", *LISTWISE, "RankBoost", "FRank")  # in the paper
_NEARLY = 0.05  # of a rate
_LITTLE = 0.05  # of a rise
_ROUNDING = 1e-6  # of float32 features


def claims(results: Results) -> tuple[Claim, ...]:
    """Check all statements, in the order of the paper; those on methods are about its first collection."""
    first = results.compared[results.first]
    return (
        *_of_paths(results),
        *_of_theory(results.theory),
        *_best(first, results.first),
        *listwise_claims(first, results.first),
        *_of_cut_offs(first, results.first),
    )


def _of_paths(results: Results) -> Iterator[Claim]:
    settings, full = results.settings, results.paths[whole_path(results.settings)]
    yield ahead(
        *_PAPER.statement("improves"),
        _scored("after the last round", full.train[:, -1]),
        _scored("after the first", full.train[:, 1]),
        unit="folds",
    )
    yield ahead(
        *_PAPER.statement("stop-early"),
        _scored("at the round that validation chose", full.chosen_on_test),
        _scored(f"at sigma = {settings.sigma_last:g}:", full.test[-1]),
    )
    last = settings.sigma_last
    at_once = SmoothingPath(last, last, settings.middle, settings.iterations * settings.rounds)
    if at_once in results.paths:
        yield ahead(
            *_PAPER.statement("local-optimum"),
            _scored("objective after annealing", full.surrogate[:, -1]),
            _scored("at once", results.paths[at_once].surrogate[:, -1]),
            unit="folds",
        )
    gain = float((full.surrogate[:, -1] - full.surrogate[:, 0]).mean())
    left = float((full.further - full.surrogate[:, -1]).mean())
    yield _PAPER.fact(
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
        "overfitting": last > first,
        "infinity": theory.moved <= 1e-3 and theory.unregularized <= _ROUNDING,
        "rescaled": theory.rescaled_value <= _ROUNDING
        and theory.rescaled_gradient <= theory.own_gradient + _ROUNDING,
    }
    values = {"theory": theory, "first": first, "last": last}
    return (_PAPER.fact(key, holds=is_true, **values) for key, is_true in holds.items())


def _best(compared: CrossValidation, name: str) -> Iterator[Claim]:
    first, *others = (
        _scored(entry, curve(compared, entry))
        for entry in (LINEAR, *rivals(compared))
        if entry == LINEAR or entry in _COMPARED
    )
    if others:
        yield best_claim(name, first, *others)
    for rival in others:
        key = "above-softrank" if rival.name == _SOFT else "above"
        yield ahead(*_PAPER.statement(key, rival=rival.name, name=name, measure=CURVE), first, rival)


def best_claim(collection: str, first: Scored, *others: Scored) -> Claim:
    """Check whether the first method is above all others, with Holm's correction for their number."""
    systems = (first, *others)
    pairs = compare({one.name: one.values for one in systems}, against=first.name).pairs
    shown = ", ".join(f"{one.name} {one.mean:.4f}" for one in sorted(others, key=lambda one: -one.mean))
    return _PAPER.claim(
        "best",
        verdict(*(Significance(pair.adjusted, -pair.difference, pair.n) for pair in pairs)),
        first=first,
        name=collection,
        measure=CURVE,
        n=len(first.values),
        tested=f"{len(first.values)} queries",
        place=1 + sum(one.mean > first.mean for one in others),
        n_systems=len(systems),
        others=shown,
        smallest=min(pairs, key=lambda pair: pair.adjusted),
    )


def listwise_claims(compared: CrossValidation, name: str) -> Iterator[Claim]:
    """Check RankSVM against the listwise methods, and against LETOR's if all folds were run."""
    if "RankSVM" not in compared.entries:
        return
    first = _scored("RankSVM", curve(compared, "RankSVM"))
    for rival in LISTWISE:
        if rival in compared.entries:
            stated = _PAPER.statement("listwise", rival=rival, name=name, measure=CURVE)
            yield ahead(*stated, first, _scored(rival, curve(compared, rival)))
    theirs = published(name, compared).get("RankSVM", {}).get("ndcg")
    if theirs is not None:
        ours = compared.mean("RankSVM", "nDCG@10")
        yield _PAPER.claim("ranksvm", "not tested", ours=ours, theirs=theirs)


def _of_cut_offs(compared: CrossValidation, name: str) -> Iterator[Claim]:
    entries = truncations(compared)
    for k, entry in entries.items():
        measure = f"nDCG@{k}"
        if k != "50" and measure in compared.measures:
            yield ahead(
                *_PAPER.statement("cut-off", measure=measure, name=name, k=k),
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
            *_PAPER.statement("overfits", k=smallest),
            _scored(f"{measure}, training minus test, k = {smallest}:", by_fold[0]),
            _scored("k = 50:", by_fold[1]),
            unit="folds",
        )


def _scored(name: str, values: Float64Array) -> Scored:
    return Scored(name, values, float(values.mean()))
