"""Laws that every surrogate must keep, as a function for anyone who writes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from directrix.surrogates.base import query_sums
from directrix.threads import get_threads, set_threads
from directrix.types import Float64Array, FloatArray, Int64Array, Surrogate

__all__ = ["LawBroken", "check_surrogate"]


class LawBroken(AssertionError):
    """A surrogate breaks at least one law; the message lists all of them with an example."""


class _Case(NamedTuple):
    name: str
    scores: Float64Array
    labels: Float64Array
    qptr: Int64Array


def check_surrogate(surrogate: Surrogate, *, seed: int = 0, rtol: float = 1e-5) -> None:
    """Test that a surrogate is what its traits say.

    The laws: the gradient is the slope in random directions (unless value_free, or not smooth);
    it sums to 0 over a query and the value does not feel a shift (shift_invariant); permuting
    documents permutes the gradient, tied ones too (unless value_free); a query gives the same bits
    alone as among others; float32 scores give what float64 scores give, to rounding; the value lies
    in [0, 1] (unit_interval); as smoothing -> 0 it meets its measure where no scores tie
    (tends_to_measure); it lies above its chord (convex as a loss); it bounds its measure from below
    (bound); it is its measure, if the forces are the slope of nothing (value_free); a curvature, if
    there is one, is finite, >= 0, > 0 where there is a gradient, and permuted with the documents; the
    same bits for one thread and for many; no NaN for ties, one document, equal labels, no relevant
    document, and scores of 1e30.

    Parameters
    ----------
    surrogate : Surrogate
        Under test. With the trait ``tends_to_measure`` it needs ``at(smoothing)`` and ``measure``;
        with ``bound`` or ``value_free``, ``measure``.
    seed : int
        Of the random queries.
    rtol : float
        Tolerance of the slope, relative to the gradient's norm.

    Raises
    ------
    LawBroken
        With one line a broken law.

    Notes
    -----
    Some 50 small queries; milliseconds for a compiled kernel.

    Examples
    --------
    >>> import directrix as dx
    >>> check_surrogate(dx.ApproxNDCG(alpha=5.0))
    """
    rng = np.random.default_rng(seed)
    broken = [
        f"{law.__name__.lstrip('_').replace('_', ' ')}: {problem}"
        for law, trait in _LAWS
        if trait is None or trait in surrogate.traits
        for problem in _first(law(surrogate, rng, rtol))
    ]
    if "value_free" not in surrogate.traits and "smooth" in surrogate.traits:
        broken += [f"gradient is the slope: {p}" for p in _first(_slope(surrogate, rng, rtol))]
    if broken:
        raise LawBroken(f"{surrogate!r} breaks\n- " + "\n- ".join(broken))


def _first(problems: Iterator[str]) -> list[str]:
    problem = next(problems, None)
    return [] if problem is None else [problem]


def _random_cases(rng: np.random.Generator, n_cases: int = 8) -> Iterator[_Case]:
    for case in range(n_cases):
        sizes = rng.integers(1, 24, size=5)
        qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        labels = rng.choice([0.0, 1.0, 2.0, 3.0], size=qptr[-1], p=[0.5, 0.25, 0.15, 0.1])
        yield _Case(f"random {case}", rng.standard_normal(qptr[-1]), labels, qptr)


def _hard_cases() -> Iterator[_Case]:
    one, six = np.array([0, 1], dtype=np.int64), np.array([0, 6], dtype=np.int64)
    mixed = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0])
    ramp = np.arange(6.0)
    yield _Case("one relevant document", np.array([0.5]), np.array([1.0]), one)
    yield _Case("one irrelevant document", np.array([0.5]), np.array([0.0]), one)
    yield _Case("all scores tied", np.zeros(6), mixed, six)
    yield _Case("ties in pairs", np.floor(ramp / 2.0), mixed, six)
    yield _Case("all labels equal", ramp, np.ones(6), six)
    yield _Case("no relevant document", ramp, np.zeros(6), six)
    yield _Case("scores of 1e30", np.where(ramp % 2 == 0, 1e30, -1e30), mixed, six)
    yield _Case("scores of 1e30 and 0", np.where(ramp % 2 == 0, 1e30, ramp), mixed, six)
    for tiny in (1e-30, 1e-40, 1e-310):  # denormal in float32, and in float64
        yield _Case(f"scores of {tiny:g}", ramp * tiny, mixed, six)


def _permutations(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[tuple[_Case, Int64Array]]:
    """Cases, each with another order of the documents; forces of tied documents may depend on that."""
    hard = [] if "value_free" in surrogate.traits else _hard_cases()
    for case in [*_random_cases(rng), *hard]:
        yield case, np.concatenate([lo + rng.permutation(hi - lo) for _, lo, hi in _each_query(case)])


def _each_query(case: _Case) -> Iterator[tuple[int, int, int]]:
    for q, (lo, hi) in enumerate(pairwise(case.qptr)):
        yield q, int(lo), int(hi)


def _slope(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in _random_cases(rng):
        direction = rng.standard_normal(len(case.scores))
        _, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        got = query_sums(np.asarray(grad, dtype=np.float64) * direction, case.qptr)
        # The step that halves rounding against curvature depends on the steepness: one of a few must do.
        errors = []
        for h in (1e-4, 1e-5, 1e-6, 1e-7):
            up, _ = surrogate.value_and_grad(case.scores + h * direction, case.labels, case.qptr)
            down, _ = surrogate.value_and_grad(case.scores - h * direction, case.labels, case.qptr)
            scale = np.sqrt(query_sums(np.square(grad, dtype=np.float64), case.qptr)) + 1e-3
            errors.append(np.abs((up - down) / (2.0 * h) - got) / scale)
        error = np.min(errors, axis=0)
        if error.max() > rtol:
            q = int(error.argmax())
            yield f"{case.name}, query {q}: {got[q]:.6g} along a direction, off by {error[q]:.1e} of the norm"


def _gradient_sums_to_zero(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in [*_random_cases(rng), *_hard_cases()]:
        _, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for q, lo, hi in _each_query(case):
            total, size = float(grad[lo:hi].sum()), float(np.abs(grad[lo:hi]).sum())
            if not abs(total) <= 1e-10 * size + 1e-12:
                yield f"{case.name}, query {q}: the sum is {total:.3g}, of parts that add up to {size:.3g}"


def _a_shift_changes_nothing(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in _random_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        moved, _ = surrogate.value_and_grad(case.scores + 0.75, case.labels, case.qptr)
        if np.abs(moved - value).max() > 1e-7:
            yield f"{case.name}: the value moves by {np.abs(moved - value).max():.1e}"


def _permuting_documents_permutes_the_gradient(
    surrogate: Surrogate, rng: np.random.Generator, rtol: float
) -> Iterator[str]:
    for case, order in _permutations(surrogate, rng):
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        other, mixed = surrogate.value_and_grad(case.scores[order], case.labels[order], case.qptr)
        size = np.abs(grad).max() + 1e-6  # what should be 0 is 1e-17 in another order of summing
        moved = np.abs(value - other) > 1e-10 * (1.0 + np.abs(value))
        if moved.any() or np.abs(grad[order] - mixed).max() > 1e-9 * size:
            yield f"{case.name}: the gradient differs by {np.abs(grad[order] - mixed).max():.1e}"


def _boosting_can_divide_by_the_curvature(
    surrogate: Any, rng: np.random.Generator, rtol: float
) -> Iterator[str]:
    if not hasattr(surrogate, "curvature"):
        return
    for case, order in _permutations(surrogate, rng):
        found = []
        for by in (np.arange(len(order)), order):
            scores, labels = case.scores[by], case.labels[by]
            _, grad = surrogate.value_and_grad(scores, labels, case.qptr)
            h = surrogate.curvature(scores, surrogate.prepare(labels, case.qptr), case.qptr, grad)
            found.append(h)
            if not (np.isfinite(h).all() and (h >= 0.0).all() and (h[grad != 0.0] > 0.0).all()):
                yield f"{case.name}: curvature {h} for the gradient {grad}"
        if not np.allclose(found[0][order], found[1], rtol=1e-9, atol=1e-12):
            yield f"{case.name}: permuting documents does not permute it"


def _a_query_alone_is_as_in_a_batch(
    surrogate: Surrogate, rng: np.random.Generator, rtol: float
) -> Iterator[str]:
    for case in _random_cases(rng):
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for q, lo, hi in _each_query(case):
            alone = np.array([0, hi - lo], dtype=np.int64)
            v, g = surrogate.value_and_grad(case.scores[lo:hi], case.labels[lo:hi], alone)
            if v[0] != value[q] or not np.array_equal(g, grad[lo:hi]):
                yield f"{case.name}, query {q}: {v[0]!r} alone, {value[q]!r} in the batch"


def _float32_agrees_with_float64(
    surrogate: Surrogate, rng: np.random.Generator, rtol: float
) -> Iterator[str]:
    for case in _random_cases(rng):
        scores = case.scores.astype(np.float32)
        value, grad = surrogate.value_and_grad(scores, case.labels, case.qptr)
        exact, slope = surrogate.value_and_grad(scores.astype(np.float64), case.labels, case.qptr)
        if grad.dtype != np.float32:
            yield f"{case.name}: the gradient of float32 scores is {grad.dtype}"
        # The eps of float32 is 1e-7; slopes have an absolute error of about that times the steepness.
        floor, error = 1e-3 * getattr(surrogate, "steepness", 1.0), np.abs(grad - slope).max()
        if np.abs(value - exact).max() > 1e-4 or error > 1e-3 * (np.abs(slope).max() + floor):
            yield f"{case.name}: values differ by {np.abs(value - exact).max():.1e}, slopes by {error:.1e}"


def _value_in_the_unit_interval(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in [*_random_cases(rng), *_hard_cases()]:
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        if value.min() < 0.0 or value.max() > 1.0 + 1e-12:
            yield f"{case.name}: the values reach from {value.min()} to {value.max()}"


def _no_smoothing_is_the_measure(surrogate: Any, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in _random_cases(rng):
        # Distinct scores a whole unit apart, so that 1e-3 is no smoothing at all.
        scores = np.concatenate([rng.permutation(hi - lo) * 1.0 for _, lo, hi in _each_query(case)])
        value, _ = surrogate.at(1e-3).value_and_grad(scores, case.labels, case.qptr)
        exact = np.nan_to_num(surrogate.measure(scores, case.labels, case.qptr))
        if np.abs(value - exact).max() > 1e-9:
            q = int(np.abs(value - exact).argmax())
            yield f"{case.name}, query {q}: {value[q]:.6f} instead of {exact[q]:.6f}"


def _convex_as_a_loss(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in _random_cases(rng):
        other = rng.standard_normal(len(case.scores))
        t = rng.random()
        a, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        b, _ = surrogate.value_and_grad(other, case.labels, case.qptr)
        between, _ = surrogate.value_and_grad(t * case.scores + (1 - t) * other, case.labels, case.qptr)
        if (between - (t * a + (1 - t) * b)).min() < -1e-9:
            yield f"{case.name}: {(between - (t * a + (1 - t) * b)).min():.1e} below its chord"


def _bounds_its_measure_from_below(surrogate: Any, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in _random_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        exact = np.nan_to_num(surrogate.measure(case.scores, case.labels, case.qptr), nan=np.inf)
        if (value - exact).max() > 1e-9:
            yield f"{case.name}: above the measure by {(value - exact).max():.1e}"


def _value_is_the_measure(surrogate: Any, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in [*_random_cases(rng), *_hard_cases()]:
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        exact = surrogate.measure(case.scores, case.labels, case.qptr)
        if not np.abs(value - exact).max() <= 1e-12:
            yield f"{case.name}: {value} instead of {exact}"


def _nothing_is_nan(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    for case in _hard_cases():
        for dtype in ("float64", "float32"):
            with np.errstate(over="ignore"):
                scores: FloatArray = case.scores.astype(dtype)
            value, grad = surrogate.value_and_grad(scores, case.labels, case.qptr)
            if not (np.isfinite(value).all() and np.isfinite(grad).all()):
                yield f"{case.name} in {dtype}: value {value}, gradient {grad}"


def _same_bits_for_any_threads(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
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


_LAWS: list[tuple[Callable[[Any, np.random.Generator, float], Iterator[str]], str | None]] = [
    (_gradient_sums_to_zero, "shift_invariant"),
    (_a_shift_changes_nothing, "shift_invariant"),
    (_permuting_documents_permutes_the_gradient, None),
    (_boosting_can_divide_by_the_curvature, None),
    (_a_query_alone_is_as_in_a_batch, None),
    (_float32_agrees_with_float64, None),
    (_value_in_the_unit_interval, "unit_interval"),
    (_no_smoothing_is_the_measure, "tends_to_measure"),
    (_convex_as_a_loss, "convex"),
    (_bounds_its_measure_from_below, "bound"),
    (_value_is_the_measure, "value_free"),
    (_nothing_is_nan, None),
    (_same_bits_for_any_threads, None),
]
