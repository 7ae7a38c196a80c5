"""The best single feature, such as BM25: the baseline that a ranker must beat."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from directrix.data.queries import Queries
from directrix.data.sparse import column_reader
from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error, mean_evaluator, mean_over_queries, values_of
from directrix.search import rules
from directrix.search.folds import Fold, sample
from directrix.types import Float64Array


@dataclass(frozen=True)
class SingleFeature:
    """A ranker that scores by one feature; missing values come last."""

    column: int
    sign: float
    """-1 if low values come first."""
    label: str
    train: float
    """Mean of the measure on the training queries that chose it."""

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document."""
        return _signed(column_reader(q.features)(self.column), self.sign)


def best_feature(q: Queries, measure: RankingMeasure) -> SingleFeature:
    """Return the feature and direction that are best on training queries in memory.

    It costs two evaluations of the measure per feature.
    """
    mean, column = mean_evaluator(measure, q), column_reader(q.features)

    def single(f: int, sign: float) -> SingleFeature:
        name = f + 1 if q.feature_names is None else q.feature_names[f]
        label = f"single feature {name}{', low first' if sign < 0.0 else ''}"
        return SingleFeature(f, sign, label, mean(_signed(column(f), sign)))

    # Both directions are tried, because low values of a feature such as a price or a distance may be best.
    every = (single(f, sign) for f in _numbers(q) for sign in (1.0, -1.0))
    return max(every, key=lambda feature: -math.inf if math.isnan(feature.train) else feature.train)


def _numbers(q: Queries) -> list[int]:
    categories = q.categories or (None,) * q.n_features
    return [f for f, names in enumerate(categories) if names is None]


def _signed(values: Float64Array, sign: float) -> Float64Array:
    scores = sign * values
    present = scores[~np.isnan(scores)]
    # A missing value gets a score below all others, so its document comes last in either direction.
    return np.where(np.isnan(scores), (present.min() if len(present) else 0.0) - 1.0, scores)


@dataclass(frozen=True, eq=False)
class Baseline:
    """Results of the single features chosen on the training queries of the folds, as for a candidate."""

    label: str
    valid: float
    error: float
    train: float
    values: Float64Array = field(repr=False)
    outcome: ClassVar[str] = "baseline"
    progress: ClassVar[str] = ""


def baseline_of(folds: Sequence[Fold], measure: RankingMeasure, seed: int) -> Baseline | None:
    """Choose a feature on the training queries of each fold, and evaluate it on the validation queries.

    The result is None if features are on disk, more than a thousand, or all categories.
    """
    in_memory = all(data.held == "memory" for fold in folds for data in (fold.train, fold.valid))
    if not in_memory or not 0 < len(_numbers(folds[0].train)) <= rules.BASELINE_FEATURES:
        return None
    chosen = []
    for fold in folds:
        # A sample suffices to select the feature. Its values are then those of all validation queries.
        is_large = fold.train.n_docs > rules.BASELINE_DOCS
        drawn = sample(fold, rules.BASELINE_DOCS, seed) if is_large else fold
        chosen.append(best_feature(drawn.train, measure))
    counts = Counter(single.label for single in chosen)
    (label, n), *others = counts.most_common()
    values = np.concatenate(
        [values_of(measure, s.predict_queries(f.valid), f.valid) for s, f in zip(chosen, folds, strict=True)]
    )
    return Baseline(
        f"{label} (in {n} of {len(folds)} folds)" if others else label,
        mean_over_queries(values),
        mean_and_error(values)[1] or math.nan,
        float(np.mean([single.train for single in chosen])),
        values,
    )
