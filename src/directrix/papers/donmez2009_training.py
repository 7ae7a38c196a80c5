"""LambdaRank trained epoch by epoch, for Donmez et al. (2009): its measure, and the pairs that it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.synthetic import make_cubic
from directrix.experiments.cells import Cell
from directrix.experiments.significance import Significance, paired_t
from directrix.experiments.splits import Split
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import make_objective
from directrix.papers.paper import Experiment
from directrix.papers.workspace import Collection
from directrix.rankers.means import mean_evaluator
from directrix.surrogates.lambdas import Construction, Lambda
from directrix.trainers.stochastic import SGD
from directrix.types import Float64Array, Model, Step

NETS = {"linear": "single-layer", "mlp": "two-layer"}
"""Models, and their names in tables."""
MEASURES = ("nDCG", "nDCG@10", "AP", "RR")
"""Measures that are trained for and tested, without the least relevant label."""
COMPARED = ("nDCG", "AP", "RR")
"""Measures that all constructions are trained for. The paper has MAP and MRR; nDCG represents graded ones."""
CONSTRUCTIONS: tuple[Construction, ...] = (
    *("ranknet-weight-pairs", "local-gradient", "local-cost"),
    *("spring-smooth", "discrete-bounded"),
)
"""Constructions of the surrogate, in the order of Table 1."""
USUAL = CONSTRUCTIONS[0]
"""The construction of LambdaRank, which the paper recommends."""
EVERY_CHANGE = "ranknet-weight-pairs, every change"
"""The usual construction with every change of RR, where Eq. (11) has those of misranked pairs alone."""
EVERY_RR = "RR, every change"
"""Name of the training for RR with this construction."""
TRAINED = {**{name: (name, USUAL) for name in MEASURES}, EVERY_RR: ("RR", EVERY_CHANGE)}
"""Trainings that are tested on every measure: each with its own measure and construction."""
ARTIFICIAL = "artificial"
"""Name of the artificial data."""
MATCHED = {"RR": "Fig. 5", EVERY_RR: "Fig. 5", "nDCG@10": "Sect. 7.2"}
"""Trainings that are compared with others on about as many pairs, and where the paper does so."""
# Section 8 tests the weights after these epochs.
_EARLY = (7, 12)
# Two numbers of pairs are about equal if their ratio is below this.
_ALIKE = 2.0


@dataclass(frozen=True)
class Artificial:
    """Size of the artificial data: labels 0 to 4 by a random cubic polynomial, see `make_cubic`."""

    n_features: int = 10
    docs_per_query: int = 50
    # These are all monomials of 10 features up to degree 3.
    n_monomials: int = 285
    # The numbers of queries.
    n_train: int = 300
    n_valid: int = 200
    n_test: int = 1000
    # The numbers of training queries in the study of effective pairs, in ascending order.
    sizes: tuple[int, ...] = (25, 50, 100, 200, 400, 800, 1600)


@dataclass(frozen=True)
class Large:
    """Runs on artificial data of the paper's size, with 2,000 of the 4.6 million monomials: 1.5 GB."""

    size: Artificial = Artificial(300, 50, 2000, 10_000, 5_000, 10_000, ())
    # Pairs of a net and a measure.
    trained: tuple[tuple[str, str], ...] = (("linear", "nDCG"),)
    # Validation queries choose among these learning rates.
    rates: tuple[float, ...] = (1e-5, 1e-4, 1e-3)

    def __str__(self) -> str:
        size = self.size
        numbers = f"{size.n_train:,} / {size.n_valid:,} / {size.n_test:,} queries to train, validate and test"
        nets = ", ".join(f"{NETS[model]} net for {measure}" for model, measure in self.trained)
        rates = ", ".join(f"{rate:g}" for rate in self.rates)
        return (
            f"{size.n_features} features, {size.n_monomials:,} monomials, {numbers}; {nets}; rates {rates}."
        )


