"""Evaluate many measures in one call, under one convention or under all."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from directrix.data.checks import as_array, check_length
from directrix.data.frames import names_of
from directrix.data.grouping import rows_by_query
from directrix.data.trec.join import Judged, join_trec
from directrix.errors import InputError, warn
from directrix.measures.convention import convention as find_convention
from directrix.measures.convention import conventions
from directrix.measures.names import listed, measure
from directrix.measures.precision import unreached
from directrix.measures.prepared import IdsNeeded, Prepared
from directrix.types import Array, Float64Array, Int64Array

if TYPE_CHECKING:
    from directrix.measures.base import RankingMeasure
    from directrix.measures.convention import Convention

_BASE = "default"
_REMEDY = (
    "Leave out the convention for those, or use evaluate_conventions (--convention all in a shell), which "
    "leaves them out."
)
_NO_IDS = "ties are broken by document id, some documents tie, and they have no ids"


class Evaluation(dict[str, Any]):
    """Result of `evaluate`: a dict from the names of the measures to their values."""

    mean: dict[str, float]
    """Mean over the queries that the measure did not skip, NaN if it skipped all; or its `summary`."""
    skipped: dict[str, int]
    """Number of queries that the measure skipped."""
    query_ids: tuple[Hashable, ...]
    """The queries, in the order of the arrays that ``per_query=True`` gives."""


class ConventionEvaluations(dict[str, Evaluation]):
    """Result of `evaluate_conventions`: a dict from the names of the conventions to `Evaluation`."""

    left_out: dict[str, dict[str, str]]
    """For a convention, the measures that were not evaluated, and why."""


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
) -> Evaluation:
    """Evaluate a ranking with one or more measures.

    Parameters
    ----------
    measures : str, measure, or several
        Whatever `directrix.measure` takes: ``"nDCG@10"``, ``directrix.AP(rel=2)``; or a list of them.
    scores : float (n_docs,)
        Higher is better; -inf = not retrieved.
    labels : float (n_docs,)
        Relevance, >= 0. Relevant documents that were not retrieved count too, with the score -inf. Merging a
        run with judgments yourself loses them: use ``run=`` and ``qrels=``. For measures that know which
        documents were judged (`Bpref`), NaN is a document that was not; for those of subtopics (`AlphaNDCG`)
        the shape is (n_docs, n_subtopics), of which any other measure takes the highest.
    run, qrels : frame (pandas, polars, pyarrow), dict, path, or `Run` and `Qrels`, optional
        Instead of scores and labels; see `directrix.data.join_trec`, whose result can be ``run`` alone.
    qid : hashables (n_docs,), optional
        Query of every document, in any order.
    qptr : int (n_queries + 1,), optional
        Query boundaries, instead of ``qid``.
    group : int (n_queries,), optional
        Sizes of the queries, instead of ``qid``. One of the three is needed, or ``run``; [n] is one query.
    doc_ids : sequence of str (n_docs,), optional
        For ``ties="trec"`` (convention trec_eval, gdeval); needed where documents of a query tie.
    convention : str or Convention, optional
        Evaluate all measures as this tool does; see `directrix.measures.conventions`. A measure that the
        tool lacks is evaluated with its fields all the same, and a warning says so.
    per_query : bool
        False: the mean of each measure. True: its value for every query.

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

    Notes
    -----
    All measures share one sort, O(n log n) per query; ties="trec" has its own. Queries share the threads.

    Examples
    --------
    >>> evaluate(["nDCG@10", "AP"], [0.2, 0.7, 0.1], [1, 0, 1], qid=["a", "a", "a"])
    {'nDCG@10': 0.6934264036172708, 'AP': 0.5833333333333333}
    """
    wanted, names = listed(measures)
    chosen = [measure(m) if convention is None else measure(m).under(convention) for m in wanted]
    if run is None and qrels is None:
        data = _of_arrays(scores, labels, doc_ids, qid, qptr, group)
    else:
        data = _of_run(run, qrels, (scores, labels, qid, qptr, group, doc_ids), chosen)
    if convention is not None:
        warn_lacking(find_convention(convention), names, chosen, _REMEDY)
    try:
        values = (ready := Prepared(chosen, data.labels, data.qptr, data.doc_ids))(data.scores)
    except IdsNeeded as error:
        given_rows = error.rows if data.rows is None else data.rows[error.rows]
        raise IdsNeeded.of_query(error.query, given_rows, data.query_ids[error.query]) from None
    if text := unreached(chosen, ready.labels):
        warn(text)
    return _summary(names, chosen, values, data.query_ids, per_query=per_query)


class _Data(NamedTuple):
    """A ranking in the order of its queries; ``rows`` are those of the input, None = in order."""

    scores: Any
    labels: Any
    qptr: Any
    doc_ids: Any
    query_ids: tuple[Hashable, ...]
    rows: Int64Array | None = None


def _of_arrays(scores: Any, labels: Any, doc_ids: Any, qid: Any, qptr: Any, group: Any) -> _Data:
    """Bring the arrays that `evaluate` got into the order of their queries."""
    if scores is None or labels is None:
        raise InputError(
            f"{'scores' if scores is None else 'labels'} are missing; type evaluate(measures, scores, "
            "labels, qid=qid), or evaluate(measures, run=run, qrels=qrels)."
        )
    for name, given in (("scores", scores), ("labels", labels)):
        if names := names_of(given):
            raise InputError(
                f"{name} is a table or dict with {', '.join(map(str, names[:4]))}; one number per document "
                "is needed. For tables of a run and of judgments type evaluate(..., run=run, qrels=qrels)."
            )
    check_length(_length(labels), _length(scores), "labels", "scores")
    rows, boundaries, query_ids = rows_by_query(qid, group, _length(scores), "scores", qptr)
    if not np.array_equal(rows, np.arange(len(rows))):
        scores, labels = np.asarray(scores)[rows], _take(labels, rows, "labels")
        doc_ids = None if doc_ids is None else _take(doc_ids, rows, "doc_ids")
    return _Data(scores, labels, boundaries, doc_ids, query_ids, rows)


def _of_run(run: Any, qrels: Any, arrays: tuple[Any, ...], measures: list[RankingMeasure]) -> _Data:
    """Join the run and the judgments that `evaluate` got, if they are not yet."""
    is_joined = isinstance(run, Judged)
    if (is_joined is not (qrels is None)) or run is None or any(given is not None for given in arrays):
        raise InputError(
            "run and qrels are needed together, and instead of scores, labels, qid, qptr, group and doc_ids; "
            "type evaluate(measures, run=run, qrels=qrels)."
        )
    judged = run if is_joined else join_trec(run, qrels)
    labels = judged.labels if all(m.sees == "labels" for m in measures) else judged.judgments
    return _Data(judged.scores, labels, judged.qptr, judged.doc_ids, judged.query_ids)


def _summary(
    names: list[str],
    measures: list[RankingMeasure],
    values: list[Float64Array],
    query_ids: Any,
    *,
    per_query: bool,
) -> Evaluation:
    """Return one number per measure, or the values themselves."""
    by_name = dict(zip(names, values, strict=True))
    mean = {name: m.summary(value) for name, m, value in zip(names, measures, values, strict=True)}
    result = Evaluation(by_name if per_query else mean)
    result.mean, result.query_ids = mean, query_ids
    result.skipped = {name: int(np.isnan(value).sum()) for name, value in by_name.items()}
    return result


def evaluate_conventions(
    measures: str | RankingMeasure | Iterable[str | RankingMeasure],
    scores: Any = None,
    labels: Any = None,
    **data: Any,
) -> ConventionEvaluations:
    """Evaluate the same ranking as directrix does, and as every tool of `conventions` does.

    Parameters
    ----------
    measures, scores, labels
        As for `evaluate`.
    **data
        ``run``, ``qrels``, ``qid``, ``qptr``, ``group``, ``doc_ids``, ``per_query``, as for `evaluate`.

    Returns
    -------
    ConventionEvaluations
        A dict: ``"default"`` first, the measures as they were given, then one `Evaluation` a
        convention. Measures that a tool does not have are left out under its name, and so are
        those that break ties by document id if some tie and there is no ``doc_ids``; ``.left_out`` says which
        and why. A convention of which nothing remains is left out.

    Examples
    --------
    >>> result = evaluate_conventions(["nDCG", "AP"], [3, 2, 1], [1, 0, 2], group=[3])
    >>> round(result["default"]["nDCG"], 4), round(result["sklearn"]["nDCG"], 4)
    (0.6885, 0.7602)
    >>> list(result["sklearn"]), result.left_out["gdeval"]["AP"]
    (['nDCG'], 'not in gdeval: prints nDCG@k and ERR@k only')
    """
    wanted, names = listed(measures)
    known = dict(zip(names, map(measure, wanted), strict=True))
    result = ConventionEvaluations({_BASE: evaluate(wanted, scores, labels, **data)})
    result.left_out = {}
    for tool in map(find_convention, conventions()):
        lacking = {name: f"not in {tool.name}: {tool.note}" for name, m in known.items() if not tool.has(m)}
        by_id = {name: _NO_IDS for name, m in known.items() if m.under(tool).tie_rule == "trec"}
        for reasons in (lacking, by_id | lacking):
            chosen = [m for name, m in zip(names, wanted, strict=True) if name not in reasons]
            with suppress(IdsNeeded):
                if chosen:
                    result[tool.name] = evaluate(chosen, scores, labels, convention=tool, **data)
                if reasons:
                    result.left_out[tool.name] = reasons
                break
    return result


def warn_lacking(tool: Convention, names: list[str], chosen: list[RankingMeasure], remedy: str) -> None:
    """Warn the caller's caller of measures that a tool does not have, and say what to do."""
    lacking = [name for name, m in zip(names, chosen, strict=True) if not tool.has(m)]
    if lacking:
        note = f" ({tool.note})" if tool.note else ""
        warn(
            f"{tool.name} has no {', '.join(lacking)}{note}; the values are directrix's own, with the tool's "
            f"ties, gain and empty queries where the measure has them. {remedy}",
            stacklevel=3,
        )


def _length(values: Any) -> int:
    try:
        return len(values)
    except TypeError:  # one number, or no sequence at all: the checks of values say so
        return 1


def _take(values: Any, rows: Int64Array, name: str) -> Array:
    array = np.atleast_1d(as_array(values, name))
    check_length(len(array), len(rows), name, "scores")
    return array[rows]
