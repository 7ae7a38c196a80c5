"""Values of LETOR's web site; the text of the paper that we have lacks the digits of its tables."""

from __future__ import annotations

from collections.abc import Mapping

from directrix.experiments.crossval_result import CrossValidation

PUBLISHED: Mapping[str, Mapping[str, tuple[float, float | None]]] = {
    "OHSUMED": {
        "Regression": (0.422, 0.411),
        "RankSVM": (0.433, 0.414),
        "RankBoost": (0.441, 0.430),
        "FRank": (0.444, 0.443),
        "ListNet": (0.446, 0.441),
        "AdaRank-MAP": (0.449, 0.443),
        "AdaRank-NDCG": (0.450, 0.450),
        "SVMMap": (0.445, 0.432),
    },
    "MQ2008": {
        "RankSVM": (0.470, None),
        "RankBoost": (0.478, None),
        "ListNet": (0.478, None),
        "AdaRank-MAP": (0.476, None),
        "AdaRank-NDCG": (0.482, None),
    },
}
"""AP and nDCG@10 by collection and method, after Liu (2011)."""
_FOLDS = 5  # of LETOR


def published(name: str, compared: CrossValidation) -> Mapping[str, tuple[float, float | None]]:
    """Return LETOR's values of a collection; of fewer folds none, because these have other queries."""
    return PUBLISHED.get(name, {}) if len(compared.folds) == _FOLDS else {}
