"""Against peers in one run: a full pass of ApproxNDCG.

    python benchmarks/bench_peers.py --peers PYTHON

PYTHON is that of the environment with requirements.txt and, without their dependencies, the packages of
requirements-no-deps.txt. TensorFlow needs an environment of its own, in a folder beside that one and with
``-tensorflow`` after its name (requirements-tensorflow.txt); without it its row is left out. Every
measurement has a process of its own, so that thread pools do not mix.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from full_pass import best_of, extra_mib, installed, long_query, problem, run_apart
from padded_peers import ALPHA, LONG, PEERS, REPEATS

HERE = Path(__file__).parent
WIDTHS = (10, 8, 8)
DIFFERENCES = """
The formula is the same in all rows but the last: gains 2^label - 1, ranks by sigmoids of score differences,
the ideal DCG of the query, the mean over queries, 0 for a query without relevant documents; of two documents
with the same score each counts as half a place above the other.
- allRank: alpha is 1 by default; every sigmoid is at least 1e-10; sorts each list, though no sum needs it. It
  pins torch <= 1.8: installed without its dependencies, its code runs on the PyTorch of the row below.
- Rax: temperature = 1/alpha, 1 by default. jax < 0.7, as Rax 0.4.0 calls jax.util. XLA takes all cores.
- TensorFlow Ranking: temperature = 1/alpha, 0.1 by default; queries without relevant documents have weight 0,
  and its own reduction divides by the sum of weights, which is undone here. NumPy < 2: own environment.
- PyTorch: no package, but the formula as one writes it.
- pytorchltr 0.2.1 has no ApproxNDCG, and its sources do not compile for Python 3.11 or later. The row is its
  PairwiseLogisticLoss in the style of its code, with log for log2 and each query divided by its number of
  pairs: our RankNet, which it is compared with.""".rstrip()


def in_directrix(path: str, threads: int) -> dict[str, Any]:
    """What `padded_peers.measure` finds of the others; queries are not padded, so there is one row."""
    import directrix as dx

    dx.set_threads(threads)
    found: dict[str, Any] = {"version": dx.__version__}
    for name, surrogate in (("ApproxNDCG", dx.ApproxNDCG(alpha=ALPHA)), ("RankNet", dx.RankNet())):
        for what, data in (("pass", dict(np.load(path))), ("long", long_query(LONG))):
            sizes = np.diff(data["qptr"])
            queries = dx.Queries.from_arrays(data["X"], data["labels"], group=sizes)
            small = dx.Queries.from_arrays(data["X"][:200], data["labels"][:200], group=np.array([100, 100]))
            dx.linear_objective(small, surrogate).value_and_grad(data["w"])  # compiles
            mib = extra_mib(
                lambda q=queries, s=surrogate, w=data["w"]: dx.linear_objective(q, s).value_and_grad(w)
            )
            objective = dx.linear_objective(queries, surrogate)
            times = REPEATS["bucketed" if what == "pass" else what]
            ms = best_of(lambda o=objective, w=data["w"]: o.value_and_grad(w), times)
            grad = objective.value_and_grad(data["w"])[1].tolist()
            found[f"{name} {what}"] = {"ms": ms, "MiB": mib, "grad": grad}
    return found


def python_of(who: str, peers: str) -> str | None:
    """The Python that has a peer; None if there is none."""
    if who != "TensorFlow Ranking":
        return peers
    folder = Path(peers).absolute().parents[1]
    python = folder.with_name(f"{folder.name}-tensorflow") / "bin" / "python"
    return str(python) if python.exists() else None


def full_passes(peers: str | None, threads: int) -> None:
    """Print times and memory of a full pass, ours first."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "problem.npz")
        data = problem()
        np.savez(path, **data)
        ours = run_apart(sys.executable, __file__, "--serve", path, str(threads))
        n, n_queries = len(data["labels"]), len(data["qptr"]) - 1
        print(
            f"\n== full pass, linear model, alpha = {ALPHA:g}, {threads} threads: {n_queries:,} queries, "
            f"{n:,} documents x 136 float32\n"
            "buckets: batches of 64 queries of similar length, padded to the longest of the batch\n"
            f"longest: 64 queries as they come, padded to the longest of all, {np.diff(data['qptr']).max()}\n"
            f"long: one query of {LONG:,} documents\n"
            "ms: the best of " + ", ".join(f"{n} ({what})" for what, n in REPEATS.items()) + "\n"
            "MiB: extra memory of the pass; the padded copy of the features is not in it"
        )
        heads = ("ms", "x ours", "MiB") * 3
        print(f"\n{'':32}" + "".join(f"{what:^26}" for what in ("buckets", "longest", "long")))
        print(f"{'':32}" + "".join(f"{head:>{w}}" for head, w in zip(heads, WIDTHS * 3, strict=True)))
        for name in ("ApproxNDCG", "RankNet"):
            mine, long = ours[f"{name} pass"], ours[f"{name} long"]
            show(f"directrix, {name}", [(mine, mine), None, (long, long)], "")
        for who in PEERS if peers else ():
            if (python := python_of(who, str(peers))) and installed(python, PEERS[who]):
                theirs = run_apart(python, str(HERE / "padded_peers.py"), who, path, str(threads))
                row(who, theirs, ours)
    print(DIFFERENCES)


def row(who: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Print one peer, and stop if it does not compute what we do."""
    name = "RankNet" if who == "pytorchltr" else "ApproxNDCG"
    mine, long = ours[f"{name} pass"], ours[f"{name} long"]
    pairs = [(theirs["bucketed"], mine), (theirs["longest"], mine), (theirs["long"], long)]
    differences = [np.abs(np.subtract(g["grad"], own["grad"])).max() for g, own in pairs]
    differences = [d / np.abs(own["grad"]).max() for d, (_, own) in zip(differences, pairs, strict=True)]
    label = f"{who} style, PyTorch" if who == "pytorchltr" else f"{who} {theirs['version']}"
    show(label, pairs, f"  gradient differs by {max(differences):.0e}")
    if max(differences) > 1e-3:
        raise SystemExit(f"{who} computes another gradient, so its row compares nothing")


def show(label: str, pairs: list[Any], end: str) -> None:
    """Print a row: time, its ratio to the second of each pair, memory."""
    ms, ratio, mib = WIDTHS
    text = ""
    for pair in pairs:
        if pair is None:
            text += f"{'not padded':^{sum(WIDTHS)}}"
            continue
        found, own = pair
        text += f"{found['ms']:{ms}.1f}{found['ms'] / own['ms']:{ratio}.1f}{found['MiB']:{mib}.1f}"
    print(f"{label:32}{text}{end}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", help="Python of the environment with the peers")
    parser.add_argument("--serve", nargs=2, metavar=("PATH", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        print(json.dumps(in_directrix(options.serve[0], int(options.serve[1]))))
        return 0
    threads = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {threads} threads")
    full_passes(options.peers, threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
