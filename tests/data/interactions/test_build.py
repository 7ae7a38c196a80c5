"""Queries from events, compared with a reference that looks at one list after another."""

import math
import warnings
from collections import defaultdict

import numpy as np
import pytest

import directrix as dx

COUNTED = (
    "repeat an earlier one",
    "had no event before the decision",
    "hold only later steps",
    "follow a list of their user",
    "have a label from after it",
)
pytestmark = [pytest.mark.filterwarnings(f"ignore:.* {text}") for text in COUNTED]  # random events do so

KINDS = {"view": 0, "click": 1, "cart": 2, "purchase": 3}
DAY = 86400


def make_events(n=400, n_users=12, n_items=15, seed=0):
    """Events in random order, some at the same time; sessions are of one user."""
    rng = np.random.default_rng(seed)
    session = rng.integers(0, 4 * n_users, n)
    return {
        "user": [f"u{s % n_users}" for s in session],
        "item": [f"i{i}" for i in rng.integers(0, n_items, n)],
        "time": rng.integers(0, 5 * DAY, n) // 600 * 600,
        "event": rng.choice([*KINDS], n).tolist(),
        "session": session.tolist(),
    }


def rows_of(events):
    return list(
        zip(*(list(events[key]) for key in ("user", "item", "time", "event", "session")), strict=True)
    )


def key_of(row, by):
    user, _, time, _, session = row
    return {
        "user": user,
        "session": session,
        "day": f"{user}/{np.datetime64(int(time) // DAY, 'D')}",
    }[by]


def reference(events, by, decision=None):
    """For each list its decision, and the grade and features of each item of the catalog before it."""
    lists = defaultdict(list)
    for row in rows_of(events):
        lists[key_of(row, by)].append(row)
    out = {}
    for key, rows in lists.items():
        pick = max if by == "user" else min
        at = pick(row[2] for row in rows) if decision is None else decision
        labels = [row for row in rows if row[2] >= at]
        past = [row for row in rows_of(events) if row[2] < at]
        user = rows[0][0]
        items = {}
        for item in {row[1] for row in past}:
            grade = max((KINDS[row[3]] for row in labels if row[1] == item), default=0)
            of_item = [row for row in past if row[1] == item]
            of_pair = [row for row in of_item if row[0] == user]
            counts = [sum(row[3] == kind for row in part) for part in (of_item, of_pair) for kind in KINDS]
            last = max((row[2] for row in of_pair), default=-math.inf)
            items[item] = (grade, [*map(math.log1p, counts), 1 / (1 + (at - last) / DAY)])
        if labels and items:
            out[key] = at, items, max(row[2] for row in labels), {row[1] for row in labels}, len(past)
    return out


def documents(q):
    """For each query its documents: label, features, sampling probability."""
    out = {}
    for i, query in enumerate(q.query_ids):
        rows = range(q.qptr[i], q.qptr[i + 1])
        out[query] = {q.doc_ids[r]: (q.labels[r], q.features[r], q.sampling[r]) for r in rows}
        assert len(out[query]) == len(rows)
    return out


@pytest.mark.parametrize(
    ("by", "decision"), [("session", None), ("day", None), ("user", None), ("user", 3 * DAY)]
)
def test_labels_candidates_and_features_are_those_of_the_reference(by, decision):
    events = make_events()
    q = dx.data.from_interactions(events, by=by, decision=decision)
    expected, of = reference(events, by, decision), documents(q)
    assert set(of) == set(expected)
    assert (np.diff(q.times) >= 0).all()
    for i, query in enumerate(q.query_ids):
        at, items, end, _, _ = expected[query]
        assert (q.times[i], q.ends[i]) == (at, end)
        assert set(of[query]) == set(items)
        for item, (label, features, probability) in of[query].items():
            assert (label, probability) == (items[item][0], 1.0)
            np.testing.assert_allclose(features, items[item][1], rtol=1e-6)


@pytest.mark.parametrize("by", ["session", "day", "user"])
def test_later_events_change_neither_candidates_nor_features(by):
    events = make_events(n=200)
    whole = dx.data.from_interactions(events, by=by)
    all_of, of_all = documents(whole), dict(zip(whole.query_ids, whole.times, strict=True))
    for query, at in list(of_all.items())[::5]:
        planted = [row for row in rows_of(events) if row[2] < at or key_of(row, by) == query]
        planted += [("u0", "later", at + 1, "purchase", 999)] * 50
        planted += [(f"u{user}", "i1", at, "purchase", 900 + user) for user in (1, 2) if by == "session"]
        columns = dict(
            zip(("user", "item", "time", "event", "session"), zip(*planted, strict=True), strict=True)
        )
        q = dx.data.from_interactions({key: list(column) for key, column in columns.items()}, by=by)
        if by == "user" and query == "u0":
            continue  # whose last event is a planted one
        alone = documents(q)[query]
        assert set(alone) == set(all_of[query])
        for item, (_, features, _) in alone.items():
            np.testing.assert_array_equal(features, all_of[query][item][1])


@pytest.mark.parametrize("sampling", ["uniform", "popularity"])
def test_drawn_negatives_have_their_probability(sampling):
    events = make_events(n=150, n_items=8)
    expected = reference(events, "day")
    drawn, n_seeds = defaultdict(int), 400
    for seed in range(n_seeds):
        q = dx.data.from_interactions(events, negatives=3, sampling=sampling, seed=seed)
        for query, items in documents(q).items():
            for item, (_, _, probability) in items.items():
                drawn[query, item, probability] += 1
    differences = []
    for query, (at, items, _, positive, n_past) in expected.items():
        for item in items:
            left = len(items) - len(positive & set(items))
            share = sum(row[1] == item and row[2] < at for row in rows_of(events)) / n_past
            probability = min(1.0, 3 / left) if left and sampling == "uniform" else 1 - (1 - share) ** 3
            if item in positive:
                probability = 1.0
            times = [
                n
                for (a, b, p), n in drawn.items()
                if (a, b) == (query, item) and math.isclose(p, probability)
            ]
            assert len(times) == 1 or (not times and probability < 0.1)
            if probability < 1.0:
                deviation = math.sqrt(probability * (1 - probability) / n_seeds)
                differences.append((sum(times) / n_seeds - probability) / deviation)
            else:
                assert times == [n_seeds]
    assert abs(np.mean(differences)) < 0.2  # standard normal, if the probabilities are right
    assert 0.8 < np.std(differences) < 1.2
    assert np.abs(differences).max() < 5


@pytest.mark.parametrize("by", ["user", "day", "session"])
def test_events_that_repeat_others_are_counted_and_named(by):
    events = {key: column[:40] for key, column in make_events(60).items()}
    assert len({row[:4] for row in rows_of(events)}) == 40
    twice = {key: [*column, *list(column)[5:8], list(column)[6]] for key, column in events.items()}
    with pytest.warns(UserWarning, match=r"4 of 44 events repeat .* first in row 40\)") as caught:
        q = dx.data.from_interactions(twice, by=by)
    assert {one.filename for one in caught} == {__file__}
    np.testing.assert_array_equal(q.labels, dx.data.from_interactions(events, by=by).labels)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".* repeat an earlier one")
        dx.data.from_interactions(events, by=by)
