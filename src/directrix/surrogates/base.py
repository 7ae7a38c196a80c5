"""Base classes of surrogates: compiled kernels, measures and noise; checks of their parameters.

In: scores, labels and the boundaries of queries. Out: the value of every query, and its gradient with respect
to the scores. Objectives prepare the labels once, and fill values and gradients chunk by chunk:

>>> import directrix as dx
>>> surrogate, qptr = dx.ApproxNDCG(), np.array([0, 2])
>>> prepared = surrogate.prepare(np.array([0.0, 1.0]), qptr)
>>> value, grad = surrogate.fill_all(np.zeros(2), prepared, qptr)
>>> value.shape, bool(grad[1] > 0.0)
((1,), True)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Self, cast

import numpy as np

from directrix.data.checks import check_ranking
from directrix.errors import InputError, short_text
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.measures.terms import Terms, query_sums
from directrix.parameters import check_fields, positive
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, FloatArray, Int64Array, Surrogate

# Names of properties that several surrogates share.
SMOOTH = frozenset({"smooth", "shift_invariant", "tends_to_measure"})
PULLS = frozenset({"pulls_at_ties"})
FIRST_SHARE = 0.9
"""Share of the discount that ignores a cut-off when training begins, and for all trees of boosting."""
_LEAST_SHARE = 0.01
"""A smaller share of the ranks below a cut-off is too little to begin training with."""
_KERNELS = "directrix.surrogates._kernels"
Chunk = tuple[int, int]
"""First query of a chunk, and the end of its queries."""
Out = tuple[FloatArray, ...]
"""Arrays that a chunk fills: values, gradient, and for some surrogates the curvature."""
WHOLE_LIST = 2**31 - 1
"""A cut-off for kernels where k is None."""
_DOCS_PER_CHUNK = 4096
"""Enough work to hide the cost of calling a kernel, little enough to share among threads."""


class KernelSurrogate(ABC):
    """A surrogate whose value and gradient a Numba kernel computes for a chunk of queries.

    A subclass computes everything that depends on the labels alone (`from_labels`, or `prepare` if it uses
    document weights). It names its compiled chunk (`compiled`), or calls it (`fill`) if that takes other
    arguments. Objectives call `prepare` once per data set and `fill` on every chunk, while its features are
    in the cache; `value_and_grad` calls both.
    """

    compiled: ClassVar[str] = ""
    """Module and name of the compiled chunk in `directrix.surrogates._kernels`; see `kernel`."""

    entries: ClassVar[tuple[str, ...] | None] = None
    """For every array of `prepare`, what one entry belongs to: a "document", a "query", or the whole "data".

    Mini-batches take the entries of their queries. None: `prepare` is called for one query after another.
    """

    fills_curvature: ClassVar[bool] = False
    """Whether the compiled chunk has one more output, the curvature, which it writes before the gradient."""

    stationary_at_ties: ClassVar[bool] = False
    """Whether the gradient is 0 at equal scores, but not close to them; see `SmoothRank`."""

    def __post_init__(self) -> None:
        check_fields(self)
        surrogate: Any = self
        if any(field.name == "measure" for field in fields(surrogate)):
            object.__setattr__(self, "measure", parse_measure(surrogate.measure))

    def __repr__(self) -> str:
        """Return text that parses back, if the first field is a measure or a surrogate."""
        first, *others = fields(cast("Any", self))
        inner = getattr(self, first.name)
        text = inner.name if isinstance(inner, RankingMeasure) else repr(inner)
        arguments = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in others)
        return f"{type(self).__name__}({text!r}, {arguments})"

    @property
    @abstractmethod
    def properties(self) -> frozenset[str]:
        """Properties of the surrogate; `directrix.laws.check_surrogate` tests them."""

    @property
    def adds_gains(self) -> bool:
        """Whether labels may be gains of any sign, see `RankingMeasure.adds_gains`."""
        return False

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Any, ...]:
        """Compute everything that depends on labels and document weights alone, as a tuple of arrays.

        The result must not depend on the smoothing: annealing uses it for all smoothings.

        Parameters
        ----------
        labels, qptr
            As for `value_and_grad`.
        doc_weight : float64 (n_docs,), or None
            Factors >= 0 on the contributions of the documents.

        Raises
        ------
        InputError
            If a label is too large, or there are document weights and the surrogate does not support them.
        """
        reject_doc_weight(self, doc_weight)
        prepared: tuple[Any, ...] = self.from_labels(labels, qptr)
        return prepared

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Return the result of `prepare`, for surrogates that do not support document weights."""
        raise NotImplementedError(f"{type(self).__name__} needs from_labels() or prepare().")

    def arguments(self) -> tuple[Any, ...]:
        """Return the first arguments of the compiled chunk, which depend on the fields."""
        return ()

    def kernel(self) -> Any:
        """The compiled chunk, given its `arguments`; prepared arrays, scores, qptr, chunk, output follow."""
        module, _, name = self.compiled.partition(".")
        if not name:
            raise NotImplementedError(f"{type(self).__name__} needs kernel() or fill().")
        return partial(getattr(import_module(f"{_KERNELS}.{module}"), name), *self.arguments())

    def fill(self, scores: FloatArray, prepared: Any, qptr: Int64Array, chunk: Chunk, out: Out) -> None:
        """Fill value and gradient of the queries ``chunk[0] <= q < chunk[1]`` in ``out``."""
        self.kernel()(*prepared, scores, qptr, *chunk, *self.outputs(out))

    def outputs(self, out: Out) -> Out:
        """Return the outputs of the compiled chunk; the gradient overwrites an unused curvature."""
        return (*out, out[-1]) if self.fills_curvature and len(out) == 2 else out

    @property
    def steepness(self) -> float:
        """Steepness in 1 / units of score: score differences below 1/steepness hardly change the value."""
        return 1.0

    def curvature(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """Return the positive diagonal by which boosting divides the gradient; see `spread_curvature`.

        A surrogate whose second derivatives have a positive part that is cheap, such as sums of
        delta p (1 - p) over pairs, returns that instead.

        Parameters
        ----------
        scores : float (n_docs,)
        prepared
            As `prepare` returned it.
        qptr : int64 (n_queries + 1,)
        grad : float (n_docs,)
            As `fill` left it for these scores.

        Returns
        -------
        float64 (n_docs,)
            >= 0, in 1 / units of score squared.
        """
        return spread_curvature(grad, qptr, self.steepness)

    def with_share(self, share: float) -> KernelSurrogate:
        """Return a copy that ignores its cut-off in a share of its discount, see `CutOff`; by default itself.

        Training begins with such a copy, which has a slope where all scores are equal
        (docs/decisions/cut-offs.md).
        """
        return self

    def redraw(self, *numbers: int) -> Self:
        """Return a copy with other noise, determined by its field ``draw`` and these numbers.

        Without such a field there is no noise, and the surrogate itself is returned.
        """
        if not hasattr(self, "draw"):
            return self
        # A seed sequence mixes its numbers, so neighboring trees or epochs get unrelated noise.
        state = np.random.SeedSequence([self.draw, *numbers]).generate_state(1)
        return replace(self, draw=int(state[0] >> 1))  # type: ignore[type-var]

    def value_grad_curvature(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray, FloatArray]:
        """Return value, gradient and curvature of all queries."""
        if self.fills_curvature:
            out = np.zeros(len(qptr) - 1), np.zeros_like(scores), np.zeros_like(scores)
            in_chunks(lambda first, last: self.fill(scores, prepared, qptr, (first, last), out), qptr)
            return out
        value, grad = self.fill_all(scores, prepared, qptr)
        return value, grad, self.curvature(scores, prepared, qptr, grad)

    def value_and_grad(
        self, scores: FloatArray, labels: Float64Array, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray]:
        """Return the value of every query and its gradient with respect to the scores.

        Parameters
        ----------
        scores : float32 or float64 (n_docs,)
            Any finite numbers; higher is ranked first.
        labels : float64 (n_docs,)
            Grades >= 0; with `adds_gains` gains of any sign.
        qptr : int64 (n_queries + 1,)
            Query ``q`` has the documents ``qptr[q] <= i < qptr[q + 1]``.

        Returns
        -------
        value : float64 (n_queries,)
        grad : float (n_docs,)
            Of the dtype of the scores, in 1 / units of score.

        Raises
        ------
        InputError
            If the arrays have different lengths, or hold NaN or infinities, or if a value overflows, as the
            square of a score of 1e155 does.
        """
        scores, labels, qptr = check_ranking(scores, labels, qptr, signed=self.adds_gains)
        # Read-only arrays are another type to Numba, for which it would compile the kernel again.
        scores, qptr = writable(scores), writable(qptr)
        value, grad = self.fill_all(scores, self.prepare(labels, qptr), qptr)
        if np.isinf(value).any():
            q = int(np.argmax(np.isinf(value)))
            raise InputError(
                f"{type(self).__name__}: the value of query {q} overflows; its scores reach "
                f"{float(np.abs(scores[qptr[q] : qptr[q + 1]]).max()):g}. Divide the scores by a constant."
            )
        return value, grad

    def fill_all(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray]:
        """Return value and gradient of all queries, filled in chunks on several threads."""
        out = np.zeros(len(qptr) - 1), np.zeros_like(scores)
        in_chunks(lambda first, last: self.fill(scores, prepared, qptr, (first, last), out), qptr)
        return out


class Smoothed(KernelSurrogate):
    """Base of surrogates that tend to their measure as a smoothing tends to 0: the field ``sigma``."""

    sigma: float

    def at(self, smoothing: float) -> Self:
        """Return a copy with this smoothing, in the unit of the field (of 1/alpha for soft ranks).

        As smoothing -> 0 the value tends to the exact measure wherever no scores tie.
        """
        sigma = positive(smoothing, "smoothing", f"{type(self).__name__}.at")
        return replace(self, sigma=sigma)  # type: ignore[type-var]

    @property
    def steepness(self) -> float:
        """1/smoothing: scores closer than the smoothing share their ranks."""
        return 1.0 / float(self.sigma)


class CutOff(Smoothed):
    """Base of smooth surrogates that may have a cut-off, ``measure.k``; a share of the discount ignores it.

    The share is ``below`` to the power of the squared steepness, in units of ``usual_steepness``. So it
    vanishes as the surrogate tends to its measure, and is 0 in the papers' form.
    """

    usual_steepness: ClassVar[float] = 1.0
    measure: Any
    below: float = 0.0

    @property
    def properties(self) -> frozenset[str]:
        """smooth, shift_invariant, tends_to_measure; pulls_at_ties, if enough ignores the cut-off."""
        return SMOOTH | PULLS if self.share >= _LEAST_SHARE else SMOOTH

    @property
    def has_cut(self) -> bool:
        """Whether the measure has a cut-off."""
        return getattr(self.measure, "k", None) is not None

    @property
    def share(self) -> float:
        """Share of the discount that ignores the cut-off."""
        return self.below**self._power if self.below and self.has_cut else 0.0

    @property
    def _power(self) -> float:
        return max(1e-3, min(self.steepness / self.usual_steepness, 1e3)) ** 2

    def with_share(self, share: float) -> Self:
        """Return a copy with this ``share``; itself without a cut-off, or if ``below`` is set already."""
        if self.below or not self.has_cut:
            return self
        # The root inverts the power of `share`. The floor keeps ``below`` above 0, which marks a copy that
        # has a share.
        return replace(self, below=max(share ** (1.0 / self._power), 1e-300))  # type: ignore[type-var]


class MeasureSurrogate(KernelSurrogate):
    """A surrogate of one measure, with which it shares the fields k, rel and l_max; they are checked."""

    entries: ClassVar[tuple[str, ...] | None] = ("document",)
    measured: ClassVar[type[RankingMeasure]]
    """Class of the measure."""
    weighs_docs: ClassVar[bool] = False
    """Whether document weights are factors on the gains of the documents."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # Making the measure checks the fields that the surrogate shares with it.
        _ = self.measure

    @property
    def properties(self) -> frozenset[str]:
        """smooth, shift_invariant, tends_to_measure."""
        return SMOOTH

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """See `KernelSurrogate.prepare`; here the gain of every document over the query's normalizer."""
        if not self.weighs_docs:
            return super().prepare(labels, qptr, doc_weight)
        return (self.measure.document_values(labels, qptr, doc_weight),)

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Return the gain of every document divided by the normalizer of its query."""
        return (self.measure.document_values(labels, qptr),)

    @property
    def measure(self) -> Any:
        """The exact measure that the surrogate tends to, or bounds."""
        common = {field.name for field in fields(self.measured)} & {"k", "rel", "l_max"}
        return self.measured(**{name: getattr(self, name) for name in common if hasattr(self, name)})


def in_chunks(work: Callable[[int, int], None], qptr: Int64Array) -> None:
    """Call ``work(first, last)`` for every chunk first <= q < last of the queries, on several threads."""
    bounds = query_chunks(qptr, _DOCS_PER_CHUNK)
    run_chunks(lambda c: work(int(bounds[c]), int(bounds[c + 1])), len(bounds) - 1)


def writable(array: Any) -> Any:
    """Return the array, or a copy if it is read-only.

    Numba would compile a second version of a kernel for read-only arguments.
    """
    return np.require(array, requirements=["C", "W"])


def reject_doc_weight(surrogate: Any, doc_weight: Float64Array | None) -> None:
    """Raise `InputError` if there are document weights, for a surrogate that does not support them."""
    if doc_weight is not None:
        raise InputError(
            f"{surrogate!r} takes no document weights; weight whole queries instead: query_weight=."
        )


def terms_of(surrogate: Any, labels: Float64Array, qptr: Int64Array) -> Terms:
    """Return the terms of the surrogate's measure; raise `InputError` unless its first k ranks count."""
    measure = surrogate.measure
    terms: Terms = measure.terms(labels, qptr)
    # Kernels take one cut-off for all queries.
    if (terms.cutoff < np.minimum(np.diff(qptr), measure.depth)).any():
        raise InputError(
            f"{type(surrogate).__name__}({measure.name!r}): the number of ranks that count differs from "
            "query to query; it must be k: leave `cutoff` out of the measure's terms."
        )
    return terms


def spread_curvature(grad: FloatArray, qptr: Int64Array, steepness: float) -> Float64Array:
    r"""Return steepness times the mean magnitude of the gradient of each query, for all its documents.

    .. math:: h_i = \frac{\gamma}{n_q} \sum_{k \in q} \lvert g_k \rvert

    It bounds the curvature in order of magnitude (a sigmoid of steepness gamma has
    :math:`|\sigma''| \le \gamma \sigma'`), is positive wherever there is a gradient, and makes steps of
    the order 1/gamma: training does not depend on the unit of score.

    Steps do not shrink with the gradient: a loss with its minimum at finite scores, such as a squared
    error, needs another curvature. ``steepness`` is gamma, > 0, in 1 / units of score.
    """
    sizes = np.diff(qptr)
    # Sums are in float64, whatever the precision of the scores.
    total = query_sums(np.abs(grad, dtype=np.float64), qptr)
    return np.repeat(steepness * total / np.maximum(sizes, 1), sizes)


def uniforms(labels: Float64Array, qptr: Int64Array, draw: int, sample: int = 0) -> Float64Array:
    """Return uniform numbers on (0, 1), one per document, that depend on its position and its query's labels.

    ``draw`` and ``sample`` are integers >= 0; each pair gives other numbers. O(n).
    """
    from directrix.surrogates._kernels.noise import uniform_chunk

    u = np.empty(len(labels))
    uniform_chunk(labels, draw, sample, qptr, 0, len(qptr) - 1, u)
    return u


def kernel_surrogate(surrogate: Surrogate) -> KernelSurrogate:
    """Return the surrogate itself if it has kernels, otherwise an adapter with the same methods.

    A subclass that overrides ``value_and_grad`` has no kernels: inherited ones compute another function.
    """
    if isinstance(surrogate, KernelSurrogate):
        # Training calls `fill`, so a class that changes only ``value_and_grad`` would be trained for another
        # function.
        is_inherited = type(surrogate).value_and_grad is KernelSurrogate.value_and_grad
        return surrogate if is_inherited else _Plain(surrogate)
    return _Plain(surrogate)


@dataclass(frozen=True, eq=False)
class _Plain(KernelSurrogate):
    """Adapter of a surrogate that prepares nothing and takes no document weights."""

    entries: ClassVar[tuple[str, ...]] = ("document",)
    surrogate: Surrogate

    @property
    def properties(self) -> frozenset[str]:
        return self.surrogate.properties

    @property
    def adds_gains(self) -> bool:
        return bool(getattr(self.surrogate, "adds_gains", False))

    @property
    def steepness(self) -> float:
        return float(getattr(self.surrogate, "steepness", 1.0))

    def redraw(self, *numbers: int) -> _Plain:
        is_random = "random" in self.properties
        return _Plain(self.surrogate.redraw(*numbers)) if is_random else self  # type: ignore[attr-defined]

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Float64Array]:
        reject_doc_weight(self.surrogate, doc_weight)
        return (labels,)

    def fill(self, scores: FloatArray, prepared: Any, qptr: Int64Array, chunk: Chunk, out: Out) -> None:
        first, last = chunk
        docs = slice(int(qptr[first]), int(qptr[last]))
        bounds = qptr[first : last + 1] - qptr[first]
        outcome = self.surrogate.value_and_grad(scores[docs], prepared[0][docs], bounds)
        if problem := wrong_shapes(outcome, last - first, len(scores[docs])):
            raise InputError(
                f"value_and_grad of {self.surrogate!r}: {problem}. Type "
                "directrix.laws.check_surrogate(surrogate) to test it."
            )
        out[0][first:last], out[1][docs] = outcome


def wrong_shapes(outcome: Any, n_queries: int, n_docs: int) -> str:
    """Return why this is not the value and gradient of a user's surrogate; empty if it is.

    NumPy would broadcast a mean over queries, or one slope for all documents, without an error.
    """
    shapes = [np.shape(array) for array in outcome] if isinstance(outcome, tuple | list) else []
    if shapes == [(n_queries,), (n_docs,)]:
        return ""
    got = " and ".join(map(str, shapes)) or short_text(outcome)
    return (
        f"value and gradient must have the shapes {(n_queries,)} and {(n_docs,)}, one number per query and "
        f"per document, got {got}"
    )
