"""The manifest of shards, and the checkpoint of a training on them: seeds, mutators, and their use."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import directrix as dx
from directrix.data.shards.checkpoint import _CHECKSUM, _HEAD, _MAGIC
from directrix.data.shards.manifest import _digest_of
from tools.fuzz.mutators import few, of_binary, of_json


@cache
def shards() -> Path:
    """A folder of two shards, which the targets of its manifest and its answers use."""
    folder = Path(tempfile.mkdtemp(prefix="directrix-fuzz-"), "shards")
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    return dx.write_shards(dx.data.make_linear(6, 8, 4, seed=0)[0], folder, 2)


def manifest() -> list[bytes]:
    X = {name: [0.0, 1.0, 2.0, 3.0] for name in "abc"}
    named = dx.Queries.from_arrays(X, [0, 1, 1, 0], group=[2, 2])
    with tempfile.TemporaryDirectory() as folder:
        other = dx.write_shards(named, Path(folder, "shards"), 1)
        return [path.joinpath("shards.json").read_bytes() for path in (shards(), other)]


def answers() -> list[bytes]:
    """Checkpoints of a training that was interrupted, early and late."""
    files = []
    for last in (1, 6):
        path = shards().parent / f"answers-{last}"

        def stop(step: Any, last: int = last) -> None:
            if step.iteration == last:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            train_shards(path, callback=stop)
        files.append(path.read_bytes())
    return files


def train_shards(checkpoint: Path | None, **settings: Any) -> Any:
    return dx.LinearRanker("ListNet", max_iter=8).fit_shards(shards(), checkpoint=checkpoint, **settings)


def of_manifest(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A manifest of shards, whose digest mostly is right again: as if its writer had written it."""
    data = of_json(random, seeds)
    try:
        content = json.loads(data)
        content["sha256"] = _digest_of(content)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return data
    return data if random.random() < 0.1 else json.dumps(content).encode()


def of_answers(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A checkpoint with an answer removed, repeated, cut or of another shape, whose checksum is right."""
    if random.random() < 0.4:
        return of_binary(random, seeds)
    data, at, records = random.choice(seeds), len(_MAGIC), []
    while at < len(data):
        *_, rows, columns = _HEAD.unpack_from(data, at)
        size = _HEAD.size + 8 * rows * columns + _CHECKSUM
        records.append(data[at : at + size])
        at += size
    for _ in range(few(random)):
        at, kind = random.randrange(len(records)), random.randrange(4)
        if kind == 0:
            records[at] = random.choice(records)
        elif kind == 1:
            records.insert(at, records[at][: random.randrange(len(records[at]))])
        elif kind == 2:
            random.shuffle(records)
        else:
            if len(records[at]) < _HEAD.size:  # that was cut before
                continue
            _, *shape = _HEAD.unpack_from(records[at])
            shape[random.randrange(3)] = random.choice((0, 1, 2, 3, 255, 2**32, 2**61, 2**63, 2**64 - 1))
            head = _HEAD.pack(bytes(32), shape[0] % 256, *shape[1:])  # an answer to another question
            body = head + records[at][_HEAD.size : -_CHECKSUM]
            records[at] = body + hashlib.sha256(body).digest()
    return _MAGIC + b"".join(records)


@cache
def _copy(folder: Path) -> Path:
    """A copy of the shards of the seeds, whose manifest is replaced."""
    return Path(shutil.copytree(shards(), folder / "shards"))


def open_manifest(path: Path) -> Any:
    folder = _copy(path.parent)
    shutil.copy(path, folder / "shards.json")
    opened = dx.data.open_shards(folder)
    repr(opened)
    for kind in ("standard", "minmax"):
        dx.data.fit_scale(kind, opened.features)
    opened.judged().take([0]).features[:2]
    return dx.LinearRanker("ListNet", max_iter=2).fit_shards(opened)


@cache
def _trained() -> Any:
    return train_shards(None)


def resume(path: Path) -> Any:
    ranker = train_shards(path)
    assert not path.exists()
    assert np.array_equal(ranker.coef_, _trained().coef_)  # whatever was in the file
    return ranker
