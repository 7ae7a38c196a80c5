"""Losses that trainers minimize."""
