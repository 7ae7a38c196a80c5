"""The methods that optimize a measure, and the regression that most of them start from."""

from __future__ import annotations

from functools import partial
from typing import Any

from directrix.rankers.method import Method
from directrix.surrogates import approx, lambdas, listwise, smooth, soft
from directrix.trainers.direct_search import CoordinateAscent, SimplexSearch
from directrix.trainers.full_gradients import CG
from directrix.trainers.stochastic import SGD
from directrix.trainers.wrappers import Anneal

_QIN = "Qin, Liu & Li (2010), doi:10.1007/s10791-009-9124-x"
_CHAPELLE = "Chapelle & Wu (2010), doi:10.1007/s10791-009-9110-3"
_DONMEZ = "Donmez, Svore & Burges (2009), doi:10.1145/1571941.1572021"
_FUTURE = "Sect. 6 (future work)"
_PAIRS = "O(R n) pairs, only those inside the sigmoid's band"
_LAMBDAS = "O(n k) pairs with a cut-off k, O(n^2) without"
_PERCEPTRON = {"hidden": (10,), "residual": False, "dropout": 0.0}
_LOOP = {"shrink": 0.8, "shrink_chance": 0.3, "restart_after": 50, "patience": 100, "epochs": 700}


def _annealed(sigma_first: float = 64.0, sigma_last: float = 1 / 64, cg_iter: int = 50) -> Anneal:
    return Anneal(CG(max_iter=cg_iter), start=sigma_first, stop=sigma_last)


# surrogate, place in Qin, Liu & Li (2010), when to use it, settings from the measure, selection
_APPROX: tuple[tuple[type[Any], str, str, tuple[str, ...], str], ...] = (
    (approx.ApproxNDCG, "Eq. 21", "the default: graded labels, nDCG or any measure of the top", (), "nDCG"),
    (approx.ApproxAP, "Eq. 22", "average precision, labels that are relevant or not", ("rel",), "AP"),
    (approx.ApproxPrecision, _FUTURE, "precision at a fixed cut-off", ("k", "rel"), "P@10"),
    (approx.ApproxRR, _FUTURE, "only the first relevant document counts", ("rel",), "RR"),
    (approx.ApproxERR, _FUTURE, "users stop when satisfied; graded labels", ("l_max",), "ERR"),
    (approx.ApproxKendall, _FUTURE, "the whole order counts", (), "tau"),
)
_smooth = partial(
    Method.of,
    trainer=_annealed,
    cost="O(k n) pairs, only those inside the band; 13 trainings in a row, sigma halved",
    grid={"l2": (1e-4, 1e-3, 1e-2, 1e-1)},
    keeps_best=True,
    without=("sigma",),
)
_lambdas = partial(
    Method,
    surrogate=lambdas.Lambda,
    from_measure=("measure",),
    keeps_best=True,
    selection="nDCG@10",
)
_TREES = {
    "n_trees": 300,
    "patience": 50,
    "l2": 0.0,
    "max_bin": 255,
    "subsample": 0.8,
    "feature_fraction": 0.8,
}
_boosted = partial(
    Method,
    model="trees",
    trainer="boosting",
    grid={"learning_rate": (0.05, 0.1), "num_leaves": (7, 15, 31)},
    fixed=_TREES,
    keeps_best=True,
)
_yeti = partial(
    _boosted,
    surrogate=lambdas.YetiRank,
    source="Gulin, Kuralenok & Pavlov (2011), JMLR W&CP 14; Lyzhin et al. (2023), arXiv:2204.01500",
    cost="O(R n log n) for R rankings, and a tree",
    grid={"num_leaves": (7, 31, 63), "l2": (20.0, 100.0)},
    fixed={},
    selection="nDCG@10",
)

