"""All methods in one table: five-fold test means on the LETOR collections, beside what was published.

    python benchmarks/bench_methods.py [--data DATA] [--only NAME ...] [--collection OHSUMED] [--jobs 2]

Every method of `directrix methods` is trained on each fold's training queries; its grid, and the step of
its training where it keeps the best one, are chosen on the fold's validation queries by the measure that
its source chooses by ("by"); "auto" twice, by AP and by nDCG@10. Test queries are only ever measured.
The choice is made under the library's defaults, where ties are expectations: under letor3, with ties in the
order of the file, rankers that tie documents are paid for that order, and boosting would stop at once.
``+-`` is the standard error of the mean over all test queries. Columns under letor3: the discount of the
collections' own script, ties in the order of the file, queries without relevant documents as 0; the
last columns are the library's defaults. Published: LETOR 3.0 means of its web site and of Liu's book, for
AP and nDCG@10, to be taken as approximate; for MQ2008 AP alone.

Every finished cell is kept in results/methods.jsonl: a run that was interrupted goes on from there, and
--fresh begins anew. Seconds are processor time, search included.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import letor
import numpy as np
from joblib import Parallel, delayed

import directrix as dx
from directrix.papers.paper import Words

CELLS = Path(__file__).parent / "results" / "methods.jsonl"
PUBLISHED = Words.of("chapelle2010").published
NAMES = ("AP", "nDCG@5", "nDCG@10", "nDCG")


def rows(only: list[str]) -> Iterator[tuple[str, str]]:
    """Method, and the measure that chooses."""
    for m in dx.methods():
        if (not only or m.name in only) and m.is_installed:
            yield from ((m.name, by) for by in (("AP", "nDCG@10") if m.name == "auto" else (m.selection,)))


def cell(data: Path, collection: str, fold: int, name: str, by: str) -> dict[str, Any]:
    """Choose and train on one fold, measure on its test queries."""
    dx.set_threads(1)
    train, vali, test = map(dx.read_letor, dx.data.letor_folds(data / "letor" / collection)[fold])
    begun = time.process_time()
    found = dx.AutoRanker(by, method=name, by_query=True).search(train, vali)
    seconds = time.process_time() - begun
    ranking = found.ranker.predict_queries(test), test.labels, test.qptr
    return {
        "collection": collection,
        "fold": fold,
        "method": name,
        "by": by,
        "seconds": seconds,
        "chosen": f"{found.chosen.label} steps={found.chosen.steps}",
        "valid": found.chosen.valid,
        "letor3": {m: dx.measure(m).under("letor3")(*ranking).tolist() for m in NAMES},
        "default": {m: dx.measure(m)(*ranking).tolist() for m in NAMES},
    }


def finished() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CELLS.read_text().splitlines()] if CELLS.exists() else []


def key(entry: dict[str, Any]) -> tuple[Any, ...]:
    return entry["collection"], entry["fold"], entry["method"], entry["by"]


def work(data: Path, plan: list[tuple[str, str]], collections: list[str], jobs: int) -> list[dict[str, Any]]:
    """All cells of the plan, from the file where they are there."""
    done = {key(entry): entry for entry in finished()}
    every = [(c, fold, *row) for row in plan for c in collections for fold in range(5)]
    missing = [entry for entry in every if entry not in done]
    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(cell)(data, *entry) for entry in missing
    )
    with CELLS.open("a") as file:
        for number, found in enumerate(results, 1):
            done[key(found)] = found
            file.write(json.dumps(found) + "\n")
            file.flush()
            print(f"{number}/{len(missing)} {key(found)} {found['seconds']:.0f} s", file=sys.stderr)
    return [done[entry] for entry in every]


def table(collection: str, plan: list[tuple[str, str]], cells: list[dict[str, Any]]) -> None:
    """Print the means, the best of every column marked with a star."""
    lines, columns = [], []
    for name, by in plan:
        folds = [c for c in cells if (c["collection"], c["method"], c["by"]) == (collection, name, by)]
        means = [np.mean([np.mean(c[k][m]) for c in folds]) for k in ("letor3", "default") for m in NAMES]
        errors = []
        for m in ("AP", "nDCG@10"):
            every = np.concatenate([c["letor3"][m] for c in folds])
            errors.append(every.std(ddof=1) / len(every) ** 0.5)
        columns.append(means)
        lines.append((name, by, errors, sum(c["seconds"] for c in folds)))
    best = np.argmax(columns, axis=0)
    head = "".join(f"{m:>9}" for m in NAMES)
    print(f"\n== {collection}: means of five test folds")
    print(f"{'':20}{'':8}{'letor3':>9}{'':27}{'+-':>7}{'+-':>7}{'default':>9}{'':27}{'published':>17}")
    print(f"{'method':20}{'by':8}{head}{'AP':>7}{'@10':>7}{head}{'AP':>8}{'nDCG@10':>9}{'seconds':>9}")
    for row, ((name, by, errors, seconds), means) in enumerate(zip(lines, columns, strict=True)):
        shown = [f"{v:8.4f}{'*' if best[i] == row else ' '}" for i, v in enumerate(means)]
        said = PUBLISHED[collection].get(name, {})
        texts = [f"{said[m]:.3f}" if m in said else "" for m in ("ap", "ndcg")]
        published = "".join(f"{text:>{w}}" for text, w in zip(texts, (8, 9), strict=True))
        spread = "".join(f"{error:7.4f}" for error in errors)
        print(f"{name:20}{by:8}{''.join(shown[:4])}{spread}{''.join(shown[4:])}{published}{seconds:9.0f}")
    print("\nchosen on the validation queries, fold by fold")
    for name, by in plan:
        for c in cells:
            if (c["collection"], c["method"], c["by"]) == (collection, name, by):
                print(f"{name:20}{by:8} {c['fold'] + 1}  {c['valid']:.4f}  {c['chosen']}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="methods, default all")
    parser.add_argument("--collection", nargs="*", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--fresh", action="store_true", help="forget the cells of earlier runs")
    options = parser.parse_args()
    if letor.absent(options.data):
        return 0
    if options.fresh:
        CELLS.unlink(missing_ok=True)
    print(letor.versions())
    plan = list(rows(options.only))
    cells = work(options.data, plan, options.collection, options.jobs)
    for collection in options.collection:
        table(collection, plan, cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
