"""Boosted trees by the number of documents: seconds, memory and test nDCG@10 beside three peers.

    python benchmarks/bench_large.py [--documents 20000 200000] [--trees 15 60] [--peers PYTHON]
                                     [--rows BoostedRanker LightGBM ...] [--files parquet txt]

Synthetic web search data (`large`) with 136 features; 3770000 documents are as many as MSLR-WEB30K has.
PYTHON is that of an environment with LightGBM, XGBoost and CatBoost. Each row has a process of its own and
one thread, as in `bench_quality`, and trains once for every number of trees, at rate .1, with 31 leaves
(CatBoost: depth 6) and else as the package comes; a tenth as many queries, 100 to 1,000, validate and 1,000
test. Memory is the peak of the process, which holds the arrays of all three parts.

With ``--files`` the training queries are written as Parquet and as LETOR text, and `directrix train` trains
the largest number of trees on each. Finished rows are kept in results/large.jsonl, and the table and the
picture show all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_quality import trained
from full_pass import installed
from large import Law
from letor import Split, versions
from quality_picture import STYLE
from tree_peers import SETTINGS

from directrix.rankers.means import mean_and_error

RESULTS = Path(__file__).parent / "results"
CELLS, PICTURE = RESULTS / "large.jsonl", RESULTS / "large.png"
DOCS_PER_QUERY = 119.0
COMMON: dict[str, dict[str, Any]] = {
    "BoostedRanker": {"learning_rate": 0.1},
    "LightGBM": {"learning_rate": 0.1},
    "XGBoost": {"eta": 0.1, "max_depth": 0, "max_leaves": 31, "grow_policy": "lossguide"},
    "CatBoost": {"loss_function": "YetiRank", "learning_rate": 0.1},
}
FILES = {"parquet": "Parquet", "txt": "LETOR text"}
Key = tuple[int, str, int]


def measure(n_docs: int, rows: list[str], trees: list[int], python: str) -> Iterator[dict[str, Any]]:
    """Train rows on one size, a process for each."""
    law, n_queries = Law(), round(n_docs / DOCS_PER_QUERY)
    n_valid = min(max(n_queries // 10, 100), 1000)
    split = Split(law.queries(n_queries), law.queries(n_valid, "valid"), law.queries(1000, "test"))
    for row in rows:
        settings = [COMMON[row] | {"n_trees": n} for n in trees]
        found = trained(row, settings, split, python if row in SETTINGS else sys.executable)
        package = row if row in SETTINGS else "directrix"
        for n, one in zip(trees, found["trained"], strict=True):
            test = mean_and_error(np.array(one["test"]["nDCG@10"]))
            shown = {what: one[what] for what in ("seconds", "processor", "note")} | {"test": test}
            where = {"documents": n_docs, "row": row, "trees": n, "version": f"{package} {found['version']}"}
            yield where | {"peak": found["peak"]} | shown


def from_file(n_docs: int, kind: str, n_trees: int) -> dict[str, Any]:
    """Train with `directrix train` on a file, with a validation file."""
    law, n_queries = Law(), round(n_docs / DOCS_PER_QUERY)
    with tempfile.TemporaryDirectory() as folder:
        train, valid = (Path(folder, f"{part}.{kind}") for part in ("train", "valid"))
        law.write(train, n_queries)
        law.write(valid, min(max(n_queries // 10, 100), 1000), "valid")
        command = [sys.executable, "-m", "directrix", "train", str(train), "--valid", str(valid)]
        # the method of BoostedRanker's defaults, with one candidate
        settings = {"learning_rate": 0.1, "num_leaves": 31, "l2": 20, "n_trees": n_trees}
        command += ["--method", "YetiRank", *(f"--set={name}={value}" for name, value in settings.items())]
        begun, size = time.perf_counter(), train.stat().st_size
        command += ["-o", str(Path(folder, "model.json"))]
        process = os.spawnve(os.P_NOWAIT, command[0], command, os.environ | {"DIRECTRIX_NUM_THREADS": "1"})
        _, status, used = os.wait4(process, 0)
        if status:
            raise SystemExit(f"failed: {' '.join(command)}")
        return {
            "documents": n_docs, "row": FILES[kind], "trees": n_trees, "bytes": size,
            "seconds": time.perf_counter() - begun, "processor": used.ru_utime + used.ru_stime,
            "peak": used.ru_maxrss * 1024,
        }  # fmt: skip


def read() -> dict[Key, dict[str, Any]]:
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    return {(c["documents"], c["row"], c["trees"]): c for c in map(json.loads, lines)}


def table(done: dict[Key, dict[str, Any]]) -> None:
    """Print one block for every size, with ratios to LightGBM of as many trees."""
    for n_docs in sorted({key[0] for key in done}):
        print(f"\n{n_docs:,} documents x 136 features, synthetic")
        print(f"{'':15}{'trees':>6}{'seconds':>9}{'of LightGBM':>13}{'GB peak':>9}{'nDCG@10':>9}{'+-':>7}")
        for (size, row, trees), cell in sorted(done.items()):
            if size != n_docs:
                continue
            theirs = done.get((size, "LightGBM", trees), {}).get("processor", np.nan)
            figures = f"{cell['processor']:9.1f}{cell['processor'] / theirs:13.2f}{cell['peak'] / 1e9:9.2f}"
            tested = "{:9.4f}{:7.4f}".format(*cell["test"]) if "test" in cell else ""
            file = f"  directrix train, {cell['bytes'] / 1e9:.2f} GB file" if "bytes" in cell else ""
            print(f"{row:15}{trees:6}{figures}{tested}{file}")


def draw(done: dict[Key, dict[str, Any]]) -> None:
    """Draw test nDCG@10 against seconds, one panel for every size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    sizes = sorted({key[0] for key in done})
    down, across = -(-len(sizes) // 2), min(len(sizes), 2)  # to be read in a column of text
    figure, axes = plt.subplots(
        down, across, figsize=(4.2 * across, 2.9 * down), squeeze=False, layout="constrained"
    )
    for ax in axes.flat[len(sizes) :]:
        ax.remove()
    for ax, n_docs in zip(axes.flat, sizes, strict=False):
        for row in COMMON:
            color, marker, _ = STYLE["BoostedRanker()" if row == "BoostedRanker" else row]
            cells = [c for (n, r, _), c in sorted(done.items()) if n == n_docs and r == row]
            if cells:
                x, (y, error) = [c["processor"] for c in cells], np.transpose([c["test"] for c in cells])
                ax.errorbar(
                    x, y, error, color=color, marker=marker, ls="-", lw=1.2, elinewidth=0.6, ms=6,
                    label="directrix" if row == "BoostedRanker" else row,
                    mfc=color if row == "BoostedRanker" else "white",
                )  # fmt: skip
        ax.set(xscale="log", xlabel="seconds of training", ylabel="test nDCG@10")
        ax.set_title(f"{n_docs:,} documents")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
        ax.grid(visible=True, which="major", color="#dddddd", lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(PICTURE, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, nargs="*", default=[20_000])
    parser.add_argument("--trees", type=int, nargs="*", default=[15, 60])
    parser.add_argument("--rows", nargs="*", default=list(COMMON), choices=COMMON)
    parser.add_argument("--peers", help="Python of the environment with the peers")
    parser.add_argument("--files", nargs="*", choices=FILES, default=[], help="train on files instead")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    rows = [r for r in options.rows if r not in SETTINGS or _is_there(options.peers, r)]
    for n_docs in options.documents:
        done = read()
        cells: Iterable[dict[str, Any]] = ()
        if options.files:
            most = max(options.trees)
            new = [kind for kind in options.files if (n_docs, FILES[kind], most) not in done]
            cells = (from_file(n_docs, kind, most) for kind in new)
        elif new := [r for r in rows if any((n_docs, r, n) not in done for n in options.trees)]:
            cells = measure(n_docs, new, options.trees, options.peers)
        with CELLS.open("a") as file:
            for cell in cells:
                file.write(json.dumps(cell) + "\n")
                file.flush()
    print(versions())
    done = read()
    print(", ".join(sorted({cell["version"] for cell in done.values() if "version" in cell})))
    table(done)
    draw(done)
    return 0


def _is_there(python: str | None, row: str) -> bool:
    return python is not None and installed(python, row.lower())


if __name__ == "__main__":
    sys.exit(main())
