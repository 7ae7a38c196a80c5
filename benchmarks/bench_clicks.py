"""Rankers trained on simulated clicks, by estimator of their gains, next to one trained on all labels.

    python -m benchmarks clicks, or python benchmarks/bench_clicks.py [--small] [--print] [--sets cubic ...]

Five simulations: the official folds of OHSUMED and MQ2008, which are real, and synthetic samples of two laws
(200 training queries of 25 documents). Two rankers are served, each in half of the sessions, and show ten
documents; each was trained on one half of the labeled queries, which are 1 % ("weak", at least two) or all
("strong"). Clicks follow the position-based model; on an examined document with label y of at most m their
probability is .1 + .9 (2^y - 1) / (2^m - 1). Every row but LightGBM's and "trees" is the same linear model:

- naive to doubly-robust: ApproxMeasure of DCG(gain=linear)@10 on the gains of `training_data`; "known" takes
  the propensities of the simulation, as do policy-aware and doubly-robust; "estimated" those of all-pairs,
  affine alpha and beta of "trust"; "trees" is BoostedRanker with YetiRank of the same measure;
- shown relevances: the same trees on the true probabilities of the documents that the log shows;
- all relevances: the same losses on those of all documents, which more clicks cannot beat;
- full labels: ApproxNDCG on the labels, and BoostedRanker as it comes ("trees"). LightGBM: lambdarank as it
  comes, on all labels and on sessions with ``position``. Equal sessions are one group with their number as
  weight, which gives the same gradients.

What is finished is kept in results/clicks.jsonl, so that a second run resumes.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import letor
import numpy as np
from scipy.stats import t as student

import directrix as dx
from directrix.clicks.simulation import EXAMINATION

CELLS = Path(__file__).parent / "results" / "clicks.jsonl"
SETS = ("MQ2008", "OHSUMED", "linear", "cubic")
GOAL = dx.measure("DCG(gain=linear)@10")
CLICKS = {  # row: estimator, and method of propensities, None for those of the simulation
    "naive": ("naive", None),
    "ips, known": ("ips", None),
    "ips, estimated": ("ips", "all-pairs"),
    "policy-aware": ("policy-aware", None),
    "affine, estimated": ("affine", "trust"),
    "doubly-robust": ("doubly-robust", None),
    "ips, known, trees": ("ips", None),
}
LIGHTGBM, SHOWN = "LightGBM position", "shown relevances, trees"
TOPS = (
    *("all relevances", "all relevances, trees"),
    *("full labels", "full labels, trees", "LightGBM, full labels"),
)
OF_LOGS = (*CLICKS, SHOWN, LIGHTGBM)


class Setup(NamedTuple):
    """What the cells of one set and simulation share."""

    train: dx.Queries
    test: dx.Queries
    attraction: np.ndarray
    """Probability of a click by label."""

    @property
    def relevance(self) -> np.ndarray:
        """Probability of a click on each training document."""
        return self.attraction[self.train.labels.astype(int)]


@functools.cache
def setup(data: Path, name: str, number: int) -> Setup:
    """Training and test queries of one simulation."""
    if name in ("MQ2008", "OHSUMED"):
        train, _, test = letor.read_folds(data, name)[number]
    else:
        make = {"cubic": dx.data.make_cubic, "linear": lambda **k: dx.data.make_linear(n_labels=5, **k)[0]}[
            name
        ]
        q = make(n_queries=400, docs_per_query=25, n_features=20, seed=number)
        train, test = q.take(range(200)), q.take(range(200, 400))
    top = int(max(train.labels.max(), test.labels.max()))
    return Setup(train, test, 0.1 + 0.9 * (2.0 ** np.arange(top + 1) - 1.0) / (2.0**top - 1.0))


def served(s: Setup, logger: str, seed: int) -> dict[str, dx.LinearRanker]:
    """Return the two rankers that are served."""
    relevant = np.add.reduceat(s.train.labels, s.train.qptr[:-1]) > 0
    labeled = np.random.default_rng(seed).permutation(np.flatnonzero(relevant))
    if logger == "weak":
        labeled = labeled[: max(2, s.train.n_queries // 100)]
    halves = {"a": labeled[::2], "b": labeled[1::2]}
    return {
        who: dx.LinearRanker(l2=1e-3).fit_queries(s.train.take(np.sort(of))) for who, of in halves.items()
    }


def linear(q: dx.Queries) -> dx.LinearRanker:
    """Return the linear model of gains."""
    return dx.LinearRanker(dx.ApproxMeasure(GOAL, alpha=3.0), l2=1e-3, max_iter=100).fit_queries(q)


def trees(q: dx.Queries) -> dx.BoostedRanker:
    """Return the trees of gains."""
    return dx.BoostedRanker(dx.YetiRank(GOAL)).fit_queries(q)


def ndcg(scores: np.ndarray, q: dx.Queries) -> float:
    """Mean nDCG@10 on labels."""
    return float(np.mean(dx.NDCG(k=10)(scores, q.labels, q.qptr)))


def boosted(q: dx.Queries, group: np.ndarray, rows: Any, labels: Any, **how: Any) -> Any:
    """Return LightGBM's lambdarank on rows of these queries."""
    import lightgbm

    data = lightgbm.Dataset(q.features[rows], labels, group=group, **how, params={"verbose": -1})
    return lightgbm.train({"objective": "lambdarank", "num_threads": 1, "verbose": -1}, data, 100)


