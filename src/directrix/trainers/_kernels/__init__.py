"""Compiled loops of trainers: arrays in, arrays out."""
