"""`export`: a fitted ranker in the format of another program, verified before it is written."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from directrix.data.files import check_replaceable, replacing
from directrix.data.queries import Queries, need_queries
from directrix.errors import InputError, short_text
from directrix.export.of_ranker import formula_of
from directrix.export.target import ExportTarget
from directrix.export.verification import Verification, verify
from directrix.registry import TARGETS


def target(name: str) -> ExportTarget:
    """Return a target by name; `InputError` if there is none of this name."""
    if name not in TARGETS:
        raise InputError(f"to={short_text(name)}: there is no such target; type one of {', '.join(TARGETS)}.")
    found: ExportTarget = import_module(f"directrix.{TARGETS[name]}").TARGET
    return found


def export(
    ranker: Any, path: str | os.PathLike[str], *, to: str, check: Queries | None = None
) -> Verification:
    """Write a fitted ranker in the format of another program, once its scores there are verified.

    Scales that use the training data are folded into the model where the format has none.

    Parameters
    ----------
    ranker : fitted ranker
    path : path
        The file to write; an existing one is replaced.
    to : str
        "onnx", "xgboost" (JSON), "lightgbm" (text), "ranklib", "solr", "elasticsearch" or "opensearch" (the
        learning-to-rank plugin), "elastic" (Elastic's own inference), "vespa" (a rank profile), "sql" (a
        SELECT for PostgreSQL, SQLite, DuckDB), "python" (one file without dependencies).
    check : Queries, optional
        Data whose scores are compared, in addition to 2,000 drawn rows.

    Returns
    -------
    Verification
        What read the file back, the largest difference, and whether any order changed.

    Raises
    ------
    InputError
        If the format cannot carry the model (the message names one that can), features are scaled by query,
        or scores there differ by more than rounding; nothing is then written.
    MissingExtra
        For "onnx" without the package onnx.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> ranker = dx.LinearRanker(scale="standard").fit_queries(q)
    >>> found = dx.export(ranker, pathlib.Path(tempfile.mkdtemp(), "model.sql"), to="sql", check=q)
    >>> found.n_rows, found.n_queries, found.n_other_order
    (2200, 20, 0)
    """
    chosen, place = target(to), Path(path)
    check_is_fitted(ranker)
    if check is not None:
        need_queries(check, "export")
    check_replaceable(place)
    formula = formula_of(ranker)
    content = chosen.write(formula)
    verified = verify(content, chosen, formula, ranker, check)
    with replacing(place) as file:
        file.write(content)
    return verified
