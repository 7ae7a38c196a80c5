"""Test nDCG@10 of `AutoRanker` in 1 and 8 times the seconds of LightGBM's default, by number of documents.

    python benchmarks/bench_budgets.py [--sets shop large web ...] [--docs 20000 200000] [--rows ROW ...]

Rows are LightGBM's default, the best of its eight settings (`tree_peers`; validation queries choose),
`BoostedRanker()`, and "auto" with a time budget of 1 and 8 times the processor seconds of LightGBM's default.
Sets are the laws of `shop`, `large` and `web` (synthetic), with a quarter as many documents to validate, but
10,000 to 50,000, and 50,000 to test; OHSUMED, MQ2008, scaled300 and nfcorpus (real) have one size, that of
their training queries. ``--peers PYTHON`` is an environment with LightGBM; default this one.

Seconds are those of the processor on one thread, which are also the clock of the budgets here. Every row has
a process of its own. A budget stops by the clock, so a second run may choose otherwise.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any

import numpy as np
from bench_quality import split, trained
from large import PARTS, Law
from letor import Split, absent, add_data, versions
from shop import make_shop
from tree_peers import SETTINGS
from web import make_web

from directrix.rankers.means import mean_and_error

LAWS, REAL = ("shop", "large", "web"), ("OHSUMED", "MQ2008", "scaled300", "nfcorpus")
TIMES = {"auto in 1x": 1.0, "auto in 8x": 8.0}
ROWS = ("LightGBM tuned", "BoostedRanker", *TIMES)


def drawn(name: str, n_docs: int) -> Split:
    """Training, validation and test queries of a law."""
    docs = n_docs, max(min(n_docs // 4, 50_000), 10_000), 50_000
    if name == "web":
        ends = np.cumsum([0, *(n // 36 for n in docs)])
        q = make_web(int(ends[-1]), seed=201)
        return Split(*(q.take(np.arange(*pair)) for pair in itertools.pairwise(ends)))
    if name == "large":
        law = Law(seed=1)
        return Split(*(law.queries(n // 119, part) for n, part in zip(docs, PARTS, strict=True)))
    return Split(*(make_shop(n // 37, part, seed=1) for n, part in zip(docs, PARTS, strict=True)))


def compare(fold: Split, rows: list[str], peers: str) -> None:
    """Train, and print a line for every row."""

    def line(row: str, one: dict[str, Any], seconds: float, budget: float = np.nan) -> None:
        value, error = mean_and_error(np.array(one["test"]["nDCG@10"]))
        used = "" if np.isnan(budget) else f", {seconds / budget:.2f} of the budget"
        ahead, by = mean_and_error(np.array(one["test"]["nDCG@10"]) - base["test"]["nDCG@10"])
        lead = "" if one is base else f"{ahead:+.4f} +- {by:.4f}"
        figures = f"{one['vali']:8.4f}{value:8.4f} +- {error:.4f}{seconds:9.1f}  {lead:19}"
        print(f"{row:18}{figures} {one['note']}{used}", flush=True)

    settings = SETTINGS["LightGBM"] if "LightGBM tuned" in rows else SETTINGS["LightGBM"][:1]
    found = trained("LightGBM", settings, fold, peers)["trained"]
    base = found[0]
    seconds = base["processor"]
    print(f"{'':18}{'vali':>8}{'nDCG@10':>8}{'':10}{'seconds':>9}  minus LightGBM default")
    line("LightGBM default", base, seconds)
    if len(found) > 1:
        line(
            "LightGBM tuned", max(found, key=lambda one: one["vali"]), sum(one["processor"] for one in found)
        )
    for row in rows:
        if row == "BoostedRanker":
            (one,) = trained(row, [{}], fold, sys.executable)["trained"]
            line(row, one, one["processor"])
        elif row in TIMES:
            budget = TIMES[row] * seconds
            more = [{"by_query": True, "time_budget": budget}]
            (one,) = trained("AutoRanker", more, fold, sys.executable)["trained"]
            line(row, one, one["processor"], budget)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data(parser)
    parser.add_argument("--peers", default=sys.executable, help="Python of an environment with LightGBM")
    parser.add_argument("--sets", nargs="*", default=["shop", "large"], choices=(*LAWS, *REAL))
    parser.add_argument("--docs", nargs="*", type=int, default=[20_000, 200_000])
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS)
    options = parser.parse_args()
    if any(name in REAL for name in options.sets) and absent(options.data):
        options.sets = [name for name in options.sets if name in LAWS]
    print(versions())
    for name in options.sets:
        for n_docs in options.docs if name in LAWS else options.docs[:1]:
            fold = drawn(name, n_docs) if name in LAWS else split(options.data, name, 0)
            kind = "synthetic" if name in LAWS else "real"
            print(f"\n== {name} ({kind}): {fold.train}, {fold.test.n_queries:,} test queries", flush=True)
            compare(fold, options.rows, options.peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
