"""Full passes of libraries that pad queries and differentiate by themselves, run in their own environment.

    python benchmarks/padded_peers.py WHO PATH THREADS

WHO is a name in `PEERS`, PATH the data of `full_pass.problem` and THREADS how many. Prints JSON.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from full_pass import Batches, Step, best_of, extra_mib, long_query, padded, plain_loss, torch_step

ALPHA = 10.0
LONG = 10_000
"""Documents of the one long query."""

REPEATS = {"bucketed": 5, "longest": 1, "long": 3}
"""How often passes are timed, ours and theirs; the best counts."""

# Each of the next two returns a loss: scores and labels (queries, documents), -1 a label of padding, give
# the sum over the queries. `plain_loss` is the third.


def allrank_losses() -> Any:
    """Losses of allRank as it is installed, without what it only needs to read files."""
    for name in ("allrank.data.dataset_loading", "allrank.utils.file_utils"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["allrank.data.dataset_loading"].PADDED_Y_VALUE = -1  # type: ignore[attr-defined]
    sys.modules["allrank.utils.file_utils"].is_gs_path = None  # type: ignore[attr-defined]
    sys.modules["allrank.utils.file_utils"].copy_file_to_local = None  # type: ignore[attr-defined]
    return import_module("allrank.models.losses")


def allrank_loss() -> Callable[[Any, Any], Any]:
    """approxNDCGLoss of allRank."""
    loss = allrank_losses().approxNDCGLoss
    return lambda s, y: loss(s, y, alpha=ALPHA) * len(s)  # it returns the mean over the batch


def pytorchltr_loss() -> Callable[[Any, Any], Any]:
    """PairwiseLogisticLoss as pytorchltr 0.2.1 writes it: tensors (queries, n, n, 2) of pairs.

    Each query is divided by its number of pairs, and log2 becomes log, so that it is our RankNet.
    """
    import torch

    def pairs(x: Any) -> Any:
        x = x.reshape(x.shape[0], x.shape[1], 1)
        x_ij = torch.repeat_interleave(x, x.shape[1], dim=2)
        x_ji = torch.repeat_interleave(x.permute(0, 2, 1), x.shape[1], dim=1)
        return torch.stack([x_ij, x_ji], dim=3)

    def loss(s: Any, y: Any) -> Any:
        n = (y >= 0).sum(dim=1)
        score_pairs, label_pairs = pairs(s), pairs(y)
        score_diff = score_pairs[:, :, :, 0] - score_pairs[:, :, :, 1]
        label_diff = label_pairs[:, :, :, 0] - label_pairs[:, :, :, 1]
        each = torch.log2(1.0 + torch.exp(-1.0 * score_diff))
        each[label_diff <= 0.0] = 0.0
        place = torch.arange(y.shape[1])
        grid = torch.max(*torch.meshgrid([place, place], indexing="ij"))
        is_padding = n[:, None, None].repeat(1, *grid.shape) <= grid[None].repeat(len(n), 1, 1)
        each[is_padding] = 0.0
        count = ((label_diff > 0.0) & ~is_padding).sum(dim=(1, 2))
        return (each.view(len(n), -1).sum(1) * np.log(2.0) / count.clamp(min=1)).sum()

    return loss


def rax_step(batches: Batches, w0: np.ndarray, n_queries: int) -> Step:
    """approx_t12n(ndcg_metric) of Rax, compiled for every shape of a batch before the clock starts."""
    import jax
    import jax.numpy as jnp
    import rax

    approx = rax.approx_t12n(rax.ndcg_metric, temperature=1 / ALPHA)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return approx(x @ w, y, where=y >= 0, reduce_fn=jnp.sum) / n_queries

    start = jnp.asarray(w0, dtype=jnp.float32)
    rows = [(jnp.asarray(x), jnp.asarray(y, dtype=jnp.float32)) for x, y in batches]
    gradient = jax.jit(jax.value_and_grad(loss))
    compiled = {x.shape: gradient.lower(start, x, y).compile() for x, y in rows}

    def step() -> tuple[float, np.ndarray]:
        total, grad = 0.0, np.zeros(len(w0))
        for x, y in rows:
            value, slope = compiled[x.shape](start, x, y)
            total += float(value)
            grad += np.asarray(slope)
        return total, grad

    return step


def tensorflow_step(batches: Batches, w0: np.ndarray, n_queries: int) -> Step:
    """ApproxNDCGLoss of TensorFlow Ranking, traced for every shape of a batch before the clock starts."""
    import tensorflow as tf
    from tensorflow_ranking.python.losses_impl import ApproxNDCGLoss

    approx = ApproxNDCGLoss("approx", temperature=1 / ALPHA)

    @tf.function
    def gradient(w: Any, x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            scores = approx.get_logits(tf.linalg.matvec(x, w))  # divided by the temperature
            losses, weights = approx.compute_unreduced_loss(y, scores)
            loss = tf.reduce_sum(losses * weights) / n_queries
        return loss, tape.gradient(loss, w)

    start = tf.constant(w0, dtype=tf.float32)
    rows = [(tf.constant(x), tf.constant(y, dtype=tf.float32)) for x, y in batches]
    traced = {tuple(x.shape): gradient.get_concrete_function(start, x, y) for x, y in rows}

    def step() -> tuple[float, np.ndarray]:
        total, grad = 0.0, np.zeros(len(w0))
        for x, y in rows:
            value, slope = traced[tuple(x.shape)](start, x, y)
            total += float(value)
            grad += slope.numpy()
        return total, grad

    return step


PEERS = {
    "allRank": "allrank",
    "Rax": "rax",
    "TensorFlow Ranking": "tensorflow-ranking",
    "PyTorch": "torch",
    "pytorchltr": "torch",
}
"""The package whose version counts; pytorchltr does not compile for Python 3.11 or later."""


def step_of(who: str, batches: Batches, w: np.ndarray, n_queries: int) -> Step:
    if who == "Rax":
        return rax_step(batches, w, n_queries)
    if who == "TensorFlow Ranking":
        return tensorflow_step(batches, w, n_queries)
    loss = {"allRank": allrank_loss, "PyTorch": lambda: plain_loss(ALPHA), "pytorchltr": pytorchltr_loss}[who]
    return torch_step(loss(), batches, w, n_queries)


def limit_threads(who: str, threads: int) -> None:
    """Rax has no such setting: XLA takes all cores."""
    if who == "TensorFlow Ranking":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
    elif who != "Rax":
        import torch

        torch.set_num_threads(threads)


def measured(step: Step, repeats: int) -> dict[str, Any]:
    """Time and memory of a pass, and its gradient; a slow one runs once."""
    results = []
    first: list[float] = []
    mib = extra_mib(lambda: first.append(best_of(lambda: results.append(step()), 1, warm=False)))
    ms = first[0] if repeats == 1 else best_of(step, repeats, warm=False)
    return {"ms": ms, "MiB": mib, "loss": results[0][0], "grad": results[0][1].tolist()}


def measure(who: str, data: dict[str, np.ndarray], threads: int) -> dict[str, Any]:
    """Time, memory and gradient with each padding, and of one long query."""
    limit_threads(who, threads)
    small = {"qptr": data["qptr"][:129], "X": data["X"], "labels": data["labels"], "w": data["w"]}
    step_of(who, padded(small, 64), data["w"], 128)()  # loads what is loaded once
    n_queries = len(data["qptr"]) - 1
    found: dict[str, Any] = {"version": version(PEERS[who])}
    for padding in ("bucketed", "longest"):
        step = step_of(who, padded(data, 64, by_length=padding == "bucketed"), data["w"], n_queries)
        found[padding] = measured(step, REPEATS[padding])
        del step
    long = long_query(LONG)
    step = step_of(who, [(long["X"][None], long["labels"][None])], long["w"], 1)
    found["long"] = measured(step, REPEATS["long"])
    return found


def main() -> int:
    who, path, threads = sys.argv[1:]
    print(json.dumps(measure(who, dict(np.load(path)), int(threads))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
