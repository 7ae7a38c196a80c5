"""The folds of LETOR's collections, for the benchmarks that measure quality on them.

DATA holds letor/OHSUMED/Fold1/train.txt and so on; by default it is the folder that the environment
variable DIRECTRIX_DATA names, else ../shared/data next to the project.
"""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

import directrix as dx


class Split(NamedTuple):
    """One fold, read."""

    train: dx.Queries
    vali: dx.Queries
    test: dx.Queries


def read_folds(data: Path, collection: str) -> list[Split]:
    folds = dx.data.letor_folds(data / "letor" / collection)
    return [Split(*map(dx.read_letor, fold)) for fold in folds]


def add_data(parser: argparse.ArgumentParser) -> None:
    default = Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", default)))


def absent(data: Path) -> bool:
    """Print a note if the data are not there."""
    if (data / "letor" / "OHSUMED").is_dir():
        return False
    print(f"not measured: no letor/OHSUMED in {data}; give --data or set DIRECTRIX_DATA")
    return True


def versions() -> str:
    return (
        f"directrix {dx.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, {dx.get_threads()} thread(s)"
    )
