"""Rows of features as scikit-learn checks them; dicts of columns and lazy frames become arrays and frames."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from directrix.data.checks import refuse_masked, unmasked
from directrix.data.frames import collected, encoded, is_dict, matrix_of
from directrix.errors import InputError

_ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}


def coded_rows(ranker: Any, X: Any, *labels: Any, reset: bool) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """Return `checked_rows`, and the names of the categories of the columns that have any."""
    X, names = encoded(X)
    return checked_rows(ranker, X, *labels, reset=reset), names


def checked_rows(ranker: Any, X: Any, *labels: Any, reset: bool) -> Any:
    """Return features, and labels if they are given, as arrays; ``reset`` keeps number and names of features.

    Columns of a dict are taken by name, in any order. Raises as `sklearn.utils.validation.validate_data`.
    """
    settings = {**_ROWS, "y_numeric": True} if labels else _ROWS
    for given in labels:
        refuse_masked(given, "y")
    if getattr(getattr(X, "dtype", None), "names", None):
        raise InputError(f"X has records of dtype {X.dtype}; one number in each cell is needed.")
    X = unmasked(X)
    if not is_dict(X):
        try:
            return validate_data(ranker, collected(X), *labels, reset=reset, **settings)
        except OverflowError as error:
            raise InputError(
                f"X or y holds a number that is no float ({error}); numbers up to 1e308 are needed. Type "
                "numpy.asarray(X, dtype=float) to find it."
            ) from None
    known = list(getattr(ranker, "feature_names_in_", X)) if not reset else list(X)
    if set(known) != set(X):
        raise InputError(
            f"X has the columns {', '.join(map(str, X))}; those of the training data, "
            f"{', '.join(map(str, known))}, are needed. Give {{name: X[name] for name in "
            "ranker.feature_names_in_}."
        )
    with warnings.catch_warnings():  # an array has no names
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        rows = matrix_of({name: X[name] for name in known})
        checked = validate_data(ranker, rows, *labels, reset=reset, **settings)
    if reset and all(isinstance(name, str) for name in known):
        ranker.feature_names_in_ = np.array(known, dtype=object)
    return checked
