"""Test nDCG@10 against seconds of training: which rankers `bench_peers` compares, on what, and its tables."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_letor import read_folds
from full_pass import installed, run_apart
from training_curves import PARTS, Job, save_job

import directrix as dx

HERE = Path(__file__).parent
MEASURE = dx.measure("nDCG@10")
TIMES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
TREE_PACKAGES = ("LightGBM", "XGBoost", "CatBoost")
SHORT_SECONDS = 10.0
"""A setting whose trainings take no longer together is timed three times."""
SEED = 82451
"""Of the artificial data: settings were chosen on those of seed 1, whose test queries have been seen."""
PICTURE = HERE / "results" / "peers.png"


@dataclass(frozen=True)
class Method:
    """A ranker: settings as it comes, and others of which validation queries choose."""

    name: str
    who: str
    default: dict[str, Any]
    others: tuple[dict[str, Any], ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.who.endswith("Ranker")


_BAGS = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.8}
_ROWS = {"subsample": 0.8, "colsample_bytree": 0.8}
_SHARES = {"subsample": 0.8, "feature_fraction": 0.8}


def _cat(loss: str, *others: dict[str, Any]) -> Method:
    default = {"loss_function": loss}
    return Method(f"CatBoost {loss}", "CatBoost", default, tuple(default | other for other in others))


METHODS = (
    Method(
        "LightGBM lambdarank",
        "LightGBM",
        {},
        tuple({"num_leaves": n, "learning_rate": r} | _BAGS for n, r in ((7, 0.1), (31, 0.2), (63, 0.1))),
    ),
    Method(
        "XGBoost rank:ndcg",
        "XGBoost",
        {},
        tuple({"max_depth": d, "eta": r} | _ROWS for d, r in ((3, 0.1), (6, 0.3), (8, 0.2))),
    ),
    _cat(
        "YetiRank",
        {"loss_function": "YetiRank:mode=NDCG;top=10", "learning_rate": 0.1},
        {"learning_rate": 0.2},
    ),
    _cat("QuerySoftMax", {"learning_rate": 0.1}),
    Method(
        "BoostedRanker",
        "BoostedRanker",
        {},
        (
            {"surrogate": "ListNet"},
            {"surrogate": "RankNet", "num_leaves": 31, "learning_rate": 0.2} | _SHARES,
            {"surrogate": "ApproxNDCG", "num_leaves": 7} | _SHARES,
        ),
    ),
    Method(
        "LinearRanker",
        "LinearRanker",
        {},
        (
            {"surrogate": "SmoothNDCG", "l2": 1e-4},
            {"surrogate": "ApproxNDCG(alpha=3.0)", "l2": 1e-3},
            {"surrogate": "Lambda", "trainer": "adam"},
        ),
    ),
    Method(
        "MLPRanker",
        "MLPRanker",
        {},
        (
            {"surrogate": "ListNet", "hidden": [64], "max_iter": 300},
            {"surrogate": "RankNet", "hidden": [64], "activation": "tanh", "max_iter": 300},
            {"surrogate": "ApproxNDCG", "hidden": [16], "activation": "tanh", "l2": 1e-2},
        ),
    ),
    Method("AutoRanker", "AutoRanker", {"time_budget": 10.0}),
)


class Fold(NamedTuple):
    """Of one training: stages, seconds until each, and the measure of every query there.

    Arrays of values are (stages, queries).
    """

    stages: np.ndarray
    seconds: np.ndarray
    vali: np.ndarray
    test: np.ndarray

    def chosen(self, seconds: float = np.inf) -> int | None:
        """Stage that is best on the validation queries, of those reached by then."""
        reached = int((self.seconds <= seconds).sum())
        return int(np.argmax(self.vali[:reached].mean(axis=1))) if reached else None


class Curve(NamedTuple):
    """One setting of one method on all folds of a collection."""

    method: Method
    tuned: bool
    settings: dict[str, Any]
    folds: list[Fold]
    version: str

    @property
    def label(self) -> str:
        return f"{self.method.name}{', tuned' if self.tuned else ''}"

    @property
    def vali(self) -> float:
        return float(np.mean([fold.vali.mean(axis=1).max() for fold in self.folds]))

    def within(self, seconds: float) -> float:
        """Test value of the stage that validation queries choose by then; NaN if a fold has none."""
        at = [fold.chosen(seconds) for fold in self.folds]
        if any(stage is None for stage in at):
            return np.nan
        return float(np.mean([fold.test[stage].mean() for fold, stage in zip(self.folds, at, strict=True)]))

    @property
    def error(self) -> float:
        """Standard error of the mean over all test queries, where training ends."""
        values = np.concatenate([fold.test[fold.chosen()] for fold in self.folds])
        return float(values.std(ddof=1) / np.sqrt(len(values)))

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Seconds, at most as many as a fold has stages, and what is reached within them."""
        shortest = min(len(fold.seconds) for fold in self.folds)
        times = np.max([fold.seconds[:shortest] for fold in self.folds], axis=0)
        times[-1] = max(fold.seconds[-1] for fold in self.folds)
        return times, np.array([self.within(t) for t in times])

    def seconds_to(self, level: float) -> float:
        times, values = self.points()
        return float(times[np.argmax(values >= level)]) if (values >= level).any() else np.nan


