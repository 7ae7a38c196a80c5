"""The choice of a search by the rules of docs/decisions/selection.md, with all candidates at hand."""

import numpy as np


def value(candidate):
    return -np.inf if np.isnan(candidate.valid) else candidate.valid


def best(candidates):
    """The highest value; of equal ones the first in the order of preference."""
    chosen = None
    for candidate in sorted(candidates, key=lambda c: c.place):
        if chosen is None or value(candidate) > value(chosen):
            chosen = candidate
    return chosen


def can_be_chosen(candidates):
    finished = [c for c in candidates if c.outcome == ""]
    stopped = [c for c in candidates if c.outcome == "cut short"]
    if not finished:
        return stopped or [c for c in candidates if c.outcome == "not trained"]
    return finished + [c for c in stopped if all(value(c) > value(other) for other in finished)]


def lead(values, others):
    """The mean difference query by query, and its standard error."""
    differences = values - others
    differences = differences[~np.isnan(differences)]
    n = len(differences)
    if n == 0:
        return 0.0, 0.0
    return differences.mean(), 0.0 if n < 2 else differences.std(ddof=1) / np.sqrt(n)


def in_order(candidates):
    left, order = list(candidates), []
    while left:
        order.append(best(left))
        left = [c for c in left if c is not order[-1]]
    return order


def ensemble(candidates, mean_values):
    """Return the members, their mean scores and values, or None; ``mean_values`` evaluates mean scores."""
    able = can_be_chosen(candidates)
    leaders = [best([c for c in able if c.name == name]) for name in {c.name for c in able}]
    pool = [c for c in able if c in leaders or c.candidate.is_anchor]
    pool = in_order(c for c in pool if c.scores.any() and not np.isnan(c.valid))
    if len(pool) < 2:
        return None
    methods = []
    for candidate in pool:
        if candidate.name not in methods:
            methods.append(candidate.name)
    members = []
    for candidate in pool:
        behind, error = lead(pool[0].values, candidate.values)
        if (candidate.name in methods[:4] or candidate.candidate.is_anchor) and behind <= 2.0 * error:
            members.append(candidate)
    scores = sum(c.scores for c in members) / len(members)
    values = mean_values(scores)
    is_known = ~np.isnan(values - members[0].values)
    return (members, scores, values) if len(members) > 1 and is_known.sum() >= 10 else None


def single(candidates, *, simple):
    able = can_be_chosen(candidates)
    first = best(able)
    if simple:
        for candidate in sorted(able, key=lambda c: c.place):
            leader = best([c for c in able if c.name == candidate.name])
            behind, error = lead(first.values, leader.values)
            if behind <= error and np.isnan(leader.valid) == np.isnan(first.valid):
                return leader
    return first


def choose(candidates, mean_values, *, may_blend, simple):
    """Return the chosen candidates, their scores and values; several are the members of an ensemble."""

    def among(some):
        mixed = ensemble(some, mean_values) if may_blend else None
        one = single(some, simple=simple)
        return mixed or ([one], one.scores, one.values)

    able = can_be_chosen(candidates)
    chosen = among(able)
    alone = [c for c in able if not c.candidate.needs_queries]
    if alone and any(c.candidate.needs_queries for c in chosen[0]):
        other = among(alone)
        ahead, error = lead(chosen[2], other[2])
        return chosen if ahead > error else other
    return chosen
