"""Queries, files, splits, scaling, synthetic data: everything before a score exists."""