def save_parts(path: Path, parts: Any) -> str:
    arrays = {}
    for part, q in zip(PARTS, parts, strict=True):
        arrays |= {f"{part}_X": q.features.astype(np.float32), f"{part}_y": q.labels, f"{part}_qptr": q.qptr}
    np.savez(path, **arrays)
    return str(path)


def cubic() -> list[dx.Queries]:
    """500, 200 and 500 queries of 50 documents x 20 features; 5 % of the labels are noise."""
    whole, found, first = (
        dx.data.make_cubic(1200, 50, 20, n_monomials=200, label_noise=0.05, seed=SEED),
        [],
        0,
    )
    for n in (500, 200, 500):
        rows = slice(50 * first, 50 * (first + n))
        found.append(dx.Queries.from_arrays(whole.features[rows], whole.labels[rows], group=np.full(n, 50)))
        first += n
    return found


def trained(job: Job, python: str, folder: Path) -> tuple[list[Fold], str]:
    """Do a job in a process of its own, and measure the scores it stored."""
    save_job(job, folder / "job.json")
    version = run_apart(python, str(HERE / "training_curves.py"), str(folder / "job.json"))["version"]
    folds, kept = [], np.load(job.out)
    for number, path in enumerate(job.data):
        arrays = np.load(path)
        values = [
            np.array([MEASURE(s, arrays[f"{p}_y"], arrays[f"{p}_qptr"]) for s in kept[f"{number} {p}"]])
            for p in ("vali", "test")
        ]
        folds.append(Fold(kept[f"{number} stages"], kept[f"{number} seconds"], *values))
    return folds, version


def curves_of(method: Method, base: Job, python: str, folder: Path) -> list[Curve]:
    """The default, and the setting that is best on validation queries if that is another one."""

    def curve(settings: dict[str, Any], *, tuned: bool, repeats: int = 1) -> Curve:
        module = "our_rankers" if method.is_ours else "tree_peers"
        job = replace(base, module=module, who=method.who, settings=settings, repeats=repeats)
        return Curve(method, tuned, settings, *trained(job, python, folder))

    def timed(once: Curve) -> Curve:
        if sum(fold.seconds[-1] for fold in once.folds) > SHORT_SECONDS:
            return once
        return curve(once.settings, tuned=once.tuned, repeats=3)

    default = curve(method.default, tuned=False)
    found = [default, *(curve(settings, tuned=True) for settings in method.others)]
    best = max(found, key=lambda one: one.vali)
    return [timed(default)] if best is default else [timed(default), timed(best)]


