"""Steps of a new user who trains: what users of boosters and of scikit-learn type first, on real data."""

import html
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import directrix as dx
from directrix.cli.main import app
from tests.commands import run


@pytest.fixture(scope="module")
def ohsumed(data_dir):
    return data_dir / "letor" / "OHSUMED" / "Fold1"


@pytest.fixture(scope="module")
def fold(ohsumed):
    return [dx.read_letor(ohsumed / f"{name}.txt") for name in ("train", "vali", "test")]


def rows(q):
    """Arrays as a user has them: features, labels, and the query of each row."""
    return q.features, q.labels, np.repeat(np.array(q.query_ids, dtype=str), np.diff(q.qptr))


# 11 Names that users of boosters and of scikit-learn know


def test_a_booster_is_followed_stopped_and_explained(fold):
    (X, y, qid), (Xv, yv, qid_v), _ = map(rows, fold)
    steps = []
    ranker = dx.BoostedRanker(n_trees=60, lightgbm_params={"max_depth": 3})
    asked = {"measure": "nDCG@10", "early_stopping_rounds": 10, "callback": steps.append}
    ranker.fit(X, y, qid=qid, eval_set=(Xv, yv), eval_qid=qid_v, **asked)
    curve = ranker.evals_result_["valid_0"]["nDCG@10"]
    assert len(steps) == len(curve) < 61  # stopped ten trees after the best one
    assert int(np.argmax(curve)) == len(curve) - 11 == ranker.trees_.n_trees
    assert ranker.feature_importances_.shape == (X.shape[1],)
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


def test_training_goes_on_from_a_file(fold, tmp_path):
    train, _, test = fold
    first = dx.BoostedRanker(n_trees=4).fit_queries(train)
    first.save(tmp_path / "first.json")
    more = dx.BoostedRanker(n_trees=5, init_model=tmp_path / "first.json").fit_queries(train)
    whole = dx.BoostedRanker(n_trees=9).fit_queries(train)
    np.testing.assert_array_equal(more.predict_queries(test), whole.predict_queries(test))


def test_a_search_reaches_the_surrogate_and_asks_for_one_measure(fold):
    X, y, qid = rows(fold[0])
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = dx.LinearRanker("ApproxAP", max_iter=10).set_fit_request(qid=True)
        steps = Pipeline([("scale", StandardScaler()), ("ranker", ranker)])
        grid = {"ranker__surrogate__alpha": [1.0, 30.0]}
        search = GridSearchCV(steps, grid, cv=GroupKFold(3), scoring=dx.experiments.make_scorer("AP"))
        search.fit(X, y, qid=qid, groups=qid)
    assert 0.3 < search.best_score_ < 0.6  # MAP of linear rankers on OHSUMED is about .44


# 12 The command, as people type it


def test_training_and_comparisons_leave_a_page(ohsumed, tmp_path):
    words = ("Regression,ListNet", "--folds", "2", "--jobs", "2", "--report", tmp_path / "train.html")
    done = run("train", ohsumed / "vali.txt", "--method", *words, "-o", tmp_path / "m.json")
    assert done.exit_code == 0, done.stderr
    assert "ListNet" in (tmp_path / "train.html").read_text()
    page = tmp_path / "cv.html"
    asked = ("--folds", 3, "--method", "Regression,ListNet", "-m", "nDCG@10,AP", "--report", page)
    assert run("lab", "crossval", ohsumed / "vali.txt", *asked, "-o", tmp_path / "cv").exit_code == 0
    assert "nDCG@10" in page.read_text()


def test_the_command_is_a_module_too_and_threads_go_anywhere():
    found = subprocess.run(
        [sys.executable, "-m", "directrix", "doctor", "--threads", "1"], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert re.search(r"threads\W+1\b", found.stdout)


@pytest.mark.parametrize("name", sorted(c.name for c in app.registered_commands))
def test_no_help_shows_types_of_python(name):
    text = run(name, "--help").stdout
    assert text.strip()
    assert not re.search(r"list\[|Path\]|Value error|typing\.", text)


# 10, 14 Tables for readers


def test_tables_have_names_stars_and_no_p_of_zero(data_dir, tmp_path):
    folder = data_dir / "trec7"
    live, new = (folder / "runs" / f"basic-{name}.res.gz" for name in ("TF_IDF_5", "DFIC_6"))
    page, asked = tmp_path / "page.html", ("compare", folder / "qrels.trec7.txt", live, new, "-m", "AP")
    assert run(*asked, "--name", "live", "--name", "new", "--report", page).exit_code == 0
    text = html.unescape(page.read_text())
    assert "0.000" not in re.findall(r"<td[^>]*>([^<]*)</td>", text)
    latex = run(*asked, "--format", "latex").stdout
    assert "TF\\_IDF - DFIC" in latex  # tags of the runs
    assert "basic-" not in latex  # names of their files
    assert json.loads(run(*asked, "--format", "json").stdout)
