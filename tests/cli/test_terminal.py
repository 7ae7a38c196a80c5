"""What files say reaches a terminal as text: their control characters are shown, not obeyed."""

import io
import sys

import pytest
from tests.commands import run

from directrix.cli.show import echo, progress_bar
from directrix.errors import InputError

HOSTILE = "\x1b]0;owned\x07\x9b2J\u202ex"  # sets the title, rings, clears the screen, turns the direction
SHOWN = r"\x1b]0;owned\x07\x9b2J\u202ex"


def test_tables_and_messages_show_control_characters(tmp_path):
    (tmp_path / "qrels").write_text("1 0 d1 1\n1 0 d2 0\n")
    (tmp_path / "run").write_text(f"1 Q0 d1 1 2 {HOSTILE}\n1 Q0 d2 2 1 {HOSTILE}\n")
    (tmp_path / HOSTILE).write_text("1 Q0 d1 1 nothing t\n")
    table = run("evaluate", tmp_path / "qrels", tmp_path / "run")
    assert table.stdout.split()[3:][:1] == [SHOWN]
    exact = run("evaluate", tmp_path / "qrels", tmp_path / "run", "--format", "tsv")
    assert exact.stdout.splitlines()[1].split("\t")[0] == HOSTILE  # a program reads it
    refused = run("evaluate", tmp_path / "qrels", tmp_path / HOSTILE)
    assert refused.exit_code == 1
    assert SHOWN in refused.stderr
    assert not any(letter in refused.stderr for letter in HOSTILE[:-1] if not letter.isprintable())


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_never_gets_exact_bytes(capsys, monkeypatch, is_terminal):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    echo(f"{HOSTILE}\t", exact=True)
    assert capsys.readouterr().out == f"{SHOWN if is_terminal else HOSTILE}\t\n"


def test_an_error_in_python_shows_control_characters():
    error = InputError(f"{HOSTILE} \udc80\n", python="\x7f", shell="\0")
    assert (str(error), error.in_shell) == (SHOWN + " \\udc80\n \\x7f", SHOWN + " \\udc80\n \\x00")


def test_progress_shows_names_as_they_are(monkeypatch):
    """Square brackets are no markup, and no error."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar("documents") as report:
        report(1, 2, f"[/red]{HOSTILE}")
    assert "[/red]" + SHOWN[:4] in screen.getvalue()
    assert HOSTILE[:4] not in screen.getvalue()
