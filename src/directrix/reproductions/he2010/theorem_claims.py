"""Statements about the theorems, and the future work, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from directrix.reports.report import Claim
from directrix.reproductions.he2010.coefficients import BOUNDS, STRUCTURAL, Sweep, parameter
from directrix.reproductions.he2010.methods import MAP, NDCG
from directrix.reproductions.he2010.protocol import CollectionResults, Results
from directrix.reproductions.he2010.theorems import example_bounds
from directrix.reproductions.paper import paper

_WEAK = 0.1  # a coefficient is not arbitrarily strong above this share of the range of the measure
_PAPER = paper("he2010")


def on_theorems(results: Results) -> Iterator[Claim]:
    """Check Theorems 1 to 4."""
    sweep = results.settings.sweep
    for name, one in results.collections.items():
        yield _theorem_1(name, one, sweep)
    yield from _theorem_2(results.apart, sweep)
    yield from _theorems(results.apart, sweep)
    yield _theorem_4(results.weak)


def _theorem_1(name: str, one: CollectionResults, sweep: Sweep) -> Claim:
    """Compare the loss of every surrogate on every fold with its coefficient."""
    pairs = [(family, label) for family, of in one.losses.items() for label in of]
    losses, coefficients = (
        np.array([of[family][label] for family, label in pairs]) for of in (one.losses, one.coefficients)
    )
    n_above = int((losses > coefficients + 1e-12).sum())
    at = np.unravel_index(losses.argmax(), losses.shape)
    return _PAPER.fact(
        "theorem-1",
        holds=n_above == 0,
        name=name,
        models=sweep.models,
        n=len(pairs),
        n_folds=losses.shape[1],
        n_above=n_above or "none",
        loss=losses[at],
        coefficient=coefficients[at],
        mean=losses.mean(),
    )


def _theorem_2(apart: Mapping[str, Any], sweep: Sweep) -> Iterator[Claim]:
    """Compare the paper's two examples with bounds that are derived here."""
    labels = list(sweep.families()["SoftRank"])
    measured = {
        parameter(label): v["coefficient"] for label, v in zip(labels, apart["SoftRank"], strict=True)
    }
    sigmas = [sigma for sigma in BOUNDS if sigma in measured]
    if not sigmas:
        return
    derived = {sigma: example_bounds(sigma) for sigma in sigmas}
    by_variance, by_flips = (_at({s: bounds[i] for s, bounds in derived.items()}) for i in (0, 1))
    yield _PAPER.fact(
        "theorem-2",
        holds=all(max(*derived[sigma], measured[sigma]) <= BOUNDS[sigma] for sigma in sigmas),
        published=_at({sigma: BOUNDS[sigma] for sigma in sigmas}),
        variance=by_variance,
        flips=by_flips,
        measured=_at({sigma: measured[sigma] for sigma in sigmas}),
    )


def _at(values: Mapping[float, float]) -> str:
    return " and ".join(f"{two_digits(value)} at sigma = {sigma:g}" for sigma, value in values.items())


def _theorem_4(weak: Sequence[Mapping[str, Any]]) -> Claim:
    """Check Lemma 3 on the queries of the proof: the measure rises, a structural surrogate falls."""
    structural = [one for one in weak if one["surrogate"] in STRUCTURAL.values()]
    falls = [one["rise"] > 0.0 > one["surrogate rise"] for one in structural]
    is_rise = [abs(one["coefficient"] - one["rise"]) < 1e-9 for one in structural]
    last = {one["surrogate"]: one for one in structural}  # of the largest query
    ap, ndcg = (last[STRUCTURAL[name]]["rise"] for name in ("SVMmap", "SVMndcg"))
    aps = [one["rise"] for one in structural if one["surrogate"] == STRUCTURAL["SVMmap"]]
    n_relevant, n_docs = (structural[-1][of] for of in ("n_relevant", "n_docs"))
    return _PAPER.fact(
        "theorem-4-data",
        holds=all(falls) and all(is_rise) and aps == sorted(aps) and aps[-1] > 0.9,
        n_docs=n_docs,
        n_relevant=n_relevant,
        ap=ap,
        ndcg=ndcg,
        for_all=f", as on {len(structural) // len(STRUCTURAL) - 1} smaller queries"
        if all(falls)
        else " on some",
    )


def transformation(name: str, one: CollectionResults) -> Claim:
    """Compare eps* of structural SVMs with that after the best non-decreasing transformation."""
    means = {
        method: tuple(float(of["structural"][method].mean()) for of in (one.coefficients, one.monotone))
        for method in STRUCTURAL
    }
    return _PAPER.fact(
        "transformation",
        holds=all(after < before - 1e-6 for before, after in means.values()),
        name=name,
        changes=", ".join(
            f"{method} {before:.3f} and {after:.3f}" for method, (before, after) in means.items()
        ),
    )


def _theorems(apart: Mapping[str, Any], sweep: Sweep) -> Iterator[Claim]:
    families = sweep.families()
    for family, source in (("SoftRank", "Theorem 2"), (MAP, "Theorem 3"), (NDCG, "Theorem 3")):
        labels, values = list(families[family]), [each["coefficient"] for each in apart[family]]
        limits = [each["bound"] for each in apart[family]]
        bounds = [(value, bound) for value, bound in zip(values, limits, strict=True) if bound is not None]
        best = min(values)
        is_within = all(value <= bound + 1e-12 for value, bound in bounds)
        yield _PAPER.fact(
            "within-bound",
            holds=best < 1e-3 and is_within,
            family=family,
            source=source,
            best=best,
            label=labels[values.index(best)],
            n=len(bounds),
            s="s" * (len(bounds) != 1),
            exceeded="none" if is_within else "at least one",
        )
    shares = {n: e["coefficient"] / e["range"] for n, e in zip(STRUCTURAL, apart["structural"], strict=True)}
    yield _PAPER.fact("theorem-4", holds=min(shares.values()) > _WEAK, shares=with_values(shares, ".2f"))


def two_digits(value: float) -> str:
    """Write a number of any size with two digits, or as a whole number."""
    return f"{value:.0f}" if value >= 100.0 else f"{value:.2g}"


def with_values(values: Mapping[str, float], form: str) -> str:
    """Write names with their values."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
