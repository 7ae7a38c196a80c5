"""Options before and after the command, and names in both spellings."""

import pytest
from typer.testing import CliRunner

import directrix as dx
from directrix.cli.main import app
from directrix.threads import get_threads, set_threads


def command(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(autouse=True)
def _threads():
    before = set_threads(None)
    yield
    set_threads(before)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--threads", 3, "methods", "ListNet"),
        ("methods", "--threads", 3, "ListNet"),
        ("methods", "ListNet", "--threads=3"),
    ],
)
def test_threads_are_taken_anywhere(arguments):
    done = command(*arguments)
    assert done.exit_code == 0, done.output
    assert get_threads() == 3


def test_threads_need_a_number():
    done = command("methods", "--threads")
    assert done.exit_code == 2
    assert "'--threads' requires an argument" in done.output
    done = command("methods", "--threads", "two")
    assert done.exit_code == 2
    assert "valid integer" in done.output


def test_words_after_two_dashes_are_files(tmp_path):
    done = command("evaluate", "--", "--threads", "3")
    assert done.exit_code == 1
    assert "--threads" in done.stderr


def test_both_spellings_of_a_setting_and_of_a_test():
    assert dx.surrogate("RankCosine(centered=True)") == dx.RankCosine(centered=True)
    assert dx.LinearRanker("RankCosine").set_params(surrogate__centered=True).surrogate.centered
    a = {"A": [0.1, 0.4, 0.3, 0.9], "B": [0.2, 0.1, 0.2, 0.3]}
    assert dx.compare(a, test="randomization") == dx.compare(a, test="randomization")


@pytest.mark.parametrize("option", [("--test", "randomization"), ("--test=randomized-tukey",)])
def test_the_command_takes_both_spellings(tmp_path, option):
    q, _ = dx.data.make_linear(12, 5, 2, seed=0)
    dx.write_letor(q, tmp_path / "data.txt")
    for name, column in (("a", 0), ("b", 1)):
        (tmp_path / name).write_text("".join(f"{value}\n" for value in q.features[:, column]))
    done = command("compare", tmp_path / "data.txt", tmp_path / "a", tmp_path / "b", *option)
    assert done.exit_code == 0, done.output
    model = tmp_path / "m.json"
    done = command(
        "train",
        tmp_path / "data.txt",
        "--method",
        "RankCosine",
        "--set",
        "centered=True",
        "--set",
        "l2=0.001",
        "-o",
        model,
    )
    assert done.exit_code == 0, done.output
    assert dx.load(model).surrogate_.centered