@dataclass(frozen=True)
class TrainingSettings(Experiment):
    """Settings of the training runs and of the tests of their weights."""

    letor: ClassVar[Sequence[str]] = ("OHSUMED", "MQ2008")

    # Validation queries choose among these learning rates.
    rates: tuple[float, ...] = (1e-3, 1e-2, 1e-1)
    # Passes over the training queries.
    epochs: int = 700
    # Trainings that are compared on test queries stop after this number of epochs without a better value on
    # the validation queries. Those whose weights are tested for local optimality never do.
    patience: int = 100
    # Units of the hidden layer of the two-layer net.
    hidden: int = 10
    # The number of folds to keep of each LETOR collection.
    folds: int = 5
    # The parameters of the test of local optimality. It needs 459 directions for .01 and .01.
    eps: float = 0.01
    delta: float = 0.01
    # The maximum number of moves along rising directions.
    polish_moves: int = 300
    artificial: Artificial = field(default_factory=Artificial)
    # With None the trainings at the paper's size are left out.
    large: Large | None = field(default_factory=Large)


def artificial(size: Artificial, seed: int) -> tuple[Split, Split]:
    """Make the artificial data with ``n_train`` training queries, and with the largest of ``sizes``.

    The smaller set is the beginning of the larger; validation and test queries are the same.
    """
    held, most = size.n_test + size.n_valid, max((size.n_train, *size.sizes))
    queries = make_cubic(
        held + most, size.docs_per_query, size.n_features, n_monomials=size.n_monomials, seed=seed
    )
    test = queries.take(np.arange(size.n_test))
    valid = queries.take(np.arange(size.n_test, held))
    split, larger = (
        Split(ARTIFICIAL, queries.take(np.arange(held, held + n)), valid, test) for n in (size.n_train, most)
    )
    return split, larger


def full_name(measure: str, rel: int) -> str:
    """Return one of `MEASURES` with its least relevant label: "AP(rel=2)" for "AP" and 2."""
    return f"{measure}(rel={rel})" if measure in ("AP", "RR") and rel != 1 else measure


def measures_of(collection: Collection) -> dict[str, str]:
    """Return the full names of `MEASURES`: labels that go to 4 are relevant from 2 on, as in the paper."""
    return {name: full_name(name, collection.rel) for name in MEASURES}


def options_of(measure: str, construction: str) -> dict[str, Any]:
    """Return the options of `Lambda` for a construction; for RR only the pairs of Eq. (11) have a lambda.

    The bound of "spring-smooth" also lifts the zeros of Eq. (11), so all pairs have a lambda.
    """
    if construction == EVERY_CHANGE:
        return {"construction": USUAL, "pairs": "all"}
    literal = measure.startswith("RR") and construction != "spring-smooth"
    return {"construction": construction, "pairs": "misranked" if literal else "all"}


def lambda_for(measure: str, construction: str = USUAL) -> Lambda:
    """Return the lambdas of a measure as defined in the paper."""
    return Lambda(measure, **options_of(measure, construction))


@dataclass
class Watched:
    """Values of a training run after every epoch; epoch 0 is the start."""

    rate: float
    # The measure after every epoch, for the queries "train" and "valid".
    values: dict[str, list[float]]
    # The epoch with the highest value on these queries, and its parameters.
    best: dict[str, tuple[int, Float64Array]]
    # The number of pairs of training documents with a lambda between them, after every epoch. RR has the
    # pairs of Eq. (11); `changing` counts all pairs whose exchange changes it.
    pairs: list[int] = field(default_factory=list)
    changing: list[int] = field(default_factory=list)
    restarts: int = 0
    # The parameters after the epochs of Section 8.
    early: dict[int, Float64Array] = field(default_factory=dict)

    def highest(self, part: str) -> float:
        """Return the highest value on a part."""
        return max(self.values[part])


def model_of(name: str, settings: TrainingSettings) -> Model:
    """Return a net: one layer, or two with tanh between them."""
    return LinearModel() if name == "linear" else MLPModel((settings.hidden,), "tanh")


