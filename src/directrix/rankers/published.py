"""The methods by name: "auto", those that optimise a measure directly, and the baselines."""

from __future__ import annotations

from typing import Any

from directrix.measures.base import RankingMeasure
from directrix.rankers.baselines import BASELINES
from directrix.rankers.methods import Method, method
from directrix.rankers.structural import MACHINES
from directrix.surrogates import approx, approx_cascade, approx_pairs, lambdas, smooth, soft
from directrix.trainers.anneal import Anneal
from directrix.trainers.cg import CG
from directrix.trainers.coordinate_ascent import CoordinateAscent
from directrix.trainers.sgd import SGD

__all__ = ["METHODS", "Auto"]

_QIN = "Qin, Liu & Li (2010), doi:10.1007/s10791-009-9124-x"
_CHAPELLE = "Chapelle & Wu (2010), doi:10.1007/s10791-009-9110-3"
_DONMEZ = "Donmez, Svore & Burges (2009), doi:10.1145/1571941.1572021"
_PAIRS = "O(R n) pairs, only those inside the sigmoid's band"
_GRID = {"alpha": (3.0, 10.0, 30.0), "l2": (1e-4, 1e-3), "max_iter": (100,)}
_TREES = {"n_trees": 300, "patience": 50, "subsample": 0.8, "feature_fraction": 0.8}
_TREE_GRID = {"learning_rate": (0.05, 0.1), "num_leaves": (7, 15, 31)}
_LOOP = {"shrink": 0.8, "shrink_chance": 0.3, "restart_after": 50, "patience": 100}


class Auto(Method):
    """The strong methods that suit a measure; validation queries choose among them."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Those of all its parts."""
        every = dict.fromkeys(name for names in (*_SUITS.values(), _SUITS_ANY) for name in names)
        return tuple(dict.fromkeys(s for name in every for s in method(name).settings))

    def parts(self, measure: RankingMeasure | None) -> tuple[Method, ...]:
        """Return the methods that suit the measure, take it, and whose packages are installed."""
        names = _SUITS.get(type(measure).__name__, _SUITS_ANY)
        return tuple(part for part in map(method, names) if part.is_installed and part.takes(measure))

    def describe(self) -> dict[str, Any]:
        """All of it in JSON types; ``tries`` has the methods for each kind of measure."""
        return super().describe() | {
            "model": "several",
            "trainer": "several",
            "selection": "the measure asked for, on validation queries",
            "keeps": "what its parts keep",
            "tries": {name: list(parts) for name, parts in {**_SUITS, "others": _SUITS_ANY}.items()},
        }

    def ranker(self, *, measure: RankingMeasure | None = None, **settings: Any) -> Any:
        """Return the ranker of its first part."""
        self.check_settings(settings)
        first = self.parts(measure)[0]
        return first.ranker(measure=measure, **{k: v for k, v in settings.items() if k in first.settings})


_SUITS = {
    "NDCG": ("ApproxNDCG", "SmoothNDCG", "LambdaRank", "MLP", "LambdaRank-MLP", "BoostedNDCG", "Regression"),
    "AP": ("ApproxAP", "ApproxNDCG", "SmoothAP", "LambdaRank", "MLP", "BoostedLambda", "Regression"),
    "Precision": ("ApproxNDCG", "ApproxPrecision", "LambdaRank", "MLP", "BoostedLambda", "Regression"),
    "RR": ("ApproxNDCG", "ApproxRR", "LambdaRank", "MLP", "BoostedLambda", "Regression"),
    "ERR": ("ApproxNDCG", "ApproxERR", "LambdaRank", "MLP", "BoostedLambda", "Regression"),
    "KendallTau": ("ApproxKendall", "ApproxNDCG", "MLP", "BoostedNDCG", "Regression"),
}
"""What "auto" tries for a measure, in an order of preference; see docs/decisions/0041."""
_SUITS_ANY = ("ApproxNDCG", "SmoothNDCG", "MLP", "BoostedNDCG", "Regression")
"""The same for all other measures."""


def _annealed(sigma_first: float = 64.0, sigma_last: float = 1 / 64, cg_iter: int = 50) -> Anneal:
    return Anneal(CG(max_iter=cg_iter), start=sigma_first, stop=sigma_last)


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


