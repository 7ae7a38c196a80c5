"""The manifest of a folder of shards: which files there are, and what is in them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.files import readable, replacing
from directrix.data.shards.context import MANIFEST, is_sharded
from directrix.data.statistics import Moments
from directrix.errors import InputError, short_text
from directrix.types import Float64Array

_FORMAT = "directrix-shards/1"
_MOST_SHARDS, _MOST_FEATURES = 1 << 16, 1 << 24
_ROWS = ("number", "mean", "spread", "low", "high")  # of the moments


@dataclass(frozen=True)
class Shard:
    """One shard: its file, "" if it has no documents, and what is in it."""

    file: str
    sha256: str
    bytes: int
    queries: int
    documents: int


@dataclass(frozen=True, eq=False)
class Manifest:
    """What is in the shards of a folder, so that nobody needs to read them all to know it."""

    shards: tuple[Shard, ...]
    n_features: int
    dtype: str
    """Of the features: "float32" or "float64"."""
    labels: dict[float, int]
    """Number of documents with each label."""
    n_ordered: int
    """Queries with documents of different labels, from which an order can be learnt."""
    moments: Moments
    """Of every feature, over all documents."""
    feature_names: tuple[str, ...] | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return sum(shard.queries for shard in self.shards)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return sum(shard.documents for shard in self.shards)

    @property
    def missing(self) -> Float64Array:
        """Number of documents without a value, for every feature."""
        return self.n_docs - self.moments.number

    @property
    def present(self) -> tuple[int, ...]:
        """Numbers of the shards that have documents."""
        return tuple(number for number, shard in enumerate(self.shards) if shard.documents)

    @cached_property
    def form(self) -> str:
        """Of the features, see `form_of`."""
        return form_of(self.n_features, self.dtype, self.feature_names)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the digests of the files: the same shards give the same text."""
        text = "\n".join(f"{shard.sha256} {shard.documents}" for shard in self.shards)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder of its shards."""
        data = {
            "format": _FORMAT,
            "shards": [asdict(shard) for shard in self.shards],
            "features": {
                "count": self.n_features,
                "dtype": self.dtype,
                "names": self.feature_names,
            },
            "labels": [[label, count] for label, count in sorted(self.labels.items())],
            "ordered": self.n_ordered,
            "statistics": {
                name: np.where(self.moments.number > 0, row, 0.0).tolist()  # JSON has no infinity
                for name, row in zip(_ROWS, self.moments, strict=True)
            },
        }
        data["sha256"] = _digest_of(data)
        with replacing(folder / MANIFEST) as file:
            file.write(json.dumps(data, indent=1, allow_nan=False).encode())


def form_of(n_features: int, dtype: Any, names: Sequence[str] | None) -> str:
    """Return a digest of what all shards of a folder share: the number, type and names of features."""
    return hashlib.sha256(repr((int(n_features), str(dtype), names and tuple(names))).encode()).hexdigest()


def _digest_of(data: dict[str, Any]) -> str:
    """SHA-256 of a manifest's content without that entry, however it is laid out."""
    content = {name: value for name, value in data.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a folder; raises `InputError` if there is none, or it is damaged."""
    path = folder / MANIFEST
    if not is_sharded(folder):
        raise InputError(
            f"{folder} is not a folder of shards: it has no {MANIFEST}.",
            python="Write one: directrix.write_shards(data, folder).",
            shell=f"Write one: `directrix shard DATA {folder}`.",
        )
    with readable(path):
        content = path.read_bytes()
    try:
        data = json.loads(content)
        if data["format"] != _FORMAT:
            raise ValueError(f"the format is {short_text(data['format'])}, not {_FORMAT!r}")
        if data["sha256"] != _digest_of(data):
            raise ValueError("it has changed since it was written, as its SHA-256 shows")
        return _checked(data)
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise InputError(f"{path} is damaged: {what[:200]}. Write the shards again.") from error


def _checked(data: dict[str, Any]) -> Manifest:
    shards = tuple(_shard(entry) for entry in data["shards"])
    features = data["features"]
    n_features = _count(features["count"], "features", _MOST_FEATURES)
    if not 1 <= len(shards) <= _MOST_SHARDS:
        raise ValueError(f"there are {len(shards):,} shards")
    files = [shard.file for shard in shards if shard.file]
    if any(first >= second for first, second in pairwise(files)):  # readers of the folder go by name
        raise ValueError("the files of the shards are not in the order of their names")
    if features["dtype"] not in ("float32", "float64"):
        raise ValueError(f"features are {short_text(features['dtype'])}")
    moments = Moments(*[_numbers(data["statistics"][name], n_features) for name in _ROWS])
    is_known = moments.number > 0
    low, high = np.where(is_known, moments.low, np.inf), np.where(is_known, moments.high, -np.inf)
    labels = {_number(label): _count(count, "documents") for label, count in data["labels"]}
    manifest = Manifest(
        shards,
        n_features,
        features["dtype"],
        labels,
        _count(data["ordered"], "ordered queries"),
        moments._replace(low=low, high=high),
        _names(features["names"], n_features),
    )
    if sum(labels.values()) != manifest.n_docs or manifest.n_ordered > manifest.n_queries:
        raise ValueError("the shards have another number of documents or queries than the labels")
    _check_moments(moments, manifest.n_docs)
    return manifest


def _check_moments(moments: Moments, n_docs: int) -> None:
    number, mean, spread, low, high = (row[moments.number != 0] for row in moments)
    rounding = 1e-6 * np.maximum(abs(low), abs(high))
    is_sound = (number > 0) & (number <= n_docs) & (spread >= 0)
    if not (is_sound & (mean >= low - rounding) & (mean <= high + rounding)).all():
        raise ValueError("statistics are not those of features")


def _shard(entry: Any) -> Shard:
    file, sha256 = entry["file"], entry["sha256"]
    counts = [_count(entry[name], name) for name in ("bytes", "queries", "documents")]
    if not (isinstance(file, str) and isinstance(sha256, str) and len(sha256) in (0, 64)):
        raise ValueError("a shard has no file or no SHA-256")
    is_name = file.isprintable() and file == Path(file).name and file not in (".", "..")
    if not is_name or bool(file) != bool(counts[2]):
        raise ValueError(f"a shard has the file {short_text(file)} and {counts[2]:,} documents")
    if bool(counts[0]) != bool(file) or bool(counts[1]) != bool(file) or counts[1] > counts[2]:
        raise ValueError(f"a shard has {counts[0]:,} bytes, {counts[1]:,} queries, {counts[2]:,} documents")
    return Shard(file, sha256, *counts)


def _count(value: Any, what: str, most: int = 1 << 48) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"the number of {what} is {short_text(value)}")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{short_text(value)} is not a finite number")
    return float(value)


def _numbers(values: Any, n: int) -> Any:
    if not isinstance(values, list) or len(values) != n:
        raise ValueError(f"statistics are not lists of {n:,} numbers")
    return np.array([_number(value) for value in values])


def _names(names: Any, n: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != n or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names are not a list of {n:,} texts")
    return tuple(names)
