"""Test nDCG@10 and AP of rankers as they come and tuned, with the seconds that their training takes.

    python benchmarks/bench_quality.py --peers PYTHON [--sets cubic web ...] [--folds 5] [--jobs 1]

PYTHON is that of an environment with LightGBM, XGBoost and CatBoost; without it their rows are left out. Sets
are "cubic" and "web" (`make_cubic` and `make_web`, five drawings), the official folds of OHSUMED and MQ2008,
and those of ``ltr/`` in the folder of the data: the first fold is the split as it is, the others draw all
queries again into parts of the same sizes.

- "default": as the package comes, at most 500 trees, those up to the best on the validation queries.
- "tuned": of eight settings (`tree_peers`) the best on the validation queries; the seconds of all eight.
- "auto": `AutoRanker(by_query=True)`, which is what `directrix train` does; "auto in 1x" with the time of
  LightGBM's default as budget, "auto in 8x" with that of its eight settings.

A run chooses nothing by test queries; which of them took part in the choice of our defaults, RESULTS.md says.
Seconds are those of the processor, on one thread, of the training and of everything that is chosen from;
compilation, reading and scoring the test queries do not count. Every row has a process of its own. What is
finished is kept in results/quality.jsonl, so that a second run resumes; ``--again ROW`` trains some rows
again, and ``--print`` none. A table has the folds that all of its rows have.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from bench_boosted import artificial
from full_pass import installed, run_apart
from joblib import Parallel, delayed
from letor import Split, absent, add_data, read_folds, versions
from one_ranker import PARTS, Job, save_job
from tree_peers import SETTINGS

import directrix as dx
from directrix.rankers.means import mean_and_error

HERE = Path(__file__).parent
CELLS = HERE / "results" / "quality.jsonl"
PICTURE = HERE / "results" / "quality.png"
JUDGES = {name: dx.measure(name) for name in ("nDCG@10", "AP")}
SETS = ("cubic", "web", "OHSUMED", "MQ2008", "scaled300", "nfcorpus", "ohsumed-null")
BUDGETS = {"auto in 1x": "LightGBM default", "auto in 8x": "LightGBM tuned"}
_AUTO = {"by_query": True}
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "BoostedRanker": ("BoostedRanker", {}),
    "MLPRanker": ("MLPRanker", {}),
    "auto in 1x": ("AutoRanker", _AUTO),
    "auto in 8x": ("AutoRanker", _AUTO),
    "auto": ("AutoRanker", _AUTO),
}
PEERS = [f"{who} {how}" for who in SETTINGS for how in ("default", "tuned")]
Cells = dict[tuple[str, int, str], dict[str, Any]]


def split(data: Path, name: str, fold: int) -> Split:
    """One fold of a set."""
    if name in ("cubic", "web"):
        return artificial(name, seeds=(101 + fold,))[0]
    if name in ("OHSUMED", "MQ2008"):
        return read_folds(data, name)[fold]
    parts = [dx.read_letor(data / "ltr" / name / f"{part}.txt") for part in PARTS]
    if fold == 0:
        return Split(*parts)
    arrays = [np.concatenate([getattr(q, what) for q in parts]) for what in ("features", "labels")]
    sizes = np.concatenate([np.diff(q.qptr) for q in parts])
    whole = dx.Queries.from_arrays(*arrays, group=sizes)
    order = np.random.default_rng(fold).permutation(whole.n_queries)
    ends = np.cumsum([0, *(q.n_queries for q in parts)])
    return Split(*(whole.take(np.sort(order[a:b])) for a, b in itertools.pairwise(ends)))


def trained(who: str, settings: list[dict[str, Any]], fold: Split, python: str) -> dict[str, Any]:
    """Train with each of the settings in a process of its own, and measure the scores."""
    with tempfile.TemporaryDirectory() as folder:
        data, out, arrays = Path(folder) / "data.npz", Path(folder) / "scores.npz", {}
        for part in PARTS:
            q = getattr(fold, part)
            arrays |= {f"{part}_X": q.features, f"{part}_y": q.labels, f"{part}_qptr": q.qptr}
        np.savez(data, **arrays)
        module = "tree_peers" if who in SETTINGS else "our_rankers"
        job = Job(module, who, settings, str(data), str(out), 1)
        save_job(job, Path(folder) / "job.json")
        found = run_apart(python, str(HERE / "one_ranker.py"), str(Path(folder) / "job.json"))
        kept = dict(np.load(out))
    for number, (one, setting) in enumerate(zip(found["trained"], settings, strict=True)):
        scores = kept[f"{number} vali"], kept[f"{number} test"]
        one["settings"] = setting
        one["vali"] = float(JUDGES["nDCG@10"](scores[0], fold.vali.labels, fold.vali.qptr).mean())
        one["test"] = {m: j(scores[1], fold.test.labels, fold.test.qptr).tolist() for m, j in JUDGES.items()}
    return found


def cells_of(data: Path, name: str, number: int, row: str, done: Cells, peers: str | None) -> list[Any]:
    """Train what a row needs, and return its cells: two for a package, its default and the tuned one."""
    fold, where = split(data, name, number), {"set": name, "fold": number}
    if row in SETTINGS:
        found = trained(row, SETTINGS[row], fold, str(peers))
        outcomes = found["trained"]
        best = max(outcomes, key=lambda one: one["vali"])
        spent = {what: sum(one[what] for one in outcomes) for what in ("seconds", "processor")}
        where["version"] = f"{row} {found['version']}"
        return [
            where | {"row": f"{row} default"} | outcomes[0],
            where | {"row": f"{row} tuned"} | best | spent,
        ]
    who, settings = OURS[row]
    if row in BUDGETS:
        settings = settings | {"time_budget": done[name, number, BUDGETS[row]]["processor"]}
    found = trained(who, [settings], fold, sys.executable)
    return [where | {"row": row, "version": f"directrix {found['version']}"} | found["trained"][0]]


def work(options: argparse.Namespace) -> Cells:
    """All cells, from the file where they are there; budgets need LightGBM's times, and so come last."""
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    done: Cells = {}
    for cell in map(json.loads, lines):
        done[cell["set"], cell["fold"], cell["row"]] = cell
    done = {key: cell for key, cell in done.items() if key[2] not in options.again}
    CELLS.parent.mkdir(exist_ok=True)
    CELLS.write_text("".join(json.dumps(cell) + "\n" for cell in done.values()))
    packages = [who for who in SETTINGS if options.peers and installed(options.peers, who.lower())]
    rows = [row for row in (*packages, *OURS) if not options.rows or row in options.rows]
    for later in () if options.print else (False, True):
        plan = [
            (name, fold, row)
            for fold, name in itertools.product(range(options.folds), options.sets)
            for row in rows
            if (row in BUDGETS) == later
            and (name, fold, f"{row} default" if row in SETTINGS else row) not in done
            and (row not in BUDGETS or (name, fold, BUDGETS[row]) in done)
        ]
        results = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
            delayed(cells_of)(options.data, *key, done, options.peers) for key in plan
        )
        with CELLS.open("a") as file:
            for number, cells in enumerate(results, 1):
                for cell in cells:
                    done[cell["set"], cell["fold"], cell["row"]] = cell
                    file.write(json.dumps(cell) + "\n")
                file.flush()
                last = cells[-1]
                text = f"{last['set']} {last['fold']} {last['row']} {last['seconds']:.0f} s"
                print(f"{number}/{len(plan)} {text}", file=sys.stderr)
    return done