def by_position(s: Setup, log: dx.clicks.Log) -> Any:
    """Return LightGBM's ranker of a log, with positions."""
    rows, places = log.sessions, np.arange(log.n_positions)
    sizes = np.diff(rows.ptr)
    docs = np.full((len(sizes), log.n_positions), -1)
    docs[places < sizes[:, None]] = rows.pair * 2 + rows.click
    known, n = np.unique(docs, axis=0, return_counts=True)
    shown = known >= 0
    with_click = (known * shown % 2).any(axis=1)  # the others have no pair to learn from
    known, n, shown = known[with_click], n[with_click], shown[with_click]
    group, flat = shown.sum(axis=1), known[shown]
    position = np.broadcast_to(places, shown.shape)[shown]
    return boosted(s.train, group, flat // 2, flat % 2, weight=np.repeat(n, group), position=position)


def of_clicks(s: Setup, log: dx.clicks.Log, row: str, theta: np.ndarray) -> float:
    """Train on a log by one row, and measure on the test labels."""
    if row == LIGHTGBM:
        return ndcg(by_position(s, log).predict(s.test.features), s.test)
    estimator, method = CLICKS.get(row, ("ips", None))
    given: Any = theta
    try:
        if method is not None:
            given = dx.clicks.propensities(log, method, n_resamples=20)
        gains = dx.clicks.training_data(log, s.train, estimator, propensities=given)
    except dx.InputError:
        return np.nan  # the log does not tell
    if row == SHOWN:
        whole = dx.clicks.training_data(log, s.train, "doubly-robust", propensities=theta, model=s.relevance)
        gains = replace(gains, labels=s.relevance[whole.counts > 0.0])
    ranker = trees(gains) if "trees" in row else linear(gains)
    return ndcg(ranker.predict_queries(s.test), s.test)


def of_labels(s: Setup, row: str) -> float:
    """Train on labels by one row, and measure on the test labels."""
    if row == "LightGBM, full labels":
        ranker = boosted(s.train, np.diff(s.train.qptr), slice(None), s.train.labels)
        return ndcg(ranker.predict(s.test.features), s.test)
    if row == "full labels":
        ranker = dx.LinearRanker(l2=1e-3).fit_queries(s.train)
    elif row == "full labels, trees":
        ranker = dx.BoostedRanker().fit_queries(s.train)
    else:
        q = replace(s.train, labels=s.relevance, counts=np.ones(s.train.n_docs))
        ranker = trees(q) if "trees" in row else linear(q)
    return ndcg(ranker.predict_queries(s.test), s.test)


def work(options: argparse.Namespace, done: dict[tuple[Any, ...], float]) -> None:
    """Train all cells that are not there, and keep each as it ends."""
    warnings.simplefilter("ignore")

    def keep(key: tuple[Any, ...], train: Callable[[], float]) -> None:
        if key in done:
            return
        begun = time.process_time()
        done[key] = train()
        with CELLS.open("a") as file:
            file.write(json.dumps([*key, done[key]]) + "\n")
        print(*key, f"{done[key]:.4f} {time.process_time() - begun:.1f} s", file=sys.stderr, flush=True)

    CELLS.parent.mkdir(exist_ok=True)
    plan = itertools.product(
        options.sessions, options.etas, options.sets, range(options.runs), options.loggers
    )
    for n, eta, name, number, logger in plan:
        s, where = setup(options.data, name, number), (name, number)
        for row in TOPS:
            keep((*where, "", 0, 0, row), lambda s=s, row=row: of_labels(s, row))
        keys = {row: (*where, logger, eta, n, row) for row in options.rows}
        if all(key in done for key in keys.values()):
            continue
        rankers = served(s, logger, number)
        both = [ndcg(one.predict_queries(s.test), s.test) for one in rankers.values()]
        keep((*where, logger, 0, 0, "served"), lambda both=both: float(np.mean(both)))
        log = dx.clicks.simulate(
            s.train, rankers, n_sessions=n, seed=number, eta=eta, attraction=s.attraction
        )
        theta = (np.array(EXAMINATION) / EXAMINATION[0]) ** eta
        for row, key in keys.items():
            keep(key, lambda s=s, log=log, row=row, theta=theta: of_clicks(s, log, row, theta))


def text(cells: list[float], tops: list[float]) -> str:
    """Mean, and half of the 95 % interval of the difference from full labels; or what is missing."""
    if not cells or np.isnan(cells).any():
        return "-"
    gap = np.subtract(cells, tops)
    half = student.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / len(gap) ** 0.5 if len(gap) > 1 else np.nan
    return f"{np.mean(cells):.3f} +-{half:.3f}".replace("0.", ".")


def show(options: argparse.Namespace, done: dict[tuple[Any, ...], float]) -> None:
    """Print a table for each logging ranker, eta and number of sessions that has cells."""
    runs = range(options.runs)
    print(f"test nDCG@10, mean of {options.runs} simulations +- half of the 95 % interval of the difference")
    print(
        "from full labels (Student's t, paired by simulation); -: the log does not tell, in some simulation"
    )

    def of(*key: Any) -> list[float]:
        name, *rest = key
        return [done[name, i, *rest] for i in runs if (name, i, *rest) in done]

    for logger, eta, n in itertools.product(options.loggers, options.etas, options.sessions):
        finished = (of(name, logger, eta, n, row) for name in options.sets for row in OF_LOGS)
        if not any(len(cells) == len(runs) for cells in finished):
            continue
        print(f"\n{logger} rankers served, eta {eta:g}, {n:,} sessions")
        print(f"{'':24}" + "".join(f"{name:>14}" for name in options.sets))
        for row in ("served", *OF_LOGS, *TOPS):
            where = {"served": (logger, 0, 0)}.get(row, ("", 0, 0) if row in TOPS else (logger, eta, n))
            cells = ((of(name, *where, row), of(name, "", 0, 0, "full labels")) for name in options.sets)
            whole = (text(*pair) if len(pair[0]) == len(runs) else "" for pair in cells)
            print(f"{row:24}" + "".join(f"{cell:>14}" for cell in whole))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--small", action="store_true", help="one law, 10,000 sessions, two simulations")
    parser.add_argument("--print", action="store_true", help="only what is finished")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--rows", nargs="+", default=list(OF_LOGS), choices=OF_LOGS, metavar="ROW")
    parser.add_argument("--loggers", nargs="+", default=["weak", "strong"], choices=["weak", "strong"])
    parser.add_argument("--sessions", type=int, nargs="+", default=[1_000_000, 100_000, 10_000, 1_000])
    parser.add_argument("--etas", type=float, nargs="+", default=[1.0, 0.0, 2.0, 0.5])
    parser.add_argument("--runs", type=int, default=5, help="simulations, at most 5 of real data")
    options = parser.parse_args()
    if options.small:
        options.sets, options.sessions, options.etas, options.runs = ["cubic"], [10_000], [1.0], 2
    elif letor.absent(options.data):
        options.sets = [name for name in options.sets if name in ("linear", "cubic")]
    done = {}
    for *key, value in map(json.loads, CELLS.read_text().splitlines() if CELLS.exists() else []):
        done[tuple(key)] = value
    if not options.print:
        work(options, done)
    show(options, done)


if __name__ == "__main__":
    main()
