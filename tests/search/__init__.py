"""Tests of the search."""

import directrix as dx


def search(q, valid=None, *, seed=0, by_query=True, weights=(None, None), progress=None, **parameters):
    """Return the result of an `AutoRanker` that tries scales by query too, as `directrix train` does."""
    ranker = dx.AutoRanker(random_state=seed, by_query=by_query, **parameters)
    return ranker.search(q, valid, weights=weights, progress=progress)
