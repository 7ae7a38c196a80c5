"""The commit of an editable installation, in `directrix doctor` and the settings of results."""

import json
import shutil
import subprocess

import pytest
from tests.commands import succeed

import directrix

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with the package, and a function that runs git in it."""
    package = tmp_path / "src" / "directrix"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(directrix, "__file__", str(package / "__init__.py"))

    def git(*arguments):
        user = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", *user, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "the user's")
    return package, git


def commit():
    return json.loads(succeed("doctor", "--format", "json").stdout).get("commit")


def test_the_commit_is_named_and_whether_files_were_changed(checkout):
    package, git = checkout
    assert commit() is None  # not tracked: an installed package within a repository of the user
    git("add", ".")
    git("commit", "-qm", "first")
    git("tag", "-am", "a tag", "v1")
    assert commit() == git("rev-parse", "HEAD")
    (package / "__init__.py").write_text("changed = True\n")
    assert commit() == git("rev-parse", "HEAD") + "-dirty"


def test_without_a_repository_there_is_none(tmp_path, monkeypatch):
    (tmp_path / "__init__.py").touch()
    monkeypatch.setattr(directrix, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() is None
    monkeypatch.setenv("PATH", "")
    assert commit() is None
