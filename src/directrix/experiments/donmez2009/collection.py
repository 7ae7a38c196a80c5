"""The data: OHSUMED and MQ2008 in folds, and a random cubic polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from directrix.data.synthetic import make_cubic
from directrix.experiments.donmez2009.settings import Artificial, Settings
from directrix.experiments.splits import Split, letor_splits

__all__ = ["ARTIFICIAL", "LETOR", "Collection", "read_collections"]

ARTIFICIAL = "artificial"
LETOR = ("OHSUMED", "MQ2008")
_GRADED = ("nDCG", "nDCG@10")


@dataclass(frozen=True, eq=False)
class Collection:
    """One data set.

    Parameters
    ----------
    name : str
    splits : tuple of Split
    rel : int
        Least label that is relevant to AP and RR: 2 where labels go to 4, as in the paper, else 1.
    """

    name: str
    splits: tuple[Split, ...]
    rel: int

    @property
    def measures(self) -> tuple[str, ...]:
        """What is trained for and tested: nDCG, nDCG@10, AP, RR."""
        relevant = "" if self.rel == 1 else f"(rel={self.rel})"
        return (*_GRADED, f"AP{relevant}", f"RR{relevant}")

    @property
    def first(self) -> Split:
        """The fold whose trainings are examined."""
        return self.splits[0]


def read_collections(folder: Path, settings: Settings) -> tuple[list[Collection], list[str]]:
    """Read what is there of the LETOR collections, and make the artificial data.

    Parameters
    ----------
    folder : Path
        May hold ``letor/OHSUMED`` and ``letor/MQ2008``.
    settings : Settings

    Returns
    -------
    list of Collection, list of str
        The data, and the names of those that are not there.
    """
    folds = dict(zip(LETOR, (settings.folds, settings.mq2008_folds), strict=True))
    there = [name for name in LETOR if (folder / "letor" / name).is_dir()]
    found = [Collection(name, letor_splits(folder / "letor" / name)[: folds[name]], rel=1) for name in there]
    split, _ = artificial(settings.artificial, settings.seed)
    found.append(Collection(ARTIFICIAL, (split,), rel=2))
    return found, [name for name in LETOR if name not in there]


def artificial(size: Artificial, seed: int) -> tuple[Split, Split]:
    """Make the artificial data.

    Returns
    -------
    Split, Split
        With ``n_train`` training queries, and with all that the largest of ``sizes`` asks for; they begin
        alike, and are validated and tested on the same queries.
    """
    held, most = size.n_test + size.n_valid, max(size.n_train, *size.sizes)
    queries = make_cubic(
        held + most, size.docs_per_query, size.n_features, n_monomials=size.n_monomials, seed=seed
    )
    test = queries.take(np.arange(size.n_test))
    valid = queries.take(np.arange(size.n_test, held))
    split, larger = (
        Split(ARTIFICIAL, queries.take(np.arange(held, held + n)), valid, test) for n in (size.n_train, most)
    )
    return split, larger
