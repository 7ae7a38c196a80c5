"""Numbers that other tools print, and the conventions that `directrix.reconcile` finds for them.

The peers live in an environment of their own, so that they are no dependency of the project:

    python -m venv peers
    peers/bin/pip install ranx scikit-learn lightgbm xgboost catboost
    python benchmarks/bench_reconcile.py --peers peers/bin/python

The ranking: 200 queries of 40 documents, labels 0 to 4, scores with one decimal (so that many tie), some
queries without relevant documents. Numbers of trec_eval are those of its own tests: results.test and
qrels.test, with -c results.trunc, with -l 2 qrels.rel_level.

"found" is what reconcile says: options of the tool that give the number by default, or the nearest tools and
the switches from them. "settings" are those that give the number, "ways" are those of them that differ in the
value of some query, "of" is the number of settings that were tried. The exit status is 1 if the tool is not
named for one of its numbers, or the option with which it printed the number is not found.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import letor
import numpy as np
from numbers_of_peers import TOOLS

import directrix as dx

TREC_EVAL = (
    # file of the expected output, run, qrels, option, our names by trec_eval's
    (
        "out.test.a",
        "results.test",
        "qrels.test",
        "",
        {
            "map": "AP",
            "gm_map": "GMAP",
            "Rprec": "Rprec",
            "bpref": "Bpref",
            "recip_rank": "RR",
            "iprec_at_recall_0.10": "IPrec@0.1",
            "P_10": "P@10",
            "recall_100": "R@100",
            "infAP": "infAP",
            "map_cut_100": "AP@100",
            "ndcg": "nDCG",
            "ndcg_cut_100": "nDCG@100",
        },
    ),
    ("out.test.aqc", "results.trunc", "qrels.test", " -c", {"map": "AP", "ndcg": "nDCG", "P_10": "P@10"}),
    ("out.test.aql", "results.test", "qrels.rel_level", " -l 2", {"map": "AP", "P_20": "P@20"}),
)

OPTIONS: dict[str, dict[str, Any]] = {
    "map -l 2": {"rel": 2},
    "P_20 -l 2": {"rel": 2},
    "ndcg_score(2**labels - 1, k=10)": {"gain": "exp", "ties": "expected"},
    "mean of average_precision_score": {"empty": "skip"},
    "mean of average_precision_score, ties": {"empty": "skip", "ties": "together"},
    "average_precision_score, no queries": {"queries": "one list"},
    "ndcg@10, label_gain=0,1,2,3,4": {"gain": "linear", "ties": "order", "empty": "one"},
    "ndcg@10, ndcg_exp_gain=False": {"gain": "linear", "ties": "order", "empty": "one"},
    "PrecisionAt:top=10": {"ties": "worst"},
}
"""Calls that are not the tool's default: what differs from it."""


def ranking(n_queries: int = 200, n_docs: int = 40, seed: int = 0) -> dict[str, Any]:
    """Labels and scores with ties; ``distinct`` are scores without."""
    rng = np.random.default_rng(seed)
    size = n_queries, n_docs
    labels = np.where(rng.random(size) < 0.3, rng.integers(1, 5, size), 0)
    labels[rng.random(n_queries) < 0.1] = 0
    distinct = rng.standard_normal(size) + 0.5 * labels
    return {
        "labels": labels.ravel().astype(float),
        "scores": distinct.round(1).ravel(),
        "distinct": distinct.ravel(),
        "qptr": np.arange(n_queries + 1) * n_docs,
        "doc_ids": np.array([f"D{i:05}" for i in rng.permutation(labels.size)]),
    }


def printed_lines(path: Path) -> dict[str, str]:
    """What trec_eval prints for all topics, by its names."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return {name: value for name, topic, value in lines if topic == "all"}


def of_trec_eval(folder: Path) -> list[tuple[list[str], dict[str, Any]]]:
    """Numbers of trec_eval's own tests, each with the arguments of `reconcile`."""
    rows = []
    for expected, run, qrels, option, names in TREC_EVAL:
        numbers = printed_lines(folder / expected)
        # results.trunc has words after the tag, which only trec_eval ignores
        fields = [line.split()[:6] for line in (folder / run).read_text().splitlines()]
        scores: dict[str, dict[str, float]] = {}
        for topic, _, doc, _, score, _ in fields:
            scores.setdefault(topic, {})[doc] = float(score)
        data = {"run": scores, "qrels": folder / qrels}
        rows += [
            (["trec_eval", theirs + option, ours, numbers[theirs]], data) for theirs, ours in names.items()
        ]
    return rows


def of_peers(pythons: list[str], only: list[str]) -> list[tuple[list[str], dict[str, Any]]]:
    """Numbers that the tools in these environments print, each with the arguments of `reconcile`."""
    data = ranking()
    script = Path(__file__).with_name("numbers_of_peers.py")
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranking.npz")
        np.savez(path, **data)
        for python in pythons:
            missing = [tool for tool in only if tool not in {row[0] for row in rows}]
            if missing:
                command = [python, script, path, *missing]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                rows += json.loads(done.stdout)
    arrays = {name: data[name] for name in ("labels", "qptr", "doc_ids")}
    return [(row[:4], {**arrays, "scores": data[row[4]]}) for row in rows]


def is_found(tool: str, call: str, found: Any) -> bool:
    """Whether the tool is named for the number, or a setting with its option."""
    if call not in OPTIONS:
        return any(same for name, _, same in found.tools if name.startswith(tool))
    return any(OPTIONS[call].items() <= dict(match.setting).items() for match in found.matches)


def words(tool: str, found: Any) -> str:
    """The tool's own settings that give the number, else what reconcile prints first."""
    for match in found.matches:
        named = [name for name in match.tools if name.startswith(tool)]
        if named:
            return ", ".join(named)
    return found.matches[0].words if found.matches else f"nothing; nearest {found.nearest.words}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--peers", help="Python of an environment with ranx and the other tools")
    parser.add_argument("--only", nargs="+", choices=["trec_eval", *TOOLS], default=["trec_eval", *TOOLS])
    options = parser.parse_args()
    folder = options.data / "trec_eval"
    rows: list[Any] = of_trec_eval(folder) if "trec_eval" in options.only and folder.is_dir() else []
    pythons = [sys.executable, *([options.peers] if options.peers else [])]
    rows += of_peers(pythons, [tool for tool in options.only if tool != "trec_eval"])
    print("| number | tool | it calls it | asked as | found | settings | ways | of |")
    print("|---|---|---|---|---|---|---|---|")
    n_found, start = 0, time.perf_counter()
    for (tool, call, measure, number), data in rows:
        found = dx.reconcile(number, measure, **data)
        n_found += is_found(tool, call, found)
        counts = f"{found.n_matches:,} | {len(found.matches)} | {found.n_settings:,}"
        print(f"| {number} | {tool} | `{call}` | {measure} | {words(tool, found)} | {counts} |")
    print(f"\nfound: {n_found} of {len(rows)} numbers, in {time.perf_counter() - start:.0f} s")
    return int(n_found < len(rows))


if __name__ == "__main__":
    sys.exit(main())
