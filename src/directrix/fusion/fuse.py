"""`fuse`: every way to combine runs, in sample and cross-validated, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.columns import column_list
from directrix.errors import InputError
from directrix.experiments.significance import compare
from directrix.experiments.significance.comparisons import Pair
from directrix.fusion.combination import Chosen, pool_of, runs_of
from directrix.fusion.methods import BEST_RUN, RRF_60, Choose, Weigher, fusion_methods
from directrix.fusion.result import Fusion, Row, classes_of
from directrix.measures.names import measure as parse_measure
from directrix.parameters import whole
from directrix.types import Float64Array, Progress


def fuse(  # noqa: PLR0913 - all but the first three are optional and by name
    runs: Any,
    qrels: Any,
    measure: Any = "nDCG@10",
    *,
    method: str = "auto",
    classes: Mapping[Any, Any] | None = None,
    n_folds: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fusion:
    r"""Find the best combination of two to ten runs for a measure.

    Weights >= 0 of normalized scores, or of reciprocal ranks, are searched exactly: the measure is piecewise
    constant, changing only where two documents swap places, and a line search examines all pieces. For two
    runs one line contains all weights, so the best of its pieces, its ends and equal weights is the optimum,
    except for other single points at which documents tie. For more runs, coordinate ascent moves one weight
    at a time to its best value, from equal weights, each run alone and random weights.

    Parameters
    ----------
    runs : dict of str to Run, path or frame; or a sequence of them
        Runs by the name of the system; in a sequence, the tags are the names.
    qrels : Qrels, path or frame
        Queries without judgments do not count.
    measure : measure or str
    method : str
        "auto", or the name of a row, such as "linear, min-max" or "RRF, c = 60".
    classes : dict of query to class, optional
        Classes of queries. They add a method with separate weights for each class of at least five training
        queries; others share weights.
    n_folds : int >= 2
        Folds of queries for cross-validation: weights, normalizer and constant are chosen on the others.
    seed : int >= 0
        Seed of the folds and of the random starts.
    progress : function, optional
        Called with (steps so far, all steps, name of the method).

    Returns
    -------
    Fusion

    Raises
    ------
    InputError
        If runs have the same name, no query is judged or has a class, an argument is out of range, or the
        measure has no line search.

    Notes
    -----
    See `directrix.fusion.combination.normalized` on documents that a run lacks; a run of weight 0 adds none.
    Relevant documents that no run retrieved count against every method. All values are those that `evaluate`
    gives to the written run. The cross-validated value chooses the method, so it is slightly
    too high for the chosen one. Cost: for k runs about 20 k line searches per normalizer and fold.

    Examples
    --------
    >>> import directrix as dx
    >>> bm25 = {"q1": {"a": 9.0, "b": 8.0, "c": 1.0}, "q2": {"a": 5.0, "d": 4.0}}
    >>> dense = {"q1": {"b": 0.9, "c": 0.8}, "q2": {"d": 0.7, "a": 0.1}}
    >>> qrels = {"q1": {"b": 1}, "q2": {"d": 1}}
    >>> fusion = dx.fuse({"bm25": bm25, "dense": dense}, qrels, "RR", n_folds=2)
    >>> fusion.runs
    {'bm25': 0.5, 'dense': 1.0}
    >>> fusion.apply({"bm25": bm25, "dense": dense}).doc_ids[:2]
    array(['b', 'c'], dtype=object)
    """
    pool = pool_of(runs_of(runs), qrels)
    n_folds, seed = whole(n_folds, "n_folds", "fuse", least=2), whole(seed, "seed", "fuse", least=0)
    methods = fusion_methods(has_classes=classes is not None)
    report: Progress = progress or (lambda done, total, text: None)
    if method not in (names := ("auto", *methods)):
        raise InputError(f"method must be one of {column_list(map(repr, names))}, got {method!r}.")
    of_query, weigher = classes_of(pool, classes), Weigher(pool, parse_measure(measure), seed)
    _check_weights_matter(weigher, of_query, classes)
    chosen, tested = _choose(weigher, methods, of_query, n_folds, report)
    return _fusion(weigher, chosen, tested, of_query, method, n_folds)


def _choose(
    weigher: Weigher,
    methods: dict[str, Choose],
    of_query: list[str],
    n_folds: int,
    report: Progress,
) -> tuple[dict[str, Chosen], dict[str, Float64Array]]:
    """Return each method's choice on all queries, and the value of every query under that of other folds."""
    if (n := len(of_query)) < n_folds:
        raise InputError(f"n_folds={n_folds} needs as many judged queries, got {n}. Give fewer, at least 2.")
    tested = {name: np.full(n, np.nan) for name in methods}
    folds = np.array_split(np.random.default_rng(weigher.seed).permutation(n), n_folds)
    for i, fold in enumerate(folds):
        # All that a method chooses, it chooses without the fold: weights, normalizer and constant.
        rest = np.setdiff1d(np.arange(n), fold)
        others, held_out = weigher.of(rest), weigher.of(fold)
        for step, (name, choose) in enumerate(methods.items(), start=i * len(methods)):
            report(step, (n_folds + 1) * len(methods), name)
            chosen = choose(others, [of_query[q] for q in rest])
            scores = chosen.scores(held_out.pool, [of_query[q] for q in fold])
            tested[name][fold] = held_out.value(scores)
    on_all = {}
    for step, (name, choose) in enumerate(methods.items(), start=n_folds * len(methods)):
        report(step, (n_folds + 1) * len(methods), name)
        on_all[name] = choose(weigher, of_query)
    return on_all, tested


