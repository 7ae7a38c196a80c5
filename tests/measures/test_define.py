"""A user's own measure: defined once, then known, printed, evaluated, searched and trained like any other."""

import json
import pickle
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import directrix as dx
from directrix.measures import RankingMeasure, names
from directrix.measures.convention import conventions
from directrix.measures.names import texts_of_a_file
from directrix.measures.terms import Terms
from tests.messages import rejects
from tests.reference import measures as naive

SCORES = np.array([0.3, 0.3, 0.9, 0.1, 0.4, 0.2, 0.2, 0.2, 0.7])
LABELS = np.array([1.0, 3.0, 0.0, 2.0, 0.0, 1.0, 0.0, 4.0, 1.0])
QPTR = np.array([0, 4, 4, 9])


def gain(labels):
    return np.log1p(labels)


def discount(ranks):
    return 1.0 / np.log2(1.0 + ranks)


def exponential(labels):
    return 2.0**labels - 1.0


def log_ndcg(ranked, labels, k=None):
    """nDCG with the gain log(1 + l), by definition."""
    dcg = lambda ys: sum(np.log1p(y) / np.log2(1 + p) for p, y in enumerate(ys[:k], start=1))  # noqa: E731
    ideal = dcg(sorted(labels, reverse=True))
    return dcg(ranked) / ideal if ideal > 0 else 0.0


@pytest.fixture
def own():
    return dx.define_measure("LogNDCG", gain=gain, discount=discount, norm="ideal")


def test_it_is_known_by_name_and_prints(own):
    assert dx.measure("LogNDCG@10") == own(k=10) == own @ 10
    assert dx.measure("logndcg(ties='worst')@3") == own(k=3, ties="worst")
    assert repr(own(k=10)) == "LogNDCG(k=10, ties='expected', empty='zero')"
    assert dx.measure(repr(own(k=10))) == own(k=10)
    assert own(k=10).name == "LogNDCG@10"
    assert dx.measure(own) == own()
    assert dx.measures()[-1] == "LogNDCG"
    with rejects(dx.InputError):
        dx.measure("LogNDGC")
    with rejects(dx.InputError):
        dx.measure("LogNDCG(rel=1)")


@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_ties_are_expectations(own, k):
    spans = list(pairwise(QPTR))
    wanted = [naive.expected(log_ndcg, SCORES[a:b], LABELS[a:b], k=k) if a < b else 0.0 for a, b in spans]
    np.testing.assert_allclose(own(k=k)(SCORES, LABELS, QPTR), wanted, rtol=1e-12)


@pytest.mark.parametrize("ties", ["expected", "order", "worst", "trec"])
@pytest.mark.parametrize("k", [None, 2])
def test_defined_as_ndcg_it_is_ndcg(ties, k):
    own = dx.define_measure("Ndcg2", gain=exponential, discount=discount, norm="ideal")
    scores = np.where(np.arange(9) == 3, -np.inf, SCORES)
    ids = [f"d{i * 7 % 10}" for i in range(9)]
    got = own(k=k, ties=ties)(scores, LABELS, QPTR, doc_ids=ids)
    np.testing.assert_allclose(got, dx.NDCG(k=k, ties=ties)(scores, LABELS, QPTR, doc_ids=ids), rtol=1e-14)
    line = np.linspace(-1.0, 1.0, 9) ** 3
    found, wanted = (
        dx.experiments.line_search(m, SCORES, line, LABELS, QPTR) for m in (own(k=k), dx.NDCG(k=k))
    )
    np.testing.assert_allclose([found.t, found.value], [wanted.t, wanted.value], rtol=1e-12)
    lambdas = [dx.Lambda(m).value_and_grad(SCORES, LABELS, QPTR)[1] for m in (own(k=k), dx.NDCG(k=k))]
    np.testing.assert_allclose(lambdas[0], lambdas[1], rtol=1e-12, atol=1e-16)


def test_empty_queries_follow_the_field(own):
    for empty, value in (("zero", 0.0), ("one", 1.0), ("skip", np.nan)):
        np.testing.assert_array_equal(own(empty=empty)([1.0, 2.0], [0, 0], [0, 2]), [value])


