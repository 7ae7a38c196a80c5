"""What users pass: weights and validation sets in one form, and refusals of data and surrogates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from directrix.data.audits import has_order
from directrix.data.checks import has_finite_sum, weights_of
from directrix.data.memory import check_room
from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.measures.precision import unreached
from directrix.registry import SURROGATES, classes
from directrix.surrogates.approx import ApproxNDCG
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.types import Float64Array, is_sparse

Weights = tuple[Float64Array | None, Float64Array | None]
"""Of documents, and of queries."""


def per_document(values: Any, q: Queries, name: str) -> Float64Array | None:
    """Weights of rows in the order of the input, brought into the order of ``q``."""
    if values is None:
        return None
    advice = "For one weight per query pass query_weight= instead."
    return weights_of(values, q.n_docs, name, "row", advice)[q.rows]


def per_query(values: Any, q: Queries, name: str) -> Float64Array | None:
    """Weights of queries, from a mapping by query id or an array in order of first appearance."""
    if values is None:
        return None
    if isinstance(values, dict):
        missing = [query for query in q.query_ids if query not in values]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InputError(
                f"{name} has no entry for query {missing[0]!r}{more}; "
                "it needs a weight for every query id, or pass an array."
            )
        values = [values[query] for query in q.query_ids]
    advice = "For one weight per row pass sample_weight= instead."
    return weights_of(values, q.n_queries, name, "query in order of first appearance", advice)


def row_weights(q: Queries, by_document: Any, by_query: Any) -> Float64Array | None:
    """Weight of every document with mean 1, from both kinds of weights; None if there are none."""
    if by_document is None and by_query is None:
        return None
    weights = np.ones(q.n_docs) if by_document is None else np.array(by_document, dtype=np.float64)
    if by_query is not None:
        weights *= np.repeat(np.asarray(by_query, dtype=np.float64), np.diff(q.qptr))
    mean = weights.mean()
    return None if mean == 0.0 else weights / mean


def one_set(eval_set: Any, eval_qid: Any, eval_group: Any) -> tuple[Any, Any, Any, Any] | None:
    """Return the validation set as (X, y, qid, group), out of the lists of one entry that LightGBM takes.

    Raises `InputError` if it holds several sets, or is not a pair.
    """
    if eval_set is None:
        if eval_qid is not None or eval_group is not None:
            raise InputError("eval_qid or eval_group is given without eval_set; pass eval_set=(X, y) too.")
        return None
    if isinstance(eval_set, list) and all(isinstance(entry, tuple | list) for entry in eval_set):
        if len(eval_set) != 1:
            raise InputError(
                f"eval_set holds {len(eval_set)} sets; one is used to choose the iteration: "
                "pass eval_set=[(X, y)]."
            )
        eval_set = eval_set[0]
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
        raise InputError(
            f"eval_set is a {type(eval_set).__name__}; it needs features and labels: "
            "eval_set=(X, y), eval_qid=qid."
        )
    return eval_set[0], eval_set[1], _unwrapped(eval_qid), _unwrapped(eval_group)


def _unwrapped(values: Any) -> Any:
    wrapped = isinstance(values, tuple | list) and len(values) == 1 and np.ndim(values[0]) == 1
    return values[0] if wrapped else values


_VECTORS = 4  # with a value per feature: weights, gradient, step and scale at least
_HIGHEST_LABEL = {"float32": 100, "float64": 256}  # by the type of features, and of scores as large as gains
_FILL = {
    "python": "Type scale='log' or scale='standard', which fill in the mean of the training data, or use "
    "trees, which take it as it is: BoostedRanker(); or read it as 0: missing='zero'.",
    "shell": "Type --scale log or --scale standard, which fill in the mean of the training data, or use "
    "trees, which take it as it is: --method YetiRank; or read it as 0: --missing zero.",
}
_CLIP = {
    "python": "Clip the column, e.g. numpy.clip(X, -1e30, 1e30), or drop these rows.",
    "shell": "Clip the column, or drop these rows.",
}

_CHECKED: WeakKeyDictionary[Queries, bool] = WeakKeyDictionary()
"""Whether data whose features stay in a file may have missing values: a search reads them only once."""


def check_trainable(q: Queries | ShardedQueries) -> None:
    """Raise `InputError` for data without rows, features or order, or with labels too high for grades."""
    if q.n_features == 0 or q.n_docs == 0:
        raise InputError(
            f"the training data have {q.n_docs} rows and {q.n_features} features; at least one of each is "
            "needed. A row reads `label qid:ID 1:0.5`."
        )
    check_room(
        _VECTORS * 8 * q.n_features,
        f"a training on {q.n_features:,} features",
        python="Number the features without gaps, or leave some out.",
    )
    labels = q.checked_labels() if isinstance(q, ShardedQueries) else q.labels
    highest, kind = float(labels.max()), str(q.features.dtype)
    if highest > _HIGHEST_LABEL[kind]:
        raise InputError(
            f"the highest label of the training data is {highest:g}; labels are grades such as 0 to 4, up to "
            f"{_HIGHEST_LABEL[kind]} for {kind} features: scores as large as 2^label must fit into it.",
            python="Map them to grades, e.g. y = numpy.digitize(y, thresholds).",
            shell="Map them to grades.",
        )
    if not (q.manifest.n_ordered if isinstance(q, ShardedQueries) else has_order(q)):
        alike = f" (all are {highest:g})" if highest == labels.min() else ""
        alike = " (one sample)" if q.n_docs == 1 else alike  # scikit-learn's checks look for these words
        raise InputError(
            f"no query of the training data has documents of different labels{alike}, so there is no "
            "order to learn; in some query one document must be better than another.",
            python="Check labels and qid: numpy.unique(y), numpy.unique(qid, return_counts=True).",
            shell="Look at the labels and queries with `directrix doctor FILE`.",
        )


def check_training(
    q: Queries | ShardedQueries, valid: Queries | ShardedQueries | None, *, allow_missing: bool
) -> None:
    """Raise `InputError` for training or validation data that no ranker can use, or this one."""
    check_finite(q, "the training data", allow_missing=allow_missing)
    if valid is not None:
        check_valid(valid, q, allow_missing=allow_missing)
    check_trainable(q)


def check_valid(
    valid: Queries | ShardedQueries, q: Queries | ShardedQueries, *, allow_missing: bool = False
) -> None:
    """Raise `InputError` for validation data with other features, or as `check_finite`."""
    if valid.n_features != q.n_features:
        raise InputError(
            f"the validation data have {valid.n_features} features, the training data {q.n_features}; both "
            "must have the same ones.",
            python="Read files with read_letor(path, n_features=...).",
            shell="Give files with the same features.",
        )
    check_names(valid, q.feature_names, "the validation data")
    check_finite(valid, "the validation data", allow_missing=allow_missing)


def check_names(q: Queries | ShardedQueries, names: Iterable[str] | None, which: str = "the data") -> None:
    """Raise `InputError` if data name features otherwise than a model, or in another order."""
    if q.feature_names is None or names is None or q.feature_names == (known := tuple(names)):
        return
    column = next(i for i, pair in enumerate(zip(q.feature_names, known, strict=True)) if pair[0] != pair[1])
    raise InputError(
        f"column {column + 1} of {which} is {q.feature_names[column]!r}, of the training data "
        f"{known[column]!r}; both must have the same features in the same order.",
        python="Bring them into the same order, frame[names], or take them by position: "
        "dataclasses.replace(q, feature_names=None).",
        shell="Give data with the same features.",
    )


def check_finite(q: Queries | ShardedQueries, name: str, *, allow_missing: bool = False) -> None:
    """Raise `InputError` at the first feature that is infinite, or NaN unless that is allowed; one pass."""
    if isinstance(q, ShardedQueries):
        gaps = q.manifest.missing
        if gaps.any() and not allow_missing:
            column = int(gaps.argmax())
            raise InputError(
                f"{q.features.folder}: feature {column + 1} of {name} is missing (NaN) in "
                f"{int(gaps[column]):,} documents; this model takes no missing values (NaN).",
                **_FILL,
            )
        return
    if isinstance(q.features, StoredFeatures):
        if allow_missing >= _CHECKED.get(q, True) and q in _CHECKED:
            return
        missing = False
        for first, rows in q.features.blocks(q.qptr):
            part = replace(q, features=rows, rows=q.rows[first : first + len(rows)])
            check_finite(part, name, allow_missing=allow_missing)
            missing = missing or not has_finite_sum(rows)
        _CHECKED[q] = missing
        return
    values = q.features.data if is_sparse(q.features) else q.features
    if has_finite_sum(values):  # no copy; what only overflows is looked at again
        return
    bad = np.flatnonzero(np.isinf(values) if allow_missing else ~np.isfinite(values))
    if not bad.size:
        return
    if is_sparse(q.features):
        row = int(np.searchsorted(q.features.indptr, bad[0], side="right")) - 1
        column = int(q.features.indices[bad[0]])
    else:
        row, column = divmod(int(bad[0]), q.n_features)
    value = values.ravel()[bad[0]]
    raise InputError(
        f"row {q.rows[row]} of {name}: feature {column + 1} is {value:g}, and {bad.size - 1:,} more are not "
        f"finite; this model takes no {'missing values (NaN)' if np.isnan(value) else 'infinite values'}.",
        **(_FILL if np.isnan(value) else _CLIP),
    )


def missing_values(q: Queries | ShardedQueries) -> int:
    """Return the number of features that are NaN, of data that `check_finite` accepted."""
    if isinstance(q, ShardedQueries):
        return int(q.manifest.missing.sum())
    if isinstance(q.features, StoredFeatures):
        if not _CHECKED.get(q):
            return 0
        return sum(int(np.isnan(rows).sum()) for _, rows in q.features.blocks(q.qptr))
    values = q.features.data if is_sparse(q.features) else q.features
    return 0 if has_finite_sum(values) else int(np.isnan(values).sum())


def check_scores(scores: Float64Array, q: Queries, *, allow_missing: bool = False) -> None:
    """Raise `InputError` at the first score that is NaN or infinite, or at the feature that made it so."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        check_finite(q, "the data", allow_missing=allow_missing)
        raise InputError(
            f"the score of row {q.rows[bad[0]]} is {scores[bad[0]]:g}, because its features are too large; "
            f"{bad.size:,} of {len(scores):,} scores are not finite.",
            **_CLIP,
        )


