"""`export`: write a fitted ranker in the format of another program, after verification."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from directrix.data.columns import column_list
from directrix.data.files import check_replaceable, replacing
from directrix.data.queries import Queries, need_queries
from directrix.data.sparse import dense
from directrix.errors import InputError, short_text
from directrix.export.formula import Formula, Linear, formula_of
from directrix.export.target import ExportTarget, target
from directrix.export.trees import float32_below
from directrix.models.trees import Trees
from directrix.rankers.scoring import recoded
from directrix.types import Array, Float64Array

# A verification scores this number of random rows, in queries of 50.
_ROWS, _PER_QUERY = 2000, 50
# The random rows have at most this number of cells, so wide data do not fill the memory.
_CELLS = 20_000_000
# LightGBM takes numbers nearer to 0 for 0 when it reads rows.
_LIGHTGBM_ZERO = 1.1e-35
# The largest difference relative to the sum of the absolute terms of a score, in double precision, and in
# float32 (True).
_TOLERANCE = {False: 1e-9, True: 2e-5}


@dataclass(frozen=True)
class Verification:
    """Result of `export`: the comparison of scores; ``str`` gives a sentence.

    Attributes
    ----------
    reader : str or None
        Program that read the file back; None if no such program is installed.
    n_rows, n_queries : int
        Number of random rows and rows of the data together; number of queries of the data.
    difference : float
        Largest absolute difference of two scores.
    n_other_order : int
        Queries of the data in which two documents with different scores change places.
    n_rounded : int
        Rows whose scores differ only because features become float32.
    note : str
        Properties of the model that the file does not store; "" if none.
    """

    reader: str | None
    n_rows: int
    n_queries: int
    difference: float
    n_other_order: int
    n_rounded: int
    note: str

    def __str__(self) -> str:
        if self.reader is None:
            return "not verified: nothing is installed that reads it; type pip install 'directrix[export]'"
        order = ""
        if self.n_queries:
            same = f"{self.n_queries - self.n_other_order:,} of {self.n_queries:,}"
            order = f", same order in {'all' if not self.n_other_order else same} queries"
        rounded = f"; of rows that float32 features change: {self.n_rounded:,}" if self.n_rounded else ""
        return (
            f"verified with {self.reader}: {self.n_rows:,} rows, largest difference {self.difference:.2g}"
            f"{order}{rounded}"
        )


def export(
    ranker: Any,
    path: str | os.PathLike[str],
    *,
    to: str,
    check: Queries | None = None,
    queries: Mapping[str, Any] | None = None,
) -> Verification:
    """Write a fitted ranker in the format of another program, after verifying its scores.

    Scales that use the training data are folded into the model if the format has none.

    Parameters
    ----------
    ranker : fitted ranker
    path : path
        The file to write; an existing one is replaced.
    to : str
        Name of a target, such as "onnx", "lightgbm", "solr", "sql" or "python"; the how-to guide "Export a
        model to an engine" and the message for an unknown name list all. A version may follow, as in
        "opensearch:3.5", for engines whose versions differ; without one, the file is for the versions that
        its note names, or for all.
    check : Queries, optional
        Data whose scores are compared, in addition to 2,000 random rows.
    queries : mapping from feature to query, optional
        For "elastic": queries of Elasticsearch that compute the features, such as
        ``{"title": {"match": {"title": "{{query}}"}}}``.

    Returns
    -------
    Verification
        The program that read the file back, the largest difference, and whether any order changed.

    Raises
    ------
    InputError
        If the format does not support the model (the message names one that does), features are scaled by
        query, queries are given for other features or for another format, or the scores differ by more than
        rounding. Nothing is written then.
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
    if queries is not None:
        formula = formula._replace(queries=_checked_queries(queries, chosen, formula))
    content = chosen.content(formula)
    verified = verify(content, chosen, formula, ranker, check)
    with replacing(place) as file:
        file.write(content)
    return verified


def _checked_queries(queries: Any, chosen: ExportTarget, formula: Formula) -> Mapping[str, Any]:
    if not chosen.takes_queries:
        raise InputError(f"{chosen.title} has no queries of features; leave out queries, or choose elastic.")
    if not isinstance(queries, Mapping) or not all(isinstance(query, Mapping) for query in queries.values()):
        raise InputError(
            f"queries must be a query by feature, got {short_text(queries)}; type e.g. "
            '{"title": {"match": {"title": "{{query}}"}}}.'
        )
    if unknown := sorted(map(str, queries.keys() - set(formula.all_names))):
        raise InputError(
            f"queries has {column_list(unknown)}, and the features of the model are "
            f"{column_list(formula.all_names)}; name these."
        )
    return queries


