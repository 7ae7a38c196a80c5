"""`make release` publishes no commit that is unfinished, untagged or without a security contact."""

import subprocess
from pathlib import Path

import pytest
from tools.release import PLACEHOLDER, problems

ROOT = Path(__file__).parents[2]
FILES = {
    "src/directrix/__init__.py": '"""Doc."""\n\n__version__ = "3.2.1"\n',
    "CHANGELOG.md": "# Changelog\n\n## 3.2.1\n\n## 3.2.0\n",
    "CITATION.cff": "cff-version: 1.2.0\nversion: 3.2.1\ndate-released: 2027-01-01\nlicense: Apache-2.0\n",
    "SECURITY.md": "Write to security@directrix.dev.\n",
}


def git(root, *arguments):
    named = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *named, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "All")
    git(tmp_path, "tag", "v3.2.1")
    return tmp_path


def test_a_finished_commit_can_be_published(checkout):
    assert problems(checkout) == []


CHANGES = {
    "CHANGELOG.md": ("## 3.2.1", "## Next", "no section 3.2.1"),
    "CITATION.cff": ("version: 3.2.1", "version: 3.2.0", "does not state version 3.2.1"),
    "SECURITY.md": ("security@directrix.dev", PLACEHOLDER, "has the placeholder"),
}


@pytest.mark.parametrize("path", CHANGES)
def test_an_unfinished_file_is_named(checkout, path):
    before, after, message = CHANGES[path]
    (checkout / path).write_text(FILES[path].replace(before, after))
    git(checkout, "commit", "--quiet", "-am", "Change")
    git(checkout, "tag", "--force", "v3.2.1")
    (problem,) = problems(checkout)
    assert message in problem


def test_all_problems_are_named_at_once(checkout):
    (checkout / "CITATION.cff").write_text("version: 3.2.0\n")
    (checkout / "new").write_text("")
    git(checkout, "tag", "--delete", "v3.2.1")
    dirty, tag, version, date = problems(checkout)
    assert "uncommitted changes" in dirty
    assert "no tag v3.2.1" in tag
    assert "make version VERSION=3.2.1" in version
    assert "no date of release" in date


def test_a_tag_of_an_older_commit_does_not_count(checkout):
    git(checkout, "commit", "--quiet", "--allow-empty", "-m", "More")
    (problem,) = problems(checkout)
    assert "no tag v3.2.1" in problem


def test_release_checks_first_and_tests_before_it_names_the_command():
    """As make would run it."""
    command = ["make", "-n", "--no-print-directory", "release"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    ran = [next(i for i, line in enumerate(done) if text in line) for text in ORDER]
    assert ran == sorted(ran)
    assert "twine upload" in done[-1]


ORDER = ("-m tools.release", '-m "not slow"', "-m slow", "-m build", "twine check", "twine upload")


def test_the_placeholder_is_the_one_that_is_looked_for():
    """Remove this test with the placeholder."""
    assert PLACEHOLDER in (ROOT / "SECURITY.md").read_text("utf-8")
