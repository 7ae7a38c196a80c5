"""Numba kernels that join model and surrogate."""