def verify(
    content: bytes, chosen: ExportTarget, formula: Formula, ranker: Any, check: Queries | None = None
) -> Verification:
    """Read an export back and compare its scores with those of the ranker.

    The rows have values on thresholds, their neighbors, zeros, and missing values if ranker and target
    support them; then come those of ``check``.

    Raises
    ------
    InputError
        If a score differs by more than rounding explains.
    """
    note = _note(chosen, formula)
    reader = chosen.reader
    if reader is None:
        return Verification(None, 0, 0, 0.0, 0, 0, note)
    trained = ranker.trained()
    takes_missing = trained.takes_missing or trained.missing_ == "zero"
    collections = [_random_rows(formula, chosen, missing=takes_missing and not chosen.fills(formula))]
    if check is not None:
        # Features are read in memory and in float64, and categories as the model numbers them.
        q = recoded(check, formula.categories)
        features = np.ascontiguousarray(dense(q.features), dtype=np.float64)
        collections.append(replace(q, features=features))
    # How the program reads missing features matters if there were some in training, or are some in the data.
    if trained.training_["data"].get("missing") or np.isnan(collections[-1].features).any():
        chosen.check_filled(formula)
    constant = 0.0 if chosen.keeps_constant else _constant(formula)
    compared = [_compare(content, chosen, formula, ranker, q, constant) for q in collections]
    differences, rounded, other_order = zip(*compared, strict=True)
    return Verification(
        reader,
        sum(q.n_docs for q in collections),
        0 if check is None else check.n_queries,
        max(differences),
        other_order[-1] if check is not None else 0,
        sum(rounded),
        note,
    )


def _compare(
    content: bytes, chosen: ExportTarget, formula: Formula, ranker: Any, q: Queries, constant: float
) -> tuple[float, int, int]:
    """Return the largest difference, rows that rounded features explain, and queries in another order."""
    ours = ranker.predict_queries(q)
    theirs = chosen.read(content, formula, q.features)
    if formula.calibration is not None:
        theirs, probabilities = theirs.T
        # The expected probability is that of the program's score, since a steep curve magnifies rounding.
        expected = formula.calibration(theirs)
        bad = ~(np.abs(probabilities - expected) <= _TOLERANCE[False])
        _check(chosen, "probabilities", bad, expected, probabilities)
    theirs = theirs + constant
    limit = _TOLERANCE[chosen.is_single] * _sizes(formula, q.features, ours)
    bad = ~(np.abs(theirs - ours) <= limit)
    n_rounded = 0
    if bad.any() and chosen.rounds_features(formula):
        single = replace(q, features=q.features.astype(np.float32).astype(np.float64))
        scores = chosen.read(content, formula, single.features)
        scores = scores + constant if formula.calibration is None else scores[:, 0] + constant
        explained = bad & (np.abs(scores - ranker.predict_queries(single)) <= limit)
        n_rounded, bad = int(explained.sum()), bad & ~explained
    _check(chosen, "scores", bad, ours, theirs)
    order = sum(_changes_order(ours[a:b], theirs[a:b]) for a, b in zip(q.qptr[:-1], q.qptr[1:], strict=True))
    return float(np.abs(theirs - ours).max(initial=0.0)), n_rounded, order


def _check(chosen: ExportTarget, what: str, bad: Array, ours: Float64Array, theirs: Float64Array) -> None:
    """Raise `InputError` if a row is bad."""
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{chosen.title}: read back by {chosen.reader}, {int(bad.sum()):,} of {len(ours):,} rows have "
            f"other {what}; the first is row {row} with {theirs[row].item()} for {ours[row].item()}. Nothing "
            "is written; choose another target, e.g. python, and report this model."
        )


def _changes_order(ours: Float64Array, theirs: Float64Array) -> bool:
    """Whether two documents with different scores on both sides change places."""
    order = np.lexsort((-ours, -theirs))
    # A document after a fall of the program's scores must not have a higher score here than one before it.
    highest_after = np.maximum.accumulate(ours[order][::-1])[::-1]
    falls = np.flatnonzero(np.diff(theirs[order]) < 0.0)
    return bool((highest_after[falls + 1] > np.minimum.accumulate(ours[order])[falls]).any())


