"""Invariants of surrogates, and a function that tests them for any surrogate.

In: a surrogate, which may be a user's own. Out: a dict that says for every invariant whether it was kept, or
why it was not tested; a broken one raises `LawBroken`:

>>> import directrix as dx
>>> laws = check_surrogate(dx.RankNet())
>>> laws["convex as a loss"], laws["nothing is nan"]
('kept', 'kept')
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from directrix.measures.terms import query_sums
from directrix.surrogates.base import wrong_shapes
from directrix.threads import get_threads, set_threads
from directrix.types import Float64Array, FloatArray, Int64Array, Surrogate

_PROPERTIES = {
    *("smooth", "convex", "convexifiable", "bound", "shift_invariant", "unit_interval", "tends_to_measure"),
    *("pulls_at_ties", "value_free", "random"),
}
# Largest difference between slope and gradient, relative to the norm of the gradient.
_SLOPE_TOLERANCE = 1e-5


class Case(NamedTuple):
    """Queries, and a name for messages."""

    name: str
    scores: Float64Array
    labels: Float64Array
    qptr: Int64Array


def random_cases(rng: np.random.Generator, highest: float = 3.0) -> Iterator[Case]:
    """Yield eight cases of five queries with up to 23 documents; every second one has the highest label."""
    for case in range(8):
        sizes = rng.integers(1, 24, size=5)
        qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        grades = [0.0, 1.0, 2.0, highest if case % 2 else 3.0]
        labels = rng.choice(grades, size=qptr[-1], p=[0.5, 0.25, 0.15, 0.1])
        yield Case(f"random {case}", rng.standard_normal(qptr[-1]), labels, qptr)


def hard_cases() -> Iterator[Case]:
    """Yield cases of one query: ties, equal labels, a single document, huge or tiny scores."""
    single, six = np.array([0, 1], dtype=np.int64), np.array([0, 6], dtype=np.int64)
    mixed = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0])
    ramp = np.arange(6.0)
    yield Case("one relevant document", np.array([0.5]), np.array([1.0]), single)
    yield Case("one irrelevant document", np.array([0.5]), np.array([0.0]), single)
    yield Case("all scores tied", np.zeros(6), mixed, six)
    yield Case("ties in pairs", np.floor(ramp / 2.0), mixed, six)
    yield Case("all labels equal", ramp, np.ones(6), six)
    yield Case("no relevant document", ramp, np.zeros(6), six)
    yield Case("scores of 1e30", np.where(ramp % 2 == 0, 1e30, -1e30), mixed, six)
    yield Case("all scores tied at 1e30", np.full(6, 1e30), mixed, six)
    yield Case("scores of 1e30 and 0", np.where(ramp % 2 == 0, 1e30, ramp), mixed, six)
    # The last two are denormal numbers, in float32 and in float64.
    for tiny in (1e-30, 1e-40, 1e-310):
        yield Case(f"scores of {tiny:g}", ramp * tiny, mixed, six)


def tied_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield cases of ordinary size in which documents of a query tie: some, in pairs, or all."""
    for case in random_cases(rng):
        yield case._replace(name=f"{case.name} with ties", scores=np.round(2.0 * case.scores) / 2.0)
    yield from (case for case in hard_cases() if case.name in ("all scores tied", "ties in pairs"))


def all_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield all random cases, then all hard ones."""
    yield from random_cases(rng)
    yield from hard_cases()


def without_function(surrogate: Surrogate) -> str:
    """Return why the gradient is not that of a function; empty if it is that of the value."""
    is_free = "value_free" in surrogate.properties
    return "value_free: lambdas, which are the gradient of no function" if is_free else ""


def permutations(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[tuple[Case, Int64Array]]:
    """Yield cases and other orders of their documents, without ties for lambdas."""
    for case in random_cases(rng) if without_function(surrogate) else all_cases(rng):
        yield case, np.concatenate([lo + rng.permutation(hi - lo) for _, lo, hi in each_query(case)])


def each_query(case: Case) -> Iterator[tuple[int, int, int]]:
    """Yield each query's number, its first document, and the end of its documents."""
    for q, (lo, hi) in enumerate(pairwise(case.qptr)):
        yield q, int(lo), int(hi)


