"""He and Liu (2010), Section 6: tendency correlation, restarts, and ranking performance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.crossval import Entry
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.tendency import tendency
from directrix.experiments.tendency_on_data import model_values, random_models
from directrix.laws.bounds import ap_bound, ndcg_bound, noisy_rank_bounds, rank_bounds
from directrix.papers.claims import training_by_fold
from directrix.papers.paper import Experiment, Results
from directrix.papers.workspace import Cells, Collection, Compared, Workspace, read_collections
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxAP, ApproxNDCG
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.surrogates.soft import SoftNDCG
from directrix.trainers.stochastic import SGD
from directrix.trainers.wrappers import Restarts
from directrix.types import Float64Array, Objective, Result, Step, Trainer

MAP, NDCG = "ApproxRank-MAP", "ApproxRank-NDCG"
ONE_START, LISTNET = "ApproxRank-MAP, one start", "ListNet"
STRUCTURAL = {"SVMmap": "SVMMap", "DORM": "Dorm", "PermuRank": "PermuRank", "SVMndcg": "SVMNdcg"}
OF_AP = ("SVMmap", "PermuRank")
"""Structural SVMs for AP; the others are for nDCG."""
SHOWN = {
    "SoftRank": ("sigma=0.1", "sigma=0.01", "sigma=0.001"),
    MAP: ("alpha=10", "alpha=100", "alpha=400"),
    NDCG: ("alpha=10", "alpha=100", "alpha=400"),
    "structural": tuple(STRUCTURAL),
}
"""Surrogates of Table 3; the appendix has all."""
SIZES = (2, 4, 8, 16, 32)
"""Numbers of relevant documents of the queries of Theorem 4."""
SMOOTH = ("ApproxAP(alpha=1e5, beta=1e3)", "SoftNDCG(sigma=1e-5)")
"""Surrogates that can be made sharp, for comparison on these."""
# The example after Theorem 2 has scores that are delta apart, N documents and three labels.
_DELTA, _DOCS = 0.1, 200
# The number of queries of `_apart`.
_QUERIES = 5
# The shares of the three labels are about those of OHSUMED.
_SHARES = (0.70, 0.16, 0.14)
# The number of documents to keep of the ranking of a test query.
_TOP = 10
# At this spread of `Restarts` the first start does not matter to the others.
_ANY_DIRECTION = 10.0


class Reported(NamedTuple):
    """A measure in the paper."""

    name: str
    # The numbers of its tables of training and of test queries.
    training: int
    test: int


MEASURES = {
    "AP": Reported("MAP", 4, 7),
    "nDCG@5": Reported("NDCG@5", 5, 8),
    "nDCG@10": Reported("NDCG@10", 6, 9),
}


@dataclass(frozen=True)
class Sweep:
    """Parameters over which coefficients are computed."""

    # The number of random linear models is the paper's, and all their weights have the length `norm`.
    models: int = 100
    norm: float = 1.0
    # The parameters of SoftRank, in units of score, and of ApproxRank, in 1 / units of score.
    sigmas: tuple[float, ...] = (0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.001)
    alphas: tuple[float, ...] = (
        10.0,
        *(50.0 * i for i in range(1, 9)),
        800.0,
        1600.0,
        10000.0,
    )
    # ApproxRank-MAP has these values of beta at an alpha of 100, and `beta` everywhere else.
    betas: tuple[float, ...] = (1.0, 10.0, 50.0, 100.0, 200.0)
    beta: float = 100.0

    def families(self) -> dict[str, dict[str, str]]:
        """Return for each method its surrogates by their names in the tables."""
        beta = f"beta={self.beta!r}"
        return {
            "SoftRank": {f"sigma={s:g}": f"SoftNDCG(sigma={s!r})" for s in self.sigmas},
            MAP: {f"alpha={a:g}": f"ApproxAP(alpha={a!r}, {beta})" for a in self.alphas},
            NDCG: {f"alpha={a:g}": f"ApproxNDCG(alpha={a!r})" for a in self.alphas},
            "beta": {f"beta={b:g}": f"ApproxAP(alpha=100.0, beta={b!r})" for b in self.betas},
            "structural": STRUCTURAL,
        }


@dataclass(frozen=True)
class RestartGrids:
    """Settings among which validation chooses."""

    # The grid of ApproxRank, in 1 / units of score.
    alphas: tuple[float, ...] = (10.0, *(50.0 * i for i in range(1, 9)), 800.0, 1600.0)
    # The grid of SoftRank, in units of score.
    sigmas: tuple[float, ...] = (0.1, 0.03, 0.01)
    # The paper's value for ApproxRank-MAP.
    beta: float = 100.0
    # The grid of the structural SVMs.
    C: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)
    # The numbers of random starts of ApproxRank and of SoftRank. The start with the lowest final loss is
    # kept.
    restarts: int = 30
    soft_restarts: int = 5
    # Epochs of gradient ascent for each start, with one query per step.
    epochs: int = 50
    # The number of folds to keep, from the first.
    folds: int = 5


Coefficients = Mapping[str, Mapping[str, Float64Array]]
"""By family and surrogate, see `Sweep.families`: float64 (n_folds,) on the training queries."""


@dataclass(frozen=True, eq=False)
class Correlated(Compared):
    """Results on one collection: ``compared`` has `entries`, all measures under the convention letor3."""

    # The coefficient eps*, and the loss that Theorem 1 bounds by it.
    coefficients: Coefficients
    losses: Coefficients

    @cached_property
    def trade_off(self) -> TradeOff:
        """The training MAP of the candidates of the cross-validation."""

        def by_alpha(entry: str) -> Float64Array:
            folds = self.compared.results[entry]
            return np.array([[candidate.train["AP"] for candidate in fold.tried] for fold in folds]).T

        alphas = [candidate.settings["alpha"] for candidate in self.compared.results[MAP][0].tried]
        return TradeOff(np.array(alphas), by_alpha(ONE_START), by_alpha(MAP))

    @cached_property
    def agreements(self) -> tuple[Agreement, ...]:
        """The agreement of coefficients with every measure."""
        return tuple(agreement(self.coefficients, self.compared, measure) for measure in MEASURES)


@dataclass(frozen=True)
class He2010(Experiment):
    """Coefficients over parameters, and training runs; the seed is for models, starts and gradient ascent."""

    letor: ClassVar[Sequence[str]] = ("OHSUMED", "TD2003", "TD2004")

    # The parameters of coefficients, and those of training.
    sweep: Sweep = field(default_factory=Sweep)
    grids: RestartGrids = field(default_factory=RestartGrids)

    def entries(self) -> list[Entry]:
        """Return the rows of Tables 4 to 9, and ApproxRank-MAP from one start.

        MAP methods and ListNet are trained for and chosen by AP, the others by nDCG@10.
        """
        grids = self.grids
        ascent = {"epochs": grids.epochs, "random_state": self.seed}
        many, single, soft = ({**ascent, "restarts": n} for n in (grids.restarts, 1, grids.soft_restarts))
        alphas, sigmas, slopes = {"alpha": grids.alphas}, {"sigma": grids.sigmas}, {"C": grids.C}
        approx_map, approx_ndcg = _method(MAP, ApproxAP, beta=grids.beta), _method(NDCG, ApproxNDCG)
        structural = [
            Entry(name, method, {}, slopes, "AP" if name in OF_AP else "nDCG@10")
            for name, method in STRUCTURAL.items()
        ]
        return [
            *structural,
            Entry("SoftRank", _method("SoftRank", SoftNDCG), soft, sigmas, "nDCG@10"),
            Entry(MAP, approx_map, many, alphas, "AP"),
            Entry(NDCG, approx_ndcg, many, alphas, "nDCG@10"),
            Entry(LISTNET, "ListNet", {}, None, "AP"),
            Entry(ONE_START, approx_map, single, alphas, "AP"),
        ]

    def read(self, data: Path) -> dict[str, Collection]:
        """Read the collections in the data folder."""
        return read_collections(data, self.letor, self.grids.folds)

    def run(self, data: Mapping[str, Collection], work: Workspace) -> Tendencies:
        """Compute all coefficients, then train and test all methods on every collection."""
        apart = Cell(("tendency", "apart"), _apart, (self.sweep, self.seed))
        weak = Cell(("theorem 4", *SIZES), weak_tendencies)
        folds = [cell for collection in data.values() for cell in self._coefficients(collection)]
        cells = work.cells("coefficients", [apart, weak, *folds])
        rows, results = self.entries(), {}
        options: dict[str, Any] = {"select": "AP", "convention": "letor3", "keep_top": _TOP}
        options["seed"] = self.seed
        for name, collection in data.items():
            compared = work.cross_validate(name, collection.splits, rows, list(MEASURES), **options)
            by_kind = (self._by_fold(field, collection, cells) for field in ("coefficient", "loss"))
            results[name] = Correlated(collection, compared, *by_kind)
        return Tendencies(self, results, cells[apart.key], cells[weak.key])

    def _coefficients(self, collection: Collection) -> Iterator[Cell]:
        """Yield one cell for each fold and family of surrogates, on the training queries.

        Its result has for each surrogate ``coefficient``, and ``loss``, which Theorem 1 bounds by the
        coefficient: how far the mean measure of the model with the highest mean surrogate is below that of
        the best model.
        """
        for split in collection.splits:
            for family, surrogates in self.sweep.families().items():
                key = ("tendency", collection.name, split.name, family, split.digest[-12:])
                yield Cell(key, _coefficients, (split.train, surrogates, self.sweep, self.seed))

    def _by_fold(self, name: str, collection: Collection, cells: Cells) -> Coefficients:
        """Return an entry of the cells by family, surrogate and fold."""
        prefix = ("tendency", collection.name)
        by_fold = {key[2:4]: result for key, result in cells.items() if key[:2] == prefix}
        return {
            family: {
                label: np.array(
                    [by_fold[split.name, family][i][name] for split in collection.splits], dtype=np.float64
                )
                for i, label in enumerate(surrogates)
            }
            for family, surrogates in self.sweep.families().items()
        }


@dataclass(frozen=True, eq=False)
class Tendencies(Results[He2010, Correlated]):
    """All results."""

    # The results of `_apart` and of `weak_tendencies`.
    apart: Mapping[str, Any]
    weak: Sequence[Mapping[str, Any]]


QUICK = He2010(
    Sweep(models=20, sigmas=(0.1, 0.01), alphas=(10.0, 50.0, 100.0, 400.0), betas=(10.0, 100.0), beta=100.0),
    RestartGrids(
        alphas=(50.0, 100.0, 400.0),
        sigmas=(0.1,),
        C=(0.1, 10.0),
        restarts=4,
        soft_restarts=2,
        epochs=10,
        folds=2,
    ),
)


# the methods


@dataclass(frozen=True)
class RandomStart:
    """Run a trainer from weights of length 1 in a random direction, and ignore the given start."""

    trainer: Trainer
    # The seed of the direction.
    random_state: int = 0

    def minimize(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Minimize from these weights."""
        drawn = random_models(2, len(start), seed=self.random_state)[0]
        return self.trainer.minimize(objective, drawn, callback=callback)


