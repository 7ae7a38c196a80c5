"""Rows that are hard to score."""

from dataclasses import replace


def hard_rows(formula, q):
    """Real rows, and rows with thresholds hit exactly."""
    X = q.features.copy()
    for part in formula.parts:
        for feature, threshold in zip(
            getattr(part.model, "feature", ()), getattr(part.model, "threshold", ()), strict=True
        ):
            if formula.categories is None:
                X[int(abs(threshold) * 1e6) % len(X), part.inputs[feature].feature] = threshold
    return X


def scores_of(ranker, q, X):
    return ranker.predict_queries(replace(q, features=X))
