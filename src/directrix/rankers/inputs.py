"""`Training`: the checked arguments of ``fit``, in one form.

In: the arguments of ``fit``, in any form. Out: a `Training`, or an error that says what to type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from directrix.data.checks import check_labels, weights_of
from directrix.data.columns import LABELS, feature_label, nearest
from directrix.data.frames import is_frame, matrix_of
from directrix.data.memory import check_room
from directrix.data.missing import check_finite, read_as
from directrix.data.queries import Queries
from directrix.data.scale import SCALES, is_scale
from directrix.data.sparse import column_reader
from directrix.errors import Advice, InputError, short_text, warn
from directrix.measures.base import RankingMeasure, check_gains
from directrix.measures.names import measure as parse_measure
from directrix.measures.precision import unreached
from directrix.measures.prepared import check_judgments
from directrix.parameters import CHECKS, Checks, option, refusal, whole
from directrix.parsing import IN_MODULE
from directrix.rankers.scoring import check_same_features, recoded
from directrix.registry import SURROGATES, classes
from directrix.surrogates.approx import ApproxNDCG
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.types import Callback, Data, Float64Array, Result, Step

Weights = tuple[Float64Array | None, Float64Array | None]
"""Weights of documents, and of queries."""


def explain_rejected(X: Any, labels: Sequence[Any], error: Exception) -> None:
    """Raise `InputError` for rows that scikit-learn rejects with an ``error`` that names no column or row."""
    if is_frame(X):
        matrix_of(X)
    if "y contains NaN" in str(error):
        check_labels(*labels)


def document_weights(values: Any, q: Queries) -> Float64Array | None:
    """Weights of rows in the order of the input, brought into the order of ``q``."""
    if values is None:
        return None
    advice = "For one weight per query pass query_weight= instead."
    return weights_of(values, q.n_docs, "sample_weight", "row", advice)[q.rows]


def warn_if_trained_on(q: Queries, record: Mapping[str, Any], *, stacklevel: int) -> None:
    """Warn if a calibration uses the training queries that the record describes."""
    seen = record["data"]
    sizes = seen.get("queries"), seen.get("documents")
    # the digest, which reads all features, is computed only for data of the same size
    if sizes == (q.n_queries, q.n_docs) and seen.get("digest") == q.digest:
        warn(
            "calibrated on the training data of the model, which its scores fit better than other queries: "
            "the probabilities are too extreme.",
            advice=Advice("calibrate"),
            stacklevel=stacklevel + 1,
        )


def warn_of_labels(q: Queries) -> None:
    """Warn, at the caller of ``fit``, if a column called like labels holds the labels: it remained in X."""
    for i, name in enumerate(q.feature_names or ()):
        if name in LABELS and np.array_equal(column_reader(q.features)(i), q.labels):
            warn(
                f"the feature {name!r} holds the labels y, which data to rank lack. Type "
                f"X.drop(columns={name!r}).",
                stacklevel=4,
            )


def query_weights(values: Any, q: Queries) -> Float64Array | None:
    """Weights of queries, from a mapping by query id or an array in order of first appearance."""
    if values is None:
        return None
    if hasattr(values, "to_dict") and type(getattr(values, "index", None)).__name__ != "RangeIndex":
        # A pandas Series from groupby is sorted by query id, so its positions say nothing about ours.
        values = values.to_dict()
    if isinstance(values, dict):
        missing = [query for query in q.query_ids if query not in values]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InputError(
                f"query_weight has no entry for query {missing[0]!r}{more}; "
                "it needs a weight for every query id, or pass an array, for a Series x as x.to_numpy()."
            )
        values = [values[query] for query in q.query_ids]
    advice = "For one weight per row pass sample_weight= instead."
    return weights_of(values, q.n_queries, "query_weight", "query in order of first appearance", advice)


def row_weights(q: Queries, by_document: Any, by_query: Any) -> Float64Array | None:
    """Weight of every document with mean 1, from both kinds of weights; None if there are none."""
    if by_document is None and by_query is None:
        return None
    weights = np.ones(q.n_docs) if by_document is None else np.array(by_document, dtype=np.float64)
    if by_query is not None:
        weights *= np.repeat(np.asarray(by_query, dtype=np.float64), np.diff(q.qptr))
    # The mean is 1, so that a ridge penalty means the same with and without weights.
    mean = weights.mean()
    return None if mean == 0.0 else weights / mean


def one_set(eval_set: Any, eval_qid: Any, eval_group: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the validation set as (X, y), and its qid and group; both are empty without one.

    All may be in lists of one entry, as LightGBM takes them.

    Raises `InputError` if it holds several sets, or is not a pair.
    """
    if eval_set is None:
        if eval_qid is not None or eval_group is not None:
            raise InputError("eval_qid or eval_group is given without eval_set; pass eval_set=(X, y) too.")
        return (), {}
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
    return tuple(eval_set), {"qid": _unwrapped(eval_qid), "group": _unwrapped(eval_group)}


