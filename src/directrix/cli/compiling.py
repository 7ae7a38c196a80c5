"""Calls of every kernel with every kind of array that the library passes: ``directrix doctor --compile``.

Numba compiles a kernel when it is called, so the steps call all kernels, for every registered surrogate,
measure and method. A test fails if no step calls a kernel.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from directrix import kernels
from directrix.clicks.models import model as click_model
from directrix.clicks.simulation import simulate
from directrix.data.letor.read import read_letor
from directrix.data.queries import Queries
from directrix.data.synthetic import make_linear
from directrix.errors import InputError, MissingExtra
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.line_search import line_search
from directrix.measures.names import measure, measures
from directrix.models.trees import Trees
from directrix.objectives.objective import linear_objective
from directrix.rankers.methods import methods
from directrix.rankers.stumps import StumpRanker
from directrix.registry import SURROGATES, load_class
from directrix.surrogates.approx import ApproxMeasure, soft_ranks
from directrix.text.index import Index
from directrix.threads import get_threads

_BY_SGD = ("ApproxNDCG", "Lambda", "ListNet", "RankNet")
"""Surrogates whose epochs of SGD are compiled ahead; those of others take a second or two, on first use."""


def compile_all(report: Callable[[int, int, str], None]) -> tuple[int, int]:
    """Run all steps in as many processes as there are threads, and pass each to ``report``.

    Return the numbers of kernel signatures compiled and read from disk, over all processes. Raise
    `InputError` if compilation is turned off, or compiled code cannot be kept.
    """
    places = kernels.survey().places
    if not places:
        raise InputError("NUMBA_DISABLE_JIT turns compilation off. Type: unset NUMBA_DISABLE_JIT")
    if not any(place.writable for place in places):
        raise InputError(
            f"compiled kernels cannot be kept: {' and '.join(place.folder for place in places)} cannot be "
            "written. Set the environment variable NUMBA_CACHE_DIR to a folder that you can write to."
        )
    names = list(steps())
    pool = Parallel(n_jobs=min(get_threads(), len(names)), batch_size=1, return_as="generator_unordered")
    compiled = read = 0
    for done, (name, new, old) in enumerate(pool(delayed(compile_step)(name) for name in names)):
        compiled, read = compiled + new, read + old
        report(done + 1, len(names), name)
    return compiled, read


def compile_step(name: str) -> tuple[str, int, int]:
    """Run one step; return its name and the numbers of signatures it compiled and found on disk."""
    kernels.ignore_shipped()
    compiled, read = kernels.compilations()
    with warnings.catch_warnings():
        # One iteration on six queries does not converge.
        warnings.simplefilter("ignore")
        steps()[name]()
    now_compiled, now_read = kernels.compilations()
    return name, now_compiled - compiled, now_read - read


def steps() -> dict[str, Callable[[], None]]:
    """Return the steps by name; surrogates that share kernels form one step, so each is compiled once."""
    families: dict[str, list[str]] = {}
    for name, home in SURROGATES.items():
        # The modules approx and approx_measure share the kernels of soft ranks, so they are one family.
        families.setdefault(home.rsplit(".", 1)[1].split("_")[0], []).append(name)
    return {
        **{f"surrogates {name}": partial(_for_all, _surrogate, family) for name, family in families.items()},
        "measures": partial(_for_all, _measure, measures()),
        **{f"method {method.name}": partial(_method, method) for method in methods()},
        "your measures": _own_measure,
        "soft ranks": _soft_ranks,
        "stumps": _stumps,
        "trees": _trees,
        "reading": _reading,
        "text": _text,
        "clicks": _clicks,
    }


def _for_all(work: Callable[[str], None], names: Iterable[str]) -> None:
    for name in names:
        work(name)


def _clicks() -> None:
    q = _queries()[0]
    log = simulate(q, q.labels, n_sessions=50)
    for name in ("PBM", "DBN"):
        click_model(name, max_iter=2).fit(log)


def _queries() -> list[Any]:
    """Return six queries of five documents: dense and CSR, float32 and float64."""
    q, _ = make_linear(6, 5, 3, seed=0)
    return [
        Queries.from_arrays(form(q.features.astype(dtype)), q.labels, group=[5] * 6)
        for form in (np.asarray, sp.csr_array)
        for dtype in (np.float32, np.float64)
    ]


def _surrogate(name: str) -> None:
    surrogate = load_class(SURROGATES, name)()
    for q in _queries():
        surrogate.value_and_grad(np.linspace(1.0, 0.0, q.n_docs, dtype=q.features.dtype), q.labels, q.qptr)
        objective = linear_objective(q, surrogate)
        objective.value_and_grad(np.zeros(q.n_features))
        if name in _BY_SGD:
            objective.sgd_epoch(np.zeros(q.n_features), np.arange(q.n_queries), 0.1)
            objective.value_and_grad(np.zeros(q.n_features), np.arange(2))
        if hasattr(surrogate, "convexify"):
            objective.convexified(np.zeros(q.n_features))
    if hasattr(surrogate, "effective_pairs"):
        surrogate.effective_pairs(np.linspace(1.0, 0.0, q.n_docs), q.labels, q.qptr)


def _measure(name: str) -> None:
    """Use writable arrays, as users pass, and read-only ones, as in `Queries`: Numba compiles both."""
    q, parsed = _queries()[1], cast(Any, measure(name))
    read_only = np.stack([q.labels, q.labels], axis=1) if parsed.sees == "subtopics" else q.labels
    scores, labels, qptr = np.linspace(1.0, 0.0, q.n_docs), read_only.copy(), q.qptr.copy()
    fixed = scores.copy()
    fixed.flags.writeable = False
    parsed(scores, labels, qptr)
    parsed(scores, read_only, q.qptr)
    parsed(fixed, read_only, q.qptr)
    if hasattr(parsed, "ties"):
        # No scores tie here, so the first call needs no identifiers.
        by_id = replace(parsed, ties="trec")
        by_id(scores, labels, qptr)
        by_id(scores, labels, qptr, doc_ids=[f"d{i}" for i in range(q.n_docs)])
        # Not every measure orders as ranx, and not every one has a line search.
        with suppress(InputError):
            replace(parsed, ties="ranx")(scores, labels, qptr)
    with suppress(InputError):
        line_search(parsed, scores, q.features[:, 0], q.labels, q.qptr)


def _own_measure() -> None:
    """Use a measure that has only terms, like those of `directrix.define_measure`."""

    class Own(NDCG):
        of_ranking = RankingMeasure.of_ranking

    q = _queries()[1]
    Own()(np.linspace(1.0, 0.0, q.n_docs), q.labels, q.qptr)


def _method(method: Any) -> None:
    shortest = {name: 1 for name in ("max_iter", "epochs", "rounds", "n_trees") if name in method.settings}
    for q in _queries():
        # Cutting planes raise `MissingExtra` without their solver.
        with suppress(InputError, MissingExtra):
            ranker = method.ranker(measure=measure("nDCG@3"), **shortest).fit_queries(q)
            ranker.predict_queries(q)


def _soft_ranks() -> None:
    rbp = ApproxMeasure("RBP")
    for dtype in (np.float32, np.float64):
        scores: Any = np.linspace(1.0, 0.0, 5).astype(dtype)
        qptr = np.array([0, 5])
        soft_ranks(scores, qptr)
        rbp.value_and_grad(scores, np.arange(5.0), qptr)


def _trees() -> None:
    stump: dict[str, Any] = {"n_leaves": [2], "feature": [0], "threshold": [0.0], "decision": [0]}
    stump |= {"gain": [0.0], "left": [-1], "right": [-2], "leaf": [0.0, 1.0], "count": [1, 1]}
    trees = Trees.of_json(stump | {"categories": [], "n_features": 3}, 3)
    for q in _queries():
        trees.predict(q.features)


def _stumps() -> None:
    """Use few thresholds, and more than 255 per feature, which take two bytes per value."""
    for q in _queries():
        for n in (3, 300):
            grid = np.linspace(0.0, 1.0, n)
            ranker = StumpRanker("RankNet", trainer="lbfgs", thresholds=grid, scale=None, max_iter=1)
            ranker.fit_queries(q).predict_queries(q)


def _reading() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.txt"
        path.write_text("1 qid:1 1:0.5 2:1 # docid = a\n0 qid:1 2:0.25\n")
        for dtype in (np.float32, np.float64):
            for sparse in (False, True):
                read_letor(path, dtype=dtype, sparse=sparse)


def _text() -> None:
    Index.build({"d": "a few words"}, analyzers=["none"]).features({"q": "words"}, {"q": {"d": 1.0}})
