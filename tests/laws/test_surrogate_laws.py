"""Every surrogate keeps every law it claims, and each law is able to fail."""

import dataclasses
import itertools
import re
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import directrix as dx
from directrix.laws.check import INVARIANTS, LawBroken, check_surrogate, convexifiable, pulls_at_ties
from directrix.registry import SURROGATES, classes
from directrix.surrogates.base import spread_curvature
from directrix.surrogates.lambdas import LambdaLoss
from directrix.surrogates.losses import XENDCG
from tests.reference import cases, references

COUNTER = itertools.count()
REFERENCES = references()
CASES = cases()


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_surrogates_keep_the_laws(surrogate):
    if getattr(surrogate, "sigmoid", None) == "arctan":
        # Tails of 1/z: at smoothing 1e-3 the ranks are still off by (n - 1)/(1000 pi).
        surrogate = _Without("tends_to_measure", surrogate)
    check_surrogate(surrogate)


def test_a_measure_of_your_own_keeps_the_laws():
    own = dx.define_measure("OwnLaws", discount=lambda x: 1 / x, slope=lambda x: -1 / x**2)
    check_surrogate(dx.ApproxMeasure(own, alpha=3.0))
    check_surrogate(dx.ApproxMeasure(own @ 2, alpha=3.0))
    check_surrogate(dx.Lambda(own @ 2))


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize(
    "cut",
    [
        lambda k, **below: dx.ApproxNDCG(k=k, **below),
        lambda k, **below: dx.ApproxPrecision(k=k, **below),
        lambda k, **below: dx.ApproxMeasure(f"nDCG@{k}", **below),
        lambda k, **below: dx.ApproxMeasure(f"R@{k}", **below),
        lambda k, **below: dx.SoftNDCG(k=k, **below),
    ],
)
def test_the_papers_form_of_a_cut_off_does_not_pull_at_ties_and_a_share_of_the_discount_does(cut, k):
    assert "pulls_at_ties" not in cut(k).properties
    assert list(pulls_at_ties(cut(k), np.random.default_rng(0)))
    for pulling in (cut(k, below=0.9), cut(k).with_share(0.9), cut(k).with_share(0.3)):
        assert "pulls_at_ties" in pulling.properties
        check_surrogate(pulling)


@pytest.mark.parametrize(
    "surrogate",
    [dx.ApproxNDCG(k=5), dx.ApproxPrecision(k=3), dx.ApproxMeasure("nDCG@5"), dx.SoftNDCG(sigma=0.1, k=5)],
    ids=repr,
)
def test_the_default_is_the_papers_function_which_is_close_to_the_measure(surrogate):
    scores, rng = np.random.default_rng(0).standard_normal(40), np.random.default_rng(1)
    labels, qptr = rng.integers(0, 4, 40).astype(float), np.array([0, 40])
    value, _ = surrogate.value_and_grad(scores, labels, qptr)
    expected = REFERENCES[type(surrogate).__name__].of(surrogate, scores, labels)
    np.testing.assert_allclose(value, [expected], rtol=1e-11)
    np.testing.assert_allclose(value, surrogate.measure(scores, labels, qptr), rtol=0, atol=0.15)
    assert abs(surrogate.with_share(0.9).value_and_grad(scores, labels, qptr)[0][0] - expected) > 0.2


def test_every_surrogate_is_tested():
    assert {type(case).__name__ for case in CASES} == set(SURROGATES)


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_values_are_those_of_the_naive_loops(surrogate):
    reference, rng = REFERENCES[type(surrogate).__name__], np.random.default_rng(1)
    for _ in range(4):
        sizes = rng.integers(1, reference.largest + 1, size=5)
        qptr = np.concatenate([[0], np.cumsum(sizes)])
        scores, labels = rng.standard_normal(qptr[-1]), rng.integers(0, 4, qptr[-1]).astype(float)
        value, _ = surrogate.value_and_grad(scores, labels, qptr)
        expected = [reference.of(surrogate, scores[a:b], labels[a:b]) for a, b in pairwise(qptr)]
        np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-12)


def test_a_surrogate_without_a_reference_is_an_error_that_says_what_to_add(monkeypatch):
    monkeypatch.setitem(SURROGATES, "RankMagic", "surrogates.magic")
    with pytest.raises(
        LookupError, match=r"(?s)no naive reference for RankMagic: .*tests/reference.*REFERENCES"
    ):
        references()


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_repr_parses_back(surrogate):
    assert dx.surrogate(repr(surrogate)) == surrogate
    assert hash(dx.surrogate(repr(surrogate))) == hash(surrogate)


