"""Regret of `BoostedRanker()` and `AutoRanker` against the best of three boosters tuned by eight settings.

    python benchmarks/bench_regret.py [--parts choosing confirming real] [--sets NAME ...] [--small]
                                      [--rows ROW ...] [--peers PYTHON] [--print]

Sets are laws of five kinds in four forms (`laws`, synthetic), with a quarter as many queries to validate, at
least 30, and 1,000 to test: laws of "choosing" took part in the choice of our rules, those of "confirming"
did not. "real" has the first folds of the collections of `bench_quality`. ``--small`` has three laws of 100
queries.

Each package is trained with eight settings (`tree_peers`), of which validation queries choose one. Regret is
test nDCG@10 of the best of these three, chosen by test queries in their favor, minus that of ours: below 0
we are ahead. "auto in 8x" is `AutoRanker(by_query=True)` with 8 times the seconds of LightGBM's default as
its budget; "auto" has none. Seconds are of the processor, on one thread; those of a tuned package are the
sum of eight.

Every row has a process of its own. Finished rows are kept in results/regret.jsonl, so a second run resumes.
PYTHON is that of an environment with the peers; default this one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from bench_quality import split, trained
from laws import Law
from letor import Split, absent, add_data, versions
from tree_peers import SETTINGS

from directrix.rankers.means import mean_and_error

HERE = Path(__file__).parent
CELLS, PICTURE = HERE / "results" / "regret.jsonl", HERE / "results" / "regret.png"
LAWS = {
    "choosing": (
        Law("additive", "heavy", 5, 100, 1),
        Law("thresholds", "missing", 3, 100, 2),
        Law("levels", "dense", 5, 100, 3),
        Law("query", "sparse", 2, 100, 4),
        Law("products", "dense", 3, 100, 5),
        Law("additive", "sparse", 3, 400, 6),
        Law("thresholds", "heavy", 5, 400, 7),
        Law("query", "missing", 5, 400, 8),
        Law("levels", "heavy", 3, 400, 9),
        Law("products", "heavy", 2, 400, 10),
        Law("query", "dense", 5, 1500, 11),
        Law("thresholds", "sparse", 2, 1500, 12),
        Law("additive", "missing", 5, 1500, 13),
        Law("levels", "sparse", 2, 1500, 14),
        Law("query", "heavy", 3, 5000, 15),
    ),
    "confirming": (
        Law("additive", "missing", 2, 150, 101),
        Law("thresholds", "dense", 5, 150, 102),
        Law("query", "heavy", 3, 200, 103),
        Law("levels", "sparse", 5, 250, 104),
        Law("products", "missing", 5, 300, 105),
        Law("query", "sparse", 5, 600, 106),
        Law("additive", "dense", 3, 700, 107),
        Law("levels", "missing", 3, 800, 108),
        Law("thresholds", "sparse", 3, 2000, 109),
        Law("products", "sparse", 5, 3000, 110),
        Law("query", "missing", 2, 20_000, 111),
    ),
}
REAL = ("OHSUMED", "MQ2008", "scaled300", "nfcorpus", "ohsumed-null")
SMALL = LAWS["choosing"][1:4]
OURS = {"BoostedRanker": "BoostedRanker", "auto in 8x": "AutoRanker", "auto": "AutoRanker"}
MARKS = {
    "BoostedRanker": ("#0072B2", "o", 0.2),
    "auto in 8x": ("#000000", "*", 0.0),
    "auto": ("#D55E00", "x", -0.2),
}
Cells = dict[tuple[str, str], dict[str, Any]]


def data_of(data: Path, one: Law | str) -> Split:
    if isinstance(one, str):
        return split(data, one, 0)
    sizes = {"train": one.n_queries, "valid": max(one.n_queries // 4, 30), "test": 1000}
    return Split(*(one.queries(part, n) for part, n in sizes.items()))


def name_of(one: Law | str) -> str:
    return one if isinstance(one, str) else one.name


def work(sets: Iterable[Law | str], rows: list[str], options: argparse.Namespace) -> None:
    """Train the rows that are not finished; budgets need LightGBM's seconds, and so come last."""
    for one in sets:
        name, done = name_of(one), read()
        missing = [row for row in rows if (name, row) not in done]
        fold = data_of(options.data, one) if missing else None
        for row in missing:
            if row in SETTINGS:
                found = trained(row, SETTINGS[row], fold, options.peers)["trained"]
                best = max(found, key=lambda cell: cell["vali"])
                cell = best | {"processor": sum(cell["processor"] for cell in found)}
                cell["default"] = found[0]["processor"]
            else:
                settings: dict[str, Any] = {} if row == "BoostedRanker" else {"by_query": True}
                if row == "auto in 8x":
                    if (name, "LightGBM") not in read():
                        continue
                    settings["time_budget"] = 8.0 * read()[name, "LightGBM"]["default"]
                (cell,) = trained(OURS[row], [settings], fold, sys.executable)["trained"]
            cell["test"] = cell["test"]["nDCG@10"]
            with CELLS.open("a") as file:
                file.write(json.dumps({"set": name, "row": row} | cell) + "\n")
            print(f"{name} {row} {cell['processor']:.1f} s", file=sys.stderr, flush=True)