def _ascent(
    restarts: int = 30, epochs: int = 50, learning_rate: float = 0.01, random_state: int = 0
) -> RandomStart:
    ascent = SGD(learning_rate=learning_rate, epochs=epochs, random_state=random_state)
    return RandomStart(
        Restarts(ascent, restarts, spread=_ANY_DIRECTION, random_state=random_state), random_state
    )


def _method(name: str, surrogate: type[Any], **more: Any) -> Method:
    return Method(
        name=name,
        surrogate=surrogate,
        trainer=_ascent,
        source="He & Liu (2010), Sect. 6.3",
        cost="epochs times restarts times one pass over the queries",
        use_when="to repeat the paper's experiment",
        fixed={"start": "zero", "l2": 0.0, **more},
    )


# coefficients, and where the theorems apply


def parameter(label: str) -> float:
    """Return the parameter of a surrogate: 50.0 for "alpha=50".

    Examples
    --------
    >>> parameter("sigma=0.1")
    0.1
    """
    return float(label.partition("=")[2])


def _coefficients(q: Queries, surrogates: dict[str, str], sweep: Sweep, seed: int) -> list[dict[str, float]]:
    models = random_models(sweep.models, q.n_features, norm=sweep.norm, seed=seed)
    values = model_values(tuple(surrogates.values()), q, models=models)
    results = []
    for ours, theirs in zip(*values, strict=True):
        # Both values are arrays of models by queries. Queries on which the measure is undefined do not count.
        by_model = np.nanmean(theirs, axis=1)
        defined = ~np.isnan(theirs[0])
        loss = float(by_model.max() - by_model[ours[:, defined].mean(axis=1).argmax()])
        results.append({"coefficient": tendency(ours, theirs).coefficient, "loss": loss})
    return results


