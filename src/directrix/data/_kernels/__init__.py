"""Compiled parts of the readers: arrays in, arrays out, no messages."""