def random_weights(model: Model, n_features: int, seed: int) -> Float64Array:
    """Return initial weights; for the linear net they are normal, with a norm near 1."""
    rng = np.random.default_rng(seed)
    if isinstance(model, MLPModel):
        return model.start(n_features, rng)
    weights: Float64Array = rng.standard_normal(n_features) / np.sqrt(n_features)
    return weights


def watch(
    split: Split,
    surrogate: Lambda,
    model: Model,
    rate: float,
    settings: TrainingSettings,
    *,
    start: Float64Array | None = None,
    stops_early: bool = False,
) -> Watched:
    """Train with the lambdas of a measure, one query per step, as in Section 7, and record the measure.

    After a lower value on the training queries, the rate shrinks with some probability; after 50 epochs with
    the same value on the validation queries, training restarts at random weights. The trainer is the
    library's `SGD`. Its callback records values that no ranker keeps: the number of effective pairs after
    every epoch, the best training epoch, and the weights of Section 8.

    The default ``start`` is random. With ``stops_early``, training ends after ``settings.patience`` epochs
    without a better value on the validation queries.
    """
    train = split.train
    queries: dict[str, Any] = {"train": train, "valid": split.valid}
    objectives = {name: make_objective(q, surrogate, model) for name, q in queries.items()}
    evaluators = {name: mean_evaluator(surrogate.measure, q) for name, q in queries.items()}
    every = replace(surrogate, pairs="all") if surrogate.pairs == "misranked" else None
    if start is None:
        start = random_weights(model, train.n_features, settings.seed)
    watched = Watched(rate, {name: [] for name in queries}, {})
    trainer = SGD(
        learning_rate=rate,
        epochs=settings.epochs,
        shrink=0.8,
        shrink_chance=0.3,
        restart_after=50,
        random_state=settings.seed,
    ).watching(lambda _: watched.values["valid"][-1])

    def record(step: Step) -> bool:
        scores = {name: goal.scores(step.params).astype(np.float64) for name, goal in objectives.items()}
        for name, evaluate in evaluators.items():
            values = watched.values[name]
            values.append(evaluate(scores[name]))
            if name not in watched.best or values[-1] > values[watched.best[name][0]]:
                watched.best[name] = step.iteration, np.array(step.params)
        ranked = scores["train"], train.labels, train.qptr
        watched.pairs.append(int(surrogate.effective_pairs(*ranked).sum()))
        if every is not None:
            watched.changing.append(int(every.effective_pairs(*ranked).sum()))
        if step.iteration in _EARLY:
            watched.early[step.iteration] = np.array(step.params)
        return stops_early and step.iteration - watched.best["valid"][0] >= settings.patience

    watched.restarts = trainer.minimize(objectives["train"], start, callback=record).counts["restarts"]
    return watched


def at_every_rate(
    split: Split, model: str, surrogate: Lambda, settings: TrainingSettings, *, stops_early: bool = False
) -> tuple[list[Watched], Watched]:
    """Return all training runs, and the one that validation chooses; the first one in a tie."""
    net = model_of(model, settings)
    trainings = [
        watch(split, surrogate, net, rate, settings, stops_early=stops_early) for rate in settings.rates
    ]
    return trainings, max(trainings, key=lambda training: training.highest("valid"))


def training_cells(collections: Mapping[str, Collection], settings: TrainingSettings) -> list[Cell]:
    """Train for every measure on the first fold of every collection, at every rate.

    Keys are ("training", collection, net, measure). Results are ``pairs`` after every epoch at the ``rate``
    that validation chose, and for RR ``changing``, see `Watched`; ``restarts`` by rate; and ``weights`` and
    their ``epochs``: parameters ``chosen`` by validation, ``converged``, which are the best on the training
    queries at ``best_rate``, and those after epochs 7 and 12.
    """
    return [
        Cell(("training", name, model, measure), _training, (collection.first, model, full, settings))
        for name, collection in collections.items()
        for model in NETS
        for measure, full in measures_of(collection).items()
    ]


