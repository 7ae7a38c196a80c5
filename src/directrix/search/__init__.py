"""The search behind `train` and `AutoRanker`: candidates are trained on folds, and a measure chooses."""
