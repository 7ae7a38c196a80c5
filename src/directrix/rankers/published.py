"""The methods by name. A table of methods is a list of these names."""

from __future__ import annotations

from typing import Any

from directrix.measures.base import RankingMeasure
from directrix.rankers.methods import Method, method
from directrix.surrogates import approx, approx_cascade, approx_pairs

__all__ = ["METHODS", "Auto"]

_QIN = "Qin, Liu & Li (2010), doi:10.1007/s10791-009-9124-x"
_CHAPELLE = "Chapelle & Wu (2010), doi:10.1007/s10791-009-9110-3"
_GRID = {"alpha": (3.0, 10.0, 30.0), "l2": (1e-4, 1e-3), "max_iter": (100,)}
_PAIRS = "O(R n) pairs, only those inside the sigmoid's band"


class Auto(Method):
    """The strong methods that suit a measure; validation queries choose among them."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Those of all its parts."""
        every = dict.fromkeys(name for names in _SUITS.values() for name in names)
        return tuple(dict.fromkeys(s for name in every for s in method(name).settings))

    def parts(self, measure: RankingMeasure | None) -> tuple[Method, ...]:
        """Return the methods that suit the measure and whose packages are installed."""
        names = _SUITS.get(type(measure).__name__, _SUITS["NDCG"])
        return tuple(part for part in map(method, names) if part.is_installed)

    def ranker(self, *, measure: RankingMeasure | None = None, **settings: Any) -> Any:
        """Return the ranker of its first part."""
        self.check_settings(settings)
        first = self.parts(measure)[0]
        return first.ranker(measure=measure, **{k: v for k, v in settings.items() if k in first.settings})


_SUITS = {
    "NDCG": ("ApproxNDCG",),
    "AP": ("ApproxNDCG", "ApproxAP"),
    "Precision": ("ApproxNDCG", "ApproxPrecision"),
    "RR": ("ApproxNDCG", "ApproxRR"),
    "ERR": ("ApproxNDCG", "ApproxERR"),
    "KendallTau": ("ApproxNDCG", "ApproxKendall"),
}
"""What "auto" tries for a measure; that of "NDCG" for all others. See docs/decisions/0041."""


def _approx(cls: type[Any], source: str, use_when: str, *from_measure: str, selection: str) -> Method:
    return Method(
        cls.__name__,
        cls,
        "linear",
        "lbfgs",
        f"{_QIN}, {source}",
        _PAIRS,
        use_when,
        grid=_GRID,
        from_measure=from_measure,
        selection=selection,
    )


_FUTURE = "Sect. 6 (future work)"
METHODS = (
    Auto(
        "auto",
        None,
        "linear",
        "lbfgs",
        "the grids of the methods that suit the measure",
        "that of its parts",
        "you do not want to choose: strong methods, best on validation",
    ),
    Method(
        "Regression",
        None,
        "linear",
        "lbfgs",
        f"{_CHAPELLE}, Sect. 4",
        "one pass over the features and a solve of n_features equations",
        "a baseline in a moment; the start of most other methods",
        fixed={"max_iter": 0},
        only=("scale",),
    ),
    _approx(
        approx.ApproxNDCG,
        "Eq. 21",
        "the default: graded labels, nDCG or any measure of the top",
        selection="nDCG",
    ),
    _approx(
        approx.ApproxAP,
        "Eq. 22",
        "average precision, labels that are relevant or not",
        "rel",
        selection="AP",
    ),
    _approx(approx.ApproxPrecision, _FUTURE, "precision at a fixed cut-off", "k", "rel", selection="P@10"),
    _approx(
        approx_cascade.ApproxRR, _FUTURE, "only the first relevant document counts", "rel", selection="RR"
    ),
    _approx(
        approx_cascade.ApproxERR,
        _FUTURE,
        "users stop when satisfied; graded labels",
        "l_max",
        selection="ERR",
    ),
    _approx(approx_pairs.ApproxKendall, _FUTURE, "the whole order counts", selection="tau"),
)
