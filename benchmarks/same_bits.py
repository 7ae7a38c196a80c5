"""Whether a change of the code moved a number: digests of values, gradients, trained models and results.

    python benchmarks/same_bits.py record FILE [--only NAME ...]    digests of the code that is imported
    python benchmarks/same_bits.py compare BEFORE AFTER             what differs, with the largest difference

Only public names are used, so that one script runs with the code before and after a change; PYTHONPATH
chooses the code. Numbers are compared, not words."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import directrix as dx

DATA = Path(os.environ.get("DIRECTRIX_DATA", Path(__file__).parents[2] / "shared" / "data"))
FOLDS = {name: DATA / "letor" / name / "Fold1" for name in ("OHSUMED", "MQ2008")}
MEASURES = (
    *("nDCG", "nDCG@1", "nDCG@10", "nDCG(gain='linear')@5", "nDCG(discount='letor3')@10"),
    *("nDCG(empty='one')@10", "DCG@10", "DCG", "AP", "AP(rel=2)", "AP(denominator='capped')@10"),
    *("AP@5", "RR", "RR@10", "P@5", "P(rel=2)@10", "P(denominator='retrieved')@50", "R@10", "R"),
    *("Success@5", "Success", "RPrecision", "IPrec@0.2", "ERR", "ERR@20", "RBP", "RBP(p=0.5)"),
    *("ROCArea", "tau"),
)
SURROGATES = (
    *(f"ApproxNDCG(alpha={a}, k={k})" for a in (1.0, 10.0, 300.0) for k in (None, 5)),
    *(f"ApproxNDCG(alpha=5.0, sigmoid='{sigmoid}')" for sigmoid in ("tanh", "arctan", "erf")),
    *(
        f"ApproxAP(alpha={a}, beta={b}, rel={rel})"
        for a in (2.0, 50.0)
        for b in (1.0, 20.0)
        for rel in (1, 2)
    ),
    *(
        "ApproxPrecision(k=5)",
        "ApproxPrecision(k=3, rel=2)",
        "ApproxRR()",
        "ApproxERR()",
        "ApproxERR(l_max=5)",
    ),
    *("ApproxKendall()", "SmoothNDCG(sigma=0.1)", "SmoothNDCG(sigma=2.0, k=5)", "SmoothAP(sigma=0.5)"),
    *("SmoothAP(sigma=0.5, variant='direct', rel=2)", "SoftNDCG(sigma=0.2)", "SoftNDCG(sigma=1.0, k=5)"),
    *(
        f"Lambda({m!r}, construction={c!r})"
        for m in ("nDCG", "nDCG@5", "nDCG(gain='linear')@10", "AP", "AP@10", "RR", "P@5", "ERR", "ERR@10")
        for c in ("ranknet-weight-pairs", "spring-smooth", "local-gradient", "local-cost", "discrete-bounded")
    ),
    *("RankNet()", "RankSVM()", "ListNet()", "ListNet(target='gains', temperature=0.3)", "ListMLE()"),
    *("RankCosine()", "RankCosine(centered=True)", "Regression()", "SVMMap()", "SVMMap(rel=2)", "SVMRoc()"),
    *("SVMNdcg()", "Dorm()", "Dorm(k=5)", "Dorm(ties='mean')", "PermuRank()"),
)
TRAINERS = ("lbfgs", "cg", "sgd", "adam", "coordinate-ascent", "adarank", "svm-acc")
PAPERS = ("qin2010", "chapelle2010", "yue2007", "donmez2009", "he2010")
NO_RESULT = ("seconds", "version", "time", "threads", "date", "started", "machine")
"""Parts of keys whose numbers change from run to run."""

Numbers = dict[str, np.ndarray]


def random_queries(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, a third of them tied, labels 0 to 4 and pointers of 60 queries of 0 to 150 documents."""
    rng = np.random.default_rng(seed)
    qptr = np.append(0, np.cumsum(np.append(rng.integers(1, 150, size=58), [0, 1]))).astype(np.int64)
    scores = rng.standard_normal(qptr[-1])
    tied = rng.random(qptr[-1]) < 1 / 3
    labels = rng.choice(5.0 * np.arange(5) / 5, size=qptr[-1], p=[0.6, 0.2, 0.1, 0.06, 0.04])
    return np.where(tied, scores.round(1), scores), labels, qptr