@dataclasses.dataclass(frozen=True)
class _Without:
    """A surrogate that claims one property less."""

    claim: str
    inner: object

    @property
    def properties(self):
        return self.inner.properties - {self.claim}

    def __getattr__(self, name):
        return getattr(self.inner, name)


@dataclasses.dataclass(frozen=True)
class _Margin:
    """A squared hinge of the differences of labels, without a lower bound; or only a share of its slope."""

    margin: float = 1.0
    share: float = 1.0
    properties = frozenset({"convex", "shift_invariant", "pulls_at_ties"})
    measure = dx.NDCG()

    def value_and_grad(self, scores, labels, qptr):
        value, grad = np.zeros(len(qptr) - 1), np.zeros_like(scores)
        for q, (lo, hi) in enumerate(pairwise(qptr)):
            s, y = scores[lo:hi].astype(float), labels[lo:hi]
            gap = np.maximum(y[:, None] - y, 0.0)
            short = np.where(gap > 0, np.maximum(0.0, self.margin * gap - (s[:, None] - s)), 0.0)
            n_pairs = max((gap > 0).sum(), 1)
            value[q] = -(short**2).sum() / n_pairs
            grad[lo:hi] = self.share * 2.0 * (short.sum(axis=1) - short.sum(axis=0)) / n_pairs
        return value, grad


@pytest.mark.parametrize("margin", [1e-3, 0.5, 1.0, 2.0, 50.0])
def test_a_margin_of_any_size_pulls_at_ties(margin):
    check_surrogate(_Margin(margin))


@pytest.mark.parametrize("share", [0.0, 1e-5, -1.0])
def test_too_small_a_slope_at_ties_is_reported_with_the_required_one(share):
    """Raising the document adds (2 x 3)^2 = 36; the slope is 2 x 6, and .01 x 36 / 10 is required."""
    found = next(pulls_at_ties(_Margin(2.0, share), np.random.default_rng(0)))
    assert found == (
        f"10 documents with equal scores: the only relevant one is raised by {12 * share:.1e}, and raising "
        "it adds 3.6e+01 to the value; at least 3.6e-02 is needed"
    )


@dataclasses.dataclass(frozen=True)
class _Mutant:
    """ApproxNDCG with a mistake planted in it."""

    name: str
    change: object
    alpha: float = 3.0
    bend: object = staticmethod(lambda h: h)

    @property
    def properties(self):
        claims = {"smooth", "shift_invariant", "tends_to_measure", "unit_interval", "convex", "bound"}
        claims |= {"convexifiable", "pulls_at_ties"}
        return frozenset(claims | {"value_free"} if self.name == "value is the measure" else claims)

    @property
    def measure(self):
        return dx.NDCG()

    def at(self, smoothing):
        return dataclasses.replace(self, alpha=1 / smoothing)

    def value_and_grad(self, scores, labels, qptr):
        value, grad = dx.ApproxNDCG(alpha=self.alpha).value_and_grad(scores, labels, qptr)
        return self.change(value.copy(), grad.copy(), np.asarray(scores), np.asarray(qptr))

    def prepare(self, labels, qptr):
        return labels

    def convexify(self, scores, prepared, qptr):
        return prepared

    def fill(self, scores, prepared, qptr, chunk, out):
        out[0][:], out[1][:] = self.value_and_grad(scores, prepared, qptr)

    def value_grad_curvature(self, scores, prepared, qptr):
        value, grad = self.value_and_grad(scores, prepared, qptr)
        return value, grad, self.bend(spread_curvature(grad, qptr, self.alpha))


@dataclasses.dataclass(frozen=True)
class _Changed(_Without):
    """A surrogate with these properties and another value and gradient."""

    properties: frozenset = frozenset()
    change: object = staticmethod(lambda v, g: (v, g))

    def redraw(self, *numbers):
        return dataclasses.replace(self, inner=self.inner.redraw(*numbers))

    def value_and_grad(self, scores, labels, qptr):
        return self.change(*self.inner.value_and_grad(scores, labels, qptr))


@pytest.mark.parametrize("claims", [(), ("shift_invariant",), ("smooth",), ("random",)])
@pytest.mark.parametrize(
    "surrogate",
    [dx.ApproxNDCG(), dx.SVMMap(), dx.SmoothAP(), LambdaLoss(), dx.Dorm(), XENDCG()],
    ids=repr,
)
@pytest.mark.parametrize("change", [lambda g: -g, lambda g: -g + 1, lambda g: 0 * g, lambda g: 1.001 * g])
def test_a_gradient_is_tested_whatever_is_claimed(surrogate, change, claims):
    wrong = _Changed("", surrogate, frozenset(claims), lambda v, g: (v, change(g)))
    with pytest.raises(LawBroken, match="- gradient is the slope: random"):
        check_surrogate(wrong)


