"""Loss and gradient of one part: composed from model and surrogate, or by kernels that fuse the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self
from zlib import crc32

import numpy as np

from directrix.models.linear import LinearModel, one_per_feature
from directrix.models.mlp import ALL_KEPT, MLPModel, padded_width
from directrix.objectives.penalty import L2
from directrix.objectives.source import Gradient, Memory, Part
from directrix.surrogates.base import KernelSurrogate, kernel_surrogate, writable
from directrix.surrogates.lambdas import Lambda
from directrix.types import Float64Array, Int64Array, Model, Surrogate


def kernel_for(surrogate: Surrogate, model: Model, *, fuses: bool) -> Composed:
    """Return fused kernels if a source ``fuses`` and the surrogate and model have them, else `Composed`."""
    filled = kernel_surrogate(surrogate)
    if fuses and filled is surrogate:
        if isinstance(surrogate, Lambda) and _is_small(model):
            return FusedSwaps(surrogate, model)
        if type(model) is LinearModel and _is_one_chunk(filled):
            has_pass = filled.compiled == "approx.separable_chunk"
            return (Fused if has_pass else FusedEpochs)(filled, model)
    return Composed(surrogate, model)


def _is_one_chunk(surrogate: KernelSurrogate) -> bool:
    """Whether the compiled chunk, with whole prepared arrays, does all that `fill` does."""
    has_chunk = bool(surrogate.compiled and surrogate.entries)
    return has_chunk and type(surrogate).fill is KernelSurrogate.fill


def _is_small(model: Model) -> bool:
    """Whether a model is linear, or a network of one hidden layer without dropout."""
    if isinstance(model, MLPModel):
        return len(model.hidden) == 1 and not model.residual and not model.dropout
    return type(model) is LinearModel


@dataclass(frozen=True, eq=False)
class Composed:
    """Model, surrogate and backward pass, one kernel after another, for any surrogate and model."""

    surrogate: Surrogate
    model: Model
    seed: int | None = None
    """Seed, with the position of a part, of the model's random numbers in training; None for no
    randomness."""

    def drawing(self, order: Int64Array) -> Self:
        """Return the kernel for steps over the queries in this order, which seeds random numbers."""
        kernel, seed = self, crc32(order.tobytes())
        if "random" in self.surrogate.properties:
            kernel = replace(kernel, surrogate=self._filled.redraw(seed))
        return replace(kernel, seed=seed) if getattr(self.model, "dropout", 0.0) else kernel

    @property
    def _filled(self) -> KernelSurrogate:
        return kernel_surrogate(self.surrogate)

    def check(self, params: Float64Array, n_features: int) -> None:
        """Raise `InputError` if the parameters do not fit, unless the model itself checks them."""

    def value_and_grad(self, part: Part, params: Float64Array) -> Gradient:
        """Return the weighted sum of the surrogate over the queries of a part, and its gradient."""
        drawn = {} if self.seed is None else {"seed": (self.seed, part.place)}
        scores, cache = self.model.forward(params, part.rows, **drawn)
        n_queries = len(part.weight)
        value, dscores = np.zeros(n_queries), np.zeros(len(scores), dtype=scores.dtype)
        self._filled.fill(scores, part.prepared, part.qptr, (0, n_queries), (value, dscores))
        if part.is_weighted:
            dscores = dscores * np.repeat(part.weight, np.diff(part.qptr)).astype(dscores.dtype)
        return float(part.weight @ value), self.model.backward(cache, dscores)

    def batches(self, source: Memory, order: Int64Array) -> Callable[[int, int], Sequence[Part]]:
        """Return a function that maps first and last to parts of the queries ``order[first:last]``."""
        return source.batches(order)

    def sgd_epoch(
        self, source: Memory, params: Float64Array, order: Int64Array, batch: int, rate: float, penalty: L2
    ) -> float | None:
        """Run one epoch of SGD in one kernel, in place; return the mean of the losses before its steps.

        The result is None if there is no such kernel.
        """
        return None


@dataclass(frozen=True, eq=False)
class FusedEpochs(Composed):
    """One kernel for an epoch of SGD with a linear model; equal to `Composed` up to rounding."""

    surrogate: KernelSurrogate

    def check(self, params: Float64Array, n_features: int) -> None:
        """Raise `InputError` unless there is one weight per feature: kernels would read past their end."""
        one_per_feature(params, n_features, "params")

    def sgd_epoch(
        self, source: Memory, params: Float64Array, order: Int64Array, batch: int, rate: float, penalty: L2
    ) -> float | None:
        """Run one epoch of SGD in one kernel, unless batches are large enough for several threads."""
        usual = batch * source.queries.n_docs / source.queries.n_queries
        if batch > 1 and usual > source.docs_per_thread:
            return None
        from directrix.objectives._kernels.epochs import epoch_of

        whole, surrogate = source.whole, self.drawing(order).surrogate
        center = np.zeros_like(params) if penalty.center is None else writable(penalty.center)
        values, slopes = np.empty(len(whole.weight)), np.empty(len(whole.rows), whole.rows.dtype)
        data = (*surrogate.arguments(), *whole.prepared), whole.rows, whole.qptr, whole.weight
        steps = float(rate), float(penalty.strength), center
        numbers = min(batch, len(order)), steps, surrogate.outputs((values, slopes)), params
        return float(epoch_of(surrogate.kernel().func)(*data, order, *numbers))


@dataclass(frozen=True, eq=False)
class Fused(FusedEpochs):
    """A kernel also for the full gradient of ApproxRank; equal to `Composed` up to rounding."""

    def value_and_grad(self, part: Part, params: Float64Array) -> Gradient:
        """Return the weighted sum of the surrogate over the queries of a part, and its gradient."""
        if not isinstance(part.rows, np.ndarray):  # a batch, whose rows are where they are
            return super().value_and_grad(part, params)
        from directrix.objectives._kernels.fused import fused_separable

        value, grad = np.empty(len(part.weight)), np.zeros(len(params))
        w = params.astype(part.rows.dtype)
        fused_separable(
            *self.surrogate.arguments(), part.rows, *part.prepared, part.qptr, part.weight, w, value, grad
        )
        return float(part.weight @ value), grad


@dataclass(frozen=True, eq=False)
class FusedSwaps(Composed):
    """One kernel for an epoch of LambdaRank, one query per step; equal to `Composed` up to rounding."""

    surrogate: Lambda

    def check(self, params: Float64Array, n_features: int) -> None:
        """Raise `InputError` unless the number of parameters is the model's: kernels read without checks."""
        if isinstance(self.model, MLPModel):
            self.model.layers(params, n_features)
        else:
            one_per_feature(params, n_features, "params")

    def sgd_epoch(
        self, source: Memory, params: Float64Array, order: Int64Array, batch: int, rate: float, penalty: L2
    ) -> float | None:
        """Run one epoch of SGD in one kernel, if every step takes one query."""
        if batch > 1:
            return None
        from directrix.objectives._kernels.swap_sgd import hidden_epoch, linear_epoch

        whole = source.whole
        *arrays, part = whole.prepared
        center = np.zeros_like(params) if penalty.center is None else writable(penalty.center)
        places = np.append(0, np.cumsum(np.diff(whole.qptr)[order]))
        ranking, value = self.surrogate.new_ranking(int(places[-1])), np.zeros(len(order))
        problem = *self.surrogate.arguments(), tuple(arrays), whole.weight, whole.qptr, places, ranking
        steps, out = (float(rate), float(penalty.strength), center), (value, params)
        if isinstance(self.model, MLPModel):
            layer = (
                *self.model.hidden,
                padded_width(self.model.hidden[0], whole.rows.dtype),
                self.model.activation == "tanh",
            )
            loss = hidden_epoch(whole.rows, problem, order, layer, ALL_KEPT, steps, *out)
        else:
            loss = linear_epoch(whole.rows, problem, order, steps, *out)
        value += self.surrogate.ranked_value(ranking, places, None if part is None else part[order])
        return float(loss - np.mean(whole.weight[order] * value))
