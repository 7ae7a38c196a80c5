r"""Gradient boosting of any surrogate, with oblivious trees, or trees that LightGBM grows leaf by leaf.

The scores of the training documents start at 0. Every tree is a step of functional gradient descent on the
loss of the scores. Its splits and leaves follow a Newton step,

.. math:: v_{leaf} = -\eta \frac{\sum_{i \in leaf} g_i}{\sum_{i \in leaf} h_i + \lambda},

with gradient g and curvature h of the loss (see `KernelSurrogate.curvature`).

In: queries and an objective of their scores. Out: a `Result` and the trees, which score any features:

>>> import directrix as dx
>>> from directrix.objectives.scores import ScoreObjective
>>> data = dx.data.make_cubic(20, 10, 4, seed=0)
>>> result, trees = Boosting(n_trees=3).grow(data, ScoreObjective(data, dx.YetiRank()))
>>> result.counts, trees.predict(data.features).shape
({'iterations': 3}, (200,))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.errors import InputError, amount
from directrix.models.trees import Trees
from directrix.objectives.scores import ScoreLoss
from directrix.surrogates.base import FIRST_SHARE
from directrix.trainers.bins import MAX_BIN, Bins, shared
from directrix.trainers.leafwise import check_lightgbm_params, leafwise_bags, rejecting_values
from directrix.trainers.loop import Best, Loop, Settings
from directrix.trainers.oblivious import BinnedDocuments, ObliviousTrees
from directrix.trainers.sharded_trees import ShardedDocuments, bins_of_shards
from directrix.types import Callback, Float64Array, Result

_L2 = 20.0
"""Default of ``l2``, in average documents; docs/decisions/boosting.md has the measurements."""


@dataclass(frozen=True)
class Boosting(Settings):
    """Settings for growing trees, made by `BoostedRanker`.

    Parameters
    ----------
    n_trees, num_leaves, min_data_in_leaf : int
        Steps, >= 1; leaves of a tree, >= 2; documents in every leaf, >= 1.
    learning_rate : float > 0
        Factor eta on every step.
    l2 : float >= 0, optional
        Lambda, in documents: curvatures are divided by their mean, so l2 = 10 halves the leaf of ten
        average documents. Default 20; 0 with LightGBM's own objective, which has another unit.
    max_bin : int >= 2, optional
        Maximum number of bins of a feature, between which a tree splits. Default 127; with LightGBM's own
        objective 255, its default.
    subsample, feature_fraction : float in (0, 1]
        Share of the documents and of the features that each tree is grown on.
    n_bags : int >= 1
        Number of ensembles grown in parallel, each with its own random numbers; their mean is the model. A
        step grows one tree for each.
    patience : int >= 1, or None
        With validation queries: stop after this number of trees without a new best.
    anneal : float >= 1
        Ratio of the smoothing for the first tree to that for the last one. The smoothing decreases
        geometrically, to 1 in the unit of ``surrogate.at``. Steps have the unit of scores, so only the ratio
        matters.
    seed : int >= 0
        Seed of the random choice of documents and features, and of the noise of a stochastic surrogate.
    lightgbm_params : mapping, optional
        Further parameters of LightGBM, e.g. ``{"max_depth": 6}``.
    categorical : tuple of int
        Columns that hold categories: integers >= 0, or NaN.
    oblivious : bool
        Whether all nodes of a level have the same split; otherwise LightGBM grows the trees.

    References
    ----------
    Friedman (2001), Algorithm 1, doi:10.1214/aos/1013203451; Burges (2010), MSR-TR-2010-82, Section 7, for
    Newton steps in the leaves of a ranking objective; Chapelle & Wu (2010), Section 6, for boosting a
    smoothed measure.
    """

    n_trees: int = 1000
    learning_rate: float = 0.05
    num_leaves: int = 31
    min_data_in_leaf: int = 20
    l2: float | None = None
    max_bin: int | None = None
    subsample: float = 1.0
    feature_fraction: float = 1.0
    n_bags: int = 1
    patience: int | None = None
    anneal: float = 1.0
    seed: int = 0
    lightgbm_params: Mapping[str, Any] | None = None
    categorical: tuple[int, ...] = ()
    oblivious: bool = True

    def grow(
        self,
        data: Any,
        objective: ScoreLoss | Float64Array | None,
        *,
        valid: Any = None,
        judge: Callable[[Float64Array], float] | None = None,
        callback: Callback | None = None,
        init: Trees | None = None,
    ) -> tuple[Result, Trees]:
        """Grow trees on the features of ``data``.

        Parameters
        ----------
        data : Queries or ShardedQueries
            Training data; features in memory are dense or CSR.
        objective : ScoreObjective, or weights of the queries, or None
            Loss of the scores, for shards a `ScoreLoss`. Weights (n_queries,) or None mean LightGBM's own
            objective lambdarank.
        valid : Queries or ShardedQueries, optional
            Validation data, scored after every tree.
        judge : callable, optional
            Scores of ``valid`` -> float, higher is better; the number of trees with the highest value is
            kept.
        callback : callable, optional
            Called with a `Step` before the first and after every tree, whose parameters are the scores of
            the training documents (none on shards); returning True stops.
        init : Trees, optional
            The first trees; new trees improve on their scores.

        Returns
        -------
        result : Result
            ``params`` are the values of all leaves; ``counts`` has iterations and best, which count the new
            trees; ``value`` is the loss with the kept trees, NaN under LightGBM's own objective.
        trees : Trees

        Raises
        ------
        MissingExtra
            If LightGBM is needed and not installed.
        InputError
            If all validation scores are NaN, LightGBM's own objective rejects the labels, there is no
            smoothing to ``anneal``, or LightGBM rejects one of ``lightgbm_params``.

        Notes
        -----
        Results have the same bits for any number of threads: oblivious trees add up whole numbers, and
        LightGBM has ``deterministic`` and histograms by rows.
        """
        is_lightgbm_loss = not isinstance(objective, ScoreLoss)
        check_lightgbm_params(self.lightgbm_params or {}, lambdarank=is_lightgbm_loss)
        first = Trees.none(data.n_features) if init is None else init
        # Whatever fails in oblivious trees does not come from LightGBM.
        with nullcontext() if self.oblivious else rejecting_values(self.lightgbm_params):
            return _Run(self, data, objective, valid, judge, callback, first).grow()


class _Run(Loop):
    """A training run in progress: trees and their data."""

    def __init__(
        self,
        trainer: Boosting,
        data: Any,
        objective: ScoreLoss | Float64Array | None,
        valid: Any | None,
        judge: Callable[[Float64Array], float] | None,
        callback: Callback | None,
        first: Trees,
    ) -> None:
        # The scores of documents in shards stay there.
        self.is_sharded = data.held == "shards"
        start = np.zeros(0) if self.is_sharded else first.predict(data.features)
        super().__init__(start, callback, unit="trees", remedy="lower the learning_rate")
        self.first = first
        self.trainer, self.data, self.judge = trainer, data, judge if valid is not None else None
        self.objective = objective if isinstance(objective, ScoreLoss) else None
        if trainer.anneal > 1.0 and not hasattr(getattr(self.objective, "surrogate", None), "at"):
            raise InputError(
                f"anneal={trainer.anneal:g} lowers the smoothing of a surrogate, and this one has none; "
                'train a smooth one, e.g. BoostedRanker("SmoothNDCG", anneal=4096.0), or set anneal=1.'
            )
        surrogate = None if self.objective is None else self.objective.with_share(FIRST_SHARE)
        self.has_share = surrogate is not self.objective
        validation = valid if self.judge is not None else None
        is_lightgbm_loss = self.objective is None
        # LightGBM's own objective keeps LightGBM's defaults; see docs/decisions/boosting.md.
        l2, max_bin = (0.0, 255) if is_lightgbm_loss else (_L2, MAX_BIN)
        l2 = l2 if trainer.l2 is None else trainer.l2
        max_bin = max_bin if trainer.max_bin is None else trainer.max_bin
        self.bags: list[Any]
        if trainer.oblivious:
            self.bags = self._oblivious_bags(data, validation, start, l2, max_bin)
        else:
            weight = np.ones(data.n_queries) if objective is None else np.asarray(objective)
            before = np.zeros(0) if validation is None else first.predict(validation.features)
            starts = (start, before) if first.n_trees else None
            weights = weight if is_lightgbm_loss else None
            self.bags = leafwise_bags(trainer, data, validation, starts, l2, max_bin, weights)
        self.best = Best(trainer.patience)

    def _oblivious_bags(
        self, data: Any, valid: Any, start: Float64Array, l2: float, max_bin: int
    ) -> list[ObliviousTrees]:
        """Return an ensemble to grow for each of ``n_bags``; ``start`` are the scores of the first trees."""
        kind, first, loss = ("oblivious", max_bin), self.first, self.objective
        if self.is_sharded:
            bins = bins_of_shards(data, max_bin)
        else:
            bins = shared(data.features, kind, lambda: Bins.of(data.features, max_bin))

        def documents_of(q: Any) -> Callable[[int], Any]:
            """Return a function from the number of an ensemble to its documents."""
            if q.held == "shards":
                n_levels = int(self.trainer.num_leaves - 1).bit_length()
                trains = loss if q is data else None
                return lambda bag: ShardedDocuments(q, bins, first, trains, bag, n_levels)
            if q is data:
                return lambda _: BinnedDocuments(bins, start)
            filled = shared(q.features, (*kind, id(data.features)), lambda: bins.filled(q.features))
            scores = first.predict(q.features)
            return lambda _: BinnedDocuments(filled, scores)

        train, judged = documents_of(data), None if valid is None else documents_of(valid)
        return [
            ObliviousTrees(self.trainer, train(bag), None if judged is None else judged(bag), l2, bag)
            for bag in range(self.trainer.n_bags)
        ]

    def grow(self) -> tuple[Result, Trees]:
        with self:
            while True:
                losses, *largest = zip(*map(self._begin, range(len(self.bags))), strict=True)
                # LightGBM's own objective reports no loss.
                self.check(largest, () if self.objective is None else losses)
                columns = {"smoothing": self._smoothing()} if self.trainer.anneal > 1.0 else {}
                columns |= {"share": FIRST_SHARE} if self.has_share else {}
                scores = self._mean("scores") if not self.is_sharded else np.zeros(0)
                self.step(scores, float(np.mean(losses)), **columns, **self._judged())
                if self.best.step == self.iterations:
                    self.best_scores = self.params
                if self.judge and self.best.ran_out(self.iterations):
                    self.stop("stopped", f"no new best in {amount(self.trainer.patience or 0, 'trees')}")
                self.limit(self.trainer.n_trees, "n_trees")
                # Every bag grows its tree before the answers are combined.
                if all([bag.add() for bag in self.bags]):
                    self.stop("converged", "no split with enough documents lowers the loss further")
        return self._finished()

    def _begin(self, bag: int) -> tuple[float, float, float]:
        """Let an ensemble compute the step of its next tree; see `ObliviousTrees.begin`."""
        objective = self.objective
        if objective is not None and self.trainer.anneal > 1.0:
            objective = objective.at(self._smoothing())
        if objective is not None:
            objective = objective.with_share(FIRST_SHARE)
        # The noise of a tree depends on its position among all, so continued training equals one run.
        place = self.first.n_trees + len(self.trace)
        return self.bags[bag].begin(objective, self.trainer.seed, place, *([bag] if bag else ()))  # type: ignore[no-any-return]

    def _smoothing(self) -> float:
        """Smoothing for the next tree: from ``anneal`` down to 1."""
        share = len(self.trace) / max(self.trainer.n_trees - 1, 1)
        return float(self.trainer.anneal ** max(1.0 - share, 0.0))

    def _mean(self, name: str) -> Float64Array:
        """Mean over the ensembles of the scores that a method of this name returns."""
        first, *others = (getattr(bag, name)() for bag in self.bags)
        mean: Float64Array = np.mean([first, *others], axis=0) if others else first
        return mean

    def _judged(self) -> dict[str, float]:
        """The validation score of the trees so far, a column of the trace."""
        n = len(self.trace)
        if self.judge is None:
            return {}
        score = self.judge(self._mean("judged"))
        # Scores that are all 0 rank nothing, so a model has at least one tree.
        if n > 0 or self.first.n_trees:
            self.best.improves(n, score)
        return {"score": score}

    def _finished(self) -> tuple[Result, Trees]:
        kept, message = self.iterations, self.message
        counts = {"iterations": kept}
        if self.judge is not None:
            if self.iterations:
                self.best.check(f"after all {self.iterations} trees")
                message = (
                    f"{message}; best after {amount(self.best.step, 'trees')} with {self.best.score:.4f}"
                )
                counts["best"] = self.best.step
            kept = self.best.step
        trees = self.first
        for bag in self.bags:
            member = bag.trees(kept)
            # The model is a sum of trees, so each leaf gets its part of the mean over the bags.
            trees = trees.followed_by(replace(member, leaf=member.leaf / len(self.bags)))
        loss = float(self.trace[kept]["loss"]) if self.trace else np.nan
        # The losses of the steps are those of the copy with a share, so the loss of the result is computed
        # again.
        if self.objective is not None and self.has_share:
            if self.is_sharded:
                loss = self.bags[0].documents.loss(trees, self.objective, self.trainer.seed)
            else:
                scores = self.params if self.judge is None else self.best_scores
                loss, _, _ = self.objective.value_grad_curvature(scores, self.trainer.seed)  # type: ignore[attr-defined]
        return Result(trees.leaf, loss, self.status, message, counts, self.trace), trees