@pytest.mark.parametrize(
    "surrogate", [dx.SmoothNDCG(), dx.SmoothAP(), dx.RankCosine(), dx.Dorm(), dx.SVMRoc()]
)
def test_kinks_at_ties_are_not_smooth(surrogate):
    """As in SmoothRank: which document has a rank changes where two scores are equal."""
    report = check_surrogate(surrogate)
    assert report["gradient is the slope"] == "kept where no scores tie"
    with pytest.raises(LawBroken, match=r"- gradient is the slope: .*tie.* where one-sided slopes are"):
        check_surrogate(_Changed("", surrogate, surrogate.properties | {"smooth"}))


def test_laws_that_are_not_tested_are_listed():
    report = check_surrogate(dx.Lambda())
    assert set(report) == {law.__name__.lstrip("_").replace("_", " ") for law, _ in INVARIANTS}
    assert (
        report["gradient is the slope"]
        == "not tested: value_free: lambdas, which are the gradient of no function"
    )
    assert report["permuting documents permutes the gradient"] == "kept where no scores tie"
    assert (report["convex as a loss"], report["nothing is nan"]) == (
        "not tested: convex is not claimed",
        "kept",
    )


def _last_document_forgotten(value, grad, scores, qptr):
    grad[qptr[1:] - 1] = 0
    return value, grad


def _threaded(value, grad, scores, qptr):
    return value * (1 + 1e-15 * dx.get_threads()), grad


MUTANTS = {
    "gradient is the slope": lambda v, g, s, p: (v, 0.999 * g),
    "gradient sums to zero": lambda v, g, s, p: (v, g + 1e-6),
    "a shift changes nothing": lambda v, g, s, p: (v + 1e-3 * s[p[:-1]], g),
    "permuting documents permutes the gradient": _last_document_forgotten,
    "a query alone is as in a batch": lambda v, g, s, p: (v + 1e-9 * len(v), g),
    "float32 agrees with float64": lambda v, g, s, p: (v, g.astype(np.float64)),
    "value in the unit interval": lambda v, g, s, p: (v * 1.5, g),
    "no smoothing is the measure": lambda v, g, s, p: (v * 0.99, g),
    "pulls at ties": lambda v, g, s, p: (v, 1e-4 * g),
    "convex as a loss": lambda v, g, s, p: (v, g),
    "below its tangents": lambda v, g, s, p: (v, g),
    "convexifiable": lambda v, g, s, p: (v, g),
    "bounds its measure from below": lambda v, g, s, p: (v, g),
    "nothing is nan": lambda v, g, s, p: (v, g * np.where((np.abs(s) > 1.5) & (s % 1 > 0), np.nan, 1)),
    "same bits for any threads": _threaded,
    "value is the measure": lambda v, g, s, p: (v, g),
}


@pytest.mark.parametrize("law", MUTANTS)
def test_every_law_can_fail(law):
    with pytest.raises(LawBroken, match=f"- {law}: "):
        check_surrogate(_Mutant(law, MUTANTS[law]))


@pytest.mark.parametrize("surrogate", [dx.RankNet(), dx.SVMMap(), dx.SVMRoc(), dx.SVMNdcg()], ids=repr)
@pytest.mark.parametrize("factor", [0.999, 1.001, -1.0, 0.0])
def test_tangents_find_wrong_gradients_with_and_without_corners(surrogate, factor):
    class Wrong(_Without):
        def value_and_grad(self, scores, labels, qptr):
            value, grad = self.inner.value_and_grad(scores, labels, qptr)
            return value, factor * grad

    with pytest.raises(LawBroken, match="- below its tangents: "):
        check_surrogate(Wrong("smooth", surrogate))


