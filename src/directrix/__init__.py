"""directrix: learning to rank by optimizing the measure you report.

Public names are loaded on first use, so that ``import directrix`` stays fast; the list is
in ``__init__.pyi``, for type checkers, and in ``_HOME`` below, for Python.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AP": "measures.precision",
    "AdaRank": "trainers.adarank",
    "Adam": "trainers.adam",
    "Anneal": "trainers.anneal",
    "ApproxAP": "surrogates.approx",
    "ApproxERR": "surrogates.approx_cascade",
    "ApproxKendall": "surrogates.approx_pairs",
    "ApproxMeasure": "surrogates.positions",
    "ApproxNDCG": "surrogates.approx",
    "ApproxPrecision": "surrogates.approx",
    "ApproxRR": "surrogates.approx_cascade",
    "Approximation": "experiments.approximation",
    "AutoRanker": "rankers.auto",
    "BestSoFar": "trainers.best",
    "BoostedRanker": "rankers.boosted",
    "Boosting": "trainers.boosting",
    "CG": "trainers.cg",
    "Certificate": "experiments.optimality",
    "Comparison": "measures.evaluation",
    "Comparisons": "experiments.significance",
    "Convention": "measures.convention",
    "CoordinateAscent": "trainers.coordinate_ascent",
    "CrossValidation": "experiments.crossval",
    "CuttingPlane": "trainers.cutting_plane",
    "DCG": "measures.dcg",
    "Dorm": "surrogates.dorm",
    "ERR": "measures.cascade",
    "Entry": "experiments.crossval",
    "Evaluation": "measures.evaluation",
    "FRank": "trainers.frank",
    "IPrec": "measures.precision",
    "InputError": "errors",
    "KendallTau": "measures.pairs",
    "LBFGS": "trainers.lbfgs",
    "Lambda": "surrogates.lambdas",
    "LinearRanker": "rankers.linear",
    "ListMLE": "surrogates.listwise",
    "ListNet": "surrogates.listwise",
    "MLPRanker": "rankers.mlp",
    "Matching": "experiments.matching",
    "MissingExtra": "errors",
    "NDCG": "measures.dcg",
    "NotConverged": "errors",
    "PermuRank": "surrogates.structural",
    "Polished": "experiments.optimality",
    "Precision": "measures.precision",
    "Qrels": "data.trec",
    "Queries": "data.queries",
    "RBP": "measures.cascade",
    "ROCArea": "measures.pairs",
    "RPrecision": "measures.precision",
    "RR": "measures.precision",
    "RankBoost": "trainers.rankboost",
    "RankCosine": "surrogates.listwise",
    "RankNet": "surrogates.pairwise",
    "RankSVM": "surrogates.pairwise",
    "Recall": "measures.precision",
    "Regression": "surrogates.pointwise",
    "Restarts": "trainers.restarts",
    "Run": "data.trec",
    "RunScores": "data.runs",
    "SGD": "trainers.sgd",
    "SVMAcc": "trainers.svm_acc",
    "SVMMap": "surrogates.structural",
    "SVMNdcg": "surrogates.structural",
    "SVMRoc": "surrogates.structural",
    "Scale": "data.scale",
    "SmoothAP": "surrogates.smooth",
    "SmoothNDCG": "surrogates.smooth",
    "SoftNDCG": "surrogates.soft",
    "Split": "experiments.crossval",
    "StumpModel": "models.stumps",
    "StumpRanker": "rankers.stumps",
    "Success": "measures.precision",
    "Tendency": "experiments.tendency",
    "ap_bound": "surrogates.bounds",
    "approximation": "experiments.approximation",
    "audit": "data.audit",
    "certify": "experiments.optimality",
    "compare": "experiments.significance",
    "convention": "measures.convention",
    "conventions": "measures.convention",
    "cross_validate": "experiments.crossval",
    "evaluate": "measures.evaluation",
    "evaluate_conventions": "measures.evaluation",
    "fit_scale": "data.scale",
    "get_threads": "threads",
    "join_trec": "data.trec",
    "k_fold_splits": "experiments.crossval",
    "k_folds": "data.split",
    "laws": "surrogates.laws",
    "letor_folds": "data.split",
    "letor_splits": "experiments.crossval",
    "line_search": "measures.line_search",
    "linear_objective": "objectives.linear",
    "load": "rankers.model_file",
    "make_cubic": "data.synthetic",
    "make_linear": "data.synthetic",
    "matching": "experiments.matching",
    "measure": "measures.names",
    "method": "rankers.methods",
    "methods": "rankers.methods",
    "ndcg_bound": "surrogates.bounds",
    "open_parquet": "data.arrow",
    "polish": "experiments.optimality",
    "quantile_thresholds": "models.stumps",
    "random_models": "experiments.tendencies",
    "rank_bound": "surrogates.bounds",
    "read_letor": "data.letor",
    "read_parquet": "data.arrow",
    "read_trec_qrels": "data.trec",
    "read_trec_run": "data.trec",
    "regression_start": "trainers.regression",
    "runs_as_features": "data.runs",
    "search": "rankers.search",
    "set_threads": "threads",
    "smooth_ndcg_bound": "surrogates.smooth_theory",
    "smooth_rescaled": "surrogates.smooth_theory",
    "soft_ranks": "surrogates.positions",
    "split_queries": "data.split",
    "surrogate": "surrogates.names",
    "tendencies": "experiments.tendencies",
    "tendency": "experiments.tendency",
    "tendency_of": "experiments.tendencies",
    "torch": "torch",
    "write_letor": "data.letor_write",
    "write_parquet": "data.arrow",
    "write_trec_run": "data.trec",
}

__all__ = sorted(set(_HOME) - {"torch"})  # `from directrix import *` must not hide PyTorch


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'directrix' has no attribute {name!r}")
    module = import_module(f"directrix.{_HOME[name]}")
    is_module = _HOME[name].split(".")[-1] == name and not hasattr(module, name)
    value = module if is_module else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
