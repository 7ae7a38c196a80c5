"""Losses in PyTorch: milliseconds of a value and its slope, and the memory of one long list.

``python -m benchmarks torch``, on a GPU if PyTorch has one, else on the CPU. ApproxNDCG of padded lists in
float32, every tenth document relevant: the compiled kernels (a GPU's scores are copied to the CPU), the
formula of `directrix.torch` on the device, and the plain formula with all pairs in memory. Then every smooth
surrogate on one list of 32,768 documents with the formula: the memory that it took at its peak. The goal is
200 MiB; one matrix of all pairs is 4,096.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from full_pass import extra_mib

import directrix as dx
from directrix.registry import SURROGATES, classes

torch: Any = import_module("torch") if find_spec("torch") else None
LENGTHS = (100, 400, 1024, 2048, 4096, 8192)
LONG = 32_768
MOST_PAIRS = 2**29
"""Of the plain formula, which needs some ten matrices of that many floats."""


def plain(scores: Any, labels: Any) -> Any:
    """Minus the mean of ApproxNDCG, with all pairs in memory."""
    gain = torch.exp2(labels) - 1.0
    pairs = torch.sigmoid(10.0 * (scores[:, None, :] - scores[:, :, None]))
    ranks = 0.5 + pairs.sum(dim=2)
    best = torch.sort(gain, dim=1, descending=True).values
    ideal = (best / torch.log2(torch.arange(2, gain.shape[1] + 2, device=gain.device))).sum(dim=1)
    return -((gain / torch.log2(1.0 + ranks)).sum(dim=1) / ideal).mean()


def milliseconds(loss: Callable[..., Any], scores: Any, labels: Any) -> float:
    """Shortest of several values with their slopes."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < 1.0 and len(times) < 30):
        leaf = scores.clone().requires_grad_()
        begun = time.perf_counter()
        loss(leaf, labels).backward()
        if scores.is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return 1000.0 * min(times)


def memory(name: str) -> float:
    """Memory in MiB that a value and its slope of one list of `LONG` documents takes, on the CPU."""
    loss, labels = dx.torch.loss(name, backend="torch"), (torch.arange(LONG) % 40 == 0).double()

    def run(n: int) -> None:
        scores = torch.randn(n, generator=torch.Generator().manual_seed(0), requires_grad=True)
        loss(scores, labels[:n]).backward()

    run(64)
    return extra_mib(lambda: run(LONG))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=64)
    parser.add_argument("--memory", metavar="SURROGATE", help="print the memory of one surrogate")
    options = parser.parse_args()
    if options.memory:
        print(memory(options.memory))
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"ApproxNDCG, {options.lists} lists, {device.type}, milliseconds")
    print(f"{'documents':>9} {'kernels':>9} {'torch':>9} {'plain':>9}")
    for n in LENGTHS:
        scores = torch.randn(options.lists, n, generator=torch.Generator().manual_seed(n)).to(device)
        labels = (torch.arange(n) % 10 == 0).float().expand(options.lists, n).contiguous()
        row = [
            milliseconds(dx.torch.loss("ApproxNDCG", backend=backend), scores, labels)
            for backend in ("kernels", "torch")
        ]
        fits = options.lists * n * n <= MOST_PAIRS
        row.append(milliseconds(plain, scores, labels.to(device)) if fits else float("nan"))
        print(f"{n:9} {row[0]:9.1f} {row[1]:9.1f} {row[2]:9.1f}", flush=True)
    print(f"\n{'one list of ' + str(LONG):24} {'MiB':>6}")
    for name, kind in classes(SURROGATES).items():
        if "smooth" in kind().properties:
            command = [sys.executable, __file__, "--memory", name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            print(f"{name:24} {float(done.stdout):6.0f}", flush=True)


if __name__ == "__main__":
    main()
