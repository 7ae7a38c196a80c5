"""Rows of documents, as users give them, as `Queries`: checked by scikit-learn, with categories coded."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from directrix.data.checks import as_floats, is_missing, reject_masked, unmasked
from directrix.data.frames import (
    Categories,
    are_dicts,
    by_column,
    cells_of,
    collected,
    columns_of,
    columns_of_rows,
    encoded,
    is_dict,
    is_frame,
    matrix_of,
)
from directrix.data.grouping import require_queries
from directrix.data.missing import stated
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.rankers.fitted import FittedModel
from directrix.rankers.inputs import explain_rejected

# An infinite or missing value is found later, where the error names its row, query and column.
_ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}


def queries_of(
    ranker: Any,
    X: Any,
    *labels: Any,
    qid: Any = None,
    group: Any = None,
    like: FittedModel | Queries | None,
    missing: str | None = None,
    prefix: str = "",
) -> Queries:
    """Return rows as queries; without labels, which are then 0, they may also lack qid and group.

    The features get the names of ``feature_names_in_`` of the ranker, and those that have categories in the
    model or the queries ``like`` are coded. Without ``like`` the ranker takes number and names of its
    features from the rows.
    ``missing`` is the caller's rule; without one that of the model decides, and in training missing values
    are an error. Messages call the queries of the rows ``prefix`` + "qid".
    """
    reset = like is None
    trained = () if reset else getattr(ranker, "feature_names_in_", ())
    if are_dicts(X):
        X = columns_of_rows(X, trained)
    X, coded = encoded(X, _columns_with_texts(X, trained, None if like is None else like.categories))
    if labels:
        X, y = _checked_rows(ranker, X, *labels, reset=reset)
        require_queries(qid, group, len(y), prefix)
    else:
        X = _checked_rows(ranker, X, reset=reset)
        y, qid = np.zeros(X.shape[0]), np.zeros(X.shape[0]) if qid is None and group is None else qid
    names = getattr(ranker, "feature_names_in_", None)
    names = None if names is None else names.tolist()
    queries = Queries.from_arrays(X, y, qid=qid, group=group, feature_names=names, missing="nan")
    queries = replace(queries, categories=by_column(coded, names or ()), missing="error")
    return stated(queries, "error" if missing is None else missing)


def _columns_with_texts(X: Any, trained: Any, categories: Categories | None) -> list[Any]:
    """Return the columns that held categories in training and now hold text, or missing values alone."""
    names = [name for name, texts in zip(trained, categories or (), strict=False) if texts is not None]
    columns = columns_of(X) if names and is_frame(X) else {}
    cells = {name: cells_of(columns.get(name, ())) for name in names}
    return [
        name
        for name, values in cells.items()
        if any(isinstance(value, str) for value in values) or all(map(is_missing, values))
    ]


def _checked_rows(ranker: Any, X: Any, *labels: Any, reset: bool) -> Any:
    """Return features, and labels if they are given, as arrays; ``reset`` keeps number and names of features.

    Columns of a dict are taken by name, in any order. Raises as `sklearn.utils.validation.validate_data`.
    """
    arguments = {**_ROWS, "y_numeric": True} if labels else _ROWS
    for values in labels:
        reject_masked(values, "y")
    if getattr(getattr(X, "dtype", None), "names", None):
        raise InputError(f"X has records of dtype {X.dtype}; one number in each cell is needed.")
    X = unmasked(X)
    if isinstance(X, list | tuple):
        # None and pandas.NA are missing in lists, as they are in frames
        X = as_floats(X, "X", "a row of numbers per document")
    if not is_dict(X):
        try:
            return validate_data(ranker, collected(X), *labels, reset=reset, **arguments)
        except OverflowError as error:
            raise InputError(
                f"X or y holds a number that is not a float ({error}); numbers up to 1e308 are needed. Type "
                "numpy.asarray(X, dtype=float) to find it."
            ) from None
        except (TypeError, ValueError) as error:
            explain_rejected(X, labels, () if reset else getattr(ranker, "feature_names_in_", ()), error)
            raise
    names = list(getattr(ranker, "feature_names_in_", X)) if not reset else list(X)
    if set(names) != set(X):
        raise InputError(
            f"X has the columns {', '.join(map(str, X))}; those of the training data, "
            f"{', '.join(map(str, names))}, are needed. Give {{name: X[name] for name in "
            "ranker.feature_names_in_}."
        )
    # scikit-learn would warn that an array has no names; those of the dict have just been compared
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        rows = matrix_of({name: X[name] for name in names})
        checked = validate_data(ranker, rows, *labels, reset=reset, **arguments)
    if reset and all(isinstance(name, str) for name in names):
        ranker.feature_names_in_ = np.array(names, dtype=object)
    return checked
