"""Labeled queries from tables of events: groups, candidates and features as of a decision."""
