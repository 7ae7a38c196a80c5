"""Engines as evaluators, by the rules of their own sources: each loads an exported file and returns the scores of rows."""
