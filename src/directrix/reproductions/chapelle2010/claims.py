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
from directrix.reproductions.chapelle2010.published import published
from directrix.reproductions.chapelle2010.theory import Theory
from directrix.reproductions.claims import Scored, ahead, fact, scored, training_by_fold, verdict
from directrix.types import Float64Array

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
        "The training nDCG@50 improves while sigma is halved.",
        "Sect. 4.4.2, Fig. 2",
        _scored("after the last round", full.train[:, -1]),
        _scored("after the first", full.train[:, 1]),
        unit="folds",
    )
    yield ahead(
        "The test nDCG@50 falls again when sigma becomes small: one should stop early.",
        "Sect. 4.4.2 and 5.2, Fig. 2",
        _scored("at the round that validation chose", full.test_of_chosen),
        _scored(f"at sigma = {settings.sigma_last:g}:", full.test[-1]),
    )
    last = settings.sigma_last
    at_once = SmoothingPath(last, last, settings.middle, settings.iterations * settings.rounds)
    if at_once in results.paths:
        yield ahead(
            "Annealing finds a better local optimum than training at the last sigma at once.",
            "Sect. 4.4.2 and 7",
            _scored("objective after annealing", full.surrogate[:, -1]),
            _scored("at once", results.paths[at_once].surrogate[:, -1]),
            unit="folds",
        )
    rounds, failed = sum(full.statuses.values()), full.statuses.get("line_search", 0)
    gain = float((full.surrogate[:, -1] - full.surrogate[:, 0]).mean())
    left = float((full.further - full.surrogate[:, -1]).mean())
    yield fact(
        "That the function has kinks where scores tie did no harm to the optimiser.",
        "Sect. 4.1",
        f"Annealing raises the objective by {gain:.4f}, mean of {len(full.train)} folds; L-BFGS from there "
        f"by {left:.5f}. {failed} of {rounds} rounds ended because the line search found nothing better, by "
        "rounding or at a kink.",
        holds=left <= _LITTLE * gain,
    )


def _of_theory(theory: Theory) -> tuple[Claim, ...]:
    return (
        fact(
            "As sigma goes to 0 the error of SmoothNDCG falls like exp(-gap^2 / sigma), gap the smallest "
            "difference of scores.",
            "Sect. 5.1",
            f"20 lists: no error is above its bound; the slope of -log(error) over gap^2 / sigma is "
            f"{theory.rate:.2f} or more.",
            holds=theory.is_bounded and theory.rate >= 1.0 - _NEARLY,
        ),
        fact(
            "The Lipschitz constant of SmoothNDCG grows like 1 / sqrt(sigma).",
            "Sect. 5.2",
            "The gradient at (c s, c^2 sigma) is that at (s, sigma) divided by c; largest relative "
            f"difference {theory.scaled_gradient:.0e}.",
            holds=theory.scaled_gradient <= _ROUNDING,
        ),
        fact(
            "For sigma to infinity SmoothNDCG is constant and the minimiser is near w0, wherever training "
            "starts.",
            "Sect. 5.3",
            f"sigma = 2^40: values of three starts differ by {theory.unregularised:.0e}, trainings end "
            f"{theory.moved:.0e} of the length of w0 away from it.",
            holds=theory.moved <= 1e-3 and theory.unregularised <= _ROUNDING,
        ),
        fact(
            "With w0 = 0, (sigma, lambda) and (c^2 sigma, lambda / c^2) have minimisers that differ by the "
            "factor c: fix one.",
            "Sect. 5.4",
            f"c = 3: losses differ by {theory.rescaled_value:.0e}; at the first minimum the largest gradient "
            f"is {theory.own_gradient:.0e}, at c times it, times c, {theory.rescaled_gradient:.0e}.",
            holds=theory.rescaled_value <= _ROUNDING
            and theory.rescaled_gradient <= theory.own_gradient + _ROUNDING,
        ),
    )


def _best(compared: CrossValidation, name: str) -> Iterator[Claim]:
    first, *others = (
        _scored(entry, curve(compared, entry))
        for entry in (LINEAR, *rivals(compared))
        if entry == LINEAR or entry in _COMPARED
    )
    if others:
        yield best_claim(name, first, *others)
    for rival in others:
        text, source = f"SmoothNDCG is above {rival.name} on {name} by {CURVE}.", "Sect. 7, Fig. 3"
        if rival.name == _SOFT:
            text = f"SmoothNDCG is a bit more accurate than SoftRank on {name} by {CURVE}."
            source = "Sect. 7, Fig. 5"
        yield ahead(text, source, first, rival)


def best_claim(collection: str, first: Scored, *others: Scored) -> Claim:
    """Check whether the first method is above all others, with Holm's correction for their number."""
    systems = (first, *others)
    pairs = compare({one.name: one.values for one in systems}, against=first.name).pairs
    place = 1 + sum(one.mean > first.mean for one in others)
    shown = ", ".join(f"{one.name} {one.mean:.4f}" for one in sorted(others, key=lambda one: -one.mean))
    smallest = min(pairs, key=lambda pair: pair.adjusted)
    return Claim(
        f"{first.name} is the best of all methods on {collection} by {CURVE}.",
        "Sect. 7, Fig. 3",
        verdict(*(Significance(pair.adjusted, -pair.difference, pair.n) for pair in pairs)),
        f"{len(first.values)} test queries: place {place} of {len(systems)}; {first.name} {first.mean:.4f}, "
        f"{shown}. Smallest p, against {smallest.first}, with Holm's correction {smallest.adjusted:.3f}.",
    )


def listwise_claims(compared: CrossValidation, name: str) -> Iterator[Claim]:
    """Check RankSVM against the listwise methods, and against LETOR's if all folds were run."""
    if "RankSVM" not in compared.entries:
        return
    first = _scored("RankSVM", curve(compared, "RankSVM"))
    for rival in LISTWISE:
        if rival in compared.entries:
            yield ahead(
                f"RankSVM, solved to its optimum, is above the listwise {rival} on {name} by {CURVE}.",
                "Sect. 7",
                first,
                _scored(rival, curve(compared, rival)),
            )
    _, theirs = published(name, compared).get("RankSVM", (None, None))
    if theirs is not None:
        ours = compared.mean("RankSVM", "nDCG@10")
        yield fact(
            "RankSVM solved to its optimum is better than LETOR's, which had stopped before it.",
            "Sect. 7",
            f"nDCG@10 {ours:.4f} here, {theirs:.3f} on LETOR's web site, which has no values by query for a "
            "test.",
            holds=ours > theirs,
        )


def _of_cut_offs(compared: CrossValidation, name: str) -> Iterator[Claim]:
    entries = truncations(compared)
    for k, entry in entries.items():
        measure = f"nDCG@{k}"
        if k != "50" and measure in compared.measures:
            yield ahead(
                f"To be good at {measure} on {name}, train with k = 50 and not with k = {k}.",
                "Sect. 7, Table 3",
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
            f"A small cut-off in training (k = {smallest}) overfits more than k = 50.",
            "Sect. 7, Table 3",
            _scored(f"{measure}, training minus test, k = {smallest}:", by_fold[0]),
            _scored("k = 50:", by_fold[1]),
            unit="folds",
        )


def _scored(name: str, values: Float64Array) -> Scored:
    return Scored(name, values, float(values.mean()))
