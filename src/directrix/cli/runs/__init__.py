"""Combine runs of other systems, learn from them, and explain their numbers."""
