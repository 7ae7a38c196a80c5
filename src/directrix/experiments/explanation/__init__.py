"""What the features of a ranker are worth, how they move ranks, and what its scores are made of."""
