"""Noise by counter: numbers that follow from a draw, the labels of a query in an order, and a place in it.

So a query has the same noise alone and among others. Where the order is the ranking, another order of the
documents changes nothing; where it is that of the documents, noise does not change with the scores.
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
def query_key(labels, draw):
    """Where the noise of a query begins: elsewhere for other labels in this order, and for another draw."""
    key = _mixed(np.uint64(draw) + _STEP)
    bits = labels.view(np.uint64)
    for p in range(len(bits)):
        key = _mixed((key ^ bits[p]) + _STEP)
    return key


@kernel
def next_key(key):
    """Where the next noise of the same query begins."""
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


@kernel
def uniform_chunk(labels, draw, sample, qptr, first, last, u):
    """Fill ``u``, float64 (n_docs,), with numbers uniform on (0, 1), which belong to places in the query."""
    for q in range(first, last):
        lo = qptr[q]
        key = next_key(query_key(labels[lo : qptr[q + 1]], draw) + np.uint64(sample) * _STEP)
        for i in range(lo, qptr[q + 1]):
            u[i] = _uniform(key, i - lo + 1)
