"""
RankLib's text, by codelibs/ranklib at the tag ranklib-2.10.1, below src/main/java/ciir/umass/edu.
"""

import re
from xml.dom import minidom
from xml.parsers.expat import ExpatError

import numpy as np

from .rules import RefusedError, Split, leaf_of, require, single


def load(content, names):
    """Return the scores of rows; feature 1 is the first of ``names``."""
    # learning/RankerFactory.loadRankerFromFile: the file is ASCII, and its first line names the ranker
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError as error:
        raise RefusedError("not ASCII") from error
    first = text.split("\n", 1)[0].replace("## ", "").strip().upper()
    lines = [line.strip() for line in text.splitlines()]
    if first == "LAMBDAMART":
        return ensemble("".join(line for line in lines if not line.startswith("#")), len(names))
    require(first in ("COORDINATE ASCENT", "LINEAR REGRESSION"), f"the evaluator has no ranker {first!r}")
    weights = next((line for line in lines if line and not line.startswith("##")), None)
    require(weights, "no weights")
    return linear(weights, len(names), has_constant=first == "LINEAR REGRESSION")


def linear(line, n_features, has_constant):
    """Sum doubles, where an unknown feature is 0: learning/CoorAscent, learning/LinearRegRank."""
    pairs = [pair.split(":") for pair in line.split()]
    require(all(len(pair) == 2 for pair in pairs), "no pairs of feature and weight")
    weights = {int(feature): float(weight) for feature, weight in pairs}
    constant = weights.pop(0, 0.0) if has_constant else 0.0
    require(all(1 <= feature <= n_features for feature in weights), "requesting unspecified feature")

    def scores(X):
        X, total = known(X), np.full(len(X), constant)
        for feature, weight in weights.items():
            total += weight * X[:, feature - 1]
        return total

    return scores


def known(X):
    """Return floats, and 0 where there is none: learning/DataPoint, DenseDataPoint.getFeatureValue."""
    return np.float64(np.nan_to_num(single(X), nan=0.0, posinf=np.inf, neginf=-np.inf))


def ensemble(xml, n_features):
    """Add leaves, as doubles times the weight, to a float: learning/tree/Ensemble."""
    try:
        document = minidom.parseString(xml)
    except ExpatError as error:
        raise RefusedError(str(error)) from error
    trees = [
        (split(found.firstChild, n_features), float(single(float(found.getAttribute("weight")))))
        for found in document.getElementsByTagName("tree")
    ]

    def scores(X):
        X, total = known(X), np.zeros(len(X), np.float32)
        for root, weight in trees:
            total = single(np.float64(total) + leaf_of(root, X) * weight)
        return total

    return scores


def split(node, n_features):
    """Read children by position, where white space between two tags of a line is one: Ensemble.create."""
    require(node is not None and node.firstChild is not None, "a split without children")
    first = node.firstChild

    def floats(element):
        require(element.firstChild is not None, "no number")
        text = getattr(element.firstChild, "data", "").strip()
        require(
            re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?Infinity|NaN", text),
            f"no float: {text!r}",
        )
        return float(single(float(text)))

    if first.nodeName.lower() != "feature":
        return floats(first)
    require(len(node.childNodes) == 4, "a split without two children")
    feature = int(first.firstChild.data)
    require(1 <= feature <= n_features, "requesting unspecified feature")
    threshold = floats(node.childNodes[1])
    left, right = (split(child, n_features) for child in node.childNodes[2:])
    return Split(feature - 1, lambda values: values <= threshold, left, right)
