"""Methods that are compared: Algorithm 1 with the paper's grids, the paper's baselines, and two more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from directrix.experiments.tuning import Entry
from directrix.measures.base import RankingMeasure
from directrix.measures.cascade import RR
from directrix.measures.dcg import NDCG
from directrix.measures.pairs import KendallTau
from directrix.measures.precision import AP, Precision
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxAP, ApproxKendall, ApproxNDCG, ApproxPrecision, ApproxRR
from directrix.surrogates.listwise import ListNet
from directrix.trainers.stochastic import SGD

_SOURCE = "Qin, Liu & Li (2010), Algorithm 1, doi:10.1007/s10791-009-9124-x"
PUBLISHED_METHODS = ("ApproxAP", "ApproxNDCG", "AdaRank.MAP", "AdaRank.NDCG", "SVMmap", "SoftRank")
"""Rows of the paper's tables; the other rows are ours."""


_BETA = 10.0  # of truncations, where it is not searched: that of Figure 1


def ndcg_at(k: int | None) -> NDCG:
    """NDCG@k with the discount of LETOR's script, as in the published values."""
    return NDCG(k=k, discount="letor3")


MAP, NDCG_ALL, NDCG_10, NDCG_EQ_5 = (m.name for m in (AP(), ndcg_at(None), ndcg_at(10), NDCG()))
"""Names of measures: MAP, NDCG@n, NDCG@10, and NDCG@n with the discount of Eq. 5."""
OWN = {
    **{MAP: "ApproxAP", NDCG_ALL: "ApproxNDCG", NDCG_10: "ApproxNDCG@10"},
    **{Precision(k=10).name: "ApproxPrecision", RR().name: "ApproxRR", KendallTau().name: "ApproxKendall"},
}
"""Measures with the surrogate that approximates them; all but the first two are future work of the paper."""
SHORT = {
    MAP: "MAP",
    NDCG_ALL: "NDCG@n",
    NDCG_EQ_5: "NDCG@n of Eq. 5",
    **{ndcg_at(k).name: f"NDCG@{k}" for k in range(1, 11)},
    **{Precision(k=10).name: "P@10", RR().name: "RR", KendallTau().name: "Kendall's tau"},
}
"""Measures as tables write them."""


@dataclass(frozen=True)
class Grids:
    """Settings that validation chooses among."""

    epochs: int = 200  # T of Algorithm 1
    rate: float = 0.01  # its eta
    # ap_alpha, ap_beta, ndcg_alpha: of ApproxAP and ApproxNDCG (Sect. 6.3 and 6.4); the first also of all
    # surrogates of `surrogates_of_measures`
    ap_alpha: tuple[float, ...] = (10.0, 20.0, 50.0, 100.0)
    ap_beta: tuple[float, ...] = (1.0, 10.0, 20.0, 50.0, 100.0)
    ndcg_alpha: tuple[float, ...] = (10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0)
    # mapping of entry to grid: in place of the library's grid, by name of the entry
    others: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)


def measures() -> list[RankingMeasure]:
    """Return the measures that are reported."""
    return [AP(), *(ndcg_at(k) for k in range(1, 11)), ndcg_at(None), NDCG()]


def entries(grids: Grids) -> list[Entry]:
    """Return the rows of the tables: the method, its grid, and the measure that chooses.

    ApproxAP and ApproxNDCG keep the epoch with the best validation score. Of its baselines the paper says
    only that they were tuned by LETOR's rule, on validation queries; their grids are the library's.
    """
    by_map, by_ndcg = AP(), ndcg_at(None)
    rows: list[tuple[str, Method | str, RankingMeasure]] = [
        ("ApproxAP", _algorithm_1(ApproxAP, grids, {"alpha": grids.ap_alpha, "beta": grids.ap_beta}), by_map),
        ("ApproxNDCG", _algorithm_1(ApproxNDCG, grids, {"alpha": grids.ndcg_alpha}), by_ndcg),
        ("AdaRank.MAP", "AdaRank-MAP", by_map),
        ("AdaRank.NDCG", "AdaRank-NDCG", by_ndcg),
        ("SVMmap", "SVMMap", by_map),
        ("SoftRank", "SoftNDCG", by_ndcg),
        ("ListNet", "ListNet", by_map),
        ("RankSVM", "RankSVM", by_map),
        ("ApproxAP, L-BFGS", "ApproxAP", by_map),
        ("ApproxNDCG, L-BFGS", "ApproxNDCG", by_ndcg),
        ("ListNet, query by query", _by_query(grids), by_map),
    ]
    return [Entry(name, method, grid=grids.others.get(name), measure=by) for name, method, by in rows]


def surrogates_of_measures(grids: Grids) -> list[Entry]:
    """Return the surrogate of every measure of `OWN`, all with the same grid and chosen by this measure.

    All start at a regression: at equal scores the paper's truncations (below = 0) have no slope.
    """
    beta, cut = {"beta": _BETA}, {"k": 10, "beta": _BETA, "below": 0.0}
    rows: list[tuple[type[Any], dict[str, Any], RankingMeasure]] = [
        (ApproxAP, beta, AP()),
        (ApproxNDCG, {}, ndcg_at(None)),
        (ApproxNDCG, cut, ndcg_at(10)),
        (ApproxPrecision, cut, Precision(k=10)),
        (ApproxRR, beta, RR()),
        (ApproxKendall, {}, KendallTau()),
    ]
    return [
        Entry(
            OWN[measure.name],
            _algorithm_1(surrogate, grids, {"alpha": grids.ap_alpha}, start="regression", **fixed),
            measure=measure,
        )
        for surrogate, fixed, measure in rows
    ]


def _algorithm_1(
    surrogate: type[Any], grids: Grids, grid: Mapping[str, tuple[float, ...]], **fixed: Any
) -> Method:
    return Method(
        name=surrogate.__name__,
        surrogate=surrogate,
        trainer=SGD,
        source=_SOURCE,
        cost="one step per query: O(R n) pairs, only those inside the sigmoid's band",
        use_when="the paper's own training",
        grid=grid,
        fixed={"learning_rate": grids.rate, "epochs": grids.epochs, "start": "zero", **fixed},
        from_measure=("rel",) if surrogate in (ApproxAP, ApproxPrecision, ApproxRR) else (),
        keeps_best=True,
        selection="AP" if surrogate is ApproxAP else "nDCG",
    )


def _by_query(grids: Grids) -> Method:
    """ListNet as published: stochastic gradient, without a penalty, stopped by validation."""
    return Method(
        name="ListNet, query by query",
        surrogate=ListNet,
        trainer=SGD,
        source="Cao et al. (2007), Algorithm 1, doi:10.1145/1273496.1273513",
        cost="one pass over the documents per epoch",
        use_when="to repeat its published training",
        grid={"temperature": (0.3, 1.0)},
        fixed={
            **{"target": "labels", "learning_rate": grids.rate, "epochs": grids.epochs},
            **{"start": "zero", "l2": 0.0},
        },
        keeps_best=True,
        selection="AP",
    )