PUBLISHED = (
    Method(
        name="Regression",
        source="Chapelle & Wu (2010), Sect. 4, doi:10.1007/s10791-009-9110-3",
        cost="one pass over the features and a solve of n_features equations",
        use_when="a baseline in seconds; the start of most other methods",
        fixed={"max_iter": 0},
        only=("scale",),
        selection="AP",
    ),
    *(
        Method.of(
            surrogate,
            source=f"{_QIN}, {place}",
            cost=_PAIRS,
            use_when=use_when,
            grid={"alpha": (3.0, 10.0, 30.0), "l2": (1e-4, 1e-3), "max_iter": (100,)},
            from_measure=from_measure,
            selection=selection,
        )
        for surrogate, place, use_when, from_measure, selection in _APPROX
    ),
    _smooth(
        smooth.SmoothNDCG,
        source=f"{_CHAPELLE}, Eq. 8 and the algorithm of Sect. 4",
        use_when="nDCG, if time allows a sequence of smoothings",
        fixed={"center": "start", "k": 50},
        selection="nDCG@10",
    ),
    _smooth(
        smooth.SmoothAP,
        source=f"{_CHAPELLE}, Eq. 9 and the algorithm of Sect. 4",
        use_when="average precision, if time allows a sequence of smoothings",
        fixed={"center": "start"},
        from_measure=("rel",),
        selection="AP",
    ),
    Method.of(
        soft.SoftNDCG,
        source="Taylor, Guiver, Robertson & Minka (2008), doi:10.1145/1341531.1341544",
        cost="O(R n) pairs times some 30 terms, only those inside the band",
        use_when="nDCG with a cut-off; scores are random variables",
        grid={"sigma": (0.03, 0.1, 0.3), "l2": (1e-4, 1e-3), "max_iter": (100,)},
        keeps_best=True,
    ),
    _lambdas(
        name="LambdaRank",
        trainer=SGD,
        source=f"{_DONMEZ}, Sect. 3 and 7; Burges, Ragno & Le (2006)",
        cost=_LAMBDAS,
        use_when="any measure that Lambda supports, by forces instead of a surrogate",
        grid={"learning_rate": (1e-4, 1e-3, 1e-2)},
        fixed={**_LOOP, "start": "zero"},
    ),
    _lambdas(
        name="LambdaRank-MLP",
        model="mlp",
        trainer=SGD,
        source=f"{_DONMEZ}, Sect. 7: two layers, 10 hidden units",
        cost=_LAMBDAS,
        use_when="LambdaRank with a small network, for features that interact",
        grid={"learning_rate": (1e-3, 1e-2)},
        fixed={**_LOOP, **_PERCEPTRON, "l2": 0.0, "activation": "tanh", "scale": None},
    ),
    Method(
        name="CoordinateAscent",
        trainer=CoordinateAscent,
        source="Metzler & Croft (2007), doi:10.1007/s10791-006-9019-z, with an exact line search",
        cost="O(m log m) per feature and sweep, m = R n changes of places",
        use_when="few features and queries: climbs the measure itself",
        keeps_best=True,
        selection="AP",
    ),
    Method(
        name="SimplexSearch",
        trainer=SimplexSearch,
        source="Metzler & Croft (2007), Section 4, doi:10.1007/s10791-006-9019-z",
        cost="an evaluation of the measure for each of (d + m - 1)!/(m! (d - 1)!) weights",
        use_when="a few runs or features that point the right way: tries all weights on a grid",
        grid={"steps": (1, 2)},
        keeps_best=True,
        selection="AP",
    ),
    Method(
        name="MLP",
        surrogate=approx.ApproxNDCG,
        model="mlp",
        source=f"{_QIN}, Eq. 21, with a network",
        cost=f"{_PAIRS}, and two passes through the network",
        use_when="features that interact, and enough queries",
        grid={"hidden": ((10,), (50,)), "l2": (1e-4, 1e-3, 1e-2), "max_iter": (100,)},
        fixed={**_PERCEPTRON, "l2": 1e-3, "max_iter": 100, "patience": None},
        keeps_best=True,
    ),
    Method(
        name="Network",
        surrogate=listwise.ListNet,
        model="mlp",
        trainer="adam",
        source="Cao et al. (2007), doi:10.1145/1273496.1273513, with shares of gains and a residual network",
        cost="O(n), and two passes through the network",
        use_when="features that interact, also where there are few queries",
        grid={"scale": ("quantile", "standard"), "hidden": ((128, 128),), "l2": (1e-4, 1e-3)},
        fixed={"target": "shares"},
        keeps_best=True,
    ),
    Method(
        name="ApproxNDCG-Quantile",
        surrogate=approx.ApproxNDCG,
        source=f"{_QIN}, Eq. 21, of normal scores",
        cost=_PAIRS,
        use_when="linear, on raw features: counts, lengths, times",
        grid={"alpha": (3.0, 10.0), "l2": (1e-4, 1e-3), "max_iter": (100,)},
        fixed={"scale": "quantile"},
        keeps_best=True,
    ),
    _yeti(name="YetiRank", use_when="trees for any measure: features that interact, on any scale"),
    _yeti(
        name="YetiRank-Percentile",
        use_when="trees, also on percentiles within the query: features whose level differs between queries",
        fixed={"scale": "raw+query-percentile"},
    ),
    _boosted(
        name="BoostedNDCG",
        surrogate=approx.ApproxNDCG,
        source=f"{_QIN}, Eq. 21, as LightGBM's objective",
        cost=f"{_PAIRS}, and a tree",
        use_when="features that interact, on any scale; many queries",
    ),
    _boosted(
        name="BoostedLambda",
        surrogate=lambdas.Lambda,
        source=f"{_DONMEZ}; Burges (2010), MSR-TR-2010-82: LambdaMART with any measure",
        cost=f"{_LAMBDAS}, and a tree",
        use_when="AP, RR, P@k or ERR; features that interact; many queries",
        from_measure=("measure",),
        selection="nDCG@10",
    ),
    _boosted(
        name="LambdaMART",
        source="Burges (2010), MSR-TR-2010-82; LightGBM's own objective",
        cost="a tree, and pairs of the top 30",
        use_when="a comparison with what most teams use",
        fixed={"surrogate": "lambdarank", **_TREES},
        selection="nDCG@10",
    ),
)
