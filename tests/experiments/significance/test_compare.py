"""`compare`: every pair as the single tests say it, adjusted, with letters; and its tables."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from directrix.errors import InputError
from directrix.experiments.significance import (
    adjust,
    bootstrap_interval,
    compare,
    detectable,
    effect_size,
    paired_t,
    randomization,
    randomized_tukey,
    sign_test,
    signed_rank,
    t_interval,
    tukey,
)
from directrix.tables import stars
from tests.messages import rejects

SINGLE = {"paired-t": paired_t, "wilcoxon": signed_rank, "sign": sign_test, "randomization": randomization}
PAIRS = [("A", "B"), ("A", "C"), ("A", "D"), ("B", "C"), ("B", "D"), ("C", "D")]


@pytest.fixture(scope="module")
def values():
    """Four systems on 40 queries: two alike, one better, one worse; B lacks two queries."""
    rng = np.random.default_rng(0)
    base = rng.random(40)
    shifts = {"A": 0.0, "B": 0.0, "C": 0.06, "D": -0.2}
    table = {name: base + shift + 0.05 * rng.normal(size=40) for name, shift in shifts.items()}
    table["B"][[3, 5]] = np.nan
    return table


@pytest.mark.parametrize("test", SINGLE)
def test_every_pair_is_what_the_single_tests_say(values, test):
    found = compare(values, test=test, alpha=0.1)
    assert [(pair.first, pair.second) for pair in found.pairs] == PAIRS
    single = [SINGLE[test](values[a], values[b]) for a, b in PAIRS]
    assert [pair.p for pair in found.pairs] == [each.p for each in single]
    assert [pair.difference for pair in found.pairs] == [each.difference for each in single]
    assert [pair.adjusted for pair in found.pairs] == adjust([each.p for each in single], "holm").tolist()
    assert [pair.n for pair in found.pairs] == [38, 40, 40, 38, 38, 40]
    assert all(pair.differs == (pair.adjusted < 0.1) for pair in found.pairs)
    pair = found.pairs[1]
    arrays = values["A"], values["C"]
    interval = t_interval if test == "paired-t" else bootstrap_interval
    assert pair.interval == interval(*arrays, confidence=0.9)
    assert pair.effect == effect_size(*arrays)
    assert pair.detectable == detectable(*arrays, alpha=0.1)
    wins = (arrays[0] > arrays[1]).sum()
    assert (pair.wins, pair.ties, pair.losses) == (wins, 0, 40 - wins)


def test_letters_say_which_systems_differ(values):
    found = compare(values)
    assert found.letters == {"A": "b", "B": "b", "C": "a", "D": "c"}
    for (a, b), pair in zip(PAIRS, found.pairs, strict=True):
        assert pair.differs == (found.letters[a] != found.letters[b])


@pytest.mark.parametrize("test", ["tukey", "randomized-tukey"])
def test_tukeys_tests_take_the_queries_of_all(values, test):
    found = compare(values, test=test)
    table = np.column_stack(list(values.values()))
    expected = tukey(table) if test == "tukey" else randomized_tukey(table)
    assert [pair.p for pair in found.pairs] == expected.p[np.triu_indices(4, 1)].tolist()
    assert [pair.adjusted for pair in found.pairs] == [pair.p for pair in found.pairs]
    assert {pair.n for pair in found.pairs} == {38}
    assert found.correction == "tukey"
    pair = found.pair("A", "C")
    whole = ~np.isnan(table).any(axis=1)
    difference = (table[whole, 0] - table[whole, 2]).mean()
    np.testing.assert_allclose(pair.difference, difference, rtol=1e-12, atol=0)
    np.testing.assert_allclose(
        pair.interval, (difference - expected.least, difference + expected.least), rtol=1e-12, atol=0
    )


def test_against_one_system_there_are_fewer_pairs(values):
    found = compare(values, against="C")
    assert [(pair.first, pair.second) for pair in found.pairs] == [("A", "C"), ("B", "C"), ("D", "C")]
    p = [paired_t(values[name], values["C"]).p for name in "ABD"]
    assert [pair.adjusted for pair in found.pairs] == adjust(p, "holm").tolist()
    assert found.letters is None


@pytest.mark.parametrize("none", [None, "none"])
def test_without_a_correction_p_stays(values, none):
    assert all(pair.adjusted == pair.p for pair in compare(values, correction=none).pairs)
    assert compare(values, correction=none).correction is None


def test_another_correction_is_taken(values):
    found = compare(values, correction="benjamini-hochberg")
    expected = adjust([pair.p for pair in found.pairs], "benjamini-hochberg")
    assert [pair.adjusted for pair in found.pairs] == expected.tolist()


def test_means_are_over_the_queries_that_a_system_has(values):
    found = compare(values)
    assert found.means["B"] == np.nanmean(values["B"])
    assert found.undefined == {"B": 2}


def test_seeds_and_numbers_of_resamples_are_used(values):
    one, two = (compare(values, test="randomization", seed=s, n_resamples=999) for s in (0, 1))
    assert one.pair("A", "C").p == randomization(values["A"], values["C"], n_resamples=999).p
    assert one.pairs[1].interval != two.pairs[1].interval
    assert one == compare(values, test="randomization", n_resamples=999)


def test_the_power_note_has_the_median_of_the_pairs(values):
    found = compare(values)
    size = np.median([pair.detectable for pair in found.pairs])
    expected = f"With 40 queries the test would miss true differences below about {size:.3g} more"
    assert found.power_note.startswith(expected)
    two = compare({name: values[name] for name in "AC"})
    assert f"a true difference below {two.pairs[0].detectable:.3g} more" in two.power_note


@pytest.mark.parametrize(
    ("test", "n", "is_named"), [("paired-t", 29, 1), ("paired-t", 30, 0), ("sign", 29, 0)]
)
def test_a_t_test_of_few_queries_names_another(test, n, is_named):
    a, b = np.random.default_rng(0).random((2, n))
    assert ("randomization does not" in compare({"A": a, "B": b}, test=test).power_note) == is_named


def test_without_scatter_the_power_note_claims_nothing(values):
    """Of a system and itself, and of one that is higher by the same amount everywhere."""
    a, c = values["A"], values["C"]
    for other in (a, a + 0.1):
        found = compare({"A": a, "other": other})
        assert found.pairs[0].detectable == np.inf
        assert found.pairs[0].interval_text.endswith("queries with the same difference")
        assert found.power_note.startswith("The differences do not vary")
    three = compare({"A": a, "again": a, "C": c})
    assert f"below about {detectable(a, c):.3g} more" in three.power_note


def test_json_says_all_of_it(values):
    found = compare(values)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["systems"][1] == {
        "name": "B",
        "mean": found.means["B"],
        "undefined": 2,
        "ranked": 38,
        "letters": "b",
    }
    assert document["pairs"][0]["interval"] == list(found.pairs[0].interval)
    assert document["pairs"][0]["p"] == found.pairs[0].p
    assert [document[name] for name in ("test", "correction", "against", "alpha")] == [
        "paired-t",
        "holm",
        None,
        0.05,
    ]
    level = compare({"A": [1.0, 2.0], "B": [0.0, 1.0]}).to_dict()
    assert level["pairs"][0]["effect"] is None  # infinite


def test_tables_are_best_first_with_letters(values):
    systems, pairs = compare(values).tables("AP")
    assert systems.rows[0][0] == "C"
    assert [row[3] for row in systems.rows] == ["a", "b", "b", "c"]
    assert systems.columns == ("system", "queries", "AP", "letters")
    assert {row[0]: row[1] for row in systems.rows} == {"A": 40, "B": 38, "C": 40, "D": 40}
    of_all, _ = compare({name: values[name] for name in "AC"}).tables("AP")
    assert of_all.columns == ("system", "AP", "letters")  # the title has the number of queries
    assert "two-sided paired t-test, p adjusted by Holm (6 pairs)" in systems.notes[0]
    assert "Queries without a value: B 2; a query counts where it is defined for the pair." in systems.notes
    pair = compare(values).pairs[0]
    low, high = pair.interval
    assert pairs.rows[0] == (
        "A - B",
        pair.difference,
        f"[{low:.4f}, {high:.4f}]",
        pair.p,
        pair.adjusted,
        f"{pair.wins}/{pair.ties}/{pair.losses}",
        f"{pair.effect:.2f}",
    )


def test_tables_against_one_have_stars(values):
    systems, _ = compare(values, against="A").tables("AP")
    assert systems.columns == ("system", "queries", "AP", "minus A", "")
    by_name = {row[0]: row for row in systems.rows}
    assert by_name["A"][3:] == (None, "")
    assert by_name["D"][4] == "***"
    assert by_name["D"][3] == np.mean(values["D"] - values["A"])
    assert [stars(p) for p in (0.05, 0.049, 0.0099, 0.0009)] == ["", "*", "**", "***"]


def test_stars_are_for_the_corrected_p(values):
    found = compare(values, against="A")
    pairs = tuple(replace(pair, p=0.0001, adjusted=0.02) for pair in found.pairs)
    systems, _ = replace(found, pairs=pairs).tables("AP")
    assert [row[4] for row in systems.rows if row[0] != "A"] == ["*", "*", "*"]


def test_many_systems_have_no_table_of_pairs_unless_asked(values):
    many = compare({f"{name}{i}": v for name, v in values.items() for i in range(3)})
    assert len(many.tables("AP")) == 1
    assert len(many.tables("AP", pairs=True)) == 2


def test_notes_say_which_test_was_made(values):
    two = {name: values[name] for name in "AC"}
    assert compare(two).tables("AP")[0].notes[0].endswith("differ at 0.05: two-sided paired t-test.")
    note = compare(values, test="tukey").tables("AP")[0].notes
    assert "Tukey's HSD, two-way (systems and queries), p for all pairs together (6 pairs)" in note[0]
    assert "defined for all systems" in note[1]
    assert "p not adjusted" in compare(values, correction=None).tables("AP")[0].notes[0]


A = [0.1, 0.2, 0.4]
WRONG = [
    ({"A": A}, {}, "two systems or more are needed"),
    ([A, A], {}, "two systems or more are needed"),
    ({"A": A, "B": [1.0]}, {}, r"different numbers of values \(A 3, B 1\)"),
    ({"A": A, "B": [np.inf, 1, 2]}, {}, "system 'B' is infinite for a query"),
    ({"A": A, "B": [np.nan] * 3}, {}, "system 'B' has no value for any query"),
    ({"A": [np.nan, np.nan, 1.0], "B": A}, {}, "'A' and 'B' both have a value for 1 query; 2 or more"),
    ({"A": [np.nan, np.nan, 1.0], "B": [1.0, 2.0, np.nan]}, {"test": "sign"}, "for 0 queries; 1 or more"),
    ({"A": pd.Series(A), "B": pd.Series(A)[::-1]}, {}, "the series have different indexes"),
    ({"A": {"AP": A}, "B": {"AP": A}}, {}, "A is a dict; give one measure"),
    (3, {}, "per_query has the type int; two systems or more are needed"),
    ({"A": A, "B": A}, {"test": "t"}, "test='t': the tests are paired-t, wilcoxon"),
    ({"A": A, "B": A}, {"test": "wilcoxn"}, "Did you mean 'wilcoxon'"),
    ({"A": A, "B": A}, {"correction": "sidak"}, "correction='sidak': the corrections are holm"),
    ({"A": A, "B": A}, {"against": "C"}, "against='C' is not one of the systems; they are A, B"),
    ({"A": A, "B": A}, {"alpha": 0}, "alpha=0: alpha must be a number > 0 and < 1"),
    ({"A": A, "B": A}, {"seed": -1}, "seed=-1: seed must be an integer >= 0"),
    ({"A": A, "B": A}, {"n_resamples": 0}, "n_resamples=0: n_resamples must be an integer >= 1"),
    ({"A": A, "B": A}, {"test": "tukey", "correction": "holm"}, "takes no correction='holm'"),
    ({"A": A, "B": A}, {"test": "tukey", "against": "A"}, "takes no against='A'"),
]


@pytest.mark.parametrize(("values", "options", "message"), WRONG)
def test_what_cannot_be_compared_is_rejected(values, options, message):
    with pytest.raises(InputError, match=message):
        compare(values, **options)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_has_a_system_per_column(values, frame):
    assert compare(frame(values)).to_dict() == compare(values).to_dict()


def test_a_pair_that_was_not_compared_is_rejected(values):
    found = compare(values, against="C")
    with rejects(InputError):
        found.pair("A", "B")
    with rejects(InputError):
        compare(values).pair("A", "Z")
