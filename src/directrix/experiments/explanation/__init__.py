"""Explanations: importance of features, their effect on ranks, and contributions to scores."""
