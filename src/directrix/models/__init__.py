"""Scores from features."""
