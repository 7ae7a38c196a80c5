"""The experiments of He and Liu (2010), Section 6: tendency correlation, restarts, ranking performance."""
