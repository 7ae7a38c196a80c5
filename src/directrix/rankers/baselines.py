"""The methods that direct optimization is compared with: support vector machines, convex losses, boosting."""

from __future__ import annotations

from functools import partial

from directrix.rankers.method import Method
from directrix.surrogates import dorm, listwise, pairwise, structural
from directrix.trainers.adarank import AdaRank
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.ir_svm import IRSVM
from directrix.trainers.prank import PRank
from directrix.trainers.svm_acc import SVMAcc

_YUE = "Yue, Finley, Radlinski & Joachims (2007), doi:10.1145/1277741.1277790"
_QUANTILES = tuple(step / 51.0 for step in range(1, 51))  # 50 evenly spaced values between 0 and 1


def _cutting_planes(
    C: float = 1.0, epsilon: float = 1e-3, slack: str = "one", max_iter: int = 2000
) -> CuttingPlane:
    return CuttingPlane(epsilon, slack, max_iter, C)  # with C it brings its own penalty


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
_L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_loss = partial(Method.of, grid={"l2": _L2}, keeps_best=True, selection="AP")
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
        pairwise.RankSVM,
        source="Joachims (2002); Chapelle & Keerthi (2010), doi:10.1007/s10791-009-9109-9",
        cost="O(n log n)",
        use_when="a convex baseline, solved to its optimum",
        keeps_best=False,
        grid={"l2": (*_L2, 1.0), "max_iter": (1000,)},
    ),
    Method(
        name="IR-SVM",
        trainer=IRSVM,
        source="Cao, Xu, Liu, Li, Huang & Hon (2006), doi:10.1145/1148170.1148205",
        cost="O(n log n), and a quadratic program of as many variables as planes",
        use_when="a published baseline: RankSVM whose pairs cost what their swap costs nDCG",
        grid={"C": (0.1, 1.0, 10.0, 100.0, 1000.0)},
        selection="AP",
        without=("l2",),
    ),
    Method(
        name="PRank",
        trainer=PRank,
        source="Crammer & Singer (2001), Figure 2, NIPS 14:641-647",
        cost="one pass over the documents per epoch",
        use_when="a published baseline: a perceptron that predicts labels; needs no queries",
        keeps_best=True,
        selection="AP",
        without=("l2",),
    ),
    _loss(
        pairwise.RankNet,
        source="Burges et al. (2005), doi:10.1145/1102351.1102363",
        cost="all pairs of different labels",
        use_when="a convex baseline over pairs",
    ),
    _loss(
        listwise.ListNet,
        source="Cao, Qin, Liu, Tsai & Li (2007), doi:10.1145/1273496.1273513",
        cost="O(n)",
        use_when="a convex baseline over lists",
        grid={"target": ("labels", "gains"), "temperature": (0.3, 1.0), "l2": (1e-4, 1e-2)},
    ),
    _loss(
        listwise.ListMLE,
        source="Xia, Liu, Wang, Zhang & Li (2008), doi:10.1145/1390156.1390306",
        cost="O(n log n)",
        use_when="a convex baseline: the likelihood of the order of labels",
    ),
    _loss(
        listwise.RankCosine,
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
