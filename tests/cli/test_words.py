"""Options before and after the command."""

import pytest
from tests.commands import run

from directrix.threads import get_threads, set_threads


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
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    assert get_threads() == 3


def test_threads_need_a_number():
    done = run("methods", "--threads")
    assert done.exit_code == 2
    assert "'--threads' requires an argument" in done.output
    done = run("methods", "--threads", "two")
    assert done.exit_code == 2
    assert "valid integer" in done.output


def test_words_after_two_dashes_are_files(tmp_path):
    done = run("evaluate", "--", "--threads", "3")
    assert done.exit_code == 1
    assert "--threads" in done.stderr
