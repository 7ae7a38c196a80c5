"""Figures of Donmez, Svore and Burges (2009), as printed."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CONSTRUCTIONS", "MEASURES", "NOTE", "TRAINED", "Score"]

NOTE = "Web search data, as published: other queries, documents and features; no figures to be met."
MEASURES = ("nDCG", "nDCG@10", "AP", "RR")

CONSTRUCTIONS: dict[str, dict[str, tuple[float, float]]] = {  # Tables 1 and 2: mean and standard error
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


class Score(NamedTuple):
    """A line of Tables 3 and 4: mean, and "Y" where it differs significantly from the matched training."""

    mean: float
    significant: str


TRAINED: dict[str, dict[tuple[str, str], Score]] = {  # Tables 3 and 4: (test, train)
    "web 10K": {
        ("nDCG", "nDCG"): Score(0.723, "–"),
        ("nDCG", "nDCG@10"): Score(0.722, "Y"),
        ("nDCG", "AP"): Score(0.718, "Y"),
        ("nDCG", "RR"): Score(0.704, "Y"),
        ("nDCG@10", "nDCG"): Score(0.442, "N"),
        ("nDCG@10", "nDCG@10"): Score(0.422, "–"),
        ("nDCG@10", "AP"): Score(0.435, "Y"),
        ("nDCG@10", "RR"): Score(0.403, "Y"),
        ("AP", "nDCG"): Score(0.335, "Y"),
        ("AP", "nDCG@10"): Score(0.335, "Y"),
        ("AP", "AP"): Score(0.337, "–"),
        ("AP", "RR"): Score(0.314, "Y"),
        ("RR", "nDCG"): Score(0.546, "Y"),
        ("RR", "nDCG@10"): Score(0.548, "Y"),
        ("RR", "AP"): Score(0.546, "Y"),
        ("RR", "RR"): Score(0.526, "–"),
    },
    "web 22K": {
        ("nDCG", "nDCG"): Score(0.726, "–"),
        ("nDCG", "nDCG@10"): Score(0.724, "Y"),
        ("nDCG", "AP"): Score(0.723, "Y"),
        ("nDCG", "RR"): Score(0.709, "Y"),
        ("nDCG@10", "nDCG"): Score(0.452, "Y"),
        ("nDCG@10", "nDCG@10"): Score(0.448, "–"),
        ("nDCG@10", "AP"): Score(0.447, "N"),
        ("nDCG@10", "RR"): Score(0.415, "Y"),
        ("AP", "nDCG"): Score(0.341, "Y"),
        ("AP", "nDCG@10"): Score(0.338, "Y"),
        ("AP", "AP"): Score(0.343, "–"),
        ("AP", "RR"): Score(0.322, "Y"),
        ("RR", "nDCG"): Score(0.550, "Y"),
        ("RR", "nDCG@10"): Score(0.547, "Y"),
        ("RR", "AP"): Score(0.550, "Y"),
        ("RR", "RR"): Score(0.539, "–"),
    },
}