def _unwrapped(values: Any) -> Any:
    wrapped = isinstance(values, tuple | list) and len(values) == 1 and np.ndim(values[0]) == 1
    return values[0] if wrapped else values


# A training holds at least this number of vectors with a value per feature: weights, gradient, step, scale.
_VECTORS = 4
# Scores may grow as large as gains, 2^label, and must stay finite in the type of the features.
_HIGHEST_LABEL = {"float32": 100, "float64": 256}


def check_trainable(q: Data) -> None:
    """Raise `InputError` for data without rows, features or order, or with labels too high for grades."""
    if q.n_features == 0 or q.n_docs == 0:
        raise InputError(
            f"the training data have {q.n_docs} rows and {q.n_features} features; at least one of each is "
            "needed. A row reads `label qid:ID 1:0.5`."
        )
    check_room(
        _VECTORS * 8 * q.n_features,
        f"a training on {q.n_features:,} features",
        "Number the features without gaps, or leave some out.",
    )
    highest, kind = max(q.label_counts), str(q.features.dtype)
    if highest > _HIGHEST_LABEL[kind] and getattr(q, "counts", None) is None:
        raise InputError(
            f"the highest label of the training data is {highest:g}; labels are grades such as 0 to 4, up to "
            f"{_HIGHEST_LABEL[kind]} for {kind} features: scores as large as 2^label must fit into it.",
            Advice("grades"),
        )
    if not q.n_ordered:
        alike = f" (all are {highest:g})" if len(q.label_counts) == 1 else ""
        alike = " (one sample)" if q.n_docs == 1 else alike  # scikit-learn's checks look for these words
        raise InputError(
            f"no query of the training data has documents of different labels{alike}, so there is no "
            "order to learn; in some query one document must be better than another.",
            Advice("look-at-labels"),
        )


def check_training(q: Data, valid: Data | None, *, allow_missing: bool) -> None:
    """Raise `InputError` for training or validation data that no ranker, or not this one, can use."""
    check_finite(q, "the training data", allow_missing=allow_missing)
    if valid is not None:
        check_valid(valid, q, allow_missing=allow_missing)
    check_trainable(q)


def check_valid(
    valid: Data, q: Data, name: str = "the validation data", *, allow_missing: bool = False
) -> None:
    """Raise `InputError` for validation data with other features, or if `check_finite` does."""
    check_same_features(valid, q, name)
    check_finite(valid, name, allow_missing=allow_missing, rule=q.missing)


def same_rows(valid: Data, q: Data) -> bool:
    """Return whether two data sets have the same features, labels and queries."""
    return valid.n_docs == q.n_docs and valid.digest == q.digest


def check_measurable(measure: RankingMeasure, q: Queries) -> None:
    """Raise `InputError` for data on which a measure cannot be computed."""
    if measure.tie_rule == "trec" and q.doc_ids is None:
        raise InputError(
            f"{measure.name} breaks ties by document identifier, which the data do not have; add "
            f"`# docid = X` to every line (doc_ids= in Python), or break ties otherwise: "
            f"{type(measure).symbol}(ties=expected)."
        )
    check_gains(q, measure)
    check_reached(measure, q)
    if measure.sees == "subtopics":
        check_judgments(q.labels, q.qptr, measure.name)
    measure.check_labels(float(q.labels.max(initial=0.0)))


def check_reached(measure: Any, q: Data) -> None:
    """Raise `InputError` if a measure finds nothing relevant because all labels are below 1."""
    if text := unreached([measure], list(q.label_counts)):
        raise InputError(text)


def _check_surrogate(value: Any, name: str, owner: str) -> Any:
    # A class or a function passes here, because `surrogate_of` explains what is needed instead.
    if callable(value):
        return value
    wanted, example = "a name, or an object with value_and_grad", "'ApproxNDCG'"
    return option(
        value, name, owner, types=(str,), methods=("value_and_grad",), wanted=wanted, example=example
    )


