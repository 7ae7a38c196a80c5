"""From documents to a better list: index, candidates, text features, fusion of runs, reconciliation."""
