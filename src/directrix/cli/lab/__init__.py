"""Experiments: cross-validation, local optimality, and reproductions of papers."""
