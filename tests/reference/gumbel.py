"""The mean of a surrogate over scores with Gumbel noise: one call of the surrogate per sample."""

import math

import numpy as np

from tests.reference import Reference
from tests.reference.noise import uniforms


def noisy_scores(scores, labels, *, samples, scale, draw):
    for sample in range(samples):
        noise = [-math.log(-math.log(u)) for u in uniforms(labels, draw, sample)]
        yield np.array([s + scale * g for s, g in zip(scores, noise, strict=True)])


def mean(scores, labels, *, surrogate, **noise):
    if "value_free" in surrogate.properties:
        return float(surrogate.measure(scores, labels, np.array([0, len(scores)]))[0])
    drawn = noisy_scores(scores, labels, **noise)
    return np.mean([surrogate.value_and_grad(s, labels, np.array([0, len(s)]))[0][0] for s in drawn])


REFERENCES = {
    "Gumbel": Reference(
        mean,
        [
            {"samples": 3},
            {"surrogate": "ListNet(target='shares')", "samples": 2, "scale": 0.5, "draw": 3},
            {"surrogate": "Lambda('nDCG@3')", "samples": 2},
            {"surrogate": "Gumbel('XENDCG', samples=2)", "samples": 1},
        ],
    )
}
