"""Folds: queries to train, to choose and to test on, from LETOR folders or by query."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directrix.data.atomic import replacing
from directrix.data.letor.read import read_letor
from directrix.data.queries import Queries
from directrix.data.split import fold_numbers, letor_folds
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.rankers.inputs import digest

__all__ = ["Split", "StoredSplit", "k_fold_splits", "letor_splits", "stored"]


@dataclass(frozen=True, eq=False)
class Split:
    """One fold.

    Parameters
    ----------
    name : str
        Unlike those of the other folds.
    train : Queries
        To train on.
    valid : Queries or None
        To choose settings by. None: the training queries judge in turns, as in `directrix.search`.
    test : Queries
        Looked at once, to report.
    """

    name: str
    train: Queries
    valid: Queries | None
    test: Queries

    @property
    def parts(self) -> tuple[Queries, ...]:
        """Training, validation if there is one, and test queries."""
        return tuple(part for part in (self.train, self.valid, self.test) if part is not None)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that figures depend on: features, labels, queries, identifiers of documents."""
        state = hashlib.sha256()
        for part in self.parts:
            names = None if part.doc_ids is None else part.doc_ids.tolist()
            state.update(digest(part).encode() + repr((part.query_ids, names)).encode())
        return f"sha256:{state.hexdigest()}"


def letor_splits(
    folder: str | os.PathLike[str], *, missing: Literal["error", "zero", "nan"] = "error"
) -> tuple[Split, ...]:
    """Read the folds of a LETOR collection: ``Fold1/train.txt``, ``vali.txt``, ``test.txt``, and so on.

    Parameters
    ----------
    folder : path
        Holds ``Fold1``, ``Fold2``, ...; files may be compressed.
    missing : {"error", "zero", "nan"}
        As for `directrix.read_letor`.

    Returns
    -------
    tuple of Split
        Named as their folders. All have as many features as the widest file.

    Raises
    ------
    InputError
        If there is no fold, a file is missing, or one cannot be read.

    Notes
    -----
    All files are read: memory of all folds together.
    """
    folds = letor_folds(folder)
    read = [[read_letor(path, missing=missing) for path in fold] for fold in folds]
    width = max(part.n_features for parts in read for part in parts)
    return tuple(
        Split(fold.train.parent.name, *(part.widened(width) for part in parts))
        for fold, parts in zip(folds, read, strict=True)
    )


def k_fold_splits(q: Queries, k: int = 5, *, seed: int = 0) -> tuple[Split, ...]:
    """Split queries into ``k`` folds: one tests, the next one chooses, the rest train.

    Parameters
    ----------
    q : Queries
    k : int, 3 to n_queries
        Number of folds.
    seed : int >= 0
        Of the folds.

    Returns
    -------
    tuple of Split
        ``Fold1``, ``Fold2``, ...; every query is in one test part and in one validation part. Queries
        keep their order.

    Raises
    ------
    InputError
        If ``k`` is out of range, or the seed is no seed.

    Examples
    --------
    >>> from directrix.data.synthetic import make_linear
    >>> [fold.test.query_ids for fold in k_fold_splits(make_linear(6, 5, 2)[0], 3)]
    [(3, 4), (0, 2), (1, 5)]
    """
    if whole(k, "k", least=3) > q.n_queries:
        raise InputError(
            f"k={k} folds of {q.n_queries} queries; k is 3 to the number of queries, for a fold tests, the "
            "next one chooses, the rest train. Type k=3, say."
        )
    numbers = fold_numbers(q.n_queries, k, seed=seed)

    def part(is_in: Any) -> Queries:
        return q.take(np.flatnonzero(is_in))

    return tuple(
        Split(
            f"Fold{fold + 1}",
            part((numbers != fold) & (numbers != (fold + 1) % k)),
            part(numbers == (fold + 1) % k),
            part(numbers == fold),
        )
        for fold in range(k)
    )


@dataclass
class StoredSplit:
    """A fold that goes to other processes as the name of a file, which each of them reads once.

    Parameters
    ----------
    split : Split
    path : Path
        Written when the object is pickled, which joblib does for a process and not for a thread.
    """

    split: Split
    path: Path
    is_written: bool = field(default=False, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Write the fold, once, and give its file and what tells it from others in its place."""
        if not self.is_written:
            with replacing(self.path) as file:  # whole or not at all: another process may be reading it
                pickle.dump(self.split, file, protocol=pickle.HIGHEST_PROTOCOL)
            self.is_written = True
        return _again, (self.path, self.split.digest)


def _again(path: Path, digest: str) -> StoredSplit:
    return StoredSplit(_read(path, digest), path)


@lru_cache(maxsize=1)  # cells come fold after fold, and data may be large
def _read(path: Path, digest: str) -> Split:
    split: Split = pickle.loads(path.read_bytes())  # written by this run, in its own folder
    if split.digest != digest:
        raise InputError(f"{path}: holds other data now; one run at a time can use it. Type the same again.")
    return split


@contextmanager
def stored(splits: Sequence[Split], cells: Path) -> Iterator[tuple[StoredSplit, ...]]:
    """Give folds in a form that is cheap to send to other processes; their files go when the block ends.

    Parameters
    ----------
    splits : sequence of Split
    cells : Path
        File of finished cells. Folds are kept beside it, under names made of its own; all processes must see
        that folder. What a killed run left there is overwritten or removed.
    """
    names = (f".{cells.name}-fold-{i}.pickle" for i in range(len(splits)))
    found = tuple(
        StoredSplit(split, cells.with_name(name)) for split, name in zip(splits, names, strict=True)
    )
    has_ended = False
    try:
        yield found
        has_ended = True
    finally:
        for each in found:
            if has_ended or each.is_written:  # else they may be those of the run that has the cells
                each.path.unlink(missing_ok=True)