def lists() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Name, scores, labels and pointers: random ones, and both collections under random linear models."""
    for seed in range(3):
        yield f"random {seed}", *random_queries(seed)
    for name, fold in FOLDS.items():
        q = dx.read_letor(fold / "train.txt")
        w = np.random.default_rng(1).standard_normal(q.n_features)
        yield name, q.features @ w, q.labels, q.qptr


def measures() -> Iterator[tuple[str, Any]]:
    for data, scores, labels, qptr in lists():
        ids = [f"d{i:06d}" for i in np.random.default_rng(2).permutation(len(scores))]
        for text in MEASURES:
            m = dx.measure(text)
            yield f"{data} {text}", m(scores, labels, qptr)
            for convention in dx.measures.conventions():
                under = m.under(convention)
                yield f"{data} {text} under {convention}", under(scores, labels, qptr, doc_ids=ids)
            if hasattr(m, "ties"):
                worst = dx.measure(f"{type(m).__name__}(ties='worst')")
                yield f"{data} {text} worst", worst(scores, labels, qptr)


def surrogates() -> Iterator[tuple[str, Any]]:
    for data, scores, labels, qptr in lists():
        for text in SURROGATES:
            for dtype in (np.float32, np.float64):
                pair = dx.surrogate(text).value_and_grad(scores.astype(dtype), labels, qptr)
                yield f"{data} {text} {dtype.__name__}", pair


def objectives() -> Iterator[tuple[str, Any]]:
    import scipy.sparse as sp

    for name, fold in FOLDS.items():
        q = dx.read_letor(fold / "train.txt")
        rng = np.random.default_rng(3)
        w, weight = rng.standard_normal(q.n_features), rng.random(q.n_queries)
        sparse = dx.Queries.from_arrays(sp.csr_array(q.features), q.labels, group=np.diff(q.qptr))
        for text in SURROGATES:
            yield f"{name} {text}", dx.linear_objective(q, text, l2=0.01).value_and_grad(w)
        for text in ("ApproxNDCG", "ApproxAP", "SmoothNDCG", "Lambda('nDCG@10')", "ListNet", "SVMMap"):
            weighted = dx.linear_objective(q, text, query_weight=weight)
            yield f"{name} {text} weighted", weighted.value_and_grad(w)
            yield f"{name} {text} batch", weighted.value_and_grad(w, np.array([5, 1, 7, 30]))
            yield f"{name} {text} sparse", dx.linear_objective(sparse, text).value_and_grad(w)


def trainers() -> Iterator[tuple[str, Any]]:
    for name, fold in FOLDS.items():
        train, valid, test = (dx.read_letor(fold / f"{part}.txt") for part in ("train", "vali", "test"))
        for trainer in TRAINERS:
            ranker = dx.LinearRanker(trainer=trainer, max_iter=5, random_state=0)
            ranker.fit_queries(train, valid, measure="nDCG@10")
            yield f"{name} linear {trainer}", (ranker.coef_, ranker.predict_queries(test))
        for text in ("SVMMap", "SVMNdcg", "Dorm"):
            ranker = dx.LinearRanker(text, l2=0.01, trainer="cutting-plane", max_iter=10).fit_queries(train)
            yield f"{name} {text} cutting-plane", ranker.coef_
        for kind in (dx.MLPRanker, dx.StumpRanker, dx.BoostedRanker):
            ranker = kind(max_iter=10) if kind is not dx.BoostedRanker else kind()
            ranker.set_params(random_state=0)
            yield f"{name} {kind.__name__}", ranker.fit_queries(train, valid).predict_queries(test)
        annealed = dx.LinearRanker("SmoothNDCG", trainer=dx.Anneal(dx.CG(max_iter=5)))
        yield f"{name} annealed", annealed.fit_queries(train, valid).coef_
        restarted = dx.LinearRanker(trainer=dx.Restarts(dx.LBFGS(max_iter=5), n=3), random_state=0)
        yield f"{name} restarts", restarted.fit_queries(train, valid).coef_


def methods() -> Iterator[tuple[str, Any]]:
    """Every method by `directrix train` with its own grid; what the saved model predicts."""
    for name, fold in FOLDS.items():
        test = dx.read_letor(fold / "test.txt")
        for method in method_names():
            if name == "MQ2008" and method not in (
                "ApproxNDCG",
                "LambdaRank",
                "SVMMap",
                "BoostedNDCG",
                "MLP",
            ):
                continue
            with tempfile.TemporaryDirectory() as folder:
                model = Path(folder) / "model.json"
                files = (fold / "train.txt", "--valid", fold / "vali.txt", "-o", model)
                command("train", *files, "--method", method, "--measure", "nDCG@10")
                yield f"{name} {method}", dx.load(model).predict_queries(test)


def method_names() -> list[str]:
    """Return the names of all methods."""
    return [getattr(method, "name", method) for method in dx.methods()]


def command(name: str, *arguments: object) -> str:
    """Return the standard output of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "directrix", name, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"directrix {name} {arguments}: {done.stderr}")
    return done.stdout


