"""Runs as features: against what the paper says, on hand-made runs and on those of TREC-7."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages import rejects

import directrix as dx

A = "1 Q0 d1 1 9 A\n1 Q0 d2 2 7 A\n1 Q0 d3 3 5 A\n2 Q0 d1 1 4 A\n2 Q0 d2 2 4 A\n8 Q0 d1 1 4 A\n"
B = "1 Q0 d4 1 -1 B\n1 Q0 d2 2 -2 B\n"
QRELS = "1 0 d1 0\n1 0 d2 2\n1 0 d4 1\n1 0 d9 1\n7 0 d1 1\n2 0 d1 -1\n2 0 d2 1\n"
NAN = np.nan


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.res.gz").write_bytes(gzip.compress(A.encode()))
    (tmp_path / "b.res").write_text(B)
    (tmp_path / "qrels").write_text(QRELS)
    return tmp_path


@pytest.fixture
def scores(files):
    return dx.data.runs_as_features([files / "a.res.gz", files / "b.res"], files / "qrels")


def test_documents_are_the_union_and_labels_the_judgments(scores):
    assert scores.tags == ("A", "B")
    assert scores.query_ids == ("1", "2")
    assert scores.qptr.tolist() == [0, 4, 6]
    assert scores.doc_ids.tolist() == ["d1", "d2", "d3", "d4", "d1", "d2"]
    assert scores.labels.tolist() == [0.0, 2.0, 0.0, 1.0, 0.0, 1.0]
    expected = [[9, NAN], [7, -2], [5, NAN], [NAN, -1], [4, NAN], [4, NAN]]
    np.testing.assert_array_equal(scores.scores, np.array(expected, np.float32))
    assert scores.n_relevant.tolist() == [3, 1]  # d9 of topic 1 was retrieved by none
    assert scores.unjudged == ("8",)
    assert scores.unretrieved == ("7",)
    assert (scores.n_docs, scores.n_queries) == (6, 2)


def test_runs_in_memory_do_the_same(files, scores):
    runs = [dx.read_trec_run(files / "a.res.gz"), dx.read_trec_run(files / "b.res")]
    again = dx.data.runs_as_features(iter(runs), dx.read_trec_qrels(files / "qrels"))
    np.testing.assert_array_equal(again.scores, scores.scores)
    assert again.doc_ids.tolist() == scores.doc_ids.tolist()


def test_the_order_of_the_runs_only_orders_the_columns(files, scores):
    turned = dx.data.runs_as_features([files / "b.res", files / "a.res.gz"], files / "qrels")
    np.testing.assert_array_equal(turned.scores, scores.scores[:, ::-1])
    assert turned.doc_ids.tolist() == scores.doc_ids.tolist()


def test_depth_cuts_as_trec_eval_orders(tmp_path):
    lines = ["1 Q0 d1 1 2 A", "1 Q0 d3 2 2 A", "1 Q0 d2 3 2 A", "1 Q0 d0 9 3 A", "1 Q0 d9 0 1 A"]
    (tmp_path / "run").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    for depth, kept in [
        (1, ["d0"]),
        (2, ["d0", "d3"]),
        (3, ["d0", "d2", "d3"]),
        (5, ["d0", "d1", "d2", "d3", "d9"]),
    ]:
        found = dx.data.runs_as_features([tmp_path / "run"], tmp_path / "qrels", depth=depth)
        assert found.doc_ids.tolist() == kept
    assert found.n_relevant.tolist() == [1]


def test_scores_as_features(scores):
    q = scores.queries()
    assert q.feature_names == ("A", "B")
    assert q.features.dtype == np.float32
    assert (q.query_ids, q.doc_ids.tolist()) == (scores.query_ids, scores.doc_ids.tolist())
    low = [4 - 0.01 * (9 - 4), -2 - 0.01 * (-1 - -2)]
    np.testing.assert_allclose(scores.floor, low, rtol=1e-6, atol=0)
    missing = np.isnan(scores.scores)
    np.testing.assert_array_equal(q.features[missing], np.broadcast_to(scores.floor, (6, 2))[missing])
    np.testing.assert_array_equal(q.features[~missing], scores.scores[~missing])


def test_percentiles_are_shares_of_what_the_run_retrieved(scores):
    x = scores.queries("percentile").features
    third = 1 / 3
    expected = [[1, 0], [2 * third, third * 1.5], [third, 0], [0, 1], [1, 0], [1, 0]]  # of A's two: both 2/2
    np.testing.assert_allclose(x, expected, rtol=1e-15, atol=0)


def test_minmax_is_by_query_and_run(scores):
    x = scores.queries("minmax").features
    expected = [[1, -1], [(7 - 5) / (9 - 5), 0], [0, -1], [-1, 1], [1, -1], [1, -1]]  # equal scores: 1
    np.testing.assert_allclose(x, expected, rtol=1e-15, atol=0)


def test_a_share_meets_its_threshold_exactly():
    n = 51
    lines = "".join(f"1 Q0 d{i} 0 {i} A\n" for i in range(n))
    run = one_run(lines)
    found = run.queries("percentile").features[:, 0]
    even = np.arange(1, n) / n
    above = (found[:, None] > even).sum(axis=1)
    order = np.argsort(found)
    assert above[order].tolist() == list(range(n))


def test_taken_topics_keep_the_floor(scores):
    part = scores.take([1])
    assert part.query_ids == ("2",)
    assert part.n_relevant.tolist() == [1]
    assert part.floor.tolist() == scores.floor.tolist()
    np.testing.assert_array_equal(part.scores, scores.scores[4:])
    with rejects(dx.InputError):
        scores.take([2])


def one_run(text, relevant=("d0",)):
    from directrix.data.trec.features import runs_as_features

    rows = [line.split() for line in text.splitlines()]
    queries = list(dict.fromkeys(row[0] for row in rows))
    order = sorted(range(len(rows)), key=lambda i: queries.index(rows[i][0]))
    qptr = np.searchsorted([queries.index(rows[i][0]) for i in order], np.arange(len(queries) + 1))
    docs = np.array([rows[i][2] for i in order], dtype=object)
    run = dx.data.Run("A", tuple(queries), qptr, docs, np.array([float(rows[i][4]) for i in order]))
    names = np.array([*relevant] * len(queries), dtype=object)
    judged = np.arange(len(queries) + 1) * len(relevant)
    return runs_as_features([run], dx.data.Qrels(tuple(queries), judged, names, np.ones(len(names))))


def test_half_of_the_thresholds_are_where_relevant_documents_are():
    lines = "".join(f"1 Q0 n{i} 0 {i / 980} A\n" for i in range(980))
    lines += "".join(f"1 Q0 d{i} 0 {2 + i / 20} A\n" for i in range(20))
    scores = one_run(lines, relevant=tuple(f"d{i}" for i in range(20)))
    (found,) = scores.thresholds(20)
    assert len(found) == 20
    assert (found < 0.9999).sum() == 10  # among the 980
    assert (found > 1.5).sum() == 9  # among the twenty, at every second
    np.testing.assert_allclose(found[-9:], 2 + (2 * np.arange(1, 10) - 0.5) / 20, rtol=1e-6, atol=0)
    assert found[0] == np.nextafter(0.0, -1.0)  # retrieved at all


def test_few_scores_have_few_thresholds(scores):
    first, second = scores.thresholds(50)
    np.testing.assert_array_equal(first, [np.nextafter(4, 0), 4.5, 6.0, 8.0])
    np.testing.assert_array_equal(second, [np.nextafter(-2, -3), -1.5])
    assert [len(t) for t in scores.take([1]).thresholds(50)] == [1, 0]
    assert [len(t) for t in scores.thresholds(1)] == [1, 1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("12"),
            st.one_of(
                st.sampled_from([0.0, 1.0, -1.0, 1.0000001, 1e30, -1e30, 1e-30]),
                st.floats(-(2.0**120), 2.0**120, width=32),
            ),
            st.booleans(),
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 12),
)
def test_thresholds_are_what_a_stump_model_takes(rows, bins):
    lines = "".join(f"{topic} Q0 d{i} 0 {s!r} A\n" for i, (topic, s, _) in enumerate(rows))
    relevant = tuple(f"d{i}" for i, row in enumerate(rows) if row[2]) or ("d0",)
    scores = one_run(lines, relevant)
    (found,) = scores.take([0]).thresholds(bins)
    model = dx.models.StumpModel([found])
    mine = scores.take([0]).scores[:, 0].astype(np.float64)
    assert 1 <= len(found) <= bins
    assert found[-1] < mine.max()
    # all documents of training are told from those that were not retrieved, in every topic
    assert (model.bins(scores.take([0]).queries().features) >= 1).all()
    assert (scores.floor <= found[0]).all()
    # the same side in float32 as in float64
    both = [(x.astype(np.float64)[:, None] > found).sum(axis=1) for x in (mine.astype(np.float32), mine)]
    np.testing.assert_array_equal(*both)
    np.testing.assert_array_equal(both[0], model.bins(scores.take([0]).queries().features)[0])
    assert (np.diff(np.unique(both[0])) >= 1).all()


def test_absent_in_test_topics_exceeds_no_threshold_of_the_training_topics():
    # the smallest score of topic 2 is above all of topic 1
    scores = one_run("1 Q0 d0 1 1 A\n1 Q0 d1 2 0 A\n2 Q0 d0 1 9 A\n2 Q0 d1 2 8 A\n")
    from directrix.data.trec.features import runs_as_features  # a second run brings a document that A lacks

    other = dx.data.Run("B", ("2",), np.array([0, 1]), np.array(["x"], dtype=object), np.array([5.0]))
    first = dx.data.Run(
        "A", scores.query_ids, scores.qptr, scores.doc_ids, scores.scores[:, 0].astype(np.float64)
    )
    docs = np.array(["d0", "d0", "x"], dtype=object)
    qrels = dx.data.Qrels(("1", "2"), np.array([0, 1, 3]), docs, np.array([1.0, 1.0, 0.0]))
    both = runs_as_features([first, other], qrels)
    model = dx.models.StumpModel(both.take([0]).thresholds())
    test = both.take([1])
    bins = model.bins(test.queries().features)
    assert bins[0].tolist() == [2, 2, 0]
    assert test.doc_ids[2] == "x"


def test_equal_tags_give_way_to_names_of_files(files):
    (files / "c.res.gz").write_bytes(gzip.compress(A.encode()))
    found = dx.data.runs_as_features([files / "a.res.gz", files / "c.res.gz"], files / "qrels")
    assert found.tags == ("a", "c")
    with rejects(dx.InputError):
        dx.data.runs_as_features([files / "a.res.gz"] * 2, files / "qrels")
    run = dx.read_trec_run(files / "b.res")
    with rejects(dx.InputError):
        dx.data.runs_as_features([run, run], files / "qrels")


def test_nothing_in_common(files):
    (files / "other").write_text("5 0 d1 1\n")
    with rejects(dx.InputError):
        dx.data.runs_as_features(files / "a.res.gz", files / "other")
    with rejects(dx.InputError):
        dx.data.runs_as_features([], files / "qrels")


@pytest.mark.parametrize("score", [1e38, -1e300, np.inf, np.nan])
def test_scores_beyond_float32(score):
    with pytest.raises(dx.InputError, match=r"run 'A': the score of document 'd0' is .* at most 1e"):
        one_run(f"1 Q0 d0 1 {score} A\n")


@pytest.mark.parametrize("count", [0, True, 1.5])
def test_counts(scores, files, count):
    with rejects(dx.InputError):
        scores.thresholds(count)
    with rejects(dx.InputError):
        dx.data.runs_as_features(files / "b.res", files / "qrels", depth=count)


def test_forms(scores):
    with pytest.raises(dx.InputError, match="form='rank': form must be one of score, percentile, minmax"):
        scores.queries("rank")


def test_arrays_are_read_only(scores):
    with pytest.raises(ValueError, match="read-only"):
        scores.scores[0, 0] = 1.0


@pytest.fixture(scope="session")
def trec7(data_dir):
    runs = sorted((data_dir / "trec7" / "runs").glob("*.gz"))
    return dx.data.runs_as_features(runs, data_dir / "trec7" / "qrels.trec7.txt")


def test_trec7(trec7):
    assert len(trec7.tags) == 23
    assert trec7.query_ids == tuple(str(topic) for topic in range(351, 401))
    assert int(trec7.n_relevant.sum()) == 4674
    sizes = np.diff(trec7.qptr)
    assert (trec7.n_docs, int(sizes.min()), int(sizes.max())) == (105290, 63, 3763)
    assert int((trec7.labels > 0).sum()) == 2789
    assert trec7.unjudged == trec7.unretrieved == ()
    assert [len(t) for t in trec7.take(range(10)).thresholds()] == [50] * 23


def test_trec7_single_runs_have_the_ap_of_trec_eval(trec7, data_dir):
    """A column measured within the union gives the AP of its run, once divided by all relevant documents."""
    column = trec7.scores[:, trec7.tags.index("LGDc1.0")].astype(np.float64)
    ap = []
    for q, n_relevant in enumerate(trec7.n_relevant):
        mine = slice(int(trec7.qptr[q]), int(trec7.qptr[q + 1]))
        s, relevant = column[mine], trec7.labels[mine] > 0
        order = np.argsort(-s[~np.isnan(s)], kind="stable")
        hits = relevant[~np.isnan(s)][order]
        ap.append((hits * np.cumsum(hits) / np.arange(1, len(hits) + 1)).sum() / n_relevant)
    run = dx.read_trec_run(data_dir / "trec7" / "runs" / "extra-LGDc1.0_3.res.gz")
    joined = dx.data.join_trec(
        run, dx.read_trec_qrels(data_dir / "trec7" / "qrels.trec7.txt"), queries="judged"
    )
    whole = dx.measure("AP")(joined.scores, joined.labels, joined.qptr)
    np.testing.assert_allclose(np.mean(ap), whole.mean(), rtol=0, atol=2e-4)  # ties by name, not by mean
