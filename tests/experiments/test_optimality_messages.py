"""Refusals of certify and polish: what arrived, and what to type instead."""

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError
from directrix.experiments.optimality import certify, polish
from tests.messages import rejects

Q = dx.Queries.from_arrays(np.eye(3), [0, 1, 2], group=[3])
SAME = dx.Queries.from_arrays(np.ones((3, 3)), [0, 1, 2], group=[3])
ONE_LABEL = dx.Queries.from_arrays(np.eye(3), [0, 0, 0], group=[3])
W = np.array([1.0, 2.0, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: certify(W, Q, "AP", eps=0.0), r"eps=0\.0: eps must be a number > 0 and < 1"),
        (lambda: certify(W, Q, "AP", delta=1.5), r"delta=1\.5: delta must be a number > 0 and < 1"),
        (lambda: certify(W, Q, "AP", eps=1e-9), r"need 4\.6e\+09 directions; .* e\.g\. eps=0\.01"),
        (lambda: certify(W, Q, "AP", eps=5e-324), "need inf directions"),
        (lambda: certify(W, Q, "AP", steps=[]), r"steps=\[\]: lengths > 0 are needed"),
        (lambda: certify(W, Q, "AP", steps=[0.1, -1]), "lengths > 0 are needed, e.g. steps="),
        (lambda: certify(W, Q, "AP", seed=-1), "seed=-1: seed must be an integer >= 0"),
        (lambda: certify(W, Q), "weights have no measure of their own; pass one"),
        (lambda: certify(W[:2], Q, "AP"), r"shape \(2,\); 3 finite numbers are needed on Queries"),
        (lambda: certify(W * np.nan, Q, "AP"), "3 finite numbers are needed"),
        (
            lambda: certify("model.json", Q, "AP"),
            "ranker_or_params is a str; a fitted LinearRanker or MLPRanker",
        ),
        (lambda: certify(W, "train.txt", "AP"), "data is a str; Queries are needed"),
        (lambda: certify(0 * W, Q, "AP", relative=True), "all weights are 0 and have no length"),
        (lambda: certify(W, ONE_LABEL, "AP(empty='skip')"), "defined for none of the 1 queries"),
        (lambda: certify(W, SAME, "AP", one_weight=True), "no feature orders the documents"),
        (lambda: certify(W, Q, "KendallTau", exact=True), "is not a sum over the ranks of documents"),
        (lambda: polish(W, Q, "AP", max_moves=-1), "max_moves=-1: max_moves must be an integer >= 0"),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_models_without_weights_are_rejected():
    X, y, qid = np.random.default_rng(0).random((40, 2)), np.tile([0, 1], 20), np.repeat(np.arange(4), 10)
    q = dx.Queries.from_arrays(X, y, qid=qid)
    ranker = dx.StumpRanker("ListNet", max_iter=2).fit_queries(q)
    with rejects(InputError):
        certify(ranker, q)


def test_networks_have_no_exact_test():
    ranker = dx.MLPRanker("ListNet", hidden=(2,), max_iter=1, random_state=0, scale=None).fit_queries(Q)
    with pytest.raises(InputError, match=r"exact=True: the scores of MLPModel\(.*leave exact out"):
        certify(ranker, Q, "AP", exact=True)
    objective = dx.linear_objective(Q, "ListNet")
    with rejects(InputError):
        certify(ranker, objective, "AP")