def commands() -> Iterator[tuple[str, Any]]:
    """The numbers in the JSON of the commands."""
    with tempfile.TemporaryDirectory() as folder:
        for name, fold in FOLDS.items():
            files = {part: fold / f"{part}.txt" for part in ("train", "vali", "test")}
            models = []
            for method in ("Regression", "ApproxNDCG", "RankSVM"):
                models.append(Path(folder) / f"{name}-{method}.json")
                command("train", files["train"], "--method", method, "-o", models[-1])
            options = ("-m", "nDCG@10", "-m", "AP", "--format", "json")
            yield (
                f"{name} evaluate",
                numbers(command("evaluate", files["test"], *models, *options, "--per-query")),
            )
            all_tools = ("--convention", "all")
            yield (
                f"{name} conventions",
                numbers(command("evaluate", files["test"], *models, *options, *all_tools)),
            )
            for test in ("paired-t", "wilcoxon", "sign", "randomization", "tukey", "randomized-tukey"):
                output = command("compare", files["test"], *models, "--test", test, "--format", "json")
                yield f"{name} compare {test}", numbers(output)
            output = command(
                "lab", "certify", models[1], files["train"], "-m", "AP", "--exact", "--format", "json"
            )
            yield f"{name} certify", numbers(output)
            yield f"{name} tendency", numbers(command("lab", "tendency", files["test"], "--format", "json"))
            cells = Path(folder) / f"{name}-cells"
            output = command(
                *(
                    "lab",
                    "crossval",
                    files["train"],
                    "--folds",
                    3,
                    "--jobs",
                    1,
                    "-o",
                    cells,
                    "--format",
                    "json",
                ),
                *("--method", "Regression", "--method", "ListNet"),
            )
            yield f"{name} crossval", numbers(output)


def papers() -> Iterator[tuple[str, Any]]:
    """The numbers of every table that the quick reproductions write as CSV."""
    for paper in PAPERS:
        with tempfile.TemporaryDirectory() as folder:
            command("lab", "reproduce", paper, "--data", DATA, "--quick", "-o", folder)
            for file in sorted(Path(folder).rglob("*.csv")):
                words = file.read_text(encoding="utf-8").replace("\n", ",").split(",")
                rows = [value for word in words if (value := number(word)) is not None]
                yield f"{paper} {file.name}", np.array(rows)


def number(word: str) -> float | None:
    """Return a cell as a number; None if it is a word."""
    try:
        return float(word)
    except ValueError:
        return None


def numbers(text: str) -> np.ndarray:
    """All numbers of a JSON text in their order, but for times and versions."""

    def leaves(value: Any, key: str = "") -> Iterator[float]:
        if any(part in key for part in NO_RESULT):
            return
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from leaves(inner, str(name))
        elif isinstance(value, list):
            for inner in value:
                yield from leaves(inner)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield float(value)

    return np.array(list(leaves(json.loads(text))))


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    group.__name__: group for group in (measures, surrogates, objectives, trainers, methods, commands, papers)
}


def record(file: Path, only: list[str]) -> None:
    """Compute the groups and keep every number."""
    kept: Numbers = {}
    for group in only or GROUPS:
        for name, value in GROUPS[group]():
            parts = value if isinstance(value, tuple) else (value,)
            for i, part in enumerate(parts):
                kept[f"{group}: {name} [{i}]"] = np.asarray(part)
        print(f"{group}: {sum(key.startswith(group) for key in kept)} arrays", file=sys.stderr)
    np.savez_compressed(file, **kept)


def compare(before: Path, after: Path) -> int:
    """Print, for each group, how many arrays have the same bits, and every array that has not."""
    old, new = np.load(before), np.load(after)
    moved = 0
    for group in GROUPS:
        names = [name for name in old.files if name.startswith(f"{group}:")]
        if not names or not any(name.startswith(f"{group}:") for name in new.files):
            continue
        different = [name for name in names if name not in new.files or difference(old[name], new[name])]
        extra = [name for name in new.files if name.startswith(f"{group}:") and name not in old.files]
        print(f"{group}: {len(names) - len(different)} of {len(names)} arrays have the same bits")
        for name in different:
            print(f"  {name}: {difference(old[name], new[name]) if name in new.files else 'gone'}")
        for name in extra:
            print(f"  {name}: new")
        moved += len(different)
    return moved


def difference(a: np.ndarray, b: np.ndarray) -> str:
    """How two arrays differ, in words; empty if they have the same bits."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {a.shape} and {b.dtype} {b.shape}"
    if a.tobytes() == b.tobytes():
        return ""
    return f"{(a != b).sum()} of {a.size} numbers, by at most {np.nanmax(np.abs(a - b)):.3g}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--only", nargs="+", choices=GROUPS, default=[])
    comparing = actions.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.action == "record":
        record(options.file, options.only)
        return 0
    return int(compare(options.before, options.after) > 0)


if __name__ == "__main__":
    sys.exit(main())
