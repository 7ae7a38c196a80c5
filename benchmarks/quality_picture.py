"""The picture of `bench_quality`: test nDCG@10 against seconds of training, one panel per set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from directrix.rankers.means import mean_and_error

# Okabe & Ito: told apart with any color vision; ours are filled
STYLE = {
    "LightGBM": ("#E69F00", "s", ("LightGBM default", "LightGBM tuned")),
    "XGBoost": ("#CC79A7", "^", ("XGBoost default", "XGBoost tuned")),
    "CatBoost": ("#777777", "v", ("CatBoost default", "CatBoost tuned")),
    "BoostedRanker()": ("#0072B2", "o", ("BoostedRanker",)),
    "MLPRanker()": ("#D55E00", "P", ("MLPRanker",)),
    "auto": ("#000000", "*", ("auto in 1x", "auto in 8x", "auto")),
}


def draw(sets: dict[str, dict[str, list[dict[str, Any]]]], path: Path) -> None:
    """Draw a panel for every set, from its rows with one cell per fold."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(4, len(sets) + 1)
    n_rows = -(-(len(sets) + 1) // columns)
    figure, axes = plt.subplots(n_rows, columns, figsize=(4.2 * columns, 3.4 * n_rows), squeeze=False)
    for ax, (name, rows) in zip(axes.flat, sets.items(), strict=False):
        panel(ax, name, rows)
    for ax in axes.flat[len(sets) :]:
        ax.axis("off")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    axes.flat[len(sets)].legend(
        handles,
        labels,
        loc="center",
        frameon=False,
        title="lines lead from default to tuned,\nbars are standard errors",
    )
    figure.tight_layout()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def panel(ax: Any, name: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    for label, (color, marker, names) in STYLE.items():
        points = []
        for row in names:
            if row in rows:
                values = np.concatenate([cell["test"]["nDCG@10"] for cell in rows[row]])
                seconds = np.mean([cell["processor"] for cell in rows[row]])
                points.append((seconds, *mean_and_error(values)))
        if points:
            points.sort()
            x, y, error = np.transpose(points)
            is_ours = not label[0].isupper() or label.endswith(")")
            ax.errorbar(
                x, y, error, color=color, marker=marker, ls="-", lw=1.2, elinewidth=0.6, label=label,
                ms=11 if marker == "*" else 6, mfc=color if is_ours else "white",
            )  # fmt: skip
    ax.set(xscale="log", xlabel="seconds of training", ylabel="test nDCG@10", title=name)
    ax.xaxis.set_minor_formatter("")  # 2 x 10^1 under 3 x 10^1 where there is less than a decade
    ax.grid(visible=True, which="major", color="#dddddd", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
