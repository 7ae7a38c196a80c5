"""Losses that trainers minimise."""
