"""Soft ranks against scores, for several alpha: the picture of the ApproxRank page."""

import numpy as np
from matplotlib.figure import Figure

from directrix.laws import soft_ranks

SCORES = np.array([0.0, 0.25, 0.4, 0.75, 1.0])  # of five documents; the sixth moves
ALPHAS = (3.0, 10.0, 30.0, 100.0)


def draw() -> Figure:
    """Rank and soft rank of a document whose score moves past those of five others."""
    moving = np.linspace(-0.3, 1.3, 801)
    figure = Figure(figsize=(7.5, 4.0))
    axes = figure.subplots()
    exact = 1 + (SCORES[None, :] > moving[:, None]).sum(axis=1)
    axes.step(moving, exact, color="black", linewidth=2.5, where="mid", label="rank")
    shades = ("#9ecae1", "#4292c6", "#d95f0e", "#993404")
    for alpha, color in zip(ALPHAS, shades, strict=True):
        soft = [soft_ranks(np.append(SCORES, s), alpha=alpha)[-1] for s in moving]
        axes.plot(moving, soft, color=color, linewidth=1.6, label=f"soft rank, alpha = {alpha:g}")
    axes.plot(SCORES, np.full(5, 6.55), "|", color="black", markersize=11, clip_on=False)
    axes.annotate("scores of the five others", (1.05, 6.55), va="center", fontsize=9)
    axes.set(xlabel="score of the document that moves", ylabel="its rank", xlim=(-0.3, 1.5), ylim=(6.9, 0.7))
    axes.set_yticks(range(1, 7))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", fontsize=9)
    return figure
