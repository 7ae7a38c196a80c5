"""Prepare data for training on several machines."""
