"""The support vector machines by name: structural ones, and those that classify documents."""

from __future__ import annotations

from functools import partial

from directrix.rankers.method import Method
from directrix.surrogates import dorm, structural
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.svm_acc import SVMAcc

__all__ = ["MACHINES"]

_YUE = "Yue, Finley, Radlinski & Joachims (2007), doi:10.1145/1277741.1277790"
_QUANTILES = tuple(step / 51.0 for step in range(1, 51))  # 50 evenly spaced values between 0 and 1


def _cutting_planes(
    C: float = 1.0, epsilon: float = 1e-3, slack: str = "one", max_iter: int = 2000
) -> CuttingPlane:
    return CuttingPlane(epsilon, slack, max_iter, C)  # with C it brings its own penalty


_hinge = partial(
    Method,
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

MACHINES = (
    _hinge(
        name="SVMMap",
        surrogate=structural.SVMMap,
        source=f"{_YUE}, Algorithms 1 and 2",
        use_when="average precision, by a convex bound trained to a proven optimum",
    ),
    _hinge(
        name="SVMRoc",
        surrogate=structural.SVMRoc,
        source="Joachims (2005), doi:10.1145/1102351.1102399",
        use_when="the area under the ROC curve, in the same way",
    ),
    _hinge(
        name="SVMNdcg",
        surrogate=structural.SVMNdcg,
        source="Chakrabarti, Khanna, Sawant & Bhattacharyya (2008), doi:10.1145/1401890.1401906",
        use_when="nDCG, in the same way",
        selection="nDCG@10",
    ),
    _hinge(
        name="Dorm",
        surrogate=dorm.Dorm,
        source="Le & Smola (2007), arXiv:0704.3359",
        use_when="nDCG@k by assignment to ranks, in rounds of convex problems",
        cost="without a cut-off k O(n log n), with it O(k (n + L^2)) for L labels; quadratic programs",
        from_measure=(),
        selection="nDCG@10",
    ),
    _hinge(
        name="PermuRank",
        surrogate=structural.PermuRank,
        source="Xu, Liu, Lu, Li & Ma (2008), doi:10.1145/1390334.1390355",
        use_when="average precision, with a margin over all pairs of documents",
    ),
    _classifier(name="SVMacc", use_when=f"{_CLASSIFIES}; needs no queries"),
    _classifier(
        name="SVMacc2",
        use_when=f"{_CLASSIFIES}, relevant ones weighing as much as the others",
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
)
