"""The public names: every one resolves, and the stub for type checkers lists the same.

After a change of ``_HOME``: ``python tests/test_public_names.py`` writes the stub anew.
"""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import directrix

WRITTEN_BY = "written by tests/test_public_names.py from `_HOME`"
STUB = Path(directrix.__file__).with_suffix(".pyi")


def stub() -> str:
    """The stub that belongs to ``_HOME``."""
    lines = ["# ruff: noqa: I001", f'"""Public names for type checkers; {WRITTEN_BY}."""', ""]
    for name, home in sorted(directrix._HOME.items(), key=lambda item: (item[1], item[0])):
        is_module = inspect.ismodule(getattr(directrix, name))  # such as directrix.laws
        source = f"directrix.{home}".removesuffix(f".{name}" if is_module else "")
        lines.append(f"from {source} import {name} as {name}")
    return "\n".join([*lines, "", "__version__: str", "__all__: list[str]", "_HOME: dict[str, str]", ""])


def test_the_stub_lists_the_public_names():
    assert STUB.read_text() == stub(), "type `python tests/test_public_names.py` to write it anew"


@pytest.mark.parametrize("name", sorted(directrix._HOME))
def test_a_public_name_has_a_home_and_is_documented(name):
    home = importlib.import_module(f"directrix.{directrix._HOME[name]}")
    value = getattr(directrix, name)
    assert value is home or (value is getattr(home, name) and name in home.__all__)
    assert len(inspect.getdoc(value) or "") > 20


def test_names_are_listed_before_they_are_used():
    code = "import directrix; print(set(directrix.__all__) <= set(dir(directrix)), 'NDCG' in vars(directrix))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'NDGC'"):
        _ = directrix.NDGC


if __name__ == "__main__":
    STUB.write_text(stub())
