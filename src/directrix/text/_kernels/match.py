"""Terms of documents: how often and how near those of a query occur, and statistics of all of them."""

from __future__ import annotations

import numpy as np

from directrix.kernels import kernel


@kernel
def match(tokens, offsets, docs, slot, follows, tf, near, adjacent):
    """Count the terms of a query in documents; ``slot`` is the place of a term in the query, or -1.

    ``near`` gets the smallest distance between two different terms (0 if fewer than two occur), ``adjacent``
    the number of pairs of neighboring terms that ``follows[a, b]`` says are neighbors in the query.
    """
    for i in range(len(docs)):
        first, last = offsets[docs[i]], offsets[docs[i] + 1]
        smallest, before, at = 0, -1, 0
        for p in range(first, last):
            j = slot[tokens[p]]
            if j < 0:
                continue
            tf[i, j] += 1
            if before >= 0:
                gap = p - at
                if gap == 1 and follows[before, j]:
                    adjacent[i] += 1
                if before != j and (smallest == 0 or gap < smallest):
                    smallest = gap
            before, at = j, p
        near[i] = smallest


@kernel
def count_terms(tokens, offsets, df, cf):
    """Count for every term the documents that have it, and its occurrences."""
    seen = np.full(len(df), -1, np.int64)
    for doc in range(len(offsets) - 1):
        for p in range(offsets[doc], offsets[doc + 1]):
            term = tokens[p]
            cf[term] += 1
            if seen[term] != doc:
                seen[term] = doc
                df[term] += 1


@kernel
def lengths_of_vectors(tokens, offsets, idf, norm):
    """Euclidean length of every document's vector of weights (1 + ln tf) idf."""
    tf = np.zeros(len(idf), np.int64)
    for doc in range(len(offsets) - 1):
        first, last = offsets[doc], offsets[doc + 1]
        for p in range(first, last):
            tf[tokens[p]] += 1
        total = 0.0
        for p in range(first, last):
            term = tokens[p]
            if tf[term] > 0:
                weight = (1.0 + np.log(tf[term])) * idf[term]
                total += weight * weight
                tf[term] = 0
        norm[doc] = np.sqrt(total)
