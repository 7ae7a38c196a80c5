"""One rule for missing values at every door: ``predict``, a loaded ranker and a scorer answer alike."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.commands import run
from tests.messages import rejects

import directrix as dx

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
WHOLE = RNG.normal(size=(300, 3))
GAPS = np.where((RNG.random((300, 3)) < 0.3) & [True, False, False], np.nan, WHOLE)
Y = (WHOLE[:, 0] > 0.3).astype(int) + (WHOLE[:, 1] < 0.0)
QID = np.repeat(np.arange(30), 10)
RANKERS = {
    "linear": lambda: dx.LinearRanker("ListNet", max_iter=10),
    "linear log": lambda: dx.LinearRanker("ListNet", max_iter=10, scale="log"),
    "network": lambda: dx.MLPRanker(max_iter=3, random_state=0),
    "stumps": lambda: dx.StumpRanker(max_iter=5),
    "stumps minmax": lambda: dx.StumpRanker(max_iter=5, scale="minmax"),
    "trees": lambda: dx.BoostedRanker(n_trees=8),
    "trees raw+standard": lambda: dx.BoostedRanker(n_trees=8, scale="raw+standard"),
    "trees standard": lambda: dx.BoostedRanker(n_trees=8, scale="standard"),
    "leafwise": lambda: dx.BoostedRanker(n_trees=8, monotone={"b": -1}),
    "ensemble": lambda: dx.EnsembleRanker([RANKERS["linear log"](), RANKERS["trees"]()]),
    "search": lambda: dx.AutoRanker("nDCG@3", method="BoostedNDCG", settings={"n_trees": 3}, folds=1),
}


def data(X, missing="error"):
    frame = pd.DataFrame(X, columns=NAMES)
    return dx.Queries.from_arrays(frame, Y, qid=QID, missing=missing)


def forms(X):
    """The same rows in every form, with a missing number as each form has it."""
    rows = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    dicts = [dict(zip(NAMES, row, strict=True)) for row in rows]
    columns = {name: [row[name] for row in dicts] for name in NAMES}
    yield from (
        X,
        X.astype(np.float32),
        X.tolist(),
        rows,
        tuple(map(tuple, rows)),
        np.array(rows, dtype=object),
    )
    yield [[pd.NA if x is None else x for x in row] for row in rows]
    yield from (dicts, [{name: x for name, x in row.items() if x is not None} for row in dicts], columns)
    yield from (pd.DataFrame(columns), pd.DataFrame(columns).convert_dtypes(), pl.DataFrame(columns))


def answer(predict, rows, **rule):
    try:
        return predict(rows, **rule)
    except dx.InputError as error:
        return str(error).replace("of the list", "of the data")


@pytest.mark.parametrize("training", ["whole", "gaps", "zeros"])
@pytest.mark.parametrize("kind", RANKERS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_door_gives_the_same_answer(kind, training, tmp_path):
    rule = {"whole": "error", "gaps": "nan", "zeros": "zero"}[training]
    ranker = RANKERS[kind]()
    if training == "gaps" and not ranker.takes_missing:
        return
    ranker.fit_queries(data(WHOLE if training == "whole" else GAPS, rule))
    ranker.save(tmp_path / "m.json")
    loaded, scorer = dx.load(tmp_path / "m.json"), dx.load_scorer(tmp_path / "m.json")
    assert ranker.missing_ == loaded.missing_ == rule
    for column in range(2):
        rows = WHOLE[:6].copy()
        rows[1, column] = np.nan
        answers = [answer(one.predict, form) for one in (ranker, loaded, scorer) for form in forms(rows)]
        if isinstance(answers[0], str):
            assert set(answers) == {answers[0]}
            assert f"row 1 of the data: {NAMES[column]!r} is " in answers[0]
        else:
            for found in answers:
                np.testing.assert_allclose(found, answers[0], rtol=2e-5, atol=2e-5)
        sided = kind in ("trees", "trees raw+standard", "leafwise", "ensemble", "search") and column == 1
        assert isinstance(answers[0], str) == (rule == "error" or (rule == "nan" and sided))
        for decided in ("nan", "zero"):
            own = dx.load_scorer(tmp_path / "m.json", missing=decided) if rule == "error" else None
            if own is not None:
                found = answer(own.predict, rows)
                expected = answer(ranker.predict, rows, missing=decided)
                assert (
                    isinstance(found, str)
                    == isinstance(expected, str)
                    == (kind in UNABLE and decided == "nan")
                )
                if decided == "zero":
                    np.testing.assert_allclose(
                        expected, ranker.predict(np.nan_to_num(rows)), rtol=1e-9, atol=0
                    )
                if not isinstance(found, str):
                    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


UNABLE = ("linear", "stumps")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_decision_against_the_training_is_refused(tmp_path):
    RANKERS["trees"]().fit_queries(data(GAPS, "nan")).save(tmp_path / "m.json")
    with rejects(dx.InputError):
        dx.load_scorer(tmp_path / "m.json", missing="zero")
    with rejects(dx.InputError):
        dx.load(tmp_path / "m.json").predict(GAPS, missing="zero")
    with rejects(dx.InputError):
        dx.load_scorer(tmp_path / "m.json", missing="mean")
    with rejects(dx.InputError):
        dx.load(tmp_path / "m.json").predict(GAPS, missing="mean")
    never = WHOLE[:6].copy()
    never[1, 1] = np.nan
    zero = dx.load(tmp_path / "m.json").predict(np.nan_to_num(never))
    np.testing.assert_array_equal(dx.load_scorer(tmp_path / "m.json", missing="nan").predict(never), zero)


def test_validation_rows_with_gaps_need_training_rows_with_gaps():
    for ranker in (RANKERS["trees"](), RANKERS["linear log"]()):
        with rejects(dx.InputError):
            ranker.fit(WHOLE, Y, qid=QID, eval_set=(GAPS, Y), eval_qid=QID)
        ranker.fit(GAPS, Y, qid=QID, eval_set=(WHOLE, Y), eval_qid=QID, missing="nan")
        ranker.fit_queries(data(WHOLE), data(GAPS, "nan"))  # somebody decided it


def test_a_missing_category_is_a_missing_value(tmp_path):
    frame = pd.DataFrame({"price": WHOLE[:, 0], "shop": pd.Categorical(np.where(Y > 0, "x", "y"))})
    dx.BoostedRanker(n_trees=3).fit(frame, Y, qid=QID).save(tmp_path / "m.json")
    loaded, scorer = dx.load(tmp_path / "m.json"), dx.load_scorer(tmp_path / "m.json")
    rows = pd.DataFrame({"price": [1.0, 2.0], "shop": ["x", None]})
    with rejects(dx.InputError):
        loaded.predict(rows)
    for given in (
        rows,
        [[1.0, "x"], [2.0, None]],
        [[1.0, "x"], [2.0, ""]],
        [{"price": 1.0, "shop": "x"}, {"price": 2.0}],
    ):
        with rejects(dx.InputError):
            scorer.predict(given)
    expected = loaded.predict(rows, missing="nan")
    decided = dx.load_scorer(tmp_path / "m.json", missing="nan")
    np.testing.assert_array_equal(decided.predict([[1.0, "x"], [2.0, None]]), expected)
    # with "zero" too, since no category is 0
    np.testing.assert_array_equal(loaded.predict(rows, missing="zero"), expected)
    decided = dx.load_scorer(tmp_path / "m.json", missing="zero")
    np.testing.assert_array_equal(decided.predict([[1.0, "x"], [2.0, None]]), expected)
    rows.assign(qid=1, label=0).to_parquet(tmp_path / "rows.parquet")
    printed = run("predict", tmp_path / "m.json", tmp_path / "rows.parquet", "--missing", "zero").stdout
    np.testing.assert_allclose(np.loadtxt(printed.split()), expected, rtol=1e-12)
    for predict in (loaded.predict, scorer.predict):
        with pytest.warns(UserWarning, match="categor"):
            found = predict(pd.DataFrame({"price": [1.0, 2.0], "shop": ["x", "new"]}))
        np.testing.assert_array_equal(found, expected)  # an unknown category is no missing value


def test_the_shell_names_a_feature_that_was_never_missing(tmp_path):
    for name, X in (("train", GAPS), ("test", np.where(np.isnan(GAPS), 1.0, np.roll(GAPS, 1, axis=1)))):
        frame = pd.DataFrame(X, columns=NAMES).assign(qid=QID, label=Y)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    dx.BoostedRanker(n_trees=3).fit_queries(data(GAPS, "nan")).save(tmp_path / "m.json")
    found = run("predict", tmp_path / "m.json", tmp_path / "test.csv")
    assert found.exit_code == 1
    assert "'b' is missing (NaN)" in found.stderr
    assert "type --missing nan" in found.stderr
    assert run("predict", tmp_path / "m.json", tmp_path / "test.csv", "--missing", "nan").exit_code == 0
