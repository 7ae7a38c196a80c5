"""Compiled passes of expectation maximization over logs of clicks: arrays in, arrays out."""
