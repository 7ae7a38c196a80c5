"""The methods that `fuse` compares: each chooses a combination on some queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from directrix.text.fusion.combination import NORMALIZERS, Combination, Normalizer
from directrix.text.fusion.result import BEST_RUN, RRF_60, Chosen
from directrix.text.fusion.search import Weigher

Choose = Callable[[Weigher, Sequence[str]], Chosen]
"""Takes the queries to choose on, and their classes."""

_LEAST_OF_CLASS = 5  # queries of a class with weights of its own


def fusion_methods(*, has_classes: bool) -> dict[str, Choose]:
    """Return the methods by name, simple ones first; the one by class only if there are classes."""
    methods: dict[str, Choose] = {
        BEST_RUN: lambda weigher, _: _plain(weigher.best_run()),
        RRF_60: lambda weigher, _: _plain(Combination("rrf", weigher.equal)),
        "RRF, best c": lambda weigher, _: _plain(weigher.rrf_constant()),
        "CombSUM": lambda weigher, _: _plain(Combination("linear", weigher.equal)),
        "CombMNZ": lambda weigher, _: _plain(Combination("combmnz", weigher.equal)),
        "RRF, weights": _weighted_rrf,
        **{f"linear, {name}": partial(_linear, name) for name in NORMALIZERS},
        "linear, best normalizer": lambda weigher, _: _best_linear(weigher),
    }
    return methods | ({"linear, by class": _by_class} if has_classes else {})


def _plain(combination: Combination) -> Chosen:
    return Chosen({"": combination})


def _weighted_rrf(weigher: Weigher, _: Sequence[str]) -> Chosen:
    optimum = weigher.rrf(weigher.rrf_constant().constant)
    return Chosen({"": optimum.combination}, optimum.interval)


def _linear(normalizer: Normalizer, weigher: Weigher, _: Sequence[str]) -> Chosen:
    optimum = weigher.linear(normalizer)
    return Chosen({"": optimum.combination}, optimum.interval)


def _best_linear(weigher: Weigher) -> Chosen:
    every = [weigher.linear(name) for name in NORMALIZERS]
    best = max(every, key=lambda optimum: round(float(np.nanmean(weigher.value(optimum.combination))), 12))
    return Chosen({"": best.combination}, best.interval)


def _by_class(weigher: Weigher, classes: Sequence[str]) -> Chosen:
    """Choose normalizer and weights for all, and weights of each class that has enough queries."""
    common = _best_linear(weigher).of_class[""]
    of_class = {"": common}
    for name in sorted(set(classes) - {""}):
        queries = np.flatnonzero([one == name for one in classes])
        if len(queries) >= _LEAST_OF_CLASS:
            of_class[name] = weigher.of(queries).linear(common.normalizer).combination
    return Chosen(of_class)