def _sizes(formula: Formula, X: Array, ours: Float64Array) -> Float64Array:
    """Return the sum of the absolute terms of the score of each row, which its rounding is relative to.

    For a tree the largest leaf counts; for a network, whose sums are hidden, the largest score.
    """
    sizes = np.abs(ours)
    for model, inputs in formula.parts:
        if isinstance(model, Linear):
            sizes += abs(model.constant)
            for weight, entry in zip(np.abs(model.weights).tolist(), inputs, strict=True):
                column = entry.of(X[:, entry.feature])
                sizes += weight * np.abs(np.where(np.isnan(column), entry.missing or 0.0, column))
        elif isinstance(model, Trees):
            # These are the first leaves of the trees, where reduceat starts another sum.
            first = np.append(0, np.cumsum(model.n_leaves))[:-1]
            sizes += np.maximum.reduceat(np.abs(model.leaf), first).sum()
        else:
            sizes += np.abs(ours).max(initial=0.0)
    return np.maximum(sizes, 1e-300)


def _constant(formula: Formula) -> float:
    models = (summand.model for summand in formula.parts)
    return sum(model.constant for model in models if isinstance(model, Linear))


def _note(chosen: ExportTarget, formula: Formula) -> str:
    """Return what the user must know of the file."""
    notes = [*filter(None, [chosen.note(formula)])]
    if not chosen.keeps_constant and (constant := _constant(formula)):
        notes.append(
            f"scores there are {'lower' if constant > 0 else 'higher'} by {abs(constant):.6g}: no order "
            "depends on it"
        )
    if chosen.fills(formula):
        notes.append(
            "a missing feature counts 0 there, and the model takes the mean of the training data for it"
        )
    trees = [summand.model for summand in formula.parts if isinstance(summand.model, Trees)]
    if chosen.has_contributions and not all(model.count.all() for model in trees):
        notes.append(
            "contributions take both sides of a step for equally frequent, because stumps keep no counts"
        )
    return "; ".join(notes)


def _random_rows(formula: Formula, chosen: ExportTarget, *, missing: bool) -> Queries:
    """Return rows whose features are thresholds, their neighbors, zeros, others, and missing."""
    rng = np.random.default_rng(0)
    n_rows = max(_PER_QUERY, min(_ROWS, _CELLS // formula.n_features))
    X = np.zeros((n_rows, formula.n_features))
    is_rounded = chosen.rounds_features(formula)
    kind = np.float32 if is_rounded else np.float64
    for feature, values in _values(formula).items():
        if (codes := _codes(formula, feature)) is not None:
            X[:, feature] = rng.choice(codes, n_rows)
            continue
        numbers = (float32_below(values) if is_rounded else values).astype(kind)
        held = chosen.held(numbers)
        with np.errstate(over="ignore"):
            below = np.nextafter(np.minimum(numbers, held), kind(-np.inf))
            above = np.nextafter(np.maximum(numbers, held), kind(np.inf))
        pool = np.concatenate(
            [numbers[numbers == held], below, above, np.zeros(1 + len(numbers) // 10, kind)]
        )
        pool[np.abs(pool) <= _LIGHTGBM_ZERO] = 0.0
        # The ends of the range stand for a missing feature in some files.
        X[:, feature] = rng.choice(pool[np.abs(pool) < np.finfo(kind).max], n_rows).astype(np.float64)
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    # Orders are compared only in the queries of the data, so these are of any size.
    qid = np.arange(n_rows) // _PER_QUERY
    q = Queries.from_arrays(X, np.zeros(n_rows), qid=qid, feature_names=formula.names, missing="nan")
    return replace(q, categories=formula.categories)


def _codes(formula: Formula, feature: int) -> Array | None:
    """Return the numbers of the categories of a feature, and one more; None for a feature of numbers."""
    if formula.categories is not None and (names := formula.categories[feature]) is not None:
        return np.arange(len(names) + 1)
    trees = [summand.model for summand in formula.parts if isinstance(summand.model, Trees)]
    sets = [codes for tree in trees if feature in tree.categorical for codes in tree.categories]
    if not sets:
        return None
    seen = np.unique(np.concatenate(sets))
    return np.append(seen, seen[-1] + 1)


def _values(formula: Formula) -> dict[int, Float64Array]:
    """Return values of each used feature where something changes, or some about its mean."""
    rng, collected = np.random.default_rng(1), dict[int, list[Array]]()
    for model, inputs in formula.parts:
        if isinstance(model, Trees):
            for feature in np.unique(model.feature).tolist():
                collected.setdefault(inputs[feature].feature, []).append(
                    model.threshold[model.feature == feature]
                )
            continue
        for entry in inputs:
            width = 1.0 / entry.factor if entry.factor else 1.0
            center = entry.center if entry.missing is None or not entry.is_feature else entry.missing
            values = np.array(entry.knots) if entry.knots else center + width * rng.normal(size=200)
            collected.setdefault(entry.feature, []).append(values)
    return {feature: np.concatenate(values) for feature, values in collected.items()}
