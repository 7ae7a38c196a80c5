"""Wheel and sdist contain what they must, and nothing else."""

import email
import os
import platform
import re
import shutil
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


def test_a_second_build_has_the_same_bytes(dist, tmp_path):
    """From a copy, whose files are younger and have other permissions."""
    copy, ignored = tmp_path / "copy", (".git", ".venv", "dist", "build", "site", "__pycache__")
    shutil.copytree(ROOT, copy, copy_function=shutil.copyfile, ignore=shutil.ignore_patterns(*ignored))
    for path in copy.rglob("*.py"):
        path.chmod(0o600)
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / "dist")]
    subprocess.run(command, cwd=copy, check=True)
    second = {path.name: path.read_bytes() for path in (tmp_path / "dist").iterdir()}
    assert len(second) == 2
    assert {name: (dist / name).read_bytes() for name in second} == second


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
    names = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE")
    info = {f"{INFO}/{name}" for name in names}
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
    assert "the first five minutes, install" in text


def test_the_sdist_has_what_builds_and_tests_the_project(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = [name.split("/", 1)[1] for name in archive.getnames()]
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO", "conftest.py"} <= set(names)
    folders = {name.split("/")[0] for name in names if "/" in name}
    assert folders == {"src", "tests", "tools", "docs"}
    assert [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))] == []


BASELINE = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
FIRST = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import directrix as dx
from directrix.kernels import compilations
q = dx.data.make_cubic(60, 10, 6, seed=0)
found = hashlib.sha256()
linear, trees = dx.LinearRanker("Lambda", trainer="sgd"), dx.BoostedRanker(n_trees=5)
for ranker in (dx.LinearRanker(), linear, dx.MLPRanker(max_iter=3), trees):
    scores = ranker.fit_queries(q).predict_queries(q)
    found.update(scores.tobytes())
for name in ("nDCG@10", "AP", "ERR"):
    found.update(dx.measure(name)(scores, q.labels, q.qptr).tobytes())
print(dx.__file__.startswith(sys.argv[1]), compilations()[0], found.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="wheels have kernels for x86-64")
def test_who_installs_the_wheel_of_this_platform_compiles_nothing(dist, tmp_path):
    pytest.importorskip("wheel", reason="it comes with the extra 'release'")
    built = {**os.environ, **BASELINE, "NUMBA_CACHE_DIR": str(ROOT / ".venv" / "x86-64-v3")}
    for command in (["directrix", "doctor", "--compile"], ["tools.wheel", str(dist)]):
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=built, check=True, capture_output=True)
    (path,) = dist.glob("*-manylinux*.whl")
    assert path.stat().st_size < 15e6
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "site")
    shown = set()
    for name in ("haswell", "znver4"):
        used = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CACHE_DIR": str(tmp_path / "empty")}
        command = [sys.executable, "-c", FIRST, str(tmp_path / "site")]
        done = subprocess.run(command, env=used, check=True, capture_output=True, text=True)
        shown.add(done.stdout)
    assert len(shown) == 1, shown  # the same bits on every processor
    assert next(iter(shown)).startswith("True 0 ")
