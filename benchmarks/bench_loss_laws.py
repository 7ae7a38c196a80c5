"""Which laws of a ranking loss the losses of other libraries keep: ``python -m benchmarks loss_laws``.

Prints a table of `directrix.torch.check_loss` for our losses and for those of sentence-transformers, allRank,
Rax, TensorFlow Ranking and pytorch-metric-learning where they are installed, in this environment or in those
of ``--peers``; "-" is a law that cannot be asked of a loss. Below it is what was found. Each library computes
value and gradient in a process of its own, and `loss_peers` says how it gets its lists. Most compute in
float32, so that all are compared with the tolerances for it. Cut-offs are 5. A law counts as broken if it is
broken for the lists of two of three seeds: where the value jumps as two documents change places, there is no
slope, and documents may happen to keep their order.

Then follow the memory of a Smooth-AP loss of a batch of embeddings, and its value where it should be 0.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench_peers import python_of
from full_pass import extra_mib, installed
from loss_peers import PEERS

import directrix as dx

torch: Any = import_module("torch") if find_spec("torch") else None
HERE = Path(__file__).parent
OURS = ("ApproxNDCG", "ApproxAP", "SmoothNDCG", "LambdaLoss(k=5)", "RankNet", "ListNet", "ListMLE", "Gumbel")
SAME = {
    ("allRank", "approxNDCGLoss"): "ApproxNDCG(alpha=1.0)",
    ("Rax", "approx ndcg_metric"): "ApproxNDCG(alpha=1.0)",
    ("TensorFlow-Ranking", "ApproxNDCGLoss"): "ApproxNDCG(alpha=10.0)",
}
"""Losses with the formula of one of ours, which shows that their lists arrive as they should."""
SEEDS = range(3)
BATCHES = (100, 200, 400)
"""Numbers of embeddings, four of each class."""
SEPARATE = ((3, 3), (4, 4), (2, 4), (4, 2), (8, 2))
"""Numbers of classes, and of embeddings of each."""
NAMES = {"TensorFlow-Ranking": "TensorFlow Ranking"}


class Peer:
    """A process that computes the losses of a library."""

    def __init__(self, python: str, library: str) -> None:
        command = [python, str(HERE / "loss_peers.py"), library]
        self._process: Any = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version, self.unasked = self._line()

    def _line(self) -> Any:
        if line := self._process.stdout.readline():
            return json.loads(line)
        raise SystemExit(f"{' '.join(self._process.args)} ended")

    def ask(self, **lists: Any) -> dict[str, Any]:
        """Value and gradient of a loss."""
        self._process.stdin.write(f"{json.dumps(lists)}\n")
        self._process.stdin.flush()
        reply = self._line()
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()

    def loss(self, name: str) -> Callable[..., Any]:
        """A loss as `check_loss` wants it."""
        ask = self.ask

        class Asked(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, scores: Any, labels: Any, mask: Any) -> Any:
                lists = {"scores": scores, "labels": labels, "mask": mask}
                reply = ask(loss=name, **{key: tensor.tolist() for key, tensor in lists.items()})
                ctx.save_for_backward(scores.new_tensor(reply["grad"]))
                return scores.new_tensor(reply["value"])

            @staticmethod
            def backward(ctx: Any, slope: Any) -> Any:
                return slope * ctx.saved_tensors[0], None, None

        return lambda scores, labels, *, mask: Asked.apply(scores, labels, mask)


def python_with(library: str, peers: str | None) -> str | None:
    """Python of the environment that has a library; None if there is none."""
    python = python_of(NAMES.get(library, library), peers or sys.executable)
    return python if python and installed(python, library) else None


def row(library: str, name: str, loss: Callable[..., Any], unasked: list[str]) -> list[str]:
    """Print the row of a loss, and return what was found."""
    from directrix.torch.laws import LAWS

    asked = () if unasked == ["all"] else [law for law in LAWS if law not in unasked]
    seen: dict[str, list[str]] = {law: [] for law in LAWS}
    for seed in SEEDS if asked else ():
        try:
            dx.torch.check_loss(loss, seed=seed, eps=1e-3, rtol=1e-2)
        except dx.laws.LawBroken as error:
            for law, text in error.laws.items():
                seen[law].append(text)
    broken = {law: texts[0] for law, texts in seen.items() if len(texts) > len(SEEDS) // 2}
    kept = ("-" if law not in asked else "no" if law in broken else "yes" for law in LAWS)
    print(f"| {library} | {name} | {' | '.join(kept)} |", flush=True)
    return [f"- {library}, {name}, {law}: {broken[law]}" for law in asked if law in broken]


def difference(loss: Callable[..., Any], ours: str) -> float:
    """Largest difference of the gradients of two losses on padded lists, over the largest component."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(8, 20, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 3, (8, 20), generator=generator).double()
    mask = torch.arange(20) < torch.arange(6, 21, 2)[:, None]
    slopes = []
    for kind in (loss, dx.torch.loss(ours)):
        leaf = torch.where(mask, scores, 0.0).requires_grad_()
        kind(leaf, labels * mask, mask=mask).backward()
        slopes.append(leaf.grad)
    return float((slopes[0] - slopes[1]).abs().max() / slopes[1].abs().max())


