"""Distance of surrogate and measure while training: the data of Figures 1-3 of Qin, Liu & Li (2010).

    python benchmarks/bench_approximation.py [--data DATA]     # measures; keeps the data
    python benchmarks/bench_approximation.py --plot docs/figures/approximation.svg   # draws them

Algorithm 1 (200 epochs, eta = 0.01, from zero) on the training queries of OHSUMED fold 1; after every
epoch the mean over queries of |surrogate - measure|, for several alpha (beta = 10) and several
beta (alpha = 100). DATA as in bench_letor.py. The data go to
benchmarks/results/approximation.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import bench_letor as letor
import numpy as np

import directrix as dx
from directrix.experiments.surrogate_error import approximation

ALPHAS, BETAS = (10.0, 20.0, 50.0, 100.0, 200.0), (1.0, 10.0, 20.0, 50.0, 100.0)
FIGURES: dict[str, dict[str, Any]] = {
    "ApproxAP, beta = 10": {f"alpha = {a:g}": dx.ApproxAP(alpha=a, beta=10.0) for a in ALPHAS},
    "ApproxAP, alpha = 100": {f"beta = {b:g}": dx.ApproxAP(alpha=100.0, beta=b) for b in BETAS},
    "ApproxNDCG": {f"alpha = {a:g}": dx.ApproxNDCG(alpha=a) for a in ALPHAS},
}
EPOCHS = 200


def errors(train: dx.Queries, surrogate: Any) -> list[float]:
    """Mean over queries of abs(surrogate - measure), after every epoch."""
    trainer = dx.SGD(learning_rate=0.01, epochs=EPOCHS, random_state=0)
    return approximation(train, surrogate, trainer=trainer).rho.tolist()


def table(figures: dict[str, dict[str, list[float]]]) -> None:
    epochs = (1, 10, 50, 100, EPOCHS)
    for title, curves in figures.items():
        print(f"\n{title}\n{'':14}" + "".join(f"{f'epoch {e}':>11}" for e in epochs) + f"{'mean':>11}")
        for label, curve in curves.items():
            values = [*(curve[e - 1] for e in epochs), float(np.mean(curve))]
            print(f"{label:14}" + "".join(f"{value:11.4f}" for value in values))


def plot(figures: dict[str, dict[str, list[float]]], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "directrix", "font.size": 9})
    sheet, axes = plt.subplots(1, len(figures), figsize=(10.5, 3.4), sharey=True, layout="constrained")
    for ax, (title, curves) in zip(axes, figures.items(), strict=True):
        shades = mpl.colormaps["viridis"](np.linspace(0.85, 0.0, len(curves)))
        for (label, curve), shade in zip(curves.items(), shades, strict=True):
            ax.plot(range(1, len(curve) + 1), curve, label=label, color=shade)
        ax.set(title=title, xlabel="epoch", yscale="log", xlim=(1, EPOCHS))
        ax.grid(visible=True, which="major", alpha=0.3)
        ax.legend(frameon=False)
    axes[0].set_ylabel("mean |surrogate − measure|")
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.savefig(path, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "approximation.json")
    parser.add_argument("--plot", type=Path, help="draw what --out holds, instead of measuring")
    options = parser.parse_args()
    if options.plot:
        plot(json.loads(options.out.read_text())["figures"], options.plot)
        return 0
    if letor.absent(options.data):
        return 0
    print(letor.versions())
    train = dx.read_letor(dx.data.letor_folds(options.data / "letor" / "OHSUMED")[0].train)
    figures = {
        title: {label: [round(e, 6) for e in errors(train, s)] for label, s in curves.items()}
        for title, curves in FIGURES.items()
    }
    table(figures)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"epochs": EPOCHS, "figures": figures}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