def test_the_general_form_takes_terms():
    def terms(labels, qptr):
        relevant = (labels >= 1).astype(float)
        longest = int(np.diff(qptr).max(initial=0))
        return Terms(
            relevant, 1.0 / np.arange(1.0, longest + 1.0), np.add.reduceat(np.append(relevant, 0), qptr[:-1])
        )

    own = dx.define_measure("OwnAP", terms, form="precision")
    scores, labels, qptr = SCORES, LABELS, np.array([0, 4, 9])
    np.testing.assert_allclose(own()(scores, labels, qptr), dx.AP()(scores, labels, qptr), rtol=1e-13)
    np.testing.assert_allclose((own @ 2)(scores, labels, qptr), dx.AP(k=2)(scores, labels, qptr), rtol=1e-13)
    found = dx.experiments.line_search("OwnAP", scores, -labels, labels, qptr)
    assert found == dx.experiments.line_search("AP", scores, -labels, labels, qptr)
    pair = dx.define_measure(
        "OwnDCG", lambda labels, qptr: (labels, np.ones(int(np.diff(qptr).max(initial=0))))
    )
    np.testing.assert_allclose((pair @ 2)(scores, labels, qptr), dx.measure("OwnDCG@2")(scores, labels, qptr))


def test_a_subclass_is_registered():
    @dx.define_measure
    class Graded(dx.measures.RankingMeasure):
        """Share of the highest label that the document at rank 1 has."""

        symbol = "G"
        form = "sum"
        top: float = 4.0
        k: int | None = 1

        def worth(self, labels):
            return labels / self.top

    assert dx.measure("G") == dx.measure("graded(top=4.0)") == Graded()
    np.testing.assert_allclose(dx.measure("G(top=2.0)")([1.0, 2.0], [0.0, 1.0], [0, 2]), [0.5])
    assert dx.experiments.line_search("G", [2.0, 1.0], [0.0, 1.0], [0, 4], [0, 2]).value == 1.0


def test_the_surrogate_tends_to_it(own):
    scores = np.array([0.5, 0.1, 0.9, 0.3, 0.6, 0.2, 0.8, 0.4, 0.7])
    for m in (own(), own(k=2)):
        value, _ = dx.ApproxMeasure(m, alpha=1e5).value_and_grad(scores, LABELS, QPTR)
        np.testing.assert_allclose(value, m(scores, LABELS, QPTR), rtol=1e-12)
    assert dx.surrogate("ApproxMeasure('LogNDCG@2')") == dx.ApproxMeasure(own(k=2))
    assert dx.surrogate(repr(dx.Lambda("LogNDCG@2"))).measure == own(k=2)


def test_the_surrogate_follows_the_discount_whose_slope_is_known():
    own = dx.define_measure("Reciprocal", discount=lambda x: 1.0 / x, slope=lambda x: -1.0 / x**2)
    s, y, qptr = np.array([0.3, 0.25, 0.1]), np.array([1.0, 0.0, 1.0]), np.array([0, 3])
    ranks = dx.laws.soft_ranks(s, qptr, alpha=5.0)
    value, _ = dx.ApproxMeasure(own, alpha=5.0).value_and_grad(s, y, qptr)
    np.testing.assert_allclose(value, [np.sum(y / ranks)], rtol=1e-15)


def test_a_ranker_is_trained_for_it(own):
    q, _ = dx.data.make_linear(n_queries=20)
    for surrogate in (dx.ApproxMeasure(own(k=5)), "Lambda('LogNDCG@5')"):
        ranker = dx.LinearRanker(surrogate, trainer="sgd", max_iter=3, random_state=0).fit_queries(q)
        assert ranker.measure_ == own(k=5)


def test_definitions_travel_to_other_processes(own):
    again = pickle.loads(pickle.dumps(own(k=3)))
    assert again == own(k=3)
    assert type(again) is own
    joblib = pytest.importorskip("joblib")
    lambdas = dx.define_measure("Away", gain=lambda labels: labels**0.5, norm="ideal")
    got = joblib.Parallel(n_jobs=2)(
        joblib.delayed(lambda m: (repr(m), float(m([2.0, 1.0], [1, 4], [0, 2])[0])))(m)
        for m in [lambdas(k=1)] * 3 + [own(k=1)]
    )
    assert got == [("Away(k=1, ties='expected', empty='zero')", 0.5)] * 3 + [
        (repr(own(k=1)), float(own(k=1)([2.0, 1.0], [1, 4], [0, 2])[0]))
    ]


def test_the_same_definition_twice_is_one():
    made = [dx.define_measure("Twice", gain=lambda labels: labels + 0.0) for _ in range(2)]
    assert made[0] is made[1]


