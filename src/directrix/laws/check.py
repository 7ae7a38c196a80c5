"""Laws that every surrogate must keep, as a function that tests any surrogate."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from directrix.laws import traits
from directrix.laws.cases import (
    Case,
    all_cases,
    each_query,
    permutations,
    random_cases,
    without_function,
)
from directrix.threads import get_threads, set_threads
from directrix.types import Float64Array, FloatArray, Int64Array, Surrogate

_DRAWS = 64
"""Draws over which the law of permutations takes the mean."""


class LawBroken(AssertionError):
    """A surrogate or a loss breaks laws; the message lists every broken law with an example.

    Attributes
    ----------
    laws : dict of str to str
        Broken laws of a loss (`directrix.torch.check_loss`) by name, and what was found.

    Examples
    --------
    >>> from directrix.laws import LawBroken
    >>> issubclass(LawBroken, AssertionError)
    True
    """

    laws: Mapping[str, str] = MappingProxyType({})


def check_surrogate(surrogate: Surrogate, *, seed: int = 0, rtol: float = 1e-5) -> dict[str, str]:
    """Test that a surrogate keeps the laws that its traits claim.

    Laws for every surrogate:

    - The gradient is the slope to both sides in random directions where no scores tie (not if value_free or
      estimated).
    - Permuting documents permutes the gradient, also where scores tie (only where none do if value_free or
      estimated); if random, it does so exactly, or the mean over draws does.
    - A curvature, if there is one, is finite, >= 0, > 0 where there is a gradient, and permuted with
      the documents.
    - A query gives the same bits alone and in a batch.
    - float32 scores give what float64 scores give, to rounding.
    - Nothing is NaN for random scores, ties, one document, equal labels, no relevant one, and scores of 1e30.
    - The bits are the same for one thread and for many.

    Laws that a trait claims:

    - smooth: the gradient is the slope to both sides where scores tie, too. Kinks elsewhere are not found.
    - shift_invariant: the gradient sums to 0 over a query, and a shift of all scores changes no value.
    - unit_interval: the value lies in [0, 1].
    - tends_to_measure: as smoothing -> 0 it is its measure where no scores tie.
    - pulls_at_ties: where all scores are equal, a relevant document is raised, in lists of any length.
    - convex, as a loss: it lies above its chords, and below the plane that its gradient makes at any other
      point, which holds for losses with corners too.
    - convexifiable: convexified at some scores it is convex, nowhere above what it was, and equal to it with
      the same gradient at those scores.
    - bound: it bounds its measure from below, on the hard queries too.
    - value_free: the forces are the gradient of no function, and the value is the measure.
    - random: another draw gives other forces, the same one the same bits.
    - estimated: the mean gradient over 512 draws is the slope of the mean value in the direction of the
      labels, to six standard errors.

    Parameters
    ----------
    surrogate : Surrogate
        With the trait ``tends_to_measure`` it needs ``at(smoothing)`` and ``measure``;
        with ``bound`` or ``value_free``, ``measure``; with ``convexifiable``, ``prepare``, ``fill`` and
        ``convexify(scores, prepared, qptr)``; with ``random`` or ``estimated``, ``redraw(*numbers)``.
    seed : int
        Seed of the random queries.
    rtol : float
        Tolerance of the slope, relative to the gradient's norm.

    Returns
    -------
    dict of str to str
        For each law "kept", perhaps only "where no scores tie", or "not tested" and why: a trait that the
        surrogate does not claim, or that rules the law out.

    Raises
    ------
    LawBroken
        If a law is broken; the message has one line per broken law.

    Notes
    -----
    About 70 small queries; milliseconds for a compiled kernel.

    Examples
    --------
    >>> import directrix as dx
    >>> laws = check_surrogate(dx.SmoothNDCG(sigma=1.0))
    >>> laws["gradient is the slope"], laws["convex as a loss"]
    ('kept where no scores tie', 'not tested: convex is not claimed')
    """
    rng, broken, report = np.random.default_rng(seed), [], {}
    for law, condition in _LAWS:
        name = law.__name__.lstrip("_").replace("_", " ")
        if reason := condition(surrogate):
            report[name] = f"not tested: {reason}"
            continue
        tolerance = (rtol,) if law is traits.gradient_is_the_slope else ()
        problems = itertools.islice(law(surrogate, rng, *tolerance), 1)
        broken += [f"{name}: {problem}" for problem in problems]
        without_ties = law in _AT_TIES and _AT_TIES[law](surrogate)
        report[name] = "kept where no scores tie" if without_ties else "kept"
    if broken:
        raise LawBroken(f"{surrogate!r} breaks\n- " + "\n- ".join(broken))
    return report


def _permuting_documents_permutes_the_gradient(
    surrogate: Surrogate, rng: np.random.Generator
) -> Iterator[str]:
    for case, order in permutations(surrogate, rng):
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        size = np.abs(grad).max() + 1e-6  # what should be 0 is 1e-17 if summed in another order
        limits = 1e-10 * (1.0 + np.abs(value)), np.full(len(grad), 1e-9 * size)
        error = _moved(_value_and_grad, surrogate, case, order, np.concatenate(limits))
        if error > 0.0:
            yield f"{case.name}: value or gradient differ by {error:.1e}"


def _boosting_can_divide_by_the_curvature(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    for case, order in permutations(surrogate, rng):
        for documents in (np.arange(len(order)), order):
            arrays = case.scores[documents], case.labels[documents], case.qptr
            (_, grad), h = surrogate.value_and_grad(*arrays), _curvature(surrogate, *arrays)[1]
            if not (np.isfinite(h).all() and (h >= 0.0).all() and (h[grad != 0.0] > 0.0).all()):
                yield f"{case.name}: curvature {h} for the gradient {grad}"
        limits = 1e-12 + 1e-9 * np.abs(_curvature(surrogate, case.scores, case.labels, case.qptr)[1])
        if _moved(_curvature, surrogate, case, order, limits) > 0.0:
            yield f"{case.name}: permuting documents does not permute it"


def _value_and_grad(surrogate: Any, *query: Any) -> tuple[Float64Array, FloatArray]:
    outcome: tuple[Float64Array, FloatArray] = surrogate.value_and_grad(*query)
    return outcome


def _curvature(surrogate: Any, scores: Float64Array, labels: Float64Array, qptr: Int64Array) -> Any:
    _, grad = surrogate.value_and_grad(scores, labels, qptr)
    return np.zeros(0), surrogate.curvature(scores, surrogate.prepare(labels, qptr), qptr, grad)


def _moved(
    outcome: Callable[..., tuple[Float64Array, FloatArray]],
    surrogate: Any,
    case: Case,
    order: Int64Array,
    limits: Float64Array,
) -> float:
    """Largest difference above ``limits`` that another order of the documents makes; 0 if there is none.

    Where noise belongs to places, another order has other noise: of a random surrogate the mean over draws
    may differ by six standard errors.
    """

    def difference(drawn: Any) -> Float64Array:
        value, docs = outcome(drawn, case.scores, case.labels, case.qptr)
        other, mixed = outcome(drawn, case.scores[order], case.labels[order], case.qptr)
        return np.concatenate([value - other, docs[order] - mixed])

    moved = difference(surrogate)
    if "random" in surrogate.traits and (np.abs(moved) > limits).any():
        moves = np.array([difference(surrogate.redraw(draw)) for draw in range(_DRAWS)])
        moved, limits = moves.mean(axis=0), limits + 6.0 * moves.std(axis=0) / np.sqrt(_DRAWS)
    return float(np.abs(moved)[~(np.abs(moved) <= limits)].max(initial=0.0))


def _a_query_alone_is_as_in_a_batch(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    for case in random_cases(rng):
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for q, lo, hi in each_query(case):
            alone = np.array([0, hi - lo], dtype=np.int64)
            v, g = surrogate.value_and_grad(case.scores[lo:hi], case.labels[lo:hi], alone)
            if v[0] != value[q] or not np.array_equal(g, grad[lo:hi]):
                yield f"{case.name}, query {q}: {v[0]!r} alone, {value[q]!r} in the batch"


def _float32_agrees_with_float64(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    for case in random_cases(rng):
        scores = case.scores.astype(np.float32)
        value, grad = surrogate.value_and_grad(scores, case.labels, case.qptr)
        exact, slope = surrogate.value_and_grad(scores.astype(np.float64), case.labels, case.qptr)
        if grad.dtype != np.float32:
            yield f"{case.name}: the gradient of float32 scores is {grad.dtype}"
        # The eps of float32 is 1e-7; slopes have an absolute error of about that times the steepness.
        floor, error = 1e-3 * getattr(surrogate, "steepness", 1.0), np.abs(grad - slope).max()
        if np.abs(value - exact).max() > 1e-4 or error > 1e-3 * (np.abs(slope).max() + floor):
            yield f"{case.name}: values differ by {np.abs(value - exact).max():.1e}, slopes by {error:.1e}"


def _nothing_is_nan(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    for case in all_cases(rng):
        for dtype in ("float64", "float32"):
            with np.errstate(over="ignore"):
                scores: FloatArray = case.scores.astype(dtype)
            value, grad = surrogate.value_and_grad(scores, case.labels, case.qptr)
            if not (np.isfinite(value).all() and np.isfinite(grad).all()):
                yield f"{case.name} in {dtype}: value {value}, gradient {grad}"


def _draws_differ(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    qptr = np.array([0, 30], dtype=np.int64)
    scores, labels = rng.standard_normal(30), np.arange(30.0) % 3
    drawn = [surrogate.redraw(*numbers) for numbers in ((1, 2), (1, 2), (1, 3), (2, 2))]
    first, again, *others = (one.value_and_grad(scores, labels, qptr)[1] for one in drawn)
    if not np.array_equal(first, again):
        yield "the same draw gives other bits"
    if any(np.array_equal(first, other) for other in others):
        yield "another draw gives the same forces"


def _same_bits_for_any_threads(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    sizes = rng.integers(1, 60, size=400)
    qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    scores, labels = rng.standard_normal(qptr[-1]), rng.integers(0, 3, size=qptr[-1]).astype(np.float64)
    results = []
    for n in (1, 2, get_threads()):
        before = set_threads(n)
        try:
            results.append(surrogate.value_and_grad(scores, labels, qptr))
        finally:
            set_threads(before)
    for value, grad in results[1:]:
        if not (np.array_equal(value, results[0][0]) and np.array_equal(grad, results[0][1])):
            yield "the bits differ between one thread and several"


def _always(surrogate: Surrogate) -> str:
    return ""


def _claims(trait: str) -> Callable[[Surrogate], str]:
    return lambda surrogate: "" if trait in surrogate.traits else f"{trait} is not claimed"


def _has_curvature(surrogate: Surrogate) -> str:
    return "" if hasattr(surrogate, "curvature") else "it has no method curvature"


_LAWS: list[tuple[Callable[..., Iterator[str]], Callable[[Surrogate], str]]] = [
    (traits.gradient_is_the_slope, without_function),
    (traits.mean_gradient_is_the_slope_of_the_mean, _claims("estimated")),
    (traits.gradient_sums_to_zero, _claims("shift_invariant")),
    (traits.a_shift_changes_nothing, _claims("shift_invariant")),
    (_permuting_documents_permutes_the_gradient, _always),
    (_boosting_can_divide_by_the_curvature, _has_curvature),
    (_a_query_alone_is_as_in_a_batch, _always),
    (_float32_agrees_with_float64, _always),
    (traits.value_in_the_unit_interval, _claims("unit_interval")),
    (traits.no_smoothing_is_the_measure, _claims("tends_to_measure")),
    (traits.pulls_at_ties, _claims("pulls_at_ties")),
    (traits.convex_as_a_loss, _claims("convex")),
    (traits.below_its_tangents, _claims("convex")),
    (traits.convexifiable, _claims("convexifiable")),
    (traits.bounds_its_measure_from_below, _claims("bound")),
    (traits.value_is_the_measure, _claims("value_free")),
    (_draws_differ, _claims("random")),
    (_nothing_is_nan, _always),
    (_same_bits_for_any_threads, _always),
]
"""Laws, and functions of a surrogate that return why one is not tested; empty if it is."""
_AT_TIES: dict[Callable[..., Iterator[str]], Callable[[Surrogate], str]] = {
    traits.gradient_is_the_slope: _claims("smooth"),
    _permuting_documents_permutes_the_gradient: without_function,
    _boosting_can_divide_by_the_curvature: without_function,
}
"""The same for those that are not always tested where scores tie."""
