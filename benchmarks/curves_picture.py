"""The picture of `quality_curves`: test nDCG@10 over seconds of training, a panel a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# Okabe & Ito: told apart with any colour vision; ours are solid, the peers' dashed
STYLE = {
    "LightGBM lambdarank": ("#E69F00", "s"),
    "XGBoost rank:ndcg": ("#CC79A7", "^"),
    "CatBoost YetiRank": ("#999999", "v"),
    "CatBoost QuerySoftMax": ("#666666", "<"),
    "BoostedRanker": ("#0072B2", "o"),
    "LinearRanker": ("#009E73", "D"),
    "MLPRanker": ("#D55E00", "P"),
    "AutoRanker": ("#000000", "*"),
}


def draw(collections: dict[str, list[Any]], path: Path) -> None:
    """Draw a panel a collection of the `quality_curves.Curve` of each method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(collections), figsize=(7.2 * len(collections), 5.2), squeeze=False)
    for ax, (title, curves) in zip(axes[0], collections.items(), strict=True):
        panel(ax, title, curves)
    figure.tight_layout(w_pad=2.0)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def panel(ax: Any, title: str, curves: list[Any]) -> None:
    ends = []
    for curve in curves:
        times, values = curve.points()
        color, marker = STYLE[curve.method.name]
        dashes = "-" if curve.method.is_ours else (0, (4, 2))
        ax.plot(times, values, color=color, marker=marker, ls=dashes, ms=5 if len(times) > 1 else 11, lw=1.7)
        ends.append((float(values[-1]), float(times[-1]), curve.label, color))
    ax.set(xscale="log", xlabel="seconds of training", ylabel="test nDCG@10", title=title)
    values = np.concatenate([line.get_ydata() for line in ax.lines])
    top, low = np.nanmax(values), np.nanpercentile(values, 8)
    ax.set_ylim(low - 0.05 * (top - low), top + 0.05 * (top - low))
    ax.grid(visible=True, which="major", color="#dddddd", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    label(ax, sorted(ends))


def label(ax: Any, ends: list[tuple[float, float, str, str]]) -> None:
    """Names in the right margin, in the order of the ends of the lines, none over another."""
    low, high = ax.get_ylim()
    gap = 0.052
    places = [np.clip((value - low) / (high - low), 0.0, 1.0) for value, *_ in ends]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    over = max(0.0, places[-1] - 1.0)
    for i in range(len(places) - 1, -1, -1):
        ceiling = 1.0 if i == len(places) - 1 else places[i + 1] - gap
        places[i] = min(places[i], ceiling) if over else places[i]
    for place, (value, seconds, text, color) in zip(places, ends, strict=True):
        ax.annotate(
            text,
            xy=(seconds, value),
            xytext=(1.03, place),
            textcoords=ax.transAxes,
            color=color,
            va="center",
            fontsize=9.5,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.5, "alpha": 0.6},
        )
