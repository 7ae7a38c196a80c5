"""What holds for the tests, the pages of the docs and the examples of docstrings alike."""

import sys
from importlib.util import find_spec

import pytest

if find_spec("torch") is None:
    # examples of docstrings are collected by importing modules, and these import PyTorch
    collect_ignore_glob = ["src/directrix/torch/*"]


@pytest.fixture(autouse=True)
def _forget_defined_measures():
    """A measure that one of them defines is unknown to the next, whatever their order."""
    yield
    names = sys.modules.get("directrix.measures.names")  # not imported here: some tests look at imports
    if names is not None and names._DEFINED:
        names._DEFINED.clear()
        names._read.cache_clear()