def tested(cells: Iterable[dict[str, Any]], measure: str) -> np.ndarray:
    return np.concatenate([cell["test"][measure] for cell in cells])


def table(name: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Print the figures of one set, and whether the goals are met."""
    any_row = next(iter(rows.values()))
    print(f"\n== {name}: {len(any_row)} folds, {len(tested(any_row, 'AP'))} test queries")
    print(f"{'':18}{'vali':>8}{'nDCG@10':>9}{'+-':>7}{'AP':>8}{'+-':>7}{'seconds':>9}  of the first fold")
    for row, cells in rows.items():
        figures = [np.mean([c["vali"] for c in cells])]
        for measure in JUDGES:
            figures += mean_and_error(tested(cells, measure))
        seconds = np.mean([c["processor"] for c in cells])
        vali, ndcg, by, ap, ap_by = figures
        chosen = f"{json.dumps(cells[0]['settings'])}, {cells[0]['note']}".replace('"', "")
        print(f"{row:18}{vali:8.4f}{ndcg:9.4f}{by:7.4f}{ap:8.4f}{ap_by:7.4f}{seconds:9.1f}  {chosen}")
    tuned = [row for row in rows if row.endswith(" tuned")]
    if not tuned:
        return
    best = max(tuned, key=lambda row: float(tested(rows[row], "nDCG@10").mean()))
    for ours, theirs, below, most in (
        ("BoostedRanker", "LightGBM default", 0.0, 1.5),
        ("auto in 1x", "LightGBM default", 0.0, 1.5),
        ("auto in 8x", best, 0.5, np.inf),
        ("auto", best, 0.5, np.inf),
    ):
        if ours in rows and theirs in rows:
            ahead, error = mean_and_error(tested(rows[ours], "nDCG@10") - tested(rows[theirs], "nDCG@10"))
            spent = [sum(c["processor"] for c in rows[row]) for row in (ours, theirs)]
            ratio = spent[0] / spent[1]
            met = "met" if ahead >= -below * error else "MISSED"
            in_time = "" if most == np.inf else f" (at most {most:g}: {'met' if ratio <= most else 'MISSED'})"
            print(
                f"goal {met}: {ours} {ahead:+.4f} +- {error:.4f} of {theirs}, at least -{below:g} of +-, "
                f"in {ratio:.2f} times its seconds{in_time}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data(parser)
    parser.add_argument("--peers", help="Python of the environment with the peers")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    parser.add_argument("--folds", type=int, default=5, choices=range(1, 6))
    parser.add_argument("--rows", nargs="*", default=[], choices=(*SETTINGS, *OURS), help="default all")
    parser.add_argument("--again", nargs="*", default=[], choices=(*PEERS, *OURS), metavar="ROW")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--print", action="store_true", help="what is finished, without training")
    options = parser.parse_args()
    if absent(options.data):
        options.sets = [name for name in options.sets if name in ("cubic", "web")]
    done = work(options)
    print(versions())
    print(", ".join(sorted({cell["version"] for cell in done.values()})))
    found = {}
    for name in options.sets:
        by_row = {
            row: {fold: done[key] for fold in range(options.folds) if (key := (name, fold, row)) in done}
            for row in (*PEERS, *OURS)
        }
        by_row = {row: cells for row, cells in by_row.items() if cells}
        shared = sorted(set.intersection(*map(set, by_row.values()))) if by_row else []
        if shared:
            found[name] = {row: [cells[fold] for fold in shared] for row, cells in by_row.items()}
            table(name, found[name])
    from quality_picture import draw

    draw(found, PICTURE)
    print(f"\npicture: {PICTURE.relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
