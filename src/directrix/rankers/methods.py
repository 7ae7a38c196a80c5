"""The published methods by name, which searches, the command line and the reference read."""

from __future__ import annotations

import difflib
import re
from functools import partial
from typing import Any, Literal

from directrix.errors import InputError, short_text
from directrix.rankers.method import Auto, Method
from directrix.rankers.user_methods import L2, imported, user_method
from directrix.surrogates import approx, dorm, lambdas, losses, smooth, soft, structural
from directrix.trainers.adarank import AdaRank
from directrix.trainers.coordinate_ascent import CoordinateAscent
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.full_gradients import CG
from directrix.trainers.stochastic import SGD
from directrix.trainers.svm_acc import SVMAcc
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
_YUE = "Yue, Finley, Radlinski & Joachims (2007), doi:10.1145/1277741.1277790"
# These are 50 evenly spaced values between 0 and 1, without both ends.
_QUANTILES = tuple(step / 51.0 for step in range(1, 51))


def _cutting_planes(
    C: float = 1.0, epsilon: float = 1e-3, slack: Literal["one", "each"] = "one", max_iter: int = 2000
) -> CuttingPlane:
    # The trade-off C replaces the penalty l2, which the method therefore does not have.
    return CuttingPlane(epsilon, slack, max_iter, C)


_hinge = partial(
    Method.of,
    trainer=_cutting_planes,
    cost="O(n log n), and a quadratic program of as many variables as planes",
    grid={"C": (0.01, 0.1, 1.0, 10.0, 100.0)},
    from_measure=("rel",),
    selection="AP",
    without=("l2",),
)
_classifier = partial(
    Method,
    trainer=SVMAcc,
    source=f"{_YUE}, Sect. 5.2",
    cost="passes over the documents",
    grid={"C": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)},
    from_measure=("rel",),
    selection="AP",
    without=("l2",),
)
_CLASSIFIES = "a published baseline that classifies documents"
_loss = partial(Method.of, grid={"l2": L2}, keeps_best=True, selection="AP")
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

