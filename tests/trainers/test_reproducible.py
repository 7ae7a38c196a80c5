"""The same seed gives the same bits: in another process, compiled now or before, on any threads."""

import os
import subprocess
import sys

import pytest

FIT = """
import hashlib, sys
import directrix as dx
dx.set_threads(int(sys.argv[1]))
q = dx.data.make_cubic(n_queries=40, docs_per_query=30, n_features=9, seed=1)
start = dx.trainers.regression_start(q)
result = dx.LBFGS(max_iter=40).minimize(dx.linear_objective(q, "ApproxNDCG(alpha=20)", 1e-4), start)
print(hashlib.sha256(result.params.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_compiled_now_or_read_from_the_cache_on_one_thread_or_two(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def fit(threads):
        command = [sys.executable, "-c", FIT, threads]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    compiled_now, from_cache, on_two = fit("1"), fit("1"), fit("2")
    assert len(compiled_now.strip()) == 64
    assert compiled_now == from_cache == on_two
