"""Methods that are compared: Algorithm 1 with the paper's grids, the paper's baselines, and two more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from directrix.experiments.tuning import Entry
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.precision import AP
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxAP, ApproxNDCG
from directrix.trainers.sgd import SGD

_SOURCE = "Qin, Liu & Li (2010), Algorithm 1, doi:10.1007/s10791-009-9124-x"
PUBLISHED_METHODS = ("ApproxAP", "ApproxNDCG", "AdaRank.MAP", "AdaRank.NDCG", "SVMmap", "SoftRank")
"""Rows of the paper's tables; the other rows are ours."""


def ndcg_at(k: int | None) -> NDCG:
    """NDCG@k with the discount of LETOR's script, as in the published values; decision 0106."""
    return NDCG(k=k, discount="letor3")


MAP, NDCG_ALL, NDCG_10, NDCG_EQ_5 = (m.name for m in (AP(), ndcg_at(None), ndcg_at(10), NDCG()))
"""Names of measures: MAP, NDCG@n, NDCG@10, and NDCG@n with the discount of Eq. 5."""
SHORT = {
    MAP: "MAP",
    NDCG_ALL: "NDCG@n",
    NDCG_EQ_5: "NDCG@n of Eq. 5",
    **{ndcg_at(k).name: f"NDCG@{k}" for k in range(1, 11)},
}
"""Measures as tables write them."""


@dataclass(frozen=True)
class Grids:
    """Settings that validation chooses among."""

    epochs: int = 200  # T of Algorithm 1
    rate: float = 0.01  # its eta
    # ap_alpha, ap_beta, ndcg_alpha: of ApproxAP and ApproxNDCG (Sect. 6.3 and 6.4).
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
        ("ApproxAP", _algorithm_1("ApproxAP", grids), by_map),
        ("ApproxNDCG", _algorithm_1("ApproxNDCG", grids), by_ndcg),
        ("AdaRank.MAP", "AdaRank-MAP", by_map),
        ("AdaRank.NDCG", "AdaRank-NDCG", by_ndcg),
        ("SVMmap", "SVMMap", by_map),
        ("SoftRank", "SoftNDCG", by_ndcg),
        ("ListNet", "ListNet", by_map),
        ("RankSVM", "RankSVM", by_map),
        ("ApproxAP, L-BFGS", "ApproxAP", by_map),
        ("ApproxNDCG, L-BFGS", "ApproxNDCG", by_ndcg),
    ]
    return [Entry(name, method, grid=grids.others.get(name), measure=by) for name, method, by in rows]


def _algorithm_1(name: str, grids: Grids) -> Method:
    is_ap = name == "ApproxAP"
    return Method(
        name=name,
        surrogate=ApproxAP if is_ap else ApproxNDCG,
        trainer=SGD,
        source=_SOURCE,
        cost="one step per query: O(R n) pairs, only those inside the sigmoid's band",
        use_when="the paper's own training",
        grid={"alpha": grids.ap_alpha, "beta": grids.ap_beta} if is_ap else {"alpha": grids.ndcg_alpha},
        fixed={"learning_rate": grids.rate, "epochs": grids.epochs, "start": "zero"},
        from_measure=("rel",) if is_ap else (),
        keeps_best=True,
        selection="AP" if is_ap else "nDCG",
    )
