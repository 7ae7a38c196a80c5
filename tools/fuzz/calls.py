"""The public functions that take arrays, and valid arguments for them by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import directrix as dx
from directrix import data, experiments, laws, models
from directrix.registry import MEASURES, SURROGATES, classes

Calls = dict[str, Callable[..., Any]]


def one_query(labels):
    """Size of a single query that has all documents; one number is one document."""
    try:
        return [len(labels)]
    except TypeError:
        return [1]


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


def _values(kind: Any, scores: Any, labels: Any, qptr: Any) -> Any:
    return kind()(scores, labels, qptr)


def _gradient(kind: Any, scores: Any, labels: Any, qptr: Any) -> Any:
    try:
        made = kind()
    except TypeError:  # it softens a measure, which it must be told
        made = kind("nDCG@10")
    return made.value_and_grad(scores, labels, qptr)


_MEASURES: Calls = {name: partial(_values, kind) for name, kind in classes(MEASURES).items()}
_SURROGATES: Calls = {name: partial(_gradient, kind) for name, kind in classes(SURROGATES).items()}
_EVALUATE: Calls = {
    "qid": lambda scores, labels, qid: dx.evaluate(["nDCG@10", "AP"], scores, labels, qid=qid),
    "qptr": lambda scores, labels, qptr: dx.evaluate("RR", scores, labels, qptr=qptr, per_query=True),
    "group": lambda scores, labels, group: dx.evaluate("ERR", scores, labels, group=group),
    "ids": lambda scores, labels, qid, doc_ids: dx.evaluate(
        "AP", scores, labels, qid=qid, doc_ids=doc_ids, convention="trec_eval"
    ),
    "measures": lambda measure, scores, labels: dx.evaluate(measure, scores, labels, group=one_query(labels)),
    "conventions": lambda scores, labels, qid: experiments.evaluate_conventions(
        "nDCG", scores, labels, qid=qid
    ),
    "scorer": lambda X, labels, qid: dx.experiments.make_scorer("AP")(_fitted(), X, labels, qid=qid),
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