@dataclasses.dataclass(frozen=True)
class _Folded:
    """SVMRoc's value + |first score - last score|: convex as a loss once the sign is held."""

    held: str = "sign"
    properties = frozenset({"convexifiable"})

    def prepare(self, labels, qptr):
        return dx.SVMRoc().prepare(labels, qptr), None

    def convexify(self, scores, prepared, qptr):
        sign = np.sign(scores[qptr[:-1]] - scores[qptr[1:] - 1])
        out = np.zeros(len(qptr) - 1), np.zeros_like(scores)
        self.fill(scores, prepared, qptr, (0, len(qptr) - 1), out)
        low = scores, out[0] - 1e-6, out[1]
        by_name = {"sign": sign, "half": 0.5 * sign, "free": None, "plane": (scores, *out), "low": low}
        return prepared[0], by_name[self.held]

    def fill(self, scores, prepared, qptr, chunk, out):
        if isinstance(prepared[1], tuple):
            at, value, out[1][:] = prepared[1]
            out[0][:] = value + np.add.reduceat(out[1] * (scores - at), qptr[:-1])
            return
        dx.SVMRoc().fill(scores, prepared[0], qptr, chunk, out)
        gap = scores[qptr[:-1]] - scores[qptr[1:] - 1]
        sign = np.sign(gap) if prepared[1] is None else prepared[1]
        out[0][:] += sign * gap
        out[1][qptr[:-1]] += sign
        out[1][qptr[1:] - 1] -= sign


def test_a_convexifiable_surrogate_keeps_that_law():
    assert not list(convexifiable(_Folded(), np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ("half", "convexified, it is .* not"),
        ("low", "convexified, it is .* not"),
        ("plane", "above the surrogate"),
        ("free", "above the plane"),
    ],
)
def test_what_is_held_can_be_wrong_in_four_ways(held, message):
    broken = list(convexifiable(_Folded(held), np.random.default_rng(0)))
    assert re.search(message, broken[0], re.DOTALL)


BENT = {
    "negative": lambda h: -h,
    "zero": lambda h: 0.0 * h,
    "nan": lambda h: h * np.nan,
    "infinite": lambda h: h * np.inf,
    "by place": lambda h: h * np.arange(1.0, len(h) + 1.0),
}


@pytest.mark.parametrize("bend", BENT)
def test_the_law_of_curvatures_can_fail(bend):
    with pytest.raises(LawBroken, match="- boosting can divide by the curvature: "):
        check_surrogate(_Mutant("curvature", lambda v, g, s, p: (v, g), bend=BENT[bend]))


def test_the_order_of_tied_documents_can_break_a_law():
    """A mistake that only tied documents feel: the first of them is pulled."""

    def first_of_ties(value, grad, scores, qptr):
        grad[0] += 1e-3 * (scores[0] == scores[-1])
        return value, grad

    with pytest.raises(LawBroken, match="- permuting documents permutes the gradient: all scores tied"):
        check_surrogate(_Mutant("ties", first_of_ties))


@pytest.mark.parametrize(
    ("draw", "message"),
    [(lambda _: 0, "another draw gives the same gradient"), (lambda _: next(COUNTER), "other bits")],
)
def test_the_law_of_draws_can_fail(draw, message):
    class Drawn(_Without):
        def redraw(self, *numbers):
            return dataclasses.replace(self.inner, draw=draw(numbers))

    with pytest.raises(LawBroken, match=f"- draws differ: .*{message}"):
        check_surrogate(Drawn("", dx.YetiRank()))


def test_noise_does_not_hide_that_a_document_is_forgotten():
    """Of a random surrogate the law of permutations compares means over draws."""

    class Forgetful(_Without):
        def redraw(self, *numbers):
            return Forgetful("", self.inner.redraw(*numbers))

        def value_and_grad(self, scores, labels, qptr):
            value, grad = self.inner.value_and_grad(scores, labels, qptr)
            return _last_document_forgotten(value, grad, scores, qptr)

    check_surrogate(XENDCG())
    with pytest.raises(LawBroken, match="- permuting documents permutes the gradient: "):
        check_surrogate(Forgetful("", XENDCG()))


def test_every_law_has_a_mutant():
    laws = {law.__name__.lstrip("_").replace("_", " ") for law, _ in INVARIANTS}
    others = {
        "boosting can divide by the curvature",
        "draws differ",
    }
    assert set(MUTANTS) | others == laws


def test_every_surrogate_has_defaults():
    """`surrogate("Name")` needs no arguments; messages name the surrogate of a measure that way."""
    for name, kind in classes(SURROGATES).items():
        assert dx.surrogate(name) == kind()


@dataclass(frozen=True)
class Bare:
    """A surrogate with nothing but what every one has."""

    properties: frozenset = frozenset()

    def value_and_grad(self, scores, labels, qptr):
        """Return the value of every query and the gradient."""
        return np.zeros(len(qptr) - 1), np.zeros_like(scores)


