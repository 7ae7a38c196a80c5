"""A second stage for the candidates of implicit and RecTools, with the packages themselves.

RecTools needs its own build of implicit, pandas before 3, and Python 3.13 for NumPy 2, so it has its own
environment::

    python3.13 -m venv second
    second/bin/pip install -e . rectools==0.19.0 pytest pytest-xdist pytest-randomly hypothesis
    second/bin/python -m pytest tests/interop/test_second_stage.py
"""

import re
from pathlib import Path

import numpy as np
import pytest

import directrix as dx

PAGE = Path(__file__).parents[2] / "docs/how-to/other-tools.md"


def run(*words):
    """Run the blocks of the page that have one of the words; return their names."""
    names = {"np": np, "dx": dx}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        if any(word in block for word in words):
            exec(block, names)
    return names


def ndcg(recommended, truth):
    """Mean nDCG@10 of the lists of users."""
    lists, watched = recommended.groupby("user_id"), truth.groupby("user_id")
    ranks = {str(u): dict(zip(part.item_id.astype(str), -part["rank"], strict=True)) for u, part in lists}
    qrels = {str(u): dict.fromkeys(part.item_id.astype(str), 1) for u, part in watched}
    return dx.evaluate("nDCG@10", run=ranks, qrels=qrels)["nDCG@10"]


def test_candidates_of_implicit_are_ranked_better():
    pytest.importorskip("implicit")
    found = run("watched = ", "import implicit", "values = ")
    assert found["values"]["second stage"] > found["values"]["implicit"] + 0.02
    later, watched = found["later"], found["watched"]
    assert (np.diff(later.qptr) == 40).all()
    pairs = list(zip(np.repeat(later.users, 40).astype(int), later.doc_ids.astype(int), strict=True))
    is_later = watched.time >= "2026-02-15"
    before, after = (
        {*map(tuple, watched.loc[rows, ["user", "item"]].to_numpy().tolist())}
        for rows in (~is_later, is_later)
    )
    assert not before.intersection(pairs)
    assert later.labels.tolist() == [float(pair in after) for pair in pairs]


def test_rectools_ranks_its_candidates_with_a_ranker():
    rectools = pytest.importorskip("rectools")
    found = run("watched = ", "ListReranker")
    columns, model, dataset = rectools.Columns, found["model"], found["dataset"]
    recommended, ranker = found["recommended"], found["ranker"]
    assert recommended.groupby(columns.User).size().eq(10).all()
    # scores are those of the ranker for the same candidates
    users = np.arange(200)
    candidates = model._get_candidates_from_first_stage(users, dataset, filter_viewed=True, for_train=False)
    scores = ranker.predict(candidates.drop(columns=columns.UserItem))
    best = candidates.assign(score=scores).groupby(columns.User).score.nlargest(10).to_numpy()
    np.testing.assert_allclose(np.sort(recommended.score), np.sort(best), rtol=1e-6)
    # users are the queries: a ranker of one list of all candidates has other weights
    train = model.get_train_with_targets_for_reranker(dataset)
    X, y = train.drop(columns=[*columns.UserItem, columns.Target]), train[columns.Target]
    fitted = [
        dx.LinearRanker(scale="standard").fit(X, y, qid=qid, missing="nan")
        for qid in (train[columns.User], 0 * y)
    ]
    np.testing.assert_allclose(fitted[0].coef_, ranker.coef_, rtol=1e-3)
    assert abs(fitted[1].coef_ - ranker.coef_).max() > 0.1 * abs(ranker.coef_).max()
    truth = found["interactions"].query("datetime >= '2026-02-15'")
    value = ndcg(recommended, truth)
    for one in found["first_stage"]:
        assert value > ndcg(one.fit(dataset).recommend(users, dataset, 10, filter_viewed=True), truth)
