"""What the commands write: never over an input, known before the work, read back by the other commands."""

import errno
import json
import os

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx


def letor(path, text="1 qid:1 1:1 # docid = a\n0 qid:1 1:2 # docid = b\n"):
    path.write_text(text)
    return path


@pytest.mark.parametrize("how", ["same", "dots", "symlink", "hardlink"])
@pytest.mark.parametrize("command", ["train", "valid", "predict", "model", "convert"])
def test_an_input_is_never_overwritten(files, tmp_path, command, how):
    data, valid = letor(tmp_path / "d.txt"), letor(tmp_path / "v.txt")
    model = tmp_path / "m.json"
    model.write_bytes(files.model.read_bytes())
    victim = {"valid": valid, "model": model}.get(command, data)
    before = victim.read_bytes()
    out = {"same": victim, "dots": tmp_path / "x" / ".." / victim.name}.get(how, tmp_path / "link.txt")
    (tmp_path / "x").mkdir()
    if how == "symlink":
        out.symlink_to(victim)
    elif how == "hardlink":
        os.link(victim, out)
    arguments = {
        "train": ("train", data, "-o", out),
        "valid": ("train", data, "--valid", valid, "-o", out),
        "predict": ("predict", model, data, "-o", out),
        "model": ("predict", model, data, "-o", out),
        "convert": ("convert", data, out),
    }[command]
    assert "the same file" in refused(*arguments)
    assert victim.read_bytes() == before


@pytest.mark.parametrize("command", ["predict", "convert", "demo"])
def test_where_the_output_cannot_go_is_said_before_the_work(files, tmp_path, monkeypatch, command):
    def unexpected(*_, **__):
        raise RuntimeError("the work began")

    for name in ("data.letor.read.read_letor", "rankers.loading.load", "cli.demo._data"):
        monkeypatch.setattr(f"directrix.{name}", unexpected)
    letor(tmp_path / "file")
    arguments = {
        "predict": ("predict", files.model, files.test, "-o", tmp_path / "absent" / "s.txt"),
        "convert": ("convert", files.test, tmp_path / "absent" / "c.txt"),
        "demo": ("demo", "-o", tmp_path / "file"),
    }[command]
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")


def test_a_demo_whose_page_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("directrix.cli.demo._data", None)
    (tmp_path / "report.html").mkdir()
    assert "report.html is a folder" in refused("demo", "-o", tmp_path)


def test_a_run_goes_to_standard_output_like_scores(files, tmp_path):
    run("predict", files.model, files.test, "-o", tmp_path / "run.txt", "--run", "mine")
    result = succeed("predict", files.model, files.test, "--run", "mine")
    assert result.stdout == (tmp_path / "run.txt").read_text()


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_models_and_scores_are_read_back(files, tmp_path, suffix):
    model, scores = tmp_path / f"m.json{suffix}", tmp_path / f"s.txt{suffix}"
    dx.load(files.model).save(model)
    assert model.read_bytes()[:1] != b"{"
    succeed("predict", model, files.test, "-o", scores)
    plain = run("evaluate", files.test, files.scores, "-f", "tsv").stdout.splitlines()[1].split("\t")[1:]
    result = run("evaluate", files.test, model, scores, "-f", "tsv")
    assert [line.split("\t")[1:] for line in result.stdout.splitlines()[1:]] == [plain, plain]


def test_judgments_keep_every_digit(tmp_path):
    letor(tmp_path / "d.txt", "0.1234567890123 qid:1 1:1 # docid = a\n3 qid:1 1:2 # docid = b\n")
    run("convert", tmp_path / "d.txt", tmp_path / "d.qrels")
    assert (tmp_path / "d.qrels").read_text() == "1 0 a 0.1234567890123\n1 0 b 3\n"


