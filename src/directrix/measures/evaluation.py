"""Evaluate many measures in one call, under one convention or under all, also by segments of queries.

In: names of measures, and scores with labels or a run with judgments. Out: an `Evaluation`, a dict of means:

>>> result = evaluate(["nDCG@10", "RR"], [0.2, 0.7, 0.1], [1, 0, 1], qid=["a", "a", "a"])
>>> result["RR"], result.skipped
(0.5, {'nDCG@10': 0, 'RR': 0})
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar, Unpack, overload

import numpy as np

from directrix.data.checks import as_array, check_flat, check_length
from directrix.data.frames import names_of
from directrix.data.grouping import rows_by_query
from directrix.data.trec.join import Judged, join_trec, qrels_of, run_of, unmatched
from directrix.errors import Advice, InputError, warn
from directrix.measures.bootstrap import mean_interval
from directrix.measures.convention import convention as find_convention
from directrix.measures.convention import conventions
from directrix.measures.names import listed, measure
from directrix.measures.precision import unreached
from directrix.measures.prepared import IdsNeeded, Prepared
from directrix.measures.sampled import are_told, check_sampling, estimates_for_full_lists, note_of
from directrix.measures.segments import segments_of
from directrix.types import Array, Float64Array, Int64Array

if TYPE_CHECKING:
    from directrix.measures.base import RankingMeasure
    from directrix.measures.convention import Convention

# The key of the measures as they were given, among the names of conventions.
# Name of directrix's own convention in the result of `evaluate_conventions`.
_BASE = "default"
_NO_IDS = "ties are broken by document id, some documents tie, and they have no ids"


V = TypeVar("V")
"""Value of a measure: a mean, or an array with ``per_query=True``."""


class Evaluation(dict[str, V], Generic[V]):
    """Result of `evaluate`: a dict from the names of the measures to their values.

    Examples
    --------
    >>> of_query = {"a": "short", "b": "long", "c": "long"}
    >>> qid, scores, labels = list("aabbcc"), [2, 1, 2, 1, 2, 1], [1, 0, 0, 1, 0, 1]
    >>> result = evaluate("AP", scores, labels, qid=qid, by=of_query, intervals=True)
    >>> dict(result.segments)
    {'long': {'AP': 0.5}, 'short': {'AP': 1.0}}
    >>> result.segments["long"].intervals, result.segments["short"].intervals  # too few queries
    ({'AP': None}, {'AP': None})
    """

    mean: dict[str, float]
    """Mean over the queries that the measure did not skip, NaN if it skipped all; or its `summary`."""
    skipped: dict[str, int]
    """Number of queries that the measure skipped."""
    query_ids: tuple[Hashable, ...]
    """The queries, in the order of the arrays that ``per_query=True`` gives."""
    intervals: dict[str, tuple[float, float] | None]
    """With ``intervals=True``, the 95 % interval of ``mean`` by the BCa bootstrap over the queries that the
    measure did not skip (10,000 samples, seed 0), as in `compare`. There is none for fewer than six queries,
    nor if all values are equal: neither tells how far the mean of other queries may be."""
    note: str
    """With ``sampling=``, a note on values of lists with sampled negatives; else ""."""
    corrected: dict[str, float]
    """With ``sampling=``, for each measure an estimate of its `mean` for full lists; else empty. A document
    stands for 1 / probability documents with its score, so estimated ranks are unbiased (Krichene & Rendle
    2020, doi:10.1145/3394486.3403226); measures keep a bias, which decreases with more negatives. It is NaN
    where the draw tells ranks too coarsely for the measure, so that the mean bias is above a quarter of the
    value: nDCG@10 needs half of the negatives, Success@100 a tenth, and the ROC area any number."""
    segments: dict[Hashable, Evaluation[V]]
    """With ``by=``, the same for the queries of each segment, sorted by name of the segment."""


class ConventionEvaluations(dict[str, Evaluation[Any]]):
    """Result of `evaluate_conventions`: a dict from the names of the conventions to `Evaluation`."""

    left_out: dict[str, dict[str, str]]
    """For a convention, the measures that were not evaluated, and why."""


class _Ranking(TypedDict, total=False):
    """Arguments by name of `evaluate` that do not change the type of its result."""

    run: Any
    qrels: Any
    qid: Any
    qptr: Any
    group: Any
    doc_ids: Any
    convention: str | Convention | None
    by: Any
    intervals: bool
    sampling: Any


@overload
def evaluate(
    measures: str | RankingMeasure | Iterable[str | RankingMeasure],
    scores: Any = None,
    labels: Any = None,
    *,
    per_query: Literal[False] = False,
    **ranking: Unpack[_Ranking],
) -> Evaluation[float]: ...
@overload
def evaluate(
    measures: str | RankingMeasure | Iterable[str | RankingMeasure],
    scores: Any = None,
    labels: Any = None,
    *,
    per_query: bool,
    **ranking: Unpack[_Ranking],
) -> Evaluation[Any]: ...
def evaluate(  # noqa: PLR0913 - all but the first three are optional and by name
    measures: str | RankingMeasure | Iterable[str | RankingMeasure],
    scores: Any = None,
    labels: Any = None,
    *,
    run: Any = None,
    qrels: Any = None,
    qid: Any = None,
    qptr: Any = None,
    group: Any = None,
    doc_ids: Any = None,
    convention: str | Convention | None = None,
    per_query: bool = False,
    by: Any = None,
    intervals: bool = False,
    sampling: Any = None,
) -> Evaluation[Any]:
    """Evaluate a ranking with one or more measures.

    Parameters
    ----------
    measures : str, measure, or several
        Anything that `directrix.measure` accepts: ``"nDCG@10"``, ``directrix.AP(rel=2)``; or a list of them.
    scores : float (n_docs,)
        Higher is better; -inf = not retrieved.
    labels : float (n_docs,)
        Relevance, >= 0. Relevant documents that were not retrieved count too, with the score -inf. A plain
        merge of a run with judgments loses them: use ``run=`` and ``qrels=``. Measures that depend on which
        documents were judged (`Bpref`) read NaN as not judged. For measures of subtopics (`AlphaNDCG`) the
        shape is (n_docs, n_subtopics); other measures use the highest label.
    run, qrels : frame (pandas, polars, pyarrow), dict, path, or `Run` and `Qrels`, optional
        Instead of scores and labels; see `directrix.data.join_trec`, whose result may be ``run`` alone. A
        warning counts judged queries that the run lacks; the means leave them out.
    qid, qptr, group : sequence, optional
        Query of every document, in any order; or boundaries (n_queries + 1,), or sizes of consecutive
        queries. One of the three is needed, or ``run``; ``group=[n]`` means one query.
    doc_ids : sequence of str (n_docs,), optional
        For ``ties="trec"`` (convention trec_eval, gdeval); needed where documents of a query tie.
    convention : str or Convention, optional
        Evaluate as this tool does, see `directrix.measures.conventions`; a warning names measures it lacks.
    per_query : bool
        True: the value of each measure for every query; False: its mean.
    by : mapping of query to segment, or sequence (n_docs,), optional
        Evaluate segments of queries too. A sequence, such as a column of a frame, has the segment of each
        document's query; ``run=`` needs a mapping. Queries without one (absent, None, NaN) count only in the
        total, with a warning; other queries of the mapping are ignored.
    intervals : bool, whether to add 95 % intervals; see `Evaluation`
    sampling : float (n_docs,), optional
        Probability with which each document was sampled, else 1; ``.sampling`` of the result of
        `directrix.data.from_interactions`. `Evaluation` then has ``.note`` and ``.corrected``.

    Returns
    -------
    Evaluation
        ``{name: mean}``, or ``{name: float64 (n_queries,)}``, keyed by the names as they were given. Means
        leave out queries that a measure skips; ``.skipped`` counts them. `GMAP` and counts have no mean.

    Raises
    ------
    InputError
        If a measure is not known, no queries are given, the arrays do not fit together, or documents tie
        under ties="trec" and there are no ``doc_ids``: the error names the query and the rows.

    Examples
    --------
    >>> evaluate(["nDCG@10", "AP"], [0.2, 0.7, 0.1], [1, 0, 1], qid=["a", "a", "a"])
    {'nDCG@10': 0.6934264036172708, 'AP': 0.5833333333333333}
    """
    arrays = scores, labels, qid, qptr, group, doc_ids
    names, chosen, data, values = _values(measures, run, qrels, arrays, convention)
    by_name = dict(zip(names, zip(chosen, values, strict=True), strict=True))
    form = {"per_query": per_query, "intervals": intervals}
    result = _summary(by_name, data.query_ids, **form)
    if sampling is not None:
        _correct(result, names, chosen, data, sampling)
    if by is not None:
        for segment, queries in segments_of(by, data.query_ids, data.qptr, data.rows).items():
            subset = {name: (m, value[queries]) for name, (m, value) in by_name.items()}
            result.segments[segment] = _summary(subset, tuple(data.query_ids[q] for q in queries), **form)
    return result


def _correct(
    result: Evaluation[Any], names: list[str], chosen: list[RankingMeasure], data: _Data, sampling: Any
) -> None:
    """Add the note and the estimates for full lists."""
    probability = check_sampling(sampling, len(data.scores))[... if data.rows is None else data.rows]
    values = estimates_for_full_lists(chosen, data.scores, data.labels, data.qptr, probability)
    told = dict(zip(names, are_told(chosen, data.labels, data.qptr, probability), strict=True))
    result.note = note_of(probability, [name for name in names if not told[name]])
    result.corrected = {
        n: m.summary(v) if told[n] else math.nan for n, m, v in zip(names, chosen, values, strict=True)
    }


def _values(
    measures: Any, run: Any, qrels: Any, arrays: tuple[Any, ...], convention: str | Convention | None
) -> tuple[list[str], list[RankingMeasure], _Data, list[Float64Array]]:
    """Return names, measures, the data and the value of each measure for every query.

    All measures share one sort, O(n log n) per query; ties="trec" has its own. Queries share the threads.
    """
    wanted, names = listed(measures)
    chosen = [measure(m) if convention is None else measure(m).under(convention) for m in wanted]
    data = _of_arrays(*arrays) if run is None and qrels is None else _of_run(run, qrels, arrays, chosen)
    if convention is not None:
        warn_lacking(find_convention(convention), names, chosen, Advice("conventions"), stacklevel=4)
    try:
        values = (ready := Prepared(chosen, data.labels, data.qptr, data.doc_ids))(data.scores)
    except IdsNeeded as error:
        # The error counts rows after sorting by query; the user knows those of the input.
        given_rows = error.rows if data.rows is None else data.rows[error.rows]
        raise IdsNeeded.of_query(error.query, given_rows, data.query_ids[error.query]) from None
    if text := unreached(chosen, ready.labels):
        warn(text, stacklevel=3)
    return names, chosen, data, list(values)


class _Data(NamedTuple):
    """A ranking in the order of its queries; ``rows`` are those of the input, None = in order."""

    scores: Any
    labels: Any
    qptr: Any
    doc_ids: Any
    query_ids: tuple[Hashable, ...]
    rows: Int64Array | None = None


def _of_arrays(scores: Any, labels: Any, qid: Any, qptr: Any, group: Any, doc_ids: Any) -> _Data:
    """Bring the arrays that `evaluate` got into the order of their queries."""
    if scores is None or labels is None:
        raise InputError(
            f"{'scores' if scores is None else 'labels'} are missing; type evaluate(measures, scores, "
            "labels, qid=qid), or evaluate(measures, run=run, qrels=qrels)."
        )
    # A table or dict has names; an array of labels with a column per subtopic has none.
    for name, values in (("scores", scores), ("labels", labels)):
        if names := names_of(values):
            raise InputError(
                f"{name} is a table or dict with {', '.join(map(str, names[:4]))}; one number per document "
                "is needed. For tables of a run and of judgments type evaluate(..., run=run, qrels=qrels)."
            )
    # Shapes come first, because boundaries of queries are compared with the first dimension.
    check_flat(scores if hasattr(scores, "ndim") else as_array(scores, "scores"), "scores")
    check_length(_length(labels), _length(scores), "labels", "scores")
    rows, boundaries, query_ids = rows_by_query(qid, group, _length(scores), "scores", qptr)
    # Documents that are grouped already are not copied.
    if not np.array_equal(rows, np.arange(len(rows))):
        scores, labels = np.asarray(scores)[rows], _take(labels, rows, "labels")
        doc_ids = None if doc_ids is None else _take(doc_ids, rows, "doc_ids")
    return _Data(scores, labels, boundaries, doc_ids, query_ids, rows)


def _of_run(run: Any, qrels: Any, arrays: tuple[Any, ...], measures: list[RankingMeasure]) -> _Data:
    """Join the run and the judgments that `evaluate` got, if they are not yet."""
    is_joined = isinstance(run, Judged)
    if (is_joined is not (qrels is None)) or run is None or any(array is not None for array in arrays):
        raise InputError(
            "run and qrels must be given together, without scores, labels, qid, qptr, group and doc_ids; "
            "type evaluate(measures, run=run, qrels=qrels)."
        )
    if is_joined:
        joined = run
    else:
        run, qrels = run_of(run), qrels_of(qrels)
        joined = join_trec(run, qrels)
        # A query without judgments never counts, so only judged queries that the run lacks need a warning.
        if not set(qrels.query_ids) <= {*run.query_ids}:
            text = unmatched(f"the run {run.tag!r}", run.query_ids, qrels.query_ids)
            warn(
                f"{text}. To count judged queries that the run lacks as empty lists, type "
                "run=directrix.data.join_trec(run, qrels, queries='judged') without qrels; queries='both' "
                "leaves them out without this warning.",
                stacklevel=4,
            )
    # Judgments distinguish irrelevant documents from those without a judgment; most measures do not.
    labels = joined.labels if all(m.sees == "labels" for m in measures) else joined.judgments
    return _Data(joined.scores, labels, joined.qptr, joined.doc_ids, joined.query_ids)


def _summary(
    by_name: Mapping[str, tuple[RankingMeasure, Float64Array]],
    query_ids: tuple[Hashable, ...],
    *,
    per_query: bool,
    intervals: bool,
) -> Evaluation[Any]:
    """Return one number per measure, or the values themselves."""
    mean = {name: m.summary(value) for name, (m, value) in by_name.items()}
    result = Evaluation[Any]({name: value for name, (_, value) in by_name.items()} if per_query else mean)
    result.mean, result.query_ids, result.segments = mean, query_ids, {}
    result.skipped = {name: int(np.isnan(value).sum()) for name, (_, value) in by_name.items()}
    result.note, result.corrected = "", {}
    result.intervals = {n: _interval(*measured) for n, measured in by_name.items()} if intervals else {}
    return result


def _interval(measure: RankingMeasure, values: Float64Array) -> tuple[float, float] | None:
    """Return the interval of the summary of a measure, which grows with the mean."""
    defined = values[~np.isnan(values)]
    ends = mean_interval(defined)
    if ends[0] == -np.inf:
        return None
    low, high = (measure.summary(np.full(len(defined), end)) for end in ends)
    return low, high


def evaluate_conventions(
    measures: str | RankingMeasure | Iterable[str | RankingMeasure],
    scores: Any = None,
    labels: Any = None,
    **data: Any,
) -> ConventionEvaluations:
    """Evaluate the same ranking with directrix's defaults, and as every tool of `conventions` does.

    Parameters
    ----------
    measures, scores, labels
        As for `evaluate`.
    **data
        ``run``, ``qrels``, ``qid``, ``qptr``, ``group``, ``doc_ids``, ``per_query``, ``by``, ``intervals``,
        as for `evaluate`.

    Returns
    -------
    ConventionEvaluations
        A dict: ``"default"`` first, with the measures as they were given, then one `Evaluation` per
        convention. A convention omits measures that the tool does not have, and those that break ties by
        document id if documents tie without ``doc_ids``; ``.left_out`` says which and why. A convention
        without any remaining measure is omitted.

    Examples
    --------
    >>> result = evaluate_conventions(["nDCG", "AP"], [3, 2, 1], [1, 0, 2], group=[3])
    >>> round(result["default"]["nDCG"], 4), round(result["sklearn"]["nDCG"], 4)
    (0.6885, 0.7602)
    >>> list(result["sklearn"]), result.left_out["gdeval"]["AP"]
    (['nDCG'], 'not in gdeval: prints nDCG@k and ERR@k only')
    """
    wanted, names = listed(measures)
    by_name = dict(zip(names, map(measure, wanted), strict=True))
    result = ConventionEvaluations({_BASE: evaluate(wanted, scores, labels, **data)})
    result.left_out = {}
    for tool in map(find_convention, conventions()):
        lacking = {name: f"not in {tool.name}: {tool.note}" for name, m in by_name.items() if not tool.has(m)}
        by_id = {name: _NO_IDS for name, m in by_name.items() if m.under(tool).tie_rule == "trec"}
        # Measures that break ties by id are omitted only if the first attempt finds documents that tie.
        for reasons in (lacking, by_id | lacking):
            chosen = [m for name, m in zip(names, wanted, strict=True) if name not in reasons]
            with suppress(IdsNeeded):
                if chosen:
                    result[tool.name] = evaluate(chosen, scores, labels, convention=tool, **data)
                if reasons:
                    result.left_out[tool.name] = reasons
                break
    return result


def warn_lacking(
    tool: Convention, names: list[str], chosen: list[RankingMeasure], remedy: str, *, stacklevel: int = 3
) -> None:
    """Warn about measures that a tool lacks and say what to do, by default at the caller's caller."""
    lacking = [name for name, m in zip(names, chosen, strict=True) if not tool.has(m)]
    if lacking:
        note = f" ({tool.note})" if tool.note else ""
        warn(
            f"{tool.name} has no {', '.join(lacking)}{note}; the values are directrix's own, with the tool's "
            "ties, gain and empty queries where the measure has them.",
            advice=remedy,
            stacklevel=stacklevel,
        )


def _length(values: Any) -> int:
    try:
        return len(values)
    # One number has no length, and neither has a wrong type, which the checks of values reject.
    except TypeError:
        return 1


def _take(values: Any, rows: Int64Array, name: str) -> Array:
    array = np.atleast_1d(as_array(values, name))
    check_length(len(array), len(rows), name, "scores")
    return array[rows]
