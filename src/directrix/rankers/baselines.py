"""The methods that direct optimisation is compared with."""

from __future__ import annotations

from functools import partial

from directrix.rankers.method import Method
from directrix.surrogates import listwise, pairwise
from directrix.trainers.adarank import AdaRank

__all__ = ["BASELINES"]

_L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_loss = partial(Method, grid={"l2": _L2}, keeps_best=True, selection="AP")
_adarank = partial(
    Method,
    trainer=AdaRank,
    source="Xu & Li (2007), doi:10.1145/1277741.1277809",
    cost="one look at each feature per round",
    grid={"signs": (False, True), "rounds": (300,)},
    keeps_best=True,
)
_stumps = partial(
    Method,
    model="stumps",
    grid={"thresholds": (32,), "max_iter": (300,)},
    keeps_best=True,
    selection="AP",
)

BASELINES = (
    _loss(
        name="RankSVM",
        surrogate=pairwise.RankSVM,
        source="Joachims (2002); Chapelle & Keerthi (2010), doi:10.1007/s10791-009-9109-9",
        cost="O(n log n)",
        use_when="a convex baseline, solved to its optimum",
        keeps_best=False,
        grid={"l2": (*_L2, 1.0), "max_iter": (1000,)},
    ),
    _loss(
        name="RankNet",
        surrogate=pairwise.RankNet,
        source="Burges et al. (2005), doi:10.1145/1102351.1102363",
        cost="all pairs of different labels",
        use_when="a convex baseline over pairs",
    ),
    _loss(
        name="ListNet",
        surrogate=listwise.ListNet,
        source="Cao, Qin, Liu, Tsai & Li (2007), doi:10.1145/1273496.1273513",
        cost="O(n)",
        use_when="a convex baseline over lists",
        grid={"target": ("labels", "gains"), "temperature": (0.3, 1.0), "l2": (1e-4, 1e-2)},
    ),
    _loss(
        name="ListMLE",
        surrogate=listwise.ListMLE,
        source="Xia, Liu, Wang, Zhang & Li (2008), doi:10.1145/1390156.1390306",
        cost="O(n log n)",
        use_when="a convex baseline: the likelihood of the order of labels",
    ),
    _loss(
        name="RankCosine",
        surrogate=listwise.RankCosine,
        source="Qin, Zhang, Tsai, Wang, Liu & Li (2008), doi:10.1016/j.ipm.2007.07.016",
        cost="O(n)",
        use_when="a baseline that cannot be dominated by long lists",
        grid={"centred": (False, True), "l2": (1e-5, 1e-3)},
    ),
    _adarank(
        name="AdaRank-MAP",
        use_when="a published baseline that boosts single features for AP",
        fixed={"measure": "AP"},
        selection="AP",
    ),
    _adarank(
        name="AdaRank-NDCG",
        use_when="a published baseline that boosts single features for nDCG@10",
        fixed={"measure": "nDCG@10"},
        selection="nDCG@10",
    ),
    _stumps(
        name="RankBoost",
        trainer="rankboost",
        source="Freund, Iyer, Schapire & Singer (2003), JMLR 4:933-969",
        cost="O(n) per feature and round",
        use_when="a published baseline that boosts thresholds of features",
    ),
    _stumps(
        name="FRank",
        trainer="frank",
        source="Tsai, Liu, Qin, Chen & Ma (2007), doi:10.1145/1277741.1277808",
        cost="all pairs of different labels per round",
        use_when="a published baseline that boosts thresholds for the fidelity loss",
    ),
)
