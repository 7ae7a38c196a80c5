"""Surrogate and measure while sigma falls: the figure that Chapelle and Wu (2010) call number 2.

    python benchmarks/bench_annealing.py [--data DATA] [--l2 1e-3] [--iterations 50] [--plot docs/figures]

SmoothNDCG(k=50) on OHSUMED, fold 1, trained as the paper does: from the regression start w0, with a
penalty l2 |w - w0|^2, by conjugate gradients, sigma from 2^6 to 2^-6. For every sigma the surrogate and
nDCG@50 on the training queries, and nDCG@50 on the validation queries, which choose the sigma. Queries
without relevant documents are left out of all means. DATA as in bench_letor.py; ``--plot FOLDER`` writes
annealing.png there.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import bench_letor as letor
import numpy as np

import directrix as dx

K = 50
NAMES = ("surrogate, training", "nDCG@50, training", "nDCG@50, validation", "nDCG@10, validation")


def means(q: dx.Queries, w: np.ndarray, judges: list[Any]) -> list[float]:
    """Mean over the queries that have a relevant document."""
    scores = (q.features @ w.astype(q.features.dtype)).astype(np.float64)
    judged = np.maximum.reduceat(q.labels, q.qptr[:-1]) > 0
    return [float(judge(scores, q.labels, q.qptr)[judged].mean()) for judge in judges]


def anneal(train: dx.Queries, vali: dx.Queries, l2: float, iterations: int) -> list[tuple[float, ...]]:
    """Rows of smoothing and the four means; the first is the start, at infinite smoothing."""
    w0 = dx.trainers.regression_start(train)
    smooth = dx.SmoothNDCG(k=K)
    objective = dx.linear_objective(train, smooth, l2, w0=w0)
    trainer = dx.Anneal(dx.CG(max_iter=iterations))
    smoothings = [np.inf, *trainer.smoothings]
    rows: list[tuple[float, ...]] = []

    def watch(step: Any) -> None:
        sigma = smoothings[step.iteration]

        def surrogate(scores: np.ndarray, labels: np.ndarray, qptr: np.ndarray) -> np.ndarray:
            return smooth.at(min(sigma, 1e30)).value_and_grad(scores, labels, qptr)[0]

        seen = means(train, step.params, [surrogate, dx.NDCG(k=K)])
        rows.append((sigma, *seen, *means(vali, step.params, [dx.NDCG(k=K), dx.NDCG(k=10)])))

    result = trainer.minimize(objective, w0, callback=watch)
    print(f"{result.counts}, {result.message}")
    return rows


def plot(rows: list[tuple[float, ...]], path: Path) -> None:
    """Surrogate, training and validation measure against sigma, which falls from left to right."""
    from matplotlib.figure import Figure

    start, table = rows[0], np.array(rows[1:])
    sigma = table[:, 0]
    figure = Figure(figsize=(7.5, 4.2), dpi=110, layout="constrained")
    axes = figure.subplots()
    styles = (("#4292c6", "s--"), ("#d95f0e", "o-"), ("#31a354", "^-"))
    for column, (name, (color, style)) in enumerate(zip(NAMES, styles, strict=False), 1):
        label = f"SmoothNDCG@{K}, training" if column == 1 else name
        axes.semilogx(sigma, table[:, column], style, base=2, color=color, markersize=5, label=label)
        if column > 1:
            axes.axhline(start[column], color=color, linewidth=0.8, linestyle=":")
    best = int(table[:, 3].argmax())
    axes.plot(sigma[best], table[best, 3], "o", markersize=13, fillstyle="none", color="#31a354")
    axes.annotate(
        "chosen by validation",
        (sigma[best], table[best, 3]),
        xytext=(0, 12),
        textcoords="offset points",
        ha="center",
        fontsize=9,
        color="#31a354",
    )
    axes.invert_xaxis()
    axes.set_xticks(sigma[::2])
    axes.set(
        xlabel="smoothing sigma, in squared units of score (log scale; training goes from left to right)",
        ylabel="mean over queries",
        title="SmoothRank's annealing on OHSUMED, fold 1 (dotted: the regression start)",
    )
    axes.title.set_fontsize(10)
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    figure.savefig(path, metadata={"Software": None})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--l2", type=float, default=1e-3)
    parser.add_argument("--iterations", type=int, default=50, help="of conjugate gradients in a round")
    parser.add_argument("--plot", type=Path, help="folder for annealing.png")
    options = parser.parse_args()
    if letor.absent(options.data):
        return 0
    print(letor.versions())
    train, vali, _ = map(dx.read_letor, dx.data.letor_folds(options.data / "letor" / "OHSUMED")[0])
    print(f"SmoothNDCG(k={K}), l2={options.l2:g} towards the start, {options.iterations} iterations a round")
    begin = time.perf_counter()
    rows = anneal(train, vali, options.l2, options.iterations)
    print(f"{time.perf_counter() - begin:.1f} s")
    print(f"{'sigma':>10}" + "".join(f"{name:>22}" for name in NAMES))
    for row in rows:
        print(f"{row[0]:10g}" + "".join(f"{value:22.4f}" for value in row[1:]))
    if options.plot:
        plot(rows, options.plot / "annealing.png")
        print(f"wrote {options.plot / 'annealing.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