def read() -> Cells:
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    return {(cell["set"], cell["row"]): cell for cell in map(json.loads, lines)}


def table(
    part: str, names: list[str], done: Cells, ours: list[str]
) -> dict[str, dict[str, tuple[float, float]]]:
    """Print the sets of a part that are finished, and return regrets of `ours` with errors by row and set."""
    kind = "real" if part == "real" else "synthetic"
    names = [name for name in names if all((name, row) in done for row in (*SETTINGS, *ours))]
    found: dict[str, dict[str, tuple[float, float]]] = {row: {} for row in ours}
    if not names:
        return found
    print(f"\n== {part} ({kind}): regret in test nDCG@10, with standard errors")
    print(f"{'':24}{'best tuned':>20}{'s':>7}" + "".join(f"{row:>20}{'s':>7}" for row in ours))
    for name in names:
        best = max(SETTINGS, key=lambda row: np.mean(done[name, row]["test"]))
        theirs = done[name, best]
        line = f"{name:24}{best:>12} {np.mean(theirs['test']):7.4f}{theirs['processor']:7.1f}"
        for row in ours:
            cell = done[name, row]
            found[row][name] = mean_and_error(np.array(theirs["test"]) - cell["test"])
            line += "{:+10.4f} +- {:.4f}".format(*found[row][name]) + f"{cell['processor']:7.1f}"
        print(line)
    for row, by_set in found.items():
        mean, error = mean_and_error(np.array([regret for regret, _ in by_set.values()]))
        worst = max(by_set, key=lambda name: by_set[name][0])
        behind = "{:+.4f} +- {:.4f}".format(*by_set[worst])
        print(f"{row}: mean {mean:+.4f} +- {error:.4f} over {len(names)} sets, worst {behind} ({worst})")
    return found


def draw(parts: dict[str, dict[str, dict[str, tuple[float, float]]]]) -> None:
    """Draw the regrets with two standard errors, a line for every set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = next(iter(parts.values()))
    labels = [f"{name} ({part})" for part, rows in parts.items() for name in next(iter(rows.values()))]
    figure, ax = plt.subplots(figsize=(7.5, 1.5 + 0.25 * len(labels)))
    for row in shown:
        color, marker, shift = MARKS[row]
        points = [point for rows in parts.values() for point in rows[row].values()]
        means, errors = np.transpose(points)
        ax.errorbar(
            means, shift - np.arange(len(points)), xerr=2.0 * errors,
            color=color, marker=marker, ls="", elinewidth=0.6, label=row,
        )  # fmt: skip
    ax.axvline(0.0, color="#999999", lw=0.8)
    ax.set_yticks(-np.arange(len(labels)), labels)
    ax.set_ylim(0.6 - len(labels), 0.6)
    ax.set_xlabel("regret in test nDCG@10 (below 0: ahead), +- 2 standard errors")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data(parser)
    parser.add_argument("--peers", default=sys.executable, help="Python of an environment with the peers")
    parser.add_argument("--parts", nargs="*", default=[*LAWS, "real"], choices=(*LAWS, "real"))
    parser.add_argument("--sets", nargs="*", metavar="NAME", help="some of the sets of these parts")
    parser.add_argument("--small", action="store_true", help="three laws of 100 queries")
    parser.add_argument("--rows", nargs="*", default=[*SETTINGS, *OURS], choices=(*SETTINGS, *OURS))
    parser.add_argument("--print", action="store_true", help="what is finished, without training")
    options = parser.parse_args()
    sets: dict[str, tuple[Law | str, ...]] = {part: LAWS.get(part, REAL) for part in options.parts}
    if options.sets:
        sets = {
            part: tuple(one for one in every if name_of(one) in options.sets) for part, every in sets.items()
        }
    if options.small:
        sets = {"choosing": SMALL}
    elif "real" in sets and absent(options.data):
        del sets["real"]
    if not options.print:
        CELLS.parent.mkdir(exist_ok=True)
        work([one for part in sets.values() for one in part], options.rows, options)
    print(versions())
    done = read()
    ours = [row for row in OURS if row in options.rows]
    found = {part: table(part, [name_of(one) for one in every], done, ours) for part, every in sets.items()}
    if ours and any(rows[ours[0]] for rows in found.values()):
        draw(found)
        print(f"\npicture: {PICTURE.relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
