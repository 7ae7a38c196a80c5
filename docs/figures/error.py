"""Error of the surrogates against alpha, on random queries: the second picture of the ApproxRank page."""

import numpy as np
from matplotlib.figure import Figure

import directrix as dx

N_QUERIES, N_DOCS = 200, 50
ALPHAS = np.logspace(0, 3.5, 15)


def errors() -> dict[str, list[float]]:
    """Mean over queries of |surrogate - measure| for every alpha (beta = alpha)."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(N_QUERIES * N_DOCS)
    labels = rng.choice(5, p=(0.52, 0.32, 0.13, 0.02, 0.01), size=len(scores)).astype(float)
    qptr = np.arange(0, len(scores) + 1, N_DOCS)
    gaps: dict[str, list[float]] = {}
    for make in (dx.ApproxNDCG, dx.ApproxAP, dx.ApproxRR):
        for alpha in ALPHAS:
            s = make(alpha=float(alpha), beta=float(alpha))
            value, _ = s.value_and_grad(scores, labels, qptr)
            gap = np.abs(value - s.measure(scores, labels, qptr)).mean()
            gaps.setdefault(f"{make.__name__} - {s.measure.name}", []).append(float(gap))
    return gaps


def draw() -> Figure:
    """One line for each surrogate, both axes logarithmic."""
    figure = Figure(figsize=(7.5, 3.8))
    axes = figure.subplots()
    colors = ("#4292c6", "#d95f0e", "#31a354")
    for (name, gap), color in zip(errors().items(), colors, strict=True):
        axes.loglog(ALPHAS, gap, "o-", markersize=4, color=color, label=f"|{name}|")
    axes.set(xlabel="alpha, for scores of standard deviation 1", ylabel="mean error over queries")
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure
