"""Weights of documents and queries as columns of tables: the model is that of the same weights in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.commands import refused, succeed

import directrix as dx

pytest.importorskip("pyarrow")

FORMS = ["csv", "jsonl", "parquet"]
METHOD = ("--method", "RankNet", "--set", "l2=1e-3", "--set", "scale=standard", "-m", "nDCG@5")
BOTH = ("--weight-column", "propensity_weight", "--query-weight-column", "traffic")


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    else:
        frame.to_parquet(path)
    return path


@pytest.fixture(scope="module")
def frame():
    """Thirty queries of ten documents whose rows are mixed, with weights."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(300, 3)), np.repeat(np.arange(30), 10)
    data = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        qid=qid,
        label=(X[:, 0] + rng.normal(size=300) > 1).astype(int),
        propensity_weight=rng.integers(1, 9, 300) / 4.0,
        traffic=rng.integers(1, 50, 30)[qid],
    )
    return data.iloc[rng.permutation(300)]


@pytest.mark.parametrize("form", FORMS)
def test_the_model_is_that_of_weights_in_python(frame, form, tmp_path):
    train = write(frame, tmp_path / f"train.{form}")
    succeed("train", train, *BOTH, "--folds", "1", *METHOD, "-o", tmp_path / "model.json")
    q = dx.Queries.from_frame(frame[["qid", "label", "a", "b", "c"]])
    settings = {"l2": 1e-3, "scale": "standard"}
    auto = dx.AutoRanker("nDCG@5", method="RankNet", settings=settings, folds=1, random_state=0)
    of_query = frame.groupby("qid").traffic.first()
    given = frame.propensity_weight.to_numpy()[q.rows], of_query.loc[list(q.query_ids)].to_numpy()
    expected = auto.search(q, weights=given).ranker.predict_queries(q)
    model = dx.load(tmp_path / "model.json")
    assert list(model.model_.feature_names) == ["a", "b", "c"]
    assert model.predict_queries(q) == pytest.approx(expected, rel=1e-9)
    assert np.abs(auto.search(q).ranker.predict_queries(q) - expected).max() > 1e-3
    test = write(frame, tmp_path / f"test.{form}")
    assert "'traffic'" in succeed("predict", tmp_path / "model.json", test).stderr


def test_validation_data_may_have_the_columns_or_lack_them(frame, tmp_path):
    train = write(frame[frame.qid < 20], tmp_path / "train.csv")
    held_out = frame[frame.qid >= 20]
    for number, valid in enumerate((held_out, held_out.drop(columns="traffic"))):
        path, model = write(valid, tmp_path / f"valid{number}.csv"), tmp_path / f"{number}.json"
        succeed("train", train, *BOTH, "--valid", path, *METHOD, "-o", model)
    assert dx.load(tmp_path / "0.json").coef_.tolist() == dx.load(tmp_path / "1.json").coef_.tolist()


def test_weights_that_cannot_be_used_are_refused(frame, tmp_path):
    good = write(frame, tmp_path / "train.csv")
    text = tmp_path / "train.txt"
    dx.write_letor(dx.Queries.from_frame(frame[["qid", "label", "a"]]), text)
    negative = write(frame.assign(traffic=-1.0), tmp_path / "negative.csv")

    def message(path, *options):
        return refused("train", path, *METHOD, *options, "-o", tmp_path / "model.json")

    assert "no names; leave out --weight-column" in message(text, "--weight-column", "w")
    assert "Type --query-weight-column NAME" in message(good, "--query-weight-column", "w")
    assert "must be the same in all its rows" in message(good, "--query-weight-column", "propensity_weight")
    assert "traffic[0] is -1" in message(negative, "--query-weight-column", "traffic")


def _letor(frame, path):
    q = dx.Queries.from_frame(frame[["qid", "label", "a", "b", "c"]])
    dx.write_letor(q, path)
    return q


@pytest.mark.parametrize("column", ["propensity_weight", "traffic"])
@pytest.mark.filterwarnings("default")
def test_weights_next_to_letor_text_are_those_of_columns(frame, column, tmp_path):
    q = _letor(frame, tmp_path / "train.txt")
    weights = frame[column].to_numpy()[q.rows]
    weights = weights if column == "propensity_weight" else weights[q.qptr[:-1]]
    np.savetxt(tmp_path / "train.txt.weight", weights)
    result = succeed("train", tmp_path / "train.txt", "--folds", "1", *METHOD, "-o", tmp_path / "model.json")
    kind = "documents" if column == "propensity_weight" else "queries"
    assert f"note: weights of {kind}: {tmp_path}/train.txt.weight" in result.stderr
    auto = dx.AutoRanker(
        "nDCG@5", method="RankNet", settings={"l2": 1e-3, "scale": "standard"}, folds=1, random_state=0
    )
    given = (weights, None) if column == "propensity_weight" else (None, weights)
    (tmp_path / "train.txt.weight").unlink()
    q = dx.read_letor(tmp_path / "train.txt")
    expected = auto.search(q, weights=given).ranker.predict_queries(q)
    assert dx.load(tmp_path / "model.json").predict_queries(q) == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("default")
def test_weights_next_to_letor_text_that_do_not_fit_are_refused(frame, tmp_path):
    _letor(frame, tmp_path / "train.txt")
    train = ("train", tmp_path / "train.txt", *METHOD, "-o", tmp_path / "model.json")
    (tmp_path / "train.txt.weight").write_text("1\n" * 7)
    assert "has 7 weights for 300 documents and 30 queries; one of each is needed" in refused(*train)
    (tmp_path / "train.txt.weight").write_text("1\n-1\nhigh\n" * 100)
    text = refused(*train)
    assert "200 lines cannot be used" in text
    assert "train.txt.weight:2: the weight is '-1'; a finite number >= 0 is needed" in text
