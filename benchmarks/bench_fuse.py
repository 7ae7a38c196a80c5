"""Combinations of TREC-7's runs: ``python -m benchmarks fuse`` prints tested values and gains.

The runs are found as the tests find them. A group is a fixed number of the runs that begin with ``basic-``
(one index, ten retrieval functions), in the order of their names, or one function on two indexes; no group
was chosen by its result. "tested" is cross-validation over queries in five folds: weights, normalizer and
constant are chosen on the others, and of several normalizers the best is chosen there too. The gain has a
95 % interval.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import directrix as dx
from directrix.data import Run

GROUPS = {f"{n} functions, one index": ("basic-", n) for n in (2, 3, 4, 5)} | {
    "BM25 on two indexes": ("-BM25", 2),
    "extra systems": ("extra-", 4),
}
SHOWN = ("best run", "RRF, c = 60", "CombSUM", "RRF, weights", "linear, best normalizer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))
    parser.add_argument("--measure", action="append", help="default: nDCG@10 and AP")
    folder = parser.parse_args().data / "trec7"
    if not folder.is_dir():
        print(f"not measured: no {folder}; give --data or set DIRECTRIX_DATA")
        return
    for measure in parser.parse_args().measure or ("nDCG@10", "AP"):
        print(f"{measure:26} {'in sample':>9} {'tested':>7}  over best run              over RRF, c = 60")
        for name, (part, n) in GROUPS.items():
            runs = _runs(folder, part, n)
            begun = time.perf_counter()
            fusion = dx.fuse(runs, folder / "qrels.trec7.txt", measure)
            seconds = time.perf_counter() - begun
            print(f"{name}: {seconds:.0f} s, chosen {fusion.method}")
            for row in fusion.rows:
                if row.method in SHOWN:
                    gains = "  ".join(
                        f"{pair.difference:+.4f} [{pair.interval[0]:+.4f}, {pair.interval[1]:+.4f}]"
                        for pair in (row.over_best_run, row.over_rrf)
                    )
                    print(f"  {row.method:24} {row.value:9.4f} {row.tested:7.4f}  {gains}", flush=True)
        print()


def _runs(folder: Path, part: str, n: int) -> dict[str, Run]:
    paths = [path for path in sorted((folder / "runs").glob("*.res.gz")) if part in path.name]
    return {path.name.split(".res")[0]: dx.read_trec_run(path) for path in paths[:n]}


if __name__ == "__main__":
    main()
