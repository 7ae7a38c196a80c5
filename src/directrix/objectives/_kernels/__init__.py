"""Numba kernels of an epoch of SGD, which join model, surrogate and steps."""