def gradient_is_the_slope(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """Test functions: both one-sided slopes along a random direction agree with the gradient.

    Without the property smooth, this is tested only where no scores tie.
    """
    tied = tied_cases(rng) if "smooth" in surrogate.properties else ()
    # ERR rejects labels above its l_max.
    highest = min(getattr(getattr(surrogate, "measure", None), "l_max", 4.0), 4.0)
    for case in (*random_cases(rng, highest), *tied):
        direction = rng.standard_normal(len(case.scores))
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        slope = query_sums(np.asarray(grad, dtype=np.float64) * direction, case.qptr)
        # A floor keeps slopes of almost 0 from being compared in their last bits.
        scale = np.sqrt(query_sums(np.square(grad, dtype=np.float64), case.qptr)) + 1e-3
        # The step that balances rounding and curvature depends on the steepness; the best of several counts.
        sides = []
        for h in (1e-4, -1e-4, 1e-5, -1e-5, 1e-6, -1e-6, 1e-7, -1e-7):
            near, far = (
                surrogate.value_and_grad(case.scores + step * direction, case.labels, case.qptr)[0]
                for step in (h, 2.0 * h)
            )
            # This one-sided difference of three points has an error of the order of h squared.
            sides.append((4.0 * near - 3.0 * value - far) / (2.0 * h))
        # Steps alternate between the two sides.
        forward, backward = (np.array(sides[side::2]) for side in (0, 1))
        error = np.maximum(np.abs(forward - slope), np.abs(backward - slope)).min(axis=0) / scale
        if not error.max() <= _SLOPE_TOLERANCE:
            q = int(error.argmax())
            yield (
                f"{case.name}, query {q}: {slope[q]:.6g} in a direction, where one-sided slopes are "
                f"{backward[-1, q]:.6g} and {forward[-1, q]:.6g}"
            )


def gradient_sums_to_zero(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """Test shift_invariant: the slopes of the documents of a query cancel."""
    for case in all_cases(rng):
        _, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for q, lo, hi in each_query(case):
            total, size = float(grad[lo:hi].sum()), float(np.abs(grad[lo:hi]).sum())
            if not abs(total) <= 1e-10 * size + 1e-12:
                yield f"{case.name}, query {q}: the sum is {total:.3g}, of parts that add up to {size:.3g}"


def a_shift_changes_nothing(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """Test shift_invariant: adding a number to all scores of a query changes no value."""
    for case in random_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        moved, _ = surrogate.value_and_grad(case.scores + 0.75, case.labels, case.qptr)
        if np.abs(moved - value).max() > 1e-7:
            yield f"{case.name}: the value moves by {np.abs(moved - value).max():.1e}"


def value_in_the_unit_interval(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """Test unit_interval: values lie in [0, 1], like those of measures."""
    for case in all_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        if value.min() < 0.0 or value.max() > 1.0 + 1e-12:
            yield f"{case.name}: the values reach from {value.min()} to {value.max()}"


def no_smoothing_is_the_measure(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """Test tends_to_measure where no scores tie."""
    for case in random_cases(rng):
        # Distinct scores at least a unit apart, for which 1e-3 is no smoothing at all.
        scores = np.concatenate([rng.permutation(hi - lo) * 1.0 for _, lo, hi in each_query(case)])
        value, _ = surrogate.at(1e-3).value_and_grad(scores, case.labels, case.qptr)
        exact = np.nan_to_num(surrogate.measure(scores, case.labels, case.qptr))
        if np.abs(value - exact).max() > 1e-9:
            q = int(np.abs(value - exact).argmax())
            yield f"{case.name}, query {q}: {value[q]:.6f} instead of {exact[q]:.6f}"


def pulls_at_ties(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """Test pulls_at_ties: at equal scores, the gradient raises a relevant document, also in long lists.

    The gradient must be at least a hundredth of the steepness times the mean gain of a rank: the most that
    raising the document alone adds to the value, divided by the number of documents.
    """
    steepness = getattr(surrogate, "steepness", 1.0)
    for n in (10, 100, 2000):
        qptr, label = np.array([0, n], dtype=np.int64), np.zeros(n)
        label[rng.integers(n)] = 3.0
        value, grad = surrogate.value_and_grad(np.zeros(n), label, qptr)
        # Only higher scores of the relevant document are tried.
        rises = (at * label / steepness for at in (0.01, 0.1, 1.0, 10.0))
        gain = max(surrogate.value_and_grad(rise, label, qptr)[0][0] for rise in rises) - value[0]
        pull, needed = grad[label > 0.0][0], 0.01 * steepness * gain / n
        if not pull >= needed > 0.0:
            low = f"{n} documents with equal scores: the only relevant one is raised by {pull:.1e}"
            yield f"{low}, and raising it adds {gain:.1e} to the value; at least {needed:.1e} is needed"


def convex_as_a_loss(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """Test convex: values between two points lie above the chord, because values are minus losses."""
    for case in random_cases(rng):
        other = rng.standard_normal(len(case.scores))
        t = rng.random()
        a, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        b, _ = surrogate.value_and_grad(other, case.labels, case.qptr)
        between, _ = surrogate.value_and_grad(t * case.scores + (1 - t) * other, case.labels, case.qptr)
        if (between - (t * a + (1 - t) * b)).min() < -1e-9:
            yield f"{case.name}: {(between - (t * a + (1 - t) * b)).min():.1e} below its chord"


def below_its_tangents(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    """Test convex: no point lies above a plane that touches the value at another; no smoothness needed.

    Points are far away, and near in random directions, where the gradient must be the slope if there is one.
    """
    for case in all_cases(rng):
        at, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for other in _others(case.scores, rng):
            value, _ = surrogate.value_and_grad(other, case.labels, case.qptr)
            yield from _above(value, at, grad, other - case.scores, case)


def convexifiable(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """Test convexifiable: `convexify` gives a convex surrogate, never above, and equal at its scores."""
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
    # Near points test the slope, far ones the shape of the whole function.
    for length in (1e-5, 0.1, 30.0):
        yield scores + length * rng.standard_normal(len(scores))
    yield rng.standard_normal(len(scores))


def _above(
    value: Float64Array, at: Float64Array, grad: FloatArray, step: Float64Array, case: Case
) -> Iterator[str]:
    """Report a query with a value above the plane through ``at`` with this gradient, one step away."""
    rise = query_sums(grad * step, case.qptr)
    # Rounding grows with the terms of the difference, not with the difference itself.
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
    """Test bound where the measure has a value."""
    for case in all_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        exact = np.nan_to_num(surrogate.measure(case.scores, case.labels, case.qptr), nan=np.inf)
        if (value - exact).max() > 1e-9:
            yield f"{case.name}: above the measure by {(value - exact).max():.1e}"


def value_is_the_measure(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    """Test value_free: the lambdas belong to the exact measure."""
    for case in all_cases(rng):
        value, _ = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        exact = surrogate.measure(case.scores, case.labels, case.qptr)
        if not np.abs(value - exact).max() <= 1e-12:
            yield f"{case.name}: {value} instead of {exact}"


# The test of permutations averages over this number of draws of a random surrogate.
_ORDER_DRAWS = 64


class LawBroken(AssertionError):
    """A surrogate or a loss breaks invariants; the message lists every broken one with an example.

    Attributes
    ----------
    laws : dict of str to str
        Broken invariants of a loss (`directrix.torch.check_loss`) by name, with the findings.

    Examples
    --------
    >>> from directrix.laws import LawBroken
    >>> issubclass(LawBroken, AssertionError)
    True
    """

    laws: Mapping[str, str] = MappingProxyType({})


def check_surrogate(surrogate: Surrogate) -> dict[str, str]:
    """Test that a surrogate satisfies the invariants that its properties claim.

    Invariants of every surrogate:

    - The gradient is the slope to both sides in random directions where no scores tie (not if
      value_free).
    - Permuting documents permutes the gradient, also where scores tie (only where none do if value_free);
      if random, it does so exactly, or the mean over draws does.
    - A curvature, if there is one, is finite, >= 0, > 0 where there is a gradient, and permuted with
      the documents.
    - A query gives the same bits alone and in a batch, and no argument is changed.
    - float32 scores give the same results as float64 scores, up to rounding.
    - Nothing is NaN for random scores, ties, one document, equal labels, no relevant one, and scores of 1e30.
    - The bits are the same for one thread and for many.

    Invariants that a property claims:

    - smooth: the gradient is the slope to both sides where scores tie, too. Kinks elsewhere are not found.
    - shift_invariant: the gradient sums to 0 over a query, and a shift of all scores changes no value.
    - unit_interval: the value lies in [0, 1].
    - tends_to_measure: as smoothing -> 0 it is its measure where no scores tie.
    - pulls_at_ties: where all scores are equal, a relevant document is raised, in lists of any length.
    - convex, as a loss: it lies above its chords and below its tangent planes, which also holds for losses
      with corners.
    - convexifiable: convexified at some scores it is convex, nowhere above the original, and equal to it with
      the same gradient at those scores.
    - bound: it bounds its measure from below, on the hard queries too.
    - value_free: the lambdas are not the gradient of a function, and the value is the measure.
    - random: another draw gives another gradient, and the same draw gives the same bits.

    Parameters
    ----------
    surrogate : Surrogate
        With the property ``tends_to_measure`` it needs ``at(smoothing)`` and ``measure``; with ``bound`` or
        ``value_free``, ``measure``; with ``convexifiable``, ``prepare``, ``fill`` and ``convexify(scores,
        prepared, qptr)``; with ``random``, ``redraw(*numbers)``.

    Returns
    -------
    dict of str to str
        For each invariant "kept", perhaps only "where no scores tie", or "not tested" and why: a property
        that the surrogate does not claim, or that excludes the invariant.

    Raises
    ------
    LawBroken
        If an invariant is broken, or a property needs a member that is missing; the message lists each.

    Notes
    -----
    Most invariants are tested on 40 to 82 small queries, which takes milliseconds for a compiled kernel.

    Examples
    --------
    >>> import directrix as dx
    >>> laws = check_surrogate(dx.SmoothNDCG(sigma=1.0))
    >>> laws["gradient is the slope"], laws["convex as a loss"]
    ('kept where no scores tie', 'not tested: convex is not claimed')
    """
    if problem := _problem_of_form(surrogate):
        raise LawBroken(f"{surrogate!r} breaks\n- {problem}")
    rng, broken, report = np.random.default_rng(0), [], {}
    for test, condition in INVARIANTS:
        name = test.__name__.lstrip("_").replace("_", " ")
        if reason := condition(surrogate):
            report[name] = f"not tested: {reason}"
            continue
        broken += [f"{name}: {problem}" for problem in _first_problem(test, surrogate, rng)]
        without_ties = test in _AT_TIES and _AT_TIES[test](surrogate)
        report[name] = "kept where no scores tie" if without_ties else "kept"
    if broken:
        raise LawBroken(f"{surrogate!r} breaks\n- " + "\n- ".join(broken))
    return report


def _first_problem(test: Any, surrogate: Any, rng: np.random.Generator) -> list[str]:
    """Return the first problem that a test yields, or a message that the surrogate lacks a member."""
    try:
        return list(itertools.islice(test(surrogate, rng), 1))
    except AttributeError as error:
        # An error of another object is a fault in the surrogate's own code, and is raised as it is.
        if error.obj is not surrogate:
            raise
        return [f"the surrogate has no {error.name}, which it needs"]


def _problem_of_form(surrogate: Any) -> str:
    """Name missing members, or wrong shapes of value and gradient, which no test could bear; "" for none."""
    if isinstance(surrogate, type):
        return "it is a class; an object of it is needed"
    lacking = [name for name in ("value_and_grad", "properties") if not hasattr(surrogate, name)]
    if lacking:
        return f"it has no {' and no '.join(lacking)}, which every surrogate needs"
    case = next(random_cases(np.random.default_rng(0)))
    copies = [array.copy() for array in case[1:]]
    outcome = surrogate.value_and_grad(*copies)
    if wrong := wrong_shapes(outcome, len(case.qptr) - 1, len(case.scores)):
        return wrong
    kinds = [str(getattr(output, "dtype", type(output).__name__)) for output in outcome]
    if kinds != ["float64", "float64"]:
        return f"value and gradient of float64 scores must be float64 arrays, got {' and '.join(kinds)}"
    changed = [n for n, a, b in zip(case._fields[1:], case[1:], copies, strict=True) if (a != b).any()]
    if changed:
        return f"value_and_grad changes the {' and '.join(changed)}; it must write to copies of them"
    properties = surrogate.properties
    if isinstance(properties, frozenset | set) and properties <= _PROPERTIES:
        return ""
    names = ", ".join(sorted(_PROPERTIES))
    return f"properties must be a frozenset of names among {names}, got {properties!r}"


def _permuting_documents_permutes_the_gradient(
    surrogate: Surrogate, rng: np.random.Generator
) -> Iterator[str]:
    for case, order in permutations(surrogate, rng):
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        # A slope of 0 may become 1e-17 in another order of its sum, so the tolerance has a floor.
        size = np.abs(grad).max() + 1e-6
        limits = 1e-10 * (1.0 + np.abs(value)), np.full(len(grad), 1e-9 * size)
        error = _moved(
            lambda drawn, *query: drawn.value_and_grad(*query), surrogate, case, order, np.concatenate(limits)
        )
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


def _curvature(surrogate: Any, scores: Float64Array, labels: Float64Array, qptr: Int64Array) -> Any:
    return np.zeros(0), surrogate.value_grad_curvature(scores, surrogate.prepare(labels, qptr), qptr)[2]


def _moved(
    outcome: Callable[..., tuple[Float64Array, FloatArray]],
    surrogate: Any,
    case: Case,
    order: Int64Array,
    limits: Float64Array,
) -> float:
    """Largest difference above ``limits`` that another order of the documents causes; 0 if there is none.

    If noise belongs to positions, another order has other noise: for a random surrogate, the mean over
    samples may differ by six standard errors.
    """

    def difference(drawn: Any) -> Float64Array:
        value, docs = outcome(drawn, case.scores, case.labels, case.qptr)
        other, mixed = outcome(drawn, case.scores[order], case.labels[order], case.qptr)
        return np.concatenate([value - other, docs[order] - mixed])

    moved = difference(surrogate)
    # A surrogate with noise by position passes if the mean over draws differs only by chance.
    if "random" in surrogate.properties and (np.abs(moved) > limits).any():
        moves = np.array([difference(surrogate.redraw(draw)) for draw in range(_ORDER_DRAWS)])
        moved, limits = moves.mean(axis=0), limits + 6.0 * moves.std(axis=0) / np.sqrt(_ORDER_DRAWS)
    return float(np.abs(moved)[~(np.abs(moved) <= limits)].max(initial=0.0))


def _a_query_alone_is_as_in_a_batch(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    for case in random_cases(rng):
        value, grad = surrogate.value_and_grad(case.scores, case.labels, case.qptr)
        for q, lo, hi in each_query(case):
            alone = np.array([0, hi - lo], dtype=np.int64)
            v, g = surrogate.value_and_grad(case.scores[lo:hi], case.labels[lo:hi], alone)
            if v[0] != value[q] or not np.array_equal(g, grad[lo:hi]):
                yield f"{case.name}, query {q}: {float(v[0])!r} alone, {float(value[q])!r} in the batch"


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
            for q, lo, hi in each_query(case):
                if not (np.isfinite(value[q]) and np.isfinite(grad[lo:hi]).all()):
                    yield (
                        f"{case.name} in {dtype}, query {q}: value {value[q]} and gradient {grad[lo:hi]} for "
                        f"the scores {scores[lo:hi]} and the labels {case.labels[lo:hi]}"
                    )


def _draws_differ(surrogate: Any, rng: np.random.Generator) -> Iterator[str]:
    qptr = np.array([0, 30], dtype=np.int64)
    scores, labels = rng.standard_normal(30), np.arange(30.0) % 3
    drawn = [surrogate.redraw(*numbers) for numbers in ((1, 2), (1, 2), (1, 3), (2, 2))]
    first, again, *others = (redrawn.value_and_grad(scores, labels, qptr)[1] for redrawn in drawn)
    if not np.array_equal(first, again):
        yield "the same draw gives other bits"
    if any(np.array_equal(first, other) for other in others):
        yield "another draw gives the same gradient"


def _same_bits_for_any_threads(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[str]:
    # Some 12,000 documents, which are several chunks for the threads to share.
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
        same = np.array_equal(value, results[0][0], equal_nan=True)
        if not (same and np.array_equal(grad, results[0][1], equal_nan=True)):
            yield "the bits differ between one thread and several"


def _always(surrogate: Surrogate) -> str:
    return ""


def _claims(name: str) -> Callable[[Surrogate], str]:
    return lambda surrogate: "" if name in surrogate.properties else f"{name} is not claimed"


INVARIANTS: list[tuple[Callable[..., Iterator[str]], Callable[[Surrogate], str]]] = [
    (gradient_is_the_slope, without_function),
    (gradient_sums_to_zero, _claims("shift_invariant")),
    (a_shift_changes_nothing, _claims("shift_invariant")),
    (_permuting_documents_permutes_the_gradient, _always),
    (
        _boosting_can_divide_by_the_curvature,
        lambda surrogate: "" if hasattr(surrogate, "value_grad_curvature") else "it has no curvature",
    ),
    (_a_query_alone_is_as_in_a_batch, _always),
    (_float32_agrees_with_float64, _always),
    (value_in_the_unit_interval, _claims("unit_interval")),
    (no_smoothing_is_the_measure, _claims("tends_to_measure")),
    (pulls_at_ties, _claims("pulls_at_ties")),
    (convex_as_a_loss, _claims("convex")),
    (below_its_tangents, _claims("convex")),
    (convexifiable, _claims("convexifiable")),
    (bounds_its_measure_from_below, _claims("bound")),
    (value_is_the_measure, _claims("value_free")),
    (_draws_differ, _claims("random")),
    (_nothing_is_nan, _always),
    (_same_bits_for_any_threads, _always),
]
"""Invariants, and functions of a surrogate that return why one is not tested; empty if it is."""
_AT_TIES: dict[Callable[..., Iterator[str]], Callable[[Surrogate], str]] = {
    gradient_is_the_slope: _claims("smooth"),
    _permuting_documents_permutes_the_gradient: without_function,
    _boosting_can_divide_by_the_curvature: without_function,
}
"""The same for those that are not always tested where scores tie."""