def memory_of_ours(n: int) -> float:
    """MiB of ApproxAP of n embeddings, four of each class, each of them a query that ranks the others."""
    loss, labels = dx.torch.loss("ApproxAP"), torch.arange(n) // 4

    def run(n: int) -> None:
        embeddings = torch.randn(n, 64, generator=torch.Generator().manual_seed(0), requires_grad=True)
        rows = torch.nn.functional.normalize(embeddings)
        alike = labels[:n, None] == labels[None, :n]
        loss(rows @ rows.T, alike, mask=~torch.eye(n, dtype=torch.bool)).backward()

    run(8)
    return extra_mib(lambda: run(n))


def smooth_ap(python: str) -> None:
    """Print memory of two losses and values of one, each figure from a process of its own."""
    peer = [python, str(HERE / "loss_peers.py"), "--smooth-ap"]

    def printed(*command: Any) -> Any:
        done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    print(f"\nMiB of a batch of embeddings{''.join(f'{n:8}' for n in BATCHES)}")
    theirs = [printed(*peer, n // 4, 4)[1] for n in BATCHES]
    print(f"{'SmoothAPLoss':28}{''.join(f'{mib:8.0f}' for mib in theirs)}")
    ours = [printed(sys.executable, __file__, "--memory", n) for n in BATCHES]
    print(f"{'directrix ApproxAP':28}{''.join(f'{mib:8.0f}' for mib in ours)}")
    print("\nSmoothAPLoss where all embeddings of a class are nearer than those of others: 0 is right")
    for n_classes, size in SEPARATE:
        print(f"{n_classes} classes of {size} embeddings: {printed(*peer, n_classes, size)[0]:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="Python of the environment with the peers")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print(memory_of_ours(options.memory))
        return
    from directrix.torch.laws import LAWS

    notes, same = [], []
    print(f"| library | loss | {' | '.join(LAWS)} |\n{'|---' * (len(LAWS) + 2)}|")
    for name in OURS:
        notes += row("directrix", name, dx.torch.loss(name), [])
    for library in PEERS:
        python = python_with(library, options.peers)
        if python is None:
            continue
        peer = Peer(python, library)
        title = f"{NAMES.get(library, library)} {peer.version}"
        for name, unasked in peer.unasked.items():
            notes += row(title, name, peer.loss(name), unasked)
            if ours := SAME.get((library, name)):
                same.append(f"- {title}, {name}, {ours}: {difference(peer.loss(name), ours):.0e}")
        peer.close()
    print("\n" + "\n".join(notes))
    print("\nThe same formula here and there, relative difference of the gradients:\n" + "\n".join(same))
    if (python := python_with("pytorch-metric-learning", options.peers)) is not None:
        smooth_ap(python)


if __name__ == "__main__":
    main()
