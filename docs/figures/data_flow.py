"""The layers of the library, in order, with what each one provides."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

BOXES = (
    ("data", "Queries: features,\nlabels, qptr"),
    ("measures", "exact nDCG@10,\nAP, ... per query"),
    ("surrogates", "functions of scores:\nvalue and gradient"),
    ("models", "scores from\nfeatures"),
    ("objectives", "one loss: weights,\nsign, penalty"),
    ("trainers", "L-BFGS, SGD: result\nand reason to stop"),
    ("rankers", "fit, predict,\nsave, load"),
    ("cli", "directrix train,\nevaluate, ..."),
)
WIDTH, HEIGHT, GAP = 2.5, 1.35, 0.55
ARROW = {"arrowstyle": "->"}


def draw() -> Figure:
    """Two rows of four boxes, so that the picture can be read on a phone."""
    figure = Figure(figsize=(8.2, 3.1))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-0.2, 12.1), ylim=(-2.35, 1.55), aspect="equal")
    axes.axis("off")
    for i, (name, what) in enumerate(BOXES):
        x, y = (i % 4) * (WIDTH + GAP), -2.1 * (i // 4)
        axes.add_patch(
            Rectangle((x, y), WIDTH, HEIGHT, facecolor="#eef2fb", edgecolor="#3f51b5", linewidth=1.2)
        )
        axes.text(x + WIDTH / 2, y + 1.05, name, ha="center", va="center", weight="bold", color="#283593")
        axes.text(x + WIDTH / 2, y + 0.47, what, ha="center", va="center", fontsize=9)
        if i % 4 < 3:
            axes.annotate(
                "", (x + WIDTH + GAP, y + 0.67), (x + WIDTH, y + 0.67), arrowprops={"arrowstyle": "->"}
            )
    right, left = 3 * (WIDTH + GAP) + WIDTH / 2, WIDTH / 2
    axes.plot([right, right, left], [0, -0.38, -0.38], color="black", linewidth=1)
    axes.annotate("", (left, -2.1 + HEIGHT), (left, -0.38), arrowprops=ARROW)
    return figure
