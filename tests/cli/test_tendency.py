"""``directrix lab tendency``."""

import json
import sys
from functools import partial

import pytest
from tests.commands import run

from directrix.experiments.tendency_on_data import EVERY_SURROGATE, random_models, surrogate_tendencies


@pytest.fixture(scope="module")
def command():
    return partial(run, "lab", "tendency")


def test_json_has_what_the_library_finds(command, files):
    import directrix as dx

    options = ("-s", "ApproxNDCG(alpha=30)", "-s", "Regression", "--models", 20, "--norm", 2, "--seed", 4)
    done = command(files.test, *options, "--format", "json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    rows = document.pop("rows")
    assert document == {"models": 20, "norm": 2.0, "transform": "linear", "seed": 4, "queries": 8}
    q = dx.read_letor(files.test)
    models = random_models(20, q.n_features, norm=2.0, seed=4)
    (expected,) = surrogate_tendencies(["ApproxNDCG(alpha=30)"], q, models=models)
    assert (rows[0]["coefficient"], rows[0]["k"]) == (expected.coefficient, expected.k)
    assert list(rows[0]) == ["surrogate", "measure", "coefficient", "k", "median", "query"]
    assert [row["measure"] for row in rows] == ["nDCG", "nDCG"]
    assert dx.surrogate(rows[1]["surrogate"]) == dx.Regression()


def test_a_function_of_the_surrogate_may_stand_in_place_of_the_factor(command, files):
    options = ("-s", "SVMMap", "--models", 10)
    linear, monotone = (
        json.loads(command(files.test, *options, *more, "--format", "json").stdout)["rows"][0]
        for more in ((), ("--transform", "monotone"))
    )
    assert monotone["coefficient"] < linear["coefficient"]
    assert (monotone["k"], linear["k"] is None) == (None, False)
    assert "between the change of the best non-decreasing function of the surrogate and" in command(
        files.test, *options, "--transform", "monotone"
    ).stderr.replace("\n", " ")


@pytest.fixture
def my_loss(tmp_path, monkeypatch):
    """A current folder with the module ``my_loss``."""
    (tmp_path / "my_loss.py").write_text(
        "from dataclasses import dataclass\n"
        "import directrix as dx\n"
        "class Mine(dx.ListNet): pass\n"
        "half = Mine(temperature=0.5)\n"
        "@dataclass(frozen=True)\n"
        "class Bare:\n"
        "    properties = frozenset()\n"
        "    def value_and_grad(self, scores, labels, qptr):\n"
        "        return half.value_and_grad(scores, labels, qptr)\n"
        "class Plain:\n"
        "    value_and_grad = Bare.value_and_grad\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("my_loss", None)


def test_a_surrogate_of_the_user_is_imported(command, files, my_loss):
    own = "my_loss:Mine(temperature=0.5), my_loss:half, my_loss:Bare"
    options = ("--models", 5, "-m", "nDCG", "--format", "json")
    done = command(files.test, "-s", own, "-s", "ListNet(temperature=0.5)", *options)
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row.pop("surrogate").partition("(")[0] for row in rows] == ["Mine", "Mine", "Bare", "ListNet"]
    assert all(row == rows[0] for row in rows)
    done = command(files.test, "-s", "my_loss:Bare", "--models", 5)
    assert (done.exit_code, "say which to compare with. Type --measure nDCG." in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my_loss:dx", "must be a dataclass with value_and_grad"),
        ("my_loss:Plain", "must be a dataclass with value_and_grad"),
        ("my_loss:Mine(alpha=1)", "has no field 'alpha'"),
        ("my_loss:half(3)", "Mine is changed by fields with names"),
        ("my_loss:Mine(", "cannot be read"),
        ("absent:Mine", "e.g. my_loss:MyLoss"),
    ],
)
def test_what_is_no_surrogate_of_the_user_is_wrong_usage(command, files, my_loss, text, message):
    done = command(files.test, "-s", text)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_without_options_every_surrogate_has_a_row(command, files):
    done = command(files.test, "--models", 2, "--format", "tsv")
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + len(EVERY_SURROGATE)
    assert "all pairs of 2 random models and all 8 queries; 0 means that they change alike" in done.stderr


def test_surrogates_that_cannot_take_the_labels_are_left_out(command, tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("5 qid:1 1:.5\n0 qid:1 1:.1\n0 qid:1 1:.3\n")
    done = command(path, "--models", 2)
    assert done.exit_code == 0, done.stderr
    assert "ApproxERR" not in done.stdout
    assert "note: ApproxERR(alpha=10, beta=100, l_max=4, sigmoid='logistic') is left out: " in done.stderr
    assert command(path, "-s", "ApproxERR").exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-s", "ApproxNDGC"), "did you mean ApproxNDCG"),
        (("-s", "Lambda"), "a gradient without a function"),
        (("-m", "nDGC"), "nDGC"),
        (("--norm", "0"), "must be a number > 0"),
        (("--models", "1"), "models"),
        (("--transform", "log"), "'linear', 'monotone'"),
    ],
)
def test_wrong_options_are_wrong_usage(command, files, options, message):
    done = command(files.test, *options)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