@pytest.mark.parametrize("suffix", ["qrels", "qrels.gz"])
def test_documents_have_the_same_names_in_runs_and_judgments(tmp_path, suffix):
    """Rows without identifier get one, blanks become one word; so no document is lost in between."""
    text = "1 qid:1 1:1 # docid = a\n0 qid:1 1:2\n2 qid:1 1:3\n0 qid:1 1:4 # two words\n"
    data, model = letor(tmp_path / "d.txt", text), tmp_path / "m.json"
    dx.LinearRanker(max_iter=0).fit([[1.0], [2.0]], [0, 1], qid=[0, 0]).save(model)
    succeed("predict", model, data, "--run", "t", "-o", tmp_path / "run.txt")
    succeed("convert", data, tmp_path / f"d.{suffix}")
    names = list(dx.read_trec_qrels(tmp_path / f"d.{suffix}").doc_ids)
    assert names == ["a", "row1", "row2", "two_words"]
    assert set(dx.read_trec_run(tmp_path / "run.txt").doc_ids) == set(names)
    of_runs = run("evaluate", tmp_path / f"d.{suffix}", tmp_path / "run.txt", "-m", "AP", "-f", "json")
    of_model = run("evaluate", data, model, "-m", "AP", "-f", "json")
    a, b = (json.loads(r.stdout)["rows"][0]["measures"]["AP"] for r in (of_runs, of_model))
    np.testing.assert_allclose(a, b, rtol=1e-15, atol=0)


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.csv.gz", "x.qrel"])
def test_convert_refuses_formats_that_it_does_not_know(files, tmp_path, name):
    assert ".qrels" in refused("convert", files.train, tmp_path / name, status=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["output", "report"])
@pytest.mark.parametrize(
    "command",
    ["train", "predict", "convert", "certify", "compare", "crossval", "demo", "features", "reproduce"],
)
def test_a_folder_that_may_not_be_written_to_is_noticed_before_the_work(
    files, tmp_path, monkeypatch, command, place
):
    """By opening a file there, as the writing does: what permissions say is not all."""

    def unexpected(*_, **__):
        raise RuntimeError("the work began")

    for name in ("letor.read.read_letor", "formats.read_file", "trec.features.runs_as_features"):
        monkeypatch.setattr(f"directrix.data.{name}", unexpected)
    for name in ("reading.read_file", "train.read_file", "demo._data"):
        monkeypatch.setattr(f"directrix.cli.{name}", unexpected)
    real = os.open

    def locked_open(path, flags, *others, **named):
        if "locked" in str(path) and flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *others, **named)

    monkeypatch.setattr(os, "open", locked_open)
    (tmp_path / "locked").mkdir()
    monkeypatch.chdir(tmp_path)
    locked = {"output": "locked/out.txt", "report": "locked/new/out.txt"}[place]
    arguments = {
        "train": ("train", files.train, *(("-o", "m.json", "--report") if place == "report" else ("-o",))),
        "predict": ("predict", files.model, files.test, "-o"),
        "convert": ("convert", files.test),
        "certify": ("lab", "certify", files.model, files.train, "--polish", "-o"),
        "compare": ("compare", files.test, files.model, files.scores, "--report"),
        "crossval": ("lab", "crossval", files.train, "--method", "Regression", "-o"),
        "demo": ("demo", "-o"),
        "features": ("runs", "features", files.scores, "--qrels", files.test, "-o"),
        "reproduce": (
            "lab",
            "reproduce",
            "qin2010",
            "--data",
            tmp_path,
            "--page" if place == "report" else "-o",
        ),
    }[command]
    if command not in {"crossval", "demo", "reproduce"}:  # they make folders
        locked = "locked/out.txt"
    assert "cannot be written (Permission denied)" in refused(*arguments, locked)
    assert list((tmp_path / "locked").iterdir()) == []


def test_a_working_folder_that_was_deleted_is_named(files, tmp_path, monkeypatch):
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert refused("train", files.train, "-o", "model.json").startswith("error: the working folder: ")
