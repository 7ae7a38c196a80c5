"""The exact line search sees every interval, and finds the best."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import directrix as dx
from directrix import registry
from directrix.measures import line_search as module
from directrix.measures.line_search import LineSearch, line_search
from directrix.registry import classes
from tests.messages import rejects
from tests.reference.lines import crossings, mean_at, points_between

MEASURES = [
    "nDCG",
    "nDCG@3",
    "nDCG(gain='linear')@4",
    "nDCG(discount='letor3')@4",
    "nDCG(empty='one')",
    "DCG@2",
    "DCG",
    "P@3",
    "P",
    "P(denominator='retrieved')@4",
    "R@2",
    "Rprec",
    "AP",
    "AP@3",
    "AP(denominator='capped')@2",
    "AP(rel=2)",
    "AP(empty='skip')",
    "RR",
    "RR@2",
    "Success@2",
    "ERR",
    "ERR@3",
    "RBP(p=0.6)",
    "RBP@2",
    "ROCArea",
    "nDCG(ties='order')@3",
    "nDCG(ties='worst')@3",
    "AP(ties='worst')",
    "ERR(ties='order')@2",
]
MEASURES += [kind.symbol for kind in classes(registry.MEASURES).values() if kind.form]
MEASURES = list(dict.fromkeys(MEASURES))


@st.composite
def lines(draw):
    """Scores and direction of a few short queries; often with ties, and with many documents at one point."""
    sizes = draw(st.lists(st.integers(0, 7), min_size=1, max_size=3).filter(any))
    n, seed = sum(sizes), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n) * (rng.random(n) < draw(st.sampled_from([0.3, 0.7, 1.0])))
    if draw(st.booleans()):
        s, u = rng.integers(0, 4, n), rng.integers(0, 3, n)
    else:
        s, u = rng.standard_normal(n), rng.standard_normal(n)
    weight = rng.random(len(sizes)) + 0.1
    return s.astype(float), u.astype(float), labels.astype(float), np.append(0, np.cumsum(sizes)), weight


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=40)
@given(problem=lines())
def test_every_interval_has_the_value_of_the_measure_there(name, problem):
    s, u, labels, qptr, weight = problem
    measure = dx.measure(name)
    if np.isnan(measure(s, labels, qptr)).all():
        return
    search = LineSearch(measure, labels, qptr, query_weight=weight)
    points = points_between(s, u, qptr)
    expected = np.array([mean_at(measure, s, u, t, labels, qptr, weight) for t in points])
    t, value = search.pieces(s, u)
    assert len(value) == len(t) + 1
    np.testing.assert_allclose(value[np.searchsorted(t, points)], expected, rtol=0, atol=1e-12)
    assert np.isin(t, crossings(s, u, qptr)).all()
    best = search.best(s, u)
    np.testing.assert_allclose(best.value, expected.max(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(best.value, mean_at(measure, s, u, best.t, labels, qptr, weight), rtol=1e-12)
    assert best.interval[0] < best.t < best.interval[1]
    assert not ((t > best.interval[0]) & (t < best.interval[1])).any()


@pytest.mark.parametrize("name", ["nDCG@3", "AP", "RR", "ERR"])
@settings(max_examples=40)
@given(problem=lines(), reach=st.sampled_from([0.3, 1.0, 2.5]))
def test_best_within_a_reach(name, problem, reach):
    s, u, labels, qptr, weight = problem
    search = LineSearch(name, labels, qptr, query_weight=weight)
    near, anywhere = search.best_within(s, u, (reach, np.inf))
    cuts = crossings(s, u, qptr)
    inside = np.concatenate([[-reach], cuts[np.abs(cuts) < reach], [reach]])
    middles = 0.5 * (inside[1:] + inside[:-1])[np.diff(inside) > 1e-9]
    expected = [mean_at(search.measure, s, u, t, labels, qptr, weight) for t in middles]
    np.testing.assert_allclose(near.value, max(expected), rtol=0, atol=1e-12)
    assert -reach <= near.interval[0] < near.t < near.interval[1] <= reach
    assert anywhere == search.best(s, u)


@pytest.mark.parametrize("name", ["nDCG@3", "AP", "RR"])
@settings(max_examples=40)
@given(problem=lines(), within=st.sampled_from([(0.0, 0.7), (-2.0, 0.0), (0.25, np.inf), (-np.inf, 0.5)]))
def test_between_two_limits_of_any_sign(name, problem, within):
    s, u, labels, qptr, weight = problem
    low, high = within
    best = line_search(name, s, u, labels, qptr, query_weight=weight, within=within)
    cuts = crossings(s, u, qptr)
    ends = np.array([end for end in (low, *cuts, high) if low <= end <= high and np.isfinite(end)])
    ends = np.concatenate([[ends[0] - 1.0] * (low == -np.inf), ends, [ends[-1] + 1.0] * (high == np.inf)])
    middles = 0.5 * (ends[1:] + ends[:-1])[np.diff(ends) > 1e-9]
    expected = [mean_at(dx.measure(name), s, u, t, labels, qptr, weight) for t in middles]
    np.testing.assert_allclose(best.value, max(expected), rtol=0, atol=1e-12)
    assert low <= best.interval[0] < best.t < best.interval[1] <= high


@pytest.mark.parametrize("within", [(1.0, 1.0), (1.0, 0.0), (np.nan, 1.0), (0.0,), 5, (None, 1.0)])
def test_limits_that_are_no_interval_are_refused(within):
    with pytest.raises(dx.InputError, match="the first below the second"):
        line_search("AP", [2.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0, 2], within=within)


def test_by_hand():
    """The third document (label 2) passes the second at 1 and the first (label 1) at 2."""
    scores, feature, labels = [3.0, 2.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 2.0]
    d2, d3 = 1 / np.log2(3), 1 / 2
    ideal = 3 + d2
    t, value = LineSearch("nDCG", labels, [0, 3]).pieces(scores, feature)
    assert t.tolist() == [1.0, 2.0]
    np.testing.assert_allclose(value * ideal, [1 + 3 * d3, 1 + 3 * d2, 3 + d2], rtol=1e-12)
    best = line_search("nDCG", scores, feature, labels, [0, 3])
    assert best == (4.0, 1.0, (2.0, np.inf))
    middle = line_search("nDCG", [3.0, 2.0, 1.0], [0.0, 4.0, 3.0], [0.0, 2.0, 0.0], [0, 3])
    assert middle.interval == (0.25, np.inf)
    assert line_search("nDCG", scores, [0.0, 0.0, -1.0], labels, [0, 3]).interval == (-np.inf, -2.0)


def test_a_direction_that_changes_nothing():
    assert line_search("AP", [2.0, 1.0], [1.0, 1.0], [0.0, 1.0], [0, 2]) == (0.0, 0.5, (-np.inf, np.inf))


@pytest.mark.parametrize(
    ("first", "second", "t", "interval"), [(1, 2, -5.5, (-10, -1)), (2, 1, 5.5, (1, 10))]
)
def test_of_intervals_of_one_value_the_widest_is_taken(first, second, t, interval):
    """A relevant document leads below -first and above second; in the other query between -10 and 10."""
    scores, feature = [-first, 0, -second, 0, -10, -10], [-1, 0, 1, 0, 1, -1]
    found = line_search("RR", scores, feature, [1, 0, 1, 1, 0, 0], [0, 3, 6])
    assert found == (t, 1.0, interval)


def test_a_single_point_where_all_documents_meet_is_passed_over():
    """At t = 0 the relevant document leads with chance 1/3, elsewhere never."""
    found = line_search("P@1", [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0, 3])
    assert (found.value, found.interval) == (0.0, (-np.inf, np.inf))
    assert found.t != 0.0


def real_problem(n_queries=30, n=25, seed=0):
    rng = np.random.default_rng(seed)
    qptr = np.arange(n_queries + 1) * n
    s, u = rng.standard_normal((2, n * n_queries))
    return s, u, rng.integers(0, 3, n * n_queries).astype(float), qptr


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "ERR", "RR", "ROCArea"])
def test_windows_give_what_one_window_gives(name, monkeypatch):
    s, u, labels, qptr = real_problem()
    search = LineSearch(name, labels, qptr)
    t, value = search.pieces(s, u)
    best = search.best(s, u)
    monkeypatch.setattr(module, "_CROSSINGS_AT_ONCE", 1000)
    t_cut, value_cut = search.pieces(s, u)
    assert len(search._windows(search._groups(s, u), (-np.inf, np.inf))) > 5
    assert np.array_equal(t, t_cut)
    np.testing.assert_allclose(value_cut, value, rtol=0, atol=1e-12)
    assert search.best(s, u) == best


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "ERR", "RR", "ROCArea", "AP(ties='worst')"])
@pytest.mark.parametrize("within", [(-0.4, 0.3), (0.5, np.inf), (-np.inf, -0.2)])
@pytest.mark.parametrize("at_once", [1 << 23, 500])
def test_a_sweep_between_limits_is_that_part_of_the_whole_line(name, within, at_once, monkeypatch):
    s, u, labels, qptr = real_problem()
    s, u = s.round(1), u.round(1)  # with ties
    search = LineSearch(name, labels, qptr)
    t, value = search.pieces(s, u)
    monkeypatch.setattr(module, "_CROSSINGS_AT_ONCE", at_once)
    blocks = list(search._pieces(s, u, within))
    part, values = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    assert part[0] == within[0]
    assert ((part >= within[0]) & (part < within[1]))[1:].all()
    cuts = crossings(s, u, qptr)
    points = 0.5 * (cuts[1:] + cuts[:-1])[np.diff(cuts) > 1e-9]
    points = points[(points > within[0]) & (points < within[1])]
    wanted = value[np.searchsorted(t, points)]
    np.testing.assert_allclose(values[np.searchsorted(part[1:], points)], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("levels", [3, 2000, 10**9])
@pytest.mark.parametrize("narrow", [0.0, 0.999])
def test_the_highest_pieces_of_many_are_those_of_all(levels, narrow):
    rng = np.random.default_rng(levels)
    ends = np.cumsum(np.where(rng.random(5001) < narrow, 1e-15, rng.random(5001)))
    value = np.floor(rng.random(5000) * levels) / levels
    wanted = module._widest(ends[:-1], ends[1:], value)
    assert module.widest_of_the_best(ends[:-1], ends[1:], value) == wanted


def test_a_wide_piece_outside_the_highest_of_many_is_not_missed():
    """Of the 1024 highest, eight are wide: the first one, and seven of a level that others have too."""
    value = np.full(3000, 0.5)
    value[:1017] = 0.6
    value[0] = 0.9
    ends = np.arange(3000.0)
    widths = np.where(value == 0.5, 1.0 + ends, 0.0)
    widths[0] = 1.0
    wanted = module._widest(ends, ends + widths, value)
    assert [piece[1] for piece in wanted] == [*range(2993, 3000), 0]
    assert module.widest_of_the_best(ends, ends + widths, value) == wanted


def test_the_same_bits_on_any_number_of_threads():
    s, u, labels, qptr = real_problem(200)
    search = LineSearch("AP", labels, qptr)
    before = dx.set_threads(1)
    try:
        one = search.pieces(s, u)
        dx.set_threads(3)
        three = search.pieces(s, u)
    finally:
        dx.set_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))


def test_no_sampled_point_is_better():
    s, u, labels, qptr = real_problem(10)
    for name in ("nDCG@5", "AP", "P@5"):
        search = LineSearch(name, labels, qptr)
        best = search.best(s, u)
        sampled = [search.value(s + t * u) for t in np.tan(np.linspace(-1.56, 1.56, 400))]
        assert best.value >= max(sampled) - 1e-12


def test_extreme_scales_and_nearly_parallel_documents():
    rng = np.random.default_rng(3)
    s = np.concatenate([1e6 + rng.random(6) * 1e-9, [1e15, -1e15]])
    u = np.concatenate([1.0 + np.arange(6) * 1e-15, [1e-300, 0.0]])
    labels = rng.integers(0, 3, 8).astype(float)
    for name in ("nDCG@3", "AP", "ERR"):
        found = line_search(name, s, u, labels, [0, 8])
        exact = dx.measure(name)(s + found.t * u, labels, [0, 8])[0]
        assert found.value == exact
        assert exact >= dx.measure(name)(s, labels, [0, 8])[0] - 1e-12


def test_the_cascade_of_a_long_list_of_relevant_documents():
    """Chances to get past all of them are far below the smallest float."""
    rng = np.random.default_rng(0)
    s, u = rng.standard_normal((2, 400))
    labels = np.full(400, 4.0)
    labels[:20] = 0.0
    t, value = LineSearch("ERR", labels, [0, 400]).pieces(s, u)
    points = np.linspace(-2, 2, 9)
    expected = [dx.ERR()(s + p * u, labels, [0, 400])[0] for p in points]
    np.testing.assert_allclose(value[np.searchsorted(t, points)], expected, rtol=1e-9)


def test_trec_ties_go_by_document_identifier():
    measure = dx.AP(ties="trec")
    ids = ["a", "c", "b"]
    labels = [1.0, 0.0, 0.0]
    found = line_search(measure, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], labels, [0, 3], doc_ids=ids)
    assert found.value == pytest.approx(1 / 3, rel=1e-12)
    _, value = LineSearch(measure, labels, [0, 3], doc_ids=ids).pieces([0.0] * 3, [1.0, 1.0, 2.0])
    np.testing.assert_allclose(value, [1 / 2, 1 / 3], rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: line_search("KendallTau", [1.0], [1.0], [1.0], [0, 1]),
            "KendallTau.*not a sum.*choose for example.*'nDCG@10'",
        ),
        (lambda: line_search("IPrec@0.1", [1.0], [1.0], [1.0], [0, 1]), "IPrec.*not a sum"),
        (
            lambda: line_search("ROCArea", [1.0], [1.0], [1.0], [0, 1]),
            "none of the 1 queries.*different labels",
        ),
        (
            lambda: line_search("AP", [1.0, 2.0], [1.0], [1.0, 0.0], [0, 2]),
            "qptr ends at 2, but there are 1",
        ),
        (lambda: line_search("AP", [np.nan], [1.0], [1.0], [0, 1]), "finite number"),
        (lambda: line_search("ERR", [1.0], [1.0], [5.0], [0, 1]), "l_max"),
        *(
            (
                lambda w=w: line_search("AP", [1.0, 2.0], [1.0, 0.0], [1, 0], [0, 1, 2], query_weight=w),
                message,
            )
            for w, message in (
                ([1.0], r"query_weight has shape \(1,\).*one number per query, shape \(2,\)"),
                ([-1.0, 2.0], r"query_weight\[0\] is -1; weights are finite numbers >= 0"),
                ([np.nan, 1.0], r"query_weight\[0\] is nan; weights are finite"),
                ([np.inf, 1.0], r"query_weight\[0\] is inf; weights are finite"),
            )
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_an_order_by_identifiers_needs_them():
    with rejects(dx.InputError):
        dx.experiments.line_search(dx.AP(ties="trec"), [2.0, 1.0], [0.0, 1.0], [1, 0], [0, 2])
