"""Laws of slopes, and laws that a trait claims.

Every law yields a sentence for each case in which a surrogate breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from directrix.laws.cases import Case, all_cases, each_query, random_cases, tied_cases
from directrix.measures.terms import query_sums
from directrix.types import Float64Array, FloatArray, Int64Array, Surrogate

_DRAWS = 512
"""Draws over which the law of estimates takes means."""


def gradient_is_the_slope(surrogate: Surrogate, rng: np.random.Generator, rtol: float) -> Iterator[str]:
    """Every function: both one-sided slopes along a random direction agree with the gradient.

    Without the trait smooth, only where no scores tie.
    """
    tied = tied_cases(rng) if "smooth" in surrogate.traits else ()
    for case in (*random_cases(rng), *tied):
        direction = rng.standard_normal(len(case.scores))
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        slope = query_sums(np.asarray(grad, dtype=np.float64) * direction, case.qptr)
        scale = np.sqrt(query_sums(np.square(grad, dtype=np.float64), case.qptr)) + 1e-3
        # Which step balances rounding and curvature depends on the steepness; the best of them counts.
        sides = []
        for h in (1e-4, -1e-4, 1e-5, -1e-5, 1e-6, -1e-6, 1e-7, -1e-7):
            near, far = (
                surrogate.value_and_grad(case.scores + step * direction, case.labels, case.qptr)[0]
                for step in (h, 2.0 * h)
            )
            sides.append((4.0 * near - 3.0 * value - far) / (2.0 * h))
        forward, backward = (np.array(sides[side::2]) for side in (0, 1))
        error = np.maximum(np.abs(forward - slope), np.abs(backward - slope)).min(axis=0) / scale
        if not error.max() <= rtol:
            q = int(error.argmax())
            yield (
                f"{case.name}, query {q}: {slope[q]:.6g} in a direction, where one-sided slopes are "
                f"{backward[-1, q]:.6g} and {forward[-1, q]:.6g}"
            )


def mean_gradient_is_the_slope_of_the_mean(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """estimated: over draws of the noise, in the direction of the labels; to six standard errors."""
    qptr = np.arange(0, 97, 12, dtype=np.int64)
    scores = rng.standard_normal(96)
    labels = rng.choice([0.0, 1.0, 2.0, 3.0], size=96, p=[0.5, 0.25, 0.15, 0.1])
    direction = (labels - labels.mean()) / labels.std() / 4.0
    step = 0.5 / getattr(surrogate, "steepness", 1.0)
    claimed, slope = np.empty((2, _DRAWS))
    for draw in range(_DRAWS):
        drawn = surrogate.redraw(draw)
        claimed[draw] = drawn.value_and_grad(scores, labels, qptr)[1] @ direction
        up, down = (
            drawn.value_and_grad(scores + sign * step * direction, labels, qptr)[0].sum() for sign in (1, -1)
        )
        slope[draw] = (up - down) / (2.0 * step)
    error = (slope - claimed).std() / np.sqrt(_DRAWS)
    if not abs(slope.mean() - claimed.mean()) <= 6.0 * error:
        yield f"{claimed.mean():.4g} in a direction, where the slope is {slope.mean():.4g} +- {error:.2g}"


def gradient_sums_to_zero(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """shift_invariant: the slopes of the documents of a query cancel."""
    for case in all_cases(rng):
        _, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for q, lo, hi in each_query(case):
            total, size = float(grad[lo:hi].sum()), float(np.abs(grad[lo:hi]).sum())
            if not abs(total) <= 1e-10 * size + 1e-12:
                yield f"{case.name}, query {q}: the sum is {total:.3g}, of parts that add up to {size:.3g}"


def a_shift_changes_nothing(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """shift_invariant: the same number added to all scores of a query."""
    for case in random_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        moved, _ = surrogate.value_and_grad(case.scores + 0.75, case.labels, case.qptr)
        if np.abs(moved - value).max() > 1e-7:
            yield f"{case.name}: the value moves by {np.abs(moved - value).max():.1e}"


def value_in_the_unit_interval(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """unit_interval: values lie in [0, 1], as those of measures."""
    for case in all_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        if value.min() < 0.0 or value.max() > 1.0 + 1e-12:
            yield f"{case.name}: the values reach from {value.min()} to {value.max()}"


def no_smoothing_is_the_measure(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """tends_to_measure: where no scores tie."""
    for case in random_cases(rng):
        # Distinct scores at least a unit apart, for which 1e-3 is no smoothing at all.
        scores = np.concatenate([rng.permutation(hi - lo) * 1.0 for _, lo, hi in each_query(case)])
        value, _ = surrogate.at(1e-3).value_and_grad(scores, case.labels, case.qptr)
        exact = np.nan_to_num(surrogate.measure(scores, case.labels, case.qptr))
        if np.abs(value - exact).max() > 1e-9:
            q = int(np.abs(value - exact).argmax())
            yield f"{case.name}, query {q}: {value[q]:.6f} instead of {exact[q]:.6f}"


def pulls_at_ties(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """pulls_at_ties: where all scores are equal, the gradient raises a relevant document, in long lists too.

    At least by a hundredth of the steepness times the mean worth of a rank: what the document gains from the
    last rank to the first, over the number of documents.
    """
    steepness = getattr(surrogate, "steepness", 1.0)
    for n in (10, 100, 2000):
        qptr, label = np.array([0, n], dtype=np.int64), np.zeros(n)
        label[rng.integers(n)] = 3.0
        last, first = (
            surrogate.value_and_grad(at * label / steepness, label, qptr)[0][0] for at in (-30, 30)
        )
        pull = surrogate.value_and_grad(np.zeros(n), label, qptr)[1][label > 0.0][0]
        if not pull >= 0.01 * steepness * (first - last) / n > 0.0:
            yield f"{n} documents with equal scores: the only relevant one is raised by {pull:.1e}"


def convex_as_a_loss(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """convex: values between two points lie above the chord, as values are minus losses."""
    for case in random_cases(rng):
        other = rng.standard_normal(len(case.scores))
        t = rng.random()
        a, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        b, _ = surrogate.value_and_grad(other, case.labels, case.qptr)
        between, _ = surrogate.value_and_grad(t * case.scores + (1 - t) * other, case.labels, case.qptr)
        if (between - (t * a + (1 - t) * b)).min() < -1e-9:
            yield f"{case.name}: {(between - (t * a + (1 - t) * b)).min():.1e} below its chord"


def below_its_tangents(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """convex: no point lies above a plane that touches the value at another; needs no smoothness.

    Points are far away, and near in random directions, where the gradient must be the slope if there is one.
    """
    for case in all_cases(rng):
        at, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for other in _others(case.scores, rng):
            value, _ = surrogate.value_and_grad(other, case.labels, case.qptr)
            yield from _above(value, at, grad, other - case.scores, case)


def convexifiable(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """convexifiable: `convexify` at some scores gives a convex surrogate, nowhere above, equal there."""
    for case in all_cases(rng):
        prepared, qptr = surrogate.prepare(case.labels, case.qptr), case.qptr
        convex = surrogate.convexify(case.scores, prepared, qptr)
        at, grad = _filled(surrogate, case.scores, prepared, qptr)
        value, slope = _filled(surrogate, case.scores, convex, qptr)
        size = 1.0 + np.abs(at).max()
        if np.abs(value - at).max() > 1e-12 * size or np.abs(grad - slope).max() > 1e-9 * size:
            yield f"{case.name}: convexified, it is {value} with the gradient {slope}, not {at} with {grad}"
        for other in _others(case.scores, rng):
            free, _ = _filled(surrogate, other, prepared, qptr)
            below, _ = _filled(surrogate, other, convex, qptr)
            if (below - free > 1e-12 * (1.0 + np.abs(free))).any():
                yield f"{case.name}: convexified, it is above the surrogate by {(below - free).max():.1e}"
            yield from _above(below, value, slope, other - case.scores, case)


def _others(scores: Float64Array, rng: np.random.Generator) -> Iterator[Float64Array]:
    for length in (1e-5, 0.1, 30.0):
        yield scores + length * rng.standard_normal(len(scores))
    yield rng.standard_normal(len(scores))


def _above(
    value: Float64Array, at: Float64Array, grad: FloatArray, step: Float64Array, case: Case
) -> Iterator[str]:
    """Report a query whose value is above the plane through ``at`` with this gradient, a step away."""
    rise = query_sums(grad * step, case.qptr)
    rounding = 1e-12 * (1.0 + np.abs(value) + np.abs(at) + query_sums(np.abs(grad * step), case.qptr))
    over = value - at - rise
    if (over > rounding).any():
        q = int((over / rounding).argmax())
        yield f"{case.name}, query {q}: {over[q]:.1e} above the plane that touches it {step} away"


def _filled(
    surrogate: Any, scores: Float64Array, prepared: Any, qptr: Int64Array
) -> tuple[Float64Array, Float64Array]:
    out = np.zeros(len(qptr) - 1), np.zeros_like(scores)
    surrogate.fill(scores, prepared, qptr, (0, len(qptr) - 1), out)
    return out


def bounds_its_measure_from_below(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """bound: where the measure has a value."""
    for case in all_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        exact = np.nan_to_num(surrogate.measure(case.scores, case.labels, case.qptr), nan=np.inf)
        if (value - exact).max() > 1e-9:
            yield f"{case.name}: above the measure by {(value - exact).max():.1e}"


def value_is_the_measure(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """value_free: the forces belong to the exact measure."""
    for case in all_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        exact = surrogate.measure(case.scores, case.labels, case.qptr)
        if not np.abs(value - exact).max() <= 1e-12:
            yield f"{case.name}: {value} instead of {exact}"
