"""``directrix lab certify`` through its options, as registered or not."""

import json
from functools import partial

import numpy as np
import pytest
from tests.commands import run

import directrix as dx
from directrix.experiments.optimality import certify as certificate_of
from directrix.experiments.optimality import polish as polished_of

QUICK = ("--eps", "0.1", "--delta", "0.1", "--steps", "0.1,1")
CHOSEN = {"eps": 0.1, "delta": 0.1, "steps": [0.1, 1.0]}


@pytest.fixture(scope="module")
def call(files):
    """Run the command on the trained model and its training data."""
    return partial(run, "lab", "certify", files.model, files.train)


def test_json_is_the_certificate(call, files):
    result = call("-m", "AP", "-m", "nDCG@3", *QUICK, "--relative", "--seed", 3, "--format", "json")
    document = json.loads(result.stdout)
    q, ranker = dx.read_letor(files.train), dx.load(files.model)
    rows = [
        {"polished": False, **certificate_of(ranker, q, m, relative=True, seed=3, **CHOSEN).to_dict()}
        for m in ("AP", "nDCG@3")
    ]
    assert document == {"model": str(files.model), "data": str(files.train), "rows": rows}
    assert "directions rise" in result.stderr


def test_table_and_tsv_show_the_measure_that_the_model_was_trained_for(call):
    table, tsv = call(*QUICK), call(*QUICK, "--format", "tsv", "--exact")
    assert table.stdout.split("\n")[1].split()[:2] == ["given", "nDCG@5"]
    head, row = (line.split("\t") for line in tsv.stdout.splitlines())
    assert head[-4:] == ["lines rising within", "rise within", "lines rising anywhere", "rise anywhere"]
    assert row[3] == "22"
    assert 0.0 < float(row[2]) <= 1.0


def test_one_weight(call):
    rows = json.loads(call(*QUICK, "--one-weight", "--format", "json").stdout)["rows"]
    assert (rows[0]["directions"], rows[0]["n_directions"], rows[0]["share_below"]) == ("one weight", 8, None)
    head, row = (line.split("\t") for line in call(*QUICK, "--one-weight", "-f", "tsv").stdout.splitlines())
    shown = dict(zip(head, row, strict=True))
    verdict = "of single weights" if rows[0]["is_local_optimum"] else "no"
    assert (shown["confidence"], shown["local optimum"]) == ("", verdict)


def test_polish_writes_a_model(call, files, tmp_path):
    path = tmp_path / "polished.json"
    result = call("-m", "AP", *QUICK, "--polish", "-o", path, "--format", "json")
    given, polished = json.loads(result.stdout)["rows"]
    q, better = dx.read_letor(files.train), dx.load(path)
    expected = polished_of(dx.load(files.model), q, "AP", **CHOSEN)
    assert (better.coef_ == expected.params).all()
    assert polished["value"] >= given["value"] == polished["start"]
    value = dx.measure("AP")(better.predict_queries(q), q.labels, q.qptr).mean()
    np.testing.assert_allclose(value, polished["value"], rtol=1e-14)
    assert f"saved: {path}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--polish"], "give the file to write: -o polished.json"),
        (["-o", "x.json"], "add --polish"),
        (["--polish", "-o", "x.json", "-m", "AP", "-m", "RR"], "give -m once"),
        (["--polish", "-o", "x.json", "--exact"], "leave out --exact and --one-weight"),
        (["--eps", "0"], "eps must be a number > 0 and < 1"),
        (["--steps", "a"], "numbers separated by commas are needed"),
        (["--steps", "0.1,-1"], "lengths > 0 are needed"),
    ],
)
def test_wrong_usage(call, arguments, message):
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
