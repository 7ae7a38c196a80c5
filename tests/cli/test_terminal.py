"""What files say reaches a terminal as text: their control characters are shown, not obeyed."""

import io
import json
import os
import subprocess
import sys

import pytest
from tests.commands import refused, run, succeed
from tests.messages import rejects

import directrix as dx
from directrix.cli.advice import message_of
from directrix.cli.output import echo, progress_bar, remark
from directrix.errors import Advice, InputError, warn

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
    error = InputError(f"{HOSTILE} \udc80\n", Advice("grade", kind="\x7f"))
    problem = SHOWN + r" \udc80\n Type "
    assert str(error) == problem + r"grades={\x7f: 1, ...}."
    assert message_of(error) == problem + r"--grade \x7f=1, and so on for all kinds."


def test_progress_shows_names_as_they_are(monkeypatch):
    """Square brackets are no markup, and no error."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar("documents") as report:
        report(1, 2, f"[/red]{HOSTILE}")
    assert "[/red]" + SHOWN[:4] in screen.getvalue()
    assert HOSTILE[:4] not in screen.getvalue()


LONG = "n" * 100_000


@pytest.mark.parametrize("name", ["bm\nzz25", "\u2028bm\u2029", "\u200fbm\u061c", LONG, "n " * 50_000])
def test_a_name_of_a_feature_is_on_one_line_everywhere(tmp_path, name):
    q, _ = dx.data.make_linear(n_queries=20, docs_per_query=5, n_features=1, seed=0)
    q = dx.Queries.from_arrays({name: q.features[:, 0], "b": q.labels}, q.labels, group=[5] * 20)
    dx.LinearRanker().fit_queries(q).save(tmp_path / "m.json")
    dx.data.write_parquet(q, tmp_path / "q.parquet")
    shown = succeed("explain", tmp_path / "m.json", tmp_path / "q.parquet", "--report", tmp_path / "e.html")
    short = next(line for line in shown.stdout.splitlines() if "bm" in line or "nn" in line or "n n" in line)
    assert len(short) < 1200
    refusal = refused("explain", tmp_path / "m.json", tmp_path / "q.parquet", "--feature-columns", "zz")
    page = (tmp_path / "e.html").read_text("utf-8")
    for text in (shown.stdout, shown.stderr, refusal, page):
        assert not {"\u2028", "\u2029", "\u200f", "\u061c"} & set(text)
        assert not any(line.startswith("zz25") for line in text.splitlines())
        assert LONG[:1000] not in text


def test_errors_notes_and_remarks_show_a_name_on_one_line(capsys):
    problems = InputError("2 lines:", "Type x\ty.", lines=["a\nb", LONG])
    first, second, third, fix = str(problems.at("f")).split("\n")
    assert (first, second, fix) == ("f: 2 lines:", r"  a\nb", r"Type x\ty.")
    assert len(third) < 300
    with pytest.warns(UserWarning, match=r"^a\\nb$"):
        warn("a\nb")
    remark("a\nb", "c")
    assert capsys.readouterr().err == "a\\nb\nc\n"


def command(*arguments, **environment):
    """A command in a process of its own, whose standard output has another encoding."""
    call = [sys.executable, "-m", "directrix", *arguments]
    done = subprocess.run(call, capture_output=True, env=os.environ | environment, check=False)
    assert b"Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}], ids=str)
def test_a_terminal_with_few_characters_shows_the_others_as_escapes(tmp_path, environment):
    run_file = os.fsencode(tmp_path / "run") + b"\xff\n"
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    with open(run_file, "wb") as file:
        file.write("1 Q0 d1 1 2 größe\n".encode())
    for arguments in (["train", "--help"], ["evaluate", tmp_path / "qrels", run_file]):
        assert command(*arguments, **environment).returncode == 0
    exact = command("evaluate", tmp_path / "qrels", run_file, "-f", "tsv", **environment)
    if environment == {"PYTHONIOENCODING": "ascii"}:
        assert exact.returncode == 1
        assert rb"has the encoding ascii, which lacks '\xf6'" in exact.stderr
    else:
        assert "größe" in exact.stdout.decode()


@pytest.fixture
def model(tmp_path):
    q, _ = dx.data.make_linear(n_queries=20, docs_per_query=5, n_features=2, seed=0)
    dx.LinearRanker().fit_queries(q).save(tmp_path / "m.json")
    return tmp_path / "m.json"


@pytest.mark.parametrize("path", ["features names", "training result message", "training versions numpy"])
def test_half_a_character_in_a_model_is_rejected(model, path):
    content = json.loads(model.read_text())
    *parts, last = path.split()
    value = content
    for part in parts:
        value = value[part]
    value[last] = ["\ud800", "b"] if last == "names" else "\ud800"
    model.write_text(json.dumps(content))
    with rejects(InputError):
        dx.load(model)


def test_a_page_shows_a_file_whose_name_no_text_can_hold(model, tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path / "m") + b"\xff\n.json")
    os.rename(model, odd)
    succeed("describe", odd, "--report", tmp_path / "c.html")
    assert r"m\udcff\n.json" in (tmp_path / "c.html").read_text("utf-8")


def test_half_a_character_in_names_of_columns_and_categories_is_rejected():
    labels, columns = [0, 1, 1, 0], {"\ud800": [1.0, 2, 3, 4]}
    with rejects(InputError):
        dx.Queries.from_arrays(columns, labels, group=[4])
    import pandas as pd

    brands = pd.Categorical.from_codes([0, 1, 0, 1], pd.Index(["a", "\ud800"], dtype=object))
    frame = pd.DataFrame({"brand": brands, "label": labels, "qid": 1})
    with rejects(InputError):
        dx.Queries.from_frame(frame)
    with rejects(InputError):
        dx.text.Index.build([{"id": "a", "\ud800": "word"}])