def test_a_second_definition_replaces_the_first():
    first, second = (dx.define_measure("Table", gain=lambda y, shift=s: y + shift) for s in (1.0, 2.0))
    assert dx.measure("Table") == second() != first()
    assert first()([1.0], [1.0], [0, 1]) == 2.0
    assert dx.measure("Table")([1.0], [1.0], [0, 1]) == 3.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda define: define("nDCG"), "'nDCG' is a name of the built-in measure nDCG"),
        (lambda define: define("map"), "'map' is a name of the built-in measure AP"),
        (lambda define: define("my measure"), "a name of letters, digits and _ is needed"),
        (lambda define: define("A2", form="product"), "form must be one of 'sum', 'precision'"),
        (lambda define: define("A3", norm="ideal", form="cascade"), "'ideal' with form='sum'"),
        (
            lambda define: define("A4", lambda labels, qptr: (labels, labels), gain=gain),
            "terms= replaces gain=",
        ),
        (lambda define: define(int), "a subclass of directrix.measures.RankingMeasure"),
        (
            lambda define: define("A5", gain=lambda labels: 1.0)()([1.0, 2.0], [0, 1], [0, 2]),
            r"A5: the gain has shape \(\) for 2 labels",
        ),
        (lambda define: define("A6", gain=lambda y: -y)()([1.0], [1], [0, 1]), "A6: .*is negative"),
        (
            lambda define: define("A7", discount=lambda p: p, norm="ideal")()([1.0, 2.0], [1, 0], [0, 2]),
            "A7: norm='ideal' needs a discount that does not increase",
        ),
        (
            lambda define: define(type("A8", (RankingMeasure,), {"__call__": max})),
            "A8.*must define `form` and its terms",
        ),
    ],
)
def test_what_cannot_be_defined_is_said(call, message):
    with pytest.raises(dx.InputError, match=message):
        call(dx.define_measure)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with the module ``own_measures``."""
    (tmp_path / "own_measures.py").write_text(
        "import directrix as dx\n"
        "Half = dx.define_measure('Half', gain=lambda labels: labels / 2)\n"
        "at_two = Half @ 2\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("own_measures", None)


def test_a_measure_of_a_module_is_imported(folder):
    assert dx.measure("own_measures:Half@3") == dx.measure("Half@3")
    assert dx.measure("own_measures:at_two").name == "Half@2"
    assert dx.measure("own_measures:at_two(ties=order)@5").name == "Half(ties='order')@5"
    assert dx.Lambda("own_measures:Half@3").measure.name == "Half@3"
    assert list(dx.evaluate("own_measures:Half@1", [1.0], [1], group=[1])) == ["own_measures:Half@1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no_such_module:M", "the module 'no_such_module' cannot be imported .*current folder"),
        (
            "own_measures:Quarter",
            r"own_measures.py\) has no such name; it has .*Half, at_two",
        ),
        ("own_measures:number", "has a int of that name, not a measure"),
        ("os:system", "not a measure"),
        ("own_measures:Half(rel=2)", "Half has no field 'rel'"),
    ],
)
def test_what_cannot_be_imported_is_said(folder, text, message):
    with pytest.raises(dx.InputError, match=message):
        dx.measure(text)


def test_texts_of_files_import_nothing(folder):
    with texts_of_a_file():
        with pytest.raises(dx.InputError, match="names in files are not imported"):
            dx.measure("own_measures:Half@7")
        with pytest.raises(dx.InputError, match="names in files are not imported"):
            dx.surrogate("Lambda('own_measures:Half@7')")
    assert "own_measures" not in sys.modules


@pytest.mark.parametrize("surrogate", ["ApproxNDCG()", "ApproxMeasure('LogNDCG@5')", "Lambda('LogNDCG@5')"])
def test_a_model_file_holds_the_name_of_the_measure(own, tmp_path, surrogate):
    q, _ = dx.data.make_linear(n_queries=5)
    ranker = dx.LinearRanker(surrogate, trainer="sgd", max_iter=2, random_state=0)
    ranker.fit_queries(q, measure=own(k=5))
    ranker.save(tmp_path / "model.json")
    assert dx.load(tmp_path / "model.json").measure_ == own(k=5)
    names._DEFINED.clear()
    names._read.cache_clear()
    again = dx.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_queries(q), ranker.predict_queries(q))
    with rejects(dx.InputError):
        again.score(q.features, q.labels, qid=np.repeat(np.arange(5), np.diff(q.qptr)))


@pytest.mark.parametrize("entry", ["measure", "surrogate", "trainer"])
def test_loading_a_model_imports_nothing(own, folder, entry):
    q, _ = dx.data.make_linear(n_queries=5)
    ranker = dx.LinearRanker("Lambda('nDCG@5')", trainer="sgd", max_iter=2, random_state=0).fit_queries(q)
    ranker.save("model.json")
    content = json.loads(Path("model.json").read_text())
    evil = {
        "measure": "own_measures:Half",
        "surrogate": "Lambda('own_measures:Half@2')",
        "trainer": "CoordinateAscent(measure='own_measures:Half@2')",
    }[entry]
    content["training"][entry] = content["training"]["parameters"][entry] = evil
    Path("model.json").write_text(json.dumps(content))
    with suppress(dx.InputError):
        dx.load("model.json").fit_queries(q)
    assert "own_measures" not in sys.modules


@dataclass(frozen=True, kw_only=True, repr=False)
class ByClass(RankingMeasure):
    symbol = "ByClass"
    form = "sum"
    k: int | None = None

    def worth(self, labels):
        return 2.0**labels - 1.0

    def discounts(self, n):
        return discount(np.arange(1.0, n + 1.0))


class Undecorated(RankingMeasure):
    symbol = "Undecorated"
    form = "sum"

    def worth(self, labels):
        return labels


@pytest.mark.parametrize("tool", [None, *conventions()])
@pytest.mark.parametrize("ties", ["expected", "order", "worst"])
@pytest.mark.parametrize("empty", ["zero", "skip", "one"])
@pytest.mark.parametrize("k", [None, 2])
def test_a_class_has_the_fields_and_values_of_a_measure_of_functions(tool, ties, empty, k):
    scores, labels = np.array([0.5, 0.5, 0.1, 0.3, 0.2, 0.2]), np.array([0.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    given = {"k": k, "ties": ties, "empty": empty}
    by_functions = dx.define_measure("ByFunctions", gain=exponential, discount=discount)
    pair = ByClass(**given), by_functions(**given)
    if tool is not None:
        pair = tuple(measure.under(tool) for measure in pair)
    assert repr(pair[0]) == repr(pair[1]).replace("ByFunctions", "ByClass")
    values = [measure(scores, labels, [0, 3, 6], doc_ids=list("bacdef")) for measure in pair]
    np.testing.assert_array_equal(*values)
    by_field = {"zero": 0.0, "skip": np.nan, "one": 1.0}
    np.testing.assert_equal(values[0][1], by_field[pair[0].empty])


def test_a_class_counts_a_query_without_a_gain_as_the_built_in_measures_do():
    scores, labels = [0.9, 0.5, 0.1, 0.3, 0.2], [0.0, 2.0, 1.0, 0.0, 0.0]
    by_class, built_in = dx.evaluate([ByClass(), "DCG"], scores, labels, qptr=[0, 3, 5]).values()
    np.testing.assert_allclose(by_class, built_in, rtol=1e-12, atol=0)
    assert Undecorated()(scores, labels, [0, 3, 5]).tolist() == [3.0, 0.0]


def test_a_class_keeps_its_own_rules():
    @dx.define_measure
    class Skips(ByClass):
        symbol = "Skips"
        empty: str = "skip"
        share: float = 0.5

    @dx.define_measure
    class Ones(RankingMeasure):
        symbol = "Ones"
        form = "sum"
        empty = "one"

        def worth(self, labels):
            return labels

    @dx.define_measure
    class Whole(RankingMeasure):
        symbol = "Whole"

        def of_ranking(self, ranking, part):
            return np.ones(len(ranking.qptr) - 1)

    assert repr(Skips()) == "Skips(k=None, ties='expected', empty='skip', share=0.5)"
    assert repr(Ones()) == "Ones(ties='expected', empty='one')"
    assert repr(Whole()) == "Whole(ties='expected')"
    assert np.isnan(Skips()([0.1], [0.0], [0, 1])[0])
    assert Ones()([0.1], [0.0], [0, 1])[0] == 1.0

    class Tau(dx.KendallTau):
        pass

    assert repr(Tau()) == "Tau()"  # its definition covers ties
    with rejects(dx.InputError):
        Ones(empty="none")
