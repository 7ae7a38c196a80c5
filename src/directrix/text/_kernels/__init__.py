"""Compiled loops over the words of documents: arrays in, arrays out."""