def _check_scale(value: Any, name: str, owner: str) -> Any:
    if is_scale(value):
        return value
    wanted = f"{', '.join(map(repr, SCALES))}, or several of them joined by plus signs"
    raise refusal(value, name, owner, wanted, "'raw+query-percentile'")


def _check_random_state(value: Any, name: str, owner: str) -> Any:
    if isinstance(value, np.random.RandomState):
        return value
    return whole(value, name, owner, least=0, below=2**32, example=0)


RANKER_CHECKS: Checks = {
    **CHECKS,
    "surrogate": _check_surrogate,
    "scale": _check_scale,
    "random_state": _check_random_state,
    "monotone": partial(option, types=(dict,), wanted="a dict of 1 or -1 by feature", example="{0: 1}"),
}
"""Checks of the parameters that several rankers have."""


def surrogate_of(given: Any) -> Any:
    """Return the surrogate that a ranker was given, as an object or a text; `ApproxNDCG` for None.

    Raises `InputError` if it is a class, a measure, or a text that names no surrogate.
    """
    if given is None:
        return ApproxNDCG()
    if isinstance(given, type):
        raise InputError(
            f"surrogate={given.__name__} is a class; an object of it is needed: {given.__name__}()."
        )
    if not isinstance(given, str) and not hasattr(given, "value_and_grad"):
        raise InputError(
            f"surrogate={short_text(given)} is a function; a surrogate is an object, whose method "
            "value_and_grad(scores, labels, qptr) returns the value of each query, to be maximized, and its "
            "gradient. Write a class with it, or give a function of gradients to LightGBM itself."
        )
    if not isinstance(given, str):
        return given
    try:
        return parse_surrogate(given)
    except InputError as error:
        raise _refusal(given, error) from None


def _refusal(text: str, error: InputError) -> InputError:
    """The error for a text that names no surrogate: another one if it names a measure."""
    # Parsing it as a measure would import the module, and the text may come from a model file.
    if IN_MODULE.fullmatch(text):
        return error
    try:
        measure = parse_measure(text)
    except InputError:
        return error
    alternatives = (n for n, cls in classes(SURROGATES).items() if type(cls().measure) is type(measure))
    alternative = next(alternatives, "ApproxNDCG")
    return InputError(
        f"surrogate={text!r} is a measure, which has no gradient; a surrogate takes its place. Type "
        f"surrogate={alternative!r}, and measure={measure.name!r} in fit to report the measure."
    )


def measure_of(surrogate: Any) -> RankingMeasure:
    """Return the measure that a surrogate tends to, or raise `InputError` if it names none."""
    measure: RankingMeasure | None = getattr(surrogate, "measure", None)
    if measure is None:
        raise InputError(
            f'{surrogate!r} belongs to no measure; say what to report: fit(X, y, qid=qid, measure="nDCG@10").'
        )
    return measure


def goal_of(given: Any) -> RankingMeasure:
    """Return the measure to train for; `InputError` if it is only for reports."""
    goal = parse_measure(given)
    # The attribute is optional, since measures that users define need not have it.
    if getattr(goal, "instead", ""):
        raise InputError(
            f"{goal.name} is for reports and cannot be trained for; train for another measure, e.g. "
            f"{goal.instead}, and then evaluate with {goal.name}."
        )
    return goal


def refuse_categories(q: Data, ranker: Any) -> None:
    """Raise `InputError` for categories that a ranker cannot use; the message also names missing values."""
    columns = [i for i, names in enumerate(q.categories or ()) if names is not None]
    if ranker.takes_categories or not columns:
        return
    shown = ", ".join(feature_label(i, q.feature_names) for i in columns)
    also = [
        f", and {flaw.n:,} values are missing, first of {feature_label(flaw.column, q.feature_names)}"
        for flaw in q.flaws
        if np.isnan(flaw.value) and not ranker.takes_missing
    ]
    raise InputError(
        f"{shown} hold{'s' * (len(columns) == 1)} categories, whose order means nothing{''.join(also)}; "
        f"{type(ranker).__name__} {'takes neither' if also else 'compares numbers'}.",
        Advice("trees-for-categories"),
    )


