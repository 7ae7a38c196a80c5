"""Public functions that take arrays, with arguments that Hypothesis draws from the bytes of an input.

An argument is valid for its name (`valid`), and then one or two of them are spoiled: another type, shape, layout or
container, or an element that is not what it should be.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import hypothesis.extra.numpy as hn
import hypothesis.strategies as st
import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings

import directrix as dx
from directrix import data, experiments, laws, models
from directrix.registry import MEASURES, SURROGATES, classes

_ENOUGH = 2000
"""Bytes for a whole call."""

Calls = dict[str, Callable[..., Any]]

_ELEMENTS: tuple[Any, ...] = (
    *(float("nan"), float("inf"), -float("inf"), -0.0, 1e308, -1e308, 5e-324, 1e16, -1, 0.5, 1e300),
    *(
        2**31,
        2**53 + 1,
        2**61,
        2**62,
        3 * 2**61,
        2**63 - 1,
        -(2**62),
        -(2**63),
        2**64 - 1,
        10**400,
        -(10**400),
    ),
    *(None, "x", "1", b"1", True, 1j, Decimal("1"), Decimal("nan"), Fraction(1, 3), (), [1], {}, "a" * 5000),
)
_OTHERS: tuple[Any, ...] = (
    *(
        None,
        "",
        "abc",
        b"ab",
        0,
        1,
        -1,
        2**63,
        10**400,
        0.5,
        float("nan"),
        True,
        1j,
        (),
        [],
        {},
        set(),
        frozenset({1}),
    ),
    *(
        object(),
        Decimal(1),
        Fraction(1, 2),
        np.float64("nan"),
        np.int8(3),
        np.datetime64("2020-01-01"),
        len,
        range(3),
    ),
    *(
        [[1], [1, 2]],
        [[]],
        {"a": 1},
        {"a": [1, 2]},
        slice(0, 1),
        Ellipsis,
        NotImplemented,
        np.dtype("f8"),
        int,
    ),
)
_TYPES = (
    *("?", "i1", "u1", "u8", "i8", "i4", "f2", "f4", "f8", ">f8", ">i8", "g", "c16", "O", "U5", "S5"),
    *("datetime64[s]", "timedelta64[D]", "i4,f8", "V3"),
)


class _Lazy:
    """An array by its protocol only, and one that raises."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.value, dtype)


def _containers(value: Any) -> dict[str, Callable[[], Any]]:
    import pandas as pd
    import polars as pl

    array = np.asarray(value)
    rows = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    return {
        "list": array.tolist,
        "tuple": lambda: tuple(array.tolist()),
        "generator": lambda: (x for x in array.tolist()),
        "lazy": lambda: _Lazy(array),
        "masked": lambda: np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) % 3 == 1),
        "matrix": lambda: np.asmatrix(rows),
        "series": lambda: pd.Series(array.ravel(), index=np.zeros(array.size, dtype=int)),
        "frame": lambda: pd.DataFrame(rows),
        "nullable": lambda: pd.array([None, *array.ravel().tolist()][: array.size], dtype="Float64"),
        "category": lambda: pd.Series(array.ravel().astype(str), dtype="category"),
        "polars": lambda: pl.DataFrame(rows.astype(float)),
        "polars series": lambda: pl.Series(array.ravel().tolist()),
        "csr": lambda: sp.csr_array(rows.astype(float)),
        "coo": lambda: sp.coo_array(rows.astype(float)),
        "csc matrix": lambda: sp.csc_matrix(rows.astype(float)),
        "broken csr": lambda: _broken(rows),
        "memory": lambda: memoryview(np.ascontiguousarray(array)),
        "dict": lambda: dict(enumerate(array.tolist())),
        "set": lambda: set(map(str, array.ravel().tolist())),
        "text": lambda: str(array.tolist()),
        "nested": lambda: [[x] for x in array.tolist()],
        "objects": lambda: np.array([*array.tolist(), None], dtype=object)[:-1],
        "records": lambda: np.rec.fromarrays([array.ravel()]),
    }


