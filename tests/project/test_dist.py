"""Wheel and sdist contain what they must, and nothing else."""

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import directrix

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
INFO = f"directrix-{directrix.__version__}.dist-info"


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling comes with the extra 'test'")
    pytest.importorskip("hatch_fancy_pypi_readme", reason="it comes with the extra 'test'")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*-py3-none-any.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_has_every_module_and_its_data_and_nothing_else(wheel):
    wanted = {
        str(path.relative_to(SOURCE))
        for path in (SOURCE / "directrix").rglob("*")
        if path.is_file() and path.name != "README.md" and "__pycache__" not in path.parts
    }
    info = {
        f"{INFO}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    assert set(wheel.namelist()) == wanted | info
    assert {Path(name).suffix for name in wanted} == {
        ".py",
        ".pyi",
        ".typed",
        ".html",
        ".css",
        ".js",
        ".toml",
        ".md",
    }


def test_the_description_has_no_link_that_only_the_repository_can_follow(wheel):
    metadata = email.message_from_bytes(wheel.read(f"{INFO}/METADATA"))
    text = metadata.get_payload()
    assert text.startswith("# directrix")
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")] == []
    assert "the tutorial" in text


def test_the_sdist_has_what_builds_and_tests_the_project(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = [name.split("/", 1)[1] for name in archive.getnames()]
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO", "conftest.py"} <= set(names)
    folders = {name.split("/")[0] for name in names if "/" in name}
    assert folders == {"src", "tests", "tools", "docs"}
    assert [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))] == []
