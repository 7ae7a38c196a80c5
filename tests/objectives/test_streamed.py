"""An objective whose features stay in a file against the same in memory."""

import pickle

import numpy as np
import pytest

import directrix as dx
from directrix.data.scale import SCALES, fit_scale
from directrix.data.synthetic import make_linear
from directrix.data.tables.read import open_parquet
from directrix.data.tables.write import write_parquet
from directrix.errors import InputError
from directrix.objectives.stream import Stream
from directrix.trainers.regression import regression_start
from tests.messages import rejects

N_QUERIES = 90


@pytest.fixture(scope="module", params=[".arrow", ".parquet"])
def both(request, tmp_path_factory):
    """The same queries in memory and in a file."""
    q, _ = make_linear(N_QUERIES, 40, 7, seed=3)
    q = dx.Queries.from_arrays(q.features.astype(np.float32) * 100 + 500, q.labels, group=np.diff(q.qptr))
    path = tmp_path_factory.mktemp("streamed") / f"data{request.param}"
    write_parquet(q, path)
    return q, open_parquet(path)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks, and parts, of little data."""
    monkeypatch.setattr("directrix.data.stored.BLOCK_BYTES", 20_000)
    monkeypatch.setattr("directrix.objectives.stream.BLOCK_BYTES", 20_000)
    monkeypatch.setattr("directrix.objectives.source._BYTES_PER_PART", 1)


def params_of(q, seed=0):
    return np.random.default_rng(seed).normal(size=q.n_features) / 500


@pytest.mark.parametrize("surrogate", ["ApproxNDCG", "ApproxAP", "ListNet()", "RankNet()", "SmoothNDCG"])
@pytest.mark.parametrize("threads", [1, 2])
def test_full_gradients_have_the_bits_of_those_in_memory(both, surrogate, threads):
    q, s = both
    weights = {"query_weight": np.arange(N_QUERIES), "l2": 0.1, "w0": np.ones(q.n_features)}
    before = dx.set_threads(threads)
    try:
        streamed = dx.linear_objective(s, surrogate, **weights)
        assert isinstance(streamed.source, Stream)
        loss, grad = streamed.value_and_grad(params_of(q))
        expected, expected_grad = dx.linear_objective(q, surrogate, **weights).value_and_grad(params_of(q))
    finally:
        dx.set_threads(before)
    assert loss == expected
    assert grad.tobytes() == expected_grad.tobytes()


def test_document_weights(both):
    q, s = both
    weight = np.random.default_rng(1).random(q.n_docs)
    loss, grad = dx.linear_objective(s, "ApproxNDCG", doc_weight=weight).value_and_grad(params_of(q))
    expected = dx.linear_objective(q, "ApproxNDCG", doc_weight=weight).value_and_grad(params_of(q))
    assert (loss, grad.tobytes()) == (expected[0], expected[1].tobytes())


@pytest.mark.parametrize("surrogate", ["ApproxNDCG", "ListNet()"])
def test_an_epoch_is_that_in_memory_in_the_order_of_reading(both, surrogate):
    q, s = both
    streamed, plain = (dx.linear_objective(x, surrogate, l2=0.01) for x in (s, q))
    order = np.random.default_rng(0).permutation(N_QUERIES)
    a, b = params_of(q), params_of(q)
    loss = streamed.sgd_epoch(a, order, 1e-4)
    expected = plain.sgd_epoch(b, streamed.source.reading_order(order), 1e-4)
    assert a.tobytes() == b.tobytes()
    assert not np.array_equal(a, params_of(q))
    np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=0)


def test_an_epoch_with_weights_where_some_blocks_weigh_nothing(both):
    q, s = both
    weight = np.where(np.arange(N_QUERIES) < 45, 0.0, np.arange(N_QUERIES))
    streamed, plain = (dx.linear_objective(x, "ApproxNDCG", l2=0.01, query_weight=weight) for x in (s, q))
    order = np.arange(N_QUERIES)
    a, b = params_of(q), params_of(q)
    loss, expected = streamed.sgd_epoch(a, order, 1e-4), plain.sgd_epoch(b, order, 1e-4)
    assert a.tobytes() == b.tobytes()
    np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=0)


def test_reading_order_takes_one_block_after_another_each_at_random(both):
    _, s = both
    streamed = dx.linear_objective(s, "ApproxNDCG")
    order = np.random.default_rng(0).permutation(N_QUERIES)
    read = streamed.source.reading_order(order)
    assert sorted(read) == list(range(N_QUERIES))
    block = read // (N_QUERIES // 5)
    starts = np.flatnonzero(np.diff(streamed.source._block_of(read))) + 1
    assert len(starts) + 1 == len(streamed.source._starts) - 1 > 3  # every block is read once
    assert block[0] != 0 or not np.array_equal(read, np.arange(N_QUERIES))
    for part in np.split(read, starts):
        assert [q for q in order if q in set(part)] == part.tolist()  # in the order that was given


def test_some_queries_and_batches(both):
    q, s = both
    weight = np.arange(1.0, N_QUERIES + 1)
    streamed, plain = (dx.linear_objective(x, "ApproxNDCG", l2=0.1, query_weight=weight) for x in (s, q))
    some = [70, 3, 4, 88]
    loss, grad = streamed.value_and_grad(params_of(q), some)
    expected, expected_grad = plain.value_and_grad(params_of(q), some)
    assert (loss, grad.tobytes()) == (expected, expected_grad.tobytes())
    seen, params = [], params_of(q)
    mean = streamed.epoch(params, np.arange(N_QUERIES), 4, seen.append)
    batches, at = [], 0
    for first, last in zip(streamed.source._starts[:-1], streamed.source._starts[1:], strict=True):
        batches += [np.arange(a, min(a + 4, last)) for a in range(first, last, 4)]
        at = last
    assert at == N_QUERIES
    assert len(batches) == len(seen)
    found = [plain.value_and_grad(params, batch) for batch in batches]
    np.testing.assert_array_equal(seen, [grad for _, grad in found])
    assert min(loss for loss, _ in found) < mean < max(loss for loss, _ in found)
    before = params.copy()
    streamed.sgd_epoch(params, np.arange(4), 0.01, batch=4)
    np.testing.assert_allclose(
        params,
        before - 0.01 * plain.value_and_grad(before, range(4))[1],
        rtol=0,
        atol=1e-8,  # weights are rounded to float32
    )


def test_scores_copies_and_pickles(both):
    q, s = both
    streamed, plain = dx.linear_objective(s, "ApproxNDCG"), dx.linear_objective(q, "ApproxNDCG")
    assert streamed.scores(params_of(q)).tobytes() == plain.scores(params_of(q)).tobytes()
    for other in (streamed.at(0.5), pickle.loads(pickle.dumps(streamed))):
        assert isinstance(other.source, Stream)
        other.value_and_grad(params_of(q))
    assert streamed.at(0.5).value_and_grad(params_of(q))[0] == plain.at(0.5).value_and_grad(params_of(q))[0]
    with rejects(InputError):
        dx.linear_objective(s, "Dorm()").convexified(params_of(q))


@pytest.mark.parametrize("scale", SCALES)
def test_scales(both, scale):
    q, s = both
    fitted, streamed = fit_scale(scale, q.features), fit_scale(scale, s.features)
    if fitted.center is not None:
        np.testing.assert_allclose(streamed.center, fitted.center, rtol=1e-12, atol=0)
        np.testing.assert_allclose(streamed.width, fitted.width, rtol=1e-10, atol=0)
    expected = fitted.apply(q.features, q.qptr)
    scaled = s.scaled(fitted).features
    read = [rows.copy() for _, rows in scaled.blocks(s.qptr)]
    assert len(read) > 3
    assert np.concatenate(read).tobytes() == expected.tobytes()
    for first, last in ((0, 5), (33, 121), (40, 80), (7, 7), (3590, 3600)):  # queries begin every 40 rows
        assert scaled[first:last].tobytes() == expected[first:last].tobytes()


def test_the_regression_start_is_that_in_memory(both):
    q, s = both
    weight = np.random.default_rng(0).random(q.n_docs)
    expected = regression_start(q, sample_weight=weight)
    assert regression_start(s, sample_weight=weight).tobytes() == expected.tobytes()


def test_readers_that_fail_are_heard(both, monkeypatch):
    _, s = both
    streamed = dx.linear_objective(s, "ApproxNDCG")

    def fail(*_):
        raise InputError("the disk is gone")

    monkeypatch.setattr(type(s.features.source), "read", fail)
    with pytest.raises(InputError, match="the disk is gone"):
        streamed.value_and_grad(np.zeros(7))