def _apart(sweep: Sweep, seed: int) -> dict[str, Any]:
    """Compute coefficients where no scores tie, as Theorems 2 and 3 suppose.

    Five queries of 200 documents with labels 0 to 2 and scores .1, .2, ..., in as many random orders as there
    are models. Returned are by family ``coefficient``, ``range`` (the coefficient of a constant surrogate)
    and ``bound`` of each surrogate. The bound is twice that on the error of the surrogate, by Lemma 1: of
    ApproxRank that of Qin, Liu and Li (2010), of SoftRank that of `noisy_rank_bounds`; None if no theorem
    gives one.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=_QUERIES * _DOCS, p=_SHARES).astype(np.float64)
    qptr = np.arange(0, len(labels) + 1, _DOCS)
    # Each row is a random permutation of 0 to N - 1, so scores of a query are delta apart.
    scores = np.argsort(rng.random((sweep.models, _QUERIES, _DOCS)), axis=2) * _DELTA
    flat = scores.reshape(sweep.models, -1)
    n_relevant = int((labels.reshape(_QUERIES, -1) > 0).sum(axis=1).max())

    def coefficient(text: str) -> dict[str, float | None]:
        surrogate = parse_surrogate(text)
        a = [surrogate.value_and_grad(s, labels, qptr)[0] for s in flat]
        b = [surrogate.measure(s, labels, qptr) for s in flat]
        return {
            "coefficient": tendency(a, b).coefficient,
            "range": float(np.ptp(b, axis=0).max()),
            "bound": _bound(surrogate, scores[0, 0], n_relevant),
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
    eps = float(rank_bounds(scores, surrogate.alpha).max())
    if isinstance(surrogate, ApproxNDCG):
        return 2.0 * ndcg_bound(eps)
    return 2.0 * ap_bound(eps, n_relevant, surrogate.beta) if eps < 0.5 else None


def by_mean_and_variance(n_docs: int, delta: float, sigma: float) -> float:
    r"""Return the bound of Theorem 2 by the paper's steps: mean and variance of a noisy rank (Lemmas 2, 6).

    Both are at most :math:`p = \frac{n - 1}{2} \operatorname{erfc}(\delta/(2\sigma))` away from their values
    without noise, the rank and 0. The discount changes by at most 1/(2 ln 2) from rank to rank, and the gains
    add up to at most :math:`\log_2(1 + n)` times the ideal DCG. Twice the error of SoftNDCG (Lemma 1) is then

    .. math:: \varepsilon \le \frac{\log_2(1 + n)}{\ln 2} (p + \sqrt p).

    Our copy of the paper lacks its constants.
    """
    p = 0.5 * (n_docs - 1) * math.erfc(delta / (2.0 * sigma))
    return math.log2(1 + n_docs) / math.log(2.0) * (p + math.sqrt(p))


def by_flips(n_docs: int, delta: float, sigma: float) -> float:
    """Return the bound of Theorem 2 by `noisy_rank_bounds`."""
    return 2.0 * ndcg_bound(float(noisy_rank_bounds(delta * np.arange(n_docs), sigma).max()))


def example_bounds(sigma: float) -> tuple[float, float]:
    """Return both bounds for the paper's example: N = 200, delta = .1."""
    return by_mean_and_variance(_DOCS, _DELTA, sigma), by_flips(_DOCS, _DELTA, sigma)


