"""The search behind `train` and `AutoRanker`: it trains candidates on folds and chooses by a measure."""
