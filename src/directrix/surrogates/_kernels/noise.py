"""Noise by counter: numbers that follow from a draw, the labels of a query in an order, and a place in it.

So a query has the same noise alone and among others. Where the order is the ranking, another order of the
documents changes nothing; where it is that of the documents, noise does not change with the scores.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST
from directrix.surrogates._kernels.sigmoids import logarithm

_STEP = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(0x3FF0000000000000)  # bits of 1


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
    # 1 to 2, by its bits: few processors turn vectors of uint64 into float64
    return np.uint64(bits | _ONE).view(np.float64) - (1.0 - 2.0**-53)


@kernel
def query_key(labels, draw):
    """Return the first key of the noise of a query; it depends on the labels, their order and the draw."""
    key = _mixed(np.uint64(draw) + _STEP)
    bits = labels.view(np.uint64)
    for p in range(len(bits)):
        key = _mixed((key ^ bits[p]) + _STEP)
    return key


@kernel
def next_key(key):
    """Return the key of the next noise of the same query."""
    return _mixed(key + _STEP)


@kernel(fastmath=FAST)
def add_noise(s, scale, key, noisy):
    """Add ``scale`` times logistic noise to every score."""
    for p in range(len(s)):
        u = _uniform(key, p + 1)
        noisy[p] = s[p] + scale * logarithm(u / (1.0 - u))


@kernel
def uniform_chunk(labels, draw, sample, qptr, first, last, u):
    """Fill ``u``, float64 (n_docs,), with numbers uniform on (0, 1), which belong to places in the query."""
    for q in range(first, last):
        lo = qptr[q]
        key = next_key(query_key(labels[lo : qptr[q + 1]], draw) + np.uint64(sample) * _STEP)
        for i in range(lo, qptr[q + 1]):
            u[i] = _uniform(key, i - lo + 1)
