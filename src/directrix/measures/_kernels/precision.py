"""Measures of binary relevance: each is the exact expectation over the orders of tied groups."""

from __future__ import annotations

import numpy as np

from directrix.kernels import kernel


@kernel
def _count(labels, rel):
    count = 0
    for i in range(len(labels)):  # over a slice the loop runs on vectors, between two bounds it would not
        count += labels[i] >= rel
    return count


@kernel
def count_relevant(labels, qptr, rel, n_rel):
    """Fill ``n_rel[q]`` with the number of documents of query q whose label is at least ``rel``."""
    for q in range(len(qptr) - 1):
        n_rel[q] = _count(labels[qptr[q] : qptr[q + 1]], rel)


@kernel
def average_precision(ranked, ends, retrieved, qptr, rel, k, n_rel, capped, empty, value):
    """AP@k: divided by R, or by min(R, k) if ``capped``.

    In a group of m tied documents with r relevant ones behind a documents with c relevant
    ones, place t = 1..m adds (r/m) (c + 1 + (t-1)(r-1)/(m-1)) / (a+t)
    (McSherry & Najork 2008, section 2.4).
    """
    for q in range(len(qptr) - 1):
        lo = qptr[q]
        if n_rel[q] == 0:
            value[q] = empty
            continue
        n_top = min(retrieved[q], k)
        total = 0.0
        before = 0
        i = lo
        while i < lo + n_top and before < n_rel[q]:
            end = ends[i]
            if end == i + 1:
                hit = ranked[i] >= rel
                before += hit
                total += hit * before / (i - lo + 1.0)  # no branch: hits are hard to predict
                i = end
                continue
            m = end - i
            r = _count(ranked[i:end], rel)
            if r > 0:
                step = (r - 1.0) / (m - 1.0)
                part = 0.0
                for p in range(i, min(end, lo + n_top)):
                    part += (before + 1.0 + (p - i) * step) / (p - lo + 1.0)
                total += part * r / m
            before += r
            i = end
        value[q] = total / (min(n_rel[q], k) if capped else n_rel[q])


@kernel
def hits(ranked, ends, retrieved, qptr, rel, k, n_rel, expected):
    """Count the relevant documents in the top k, in expectation; k = 0 means R."""
    for q in range(len(qptr) - 1):
        last = qptr[q] + min(retrieved[q], k if k > 0 else np.int64(n_rel[q]))
        total = 0.0
        i = qptr[q]
        while i < last:
            end = ends[i]
            if end == i + 1:
                total += ranked[i] >= rel
            else:
                r = _count(ranked[i:end], rel)
                total += r if end <= last else r * (last - i) / (end - i)
            i = end
        expected[q] = total


@kernel
def first_hit(ranked, ends, retrieved, qptr, rel, k, n_rel, reciprocal, empty, value):
    """Fill 1/rank of the first relevant document within k, or, without ``reciprocal``, its chance.

    In the first group with a relevant document (m documents, r relevant, a before it) the
    first one is at rank a + t with chance r/(m-t+1) prod_{s<t-1} (m-r-s)/(m-s)
    (McSherry & Najork 2008, section 2.5).
    """
    for q in range(len(qptr) - 1):
        lo = qptr[q]
        last = lo + min(retrieved[q], k)
        i = lo
        r = 0
        while i < last:
            r = _count(ranked[i : ends[i]], rel)
            if r > 0:
                break
            i = ends[i]
        if i >= last:
            value[q] = 0.0 if n_rel[q] > 0 else empty
            continue
        m = ends[i] - i
        total = 0.0
        none_yet = 1.0
        for t in range(min(m - r + 1, last - i)):
            total += none_yet * r / (m - t) / (i - lo + t + 1.0 if reciprocal else 1.0)
            none_yet *= (m - r - t) / (m - t)
        value[q] = total


@kernel
def discounted_hits(ranked, ends, retrieved, qptr, rel, k, n_rel, persistence, empty, value):
    """RBP: (1 - p) sum of p^(rank - 1) over relevant documents, in expectation."""
    for q in range(len(qptr) - 1):
        last = qptr[q] + min(retrieved[q], k)
        total = 0.0
        weight = 1.0 - persistence
        i = qptr[q]
        while i < last:
            end = ends[i]
            if end == i + 1:
                total += weight * (ranked[i] >= rel)
                weight *= persistence
            else:
                places = 0.0
                for _ in range(i, min(end, last)):
                    places += weight
                    weight *= persistence
                total += places * _count(ranked[i:end], rel) / (end - i)
            i = end
        value[q] = total if n_rel[q] > 0 else empty


@kernel
def interpolated_precision(ranked, retrieved, qptr, rel, n_rel, recall, empty, value):
    """Largest precision at any rank whose recall is at least ``recall``; tied groups are not shared."""
    for q in range(len(qptr) - 1):
        lo = qptr[q]
        if n_rel[q] == 0:
            value[q] = empty
            continue
        needed = np.int64(recall * n_rel[q] + 0.5)  # rounded as in trec_eval 10; its version 9 adds 0.9
        best = 0.0
        above = 0
        for i in range(lo, lo + retrieved[q]):
            if ranked[i] >= rel:
                above += 1
            if above >= needed:
                best = max(best, above / (i - lo + 1.0))
        value[q] = best
