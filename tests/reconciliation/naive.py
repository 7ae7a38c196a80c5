"""nDCG and AP under every setting, by loops over documents and over all orders of tied ones."""

from itertools import groupby, permutations, product
from math import nan

from tests.reference.measures import ap, dcg, n_rel


def naive_value(symbol, setting, queries):
    """Value of a setting; ``queries`` are lists of (score or None, label or None, id), in file order.

    A score of None: not retrieved. A label of None: not judged.
    """
    which, chosen = setting.get("queries", "both"), []
    for docs in queries:
        is_ranked, is_judged = (any(doc[part] is not None for doc in docs) for part in (0, 1))
        if {"judged": is_judged, "run": is_ranked}.get(which, is_ranked and is_judged):
            chosen.append(docs)
    if which == "one list":
        chosen = [[doc for docs in chosen for doc in docs]]
    values = [of_query(symbol, setting, docs) for docs in chosen]
    values = [value for value in values if value == value]  # without NaN: queries that are left out
    return sum(values) / len(values) if values else nan


def of_query(symbol, setting, docs):
    if setting.get("missing") == "dropped":
        docs = [doc for doc in docs if doc[0] is not None]
    if setting.get("unjudged") == "removed":
        docs = [doc for doc in docs if doc[1] is not None]
    labels = [label or 0 for _, label, _ in docs]
    retrieved = [doc for doc in docs if doc[0] is not None]
    fill = {"zero": 0.0, "one": 1.0, "skip": nan}[setting["empty"]]
    if setting["ties"] == "together":
        value = precision_of_thresholds(retrieved, labels, setting)
        return fill if value is None else value
    orders = [[label or 0 for _, label, _ in order] for order in all_orders(retrieved, setting["ties"])]
    value = {"nDCG": ndcg, "AP": average_precision}[symbol]
    values = [value(ranked, labels, setting) for ranked in orders]
    if any(v is None for v in values):
        return fill
    return sum(values) / len(values)


def all_orders(retrieved, ties):
    """Every order of the documents that the rule for ties allows."""
    rows = list(enumerate(retrieved))
    key = {
        "order": lambda row: row[0],
        "reversed": lambda row: -row[0],
        "worst": lambda row: (row[1][1] or 0, row[0]),
        "best": lambda row: (-(row[1][1] or 0), row[0]),
        "id ascending": lambda row: row[1][2],
        "trec": lambda row: [-ord(letter) for letter in row[1][2]],
    }.get(ties)
    if key:
        rows.sort(key=key)
    rows.sort(key=lambda row: -row[1][0])
    groups = [list(group) for _, group in groupby((doc for _, doc in rows), key=lambda doc: doc[0])]
    choices = [list(permutations(group)) if ties == "expected" else [group] for group in groups]
    return [[doc for group in order for doc in group] for order in product(*choices)]


def precision_of_thresholds(docs, labels, setting):
    """AP in which a relevant document has the precision at the end of its group of equal scores."""
    rel, n_relevant = setting["rel"], n_rel(labels, setting["rel"])
    if not n_relevant:
        return None
    hits = [score for score, label, _ in docs if (label or 0) >= rel]
    total = sum(sum(h >= score for h in hits) / sum(s >= score for s, _, _ in docs) for score in hits)
    of = len(hits) if setting["denominator"] == "retrieved" else n_relevant
    return total / of if of else 0.0


def ndcg(ranked, labels, setting):
    k, forms = setting["k"], (setting["gain"], setting["discount"])
    depth = None if setting.get("ideal") == "whole list" else k
    ideal = dcg(sorted(labels, reverse=True), depth, *forms)
    return dcg(ranked, k, *forms) / ideal if ideal else None


def average_precision(ranked, labels, setting):
    k, rel, denominator = setting["k"], setting["rel"], setting["denominator"]
    if not n_rel(labels, rel):
        return None
    value = ap(ranked, labels, k, rel, capped=denominator == "capped")
    hits = n_rel(ranked[:k], rel)
    return value * n_rel(labels, rel) / hits if denominator == "retrieved" and hits else value
