"""Folds with training, validation and test queries: read from LETOR folders, or sampled by query.

A folder or queries go in, and a tuple of `Split` comes out, see `letor_splits` and `k_fold_splits`:

>>> from directrix.data.synthetic import make_linear
>>> [(split.name, split.test.n_queries) for split in k_fold_splits(make_linear(6, 5, 2)[0], 3)]
[('Fold1', 2), ('Fold2', 2), ('Fold3', 2)]
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from directrix.data.letor.read import read_letor
from directrix.data.queries import Queries
from directrix.data.sparse import dense
from directrix.data.split import fold_numbers, letor_folds
from directrix.errors import Advice, InputError
from directrix.parameters import whole


@dataclass(frozen=True, eq=False)
class Split:
    """One fold: three parts of a collection.

    Parameters
    ----------
    name : str
        Name, different for every fold.
    train : Queries
        Training queries.
    valid : Queries or None
        Queries for choosing settings. None: settings are chosen by cross-validation on the training queries,
        as in `AutoRanker`.
    test : Queries
        Queries for the reported values only.

    Examples
    --------
    >>> import directrix as dx
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> train, valid, test = dx.data.split_queries(q, [0.6, 0.2, 0.2])
    >>> split = dx.experiments.Split("mine", train, valid, test)
    >>> [part.n_queries for part in split.parts]
    [12, 4, 4]
    """

    name: str
    train: Queries
    valid: Queries | None
    test: Queries

    @property
    def parts(self) -> tuple[Queries, ...]:
        """Training, validation if there is one, and test queries."""
        return tuple(queries for queries in (self.train, self.valid, self.test) if queries is not None)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that results depend on: features, labels, queries, identifiers of documents."""
        state = hashlib.sha256()
        for queries in self.parts:
            names = None if queries.doc_ids is None else queries.doc_ids.tolist()
            state.update(queries.digest.encode() + repr((queries.query_ids, names)).encode())
        return f"sha256:{state.hexdigest()}"


def repeated_queries(split: Split) -> list[Hashable]:
    """Return the test queries that are also training or validation queries, with the same features."""
    test = split.test
    places = dict(zip(test.query_ids, range(test.n_queries), strict=True))
    repeated = []
    for earlier in split.parts[:-1]:
        for at, query in enumerate(earlier.query_ids):
            if query in places:
                # Two data sets may use the same number for different queries, so their features decide.
                ours, other = (dense(q.take([i]).features) for q, i in ((earlier, at), (test, places[query])))
                if np.array_equal(ours, other, equal_nan=True):
                    repeated.append(query)
    return repeated


def letor_splits(
    folder: str | os.PathLike[str], *, missing: Literal["error", "zero", "nan"] = "error"
) -> tuple[Split, ...]:
    r"""Read the folds of a LETOR collection: ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, ...

    Parameters
    ----------
    folder : path
        Folder with ``Fold1``, ``Fold2``, ...; files may be compressed.
    missing : {"error", "zero", "nan"}
        As for `directrix.read_letor`.

    Returns
    -------
    tuple of Split
        Named after their folders. All have the number of features of the widest file.

    Raises
    ------
    InputError
        If there is no fold, a file is missing, or one cannot be read.

    Notes
    -----
    All files are held in memory together.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "Fold1").mkdir()
    >>> for number, name in enumerate(("train", "vali", "test")):
    ...     _ = (folder / "Fold1" / f"{name}.txt").write_text(f"1 qid:{number} 1:0.5\n0 qid:{number} 1:0.1\n")
    >>> [(split.name, split.test.n_docs) for split in dx.experiments.letor_splits(folder)]
    [('Fold1', 2)]
    """
    folds = letor_folds(folder)
    read = [[read_letor(path, missing=missing) for path in fold] for fold in folds]
    # A file in LETOR's format omits features that are 0, so a file may seem to have fewer of them.
    width = max(queries.n_features for collections in read for queries in collections)
    return tuple(
        Split(fold.train.parent.name, *(queries.widened(width) for queries in collections))
        for fold, collections in zip(folds, read, strict=True)
    )


def k_fold_splits(q: Queries, k: int = 5, *, seed: int = 0) -> tuple[Split, ...]:
    """Split queries into ``k`` folds: one for testing, the next for validation, the rest for training.

    Parameters
    ----------
    q : Queries
    k : int, 3 to n_queries
        Number of folds.
    seed : int >= 0
        Seed of the random folds.

    Returns
    -------
    tuple of Split
        ``Fold1``, ``Fold2``, ...; every query is in one test part and in one validation part. Queries keep
        their order.

    Raises
    ------
    InputError
        If ``k`` is out of range, or the seed is not an integer >= 0.

    Examples
    --------
    >>> from directrix.data.synthetic import make_linear
    >>> [fold.test.query_ids for fold in k_fold_splits(make_linear(6, 5, 2)[0], 3)]
    [(3, 4), (0, 2), (1, 5)]
    """
    if whole(k, "k", least=3) > q.n_queries:
        possible = min(q.n_queries, 5)
        raise InputError(
            f"k={k} folds of {q.n_queries} queries: k must be between 3 and the number of queries, with one "
            "fold for testing, the next for validation and the rest for training.",
            Advice("test-folds", k=possible) if possible > 2 else "Give data with more queries.",
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
