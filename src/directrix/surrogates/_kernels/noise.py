"""Noise by counter: it follows from the number of a draw, the labels of a query and a place in it.

So a query has the same noise alone and among others, on any number of threads.
"""

import numpy as np

from directrix.kernels import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)


@kernel
def mixed(z):
    """The bits of an integer, mixed: SplitMix64 (Steele, Lea & Flood 2014, doi:10.1145/2660193.2660195)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def next_key(key):
    """Where the next drawing of the same query begins."""
    return mixed(key + _STEP)


@kernel
def key_of(labels, draw):
    """Where the noise of a query begins: elsewhere for other labels in this order, and for another draw."""
    key = mixed(np.uint64(draw) + _STEP)
    bits = labels.view(np.uint64)
    for p in range(len(bits)):
        key = mixed((key ^ bits[p]) + _STEP)
    return key


@kernel
def uniform(key, p):
    """A number uniform on (0, 1) for the place p of a query, p = 0, 1, ..."""
    bits = mixed(key + np.uint64(p + 1) * _STEP) >> np.uint64(12)
    return (np.float64(bits) + 0.5) * 2.0**-52


@kernel
def uniform_chunk(labels, draw, sample, qptr, first, last, u):
    """Fill ``u``, float64 (n_docs,), with numbers uniform on (0, 1), which belong to places in the query."""
    for q in range(first, last):
        lo = qptr[q]
        key = next_key(key_of(labels[lo : qptr[q + 1]], draw) + np.uint64(sample) * _STEP)
        for i in range(lo, qptr[q + 1]):
            u[i] = uniform(key, i - lo)