def _training(split: Split, model: str, measure: str, settings: TrainingSettings) -> dict[str, Any]:
    trainings, chosen = at_every_rate(split, model, lambda_for(measure), settings)
    highest = max(trainings, key=lambda training: training.highest("train"))
    weights = {
        "chosen": chosen.best["valid"],
        "converged": highest.best["train"],
        **{f"epoch {epoch}": (epoch, params) for epoch, params in chosen.early.items()},
    }
    return {
        "rate": chosen.rate,
        "best_rate": highest.rate,
        "restarts": {f"{training.rate:g}": training.restarts for training in trainings},
        "pairs": chosen.pairs,
        "changing": chosen.changing,
        "weights": {name: params.tolist() for name, (_, params) in weights.items()},
        "epochs": {name: epoch for name, (epoch, _) in weights.items()},
    }


class PairCounts(NamedTuple):
    """Effective pairs of a training run: pairs of training documents with a lambda."""

    collection: str
    model: str
    measure: str
    # The number of effective pairs at the start and after every epoch, and the mean of these.
    by_epoch: Sequence[int]
    mean: float
    # The mean over the number of all pairs with different labels, including those of queries without
    # relevant documents.
    share: float
    # The mean over the number of all pairs of a relevant and an irrelevant document.
    binary_share: float
    # RR has the pairs of Eq. (11). This is the mean number of all pairs whose exchange changes it.
    changing: float | None = None
    # The same number over that of the pairs of a relevant and an irrelevant document.
    changing_share: float | None = None


def n_pairs(q: Queries, rel: int | None = None) -> int:
    """Count pairs of documents of one query with different labels, or with one relevant document.

    ``rel`` is the least relevant label; None = labels as they are.

    Examples
    --------
    >>> q = Queries.from_arrays([[0.0]] * 4, [0, 0, 1, 2], group=[4])  # 6 pairs, one of them of equal labels
    >>> n_pairs(q), n_pairs(q, rel=2)
    (5, 3)
    """
    total = 0
    for lo, hi in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        labels = q.labels[lo:hi] if rel is None else q.labels[lo:hi] >= rel
        _, counts = np.unique(labels, return_counts=True)
        n = int(hi - lo)
        total += (n * n - int((counts * counts).sum())) // 2
    return total


def pair_counts(
    collections: Mapping[str, Collection], trainings: Mapping[Any, Any]
) -> tuple[PairCounts, ...]:
    """Return the effective pairs of every training run, also as shares of all pairs of the queries."""
    totals = {
        name: (n_pairs(collection.first.train), n_pairs(collection.first.train, collection.rel))
        for name, collection in collections.items()
    }
    counts = []
    for (_, collection, model, measure), training in trainings.items():
        graded, binary = totals[collection]
        mean = float(np.mean(training["pairs"]))
        changing = float(np.mean(training["changing"])) if training["changing"] else None
        shares = mean / graded, mean / binary, changing, changing and changing / binary
        counts.append(PairCounts(collection, model, measure, training["pairs"], mean, *shares))
    return tuple(counts)


def pair_cells(
    collections: Mapping[str, Collection], trainings: Mapping[Any, Any], settings: TrainingSettings
) -> list[Cell]:
    """Count the effective pairs of every construction, on the training queries of the first folds.

    Keys are ("pairs", collection, net, measure). Results are, by construction, the numbers of pairs at random
    weights, and at the weights that validation chose in the run with the usual construction.
    """
    cells = []
    for name, collection in collections.items():
        for model in NETS:
            for measure, full in measures_of(collection).items():
                weights = trainings["training", name, model, measure]["weights"]["chosen"]
                arguments = (collection.first.train, model, full, weights, settings)
                cells.append(Cell(("pairs", name, model, measure), _pairs, arguments))
    return cells


