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


def test_data_of_fewer_queries_are_the_beginning_of_more_also_in_files(tmp_path):
    code = f"""
import numpy as np
from pathlib import Path
from directrix.data.file import DataFile
from large import Law
more = Law().queries(300)
for name in ("few.parquet", "few.txt"):
    Law().write(Path({str(tmp_path)!r}, name), 270)
    few = DataFile(Path({str(tmp_path)!r}, name)).queries()
    assert few.n_queries == 270
    np.testing.assert_array_equal(few.features, more.features[: few.n_docs])
    np.testing.assert_array_equal(few.labels, more.labels[: few.n_docs])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
