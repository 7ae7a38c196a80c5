"""Labeled queries from tables of events: groups, candidates, and features at the time of a decision."""
