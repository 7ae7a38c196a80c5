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
    by_name,
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
from directrix.data.missing import check_cells, stated
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

    Columns of frames and dicts are taken by name, in any order. The features get the names of
    ``feature_names_in_`` of the ranker, and those that have categories in the model or the queries ``like``
    are coded. Without ``like`` the ranker takes number and names of its features from the rows.
    ``missing`` is the caller's rule; without one that of the model decides, and in training missing values
    are an error. Messages call the queries of the rows ``prefix`` + "qid".
    """
    rule = "error" if missing is None else missing
    if not labels and qid is None and group is None and _is_plain(X, ranker, like):
        check_cells(X, "nan", (), "row {}".format)
        n_docs = len(X)
        ends, rows = np.array([0, n_docs]), np.arange(n_docs)
        return stated(Queries(X, np.zeros(n_docs), ends, (0.0,), None, None, rows), rule)
    reset = like is None
    trained = [] if reset else list(getattr(ranker, "feature_names_in_", ()))
    if are_dicts(X):
        X = columns_of_rows(X, trained)
    X = by_name(collected(X), trained, "X", "Give the columns ranker.feature_names_in_.")
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
    return stated(queries, rule)


def _is_plain(X: Any, ranker: Any, like: Any) -> bool:
    """Return whether an array needs no checks of scikit-learn and no copy, which take longer than a list."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.flags.c_contiguous
        and len(X) > 0
        and like is not None
        and X.shape[1:] == (like.n_features,)
        and like.categories is None
        and not hasattr(ranker, "feature_names_in_")
    )


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

    Raises as `sklearn.utils.validation.validate_data`.
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
            return validate_data(ranker, X, *labels, reset=reset, **arguments)
        except OverflowError as error:
            raise InputError(
                f"X or y holds a number that is not a float ({error}); numbers up to 1e308 are needed. Type "
                "numpy.asarray(X, dtype=float) to find it."
            ) from None
        except (TypeError, ValueError) as error:
            explain_rejected(X, labels, error)
            raise
    # scikit-learn would warn that an array has no names; those of the dict have just been compared
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        checked = validate_data(ranker, matrix_of(X), *labels, reset=reset, **arguments)
    if reset and all(isinstance(name, str) for name in X):
        ranker.feature_names_in_ = np.array(list(X), dtype=object)
    return checked
