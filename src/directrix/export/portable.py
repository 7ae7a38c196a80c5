"""Scores of a ranker without any other package; the export to "python" adds a model."""

import sys
from bisect import bisect_left
from math import copysign, exp, isnan, log1p, nan, tanh
from typing import Any, Sequence  # noqa: UP035 - also for versions of Python before 3.9

MODEL: "list[Any]" = []
N_FEATURES = 0
CALIBRATION: "tuple[Any, ...]" = ()


def score(features: "Sequence[float]") -> float:
    """Return the score of one document, given its features in order; nan is a missing one."""
    if len(features) != N_FEATURES:
        raise ValueError(f"{len(features)} features are given, {N_FEATURES} are needed")
    total = 0.0
    for kind, inputs, *model in MODEL:
        columns = [column(features[one[0]], one) for one in inputs] if inputs else features
        total += KINDS[kind](columns, *model)
    return total


def probability(features: "Sequence[float]") -> float:
    """Return the probability that one document is relevant, if the model is calibrated."""
    if not CALIBRATION:
        raise ValueError("the model is not calibrated")
    slope, intercept, knots, values, share = CALIBRATION
    x = score(features)
    t = float(slope * x + intercept)
    if not knots:
        return 1.0 / (1.0 + exp(-t)) if t >= 0.0 else exp(t) / (1.0 + exp(t))
    regression = column(x, (0, "knots", 0.0, 1.0, None, knots, values))
    return float((1.0 - share) * regression + share * (0.5 + 0.5 * t / (1.0 + abs(t))))


def column(x: float, one: "Sequence[Any]") -> float:
    """Return the scaled value of a feature."""
    _, kind, center, factor, missing, knots, scores = one
    if isnan(x):
        return nan if missing is None else float(missing)
    if kind == "knots":
        i = bisect_left(knots, x)
        if i in (0, len(knots)):
            return float(scores[max(i - 1, 0)])
        slope = (scores[i] - scores[i - 1]) / (knots[i] - knots[i - 1])
        return float(slope * (x - knots[i - 1]) + scores[i - 1])
    if kind == "log":
        x = copysign(log1p(abs(x)), x)
    return float((x - center) * factor)


def dot(weights: "Sequence[float]", values: "Sequence[float]", start: float = 0.0) -> float:
    """Return the sum of weights times values; a weight of 0 does not need its value."""
    for weight, value in zip(weights, values):  # noqa: B905 - as above
        if weight:
            start += weight * value
    return start


def linear(columns: "Sequence[float]", weights: "Sequence[float]", constant: float) -> float:
    """Return the score of a linear model."""
    return dot(weights, columns, constant)


def network(columns: "Sequence[float]", layers: Any, last: Any, direct: Any, activation: str) -> float:
    """Return the score of a network; ``direct`` has the weights and constant of its linear term, if any."""
    total = linear(columns, *direct) if direct else 0.0
    for weights, bias, adds_inputs in layers:
        sums = [dot(unit, columns, first) for unit, first in zip(weights, bias)]  # noqa: B905
        units = [tanh(x) if activation == "tanh" else max(x, 0.0) for x in sums]
        columns = [u + x for u, x in zip(units, columns)] if adds_inputs else units  # noqa: B905
    return dot(last, columns, total)


def trees(columns: "Sequence[float]", roots: "Sequence[Any]") -> float:
    """Return the sum of trees. A leaf is its value.

    A split is (feature, threshold, None or categories, missing goes left, left, right).
    """
    total = 0.0
    for node in roots:
        while isinstance(node, tuple):
            feature, threshold, categories, missing_left, left, right = node
            x = columns[feature]
            if isnan(x):
                goes_left = missing_left
            else:
                goes_left = x <= threshold if categories is None else x > -1 and int(x) in categories
            node = left if goes_left else right
        total += node
    return total


KINDS: "dict[str, Any]" = {"linear": linear, "network": network, "trees": trees}

if __name__ == "__main__":  # rows with commas between the features; nothing, or nan, is a missing one
    for line in sys.stdin:
        row = [float(word) if word.strip() else nan for word in line.split(",")]
        print(*map(repr, [score(row), probability(row)] if CALIBRATION else [score(row)]), sep=",")
