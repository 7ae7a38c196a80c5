"""The support vector machines by name: structural ones, and those that classify documents."""

from __future__ import annotations

from typing import Any

from directrix.rankers.methods import Method
from directrix.surrogates import dorm, structural
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.svm_acc import SVMAcc

__all__ = ["MACHINES"]

_YUE = "Yue, Finley, Radlinski & Joachims (2007), doi:10.1145/1277741.1277790"
_C = (0.01, 0.1, 1.0, 10.0, 100.0)
_STEPS = tuple(step / 51.0 for step in range(1, 51))  # 50 evenly spaced values between 0 and 1


def _cutting_planes(
    C: float = 1.0, epsilon: float = 1e-3, slack: str = "one", max_iter: int = 2000
) -> CuttingPlane:
    return CuttingPlane(epsilon, slack, max_iter, C)  # with a penalty: by name it trains as it comes


def _hinge(cls: type[Any], source: str, use_when: str, **more: Any) -> Method:
    return Method(
        cls.__name__,
        cls,
        "linear",
        _cutting_planes,
        source,
        **{
            "cost": "O(n log n), and a quadratic program of as many variables as planes",
            "use_when": use_when,
            "grid": {"C": _C},
            "from_measure": ("rel",),
            "selection": "AP",
            "without": ("l2",),
            **more,
        },
    )


def _classifier(number: str, what: str, model: str = "linear", **more: Any) -> Method:
    return Method(
        f"SVMacc{number}",
        None,
        model,
        SVMAcc,
        f"{_YUE}, Sect. 5.2",
        "passes over the documents",
        f"a published baseline that classifies documents{what}",
        **{
            "grid": {"C": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)},
            "from_measure": ("rel",),
            "selection": "AP",
            "without": ("l2",),
            **more,
        },
    )


MACHINES = (
    _hinge(
        structural.SVMMap,
        f"{_YUE}, Algorithms 1 and 2",
        "average precision, by a convex bound trained to a proven optimum",
    ),
    _hinge(
        structural.SVMRoc,
        "Joachims (2005), doi:10.1145/1102351.1102399",
        "the area under the ROC curve, in the same way",
    ),
    _hinge(
        structural.SVMNdcg,
        "Chakrabarti, Khanna, Sawant & Bhattacharyya (2008), doi:10.1145/1401890.1401906",
        "nDCG, in the same way",
        selection="nDCG@10",
    ),
    _hinge(
        dorm.Dorm,
        "Le & Smola (2007), arXiv:0704.3359",
        "nDCG@k by assignment to ranks, in rounds of convex problems",
        cost="without a cut-off k O(n log n), with it O(k (n + L^2)) for L labels; quadratic programs",
        from_measure=(),
        selection="nDCG@10",
    ),
    _hinge(
        structural.PermuRank,
        "Xu, Liu, Lu, Li & Ma (2008), doi:10.1145/1390334.1390355",
        "average precision, with a margin over all pairs of documents",
    ),
    _classifier("", "; needs no queries"),
    _classifier("2", ", relevant ones weighing as much as the others", fixed={"balanced": True}),
    _classifier(
        "3",
        " by percentiles within the query",
        "stumps",
        fixed={"scale": "query-percentile", "thresholds": _STEPS},
    ),
    _classifier(
        "4",
        " by features from 0 to 1 in each query",
        "stumps",
        fixed={"scale": "query-minmax", "thresholds": _STEPS},
    ),
)