def _broken(rows: Any) -> Any:
    """A sparse matrix whose places are not sorted, repeat, or lie outside."""
    made = sp.csr_array(rows.astype(float))
    if len(made.indices) > 1:
        made.indices[0] = made.indices[-1]
        made.indices[-1] = -1 if rows.size % 2 else 7
    return made


def _layouts(array: Any) -> dict[str, Callable[[], Any]]:
    def unaligned() -> Any:
        raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
        view = raw[1:].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view

    def read_only() -> Any:
        made = array.copy()
        made.flags.writeable = False
        return made

    return {
        "reversed": lambda: array[::-1],
        "second": lambda: np.repeat(array, 2, axis=0)[::2] if array.ndim else array,
        "transposed": lambda: array.T,
        "Fortran": lambda: np.asfortranarray(array),
        "column": lambda: array.reshape(-1, 1),
        "row": lambda: array.reshape(1, -1),
        "cube": lambda: array[None, ..., None],
        "scalar": lambda: array.ravel()[:1].reshape(()),
        "empty": lambda: array[:0],
        "shorter": lambda: array[:-1] if array.ndim else array,
        "longer": lambda: np.concatenate([array, array[-1:]]) if array.ndim and len(array) else array,
        "same": lambda: np.broadcast_to(array.ravel()[:1], array.shape),
        "none at all": lambda: np.empty((0,) * array.ndim),
        "unaligned": unaligned,
        "read-only": read_only,
    }


@st.composite
def _spoiled(draw: Any, value: Any) -> Any:
    kind = draw(st.sampled_from(("other", "array", "type", "element", "element", "layout", "container")))
    if kind == "other" or isinstance(value, str):
        return draw(st.sampled_from(_OTHERS))
    if kind == "array":
        types = hn.scalar_dtypes() if draw(st.booleans()) else st.sampled_from(("f8", "i8"))
        return draw(hn.arrays(types, hn.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)))
    array = value.copy() if isinstance(value, np.ndarray) else np.asarray(value)
    try:
        if kind == "type":
            return array.astype(draw(st.sampled_from(_TYPES)))
        if kind == "layout":
            return draw(st.sampled_from(list(_layouts(array).values())))()
        if kind == "container":
            return draw(st.sampled_from(list(_containers(value).values())))()
        element, at = draw(st.sampled_from(_ELEMENTS)), draw(st.integers(0, max(array.size - 1, 0)))
        if array.ndim == 0:
            return element
        fits = isinstance(element, float | int) and array.dtype.kind == "f" and abs(element) < 10**309
        array = array if fits and draw(st.booleans()) else array.astype(object)
        array.reshape(-1)[at : at + 1] = [element]
    except (TypeError, ValueError, OverflowError, BufferError, IndexError):
        return draw(st.sampled_from(_OTHERS))  # the argument cannot take that form
    return array