def check_measurable(measure: RankingMeasure, q: Queries) -> None:
    """Raise `InputError` for data on which a measure cannot be computed."""
    if measure.tie_rule == "trec" and q.doc_ids is None:
        raise InputError(
            f"{measure.name} breaks ties by document identifier, which the data do not have; add "
            f"`# docid = X` to every line (doc_ids= in Python), or break ties otherwise: "
            f"{type(measure).symbol}(ties=expected)."
        )
    check_reached(measure, q)
    measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)


def check_reached(measure: Any, q: Queries | ShardedQueries) -> None:
    """Raise `InputError` if a measure finds nothing relevant because all labels are below 1."""
    labels = list(q.manifest.labels) if isinstance(q, ShardedQueries) else q.labels
    if text := unreached([measure], labels):
        raise InputError(text)


def surrogate_of(given: Any) -> Any:
    """Return the surrogate that a ranker was given, or named by text; without one `ApproxNDCG`.

    Raises `InputError` if it is a class, a measure, or a text that names no surrogate.
    """
    if given is None:
        return ApproxNDCG()
    if isinstance(given, type):
        raise InputError(
            f"surrogate={given.__name__} is a class; an object of it is needed: {given.__name__}()."
        )
    if not isinstance(given, str):
        return given
    try:
        return parse_surrogate(given)
    except InputError as error:
        raise _refusal(given, error) from None


def _refusal(given: str, error: InputError) -> InputError:
    """The error for a text that names no surrogate: another one if it names a measure."""
    try:
        measure = parse_measure(given)
    except InputError:
        return error
    twins = (n for n, cls in classes(SURROGATES).items() if type(cls().measure) is type(measure))
    twin = next(twins, "ApproxNDCG")
    return InputError(
        f"surrogate={given!r} is a measure, which has no gradient; a surrogate takes its place. Type "
        f"surrogate={twin!r}, and measure={measure.name!r} in fit to report the measure."
    )
