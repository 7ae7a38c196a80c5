"""The methods that direct optimisation is compared with."""

from __future__ import annotations

from typing import Any

from directrix.rankers.methods import Method
from directrix.surrogates import listwise, pairwise
from directrix.trainers.adarank import AdaRank

__all__ = ["BASELINES"]

_L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def _loss(cls: type[Any], source: str, cost: str, use_when: str, **more: Any) -> Method:
    return Method(
        cls.__name__,
        cls,
        "linear",
        "lbfgs",
        source,
        cost,
        use_when,
        **{"selection": "AP", "grid": {"l2": _L2}, "keeps_best": True, **more},
    )


def _adarank(name: str, measure: str) -> Method:
    return Method(
        f"AdaRank-{name}",
        None,
        "linear",
        AdaRank,
        "Xu & Li (2007), doi:10.1145/1277741.1277809",
        "one look at each feature a round",
        f"a published baseline that boosts single features for {measure}",
        grid={"signs": (False, True), "rounds": (300,)},
        fixed={"measure": measure},
        keeps_best=True,
        selection="AP" if measure == "AP" else "nDCG@10",
    )


def _stumps(name: str, trainer: str, source: str, use_when: str) -> Method:
    return Method(
        name,
        None,
        "stumps",
        trainer,
        source,
        "O(n) a feature and round" if trainer == "rankboost" else "all pairs of different labels a round",
        use_when,
        grid={"thresholds": (32,), "max_iter": (300,)},
        keeps_best=True,
        selection="AP",
    )


BASELINES = (
    Method(
        "Regression",
        None,
        "linear",
        "lbfgs",
        "Chapelle & Wu (2010), Sect. 4, doi:10.1007/s10791-009-9110-3",
        "one pass over the features and a solve of n_features equations",
        "a baseline in a moment; the start of most other methods",
        fixed={"max_iter": 0},
        only=("scale",),
        selection="AP",
    ),
    _loss(
        pairwise.RankSVM,
        "Joachims (2002); Chapelle & Keerthi (2010), doi:10.1007/s10791-009-9109-9",
        "O(n log n)",
        "a convex baseline, solved to its optimum",
        keeps_best=False,
        grid={"l2": (*_L2, 1.0), "max_iter": (1000,)},
    ),
    _loss(
        pairwise.RankNet,
        "Burges et al. (2005), doi:10.1145/1102351.1102363",
        "all pairs of different labels",
        "a convex baseline over pairs",
    ),
    _loss(
        listwise.ListNet,
        "Cao, Qin, Liu, Tsai & Li (2007), doi:10.1145/1273496.1273513",
        "O(n)",
        "a convex baseline over lists",
        grid={"target": ("labels", "gains"), "temperature": (0.3, 1.0), "l2": (1e-4, 1e-2)},
    ),
    _loss(
        listwise.ListMLE,
        "Xia, Liu, Wang, Zhang & Li (2008), doi:10.1145/1390156.1390306",
        "O(n log n)",
        "a convex baseline: the likelihood of the order of labels",
    ),
    _loss(
        listwise.RankCosine,
        "Qin, Zhang, Tsai, Wang, Liu & Li (2008), doi:10.1016/j.ipm.2007.07.016",
        "O(n)",
        "a baseline that cannot be dominated by long lists",
        grid={"centred": (False, True), "l2": (1e-5, 1e-3)},
    ),
    _adarank("MAP", "AP"),
    _adarank("NDCG", "nDCG@10"),
    _stumps(
        "RankBoost",
        "rankboost",
        "Freund, Iyer, Schapire & Singer (2003), JMLR 4:933-969",
        "a published baseline that boosts thresholds of features",
    ),
    _stumps(
        "FRank",
        "frank",
        "Tsai, Liu, Qin, Chen & Ma (2007), doi:10.1145/1277741.1277808",
        "a published baseline that boosts thresholds for the fidelity loss",
    ),
    Method(
        "LambdaMART",
        None,
        "trees",
        "lightgbm",
        "Burges (2010), MSR-TR-2010-82; LightGBM's own objective",
        "a tree, and pairs of the top 30",
        "to compare with what most teams use",
        grid={"learning_rate": (0.05, 0.1), "num_leaves": (7, 15, 31)},
        fixed={
            "surrogate": "lambdarank",
            "n_trees": 300,
            "patience": 50,
            "subsample": 0.8,
            "feature_fraction": 0.8,
        },
        keeps_best=True,
        selection="nDCG@10",
    ),
)