@cache
def valid(n_docs: int) -> dict[str, Any]:
    """Arguments by name that fit together."""
    random = np.random.default_rng(n_docs)
    qptr = np.array([0, n_docs // 2, n_docs])
    X, labels = random.normal(size=(n_docs, 3)), random.integers(0, 3, n_docs).astype(float)
    return {
        "scores": random.normal(size=n_docs).round(1),
        "labels": labels,
        "qptr": qptr,
        "qid": np.repeat([7, 3], np.diff(qptr)),
        "group": np.diff(qptr),
        "X": X,
        "params": random.normal(size=3),
        "direction": random.normal(size=n_docs),
        "query_weight": np.ones(2),
        "sample_weight": np.ones(n_docs),
        "doc_ids": np.array([f"d{i}" for i in range(n_docs)], dtype=object),
        "query_ids": ("a", "b"),
        "names": ["f1", "f2", "f3"],
        "first": random.normal(size=(4, 6)),
        "second": random.normal(size=(4, 6)),
        "third": random.normal(size=(4, 3)),
        "values": random.uniform(size=6),
        "others": random.uniform(size=6),
        "thresholds": [np.array([0.0, 1.0]), np.array([]), np.array([0.5])],
        "queries": dx.Queries.from_arrays(X, labels, qid=np.repeat([7, 3], np.diff(qptr))),
        "which": np.array([0]),
        "shares": np.array([0.5, 0.5]),
        "count": np.int64(2),
        "four": np.int64(4),
        "small": np.float64(0.125),
        "number": np.float64(0.5),
        "rows": np.arange(n_docs),
        "measure": "nDCG@10",
    }


def _ranker_calls(make: Callable[[], Any]) -> Callable[..., Any]:
    def call(X: Any, labels: Any, qid: Any) -> Any:
        ranker = make().fit(X, labels, qid=qid)
        ranker.score(X, labels, qid=qid)
        return ranker.predict(X)

    return call


def _predict(X: Any) -> Any:
    return _fitted().predict(X)


@cache
def _fitted() -> Any:
    base = valid(9)
    return dx.LinearRanker(max_iter=2).fit(base["X"], base["labels"], qid=base["qid"])


_MEASURES: Calls = {
    name: (lambda scores, labels, qptr, kind=kind: kind()(scores, labels, qptr))
    for name, kind in classes(MEASURES).items()
}


def _surrogate_of(name: str, kind: Any) -> Any:
    try:
        return kind()
    except TypeError:
        return kind("nDCG@10")


_SURROGATES: Calls = {
    name: (
        lambda scores, labels, qptr, made=_surrogate_of(name, kind): made.value_and_grad(scores, labels, qptr)
    )
    for name, kind in classes(SURROGATES).items()
}
_EVALUATE: Calls = {
    "qid": lambda scores, labels, qid: dx.evaluate(["nDCG@10", "AP"], scores, labels, qid=qid),
    "qptr": lambda scores, labels, qptr: dx.evaluate("RR", scores, labels, qptr=qptr, per_query=True),
    "group": lambda scores, labels, group: dx.evaluate("ERR", scores, labels, group=group),
    "ids": lambda scores, labels, qid, doc_ids: dx.evaluate(
        "AP", scores, labels, qid=qid, doc_ids=doc_ids, convention="trec_eval"
    ),
    "measures": lambda measure, scores, labels: dx.evaluate(measure, scores, labels),
    "conventions": lambda scores, labels, qid: experiments.evaluate_conventions(
        "nDCG", scores, labels, qid=qid
    ),
    "scorer": lambda X, labels, qid: dx.make_scorer("AP")(_fitted(), X, labels, qid=qid),
    "line_search": lambda scores, direction, labels, qptr, query_weight: experiments.line_search(
        "AP", scores, direction, labels, qptr, query_weight=query_weight
    ),
}
_QUERIES: Calls = {
    "from_arrays": lambda X, labels, qid, doc_ids, names: dx.Queries.from_arrays(
        X, labels, qid=qid, doc_ids=doc_ids, feature_names=names
    ),
    "group": lambda X, labels, group: dx.Queries.from_arrays(X, labels, group=group, missing="nan"),
    "constructor": lambda X, labels, qptr, query_ids, rows: dx.LinearRanker(
        "RankNet", max_iter=1
    ).fit_queries(dx.Queries(X, labels, qptr, query_ids, None, None, rows)),
    "from_frame": lambda labels, qid, scores: dx.Queries.from_frame(
        {"qid": qid, "label": labels, "bm25": scores}
    ),
    "take": lambda which: valid(9)["queries"].take(which),
    "widened": lambda four: valid(9)["queries"].widened(four),
    "restore": lambda scores: valid(9)["queries"].restore(scores),
    "k_folds": lambda queries, count: list(data.k_folds(queries, count)),
    "split_queries": lambda queries, shares: data.split_queries(queries, shares),
    "audit": lambda queries: data.audit({"train": queries}),
    "fit_scale": lambda X: data.fit_scale("standard", X),
    "quantile scale": lambda X: data.fit_scale("quantile", X),
    "apply": lambda X, qptr: _SCALE.apply(X, qptr),
    "make_linear": lambda count: data.make_linear(n_queries=count, docs_per_query=2, n_features=2),
    "run": lambda query_ids, qptr, doc_ids, scores: _judged(data.Run("x", query_ids, qptr, doc_ids, scores)),
    "qrels": lambda query_ids, qptr, doc_ids, labels: _judged(data.Qrels(query_ids, qptr, doc_ids, labels)),
    "run of scores": lambda queries, scores: data.Run.from_scores(queries, scores),
    "run of frame": lambda qid, doc_ids, scores: data.Run.from_frame(
        {"qid": qid, "docno": doc_ids, "score": scores}
    ),
    "qrels of frame": lambda qid, doc_ids, labels: data.Qrels.from_frame(
        {"qid": qid, "docno": doc_ids, "label": labels}
    ),
}


_SCALE: Any = data.fit_scale("standard", valid(9)["X"])


def _judged(ranking: Any) -> Any:
    base = valid(9)
    run = data.Run("x", base["query_ids"], base["qptr"], base["doc_ids"], base["scores"])
    qrels = data.Qrels(base["query_ids"], base["qptr"], base["doc_ids"], base["labels"])
    return (
        dx.evaluate("AP", run=run, qrels=ranking)
        if hasattr(ranking, "labels")
        else dx.evaluate("AP", run=ranking, qrels=qrels)
    )


_RANKERS: Calls = {
    "linear": _ranker_calls(lambda: dx.LinearRanker(max_iter=2)),
    "ranknet": _ranker_calls(lambda: dx.LinearRanker("RankNet", max_iter=2, scale="standard")),
    "listmle": _ranker_calls(lambda: dx.LinearRanker("ListMLE", max_iter=1, start="zero")),
    "cutting plane": _ranker_calls(
        lambda: dx.LinearRanker("SVMMap", trainer="cutting-plane", l2=1.0, max_iter=3)
    ),
    "network": _ranker_calls(lambda: dx.MLPRanker(hidden=(2,), max_iter=1, random_state=0)),
    "stumps": _ranker_calls(lambda: dx.StumpRanker(max_iter=2)),
    "trees": _ranker_calls(lambda: dx.BoostedRanker(n_trees=1, min_data_in_leaf=1, patience=None)),
    "weights": lambda X, labels, qid, sample_weight, query_weight: dx.LinearRanker(max_iter=1).fit(
        X, labels, qid=qid, sample_weight=sample_weight, query_weight=query_weight
    ),
    "predict": _predict,
    "start": lambda X, labels, qid, params: dx.LinearRanker(start=params, max_iter=1).fit(X, labels, qid=qid),
    "queries of fit": lambda queries, query_weight: dx.LinearRanker(max_iter=1).fit_queries(queries),
    "objective": lambda queries, params, query_weight, number: dx.linear_objective(
        queries, "ApproxNDCG", number, query_weight=query_weight
    ).value_and_grad(params),
    "linear model": lambda params, X: models.LinearModel().forward(params, X),
    "stump model": lambda thresholds, params, X: models.StumpModel(thresholds).forward(params, X),
    "quantile_thresholds": lambda X, count: models.quantile_thresholds(X, count),
    "regression_start": lambda queries, number: dx.trainers.regression_start(queries, ridge=number),
}
_FUNCTIONS: Calls = {
    "compare": lambda values, others: dx.compare({"A": values, "B": others}),
    "compare by Fisher": lambda values, others: dx.compare(
        {"A": values, "B": others}, test="randomization", n_resamples=50
    ),
    "tendency": lambda first, second: dx.tendency(first, second),
    "tendencies": lambda queries, third: experiments.surrogate_tendencies(
        ["ApproxNDCG"], queries, models=third
    ),
    "certify": lambda params, queries, measure: dx.certify(params, queries, measure, eps=0.3, delta=0.3),
    "approximation": lambda queries, params: experiments.approximation(
        queries, "ApproxNDCG", trainer=dx.LBFGS(max_iter=1), start=params
    ),
    "random_models": lambda count, number: experiments.random_models(count, 3, norm=number),
    "importance": lambda queries, measure: experiments.permutation_importance(
        _fitted(), queries, measure, n_repeats=1
    ),
    "soft_ranks": lambda scores, qptr, number: laws.soft_ranks(scores, qptr, alpha=number),
    "rank_bounds": lambda scores, number, qptr: laws.rank_bounds(scores, number, qptr),
    "rank_bound": lambda scores, number: laws.rank_bound(scores, number),
    "noisy_rank_bounds": lambda scores, number: laws.noisy_rank_bounds(scores, number),
    "ranking_radius": lambda X, labels, qptr: laws.ranking_radius(X, labels, qptr),
    "smooth_ndcg_bound": lambda scores, labels, number: laws.smooth_ndcg_bound(scores, labels, number),
    "smooth_ndcg_lipschitz": lambda count, number: laws.smooth_ndcg_lipschitz(count, number),
    "ap_bound": lambda small, count: laws.ap_bound(small, count, 2.0),
    "ndcg_bound": lambda number: laws.ndcg_bound(number),
    "constraints_bound": lambda count, number: laws.constraints_bound(count, number, 0.1, 1.0),
}
GROUPS: dict[str, Calls] = {
    "arrays-measures": _MEASURES,
    "arrays-surrogates": _SURROGATES,
    "arrays-evaluate": _EVALUATE,
    "arrays-queries": _QUERIES,
    "arrays-rankers": _RANKERS,
    "arrays-functions": _FUNCTIONS,
}


@st.composite
def _case(draw: Any, calls: Calls) -> tuple[Callable[..., Any], dict[str, Any]]:
    call = calls[draw(st.sampled_from(sorted(calls)))]
    names = _names(call)
    base = valid(draw(st.sampled_from((2, 9, 9, 20))))
    arguments = {name: base[name] for name in names}
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)):
        arguments[name] = draw(_spoiled(arguments[name]))
    return call, arguments


