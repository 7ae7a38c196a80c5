"""A process that compiles the kernels computes the bits of one that loads them, in any order."""

import json
import os
import subprocess
import sys

import pytest

BITS = """
import hashlib, json, sys, warnings
import numpy as np
import directrix as dx
from directrix.registry import SURROGATES

warnings.simplefilter("ignore")  # two iterations do not converge
dx.set_threads(1)
q, _ = dx.data.make_linear(30, 20, 5, seed=0)
scores = np.random.default_rng(0).normal(size=q.n_docs)

def surrogate(name):
    return dx.surrogate(name).value_and_grad(scores, q.labels, q.qptr)

def measure(name):
    parsed = dx.measure(name)
    labels = np.stack([q.labels, q.labels], axis=1) if parsed.sees == "subtopics" else q.labels
    return parsed(scores, labels, q.qptr)

def method(name):
    found = dx.method(name)
    short = {"max_iter": 2, "epochs": 2, "rounds": 2, "n_trees": 2, "random_state": 0}
    ranker = found.ranker(measure="nDCG@3", **{key: short[key] for key in short if key in found.settings})
    try:
        return ranker.fit_queries(q).predict_queries(q)
    except dx.MissingExtra:  # no solver
        return 0.0

works = [
    *((surrogate, name) for name in SURROGATES),
    *((measure, name) for name in dx.measures()),
    *((method, found.name) for found in dx.methods()),
]
bits = {}
for work, name in works[:: int(sys.argv[1])]:
    results = work(name)
    arrays = results if isinstance(results, tuple) else (results,)
    bytes_ = b"".join(np.asarray(array).tobytes() for array in arrays)
    bits[f"{work.__name__} {name}"] = hashlib.sha256(bytes_).hexdigest()
print(json.dumps(bits))
"""


@pytest.mark.slow
def test_every_surrogate_measure_and_method(tmp_path):
    compiled, loaded = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", BITS, order],
                env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        )
        for order in ("1", "-1")
    )
    assert len(compiled) > 90
    assert {name for name in compiled if compiled[name] != loaded[name]} == set()
