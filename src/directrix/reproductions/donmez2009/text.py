"""Sentences of the page."""

from __future__ import annotations

from collections.abc import Sequence

from directrix.reports.report import Claim
from directrix.reproductions.collection import missing_data
from directrix.reproductions.donmez2009.methods import COMPARED
from directrix.reproductions.donmez2009.protocol import Results
from directrix.reproductions.donmez2009.settings import MEASURES
from directrix.reproductions.text import listed

TITLE = "Donmez, Svore and Burges (2009) on OHSUMED, MQ2008 and artificial data"
PAPER = (
    'Donmez, Svore and Burges (2009), "On the local optimality of LambdaRank", SIGIR, 460-467, '
    "https://doi.org/10.1145/1571941.1572021"
)
_NEEDED_FOR = {name: f"{name}, which replaces the web data" for name in ("OHSUMED", "MQ2008")}
_WEIGHTS = {"converged": "the weights of the best training epoch", "polished": "polished weights"}


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarise the comparisons on each collection, and the tests of local optimality."""
    sentences = []
    for name, one in results.collections.items():
        best = [max(one.constructions(measure), key=lambda row: row.mean) for measure in COMPARED]
        first = ", ".join(
            f"{measure}: `{row.name}` {row.mean:.3f}" for measure, row in zip(COMPARED, best, strict=True)
        )
        sentences.append(f"**{name}**, forces with the highest test value: {first}.")
    for name, one in results.collections.items():
        matching = one.matching("mlp")
        best_training = ", ".join(f"{target} by {matching.best(target)}" for target in MEASURES)
        sentences.append(f"**{name}**, two-layer nets, best training for every measure: {best_training}.")
    for kind, text in _WEIGHTS.items():
        if certificates := list(results.of_kind(kind).values()):
            rising = [one["n_rising"] for one in certificates]
            n_optima = sum(one["is_local_optimum"] for one in certificates)
            tried = sorted({one["n_directions"] for one in certificates})
            of = f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}"
            sentences.append(
                f"Local optimality of {text}: {n_optima} of {len(certificates)} are certified; of {of} "
                f"directions {min(rising)} to {max(rising)} rise, by at most "
                f"{max(one['largest_rise'] for one in certificates):.4f}."
            )
    return tuple(sentences)


def missing(results: Results) -> tuple[tuple[str, str], ...]:
    """Name what could not be done, and why."""
    return (
        ("10K and 22K web data", "Data of a commercial search engine, which were never published."),
        *missing_data(_NEEDED_FOR, results.collections),
        (
            "Artificial data of 300 features and 10,000 queries",
            "They take hours of training; a smaller polynomial replaces them. From Python: "
            '`reproduction("donmez2009").reproduce(request, replace(Settings(), artificial=PAPER_SIZE))`.',
        ),
        (
            "The constructions for nDCG@10",
            "nDCG represents the measures of graded labels; the paper has tables of MAP and MRR only.",
        ),
        ("8 of the 13 constructions", "The paper compares 13 and describes the five of Tables 1 and 2."),
    )


def how(results: Results) -> tuple[str, ...]:
    """Describe data, protocol and settings, and what differs from the paper."""
    settings = results.settings
    data = settings.artificial
    n_directions = next((one["n_directions"] for one in results.certificates.values()), 0)
    queries = "; ".join(f"{name} {len(one.compared.query_ids)}" for name, one in results.collections.items())
    folds = " and ".join(
        f"{name} ({n} of its 5 folds)"
        for name, n in settings.letor_folds.items()
        if name in results.collections
    )
    letor = f"{folds}, LETOR: labels 0 to 2, relevant from 1 on. " if folds else ""
    return (
        f"**Data.** {letor}Artificial data by a random cubic polynomial, labels 0 to 4, relevant to MAP and "
        f"MRR from 2 on as in the paper: {data.n_features} features, {data.docs_per_query} documents per "
        f"query, {data.n_train} / {data.n_valid} / {data.n_test} queries to train, validate and test (paper: "
        f"300 features, 10,000 / 5,000 / 10,000). Test queries: {queries}. The polynomial is smaller than "
        "the paper's because in the time available two-layer nets cannot learn a dense cubic of 300 "
        "features.",
        f"**Training.** LambdaRank, one query per step. Validation queries choose the rate, of "
        f"{listed(settings.rates)}, together with the epoch. A training has at most {settings.epochs} epochs "
        f"and {settings.steps:,} steps, and stops after {settings.patience} epochs without a better "
        "validation value. The rate is multiplied by 0.8 with probability 0.3 after a worse epoch; training "
        f"restarts after 50 epochs without change. Two-layer nets have {settings.hidden} hidden units and "
        "tanh. The paper has 700 epochs and rates from 1e-7 to 1e-3, on features of another scale.",
        "**Constructions.** Two-layer nets. The paper describes each construction in one sentence; [the "
        "explanation of LambdaRank](../explanation/lambdarank.md) says how we read it. Tables show "
        "validation values, as the paper does, and test values, which the tests of significance use.",
        f"**Local optimality.** On the training queries of the first fold; {n_directions} random directions "
        f"(eps = {settings.eps:g}, delta = {settings.delta:g}), steps 0.1 to 1. Steps are not relative to "
        "the norm of the weights, although a linear ranking does not depend on it; the tables show the norm. "
        "The paper tests weights after convergence: here those of the epoch that is best on the training "
        "queries, at any rate, and also those that validation chose.",
        "**Matching.** Both nets are trained for nDCG, nDCG@10, AP and RR, and tested on each; paired "
        "t-tests at 95 % over the test queries of all folds, against the training for the tested measure. "
        f"Fig. 5: two-layer nets on the first {', '.join(map(str, data.sizes))} artificial queries; "
        "effective pairs are the mean over epochs.",
        '**Verdicts.** An order "holds" if every comparison has p < .05; it "does not hold" if one has the '
        "other sign and p < .05. Each comparison is tested by itself. A statement on certificates holds if "
        f"it is true for every net and data set. The seed is {settings.seed}; another seed draws other "
        "weights and directions.",
    )