def caller(group: str) -> Callable[[bytes], Any]:
    """Return what draws a call from bytes and makes it; no bytes are all calls as they should be."""
    drawn: list[Any] = []

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_case(GROUPS[group]))
    def keep(case: Any) -> None:
        drawn.append(case)

    def run(content: bytes) -> Any:
        if not content:
            return _all_valid(GROUPS[group])
        drawn.clear()
        keep.hypothesis.fuzz_one_input(content)  # type: ignore[attr-defined]
        if not drawn:
            return None
        call, arguments = drawn.pop()
        return call(**arguments)

    return run


def _all_valid(calls: Calls) -> None:
    """Call everything with valid arguments, of both precisions: this compiles the kernels."""
    for name, call in calls.items():
        base = {name: valid(9)[name] for name in _names(call)}
        single = {
            n: v.astype(np.float32) if getattr(v, "dtype", None) == np.float64 else v for n, v in base.items()
        }
        sparse = {n: sp.csr_array(v) if n == "X" else v for n, v in base.items()}
        for arguments in (base, single, *([sparse] if "X" in base else [])):
            try:
                call(**arguments)
            except Exception as error:
                if arguments is base and name not in _NEED_MORE:
                    raise AssertionError(f"{name} refuses what is valid") from error


_NEED_MORE = ("AlphaNDCG", "ERRIA")
"""They need judgements of subtopics, which labels in one dimension are not."""


def _names(call: Callable[..., Any]) -> list[str]:
    return [name for name, p in inspect.signature(call).parameters.items() if p.default is p.empty]


def mutate(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Bytes to draw from."""
    return random.randbytes(_ENOUGH)
