"""Timings and accuracies, each printed by a command; see README.md."""
