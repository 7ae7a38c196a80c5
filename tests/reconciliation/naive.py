"""nDCG and AP under every setting, by loops over documents and over all orders of tied ones."""

from itertools import groupby, permutations, product
from math import log2, nan


def naive_value(symbol, setting, queries):
    """Value of a setting; ``queries`` are lists of (score or None, label or None, id), in file order.

    A score of None: not retrieved. A label of None: not judged.
    """
    which = setting.get("queries", "both")
    chosen = [docs for docs in queries if counts(docs, which)]
    if which == "one list":
        chosen = [[doc for docs in chosen for doc in docs]]
    values = [of_query(symbol, setting, docs) for docs in chosen]
    values = [value for value in values if value == value]  # without NaN: queries that are left out
    return sum(values) / len(values) if values else nan


def counts(docs, which):
    is_ranked = any(score is not None for score, _, _ in docs)
    is_judged = any(label is not None for _, label, _ in docs)
    return {"judged": is_judged, "run": is_ranked}.get(which, is_ranked and is_judged)


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
    is_relevant = [(score, (label or 0) >= setting["rel"]) for score, label, _ in docs]
    n_relevant = sum(label >= setting["rel"] for label in labels)
    if not n_relevant:
        return None
    hits = sum(relevant for _, relevant in is_relevant)
    total = 0.0
    for score, relevant in is_relevant:
        above = [r for s, r in is_relevant if s >= score]
        total += relevant * sum(above) / len(above)
    of = hits if setting["denominator"] == "retrieved" else n_relevant
    return total / of if of else 0.0


def ndcg(ranked, labels, setting):
    k = setting["k"] or 10**6

    def gain(label):
        return 2**label - 1 if setting["gain"] == "exp" else label

    def discount(rank):
        return 1 / log2(1 + rank) if setting["discount"] == "log2" or rank == 1 else 1 / log2(rank)

    def dcg(of, depth):
        return sum(gain(label) * discount(rank) for rank, label in enumerate(of[:depth], start=1))

    ideal = dcg(sorted(labels, reverse=True), 10**6 if setting.get("ideal") == "whole list" else k)
    return dcg(ranked, k) / ideal if ideal else None


def average_precision(ranked, labels, setting):
    k, level = setting["k"] or 10**6, setting["rel"]
    n_relevant = sum(label >= level for label in labels)
    if not n_relevant:
        return None
    hits, total = 0, 0.0
    for rank, label in enumerate(ranked[:k], start=1):
        if label >= level:
            hits += 1
            total += hits / rank
    of = {"relevant": n_relevant, "capped": min(n_relevant, k), "retrieved": hits}[setting["denominator"]]
    return total / of if of else 0.0
