"""The terms of every measure of the registry say what the measure is: summed up, they give its values."""

from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.measures.base import RankingMeasure
from directrix.measures.prepared import rank
from directrix.measures.terms import value_of
from directrix.registry import MEASURES, classes
from tests.reference import measures as naive

CASES = [kind(**given) for name, kind in classes(MEASURES).items() for given, _, _ in naive.REFERENCES[name]]
CASES += [
    dx.ROCArea(),
    dx.ROCArea(rel=2),
    dx.AP(k=4),
    dx.Precision(k=3, denominator="retrieved"),
    dx.ERR(k=1),
]


def problem(n_queries=30, seed=0):
    """Queries of 0 to 12 documents, many of them tied, some without a relevant one."""
    rng = np.random.default_rng(seed)
    qptr = np.append(0, np.cumsum(rng.integers(0, 13, n_queries)))
    scores = rng.integers(0, 6, qptr[-1]).astype(float)
    labels = rng.choice(5, qptr[-1], p=[0.7, 0.1, 0.1, 0.05, 0.05]).astype(float)
    return scores, labels, qptr


def test_every_measure_has_a_reference():
    assert set(naive.REFERENCES) == set(MEASURES)


@pytest.mark.parametrize("ties", ["expected", "order", "worst"])
@pytest.mark.parametrize("measure", CASES, ids=lambda m: m.name)
def test_the_sum_of_the_terms_is_the_measure(measure, ties):
    scores, labels, qptr = problem()
    measure = replace(measure, ties=ties)
    summed = measure.by_terms(rank(scores, labels, qptr, ties))
    np.testing.assert_allclose(summed, measure(scores, labels, qptr), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("measure", CASES, ids=lambda m: m.name)
def test_document_values_are_worth_over_norm(measure):
    _, labels, qptr = problem()
    terms = measure.terms(labels, qptr)
    norm = np.repeat(terms.norm, np.diff(qptr))
    wanted = np.divide(terms.worth, norm, out=np.zeros(len(labels)), where=norm > 0)
    np.testing.assert_allclose(measure.document_values(labels, qptr), wanted, rtol=1e-14)


@pytest.mark.parametrize("name", ["IPrec", "KendallTau"])
def test_measures_without_terms_say_so(name):
    with pytest.raises(dx.InputError, match=rf"{name}.*is not a sum over the ranks of documents"):
        dx.measure(name).terms(np.ones(2), np.array([0, 2]))


def test_a_measure_must_say_how_it_is_computed():
    class Nothing(RankingMeasure):
        symbol = "Nothing"

    with pytest.raises(TypeError, match="must define its terms"):
        Nothing()([1.0], [1.0], [0, 1])


@pytest.mark.parametrize("name", ["NDCG", "DCG", "AP", "RR", "Success", "Precision", "ERR", "RBP"])
@pytest.mark.parametrize("member", ["worth", "discounts", "norm"])
def test_a_subclass_is_evaluated_by_its_own_terms(name, member):
    """Not by the kernel that it inherits, which computes those of its base."""
    kind = classes(MEASURES)[name]

    def smaller(self, *given):
        return getattr(kind, member)(self, *given) * 0.5

    derived = type(f"Own{name}", (kind,), {member: smaller})
    fields = {"k": 3} if name == "Success" else {}
    rng = np.random.default_rng(0)
    scores, labels, qptr = rng.normal(size=40), rng.integers(0, 3, 40).astype(float), np.arange(0, 41, 10)
    value, before = derived(**fields)(scores, labels, qptr), kind(**fields)(scores, labels, qptr)
    terms = derived(**fields).terms(labels, qptr)
    in_order = rank(scores, labels, qptr)
    wanted = value_of(kind.form, derived(**fields).terms(in_order.labels, qptr), in_order, kind().empty_value)
    np.testing.assert_array_equal(value, wanted)
    assert (value != before).any() or (terms.norm != kind(**fields).terms(labels, qptr).norm).any()
