"""Splits that keep all documents of a query in one part.

`Queries` go in, and `Queries` of disjoint sets of queries come out; the files of a LETOR collection are
already split:

>>> import directrix as dx
>>> q, _ = dx.data.make_linear(n_queries=10, docs_per_query=5, n_features=2)
>>> [part.n_queries for part in split_queries(q, (0.7, 0.3))]
[7, 3]
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrix.data.checks import as_shares, generator
from directrix.data.files import COMPRESSED
from directrix.data.queries import Queries, need_queries
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.types import Int64Array


class LetorFold(NamedTuple):
    """Files of one fold of a LETOR collection."""

    train: Path
    vali: Path
    test: Path


def split_queries(q: Queries, fractions: Sequence[float], *, seed: int = 0) -> tuple[Queries, ...]:
    """Split queries at random.

    Parameters
    ----------
    q : Queries
        Queries to split.
    fractions : floats > 0 with sum 1
        Share of the queries in each part, e.g. ``(0.6, 0.2, 0.2)``; the parts contain all queries.
    seed : int
        The same seed gives the same split.

    Returns
    -------
    tuple of Queries
        One per fraction, with the queries in their original order.

    Raises
    ------
    InputError
        If the fractions do not add up to 1, a part would have no query, or the seed is invalid.

    Examples
    --------
    >>> import directrix as dx
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> [part.n_queries for part in dx.data.split_queries(q, [0.6, 0.2, 0.2])]
    [12, 4, 4]
    """
    need_queries(q, "split_queries")
    shares = as_shares("fractions", fractions)
    # Rounded cumulative shares give each part within one query of its share.
    bounds = np.round(np.concatenate([[0.0], np.cumsum(shares)]) * q.n_queries).astype(np.int64)
    if (np.diff(bounds) == 0).any():
        raise InputError(
            f"fractions={fractions!r} of {q.n_queries} queries leave a part without a query; every part "
            "needs one. Give larger shares or more queries."
        )
    order = generator(seed).permutation(q.n_queries)
    return tuple(q.take(np.sort(order[a:b])) for a, b in itertools.pairwise(bounds))


def k_folds(q: Queries, k: int = 5, *, seed: int = 0) -> Iterator[tuple[Queries, Queries]]:
    """Yield ``k`` pairs of training and test queries; every query is in one test part.

    Parameters
    ----------
    q : Queries
        Queries to split.
    k : int
        2 to ``n_queries``.
    seed : int
        The same seed gives the same folds.

    Raises
    ------
    InputError
        If ``k`` is out of range or the seed is invalid; the call raises it, not the first fold.

    Examples
    --------
    >>> import directrix as dx
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> [(train.n_queries, test.n_queries) for train, test in dx.data.k_folds(q, 4)]
    [(15, 5), (15, 5), (15, 5), (15, 5)]
    """
    need_queries(q, "k_folds")
    if whole(k, "k", least=2) > q.n_queries:
        raise InputError(
            f"k={k} folds of {q.n_queries} queries; k is 2 to the number of queries, so "
            + (f"type e.g. k={min(q.n_queries, 5)}." if q.n_queries > 1 else "more queries are needed.")
        )
    numbers = fold_numbers(q.n_queries, int(k), seed=seed)
    pairs = ((numbers != fold, numbers == fold) for fold in range(int(k)))
    return ((q.take(np.flatnonzero(train)), q.take(np.flatnonzero(test))) for train, test in pairs)


def fold_numbers(n_queries: int, k: int, *, seed: int = 0) -> Int64Array:
    """Return the fold of every query, 0 to k - 1; the sizes of folds differ by at most one."""
    numbers = np.empty(n_queries, dtype=np.int64)
    numbers[generator(seed).permutation(n_queries)] = np.arange(n_queries) % k
    return numbers


def letor_folds(folder: str | os.PathLike[str]) -> tuple[LetorFold, ...]:
    r"""Find the folds of a LETOR collection: ``Fold1/train.txt``, ``vali.txt``, ``test.txt``, and so on.

    Parameters
    ----------
    folder : path
        The folder with ``Fold1``, ``Fold2``, ...; files may be compressed (``train.txt.gz``).

    Raises
    ------
    InputError
        If there is no fold, or a file of one is missing.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "Fold1").mkdir()
    >>> for name in ("train", "vali", "test"):
    ...     _ = (folder / "Fold1" / f"{name}.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    >>> [fold.train.name for fold in dx.data.letor_folds(folder)]
    ['train.txt']
    """
    root = Path(folder)
    folders = sorted((p for p in root.glob("Fold*") if p.name[4:].isdigit()), key=lambda p: int(p.name[4:]))
    if not folders:
        raise InputError(
            f"{root} has no folder Fold1, Fold2, ...; LETOR collections have Fold1/train.txt, "
            f"Fold1/vali.txt, Fold1/test.txt and so on. Give their folder; `ls {root}` lists what it has."
        )
    folds = []
    for fold in folders:
        files = []
        for name in LetorFold._fields:
            paths = (fold / f"{name}.txt{suffix}" for suffix in ("", *COMPRESSED))
            path = next(filter(Path.is_file, paths), None)
            if path is None:
                raise InputError(
                    f"{fold} has no {name}.txt (nor .gz, .bz2, .xz of it); a fold has train.txt, vali.txt "
                    "and test.txt. Copy or link the file there."
                )
            files.append(path)
        folds.append(LetorFold(*files))
    return tuple(folds)
