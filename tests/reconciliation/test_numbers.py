"""Numbers that tools print, as the benchmark collects them: the tool is named for each of its numbers."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_reconcile.py"


def found(*arguments):
    command = [sys.executable, BENCHMARK, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("tool", "count"), [("sklearn", 8), ("lightgbm", 5), ("xgboost", 6), ("catboost", 7), ("ranx", 9)]
)
def test_numbers_of_an_installed_tool(tool, count):
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    numbers = re.match(r"found: (\d+) of (\d+) numbers", found("--only", tool))
    assert numbers is not None
    assert count <= int(numbers[1]) == int(numbers[2])


def test_numbers_of_the_tests_of_trec_eval(data_dir):
    assert found("--only", "trec_eval", "--data", data_dir).startswith("found: 17 of 17 numbers")
