"""What other packagers read agrees with pyproject.toml: Dockerfile, workflow, citation."""

import re
import shlex
import shutil
import subprocess
import tomllib
from datetime import date
from pathlib import Path

import pytest
import yaml

import directrix

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]


def load(path: str):
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def test_the_citation_states_the_version():
    assert load("CITATION.cff")["version"] == directrix.__version__


# The keys and types of the schema of the Citation File Format 1.2.0 that are used here.
CITED = {
    "cff-version": str,
    "message": str,
    "title": str,
    "abstract": str,
    "type": str,
    "authors": list,
    "version": str,
    "date-released": date,
    "license": str,
    "keywords": list,
}


def test_the_citation_keeps_to_its_schema(tmp_path):
    """Before and after `make version`, which sets version and date."""
    commands = subprocess.run(
        ["make", "-n", "version", "VERSION=9.8.7"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    shutil.copy(ROOT / "CITATION.cff", tmp_path)
    (command,) = (line for line in commands.splitlines() if line.endswith("CITATION.cff"))
    for _ in range(3):
        cited = yaml.safe_load((tmp_path / "CITATION.cff").read_text("utf-8"))
        assert {"cff-version", "message", "title", "authors"} <= cited.keys() <= CITED.keys()
        assert all(type(value) is CITED[key] for key, value in cited.items())
        assert (cited["cff-version"], cited["type"], cited["license"]) == (
            "1.2.0",
            "software",
            PROJECT["license"],
        )
        assert all(author["name"] for author in cited["authors"])
        subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    assert (cited["version"], cited["date-released"].year > 2025) == ("9.8.7", True)


def test_the_classifiers_name_python_versions_that_the_workflow_runs():
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    run = load(".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert f">={named[0]}" == PROJECT["requires-python"]
    assert run[: len(named)] == named


def instructions() -> list[tuple[str, str]]:
    """Word and text of every line of the Dockerfile, continued lines joined, comments left out."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"))
    return [tuple(line.split(None, 1)) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def test_the_image_runs_the_command_as_a_user_without_rights():
    words = [word for word, _ in instructions()]
    assert {"ENTRYPOINT", "USER"} <= set(words)
    last = dict(instructions())
    assert last["ENTRYPOINT"] == f'["{next(iter(PROJECT["scripts"]))}"]'
    assert last["USER"] not in ("root", "0")
    assert words.index("USER") > max(i for i, word in enumerate(words) if word == "RUN")


def test_the_user_of_the_image_can_write_where_it_works():
    last = dict(instructions())
    made = " ".join(last["RUN"].split())
    assert f"install --directory --owner={last['USER']} {last['WORKDIR']}" in made


def test_users_whom_the_image_does_not_know_share_the_list_of_fonts():
    settings = " ".join(text for word, text in instructions() if word == "ENV")
    assert "MPLCONFIGDIR=/" in settings
    run = " ".join(dict(instructions())["RUN"].split())
    folder, fonts = '--mode=1777 "$MPLCONFIGDIR"', "import matplotlib.font_manager"
    assert 0 < run.index(folder) < run.index(fonts)


@pytest.mark.parametrize("path", ["Dockerfile", "docs/how-to/operate.md"])
def test_calls_of_the_image_run_as_the_user_who_calls(path):
    calls = re.findall(r"docker run .*", (ROOT / path).read_text("utf-8"))
    assert calls
    for call in calls:
        assert '--user "$(id -u):$(id -g)" -v "$PWD:/data"' in call


@pytest.mark.parametrize("path", ["Dockerfile", "docs/how-to/operate.md"])
def test_slim_images_have_the_library_that_lightgbm_loads(path):
    text = (ROOT / path).read_text("utf-8")
    assert "-slim" in text
    assert "apt-get install -y --no-install-recommends libgomp1" in text


def test_the_image_builds_from_files_that_its_context_contains():
    (first, source), *_ = [instruction for instruction in instructions() if instruction[0] == "COPY"]
    assert (first, source) == ("COPY", ". /source")
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line[0] == "!"}
    needed = {"src", "pyproject.toml", *PROJECT["license-files"]}
    needed |= {
        part["path"]
        for part in PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["fragments"]
    }
    assert kept == needed
    assert [name for name in kept if not (ROOT / name).exists()] == []


def test_the_image_calls_options_and_extras_that_exist():
    from typer.main import get_command

    from directrix.cli.main import app

    run = " ".join(text for word, text in instructions() if word == "RUN")
    ((name, option),) = re.findall(r"directrix (\w+) (--\w+)", run)
    assert option in {o for p in get_command(app).commands[name].params for o in p.opts}
    (extras,) = re.findall(r"\}\[([\w,]+)\]", run)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    arguments = shlex.split(dict(instructions())["CMD"].strip("[]"))
    assert arguments == ["--help"]