def weak_query(n_relevant: int) -> Queries:
    r"""Make the query of Theorem 4, on which no structural SVM follows its measure.

    It has R relevant documents among :math:`n = R^2`, and two features, which are the two models. In the
    first, all relevant documents are at the top, except one whose score is n below all others. Its rank is n,
    so the measure is high, but the hinge loss grows with its distance. In the second, all relevant documents
    are 1/n below the others, so the measure is the lowest possible, but the hinge loss is small.

    So the measure rises by :math:`\Delta` from the second model to the first while the surrogate falls, and
    by Lemma 3 the coefficient is at least :math:`\Delta`. For AP,

    .. math:: \Delta = \frac1R \Big(R - 1 + \frac Rn\Big) - \frac1R \sum_{i=1}^R \frac{i}{n - R + i},

    which tends to 1 as R grows. The relevant documents are the first.
    """
    n = n_relevant**2
    is_relevant = np.arange(n) < n_relevant
    first = np.where(is_relevant, 1.0, 0.0)
    first[n_relevant - 1] = -float(n)
    second = np.where(is_relevant, 0.0, 1.0 / n)
    return Queries.from_arrays(np.stack([first, second], axis=1), is_relevant.astype(np.float64), group=[n])


def weak_tendencies() -> list[dict[str, Any]]:
    """Compute the changes of measures and surrogates, and the coefficients, on the queries of Theorem 4."""
    made = []
    for n_relevant in SIZES:
        q = weak_query(n_relevant)
        surrogates = [*STRUCTURAL.values(), *SMOOTH]
        values = model_values(surrogates, q, models=np.eye(2))
        for name, ours, theirs in zip(surrogates, *values, strict=True):
            made.append(
                {
                    "n_relevant": n_relevant,
                    "n_docs": q.n_docs,
                    "surrogate": name,
                    "rise": float(theirs[0, 0] - theirs[1, 0]),
                    "surrogate rise": float(ours[0, 0] - ours[1, 0]),
                    "coefficient": tendency(ours, theirs).coefficient,
                }
            )
    return made


