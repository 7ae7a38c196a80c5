"""Type checkers see what users write wrongly, and nothing else."""

import re
import subprocess
import sys

import pytest

RIGHT = """
import directrix as dx
import numpy as np
import numpy.typing as npt
q = dx.read_letor("a.txt")
ranker = dx.LinearRanker("RankNet", l2=1.0).fit_queries(q, q, measure="AP")
weights = ranker.coef_
scores = dx.BoostedRanker("Lambda").set_fit_request(qid=True).fit([[1.0]], [1.0], qid=[1]).predict([[1.0]])
scores = dx.AutoRanker("nDCG@10").fit_queries(q).predict_queries(q)
dx.load("model.json").predict_queries(q)
dx.export(ranker, "model.onnx", to="onnx", check=q)


def value() -> float:
    return dx.evaluate("AP", [0.1], [1.0], group=[1], convention="letor3")["AP"]


def bound() -> float:
    return dx.evaluate(["AP"], run={}, qrels={}, by={}, per_query=False).segments["a"]["AP"]


values = dx.evaluate("AP", [0.1], [1.0], group=[1], per_query=True)["AP"].tolist()


def probabilities() -> npt.NDArray[np.float64]:
    return ranker.calibrate(q).calibration_(scores)
"""
WRONG = {
    "dx.LinearRanker(l3=1.0)": 'Unexpected keyword argument "l3"',
    "dx.BoostedRanker(n_treez=3)": 'Unexpected keyword argument "n_treez"',
    "dx.LinearRanker().fit_querys(q)": 'has no attribute "fit_querys"',
    "dx.AutoRanker().coef_": 'has no attribute "coef_"',
    "dx.load('model.json').predikt(q)": 'has no attribute "predikt"',
    "dx.evaluate(['AP'], scores, scores, qidd=[1])": 'No overload variant of "evaluate"',
    "dx.ApproxNDCG(alfa=1.0)": 'Unexpected keyword argument "alfa"',
    "dx.NDGC()": 'Module has no attribute "NDGC"',
}


@pytest.mark.slow
def test_mypy_sees_wrong_names_and_passes_right_ones(tmp_path):
    pytest.importorskip("mypy")
    path, settings = tmp_path / "script.py", tmp_path / "mypy.ini"
    path.write_text(RIGHT.lstrip() + "".join(f"{line}\n" for line in WRONG))
    settings.write_text("[mypy]\nstrict = True\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    first = RIGHT.strip().count("\n") + 2
    found = {int(n): text for n, text in re.findall(r"script\.py:(\d+): error: (.*)", done.stdout)}
    assert set(found) == set(range(first, first + len(WRONG))), done.stdout
    for line, expected in zip(sorted(found), WRONG.values(), strict=True):
        assert expected in found[line]
