"""Exact measures, their conventions, and names."""
