"""Methods that are compared: SmoothNDCG, its baselines, other cut-offs, and non-linear rankers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.experiments.crossval import Entry
from directrix.experiments.crossval_result import CrossValidation
from directrix.measures.names import measure
from directrix.rankers.linear import LinearRanker
from directrix.rankers.method import Method
from directrix.rankers.methods import method
from directrix.reproductions.chapelle2010.settings import Settings
from directrix.types import Float64Array

LINEAR = "SmoothNDCG"
LISTWISE = ("SVMMap", "ListNet", "AdaRank-NDCG", "AdaRank-MAP")
"""Methods that the paper calls listwise."""
_NDCG = tuple(f"nDCG@{k}" for k in range(1, 11))
MEASURES = (*_NDCG, "AP")
"""What the paper's figures show, by the rules of LETOR 3.0's script."""
CURVE = "the mean of nDCG@1 to nDCG@10"
"""The curve of a method in the paper's figures as one number."""
CHOSEN_BY = measure("nDCG@50")
"""As in the paper; ties count by expectation, because LETOR's script rewards the order of the file."""
_BY_AP = ("SmoothAP", "SVMMap", "AdaRank-MAP", "RankBoost", "FRank")
_TRUNCATED = f"{LINEAR}, k = "
FROM_SVM = f"{LINEAR} from RankSVM"
"""Starts at RankSVM and is held near it, see Sect. 4.4.1."""
_SVM_L2 = 0.01  # the middle of RankSVM's grid


def entries(settings: Settings, *, is_first: bool) -> list[Entry]:
    """Return the rows of the tables; of the first collection also other cut-offs and other models."""
    annealed, grid = _annealed(settings), {"l2": settings.l2}
    rows = [Entry(LINEAR, LINEAR, annealed, grid)]
    for name in settings.baselines:
        fixed, tried = (annealed, grid) if name == "SmoothAP" else ({}, None)
        rows.append(Entry(name, name, fixed, tried, measure("AP") if name in _BY_AP else None))
    if is_first:
        for k in settings.truncations:
            name = f"{_TRUNCATED}{'all' if k is None else k}"
            rows.append(Entry(name, LINEAR, {**annealed, "k": k}, grid))
        rows += _extensions(annealed) if settings.extensions else ()
        start = LinearRanker("RankSVM", l2=_SVM_L2)
        rows.append(Entry(FROM_SVM, LINEAR, {**annealed, "start": start}, grid))
    return rows


def kernel_entry(settings: Settings) -> Entry:
    """Return SmoothNDCG on mapped features."""
    return Entry(f"{LINEAR}, kernel map", LINEAR, _annealed(settings), {"l2": settings.l2})


def _annealed(settings: Settings) -> dict[str, Any]:
    return {
        "sigma_first": settings.sigma_first,
        "sigma_last": settings.sigma_last,
        "cg_iter": settings.iterations,
    }


def _extensions(annealed: dict[str, Any]) -> Iterator[Entry]:
    """Return the models of Sect. 6: ten hidden units, and functional gradient boosting."""
    smooth = method(LINEAR)
    network = replace(
        smooth,
        name="SmoothNDCG-MLP",
        model="mlp",
        grid={"l2": (1e-4, 1e-3, 1e-2)},  # without a regression start the penalty is the usual one
        fixed={**method("MLP").fixed, "k": 50},
    )
    yield Entry(f"{LINEAR}, network", network, {**annealed, "cg_iter": 20})
    trees: Method = replace(
        smooth,
        name="BoostedSmoothNDCG",
        model="trees",
        trainer="boosting",
        grid={"sigma": (0.1, 1.0), "learning_rate": (0.1,), "num_leaves": (7,)},
        fixed={**method("BoostedNDCG").fixed, "k": 50},
        without=(),
    )
    if trees.is_installed:
        yield Entry(f"{LINEAR}, trees", trees)
        # the smoothings of the grid have no effect: an annealing ends at 1
        tried = {name: values for name, values in trees.grid.items() if name != "sigma"}
        ratio = annealed["sigma_first"] / annealed["sigma_last"]
        yield Entry(f"{LINEAR}, annealed trees", trees, {"anneal": ratio}, tried)


def rivals(compared: CrossValidation) -> tuple[str, ...]:
    """Return the baselines among the entries."""
    return tuple(name for name in compared.entries if not name.startswith(LINEAR))


def truncations(compared: CrossValidation) -> dict[str, str]:
    """Return entries by the cut-off that they were trained with, as text; 50 is the usual one."""
    rows = {name.removeprefix(_TRUNCATED): name for name in compared.entries if name.startswith(_TRUNCATED)}
    rows["50"] = LINEAR
    return {k: rows[k] for k in sorted(rows, key=lambda k: np.inf if k == "all" else int(k))}


def curve(compared: CrossValidation, entry: str) -> Float64Array:
    """Return `CURVE` of every test query."""
    return np.asarray(np.mean([compared.values(entry, measure) for measure in _NDCG], axis=0))
