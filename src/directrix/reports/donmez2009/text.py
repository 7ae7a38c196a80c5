"""The words of the page: what was found, what was done, what is missing."""

from __future__ import annotations

from directrix.experiments.donmez2009.collection import LETOR
from directrix.experiments.donmez2009.results import Found
from directrix.reports.donmez2009.tables import NETS, short

__all__ = ["PAPER", "TITLE", "how", "missing", "summary"]

TITLE = "Donmez, Svore and Burges (2009) on OHSUMED, MQ2008 and artificial data"
PAPER = (
    'Donmez, Svore and Burges (2009), "On the local optimality of LambdaRank", SIGIR, 460-467, '
    "https://doi.org/10.1145/1571941.1572021"
)


def summary(found: Found) -> tuple[str, ...]:
    """Sentences made of the figures."""
    certified = {
        what: [one for (kind, *_), one in found.certificates.items() if kind == what]
        for what in ("converged", "polished")
    }
    said = []
    for one in found.comparisons:
        rows = {short(name): row for name, row in one.constructions.items()}
        first = ", ".join(
            f"{name}: `{max(row, key=lambda r: r.mean).name}` {max(r.mean for r in row):.3f}"
            for name, row in rows.items()
        )
        said.append(f"**{one.name}**, forces with the highest test value: {first}.")
    for one in found.comparisons:
        matching = one.matchings["mlp"]
        best = ", ".join(f"{short(target)} by {short(matching.best(target))}" for target in one.measures)
        said.append(f"**{one.name}**, two-layer nets, best training for every measure: {best}.")
    for what, text in (
        ("converged", "the weights of the best training epoch"),
        ("polished", "polished weights"),
    ):
        ones = certified[what]
        if ones:
            rising = [one["n_rising"] for one in ones]
            done = sum(one["is_local_optimum"] for one in ones)
            tried = sorted({one["n_directions"] for one in ones})
            of = f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}"
            said.append(
                f"Local optimality of {text}: {done} of {len(ones)} are certified; of {of} directions "
                f"{min(rising)} to {max(rising)} rise, by at most "
                f"{max(one['largest_rise'] for one in ones):.4f}."
            )
    return tuple(said)


def missing(found: Found) -> tuple[tuple[str, str], ...]:
    """What the paper has and this has not."""
    return (
        ("10K and 22K web data", "Data of a commercial search engine; they were never published."),
        *((name, f"letor/{name} is not in the data folder.") for name in found.missing),
        (
            "Artificial data of 300 features and 10,000 queries",
            "Hours of training; a smaller polynomial stands for them. From Python: `reproduce(request, "
            "replace(Settings(), artificial=PAPER))`.",
        ),
        (
            "The constructions for nDCG@10",
            "nDCG stands for measures of graded labels; the paper has tables of MAP and MRR alone.",
        ),
        ("8 of the 13 constructions", "The paper compares 13 and describes the five of Tables 1 and 2."),
    )


def how(found: Found) -> tuple[str, ...]:
    """What was done, and what differs from the paper."""
    s = found.settings
    a = s.artificial
    made = (a.n_train, a.n_valid, a.n_test)
    rates = ", ".join(f"{rate:g}" for rate in s.rates)
    count = next((one["n_directions"] for one in found.certificates.values()), 0)
    queries = "; ".join(f"{one.name} {len(one.query_ids)}" for one in found.comparisons)
    folds = dict(zip(LETOR, (s.folds, s.mq2008_folds), strict=True))
    read = " and ".join(
        f"{name} ({n} of its 5 folds)" for name, n in folds.items() if name not in found.missing
    )
    letor = f"{read}, LETOR: labels 0 to 2, relevant from 1 on. " if read else ""
    return (
        f"**Data.** {letor}Artificial data by a random cubic polynomial, labels 0 to 4, relevant to MAP "
        f"and MRR from 2 on as in the paper: {a.n_features} features, {a.docs_per_query} documents a "
        f"query, {made[0]} / {made[1]} / {made[2]} queries to train, validate and test (paper: 300 "
        f"features, 10,000 / 5,000 / 10,000). Test queries: {queries}. Two-layer nets cannot learn a dense "
        "cubic of 300 features from the queries that there is time for, hence the smaller one.",
        f"**Training.** LambdaRank, a query a step, rates {rates} chosen on validation queries together "
        f"with the epoch; at most {s.epochs} epochs or {s.steps:,} steps, whichever is less, ended after "
        f"{s.patience} epochs without a better validation value; rate times 0.8 with probability 0.3 after "
        f"a worse epoch; a restart after 50 epochs without change. Two-layer: {s.hidden} hidden units, "
        "tanh. The paper has 700 epochs and rates from 1e-7 to 1e-3, on features of another scale.",
        f"**Constructions.** {NETS['mlp'].capitalize()} nets; what the paper says of each by one sentence "
        "is read as in [the explanation of LambdaRank](../explanation/lambdarank.md). Tables show "
        "validation values, as the paper, and test values, which the tests of significance take.",
        f"**Local optimality.** On the training queries of the first fold; {count} random directions (eps "
        f"= {s.eps:g}, delta = {s.delta:g}), steps 0.1 to 1 as they are, although a linear ranking does "
        "not know the norm of its weights; the tables give it. The paper tests weights after convergence: "
        "here those of the epoch that is best on the training queries, at any rate, and beside them those "
        "that validation chose.",
        "**Matching.** Both nets for nDCG, nDCG@10, AP, RR, tested on each; paired t-tests at 95 % over "
        "the test queries of all folds, against the training for the tested measure. Fig. 5: two-layer "
        f"nets on the first {', '.join(map(str, a.sizes))} artificial queries; effective pairs are the "
        "mean over epochs.",
        '**Verdicts.** "Holds" for an order asks for p < .05 in every comparison, "does not hold" for '
        "p < .05 the other way in one. Each comparison is tested by itself. Sentences on certificates ask "
        f"that it is so for every net and data set. Seed {s.seed}; a seed more would be another draw of "
        "weights and directions.",
    )
