"""Figures drawn by matplotlib: PNG, SVG and PDF, the same bytes for the same figure; and their data."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from itertools import cycle
from typing import Any, Literal

import numpy as np

from directrix.errors import MissingExtra
from directrix.reports.report import Figure, Panel
from directrix.tables import Table

INK, GRID = "#22262b", "#d5d9de"
"""Colors of text and axes, and of the grid; pages with a dark background replace them."""

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
_LINES = ("-", (0, (6, 2)), (0, (1, 1.3)), (0, (6, 2, 1, 2)))
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Lines with more points than this have no marks, which would cover the line.
_FEW = 25
# A row has at most this number of panels.
_ACROSS = 3
# A legend with more entries is placed below the axes, where it hides no curves.
_INSIDE = 4
_METADATA = {"png": ["Software"], "svg": ["Date", "Creator"], "pdf": ["CreationDate", "Creator", "Producer"]}
STYLE: Any = {
    # Without a fixed salt, the ids in an SVG are random and equal figures have different bytes.
    "svg.hashsalt": "directrix",
    # TrueType fonts are embedded. Conferences reject Type 3, the default.
    "pdf.fonttype": 42,
    # Text stays text, so screen readers and searches find it, and it has the font of the page.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "figure.facecolor": "white",
    "axes.facecolor": "none",
    "savefig.facecolor": "auto",
}
"""Settings of matplotlib while a figure is drawn."""


def need_plot() -> None:
    """Raise `MissingExtra` if matplotlib is not installed, before long computations."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("plot", "drawing the figures of a report")


def across(n_panels: int) -> int:
    """Number of panels in a row."""
    return 2 if n_panels == 4 else min(n_panels, _ACROSS)


def draw(figure: Figure, form: Literal["png", "svg", "pdf"]) -> bytes:
    """Draw a figure without its title, which pages show under the picture.

    PNG has 150 dots per inch and a white background; SVG and PDF have a transparent one, and text as text,
    with the fonts in the PDF. The bytes are the same for the same figure and version of matplotlib.

    The colors are those of Okabe & Ito (2008) without yellow and black: color-blind readers can tell them
    apart, and they are visible on white and on dark backgrounds. Lines also differ in dashes and marks.
    """
    need_plot()
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    with rc_context(STYLE):
        n = len(figure.panels)
        width, height = across(n), -(-n // across(n))
        canvas = Canvas(figsize=(max(4.6 * width, 5.2), 3.4 * height), layout="constrained")
        axes = canvas.subplots(height, width, squeeze=False).ravel()
        named = [draw_panel(panel, ax) for panel, ax in zip(figure.panels, axes, strict=False)]
        for ax in axes[n:]:
            ax.remove()
        labels = [[label for _, label in handles] for handles in named]
        if n > 1 and labels[0] and all(panel_labels == labels[0] for panel_labels in labels):
            _legend(canvas, named[0], loc="outside lower center", ncols=min(len(labels[0]), 2 * width))
        else:
            for ax, handles in zip(axes, named, strict=False):
                below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
                _legend(ax, handles, **(below if len(handles) > _INSIDE else {"loc": "best"}))
        file = io.BytesIO()
        nameless: dict[str, Any] = dict.fromkeys(_METADATA[form])
        canvas.savefig(file, format=form, dpi=150, metadata=nameless, transparent=form != "png")
    return file.getvalue()


def data_of(figure: Figure) -> Table:
    """Return the points of a figure: panel, curve, x (or its name) and y."""
    rows = [
        (
            panel.title or panel.y_label,
            curve.label,
            panel.x_names[int(x)] if panel.x_names else float(x),
            float(y),
        )
        for panel in figure.panels
        for curve in panel.curves
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    return Table("", ("panel", "curve", "x", "y"), tuple(rows))


def draw_panel(panel: Panel, ax: Any) -> list[tuple[Any, str]]:
    """Draw a panel without its legend; return the lines and labels for the legend."""
    colors, marks, lines = cycle(_COLORS), cycle(_MARKS), cycle(_LINES)
    bars = [curve for curve in panel.curves if curve.style == "bars"]
    handles = []
    for curve in panel.curves:
        x, y = (np.array(values, dtype=np.float64) for values in (curve.x, curve.y))
        y[~np.isfinite(y)] = np.nan
        color, mark = next(colors), next(marks)
        if curve.style == "bars":
            # The groups of bars leave a fifth of the space between neighbors empty.
            gaps = np.diff(np.unique(x[np.isfinite(x)]))
            width = 0.8 * (float(gaps.min()) if gaps.size else 1.0) / len(bars)
            at = x + (bars.index(curve) - (len(bars) - 1) / 2) * width
            handle = ax.bar(at, y, width, color=color)
        elif curve.style == "points":
            (handle,) = ax.plot(x, y, mark, color=color, alpha=0.8, markeredgewidth=0)
        else:
            dashes = (0, (4, 2)) if curve.style == "dashed" else next(lines)
            shown = mark if len(x) <= _FEW and curve.style == "line" else ""
            thin = 1.2 if curve.style == "dashed" else 1.6
            (handle,) = ax.plot(x, y, color=color, linestyle=dashes, marker=shown, linewidth=thin)
        if curve.label:
            handles.append((handle, curve.label))
    _scale(ax, "x", panel.x_scale, [curve.x for curve in panel.curves])
    _scale(ax, "y", panel.y_scale, [curve.y for curve in panel.curves])
    if panel.x_names:
        slanted = sum(map(len, panel.x_names)) > 40
        turned: dict[str, Any] = {"rotation": 35, "ha": "right"} if slanted else {}
        ax.set_xticks(range(len(panel.x_names)), panel.x_names, parse_math=False, **turned)
        ax.grid(visible=False, axis="x")
    ax.set_title(panel.title, parse_math=False, wrap=True)
    ax.set_xlabel(panel.x_label, parse_math=False)
    ax.set_ylabel(panel.y_label, parse_math=False)
    return handles


def _legend(parent: Any, handles: Sequence[tuple[Any, str]], **place: Any) -> None:
    """Add a legend; its labels are text, so that "$" is not a formula and "_" at the start hides nothing."""
    if not handles:
        return
    legend = parent.legend([handle for handle, _ in handles], [""] * len(handles), **place)
    for text, (_, label) in zip(legend.get_texts(), handles, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def _scale(ax: Any, axis: Literal["x", "y"], scale: str, values: Sequence[Any]) -> None:
    """Make an axis logarithmic if it has values above 0; within two decades its ticks are plain numbers."""
    shown = np.concatenate([np.asarray(column, dtype=np.float64).ravel() for column in (*values, ())])
    shown = shown[(shown > 0) & np.isfinite(shown)]
    if scale == "linear" or not shown.size:
        return
    getattr(ax, f"set_{axis}scale")("log")
    if shown.max() < 100 * shown.min():
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        ticks = getattr(ax, f"{axis}axis")
        ticks.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ticks.set_major_formatter(StrMethodFormatter("{x:g}"))
        ticks.set_minor_formatter(NullFormatter())
