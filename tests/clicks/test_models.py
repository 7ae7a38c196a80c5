"""Click models: closed forms by counting, EM against direct maximization, probabilities by enumeration."""

import tracemalloc
from itertools import product
from math import log2

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, xlog1py, xlogy

import directrix as dx
from directrix.clicks import expectation, models
from directrix.clicks.log import Log
from tests.messages import rejects

NAMES = list(models.MODELS)
SEQUENTIAL = ["CM", "DCM", "SDBN", "DBN", "UBM"]
PRIOR = (1.0, 2.0)


def random_log(n_sessions=60, seed=0, rate=0.4, n_docs=4):
    rng, columns = (
        np.random.default_rng(seed),
        {"session": [], "query": [], "doc": [], "position": [], "click": []},
    )
    for s in range(n_sessions):
        query = int(rng.integers(2))
        for k, doc in enumerate(rng.permutation(n_docs)[: rng.integers(1, n_docs + 1)], start=1):
            for name, value in zip(columns, (s, query, int(doc), k, rng.random() < rate), strict=True):
                columns[name].append(value)
    return Log.from_frame(columns)


def sessions_of(log):
    """Pairs and clicks of each session, as lists from the top."""
    s = log.sessions
    rows = [slice(a, b) for a, b in zip(s.ptr[:-1], s.ptr[1:], strict=True)]
    return [(s.pair[r].tolist(), s.click[r].astype(int).tolist()) for r in rows]


def probability(model, pairs, clicks):
    """Probability of the clicks of a session whose positions are 1, 2, ...: a user goes down, in words."""
    a, theta = model.attraction_, model.examination_

    def from_here(row, last, examines=1):
        if row == len(pairs):
            return 1.0
        pair, c, k = pairs[row], clicks[row], row + 1
        if model.name in ("PBM", "UBM", "GCTR", "RCTR", "DCTR"):
            p = (theta[row, last] if model.name == "UBM" else theta[row]) * a[pair]
            return (p if c else 1.0 - p) * from_here(row + 1, k if c else last, examines)
        if not examines:
            return 0.0 if c else from_here(row + 1, last, 0)
        after = {
            "CM": lambda: 0.0,
            "DCM": lambda: model.continuation_[row],
            "SDBN": lambda: 1.0 - model.satisfaction_[pair],
            "DBN": lambda: (1.0 - model.satisfaction_[pair]) * model.perseverance_,
        }[model.name]()
        on = after if c else model.perseverance_
        rest = on * from_here(row + 1, last) + (1.0 - on) * from_here(row + 1, last, 0)
        return (a[pair] if c else 1.0 - a[pair]) * rest

    return from_here(0, 0)


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_are_those_of_all_click_vectors(name):
    log = random_log()
    model = dx.clicks.model(name, prior=PRIOR, max_iter=30, tol=1e-3).fit(log)
    marginal, given = model.click_probability(log), model.click_probability(log, given_clicks=True)
    total, row = 0.0, 0
    for pairs, clicks in sessions_of(log):
        chances = {c: probability(model, pairs, c) for c in product((0, 1), repeat=len(pairs))}
        np.testing.assert_allclose(sum(chances.values()), 1.0, rtol=1e-12)
        total += np.log(chances[tuple(clicks)]) if chances[tuple(clicks)] else -np.inf
        for k in range(len(pairs)):
            expected = sum(p for c, p in chances.items() if c[k])
            np.testing.assert_allclose(marginal[row], expected, rtol=1e-12, atol=1e-15)
            same = {c: p for c, p in chances.items() if list(c[:k]) == clicks[:k]}
            if sum(same.values()):
                expected = sum(p for c, p in same.items() if c[k]) / sum(same.values())
                np.testing.assert_allclose(given[row], expected, rtol=1e-11, atol=1e-15)
            row += 1
    np.testing.assert_allclose(model.log_likelihood(log), total, rtol=1e-12)


def rate(successes, trials):
    return (successes + PRIOR[0]) / (trials + sum(PRIOR))


