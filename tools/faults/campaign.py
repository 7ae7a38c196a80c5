"""Commands that write, with a signal or a full disk at a random moment, and what must hold afterwards."""

import gzip
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.data.trec.runs import run_text

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
OLD = b"what was there before\n"
_LINEAR = ("--method", "ApproxNDCG", "--set", "l2=1e-3", "--set", "alpha=3.0")
_TEXTS = ("../documents.index", "../queries.jsonl")
_CELLS = ("lab", "crossval", "../train.txt", "--method", "Regression,ListNet", "--folds", "3", "-o", "run")

COMMANDS = {
    "train": (("train", "../train.txt", *_LINEAR, "--folds", "2", "-o", "m.json"), ["m.json"]),
    "train --report": (
        ("train", "../train.txt", *_LINEAR, "--folds", "2", "-o", "m.json", "--report", "r.html"),
        ["m.json", "r.html"],
    ),
    "predict": (("predict", "../model.json", "../train.txt", "-o", "s.txt.gz"), ["s.txt.gz"]),
    "convert": (("convert", "../train.txt", "t.txt"), ["t.txt"]),
    "convert to Parquet": (("convert", "../train.txt", "t.parquet"), ["t.parquet"]),
    "cluster shard": (("cluster", "shard", "../train.txt", "shards", "--shards", "3"), []),
    "runs features": (
        ("runs", "features", "../run.txt", "--qrels", "../qrels", "-o", "f.txt"),
        ["f.txt", "f.txt.thresholds.json"],
    ),
    "lab certify": (
        ("lab", "certify", "../model.json", "../train.txt", "--polish", "--eps", "0.1", "-o", "p.json"),
        ["p.json"],
    ),
    "compare": (
        ("compare", "../train.txt", "../model.json", "../scores.txt", "--report", "c.html"),
        ["c.html"],
    ),
    "lab crossval": ((*_CELLS, "--jobs", "1", "--report", "v.html"), ["v.html"]),
    "lab crossval --jobs 2": ((*_CELLS, "--jobs", "2"), []),
    "export": (("export", "../model.json", "m.sql", "--to", "sql"), ["m.sql"]),
    "explain": (("explain", "../model.json", "../train.txt", "--report", "e.html"), ["e.html"]),
    "describe": (("describe", "../model.json", "../train.txt", "--report", "d.html"), ["d.html"]),
    "text index": (("text", "index", "../documents.jsonl", "-o", "d.index"), ["d.index"]),
    "text candidates": (("text", "candidates", *_TEXTS, "-k", "5", "-o", "c.txt"), ["c.txt"]),
    "text features": (
        ("text", "features", *_TEXTS, "--run", "../found.txt", "--qrels", "../qrels", "-o", "f.txt"),
        ["f.txt"],
    ),
    "text features to Parquet": (
        ("text", "features", *_TEXTS, "--run", "../found.txt", "-o", "f.parquet"),
        ["f.parquet"],
    ),
    "text rerank": (
        ("text", "rerank", "../text-model.json", *_TEXTS, "--run", "../found.txt", "-o", "r.jsonl"),
        ["r.jsonl"],
    ),
    "runs fuse": (
        ("runs", "fuse", "../run.txt", "../other.txt", "--qrels", "../qrels", "--folds", "2", "-o", "u.txt"),
        ["u.txt"],
    ),
}
"""Name: arguments, and files that exist before, which it replaces."""

PARALLEL = ("lab crossval --jobs 2",)
"""Commands that start processes, which takes seconds."""


