"""Experiments: numbers from data, trainers and measures, without a word on how they are shown."""
