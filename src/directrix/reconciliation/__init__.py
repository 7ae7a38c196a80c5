"""Conventions that give a number: settings, their values, the search over all of them, and a diagnosis."""