def _smooth(cls: type[Any], source: str, use_when: str, selection: str, **more: Any) -> Method:
    return Method(
        cls.__name__,
        cls,
        "linear",
        _annealed,
        f"{_CHAPELLE}, {source}",
        "O(k n) pairs, only those inside the band; 13 trainings in a row, sigma halved",
        use_when,
        grid={"l2": (1e-4, 1e-3, 1e-2, 1e-1)},
        keeps_best=True,
        selection=selection,
        without=("sigma",),
        **more,
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
    BASELINES[0],
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
    _smooth(
        smooth.SmoothNDCG,
        "Eq. 8 and the algorithm of Sect. 4",
        "nDCG, and time for a path from smooth to sharp",
        "nDCG@10",
        fixed={"center": "start", "k": 50},
    ),
    _smooth(
        smooth.SmoothAP,
        "Eq. 9 and the algorithm of Sect. 4",
        "average precision, in the same way",
        "AP",
        fixed={"center": "start"},
        from_measure=("rel",),
    ),
    Method(
        "SoftNDCG",
        soft.SoftNDCG,
        "linear",
        "lbfgs",
        "Taylor, Guiver, Robertson & Minka (2008), doi:10.1145/1341531.1341544",
        "O(R n) pairs times some 30 terms, only those inside the band",
        "scores as random variables; nDCG with a cut-off",
        grid={"sigma": (0.03, 0.1, 0.3), "l2": (1e-4, 1e-3), "max_iter": (100,)},
        keeps_best=True,
    ),
    Method(
        "LambdaRank",
        lambdas.Lambda,
        "linear",
        SGD,
        f"{_DONMEZ}, Sect. 3 and 7; Burges, Ragno & Le (2006)",
        "O(n k) pairs with a cut-off k, O(n^2) without",
        "any measure of the known ones, by forces in the place of a surrogate",
        grid={"learning_rate": (1e-4, 1e-3, 1e-2)},
        fixed={**_LOOP, "epochs": 700, "start": "zero"},
        from_measure=("measure",),
        keeps_best=True,
        selection="nDCG@10",
    ),
    Method(
        "LambdaRank-MLP",
        lambdas.Lambda,
        "mlp",
        SGD,
        f"{_DONMEZ}, Sect. 7: two layers, 10 hidden units",
        "O(n k) pairs with a cut-off k, O(n^2) without",
        "the same with a small network, for features that interact",
        grid={"learning_rate": (1e-3, 1e-2)},
        fixed={**_LOOP, "epochs": 700, "l2": 0.0, "activation": "tanh", "scale": None},
        from_measure=("measure",),
        keeps_best=True,
        selection="nDCG@10",
    ),
    Method(
        "CoordinateAscent",
        None,
        "linear",
        CoordinateAscent,
        "Metzler & Croft (2007), doi:10.1007/s10791-006-9019-z, with an exact line search",
        "O(m log m) a feature and sweep, m = R n changes of places",
        "few features and queries: climbs the measure itself",
        keeps_best=True,
        selection="AP",
    ),
    Method(
        "MLP",
        approx.ApproxNDCG,
        "mlp",
        "lbfgs",
        f"{_QIN}, Eq. 21, with a network",
        _PAIRS + ", and two passes through the network",
        "features that interact, and enough queries",
        grid={"hidden": ((10,), (50,)), "l2": (1e-4, 1e-3, 1e-2), "max_iter": (100,)},
        keeps_best=True,
    ),
    Method(
        "BoostedNDCG",
        approx.ApproxNDCG,
        "trees",
        "lightgbm",
        f"{_QIN}, Eq. 21, as LightGBM's objective",
        _PAIRS + ", and a tree",
        "features that interact, of any scale; many queries",
        grid=_TREE_GRID,
        fixed=_TREES,
        keeps_best=True,
    ),
    Method(
        "BoostedLambda",
        lambdas.Lambda,
        "trees",
        "lightgbm",
        f"{_DONMEZ}; Burges (2010), MSR-TR-2010-82: LambdaMART with any measure",
        "O(n k) pairs with a cut-off k, O(n^2) without, and a tree",
        "the same for AP, RR, P@k, ERR",
        grid=_TREE_GRID,
        fixed=_TREES,
        from_measure=("measure",),
        keeps_best=True,
        selection="nDCG@10",
    ),
    *MACHINES,
    *BASELINES[1:],
)