def _with_labels_at_most_one(scores, labels, qptr):
    labels[:] = np.minimum(labels, 1.0)
    return np.zeros(len(qptr) - 1), np.zeros_like(scores)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (_with_labels_at_most_one, "changes the labels; it must write to copies"),
        (lambda s, y, p: (np.zeros(len(p) - 1, "f"), 0 * s), "be float64 .*, got float32 and float64"),
        (lambda s, y, p: ([0.0] * (len(p) - 1), 0 * s), "be float64 .*, got list and float64"),
        (lambda s, y, p: (0.0, 0 * s), r"must have the shapes \(5,\) .*, got \(\) and"),
        (lambda s, y, p: np.zeros(len(p) - 1), "must have the shapes .*, got array"),
        (lambda s, y, p: None, "must have the shapes .*, got None"),
    ],
)
def test_the_form_of_value_and_gradient_is_tested(outcome, message):
    class Formed(Bare):
        def value_and_grad(self, scores, labels, qptr):
            return outcome(scores, labels, qptr)

    with pytest.raises(LawBroken, match=message):
        check_surrogate(Formed())


@pytest.mark.parametrize("grade", [1.0, 2.0, 3.0, 4.0])
def test_every_grade_from_0_to_4_is_tested(grade):
    class Forgets(_Without):
        def value_and_grad(self, scores, labels, qptr):
            value, grad = self.inner.value_and_grad(scores, labels, qptr)
            return value, np.where(labels == grade, 0.0, grad).astype(scores.dtype)

    with pytest.raises(LawBroken, match="- gradient is the slope: "):
        check_surrogate(Forgets("", dx.ApproxNDCG(alpha=3.0)))


@pytest.mark.parametrize(
    ("claimed", "lacking"),
    [
        ("tends_to_measure", "no smoothing is the measure: the surrogate has no at"),
        ("bound", "bounds its measure from below: the surrogate has no measure"),
        ("value_free", "value is the measure: the surrogate has no measure"),
        ("convexifiable", "convexifiable: the surrogate has no prepare"),
        ("random", "draws differ: the surrogate has no redraw"),
    ],
)
def test_a_property_whose_member_is_missing_is_broken(claimed, lacking):
    with pytest.raises(LawBroken) as caught:
        check_surrogate(Bare(frozenset({claimed})))
    assert f"- {lacking}, which it needs" in str(caught.value)


def test_an_error_in_code_of_the_user_is_not_hidden():
    class Faulty(Bare):
        def value_and_grad(self, scores, labels, qptr):
            return scores.absent

    with pytest.raises(AttributeError, match="absent"):
        check_surrogate(Faulty())


class Scalar(dx.ListNet):
    """One value for all queries, as for a mean."""

    def value_and_grad(self, scores, labels, qptr):
        value, grad = super().value_and_grad(scores, labels, qptr)
        return value.mean(), grad


class Alone(dx.ListNet):
    """A function that returns the gradient alone."""

    def value_and_grad(self, scores, labels, qptr):
        return super().value_and_grad(scores, labels, qptr)[1]


class Nothing(dx.ListNet):
    """A function whose last line is missing."""

    def value_and_grad(self, scores, labels, qptr):
        return None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (SimpleNamespace(value_and_grad=dx.ListNet().value_and_grad), "it has no properties"),
        (SimpleNamespace(), "it has no value_and_grad and no properties"),
        (dx.ListNet, "it is a class; an object of it is needed"),
        (Scalar(), r"must have the shapes \(.*got \(\) and "),
        (Alone(), r"must have the shapes \(.*got array"),
        (Nothing(), r"must have the shapes \(.*got None"),
        (
            Bare(frozenset({"smooth", "shift-invariant"})),
            "properties must be a frozenset of .*shift-invariant",
        ),
        (Bare("smooth"), "properties must be a frozenset of names among bound, .*value_free, got 'smooth'"),
        (Bare(["smooth"]), r"properties must be a frozenset of .*got \['smooth'\]"),
    ],
)
def test_what_no_test_can_use_is_said(wrong, words):
    with pytest.raises(LawBroken, match=words):
        check_surrogate(wrong)


def test_the_query_that_is_nan_is_named():
    class Divided(dx.ListNet):
        def value_and_grad(self, scores, labels, qptr):
            value, grad = super().value_and_grad(scores, labels, qptr)
            return np.where([labels[lo:hi].any() for lo, hi in pairwise(qptr)], value, np.nan), grad

    with pytest.raises(LawBroken) as caught:
        check_surrogate(Divided())
    line = next(line for line in str(caught.value).splitlines() if line.startswith("- nothing is nan"))
    assert re.search(r"query \d: value nan and gradient \[.* and the labels \[[0. ]+\]$", line)
    assert "any threads" not in str(caught.value)
