"""Every name that users can write, and the module that defines it.

This is the only list of measures, surrogates, trainers and rankers. Public names, stubs for type checkers,
parsers, reference pages and the tests of invariants all read it. It holds only text and imports nothing, so
that `import directrix` stays fast. After a change run ``python -m tests.test_public_names``, which writes the
stubs and the list of names that later versions keep.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

MEASURES = {
    "NDCG": "measures.dcg",
    "DCG": "measures.dcg",
    "AP": "measures.precision",
    "RR": "measures.cascade",
    "Precision": "measures.precision",
    "Recall": "measures.precision",
    "Success": "measures.cascade",
    "RPrecision": "measures.precision",
    "IPrec": "measures.precision",
    "ERR": "measures.cascade",
    "RBP": "measures.cascade",
    "ROCArea": "measures.pairs",
    "KendallTau": "measures.pairs",
    "Bpref": "measures.judged",
    "InfAP": "measures.judged",
    "JudgedRate": "measures.judged",
    "GMAP": "measures.sets",
    "SetF": "measures.sets",
    "SetAP": "measures.sets",
    "NumRet": "measures.sets",
    "NumRel": "measures.sets",
    "NumQ": "measures.sets",
    "AlphaNDCG": "measures.diversity",
    "ERRIA": "measures.diversity",
}
"""Exact measures, in the order in which they are listed to users."""

SURROGATES = {
    "ApproxNDCG": "surrogates.approx",
    "ApproxAP": "surrogates.approx",
    "ApproxPrecision": "surrogates.approx",
    "ApproxRR": "surrogates.approx",
    "ApproxERR": "surrogates.approx",
    "ApproxKendall": "surrogates.approx",
    "ApproxMeasure": "surrogates.approx",
    "SmoothNDCG": "surrogates.smooth",
    "SmoothAP": "surrogates.smooth",
    "SoftNDCG": "surrogates.soft",
    "Lambda": "surrogates.lambdas",
    "LambdaLoss": "surrogates.lambdas",
    "YetiRank": "surrogates.lambdas",
    "Gumbel": "surrogates.gumbel",
    "RankNet": "surrogates.losses",
    "RankSVM": "surrogates.losses",
    "ListNet": "surrogates.losses",
    "XENDCG": "surrogates.losses",
    "ListMLE": "surrogates.losses",
    "RankCosine": "surrogates.losses",
    "Regression": "surrogates.losses",
    "SVMMap": "surrogates.structural",
    "SVMRoc": "surrogates.structural",
    "SVMMrr": "surrogates.structural",
    "SVMNdcg": "surrogates.structural",
    "PermuRank": "surrogates.structural",
    "Dorm": "surrogates.dorm",
}
"""Surrogates, by family."""

TRAINERS = {
    "AdaRank": "trainers.adarank",
    "Adam": "trainers.stochastic",
    "Anneal": "trainers.wrappers",
    "BestSoFar": "trainers.wrappers",
    "Boosting": "trainers.boosting",
    "CG": "trainers.full_gradients",
    "Continuation": "trainers.wrappers",
    "CoordinateAscent": "trainers.coordinate_ascent",
    "CuttingPlane": "trainers.cutting_plane",
    "FRank": "trainers.stump_boosting",
    "LBFGS": "trainers.full_gradients",
    "RankBoost": "trainers.stump_boosting",
    "Restarts": "trainers.wrappers",
    "SGD": "trainers.stochastic",
    "SVMAcc": "trainers.svm_acc",
}
"""Trainers and wrappers of trainers."""

RANKERS = {
    "AutoRanker": "search.auto",
    "BoostedRanker": "rankers.boosted",
    "EnsembleRanker": "rankers.ensemble",
    "LinearRanker": "rankers.linear",
    "MLPRanker": "rankers.mlp",
    "StumpRanker": "rankers.stumps",
}
"""Estimators."""

TARGETS = {
    "onnx": "export.onnx",
    "xgboost": "export.xgboost",
    "lightgbm": "export.lightgbm",
    "ranklib": "export.ranklib",
    "solr": "export.solr",
    "elasticsearch": "export.plugin",
    "opensearch": "export.plugin",
    "elastic": "export.elastic",
    "vespa": "export.vespa",
    "sql": "export.sql",
    "python": "export.python",
}
"""Formats that a fitted ranker is exported to."""

COMMANDS = (
    *("train", "predict", "evaluate", "compare", "explain", "describe"),
    *("export", "convert", "doctor", "calibrate", "demo", "methods"),
    *("text index", "text candidates", "text features", "text rerank"),
    *("runs fuse", "runs features", "runs reconcile"),
    *("clicks describe", "clicks model", "clicks propensities", "clicks interleave", "clicks simulate"),
    *("clicks train", "clicks evaluate"),
    "events interactions",
    *("lab crossval", "lab certify", "lab tendency", "lab reproduce"),
    "cluster shard",
)
"""Commands in the order of ``directrix --help``: ``text_rerank_command`` of ``cli/text/rerank.py`` is
the command ``text rerank``. The docstring of ``cli/text/__init__.py`` is the help of the group."""

BY_TEXT = (
    *("Success", "RPrecision", "IPrec", "Bpref", "InfAP", "JudgedRate", "GMAP", "SetF", "SetAP"),
    *("NumRet", "NumRel", "NumQ", "AlphaNDCG", "ERRIA"),
    *("LambdaLoss", "Gumbel", "XENDCG", "SVMMrr"),
)
"""Measures and surrogates that users write as text: ``measure("SetF")``, ``surrogate("LambdaLoss")``."""

_TOP_TRAINERS = ("Adam", "Anneal", "CG", "CoordinateAscent", "CuttingPlane", "LBFGS", "Restarts", "SGD")

PUBLIC = {
    **{name: home for name, home in {**MEASURES, **SURROGATES}.items() if name not in BY_TEXT},
    **{name: TRAINERS[name] for name in _TOP_TRAINERS},
    **RANKERS,
    "InputError": "errors",
    "MissingExtra": "errors",
    "NotConverged": "errors",
    "Queries": "data.queries",
    "certify": "experiments.optimality",
    "cluster": "cluster.connect",
    "compare": "experiments.significance",
    "convention": "measures.convention",
    "define_measure": "measures.define",
    "evaluate": "measures.evaluation",
    "explain": "experiments.explanation.explain",
    "export": "export.verification",
    "fuse": "fusion.fuse",
    "get_threads": "threads",
    "linear_objective": "objectives.objective",
    "load": "rankers.loading",
    "load_scorer": "rankers.scorer",
    "measure": "measures.names",
    "measures": "measures.names",
    "method": "rankers.methods",
    "methods": "rankers.methods",
    "read_letor": "data.letor.read",
    "read_trec_qrels": "data.trec.runs",
    "read_trec_run": "data.trec.runs",
    "reconcile": "reconciliation.search",
    "set_threads": "threads",
    "surrogate": "surrogates.names",
    "tendency": "experiments.tendency",
    "write_letor": "data.letor.write",
    "write_shards": "data.shards.write",
}
"""Names of ``directrix`` itself."""

NAMESPACES = {
    "clicks": {
        "Log": "clicks.log",
        "model": "clicks.models",
        "propensities": "clicks.position_bias",
        "simulate": "clicks.simulation",
        "ab_test": "clicks.online",
        "by_clicked_document": "clicks.gains",
        "evaluate": "clicks.counterfactual",
        "interleave": "clicks.interleaving",
        "interleaving_test": "clicks.online",
        "training_data": "clicks.gains",
    },
    "data": {
        "Qrels": "data.trec.runs",
        "Run": "data.trec.runs",
        "Scale": "data.scale",
        "audit": "data.audits",
        "fit_scale": "data.scale",
        "from_interactions": "data.interactions.build",
        "join_trec": "data.trec.join",
        "k_folds": "data.split",
        "letor_folds": "data.split",
        "make_cubic": "data.synthetic",
        "make_linear": "data.synthetic",
        "make_texts": "data.synthetic",
        "open_parquet": "data.tables.read",
        "open_shards": "data.shards.queries",
        "read_parquet": "data.tables.read",
        "read_responses": "data.responses",
        "runs_as_features": "data.trec.features",
        "split_queries": "data.split",
        "write_parquet": "data.tables.write",
        "write_trec_run": "data.trec.runs",
    },
    "diversity": {
        "exposure": "diversity.groups",
        "mmr": "diversity.rerank",
        "novelty": "diversity.rerank",
        "raise_exposure": "diversity.groups",
    },
    "experiments": {
        "Entry": "experiments.crossval",
        "Split": "experiments.splits",
        "approximation": "experiments.surrogate_error",
        "calibration_curve": "experiments.calibration",
        "cross_validate": "experiments.crossval",
        "evaluate_conventions": "measures.evaluation",
        "k_fold_splits": "experiments.splits",
        "letor_splits": "experiments.splits",
        "line_search": "measures.line_search",
        "make_scorer": "rankers.measure_scorer",
        "matching": "experiments.measure_matching",
        "model_card": "experiments.card",
        "permutation_importance": "experiments.importance",
        "plot_importance": "reports.plots",
        "plot_training": "reports.plots",
        "polish": "experiments.optimality",
        "random_models": "experiments.tendency_on_data",
        "surrogate_tendencies": "experiments.tendency_on_data",
        "write_training_report": "reports.training",
    },
    "laws": {
        "LawBroken": "laws.check",
        "ap_bound": "laws.bounds",
        "check_surrogate": "laws.check",
        "constraints_bound": "laws.cutting_planes",
        "ndcg_bound": "laws.bounds",
        "noisy_rank_bounds": "laws.bounds",
        "rank_bounds": "laws.bounds",
        "ranking_radius": "laws.cutting_planes",
        "generalization_bound": "laws.bounds",
        "smooth_ndcg_bound": "laws.bounds",
        "smooth_ndcg_lipschitz": "laws.bounds",
        "soft_ranks": "surrogates.approx",
    },
    "measures": {
        "Convention": "measures.convention",
        "conventions": "measures.convention",
        "RankingMeasure": "measures.base",
        "Terms": "measures.terms",
    },
    "models": {
        "LinearModel": "models.linear",
        "StumpModel": "models.stumps",
        "quantile_thresholds": "models.stumps",
    },
    "text": {"Index": "text.index"},
    "trainers": {
        **{name: home for name, home in TRAINERS.items() if name not in (*_TOP_TRAINERS, "Boosting")},
        "regression_start": "trainers.regression",
    },
}
"""Names of the namespaces: ``directrix.data.make_cubic``."""

RESULTS = {
    "Approximation": "experiments.surrogate_error",
    "CalibrationCurve": "experiments.calibration",
    "Certificate": "experiments.optimality",
    "ClickModel": "clicks.base",
    "Comparisons": "experiments.significance",
    "CounterfactualResult": "clicks.estimates",
    "CrossValidation": "experiments.crossval_result",
    "Explanation": "experiments.explanation.explain",
    "Importance": "experiments.importance",
    "Interactions": "data.interactions.build",
    "InterleavedList": "clicks.interleaving",
    "Matching": "experiments.measure_matching",
    "OnlineTest": "clicks.online",
    "Propensities": "clicks.position_bias",
    "Polished": "experiments.optimality",
    "Reconciliation": "reconciliation.result",
    "RunScores": "data.trec.features",
    "Tendency": "experiments.tendency",
    "Verification": "export.verification",
}
"""Classes of results: the reference documents them; functions return them, so no import is needed."""

MODULES = ("interop", "torch")
"""Modules whose public names are listed in their own ``__all__``, for packages that are extras."""


def classes(kind: dict[str, str]) -> dict[str, type[Any]]:
    """Load every class of one table, e.g. ``classes(MEASURES)``; name to class, in the order of the table."""
    return {name: load_class(kind, name) for name in kind}


def load_class(kind: dict[str, str], name: str) -> type[Any]:
    """Load one class of a table, e.g. ``load_class(MEASURES, "AP")``."""
    # Tables hold names of modules, so that a class is imported only when it is used.
    loaded: type[Any] = getattr(import_module(f"directrix.{kind[name]}"), name)
    return loaded
