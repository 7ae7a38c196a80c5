"""Tables 1 to 4 of Donmez, Svore and Burges (2009), as printed."""

from __future__ import annotations

from typing import NamedTuple

NOTE = (
    "Published values are of web search data with other queries, documents and features, and need not agree."
)

CONSTRUCTIONS: dict[str, dict[str, tuple[float, float]]] = {
    "AP": {
        "ranknet-weight-pairs": (0.462, 0.0048),
        "local-gradient": (0.435, 0.0048),
        "local-cost": (0.427, 0.0049),
        "spring-smooth": (0.424, 0.0048),
        "discrete-bounded": (0.401, 0.0049),
    },
    "RR": {
        "ranknet-weight-pairs": (0.524, 0.0059),
        "local-gradient": (0.512, 0.0059),
        "local-cost": (0.515, 0.0060),
        "spring-smooth": (0.498, 0.0058),
        "discrete-bounded": (0.471, 0.0059),
    },
}
"""Tables 1 and 2: mean and standard error."""


class Score(NamedTuple):
    """A score of Tables 3 and 4, and "Y" if it differs significantly from that of the matched training."""

    mean: float
    significant: str


TRAINED: dict[str, dict[str, tuple[Score, ...]]] = {
    "web 10K": {
        "nDCG": (Score(0.723, "–"), Score(0.722, "Y"), Score(0.718, "Y"), Score(0.704, "Y")),
        "nDCG@10": (Score(0.442, "N"), Score(0.422, "–"), Score(0.435, "Y"), Score(0.403, "Y")),
        "AP": (Score(0.335, "Y"), Score(0.335, "Y"), Score(0.337, "–"), Score(0.314, "Y")),
        "RR": (Score(0.546, "Y"), Score(0.548, "Y"), Score(0.546, "Y"), Score(0.526, "–")),
    },
    "web 22K": {
        "nDCG": (Score(0.726, "–"), Score(0.724, "Y"), Score(0.723, "Y"), Score(0.709, "Y")),
        "nDCG@10": (Score(0.452, "Y"), Score(0.448, "–"), Score(0.447, "N"), Score(0.415, "Y")),
        "AP": (Score(0.341, "Y"), Score(0.338, "Y"), Score(0.343, "–"), Score(0.322, "Y")),
        "RR": (Score(0.550, "Y"), Score(0.547, "Y"), Score(0.550, "Y"), Score(0.539, "–")),
    },
}
"""Tables 3 and 4: for every tested measure the trainings for nDCG, nDCG@10, AP and RR."""
