"""The data: OHSUMED and MQ2008 in folds, and a random cubic polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from directrix.data.synthetic import make_cubic
from directrix.experiments.splits import Split, letor_splits
from directrix.reproductions.collection import Collection, available
from directrix.reproductions.donmez2009.settings import MEASURES, Artificial, Settings

ARTIFICIAL = "artificial"
"""Name of the artificial data."""


@dataclass(frozen=True, eq=False)
class MeasuredCollection(Collection):
    """Queries in folds, and the measures of their labels."""

    rel: int  # least label that is relevant to AP and RR: 2 where labels go to 4, as in the paper, else 1

    @property
    def measures(self) -> dict[str, str]:
        """Full names of `MEASURES`, such as "AP(rel=2)" for "AP"."""
        return {name: full_name(name, self.rel) for name in MEASURES}


def full_name(measure: str, rel: int) -> str:
    """Return one of `MEASURES` with its least relevant label: "AP(rel=2)" for "AP" and 2."""
    return f"{measure}(rel={rel})" if measure in ("AP", "RR") and rel != 1 else measure


def read(data: Path, settings: Settings) -> dict[str, MeasuredCollection]:
    """Read those LETOR collections that the data folder holds, and make the artificial data."""
    collections = {
        name: MeasuredCollection(
            name, letor_splits(data / "letor" / name)[: settings.letor_folds[name]], rel=1
        )
        for name in available(data, settings.letor_folds)
    }
    split, _ = artificial(settings.artificial, settings.seed)
    return {**collections, ARTIFICIAL: MeasuredCollection(ARTIFICIAL, (split,), rel=2)}


def artificial(size: Artificial, seed: int) -> tuple[Split, Split]:
    """Make the artificial data.

    Returns
    -------
    Split, Split
        With ``n_train`` training queries, and with as many as the largest of ``sizes``; the smaller set is
        the beginning of the larger. Both have the same validation and test queries.
    """
    held, most = size.n_test + size.n_valid, max((size.n_train, *size.sizes))
    queries = make_cubic(
        held + most, size.docs_per_query, size.n_features, n_monomials=size.n_monomials, seed=seed
    )
    test = queries.take(np.arange(size.n_test))
    valid = queries.take(np.arange(size.n_test, held))
    split, larger = (
        Split(ARTIFICIAL, queries.take(np.arange(held, held + n)), valid, test) for n in (size.n_train, most)
    )
    return split, larger