def report(data: Path, peers: str | None, threads: int) -> None:
    """Print the tables of every collection, and draw them."""
    collections = {}
    missing = {who for who in TREE_PACKAGES if peers and not installed(peers, who.lower())}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scores = str(folder / "scores.npz")
        if (data / "letor" / "MQ2008").is_dir():
            folds = read_folds(data, "MQ2008")
            files = [save_parts(folder / f"MQ2008-{i}.npz", fold) for i, fold in enumerate(folds)]
            collections[f"MQ2008, mean of {len(folds)} folds"] = files, 300
        else:
            print(f"not measured: MQ2008, as there is no letor/MQ2008 in {data}; give --data")
        collections["artificial cubic polynomial"] = [save_parts(folder / "cubic.npz", cubic())], 600
        found = {}
        for title, (files, n_trees) in collections.items():
            curves: list[Curve] = []
            for method in METHODS:
                python = sys.executable if method.is_ours else peers
                if python and method.who not in missing:
                    curves += curves_of(
                        method, Job("", "", {}, files, scores, threads, n_trees), python, folder
                    )
            found[title] = curves
            show(title, curves, files, threads)
    from curves_picture import draw

    draw({title: best_of_each(curves) for title, curves in found.items()}, PICTURE)
    print(f"\npicture: {PICTURE.relative_to(HERE.parent)}")


def best_of_each(
    curves: list[Curve], group: Callable[[Curve], str] = lambda curve: curve.method.name
) -> list[Curve]:
    """Of every method (or other group) the curve that is best on validation queries."""
    best: dict[str, Curve] = {}
    for curve in curves:
        best[group(curve)] = max(best.get(group(curve), curve), curve, key=lambda one: one.vali)
    return list(best.values())


def show(title: str, curves: list[Curve], files: list[str], threads: int) -> None:
    """Print what one collection gave."""
    arrays = np.load(files[0])
    sizes = ", ".join(f"{p} {len(arrays[f'{p}_qptr']) - 1} queries, {len(arrays[f'{p}_y']):,}" for p in PARTS)
    versions = sorted({f"{c.method.who} {c.version}" for c in curves if not c.method.is_ours})
    print(f"\n== {title}: {sizes} documents{' in the first' if len(files) > 1 else ''}")
    print(f"{MEASURE!r}, {threads} threads; {', '.join(versions)}")
    heads = f"{'stage':>6}{'seconds':>9}{'vali':>8}{'test':>8}{'+-':>8}  settings"
    print(f"\n{'chosen on validation queries':36}{heads}")
    for c in curves:
        at = [fold.chosen() for fold in c.folds]
        rows = list(zip(c.folds, at, strict=True))
        stage, seconds = (np.mean([getattr(f, k)[s] for f, s in rows]) for k in ("stages", "seconds"))
        text = json.dumps(c.settings).replace('"', "")[1:-1] or "as it comes"
        values = f"{c.vali:8.4f}{c.within(np.inf):8.4f}{c.error:8.4f}"
        print(f"{c.label:36}{stage:6.0f}{seconds:9.3f}{values}  {text}")
    print("+-: standard error of the mean over all test queries; all rankers have the same queries")
    print(f"\n{'test nDCG@10 within seconds':36}" + "".join(f"{t:8g}" for t in TIMES))
    for c in curves:
        reached = [c.within(t) for t in TIMES]
        print(f"{c.label:36}" + "".join(f"{'-':>8}" if np.isnan(v) else f"{v:8.4f}" for v in reached))
    goals = best_of_each([c for c in curves if not c.method.is_ours], lambda c: c.method.who)
    if not goals:
        return
    print(f"\n{'seconds until test nDCG@10 is':36}" + "".join(f"{c.within(np.inf):11.4f}" for c in goals))
    print(f"{'which is where this ends':36}" + "".join(f"{c.method.who:>11}" for c in goals))
    for c in curves:
        needed = [c.seconds_to(goal.within(np.inf)) for goal in goals]
        print(f"{c.label:36}" + "".join(f"{'never':>11}" if np.isnan(s) else f"{s:11.3f}" for s in needed))
