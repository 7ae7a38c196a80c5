"""A search in several processes has the results of one process."""

import numpy as np
import pytest

import directrix as dx
from directrix.cli.advice import message_of
from directrix.data import make_linear
from directrix.search import halving
from tests.commands import refused, succeed
from tests.messages import rejects
from tests.search import search


@pytest.fixture(scope="module")
def data():
    return make_linear(40, 8, 4, seed=0)[0]


def told(result):
    return [
        (c.label, c.valid, c.train, c.steps, c.status, c.values.tobytes(), c.outcome) for c in result.trials
    ]


@pytest.mark.parametrize("settings", [{}, {"folds": 1}], ids=["folds", "held out"])
def test_processes_give_the_bits_of_one(data, settings):
    methods = dict(method="ListNet", measure="nDCG@5", settings={"max_iter": 4}, **settings)
    one = search(data, **methods)
    two = search(data, n_jobs=2, **methods)
    assert told(one) == told(two)
    assert one.why == two.why
    np.testing.assert_array_equal(one.ranker.coef_, two.ranker.coef_)
    assert one.notes == two.notes


def test_what_is_dropped_is_the_same(data, monkeypatch):
    monkeypatch.setattr(halving, "is_hopeless", lambda values, trials: len(trials) % 2 == 1)
    methods = dict(method="ListNet", measure="nDCG@5", settings={"max_iter": 2})
    one, two = search(data, **methods), search(data, n_jobs=2, **methods)
    assert "dropped" in {c.outcome for c in one.trials}
    assert told(one) == told(two)


def test_an_error_of_a_candidate_is_its_own(data):
    weights = np.linspace(1.0, 2.0, data.n_docs), None
    methods = dict(method="LambdaRank", weights=weights)
    messages = []
    for n_jobs in (1, 2):
        with pytest.raises(dx.InputError) as caught:
            search(data, n_jobs=n_jobs, **methods)
        messages.append(message_of(caught.value))
    assert messages[0] == messages[1]


def test_a_time_budget_is_for_one_process(data):
    with rejects(dx.InputError):
        search(data, method="ListNet", n_jobs=2, time_budget=9.0)
    with rejects(dx.InputError):
        search(data, method="ListNet", n_jobs=0)


def test_the_command_writes_the_same_file(data, tmp_path):
    dx.write_letor(data, tmp_path / "data.txt")
    files = []
    for jobs in (1, 2):
        file = tmp_path / f"{jobs}.json"
        arguments = ["train", tmp_path / "data.txt", "--method", "ListNet", "--set", "max_iter=3", "-o", file]
        succeed(*arguments, "--jobs", jobs)
        files.append(file.read_bytes())
    assert files[0] == files[1]
    assert "--jobs 0" in refused("train", tmp_path / "data.txt", "--jobs", "0", status=2)
