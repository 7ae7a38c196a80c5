"""Tendency correlation of the paper's surrogates on training queries, and where the theorems apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.splits import Split
from directrix.experiments.tendency import tendency
from directrix.experiments.tendency_on_data import model_values, random_models
from directrix.laws.bounds import ap_bound, ndcg_bound, noisy_rank_bounds, rank_bound
from directrix.reproductions.paper import paper
from directrix.surrogates.approx import ApproxAP, ApproxNDCG
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.surrogates.soft import SoftNDCG

STRUCTURAL = {"SVMmap": "SVMMap", "DORM": "Dorm", "PermuRank": "PermuRank", "SVMndcg": "SVMNdcg"}
BOUNDS: dict[float, float] = {one["sigma"]: one["bound"] for one in paper("he2010").published["bounds"]}
"""Published bounds of SoftRank's coefficient by sigma."""
SHOWN = {
    "SoftRank": ("sigma=0.1", "sigma=0.01", "sigma=0.001"),
    "ApproxRank-MAP": ("alpha=10", "alpha=100", "alpha=400"),
    "ApproxRank-NDCG": ("alpha=10", "alpha=100", "alpha=400"),
    "structural": tuple(STRUCTURAL),
}
"""Surrogates of Table 3; the appendix has all. Only these are also compared after a transformation."""
DELTA, DOCS = 0.1, 200
"""The example after Theorem 2: scores delta apart, N documents, three labels."""
_QUERIES = 5
_SHARES = (0.70, 0.16, 0.14)  # of the labels, about those of OHSUMED


@dataclass(frozen=True)
class Sweep:
    """Parameters over which coefficients are computed."""

    models: int = 100  # random linear models; the paper's 100
    norm: float = 1.0  # length of their weights
    # sigmas, alphas, betas: of SoftRank; of ApproxRank, with `beta`; of ApproxRank-MAP at the alpha of 100
    sigmas: tuple[float, ...] = (0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.001)
    alphas: tuple[float, ...] = (10.0, *(50.0 * i for i in range(1, 9)), 800.0, 1600.0, 10000.0)
    betas: tuple[float, ...] = (1.0, 10.0, 50.0, 100.0, 200.0)
    beta: float = 100.0

    def families(self) -> dict[str, dict[str, str]]:
        """Return for each method its surrogates by their names in the tables."""
        return {
            "SoftRank": {f"sigma={s:g}": f"SoftNDCG(sigma={s!r})" for s in self.sigmas},
            "ApproxRank-MAP": {
                f"alpha={a:g}": f"ApproxAP(alpha={a!r}, beta={self.beta!r})" for a in self.alphas
            },
            "ApproxRank-NDCG": {f"alpha={a:g}": f"ApproxNDCG(alpha={a!r})" for a in self.alphas},
            "beta": {f"beta={b:g}": f"ApproxAP(alpha=100.0, beta={b!r})" for b in self.betas},
            "structural": STRUCTURAL,
        }


QUICK_SWEEP = Sweep(
    models=20, sigmas=(0.1, 0.01), alphas=(10.0, 50.0, 100.0, 400.0), betas=(10.0, 100.0), beta=100.0
)


def parameter(label: str) -> float:
    """Return the parameter of a surrogate: 50.0 for "alpha=50".

    Examples
    --------
    >>> parameter("sigma=0.1")
    0.1
    """
    return float(label.partition("=")[2])


def fold_cells(collection: str, splits: tuple[Split, ...], sweep: Sweep, seed: int) -> list[Cell]:
    """Return one cell for each fold and family of surrogates, on the training queries.

    Its result has for each surrogate ``coefficient``, ``k`` and ``median`` (of the coefficients of queries);
    ``monotone``, the coefficient after the best non-decreasing transformation, for those that are `SHOWN`;
    and ``loss``, which Theorem 1 bounds by the coefficient: how far the mean measure of the model with the
    highest mean surrogate is below that of the best model.
    """
    return [
        Cell(
            ("tendency", collection, split.name, family, split.digest[-12:]),
            _coefficients,
            (split.train, surrogates, SHOWN.get(family, ()), sweep, seed),
        )
        for split in splits
        for family, surrogates in sweep.families().items()
    ]


def _coefficients(
    q: Queries, surrogates: dict[str, str], shown: tuple[str, ...], sweep: Sweep, seed: int
) -> list[dict[str, float | None]]:
    models = random_models(sweep.models, q.n_features, norm=sweep.norm, seed=seed)
    values = model_values(tuple(surrogates.values()), q, models=models)
    results: list[dict[str, float | None]] = []
    for label, ours, theirs in zip(surrogates, *values, strict=True):
        linear = tendency(ours, theirs)
        is_shown = label in shown
        by_model = np.nanmean(theirs, axis=1)
        known = ~np.isnan(theirs[0])
        results.append(
            {
                "coefficient": linear.coefficient,
                "k": linear.k,
                "median": float(np.nanmedian(linear.by_query)),
                "monotone": tendency(ours, theirs, transform="monotone").coefficient if is_shown else None,
                "loss": float(by_model.max() - by_model[ours[:, known].mean(axis=1).argmax()]),
            }
        )
    return results


def apart_cell(sweep: Sweep, seed: int) -> Cell:
    """Return the cell of `apart`."""
    return Cell(("tendency", "apart"), apart, (sweep, seed))


def apart(sweep: Sweep, seed: int) -> dict[str, Any]:
    """Compute coefficients where no scores tie, as Theorems 2 and 3 suppose.

    Five queries of 200 documents with labels 0 to 2 and scores .1, .2, ..., in as many random orders as there
    are models.

    Returns
    -------
    dict
        From a family to ``coefficient``, ``range`` (the coefficient of a constant surrogate) and ``bound`` of
        each surrogate. The bound is twice that on the error of the surrogate, by Lemma 1: of ApproxRank that
        of Qin, Liu and Li (2010), of SoftRank that of `noisy_rank_bounds`; None if no theorem gives one.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=_QUERIES * DOCS, p=_SHARES).astype(np.float64)
    qptr = np.arange(0, len(labels) + 1, DOCS)
    scores = np.argsort(rng.random((sweep.models, _QUERIES, DOCS)), axis=2) * DELTA
    flat = scores.reshape(sweep.models, -1)
    n_relevant = int((labels.reshape(_QUERIES, -1) > 0).sum(axis=1).max())

    def coefficient(text: str) -> dict[str, float | None]:
        surrogate = parse_surrogate(text)
        a = [surrogate.value_and_grad(s, labels, qptr)[0] for s in flat]
        b = [surrogate.measure(s, labels, qptr) for s in flat]
        bound = _bound(surrogate, scores[0, 0], n_relevant)
        return {
            "coefficient": tendency(a, b).coefficient,
            "range": float(np.ptp(b, axis=0).max()),
            "bound": bound,
        }

    return {
        family: [coefficient(text) for text in surrogates.values()]
        for family, surrogates in sweep.families().items()
    }


def _bound(surrogate: Any, scores: Any, n_relevant: int) -> float | None:
    if isinstance(surrogate, SoftNDCG):
        return 2.0 * ndcg_bound(float(noisy_rank_bounds(scores, surrogate.sigma).max()))
    if not isinstance(surrogate, ApproxAP | ApproxNDCG):
        return None
    eps = rank_bound(scores, surrogate.alpha)
    if isinstance(surrogate, ApproxNDCG):
        return 2.0 * ndcg_bound(eps)
    return 2.0 * ap_bound(eps, n_relevant, surrogate.beta) if eps < 0.5 else None