# the trade-off of alpha and restarts, and whether tendency correlation predicts measures


class TradeOff(NamedTuple):
    """Training MAP of ApproxRank-MAP against alpha."""

    # The values of alpha, float64 (n_alphas,).
    alphas: Float64Array
    # Training values from one random start, and those of the start with the best surrogate of several;
    # float64 (n_alphas, n_folds).
    one: Float64Array
    many: Float64Array


class Agreement(NamedTuple):
    """Rank correlation between tendency coefficients and a measure, by fold."""

    measure: str
    # The means over the folds of eps* and of the measure on test queries, by surrogate and parameter, such as
    # "ApproxRank-MAP alpha=100".
    points: Mapping[str, tuple[float, float]]
    # Kendall's tau, float64 (n_folds,), of minus eps* with the measure on the "train" and "test" queries of
    # a fold. It is NaN with fewer than three points, or if one side is constant.
    by_fold: dict[str, Float64Array]


def agreement(coefficients: Coefficients, compared: CrossValidation, measure: str) -> Agreement:
    """Correlate eps* with "AP", "nDCG@5" or "nDCG@10" over all surrogates of AP, or of nDCG.

    Smooth surrogates appear with each trained parameter, and structural ones with the C that validation
    chose.
    """
    from scipy.stats import kendalltau

    names = (MAP, *OF_AP) if measure == "AP" else (NDCG, "SoftRank", "SVMndcg", "DORM")
    folds = [row for name in names for row in _by_fold(coefficients, compared, name, measure)]
    points = {name: (float(eps.mean()), float(test.mean())) for name, eps, _, test in folds}

    def tau(at: int, i: int) -> float:
        strength, values = [-row[1][i] for row in folds], [row[at][i] for row in folds]
        usable = len(points) > 2 and len(set(strength)) > 1 and len(set(values)) > 1
        return float(kendalltau(strength, values)[0]) if usable else np.nan

    by_fold = {
        side: np.array([tau(at, i) for i in range(len(compared.folds))])
        for at, side in ((2, "train"), (3, "test"))
    }
    return Agreement(measure, points, by_fold)


def _by_fold(
    coefficients: Coefficients, compared: CrossValidation, name: str, measure: str
) -> list[tuple[str, Float64Array, Float64Array, Float64Array]]:
    """Return surrogates with eps* and the measure on training and on test queries, by fold."""
    if name in STRUCTURAL:
        train, test = training_by_fold(compared, name, measure), np.array(compared.folds_of(name, measure))
        return [(name, coefficients["structural"][name], train, test)]
    varied, rows = "sigma" if name == "SoftRank" else "alpha", []
    for candidates in zip(*(fold.tried for fold in compared.results[name]), strict=True):
        label = f"{varied}={candidates[0].settings[varied]:g}"
        train, test = (
            np.array([getattr(candidate, part)[measure] for candidate in candidates])
            for part in ("train", "test")
        )
        rows.append((f"{name} {label}", coefficients[name][label], train, test))
    return rows
