"""Names of Python and options of commands, in pages, docstrings and messages, are those of the package."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import directrix as dx
from tests.commands import wrong_options

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "benchmarks/**/*.md",
        "src/directrix/**/*.md",
        "src/directrix/**/*.py",
    )
    for path in ROOT.glob(pattern)
)
NAME = re.compile(r"(?<![\w./:@-])(?:dx|directrix)((?:\.[A-Za-z_]\w*)+)")
KEYS = {
    "directrix.categories",
    "directrix.feature_names",
    "directrix.sampled_negatives",
}  # of Parquet's metadata


def exists(name):
    """Whether attributes, or modules that are imported by their names, lead to this name."""
    value, path = dx, "directrix"
    for part in name.split(".")[1:]:
        path += f".{part}"
        try:
            value = import_module(path)
        except ImportError:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_of_the_package_exists(path):
    names = {match[0] for match in NAME.finditer(path.read_text("utf-8").replace("\\_", "_"))} - KEYS
    of_torch = {name for name in names if name.split(".")[1] == "torch"}
    assert [name for name in sorted(names - of_torch) if not exists(name)] == []
    if of_torch:
        pytest.importorskip("torch")
    assert [name for name in sorted(of_torch) if not exists(name)] == []


PAGES = [path for path in FILES if ROOT / "benchmarks" not in path.parents]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_option_exists_in_its_command(path):
    text = re.sub(r'"\n\s*f?"', "", path.read_text("utf-8"))  # literals of two lines
    assert wrong_options(text.replace("\\\n", " ")) == []


def test_an_option_of_another_command_is_seen():
    assert wrong_options("Type `directrix methods AP --seed 1`, or `directrix train --seed 1`.") == ["--seed"]
    assert wrong_options("Name one: --query-field NAME; `pip install --no-deps`.", "train") == [
        "--query-field"
    ]
