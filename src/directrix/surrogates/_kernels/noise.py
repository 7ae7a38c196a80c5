"""Noise for the scores of a query: numbers that follow from a draw, the query's labels by rank, and the rank.

Noise belongs to a rank, not to a document: so another order of the documents changes nothing, and a query has
the same noise alone and among others.
"""

import math

import numpy as np

from directrix.kernels import kernel

LOGISTIC, GUMBEL, NORMAL = 0, 1, 2
_STEP = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _mixed(z):
    """The bits of an integer, mixed: SplitMix64 (Steele, Lea & Flood 2014, doi:10.1145/2660193.2660195)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _uniform(key, number):
    """A number in (0, 1)."""
    bits = _mixed(key + np.uint64(number) * _STEP) >> np.uint64(12)
    return (np.float64(bits) + 0.5) * 2.0**-52


@kernel
def query_key(ranked, draw):
    """Where the noise of a query begins: elsewhere for other labels by rank, and for another draw."""
    key = _mixed(np.uint64(draw) + _STEP)
    bits = ranked.view(np.uint64)
    for p in range(len(bits)):
        key = _mixed((key ^ bits[p]) + _STEP)
    return key


@kernel
def next_key(key):
    """Where the noise of the next ranking begins."""
    return _mixed(key + _STEP)


@kernel
def add_noise(kind, s, scale, key, noisy):
    """Add ``scale`` times noise of a kind to every score: LOGISTIC, GUMBEL or NORMAL."""
    for p in range(len(s)):
        if kind == NORMAL:  # Box & Muller (1958)
            u, v = _uniform(key, 2 * p + 1), _uniform(key, 2 * p + 2)
            drawn = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)
        else:
            u = _uniform(key, p + 1)
            drawn = -math.log(-math.log(u)) if kind == GUMBEL else math.log(u / (1.0 - u))
        noisy[p] = s[p] + scale * drawn
