"""Noise that follows from a draw, the labels in an order, and a place in it. Plain loops."""

import math
import struct

from tests.reference.lambdas import ranking

BITS = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def mixed(z):
    """SplitMix64's function of an integer of 64 bits."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def uniform(key, number):
    """A number in (0, 1)."""
    return ((mixed((key + number * STEP) & BITS) >> 12) + 0.5) * 2.0**-52


def logistic(key, rank):
    u = uniform(key, rank)
    return math.log(u / (1 - u))


def key_of(labels, draw):
    """Where the noise of a query begins."""
    key = mixed((draw + STEP) & BITS)
    for label in labels:
        (bits,) = struct.unpack("<Q", struct.pack("<d", label))
        key = mixed(((key ^ bits) + STEP) & BITS)
    return key


def noise(kind, scores, labels, *, permutations, draw):
    """The noise of every document, again for every permutation; it belongs to the ranks of the scores."""
    ranks = ranking(scores)
    key = key_of([labels[document] for document in ranks], draw)
    for _ in range(permutations):
        key = mixed((key + STEP) & BITS)
        yield [kind(key, 1 + ranks.index(document)) for document in range(len(ranks))]


def uniforms(labels, draw, sample=0):
    """The numbers of one sample, one per document, which belong to their places."""
    key = mixed((key_of(labels, draw) + (sample + 1) * STEP) & BITS)
    return [uniform(key, place) for place in range(1, len(labels) + 1)]
