"""Loss and gradient of one part: composed of model and surrogate, or in kernels that fuse the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from directrix.models.linear import LinearModel, one_per_feature
from directrix.objectives.batches import runs
from directrix.objectives.parts import Part
from directrix.objectives.penalty import L2
from directrix.objectives.source import Gradient, Memory
from directrix.surrogates.approx_rank import ApproxRank
from directrix.surrogates.base import KernelSurrogate, writable
from directrix.surrogates.plain import kernel_surrogate
from directrix.types import Float64Array, Int64Array, Model, Surrogate


def kernel_for(surrogate: Surrogate, model: Model, features: Any) -> Composed:
    """Return fused kernels where they exist: ApproxRank, a linear model and dense features."""
    if isinstance(surrogate, ApproxRank) and isinstance(model, LinearModel) and not sp.issparse(features):
        return Fused(surrogate, model)
    return Composed(surrogate, model)


@dataclass(frozen=True, eq=False)
class Composed:
    """The model, the surrogate and the way back, one kernel after another: for any surrogate and model."""

    surrogate: Surrogate
    model: Model
    seed: int | None = None
    """With the place of a part: seed of what the model draws in training; None = it draws nothing."""

    def drawing(self, order: Int64Array) -> Self:
        """Return the kernel for steps over the queries in this order, which decides what is drawn."""
        kernel, seed = self, crc32(order.tobytes())
        if "random" in self.surrogate.traits:
            kernel = replace(kernel, surrogate=self._filled.redraw(seed))
        return replace(kernel, seed=seed) if getattr(self.model, "dropout", 0.0) else kernel

    @cached_property
    def _filled(self) -> KernelSurrogate:
        return kernel_surrogate(self.surrogate)

    def check(self, params: Float64Array, n_features: int) -> None:
        """Raise `InputError` if the parameters do not fit, unless the model itself will."""

    def value_and_grad(self, part: Part, params: Float64Array) -> Gradient:
        """Weighted sum of the surrogate over the queries of a part, and its gradient."""
        drawn = {} if self.seed is None else {"seed": (self.seed, part.place)}
        scores, cache = self.model.forward(params, part.rows, **drawn)
        n_queries = len(part.weight)
        value, dscores = np.zeros(n_queries), np.zeros(len(scores), dtype=scores.dtype)
        self._filled.fill(scores, part.prepared, part.qptr, (0, n_queries), (value, dscores))
        if part.is_weighted:
            dscores = dscores * np.repeat(part.weight, np.diff(part.qptr)).astype(dscores.dtype)
        return float(part.weight @ value), self.model.backward(cache, dscores)

    def batches(self, source: Memory, order: Int64Array) -> Callable[[int, int], Sequence[Part]]:
        """Return a function from first and last to parts of the queries ``order[first:last]``."""
        return source.batches(order)

    def sgd_epoch(
        self, source: Memory, params: Float64Array, order: Int64Array, batch: int, rate: float, penalty: L2
    ) -> float | None:
        """One epoch of SGD in one kernel, in place; returns the mean of the losses before its steps.

        None if there is no kernel for that.
        """
        return None


@dataclass(frozen=True, eq=False)
class Fused(Composed):
    """Kernels for ApproxRank and a linear model on dense features; equal to `Composed` up to rounding."""

    surrogate: ApproxRank
    model: LinearModel

    def check(self, params: Float64Array, n_features: int) -> None:
        """Raise `InputError` unless there is one weight per feature: kernels would read past their end."""
        one_per_feature(params, n_features, "params")

    def value_and_grad(self, part: Part, params: Float64Array) -> Gradient:
        """Weighted sum of the surrogate over the queries of a part, and its gradient."""
        if part.order is not None:  # a step of length 0 leaves the gradient
            n, grad, still = len(part.order), np.empty(len(params)), params.copy()
            loss = self._descend(part, part.order, n, 0.0, 0.0, still, still, grad)
            return -n * loss, grad
        if self.surrogate.compiled != "approx.separable_chunk":
            return super().value_and_grad(part, params)
        from directrix.objectives._kernels.fused import fused_separable

        value, grad = np.empty(len(part.weight)), np.zeros(len(params))
        w, spec = params.astype(part.rows.dtype), self.surrogate.spec()
        fused_separable(spec, part.rows, *part.prepared, part.qptr, part.weight, w, value, grad)
        return float(part.weight @ value), grad

    def batches(self, source: Memory, order: Int64Array) -> Callable[[int, int], Sequence[Part]]:
        """Return a function from first and last to the queries ``order[first:last]``, by threads."""
        docs_per_thread, whole = source.docs_per_thread, source.whole
        bounds = [0, *np.cumsum(np.diff(source.queries.qptr)[order]).tolist()]

        def cut(first: int, last: int) -> Sequence[Part]:
            return [whole._replace(order=order[a:b]) for a, b in runs(bounds, first, last, docs_per_thread)]

        return cut

    def sgd_epoch(
        self, source: Memory, params: Float64Array, order: Int64Array, batch: int, rate: float, penalty: L2
    ) -> float | None:
        """One epoch of SGD in one kernel, unless batches are large enough for several threads."""
        usual = batch * source.queries.n_docs / source.queries.n_queries
        if batch > 1 and usual > source.docs_per_thread:
            return None
        center = np.zeros_like(params) if penalty.center is None else writable(penalty.center)
        steps = float(rate), float(penalty.strength), center, params, np.empty_like(params)
        return self._descend(source.whole, order, min(batch, len(order)), *steps)

    def _descend(self, whole: Part, order: Int64Array, batch: int, *steps: Any) -> float:
        from directrix.objectives._kernels.sgd import FAMILIES, sgd_epoch

        family, spec = FAMILIES[self.surrogate.compiled], self.surrogate.spec()
        data = whole.rows, *whole.prepared, whole.qptr, whole.weight
        return float(sgd_epoch(family, spec, *data, order, batch, *steps))
