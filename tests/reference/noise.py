"""Noise by counter, as the kernels draw it: SplitMix64 on Python's integers."""

import struct

BITS = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def mixed(z):
    """SplitMix64's function of an integer of 64 bits."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def key_of(labels, draw):
    """Where the noise of a query begins."""
    key = mixed((draw + STEP) & BITS)
    for label in labels:
        (bits,) = struct.unpack("<Q", struct.pack("<d", label))
        key = mixed(((key ^ bits) + STEP) & BITS)
    return key


def next_key(key):
    return mixed((key + STEP) & BITS)


def uniform(key, place):
    """A number uniform on (0, 1) for a place of the query, from 1 on."""
    return ((mixed((key + place * STEP) & BITS) >> 12) + 0.5) * 2.0**-52


def uniforms(labels, draw, sample=0):
    """The numbers of one sample, one per document, which belong to their places."""
    key = next_key((key_of(labels, draw) + sample * STEP) & BITS)
    return [uniform(key, place) for place in range(1, len(labels) + 1)]
