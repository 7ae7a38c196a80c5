"""What the benchmarks of a full gradient share: the data, padded PyTorch, times, memory, processes.

Only NumPy is imported with it, so that the Python of any environment can.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Batches = list[tuple[np.ndarray, np.ndarray]]
Step = Callable[[], tuple[float, np.ndarray]]


def best_of(work: Callable[[], Any], repeats: int, *, warm: bool = True) -> float:
    """Shortest wall-clock time in milliseconds, after one call that compiles and warms up."""
    if warm:
        work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def peak_kib() -> int:
    """Largest resident memory so far (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def extra_mib(work: Callable[[], Any]) -> float:
    """MiB of resident memory that a call needs above what the process holds before it (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = peak_kib()
    work()
    return (peak_kib() - before) / 1024


def long_query(n: int) -> dict[str, np.ndarray]:
    """One query of n documents, with the features, labels and weights of `problem`."""
    data = problem()
    return data | {"X": data["X"][:n], "labels": data["labels"][:n], "qptr": np.array([0, n])}


def installed(python: str, package: str) -> bool:
    """Whether that Python has the package; says so if not."""
    # a distribution, or a module, whose distributions may have several names
    known = f"{package!r} in m.packages_distributions() or m.version({package!r})"
    code = f"import importlib.metadata as m; {known}"
    if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
        return True
    print(f"not measured: {package} is not installed in {python}")
    return False


def run_apart(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """Run a part of a benchmark in a process of its own: thread pools do not mix there."""
    done = subprocess.run([python, script, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed in {python}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def problem() -> dict[str, np.ndarray]:
    """Features uniform on [0, 1), query lengths log-normal around 100, scores of unit variance."""
    rng = np.random.default_rng(0)
    sizes = np.clip(np.exp(rng.normal(4.64, 0.55, 2000)).astype(int), 5, 800)
    n = int(sizes.sum())
    w = rng.normal(size=136)
    return {
        "X": rng.random((n, 136), dtype=np.float32),
        "labels": rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float),
        "qptr": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "w": w * np.sqrt(12.0) / np.linalg.norm(w),
    }


def padded(data: dict[str, np.ndarray], batch: int, *, by_length: bool = True) -> Batches:
    """Features and labels of queries, ``batch`` at a time; -1 is the label of padding.

    In order of length, each batch as wide as its longest query; or as they come, all as wide as the longest.
    """
    qptr, n_features = data["qptr"], data["X"].shape[1]
    sizes = np.diff(qptr)
    order = np.argsort(sizes, kind="stable") if by_length else np.arange(len(sizes))
    batches = []
    for some in np.array_split(order, len(sizes) // batch):
        longest = int(sizes[some if by_length else order].max())
        x, y = np.zeros((len(some), longest, n_features), np.float32), np.full((len(some), longest), -1.0)
        for row, q in enumerate(some):
            x[row, : sizes[q]] = data["X"][qptr[q] : qptr[q + 1]]
            y[row, : sizes[q]] = data["labels"][qptr[q] : qptr[q + 1]]
        batches.append((x, y))
    return batches


def plain_loss(alpha: float) -> Callable[[Any, Any], Any]:
    """ApproxNDCG as one writes it in PyTorch, with no more tensors of pairs than autograd needs.

    Scores and labels (queries, documents), -1 a label of padding, give the sum over the queries.
    """
    import torch

    def loss(s: Any, y: Any) -> Any:
        valid = y >= 0
        gain = torch.where(valid, torch.exp2(y.clamp(min=0)) - 1, 0.0)
        best = gain.sort(dim=1, descending=True).values
        ideal = (best / torch.log2(torch.arange(2, y.shape[1] + 2).float())).sum(dim=1)
        p = torch.sigmoid(alpha * (s[:, None, :] - s[:, :, None])) * valid[:, None, :]
        value = (gain / torch.log2(1.5 + p.sum(dim=2))).sum(dim=1)
        return -torch.where(ideal > 0, value / ideal.clamp(min=1e-9), 0.0).sum()

    return loss


def torch_step(loss: Callable[[Any, Any], Any], batches: Batches, w0: np.ndarray, n_queries: int) -> Step:
    import torch

    rows = [(torch.from_numpy(x), torch.from_numpy(y.astype(np.float32))) for x, y in batches]

    def step() -> tuple[float, np.ndarray]:
        w, total = torch.tensor(w0, dtype=torch.float32, requires_grad=True), 0.0
        for x, y in rows:
            value = loss(x @ w, y) / n_queries
            value.backward()
            total += float(value.detach())
        return total, w.grad.numpy()

    return step


def torch_padded(data: dict[str, np.ndarray], alpha: float, threads: int) -> dict[str, Any]:
    """Autograd over padded queries, 64 at a time in order of length (the kindest padding)."""
    import torch

    torch.set_num_threads(threads)
    step = torch_step(plain_loss(alpha), padded(data, 64), data["w"], len(data["qptr"]) - 1)
    loss, grad = step()
    return {"ms": best_of(step, 3), "loss": loss, "grad": grad.tolist(), "version": torch.__version__}


def check(data: dict[str, np.ndarray], rival: dict[str, Any]) -> float:
    """Largest difference of the gradients, relative to the largest component."""
    import directrix as dx

    qid = np.repeat(np.arange(len(data["qptr"]) - 1), np.diff(data["qptr"]))
    queries = dx.Queries.from_arrays(data["X"], data["labels"], qid=qid)
    _, grad = dx.linear_objective(queries, dx.ApproxNDCG(alpha=10.0)).value_and_grad(data["w"])
    return float(np.abs(grad - rival["grad"]).max() / np.abs(grad).max())
