"""Every benchmark can be started: what it imports of the library is there."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_every_module_of_the_benchmarks_can_be_imported():
    names = sorted(path.stem for path in BENCHMARKS.glob("[!_]*.py"))
    code = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
