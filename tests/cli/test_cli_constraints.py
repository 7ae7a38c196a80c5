"""``directrix train --nonnegative`` and ``--monotone``: which methods are tried, and what the model keeps."""

import json

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx

LINEAR = ("--method", "ApproxNDCG", "--set", "l2=1e-3", "--set", "alpha=3")


@pytest.fixture(scope="module")
def table(files):
    """The training data as a table, whose features have names; one of them is a number."""
    q = dx.read_letor(files.train)
    path = files.folder / "train.csv"
    rows = [f"{qid},{label:g},{','.join(map(str, x))}" for qid, label, x in rows_of(q)]
    path.write_text("\n".join(["qid,label,price,-old,4,3", *rows]))
    return path


def rows_of(q):
    qid = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    return zip(qid, q.labels, q.features.tolist(), strict=True)


def test_a_file_without_names_has_numbers_from_1(files, tmp_path):
    free, kept = tmp_path / "free.json", tmp_path / "kept.json"
    train = ("train", files.train, "--valid", files.valid, *LINEAR)
    succeed(*train, "-o", free)
    signs = np.sign(dx.load(free).coef_)
    wrong = [str(f + 1) for f in np.flatnonzero(signs < 0)]
    assert 0 < len(wrong) < 4
    result = succeed(*train, "-o", kept, "--nonnegative", ",".join(wrong), "-f", "json")
    coef = dx.load(kept).coef_
    assert (coef[signs < 0] >= 0.0).all()
    assert (np.sign(coef[signs > 0]) == 1.0).all()
    assert dx.load(kept).bounds == {int(f) - 1: (0.0, None) for f in wrong}
    settings = json.loads(result.stdout)["candidates"][0]["settings"]
    assert settings["bounds"] == {str(int(f) - 1): [0.0, None] for f in wrong}
    succeed(*train, "-o", kept, "--nonnegative", "all")
    assert dx.load(kept).bounds == "nonnegative"


def test_a_minus_sign_turns_the_direction_and_names_come_first(table, tmp_path):
    path = tmp_path / "m.json"
    options = (*LINEAR, "--folds", "1", "-o", path)
    given = ("--monotone=-price,-old,--old", "--monotone=-3", "--monotone", "4")
    assert "both directions" in refused("train", table, *options, *given)
    assert "with the names price, -old, 4, 3" in refused("train", table, *options, "--monotone", "1")
    succeed("train", table, *options, "--monotone=-price,-old", "--monotone=-3", "--monotone", "4")
    ranker = dx.load(path)
    assert ranker.monotone == {"price": -1, "-old": 1, "3": -1, "4": 1}
    assert (ranker.coef_ * [-1, 1, 1, -1] >= 0.0).all()


def test_other_methods_are_left_out_with_a_remark(files, tmp_path):
    path = tmp_path / "m.json"
    methods = ("--method", "ApproxNDCG,SmoothNDCG,LambdaMART", "--set", "max_iter=3", "--set", "n_trees=3")
    both = succeed("train", files.train, *methods, "--folds", "1", "-o", path, "--monotone", "1")
    assert "SmoothNDCG: not trained, because they cannot keep to the constraints" in both.stderr
    assert "LambdaMART" in both.stdout
    assert "monotone" not in both.stdout
    linear = run(
        "train", files.train, *methods, "--folds", "1", "-o", path, "--nonnegative", "1", "-f", "json"
    )
    assert "SmoothNDCG, LambdaMART: not trained" in linear.stderr
    assert {c["method"] for c in json.loads(linear.stdout)["candidates"]} == {"ApproxNDCG"}


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (("--nonnegative", "5"), 1, "--nonnegative '5': the data have no such feature; they have 4"),
        (("--monotone", "0"), 1, "--monotone '0': the data have no such feature"),
        (("--monotone", "price"), 1, "--monotone 'price': the data have no such feature"),
        (("--monotone=1,-1",), 1, "both directions"),
        (("--monotone", "00000000001"), 1, "no such feature"),
        (("--monotone=-",), 1, "no such feature"),
        (("--monotone", ","), 2, "need a feature"),
        (("--nonnegative", ""), 2, "need a feature"),
        (("--method", "YetiRank", "--nonnegative", "1"), 2, "cannot keep to bounds"),
        (("--set", "bounds={}", "--nonnegative", "1"), 2, "give only --nonnegative"),
        (("--set", "monotone={}", "--monotone", "1"), 2, "give only --monotone"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(files, tmp_path, options, code, text):
    assert " ".join(text.split()) in refused(
        "train", files.train, "-o", tmp_path / "m.json", *options, status=code
    )
    assert not (tmp_path / "m.json").exists()