def column_of(name: int | str, known: Sequence[str], n_features: int, parameter: str) -> int:
    """Return the column of a feature by its number from 0, or its name, as a ``parameter`` gives it."""
    if isinstance(name, str) and name in known:
        return known.index(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < n_features:
        return int(name)
    near = nearest(name, known) if isinstance(name, str) else ""
    raise InputError(
        f"{parameter} has {short_text(name)}; {f'did you mean {near!r}? The' if near else 'the'} data have "
        f"{n_features} features, numbered from 0"
        + (f", with the names {', '.join(known[:20])}." if known else " and without names.")
    )


@dataclass(frozen=True, eq=False)
class Training:
    """Data, measure and settings of one training run."""

    queries: Any  # `Data`
    valid: Any  # likewise, or None
    measure: Any  # None where ``fit`` was not told
    doc_weight: Float64Array | None = None
    query_weight: Float64Array | None = None
    callback: Callback | None = None
    verbose: int = 0  # print every n-th step
    patience: int | None = None  # of ``fit``, and in training that of the ranker where ``fit`` is not told
    scale: Any = None  # fitted; the queries are scaled by it
    names: tuple[str, ...] | None = None  # of the features, before they are scaled

    @property
    def n_columns(self) -> int:
        """Scaled columns of a feature."""
        return 1 if self.scale is None else int(self.scale.n_columns)

    @property
    def n_given(self) -> int:
        """Number of features, before they are scaled."""
        return int(self.queries.n_features) // self.n_columns

    def watched(self) -> Training:
        """Return the training with a callback that also prints every ``verbose``-th step."""
        if not self.verbose:
            return self
        return replace(self, callback=_joined([_printer(self.verbose, self.measure.name), self.callback]))


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """The outcome of one training run: a model, whose parameters are ``result.params``."""

    model: Any
    trainer: Any
    result: Result
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the ranker that a model file holds in another form: weights instead of a start."""


def training_for(  # noqa: PLR0913
    ranker: Any,
    q: Any,
    valid: Any,
    measure: RankingMeasure | str | None,
    weights: Weights,
    callback: Callback | Sequence[Callback] | None,
    verbose: Any,
    early_stopping_rounds: int | None,
) -> Training:
    """Check the arguments of ``fit``; see there."""
    which = "the validation data"
    valid = valid if valid is None or valid is q else read_as(valid, q.missing, which)
    refuse_categories(q, ranker)
    check_training(q, valid, allow_missing=ranker.takes_missing)
    if valid is not None and valid is not q:
        valid = recoded(valid, q.categories, which)
    # one object for both is a choice: that of a search on few queries
    if valid is not None and valid is not q and same_rows(valid, q):
        warn(
            "the validation queries hold the same rows as the training queries, so overfitting cannot be "
            "detected: the step that fits them most closely is kept. Give other queries, or leave them out.",
            stacklevel=4,
        )
    goal = None if measure is None else goal_of(measure)
    every = whole(int(verbose) if isinstance(verbose, bool) else verbose, "verbose", "fit", least=0)
    if early_stopping_rounds is not None:
        _check_stopping(ranker, valid, early_stopping_rounds)
    watch = None if callback is None else _joined(callback)
    return Training(q, valid, goal, *weights, watch, every, early_stopping_rounds, names=q.feature_names)


def _check_stopping(ranker: Any, valid: Any, rounds: Any) -> None:
    whole(rounds, "early_stopping_rounds", "fit")
    if not hasattr(ranker, "patience"):
        raise InputError(
            f"{type(ranker).__name__} takes no early_stopping_rounds: it trains several rankers, each with a "
            "patience of its own. Leave it out."
        )
    if valid is None:
        raise InputError(
            f"early_stopping_rounds={rounds} needs validation queries, which say when to stop: type "
            "eval_set=(X_valid, y_valid), eval_qid=qid_valid."
        )


def _joined(callbacks: Callback | Sequence[Callback | None]) -> Callback:
    """One callback that calls several; any of them ends the training."""
    several: Sequence[Any] = callbacks if isinstance(callbacks, list | tuple) else [callbacks]
    watchers = [callback for callback in several if callback is not None]
    for callback in watchers:
        if not callable(callback):
            raise InputError(
                f"callback={callback!r}: a function of one step is needed, or a list of such functions; type "
                "e.g. callback=lambda step: print(step.iteration, step.loss, step.score)."
            )

    def watch(step: Step) -> bool:
        # The list calls every callback; a generator would stop at the first that ends the training.
        return any([bool(callback(step)) for callback in watchers])

    return watch


def _printer(every: int, measure: str) -> Callable[[Step], None]:
    def show(step: Step) -> None:
        if step.iteration % every == 0:
            loss = "" if math.isnan(step.loss) else f"\tloss: {step.loss:.6g}"
            score = "" if math.isnan(step.score) else f"\tvalid {measure}: {step.score:.6g}"
            print(f"[{step.iteration}]{loss}{score}", flush=True)

    return show