class Campaign:
    """Runs commands with faults in a folder, and collects what went wrong."""

    def __init__(self, folder, seed):
        self.folder, self.seed, self.number = Path(folder), seed, Counter()
        self.outcomes, self.problems = Counter(), []
        self._new, self._events = {}, {}
        _inputs(self.folder)
        environment = {
            **os.environ,
            "DIRECTRIX_NUM_THREADS": "1",  # a fork has no other threads
            "PYTHONPATH": str(Path(dx.__file__).parents[1]),
        }
        self._victim = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("victim.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=_emptied(self.folder / "warm"),
            text=True,
        )
        for name, (arguments, _) in COMMANDS.items():
            if name not in PARALLEL and "Parquet" not in name:
                self._ask({"here": True, "arguments": arguments})

    def close(self):
        self._victim.stdin.close()
        self._victim.wait(60)
        self._victim.stdout.close()

    def run(self, name, *, by_signal):
        """Run a command with one random fault: a signal, or no space for the next byte of a file."""
        if name not in self._new:
            self._undisturbed(name)
        job = self._job(name)
        # the same faults whichever commands ran before
        self.number[name] += 1
        self.random = random.Random(f"{self.seed} {name} {self.number[name]}")
        if by_signal:
            # half of the moments in the last tenth, where most is written
            first = self.random.choice((0, 9 * self._events[name] // 10))
            moment = self.random.randint(first + 1, self._events[name])
            job |= {"signal": self.random.choice(SIGNALS), "moment": moment}
        else:
            largest = max(map(len, self._new[name].values()))
            job |= {"bytes": self.random.randrange(largest + 1)}
        answer = self._ask(job)
        problems = [*self._ending(job, answer), *self._files(name, job)]
        if name.startswith("lab crossval"):
            problems += self._resumed(name)
        fault = {key: job[key] for key in ("signal", "moment", "bytes") if key in job}
        self.problems += [f"{name}, {fault}: {text}" for text in problems]
        kind = signal.Signals(job["signal"]).name if by_signal else "full disk"
        self.outcomes[kind, "undisturbed" if answer["status"] == 0 else "stopped"] += 1

    def _ask(self, job):
        print(json.dumps(job), file=self._victim.stdin, flush=True)
        return json.loads(self._victim.stdout.readline())

    def _job(self, name):
        arguments, replaced = COMMANDS[name]
        folder = _emptied(self.folder / "work")
        for file in replaced:
            (folder / file).write_bytes(OLD)
            (folder / file).chmod(0o640)
        return {"arguments": list(arguments), "folder": str(folder)}

    def _undisturbed(self, name):
        job = self._job(name)
        answer = self._ask(job)
        if answer != {"status": 0, "left": False}:
            raise AssertionError(f"{name} without fault: {answer}, {(self.folder / 'stderr').read_text()}")
        self._events[name] = int((self.folder / "events").read_text())
        work = Path(job["folder"])
        self._new[name] = {str(p.relative_to(work)): _stable(p) for p in work.rglob("*") if p.is_file()}

    def _ending(self, job, answer):
        """Statuses and messages, as documented."""
        stderr = (self.folder / "stderr").read_text(errors="replace")
        number = job.get("signal")
        # outside the command the system ends the process, which a shell reports as the same status
        expected = {0, 1} if number is None else {0, -number, 128 + number} - {128 + signal.SIGKILL}
        if answer["status"] not in expected:
            yield f"ended with {answer['status']} (None: hangs), {stderr[-2000:]!r}"
        if answer["left"] and number != signal.SIGKILL:
            yield "left processes"
        # before and after the command SIGINT is Python's; within it nothing raises KeyboardInterrupt
        is_outside = number == signal.SIGINT and re.search(r"^KeyboardInterrupt:?\s*\Z", stderr, re.MULTILINE)
        # loky says so itself where a worker begins when the command has ended
        begun_too_late = answer["status"] == 128 + (number or 0) and "\nLokyProcess-" in stderr
        if "Traceback" in stderr and not (is_outside or begun_too_late):
            yield stderr[-2000:]
        if answer["status"] == 1 and len(re.findall(r"^error: ", stderr, re.MULTILINE)) != 1:
            yield f"no message in {stderr[-2000:]!r}"

    def _files(self, name, job):
        """Every file is the old or the new one, with the old permissions, and there is no other.

        A training run that a signal ends saves its best model so far, which is another one.
        """
        work = Path(job["folder"])
        killed = job.get("signal") == signal.SIGKILL
        if (work / "shards").exists():  # it appears when all of it is written
            yield from (f"the folder lacks {file}" for file in self._new[name] if not (work / file).exists())
        for path in work.rglob("*"):
            file = str(path.relative_to(work))
            if path.is_dir() or (killed and re.search(r"\.tmp$|\.unfinished/", file)):
                continue
            if file not in self._new[name]:
                yield f"left {file}"
            elif file in COMMANDS[name][1] and stat.S_IMODE(path.stat().st_mode) != 0o640:
                yield f"{file} has other permissions"
            elif (
                not file.endswith("cells.jsonl")  # grows; see `_resumed`
                and path.read_bytes() != OLD
                and _stable(path) != self._new[name][file]
                and not (file == "m.json" and "signal" in job and not killed and _is_model(path))
            ):
                yield f"{file} is neither old nor new"
        yield from (f"lost {file}" for file in COMMANDS[name][1] if not (work / file).exists())

    def _resumed(self, name):
        """The same command without fault ends as if there had been none."""
        arguments, _ = COMMANDS[name]
        work = self.folder / "work"
        answer = self._ask({"arguments": list(arguments), "folder": str(work)})
        if answer != {"status": 0, "left": False}:
            yield f"resumed: {answer}, {(self.folder / 'stderr').read_text()[-2000:]!r}"
        files = {str(p.relative_to(work)): _stable(p) for p in work.rglob("*") if p.is_file()}
        leftover = {file for file in files if file.endswith(".tmp")}
        if {file: files[file] for file in files.keys() - leftover} != self._new[name]:
            yield f"resumed: {sorted(files)} differ from those of an undisturbed run"


def _is_model(path):
    try:
        return np.isfinite(dx.load(path).coef_).all()
    except dx.InputError:
        return False


def _stable(path):
    """Contents without what differs between two runs: seconds."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix in (".json", ".jsonl", ".html"):
        data = re.sub(rb'("seconds": |"created": )[^,}]*', rb"\1", data)
        data = re.sub(rb"\d+\.\d+(?: s|</td>)", b"", data)
        data = re.sub(rb"<svg.*?</svg>", b"", data, flags=re.DOTALL)  # one has seconds on its axis
    return b"\n".join(sorted(data.split(b"\n"))) if path.suffix == ".jsonl" else data


def _emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _inputs(folder):
    q, _ = make_linear(12, 6, 3, seed=5)
    names = [f"d{row}" for row in range(q.n_docs)]
    qid = np.repeat(np.arange(12), 6)
    q = dx.Queries.from_arrays(q.features.astype(np.float32), q.labels, qid=qid, doc_ids=names)
    dx.write_letor(q, folder / "train.txt")
    ranker = dx.LinearRanker(max_iter=2).fit_queries(q)
    ranker.save(folder / "model.json")
    np.savetxt(folder / "scores.txt", q.features[:, 0])
    rows = list(zip(qid, names, q.labels, q.features[:, 0], strict=True))
    (folder / "qrels").write_text("".join(f"{query} 0 {doc} {label:.0f}\n" for query, doc, label, _ in rows))
    order = sorted(rows, key=lambda row: (row[0], -row[3]))
    run = [f"{query} Q0 {doc} {n % 6 + 1} {score:.6f} a\n" for n, (query, doc, _, score) in enumerate(order)]
    (folder / "run.txt").write_text("".join(run))
    rng = np.random.default_rng(5)
    run = [
        f"{query} Q0 {doc} 1 {score:.6f} b\n"
        for (query, doc, *_), score in zip(rows, rng.random(72), strict=True)
    ]
    (folder / "other.txt").write_text("".join(run))
    _texts(folder)


def _texts(folder):
    """Documents with the names of the qrels, and what is computed from them."""
    words = ("a", "list", "of", "words", "to", "find", "in", "documents")
    rng = np.random.default_rng(6)
    documents = [{"docno": f"d{row}", "text": " ".join(rng.choice(words, 9))} for row in range(72)]
    queries = [{"qid": str(query), "query": " ".join(rng.choice(words[4:], 2))} for query in range(12)]
    for name, lines in (("documents", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    index = dx.text.Index.build(folder / "documents.jsonl")
    index.save(folder / "documents.index")
    found = index.candidates(folder / "queries.jsonl", k=6)
    (folder / "found.txt").write_text(run_text(found))
    q = index.features(folder / "queries.jsonl", found, folder / "qrels")
    dx.LinearRanker(max_iter=2).fit_queries(q).save(folder / "text-model.json")
