"""PL-Rank and StochasticRank by their definitions: every choice, every move of a document."""

import math
from itertools import permutations as orders

import numpy as np

from tests.reference import Reference
from tests.reference.lambdas import ranking, value
from tests.reference.noise import gumbel, noise, normal

LEFT = {
    "sum": lambda above: 1.0,
    "precision": lambda above: 1.0 + sum(x > 0 for x in above),
    "first_hit": lambda above: float(not any(above)),
    "cascade": lambda above: math.prod(1 - x for x in above),
}
"""What documents of these worths leave to the rank below them, by the form of the measure."""


def samples(scores, labels, *, permutations, draw, temperature=None, sigma=None):
    """The scores in units of the noise, and the same with noise, for every permutation."""
    kind, unit = (normal, sigma) if temperature is None else (gumbel, temperature)
    scaled = [s / unit for s in scores]
    for drawn in noise(kind, scores, labels, permutations=permutations, draw=draw):
        yield scaled, [u + z for u, z in zip(scaled, drawn, strict=True)]


def mean_value(measure, scores, labels, **settings):
    """Mean of the measure over the samples."""
    return float(np.mean([value(measure, z, labels) for _, z in samples(scores, labels, **settings)]))


def in_order(measure, order, labels):
    """The measure if the documents come in this order."""
    scores = [0.0] * len(order)
    for rank, document in enumerate(order):
        scores[document] = -float(rank)
    return value(measure, scores, labels)


def luce(scores, labels, *, measure, temperature, **settings):
    """PL-Rank's gradient and curvature."""
    n, qptr = len(scores), np.array([0, len(scores)])
    terms = measure.terms(np.array(labels), qptr)
    worth = terms.worth / terms.norm if terms.norm[0] > 0 else terms.worth
    discount = [terms.discount[p] if p < measure.depth else 0.0 for p in range(n)]
    pull, bend, settings = np.zeros(n), np.zeros(n), {**settings, "temperature": temperature}

    def future(order):
        earns = [LEFT[measure.form](worth[order[:p]]) * discount[p] for p in range(n)]
        return earns, [sum(earns[t] * worth[order[t]] for t in range(p + 1, n)) for p in range(n)]

    rankings = [future(ranking(scores))[1]]
    for u, noisy in samples(scores, labels, **settings):
        order, pushed, squares = ranking(noisy), np.zeros(n), np.zeros(n)
        (earns, follows), usual = future(order), np.mean(rankings, axis=0)
        rankings.append(follows)
        for p in range(min(n, measure.depth)):
            rest = order[p:]
            chance = np.exp(np.array(u)[rest])
            chance /= chance.sum()
            mean, surplus = chance @ worth[rest], follows[p] - usual[p]
            pull[order[p]] += surplus
            pull[rest] += chance * (earns[p] * (worth[rest] - mean) - surplus)
            pushed[rest] += chance * (earns[p] * mean + max(follows[p], usual[p]))
            squares[rest] += chance**2 * (earns[p] * mean + max(follows[p], usual[p]))
        bend += np.maximum(pushed - squares, 0.05 * pushed)
    return pull / settings["permutations"] / temperature, bend / settings["permutations"] / temperature**2


def conditional(scores, labels, *, measure, sigma, **settings):
    """StochasticRank's gradient and curvature."""
    n, settings = len(scores), {**settings, "sigma": sigma}
    pull, bend = np.zeros(n), np.zeros(n)
    for u, noisy in samples(scores, labels, **settings):
        order = ranking(noisy)
        for i in range(n):
            others = [o for o in order if o != i]
            at = [in_order(measure, [*others[:p], i, *others[p:]], labels) for p in range(n)]
            for p, other in enumerate(others):
                density = math.exp(-((noisy[other] - u[i]) ** 2) / 2) / math.sqrt(2 * math.pi)
                pull[i] += (at[p] - at[p + 1]) * density
                bend[i] += abs(at[p] - at[p + 1]) * density
    pull, bend = pull / settings["permutations"], bend / settings["permutations"]
    return (pull - pull.mean()) / sigma, (bend + abs(pull.mean())) / sigma**2


def luce_exactly(scores, labels, *, measure, temperature):
    """Expectation of the measure and its gradient, by all rankings."""
    n = len(scores)
    mean, grad = 0.0, np.zeros(n)
    for order in orders(range(n)):
        chance, slope = 1.0, np.zeros(n)
        for p in range(n):
            rest = list(order[p:])
            shares = np.exp(np.array(scores)[rest] / temperature)
            shares /= shares.sum()
            chance *= shares[0]
            slope[order[p]] += 1 / temperature
            slope[rest] -= shares / temperature
        earned = chance * in_order(measure, order, labels)
        mean, grad = mean + earned, grad + earned * slope
    return mean, grad


def normal_exactly(scores, labels, *, measure, sigma):
    """Expectation of the measure for three documents: chances of orders by integrals over the second."""
    z, step = np.linspace(-12.0, 12.0, 4001, retstep=True)
    below = 0.5 * (1.0 + np.vectorize(math.erf)(z / math.sqrt(2.0)))
    center = [s / sigma for s in scores]
    mean = 0.0
    for a, b, c in orders(range(3)):
        at = center[b] + z
        first, last = (np.interp(at - center[d], z, below, left=0.0, right=1.0) for d in (a, c))
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        mean += in_order(measure, (a, b, c), labels) * float((density * (1.0 - first) * last).sum() * step)
    return mean


MEASURES = ("nDCG@3", "AP", "AP(rel=2)@3", "RR", "P@4", "ERR(l_max=3)@5", "nDCG(empty='one')")
REFERENCES = {
    "PLRank": Reference(
        lambda s, labels, **settings: mean_value(scores=s, labels=labels, **settings),
        [{}, {"temperature": 0.3, "draw": 7}, *({"measure": m, "permutations": 2} for m in MEASURES)],
    ),
    "StochasticRank": Reference(
        lambda s, labels, **settings: mean_value(scores=s, labels=labels, **settings),
        [{}, {"sigma": 0.3, "draw": 7}, *({"measure": m, "permutations": 2} for m in MEASURES)],
    ),
}