@pytest.mark.parametrize("name", ["CM", "DCM", "SDBN", "DCTR", "RCTR", "GCTR"])
def test_closed_forms_are_counts_by_hand(name):
    log = random_log()
    model, n_pairs, k = dx.clicks.model(name, prior=PRIOR).fit(log), len(log.pairs), log.n_positions
    seen, clicked, last = np.zeros((3, n_pairs))
    by_position, last_at, shown = np.zeros((3, k))
    for pairs, clicks in sessions_of(log):
        ones = [i for i, c in enumerate(clicks) if c]
        end = len(pairs)
        if ones and name in ("CM", "DCM", "SDBN"):
            end = (ones[0] if name == "CM" else ones[-1]) + 1
        for i in range(end):
            seen[pairs[i]] += 1
            clicked[pairs[i]] += clicks[i]
        for i, c in enumerate(clicks):
            shown[i] += 1
            by_position[i] += c
        if ones:
            last[pairs[ones[-1]]] += 1
            last_at[ones[-1]] += 1
    if name == "GCTR":
        np.testing.assert_allclose(model.attraction_, rate(by_position.sum(), shown.sum()), rtol=1e-14)
    elif name == "RCTR":
        np.testing.assert_allclose(model.examination_, rate(by_position, shown), rtol=1e-14)
    else:
        np.testing.assert_allclose(model.attraction_, rate(clicked, seen), rtol=1e-14)
    if name == "DCM":
        np.testing.assert_allclose(model.continuation_, rate(by_position - last_at, by_position), rtol=1e-14)
    if name == "SDBN":
        np.testing.assert_allclose(model.satisfaction_, rate(last, clicked), rtol=1e-14)


def test_rates_without_prior_and_data_are_one_half():
    log = Log.from_frame(
        {"session": [1, 1], "query": [1, 1], "doc": ["a", "b"], "position": [1, 3], "click": [1, 0]}
    )
    model = dx.clicks.model("RCTR", prior=(0, 0)).fit(log)
    assert model.examination_.tolist() == [1.0, 0.5, 0.0]


