"""TREC runs and relevance judgments, joined, and as features."""