_PUBLISHED = (
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
        use_when="any measure that Lambda supports, by lambda gradients instead of a surrogate",
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
        surrogate=losses.ListNet,
        model="mlp",
        trainer="adam",
        source="Cao et al. (2007), doi:10.1145/1273496.1273513, with shares of gains and a residual network",
        cost="O(n), and two passes through the network",
        use_when="features that interact, also where there are few queries",
        grid={"scale": ("quantile", "standard"), "hidden": ((128, 128),), "l2": (1e-4, 1e-3)},
        fixed={"target": "shares"},
        keeps_best=True,
    ),
    Method.of(
        approx.ApproxMeasure,
        source=f"{_QIN}, Section 4",
        cost=_PAIRS,
        use_when="any sum of discounted gains; gains from clicks, which may be negative",
        grid={"alpha": (3.0, 10.0), "l2": (1e-4, 1e-3, 1e-2), "max_iter": (100,)},
        from_measure=("measure",),
        keeps_best=True,
    ),
    Method(
        name="ApproxMeasure-MLP",
        surrogate=approx.ApproxMeasure,
        model="mlp",
        source=f"{_QIN}, Section 4, with a network",
        cost=f"{_PAIRS}, and two passes through the network",
        use_when="the same with features that interact, and enough queries",
        grid={"hidden": ((10,), (50,)), "l2": (1e-4, 1e-3, 1e-2), "max_iter": (100,)},
        fixed={**_PERCEPTRON, "l2": 1e-3, "max_iter": 100, "patience": None},
        from_measure=("measure",),
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
    _hinge(
        structural.SVMMap,
        source=f"{_YUE}, Algorithms 1 and 2",
        use_when="average precision, by a convex bound trained to a proven optimum",
    ),
    _hinge(
        structural.SVMRoc,
        source="Joachims (2005), doi:10.1145/1102351.1102399",
        use_when="the area under the ROC curve, by a convex bound trained to a proven optimum",
    ),
    _hinge(
        structural.SVMMrr,
        source=f"{_YUE}, Section 6 (future work)",
        use_when="the reciprocal rank, by a convex bound trained to a proven optimum",
        selection="RR",
    ),
    _hinge(
        structural.SVMNdcg,
        source="Chakrabarti, Khanna, Sawant & Bhattacharyya (2008), doi:10.1145/1401890.1401906",
        use_when="nDCG, by a convex bound trained to a proven optimum",
        selection="nDCG@10",
    ),
    _hinge(
        dorm.Dorm,
        source="Le & Smola (2007), arXiv:0704.3359",
        use_when="nDCG@k by assignment to ranks, in rounds of convex problems",
        cost="without a cut-off k O(n log n), with it O(k (n + L^2)) for L labels; quadratic programs",
        from_measure=(),
        selection="nDCG@10",
    ),
    _hinge(
        structural.PermuRank,
        source="Xu, Liu, Lu, Li & Ma (2008), doi:10.1145/1390334.1390355",
        use_when="average precision, with a margin over all pairs of documents",
    ),
    _classifier(name="SVMacc", use_when=f"{_CLASSIFIES}; needs no queries"),
    _classifier(
        name="SVMacc2",
        use_when=f"{_CLASSIFIES}, with equal total weight for both classes",
        fixed={"balanced": True},
    ),
    _classifier(
        name="SVMacc3",
        model="stumps",
        use_when=f"{_CLASSIFIES} by percentiles within the query",
        fixed={"scale": "query-percentile", "thresholds": _QUANTILES},
    ),
    _classifier(
        name="SVMacc4",
        model="stumps",
        use_when=f"{_CLASSIFIES} by features from 0 to 1 in each query",
        fixed={"scale": "query-minmax", "thresholds": _QUANTILES},
    ),
    _loss(
        losses.RankSVM,
        source="Joachims (2002); Chapelle & Keerthi (2010), doi:10.1007/s10791-009-9109-9",
        cost="O(n log n)",
        use_when="a convex baseline, solved to its optimum",
        keeps_best=False,
        grid={"l2": (*L2, 1.0), "max_iter": (1000,)},
    ),
    _loss(
        losses.RankNet,
        source="Burges et al. (2005), doi:10.1145/1102351.1102363",
        cost="all pairs of different labels",
        use_when="a convex baseline over pairs",
    ),
    _loss(
        losses.ListNet,
        source="Cao, Qin, Liu, Tsai & Li (2007), doi:10.1145/1273496.1273513",
        cost="O(n)",
        use_when="a convex baseline over lists",
        grid={"target": ("labels", "gains"), "temperature": (0.3, 1.0), "l2": (1e-4, 1e-2)},
    ),
    _loss(
        losses.ListMLE,
        source="Xia, Liu, Wang, Zhang & Li (2008), doi:10.1145/1390156.1390306",
        cost="O(n log n)",
        use_when="a convex baseline: the likelihood of the order of labels",
    ),
    _loss(
        losses.RankCosine,
        source="Qin, Zhang, Tsai, Wang, Liu & Li (2008), doi:10.1016/j.ipm.2007.07.016",
        cost="O(n)",
        use_when="a baseline that long lists cannot dominate",
        grid={"centered": (False, True), "l2": (1e-5, 1e-3)},
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

_BY_NAME: dict[str, Method] = {m.name: m for m in _PUBLISHED}
_ALWAYS = ("ApproxNDCG-Quantile", "MLP", "Network", "YetiRank", "YetiRank-Percentile", "Regression")
_SUITS = {
    "NDCG": ("ApproxNDCG", "SmoothNDCG", "LambdaRank", *_ALWAYS),
    "AP": ("ApproxAP", "ApproxNDCG", "SmoothAP", "LambdaRank", *_ALWAYS),
    "Precision": ("ApproxNDCG", "ApproxPrecision", "LambdaRank", *_ALWAYS),
    "RR": ("ApproxNDCG", "ApproxRR", "LambdaRank", *_ALWAYS),
    "ERR": ("ApproxNDCG", "ApproxERR", "LambdaRank", *_ALWAYS),
    "KendallTau": ("ApproxKendall", "ApproxNDCG", *_ALWAYS),
    "gains": ("ApproxMeasure", "ApproxMeasure-MLP", "YetiRank", "YetiRank-Percentile"),
    "others": ("ApproxNDCG", "SmoothNDCG", *_ALWAYS),
}
"""Methods that "auto" tries, by class of measure, in order of preference: docs/decisions/selection.md."""

_AUTO = Auto(
    name="auto",
    source="the grids of the methods that suit the measure",
    cost="the sum of the costs of its methods",
    use_when="you do not want to choose: trains strong methods, keeps the best",
    tries={measure: tuple(_BY_NAME[name] for name in names) for measure, names in _SUITS.items()},
)
_METHODS = (_AUTO, *_BY_NAME.values())
_ELSEWHERE = {
    "lightgbm lgbm lgbmranker lambdarankgbdt xgboost xgb xgbranker": "LambdaMART",
    "catboost yetirankpairwise": "YetiRank",
    "mart gbdt gbrt gbm trees boosting boostedtrees stochasticrank": "BoostedNDCG",
    "svmrank ranksvmlinear svm pairwise bpr": "RankSVM",
    "adarank": "AdaRank-NDCG (AdaRank-MAP for AP)",
    "linear ridge ols ctr pointwise logistic logisticregression mse rmse": "Regression",
    "listwise softmax softmaxloss": "ListNet",
}
"""Names in other tools, in lower case without signs, and the nearest method here."""

_FOLDED = {m.name.lower(): m for m in _METHODS}


def methods() -> tuple[Method, ...]:
    """Return all methods, with "auto" and a baseline first.

    Examples
    --------
    >>> [m.name for m in methods()][:4]
    ['auto', 'Regression', 'ApproxNDCG', 'ApproxAP']
    """
    return _METHODS


def method(name: Any) -> Method:
    """Return the method with this name, in any case, or the method of your own object.

    Parameters
    ----------
    name : str, or surrogate, trainer, ranker, or the class of one
        See `methods`. Several names, separated by commas, give one method, among whose parts `AutoRanker`
        chooses as for "auto". ``"my_loss:MyLoss"`` imports your own object from a Python module of the
        current folder or of ``sys.path``, which runs the code of that module.

        A surrogate is maximized by L-BFGS for a linear model; a trainer minimizes minus ApproxNDCG. The
        penalty ``l2`` and the step that is kept are chosen by validation. A ranker is trained unchanged.

    Raises
    ------
    InputError
        If no method has this name, or the object is none of these.

    Examples
    --------
    >>> method("ApproxAP").ranker(alpha=50.0, l2=1e-4)
    LinearRanker(l2=0.0001, surrogate=ApproxAP(alpha=50.0, beta=10.0, rel=1, sigmoid='logistic'))
    """
    if not isinstance(name, str):
        return user_method(name)
    if named := imported(name):
        return user_method(named[1], named[0])
    names = [text.strip() for text in name.split(",") if text.strip()]
    if names and "," in name:
        return _several([method(text) for text in names])
    if name.lower() not in _FOLDED:
        near = difflib.get_close_matches(name.lower(), _FOLDED, n=1)
        meant = f"did you mean {_FOLDED[near[0]].name!r}?" if near else ""
        word = re.sub(r"[\W_]", "", name.lower())
        if equivalent := next(
            (name_here for words, name_here in _ELSEWHERE.items() if word in words.split()), None
        ):
            meant = f"its equivalent here is {equivalent}."
        meant = meant or f"the methods are {', '.join(m.name for m in _METHODS)}."
        raise InputError(f"method {short_text(name)} is not known; {meant}")
    return _FOLDED[name.lower()]


def _several(chosen: list[Method]) -> Method:
    """Return one method that tries all of these."""
    unique = tuple(dict.fromkeys(chosen))
    if len(unique) == 1:
        return unique[0]
    if _AUTO in unique:
        raise InputError("auto cannot be in a list of methods, since it tries several itself. Give it alone.")
    return Auto(
        name=", ".join(member.name for member in unique),
        source="the grids of the methods",
        cost=_AUTO.cost,
        use_when="you want the best of these methods",
        tries={"others": unique},
        is_lenient=False,
    )
