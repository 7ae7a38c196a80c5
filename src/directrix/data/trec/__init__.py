"""TREC runs and relevance judgements, joined, and as features."""
