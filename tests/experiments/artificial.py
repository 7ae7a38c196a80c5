"""A small collection in the shape of TREC-7: runs that know something of relevance, each with noise."""

import gzip
from pathlib import Path

import numpy as np

NOISE = {
    "basic-A_0": 1.5,
    "basic-B_1": 2.0,
    "basic-C_2": 2.5,
    "plain-A": 1.8,
    "plain-B": 3.0,
    "extra-A_0": 1.3,
    "extra-B_1": 4.0,
}


def write_collection(folder: Path, *, n_topics: int = 50, n_docs: int = 20, seed: int = 0) -> Path:
    """Write ``trec7/`` into a folder; of every topic 4 documents are relevant, one of which no run has."""
    rng = np.random.default_rng(seed)
    runs = folder / "trec7" / "runs"
    runs.mkdir(parents=True)
    relevant = np.zeros((n_topics, n_docs + 1))
    for topic in range(n_topics):
        relevant[topic, rng.choice(n_docs, 3, replace=False)] = 1
    relevant[:, n_docs] = 1  # judged relevant, never retrieved
    lines = [f"{351 + t} D{d:02d} {relevant[t, d]:.0f}\n" for t in range(n_topics) for d in range(n_docs + 1)]
    (folder / "trec7" / "qrels.trec7.txt").write_text("".join(lines))
    for name, noise in NOISE.items():
        scores = 1.5 * relevant[:, :n_docs] + rng.normal(0.0, noise, (n_topics, n_docs))
        with gzip.open(runs / f"{name}.res.gz", "wt") as file:
            for t in range(n_topics):
                for rank, d in enumerate(np.argsort(-scores[t])[: n_docs - 3]):
                    file.write(f"{351 + t} Q0 D{d:02d} {rank} {scores[t, d]:.4f} tag\n")
    return folder
