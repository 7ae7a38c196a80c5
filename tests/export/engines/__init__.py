"""Engines as evaluators of exported files, by the rules of their own sources."""
