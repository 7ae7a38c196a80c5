"""YetiRank as its papers write it: rank with noise, and let neighbors push each other apart. Plain loops."""

from itertools import pairwise

import numpy as np

from tests.reference import Reference
from tests.reference.lambdas import change, ranking, value
from tests.reference.lambdas import logistic as wrong
from tests.reference.noise import logistic
from tests.reference.noise import noise as noise_of


def noisy_scores(scores, labels, *, permutations, noise, draw):
    """The scores with logistic noise, of every permutation."""
    for drawn in noise_of(logistic, scores, labels, permutations=permutations, draw=draw):
        yield [s + noise * z for s, z in zip(scores, drawn, strict=True)]


def lambdas(scores, labels, *, measure, weights, permutations, decay, noise, draw):
    """Mean lambda of every document, and its curvature."""
    pull, bend = np.zeros(len(scores)), np.zeros(len(scores))
    drawn = noisy_scores(scores, labels, permutations=permutations, noise=noise, draw=draw)
    for noisy in drawn:
        order = ranking(noisy)
        for rank, (a, b) in enumerate(pairwise(order)):
            if labels[a] == labels[b]:
                continue
            i, j = (a, b) if labels[a] > labels[b] else (b, a)
            weight = decay**rank * (labels[i] - labels[j])
            if weights == "measure":
                weight = change(measure, noisy, labels, i, j)
            p = wrong(scores, i, j)
            pull[[i, j]] += weight * p / permutations, -weight * p / permutations
            bend[[i, j]] += weight * p * max(1 - p, 0.05) / permutations
    return pull, bend


REFERENCES = {
    "YetiRank": Reference(  # its value is that of the measure; its lambdas are compared in tests/surrogates
        lambda s, labels, measure, **_: value(measure, s, labels),
        [
            {},
            {"measure": "AP(rel=2)", "permutations": 1, "decay": 0.8, "noise": 0.3, "draw": 7},
            *(
                {"measure": name, "weights": "measure", "permutations": 4}
                for name in ("nDCG", "nDCG@3", "AP", "RR", "P@4", "ERR(l_max=3)@5")
            ),
        ],
    )
}
