"""`evaluate(by=, intervals=)`: figures of segments of queries, and bootstrap intervals."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap, norm

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.measures.bootstrap import mean_interval
from tests.messages import rejects

DATA, _ = make_linear(40, 8, 3, seed=3)
SCORES = DATA.features[:, 0] + 0.0
QID = np.repeat([f"q{i}" for i in range(40)], 8)
OF_QUERY = {f"q{i}": "odd" if i % 2 else "even" for i in range(40)}
GIVEN = {"qid": QID, "by": OF_QUERY, "intervals": True}


def efron(values, draws=20_000, seed=11):
    """The BCa interval by its definition, with samples of its own."""
    n, mean = len(values), values.mean()
    means = np.random.default_rng(seed).choice(values, (draws, n)).mean(axis=1)
    below = ((means < mean).mean() + (means <= mean).mean()) / 2
    without = np.array([np.delete(values, i).mean() for i in range(n)])
    gaps = without.mean() - without
    z0, a = norm.ppf(below), (gaps**3).sum() / (6 * (gaps**2).sum() ** 1.5)
    z = z0 + norm.ppf([0.025, 0.975])
    return np.quantile(means, norm.cdf(z0 + z / (1 - a * z)))


def test_intervals_are_efrons_and_scipys():
    names = ["AP", "nDCG@3"]
    found = dx.evaluate(names, SCORES, DATA.labels, **GIVEN)
    values = dx.evaluate(names, SCORES, DATA.labels, qid=QID, per_query=True)
    for name, (segment, start) in itertools.product(values, (("even", 0), ("odd", 1))):
        own = values[name][start::2]
        part = found.segments[segment]
        assert part[name] == part.mean[name] == pytest.approx(own.mean(), abs=1e-15)
        rng = np.random.default_rng(0)
        theirs = bootstrap((own,), np.mean, n_resamples=10_000, method="BCa", random_state=rng)
        np.testing.assert_allclose(part.intervals[name], theirs.confidence_interval, rtol=1e-12)
        low, high = part.intervals[name]
        np.testing.assert_allclose((low, high), efron(own), atol=0.05 * (high - low))
    assert (
        found.intervals
        == dx.evaluate(["AP", "nDCG@3"], SCORES, DATA.labels, qid=QID, intervals=True).intervals
    )


def test_they_are_those_of_compare_for_the_differences_from_zero():
    found = dx.evaluate("AP", SCORES, DATA.labels, qid=QID, intervals=True)
    values = dx.evaluate("AP", SCORES, DATA.labels, qid=QID, per_query=True)["AP"]
    pair = dx.compare({"A": values, "zero": np.zeros(40)}, test="wilcoxon").pair("A", "zero")
    assert found.intervals["AP"] == pytest.approx(pair.interval, rel=1e-14)


def test_without_the_two_nothing_is_added():
    plain = dx.evaluate("AP", SCORES, DATA.labels, qid=QID)
    assert (plain.intervals, plain.segments) == ({}, {})
    assert plain == dx.evaluate("AP", SCORES, DATA.labels, **GIVEN)


def test_segments_are_given_by_query_or_by_document_in_any_order():
    wanted = dx.evaluate("AP", SCORES, DATA.labels, qid=QID, by=OF_QUERY, per_query=True)
    rows = np.random.default_rng(0).permutation(len(QID))
    frame = pd.DataFrame({"qid": QID, "score": SCORES, "label": DATA.labels}).iloc[rows]
    frame["segment"] = frame["qid"].map(OF_QUERY)
    columns = {"qid": frame["qid"].to_numpy(), "by": frame["segment"], "per_query": True}
    found = dx.evaluate("AP", frame["score"].to_numpy(), frame["label"].to_numpy(), **columns)
    for segment in ("even", "odd"):
        part, other = found.segments[segment], wanted.segments[segment]
        assert set(part.query_ids) == {q for q, name in OF_QUERY.items() if name == segment}
        by_query = dict(zip(part.query_ids, part["AP"], strict=True))
        assert by_query == dict(zip(other.query_ids, other["AP"], strict=True))
    numbers = dx.evaluate(
        "AP", SCORES, DATA.labels, group=[8] * 40, by={0: 10, 1: 9, 2: 9} | dict.fromkeys(range(3, 40), 2)
    )
    assert list(numbers.segments) == [2, 9, 10]
    assert numbers.segments[9].query_ids == (1, 2)


def test_undefined_values_and_single_queries_have_no_interval():
    labels = np.where(np.isin(QID, ["q0", "q2", "q4"]), 0.0, DATA.labels)  # no relevant document there
    by = {"q0": "none", "q2": "none", "q4": "one", "q1": "one"}
    by |= dict.fromkeys(["q3", "q5", "q6", "q7", "q8"], "five") | {f"q{i}": "six" for i in range(9, 15)}
    with pytest.warns(
        UserWarning, match=r"^25 of 40 queries have no segment; they count only in the total\.$"
    ):
        found = dx.evaluate("ROCArea", SCORES, labels, qid=QID, by=by, intervals=True)
    assert {name: part.skipped["ROCArea"] for name, part in found.segments.items()} == {
        "none": 2,
        "one": 1,
        "five": 0,
        "six": 0,
    }
    assert np.isnan(found.segments["none"]["ROCArea"])
    intervals = {name: part.intervals["ROCArea"] for name, part in found.segments.items()}
    assert (intervals["none"], intervals["one"], intervals["five"]) == (None, None, None)
    assert intervals["six"][0] < found.segments["six"]["ROCArea"] < intervals["six"][1]


def test_a_summary_that_is_no_mean_has_an_interval_of_its_own_kind():
    names = ["GMAP", "NumRet"]
    found = dx.evaluate(names, SCORES, DATA.labels, qid=QID, intervals=True)
    logs = dx.evaluate("GMAP", SCORES, DATA.labels, qid=QID, per_query=True)["GMAP"]
    theirs = bootstrap(
        (logs,), np.mean, n_resamples=10_000, method="BCa", random_state=np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.intervals["GMAP"], np.exp(theirs.confidence_interval), rtol=1e-12)
    assert found.intervals["NumRet"] is None  # eight documents of each query: nothing varies


def test_every_convention_has_them():
    found = dx.experiments.evaluate_conventions("nDCG@3", SCORES, DATA.labels, **GIVEN)
    part = dx.evaluate("nDCG@3", SCORES, DATA.labels, convention="sklearn", **GIVEN).segments["odd"]
    assert (found["sklearn"].segments["odd"], found["sklearn"].segments["odd"].intervals) == (
        part,
        part.intervals,
    )


@pytest.mark.parametrize(
    "by",
    [
        {0: "odd", 1: "even"},
        {},
        dict.fromkeys(OF_QUERY),
        np.where(np.arange(320) % 7, "a", "b"),
        ["a", "b"],
        pd.Series(OF_QUERY),
    ],
    ids=["keys of another type", "nothing", "missing", "two of a query", "per query", "series per query"],
)
def test_what_gives_no_segments_is_rejected(by):
    with rejects(dx.InputError):
        dx.evaluate("AP", SCORES, DATA.labels, qid=QID, by=by)


def test_runs_need_a_mapping():
    run, qrels = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}}, {"q1": {"a": 0, "b": 1}, "q2": {"c": 1}}
    found = dx.evaluate("RR", run=run, qrels=qrels, by={"q1": "x", "q2": "y"})
    assert {name: dict(part) for name, part in found.segments.items()} == {"x": {"RR": 0.5}, "y": {"RR": 1.0}}
    with rejects(dx.InputError):
        dx.evaluate("RR", run=run, qrels=qrels, by=["x", "x", "y"])


def test_the_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dx.evaluate("AP", SCORES, DATA.labels, qid=QID, by={"q1": "odd"})
    assert [warning.filename for warning in caught] == [__file__]


def test_values_that_differ_by_rounding_alone_have_no_interval():
    """If all labels of a query are equal, nDCG is 1 but for rounding."""
    assert mean_interval(np.array([1.0, 1.0, 1.0 + 2e-16, *[1.0] * 20])) == (-np.inf, np.inf)
