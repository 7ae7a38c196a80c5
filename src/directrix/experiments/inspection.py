"""Inspect the result of a search: its important features, and a baseline compared query by query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from directrix.data.missing import missing_values
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.experiments.importance import Importance, permutation_importance
from directrix.experiments.significance import Comparisons, compare
from directrix.measures.base import RankingMeasure
from directrix.rankers.means import values_of
from directrix.rankers.methods import method
from directrix.search.folds import UNWEIGHTED, Fold, search_folds, validation_queries
from directrix.search.search import SearchResult
from directrix.types import Float64Array

BASELINE = "Regression"
"""Trained in a second on any data, and the start of most other methods."""

# A paired test needs a standard deviation, and so at least this number of queries.
_FEWEST = 2
# Only this number of features, those whose first shuffle costs most, are shuffled again.
_TOP = 20
_REPEATS = 3
_MOST_FEATURES = 200
# The importances score this number of documents over all shuffles, which takes boosted trees some seconds.
_SCORED = 300_000


@dataclass(frozen=True, eq=False)
class Inspection:
    """Result of `inspect_search`.

    Parameters
    ----------
    queries : Queries
        The validation queries, without their features.
    n_folds : int
        Number of training runs of every candidate.
    scores, values : dict of str to float64 (n_docs,) and (n_queries,)
        Scores, and values of the measure, of the chosen candidate and then of the baseline, if there is one.
    comparison : Comparisons or None
        Comparison of the two, by the paired t-test.
    refusal : str
        Reason why there is no comparison; "" if there is one.
    importance : Importance
        Importance of the features for the returned ranker, on the validation queries, or on the training
        queries if those of all folds were used to train it.
    """

    queries: Queries
    n_folds: int
    scores: dict[str, Float64Array]
    values: dict[str, Float64Array]
    comparison: Comparisons | None
    refusal: str
    importance: Importance


def inspect_search(result: SearchResult, q: Queries, valid: Queries | None = None) -> Inspection:
    """Compare the chosen candidate with the baseline, and examine its features, on the data of the search.

    The baseline is the ridge regression `method("Regression")`, trained on the training queries of each
    fold. All values are on validation queries, from models that were not trained on them. Raises
    `InputError` if the data are not those of the search. Cost: a regression per fold, and about 300,000
    predictions and evaluations of a document.
    """
    folds, _ = search_folds(q, valid, UNWEIGHTED, result.folds, result.seed)
    queries = validation_queries(folds)
    if len(result.scores) != queries.n_docs:
        raise InputError(
            f"the search scored {len(result.scores)} documents of validation queries, these data have "
            f"{queries.n_docs}; give the queries that were given to the search."
        )
    measure = result.ranker.measure_
    name = "ensemble" if result.members else result.chosen.name
    scores, refusal = {name: result.scores}, ""
    try:
        scores |= _baseline_scores(name, measure, folds)
    except InputError as error:
        refusal = str(error)
    values = {system: values_of(measure, system_scores, queries) for system, system_scores in scores.items()}
    if not refusal and np.isfinite(sum(values.values())).sum() < _FEWEST:
        refusal = f"{measure.name} is defined on fewer than {_FEWEST} validation queries."
    # Every query of a cross-validation was used to train the returned ranker, see `Inspection`.
    examined = q if valid is None else valid
    width = max(1, min(q.n_features, _MOST_FEATURES))
    importance = permutation_importance(
        result.ranker,
        examined,
        n_repeats=_REPEATS,
        top=_TOP,
        n_features=_MOST_FEATURES,
        n_docs=_SCORED // (width + (_REPEATS - 1) * min(width, _TOP)),
        seed=result.seed,
    )
    return Inspection(
        queries, len(folds), scores, values, None if refusal else compare(values), refusal, importance
    )


def _baseline_scores(chosen: str, measure: RankingMeasure, folds: list[Fold]) -> dict[str, Float64Array]:
    """The scores of the baseline by its name; raises `InputError` if it cannot be trained on these data."""
    if chosen == BASELINE:
        raise InputError(f"{BASELINE}, the baseline, was chosen.")
    # Ridge regression supports no missing values; the scale "standard" imputes them.
    is_missing = any(missing_values(queries) for fold in folds for queries in (fold.train, fold.valid))
    ranker = method(BASELINE).ranker(measure=measure, **({"scale": "standard"} if is_missing else {}))
    scores = [ranker.fit_queries(f.train, measure=measure).predict_queries(f.valid) for f in folds]
    return {BASELINE: np.concatenate(scores)}