def _pairs(
    train: Queries, model: str, measure: str, weights: Sequence[float], settings: TrainingSettings
) -> dict[str, list[int]]:
    net = model_of(model, settings)
    objective = make_objective(train, lambda_for(measure), net)
    points = random_weights(net, train.n_features, settings.seed), np.array(weights)
    scores = [objective.scores(params).astype(np.float64) for params in points]
    return {
        name: [
            int(lambda_for(measure, name).effective_pairs(ranking, train.labels, train.qptr).sum())
            for ranking in scores
        ]
        for name in CONSTRUCTIONS
    }


class Sized(NamedTuple):
    """A training run of the two-layer net on some of the artificial queries."""

    # The number of training queries.
    size: int
    # One of `TRAINED`.
    trained: str
    # The number of effective pairs, as a mean over epochs.
    pairs: float
    # The values of every measure on the test queries, float64 (n_queries,).
    test: Mapping[str, Any]

    def mean(self, measure: str) -> float:
        """Return the mean over those test queries on which the measure is defined."""
        return float(np.nanmean(self.test[measure]))


def size_cells(collections: Mapping[str, Collection], settings: TrainingSettings) -> list[Cell]:
    """Train the two-layer net in all ways of `TRAINED` on more and more artificial queries (Fig. 5).

    Keys are ("size", number of queries, training). Results are ``pairs``, the mean over epochs at the rate
    that validation chose, and ``test``: the values of every measure on the test queries.
    """
    measures = measures_of(collections[ARTIFICIAL])
    _, split = artificial(settings.artificial, settings.seed)
    cells = []
    for size in settings.artificial.sizes:
        few = Split(split.name, split.train.take(np.arange(size)), split.valid, split.test)
        cells += [
            Cell(("size", size, name), _size, (few, lambda_for(measures[measure], how), measures, settings))
            for name, (measure, how) in TRAINED.items()
        ]
    return cells


def _size(
    split: Split, surrogate: Lambda, measures: Mapping[str, str], settings: TrainingSettings
) -> dict[str, Any]:
    test = split.test
    _, chosen = at_every_rate(split, "mlp", surrogate, settings, stops_early=True)
    objective = make_objective(test, surrogate, model_of("mlp", settings))
    scores = objective.scores(chosen.best["valid"][1]).astype(np.float64)
    values = {
        name: parse_measure(full)(scores, test.labels, test.qptr).tolist() for name, full in measures.items()
    }
    return {"pairs": float(np.mean(chosen.pairs)), "test": values}


def sized(cells: Mapping[Any, Any]) -> tuple[Sized, ...]:
    """Return the results of `size_cells`, by training and size."""
    runs = [Sized(size, trained, run["pairs"], run["test"]) for (_, size, trained), run in cells.items()]
    return tuple(sorted(runs, key=lambda run: (list(TRAINED).index(run.trained), run.size)))


def equal_pairs(runs: Sequence[Sized], trained_for: str) -> list[tuple[Sized, Sized, Significance]]:
    """Compare runs for a measure with runs for others on about the same number of effective pairs.

    Every run of ``trained_for``, one of `TRAINED` whose measure is tested, is compared, for every other
    trained measure, with the run whose number of pairs is nearest by ratio, if the ratio is below 2. Return
    both runs, and the test of the tested measure, the first minus the second.
    """
    rows, target = [], TRAINED[trained_for][0]
    others = dict.fromkeys(run.trained for run in runs if TRAINED[run.trained][0] != target)
    for matched in (run for run in runs if run.trained == trained_for):
        for trained in others:
            other = min(
                (run for run in runs if run.trained == trained),
                key=lambda run: _ratio(run.pairs, matched.pairs),
            )
            if _ratio(other.pairs, matched.pairs) < _ALIKE:
                test = paired_t(matched.test[target], other.test[target])
                rows.append((matched, other, test))
    return rows


def _ratio(a: float, b: float) -> float:
    return max(a, b) / max(min(a, b), 1e-300)
