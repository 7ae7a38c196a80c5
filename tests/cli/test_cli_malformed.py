"""Whatever is wrong with a file: exit status 1, one clear message, no traceback, nothing written."""

import json
import os
import re

import pytest
from tests.commands import run
from tests.data import malformed

PYTHON = re.compile(r"(?<!-)\b(missing|groups|index_base|n_features|dtype|sparse|qid)=")
WITHOUT_ROOT = [name for name in malformed.FILES if name not in malformed.NEEDS_NO_ROOT or os.geteuid() != 0]


@pytest.mark.parametrize("command", ["train", "valid", "predict", "evaluate", "convert", "doctor"])
@pytest.mark.parametrize("name", WITHOUT_ROOT)
def test_malformed_data(files, tmp_path, name, command):
    if command in ("doctor", "evaluate") and name in ("value-nan", "value-null"):
        return  # doctor counts missing values, and scores are evaluated without features
    path, out = tmp_path / "bad", tmp_path / "out"
    out.mkdir()
    malformed.build(name, path)
    arguments = {
        "train": ("train", path, "-o", out / "m.json"),
        "valid": ("train", files.train, "--valid", path, "-o", out / "m.json"),
        "predict": ("predict", files.model, path, "-o", out / "s.txt"),
        "evaluate": ("evaluate", path, files.scores),
        "convert": ("convert", path, out / "copy.txt"),
        "doctor": ("doctor", path),
    }[command]
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    wanted = re.sub(r"\.\*\w+=.*", "", malformed.FILES[name][1])  # remedies are worded for the shell here
    if command == "evaluate" and name in ("json", "qid-missing-at-end"):
        wanted = "is a (model file|file of scores); labeled data or qrels come first"
    assert re.search(wanted, result.stderr, re.DOTALL)
    assert not PYTHON.search(result.stderr)
    assert not result.stdout
    assert not list(out.iterdir())


MODELS = {
    "absent": (None, "does not exist"),
    "empty": ("", "is not JSON"),
    "cut off": ("{", "is not JSON"),
    "newer": (lambda c: c.update(format="directrix/9"), "pip install -U directrix"),
    "no coef": (lambda c: c["model"].pop("coef"), "model.coef is missing"),
    "NaN": (lambda c: c["model"].update(coef=[float("nan")] * 4), "NaN"),
    "too many weights": (lambda c: c["model"]["coef"].append(1.0), "model.coef holds 5 numbers"),
    "wrong scale": (
        lambda c: c.update(scale={"kind": "standard", "center": [0], "width": [1]}),
        "scale is for 1 features",
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_malformed_models(files, tmp_path, name, command):
    change, message = MODELS[name]
    path, out = tmp_path / "model.json", tmp_path / "s.txt"
    if isinstance(change, str):
        path.write_text(change)
    elif change is not None:
        content = json.loads(files.model.read_text())
        change(content)
        path.write_text(json.dumps(content))
    is_predict = command == "predict"
    result = run(
        *(("predict", path, files.test, "-o", out) if is_predict else ("evaluate", files.test, path))
    )
    if name == "empty" and not is_predict:
        message = "has 0 scores"  # an empty file could as well be one of scores
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert not result.stdout
    assert not out.exists()