def _check_weights_matter(weigher: Weigher, of_query: list[str], classes: Mapping[Any, Any] | None) -> None:
    """Raise `InputError` if there are classes and no query has one, or all weights are equally good."""
    query_ids = weigher.pool.query_ids
    if classes and not any(of_query):
        raise InputError(
            f"no query that has a class ({column_list(classes, 3)}) is judged and in the runs "
            f"({column_list(query_ids, 3)}); at least one is needed. Give the classes of these queries."
        )
    if weigher.is_flat:
        raise InputError(
            f"no weights bring a relevant document of the {len(query_ids)} judged queries among those "
            f"that {weigher.measure.name} counts, so all combinations have the same value; one such document "
            "is needed. Check that runs and judgments belong together, or choose a measure without a "
            "cut-off, such as AP."
        )


def _fusion(
    weigher: Weigher,
    chosen: dict[str, Chosen],
    tested: dict[str, Float64Array],
    of_query: list[str],
    method: str,
    n_folds: int,
) -> Fusion:
    """Return the result: the value of every method, in sample and cross-validated."""
    names, summary = weigher.pool.tags, weigher.measure.summary

    # Gains are between cross-validated values, which a method's own choice of weights does not favor.
    def over(name: str, other: str, values: Float64Array) -> Pair:
        pair = compare({"first": tested[name], "second": values}).pairs[0]
        return replace(pair, first=name, second=other)

    # Users know the run that is best on all queries, and compare with it.
    best = weigher.value(max(weigher.single_runs, key=weigher.mean))
    rows = tuple(
        Row(
            method=name,
            value=summary(weigher.value(choice.scores(weigher.pool, of_query))),
            tested=summary(tested[name]),
            over_best_run=over(name, BEST_RUN, best),
            over_rrf=over(name, RRF_60, tested[RRF_60]),
            combination=choice.combination if len(choice.of_class) == 1 else None,
        )
        for name, choice in chosen.items()
    )
    # The value in sample would favor methods with many weights.
    winner = max(rows, key=lambda row: row.tested).method if method == "auto" else method
    single = (summary(weigher.value(run)) for run in weigher.single_runs)
    return Fusion(
        measure=weigher.measure.name,
        names=names,
        method=winner,
        of_class=chosen[winner].of_class,
        interval=chosen[winner].interval,
        rows=rows,
        runs=dict(zip(names, single, strict=True)),
        n_queries=len(of_query),
        n_folds=n_folds,
        seed=weigher.seed,
    )
