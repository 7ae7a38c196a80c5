"""Numba kernels of the models."""
