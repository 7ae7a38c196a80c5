"""The manifest of a folder of shards: its files and their contents."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.files import readable, replacing
from directrix.data.missing import MISSING
from directrix.data.shards.context import MANIFEST, is_sharded
from directrix.data.statistics import Moments
from directrix.errors import Advice, InputError, short_text
from directrix.parsing import json_of
from directrix.schema import check
from directrix.types import Float64Array

_FORMAT = "directrix-shards/2"
# The fields of `Moments`, by which the file names them.
_ROWS = ("number", "mean", "spread", "low", "high")
# No file has counts beyond this, and sums of them stay within 64 bits.
_COUNT = range(1 << 48)
_FORM = {
    "format": frozenset({_FORMAT}),
    "sha256": str,
    "shards": [{"file": str, "sha256": str, "bytes": _COUNT, "queries": _COUNT, "documents": _COUNT}],
    "features": {"count": range(1 << 24), "dtype": frozenset({"float32", "float64"}), "names": ([str], None)},
    "missing?": frozenset(MISSING),
    "labels": {"values": [float], "documents": [_COUNT]},
    "ordered": _COUNT,
    "statistics": {name: [float] for name in _ROWS},
}
"""Schema of the JSON file; see `directrix.schema`."""


@dataclass(frozen=True)
class Shard:
    """One shard: its file ("" if it has no documents) and its contents."""

    file: str
    sha256: str
    bytes: int
    queries: int
    documents: int


@dataclass(frozen=True, eq=False)
class Manifest:
    """Description of the shards of a folder, so that they need not all be read."""

    shards: tuple[Shard, ...]
    n_features: int
    dtype: str
    """Data type of the features: "float32" or "float64"."""
    labels: dict[float, int]
    """Number of documents with each label."""
    n_ordered: int
    """Number of queries with documents of different labels, from which an order can be learned."""
    moments: Moments
    """Moments of every feature, over all documents."""
    feature_names: tuple[str, ...] | None = None
    missing: str = "error"
    """How missing values were read, one of `MISSING`."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return sum(shard.queries for shard in self.shards)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return sum(shard.documents for shard in self.shards)

    @property
    def gaps(self) -> Float64Array:
        """Number of documents without a value, for every feature."""
        return self.n_docs - self.moments.number

    @property
    def starts(self) -> tuple[int, ...]:
        """Number of the first document of every shard, and of all documents: (n_shards + 1,)."""
        return tuple(itertools.accumulate((shard.documents for shard in self.shards), initial=0))

    @property
    def present(self) -> tuple[int, ...]:
        """Numbers of the shards that have documents."""
        return tuple(number for number, shard in enumerate(self.shards) if shard.documents)

    @cached_property
    def form(self) -> str:
        """Digest of the form of the features, see `form_of`."""
        return form_of(self.n_features, self.dtype, self.feature_names)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the digests of the files; the same shards give the same text."""
        text = "\n".join(f"{shard.sha256} {shard.documents}" for shard in self.shards)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder of its shards."""
        data = {
            "format": _FORMAT,
            "shards": [asdict(shard) for shard in self.shards],
            "features": {"count": self.n_features, "dtype": self.dtype, "names": self.feature_names},
            "missing": self.missing,
            "labels": {
                "values": sorted(self.labels),
                "documents": [self.labels[y] for y in sorted(self.labels)],
            },
            "ordered": self.n_ordered,
            # JSON has no infinity, which is the minimum of a feature without any value.
            "statistics": {
                name: np.where(self.moments.number > 0, row, 0.0).tolist()
                for name, row in zip(_ROWS, self.moments, strict=True)
            },
        }
        data["sha256"] = _digest_of(data)
        with replacing(folder / MANIFEST) as file:
            file.write(json.dumps(data, indent=1, allow_nan=False).encode())


def file_of(number: int) -> str:
    """Return the name of the file of a shard."""
    return f"shard-{number:03d}.arrow"


def form_of(n_features: int, dtype: Any, names: Sequence[str] | None) -> str:
    """Return a digest of the common form of the shards: the number, type and names of features."""
    return hashlib.sha256(repr((int(n_features), str(dtype), names and tuple(names))).encode()).hexdigest()


def _digest_of(data: dict[str, Any]) -> str:
    """SHA-256 of a manifest's content without that entry, independent of its layout."""
    content = {name: value for name, value in data.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a folder; raises `InputError` if there is none, or it is damaged."""
    path = folder / MANIFEST
    if not is_sharded(folder):
        raise InputError(
            f"{folder} is not a folder of shards: it has no {MANIFEST}.",
            Advice("write-shards", folder=folder),
        )
    with readable(path):
        content = path.read_bytes()
    try:
        data = json_of(content)
        check(data, _FORM)
        if data["sha256"] != _digest_of(data):
            raise ValueError("it has changed since it was written, as its SHA-256 shows")
        return _manifest_of(data)
    except (ValueError, RecursionError) as error:
        problem = str(error).rstrip(".")[:200] or type(error).__name__
        raise InputError(f"{path} is damaged: {problem}. Write the shards again.") from error


def _manifest_of(data: dict[str, Any]) -> Manifest:
    features, labels = data["features"], data["labels"]
    n_features, names = features["count"], features["names"]
    rows = [data["statistics"][name] for name in _ROWS]
    # All statistics, and the names, have one entry for each feature.
    if {len(row) for row in (*rows, *([] if names is None else [names]))} != {n_features}:
        raise ValueError(f"statistics or names are not those of {n_features:,} features")
    moments = Moments(*(np.array(row, dtype=np.float64) for row in rows))
    # The file has 0 for the minimum and maximum of a feature without any value, which are infinite here.
    is_known = moments.number > 0
    low, high = np.where(is_known, moments.low, np.inf), np.where(is_known, moments.high, -np.inf)
    shards = tuple(Shard(*(entry[field.name] for field in fields(Shard))) for entry in data["shards"])
    if not shards:
        raise ValueError("it lists no shards")
    for number, shard in enumerate(shards):
        # Another name could lead out of the folder.
        if shard.file not in ("", file_of(number)):
            raise ValueError(f"shard {number} has the file {short_text(shard.file)}")
    return Manifest(
        shards,
        n_features,
        features["dtype"],
        {float(label): count for label, count in zip(labels["values"], labels["documents"], strict=True)},
        data["ordered"],
        moments._replace(low=low, high=high),
        None if names is None else tuple(names),
        data.get("missing", "error"),
    )