def unpacked(name, x, log):
    """A model with parameters that are the logistic function of x."""
    model, n, k = dx.clicks.model(name), len(log.pairs), log.n_positions
    model.pairs_, rates = log.pairs, expit(x)
    model.attraction_ = rates[:n]
    if name == "PBM":
        model.examination_ = np.append(1.0, rates[n:])
    elif name == "UBM":
        theta = np.zeros((k, k))
        theta[np.tril_indices(k)] = np.append(1.0, rates[n:])
        model.examination_ = theta
    else:
        model.satisfaction_, model.perseverance_ = rates[n : 2 * n], rates[2 * n]
    return model


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN"])
def test_em_never_falls_and_ends_where_direct_maximization_ends(name):
    log, prior = random_log(120, rate=0.3, n_docs=3), (0.5, 0.5)
    model = dx.clicks.model(name, prior=prior, max_iter=5000, tol=1e-13).fit(log)
    assert (np.diff(model.trace_) >= -1e-9).all()

    def loss(x):
        rates = expit(x)
        return (
            -unpacked(name, x, log).log_likelihood(log)
            - (xlogy(prior[0], rates) + xlog1py(prior[1], -rates)).sum()
        )

    n, k = len(log.pairs), log.n_positions
    size = n + {"PBM": k - 1, "UBM": k * (k + 1) // 2 - 1, "DBN": n + 1}[name]
    best = minimize(
        loss, np.zeros(size), method="L-BFGS-B", options={"maxiter": 500, "maxfun": 10**6, "ftol": 1e-13}
    )
    np.testing.assert_allclose(model.trace_[-1], -best.fun, rtol=1e-7)
    np.testing.assert_allclose(model.attraction_, expit(best.x[:n]), atol=2e-3)


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN"])
def test_fits_have_the_same_bits_for_any_threads(monkeypatch, name):
    monkeypatch.setattr(expectation, "_CELLS", 8)
    monkeypatch.setattr(models, "_ROWS", 8)
    log, fits = random_log(), []
    for threads in (1, 3):
        before = dx.set_threads(threads)
        fits.append(dx.clicks.model(name, max_iter=9, tol=1e-2).fit(log))
        dx.set_threads(before)
    assert (fits[0].attraction_ == fits[1].attraction_).all()
    assert fits[0].trace_ == fits[1].trace_


@pytest.mark.parametrize("name", ["PBM", "GCTR", "RCTR", "DCTR"])
def test_counts_suffice_where_clicks_do_not_depend_on_each_other(name):
    log = random_log()
    counts = Log(log.pairs, log.aggregate())
    one, other = (dx.clicks.model(name, tol=1e-4).fit(x) for x in (log, counts))
    assert (one.attraction_ == other.attraction_).all()
    np.testing.assert_allclose(one.log_likelihood(log), other.log_likelihood(counts), rtol=1e-12)
    np.testing.assert_allclose(one.perplexity(log), other.perplexity(counts), rtol=1e-12)
    assert len(other.click_probability(counts)) == len(counts.aggregate().pair)


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_models_of_sessions_reject_counts(name):
    log = random_log()
    with pytest.raises(dx.InputError, match="no sessions"):
        dx.clicks.model(name).fit(Log(log.pairs, log.aggregate()))


def test_perplexity_counts_only_sessions_that_have_the_position():
    log = Log.from_frame(
        {
            "session": [1, 2, 2],
            "query": [1] * 3,
            "doc": ["a", "a", "b"],
            "position": [1, 1, 2],
            "click": [1, 0, 1],
        }
    )
    model = dx.clicks.model("RCTR", prior=(1, 1)).fit(log)
    expected = [2 ** -((log2(2 / 4) + log2(2 / 4)) / 2), 2 ** -log2(2 / 3)]
    np.testing.assert_allclose(model.perplexity(log), expected, rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_simulated_clicks_follow_the_model(name):
    log = random_log(200, seed=3)
    model = dx.clicks.model(name, prior=PRIOR, max_iter=30, tol=1e-3).fit(log)
    draws = np.mean([model.simulate(log, seed=i).sessions.click for i in range(400)], axis=0)
    p = model.click_probability(log)
    error = np.sqrt(p * (1 - p) / 400) + 1e-9
    assert np.abs((draws - p) / error).max() < 5.0
    assert (model.simulate(log, seed=1).sessions.click == model.simulate(log, seed=1).sessions.click).all()


def test_two_clicks_are_impossible_under_the_cascade_model():
    log = random_log(rate=0.6)
    model = dx.clicks.model("cm").fit(log)
    assert model.log_likelihood(log) == -np.inf


def test_unknown_pairs_and_positions_have_the_prior_and_the_last_position():
    small = {"session": [1, 1], "query": ["q", "q"], "doc": ["a", "b"], "position": [1, 2], "click": [1, 0]}
    large = {
        "session": [1] * 3,
        "query": ["q"] * 3,
        "doc": ["b", "c", "a"],
        "position": [1, 2, 3],
        "click": [0] * 3,
    }
    log, other = Log.from_frame(small), Log.from_frame(large)
    model = dx.clicks.model("DCTR", prior=(1, 2)).fit(log)
    np.testing.assert_allclose(model.click_probability(other), [1 / 4, 1 / 3, 2 / 4], rtol=1e-14)
    for name in ("UBM", "DCM", "PBM"):
        assert np.isfinite(dx.clicks.model(name, tol=1e-3).fit(log).log_likelihood(other))


def test_em_that_does_not_converge_warns():
    for name in ("PBM", "DBN"):
        with pytest.warns(dx.NotConverged, match="after 2 passes"):
            dx.clicks.model(name, max_iter=2, tol=0.0).fit(random_log())


def test_models_show_themselves():
    log = random_log()
    for name in NAMES:
        model = dx.clicks.model(name, tol=1e-3).fit(log)
        assert str(model).startswith(f"{name}, 8 pairs")
        assert model.to_dict()["model"] == name


def test_what_is_no_model_is_rejected():
    for given in ("PMB", 3):
        with rejects(dx.InputError):
            dx.clicks.model(given)
    for prior in (1, (1, -1)):
        with rejects(dx.InputError):
            dx.clicks.model("PBM", prior=prior)
    with rejects(dx.InputError):
        dx.clicks.model("PBM").log_likelihood(random_log())


def deep_log(last, n_queries=3):
    """A few sessions of short lists, and one row far below."""
    rows = [(s, f"q{s % n_queries}", f"d{k}", k, (s + k) % 2) for s in range(60) for k in (1, 2)]
    rows.append((0, "q0", "deep", last, 1))
    names = ("session", "query", "doc", "position", "clicked")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_one_row_at_a_deep_position_takes_little_memory(name):
    log = Log.from_frame(deep_log(2**15 - 1))
    tracemalloc.start()
    if name == "UBM":
        with rejects(dx.InputError):
            models.model(name).fit(log)
        log = Log.from_frame(deep_log(500))
    model = models.model(name).fit(log)
    model.perplexity(log), model.tables()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (2e8 if name == "UBM" else 5e7)


def test_simulated_lists_have_limits():
    q, _ = dx.data.make_linear(5, 10, 3, seed=0)
    for options in ({"model": "UBM", "n_positions": 2000}, {"n_positions": 2**15}):
        with rejects(dx.InputError):
            dx.clicks.simulate(q, q.labels, n_sessions=10, **options)
