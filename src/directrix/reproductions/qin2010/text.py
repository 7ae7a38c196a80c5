"""Sentences of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from directrix.experiments.significance import detectable
from directrix.reports.claims import tally
from directrix.reports.report import Claim
from directrix.reproductions.collection import missing_data
from directrix.reproductions.qin2010.methods import MAP, NDCG_ALL
from directrix.reproductions.qin2010.protocol import COLLECTIONS, CollectionResults, Results
from directrix.reproductions.qin2010.published import NDCG_N
from directrix.reproductions.text import listed

TITLE = "Qin, Liu and Li (2010): ApproxAP and ApproxNDCG"
PAPER = (
    "Tao Qin, Tie-Yan Liu and Hang Li (2010), A general approximation framework for direct optimization of "
    "information retrieval measures, Information Retrieval 13, 375-397, "
    "https://doi.org/10.1007/s10791-009-9124-x"
)
_NEEDED_FOR = {
    "TD2003": "Tables 2 and 3, TD2003",
    "TD2004": "Tables 2 and 3 and Figures 1 and 2, TD2004",
    "OHSUMED": "Figures 3 to 5, OHSUMED",
    "MQ2008": "A replacement for TD2003 and TD2004",
}


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarise the claims, and the results on each collection."""
    collections = results.collections
    sentences = [*_counted(claims), *map(_of_collection, collections.values())]
    if "OHSUMED" in collections:
        sentences.append(_beside_published(collections["OHSUMED"]))
    sentences += [*map(_accuracy, collections.values()), _of_bounds(collections)]
    return tuple(f"- {sentence}" for sentence in sentences)


def _counted(claims: Sequence[Claim]) -> list[str]:
    """Count the verdicts on approximation, and on methods: the latter are claims of Sections 6.3 to 6.5."""
    parts: dict[str, list[Claim]] = {"Accuracy of approximation": [], "Which method ranks better": []}
    accuracy, better = parts.values()
    for claim in claims:
        (better if claim.source.startswith("Sect. 6") else accuracy).append(claim)
    return [f"{title}. {tally(part)}" for title, part in parts.items() if part]


def _of_collection(results: CollectionResults) -> str:
    compared = results.compared
    ranges = []
    for measure, name in ((MAP, "MAP"), (NDCG_ALL, "NDCG@n")):
        means = {method: compared.mean(method, measure) for method in compared.entries}
        low, high = (pick(means, key=means.__getitem__) for pick in (min, max))
        ranges.append(f"{name} from {means[low]:.3f} ({low}) to {means[high]:.3f} ({high})")
    values, others = (compared.values(method, MAP) for method in ("ApproxAP", "SVMmap"))
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return (
        f"**{results.collection.name}**: {ranges[0]}, {ranges[1]}. One standard error of ApproxAP's MAP over "
        f"{len(values)} queries is {error:.3f}. A true difference from SVMmap below "
        f"{detectable(values, others):.3f} would be missed more than once in five times."
    )


def _beside_published(results: CollectionResults) -> str:
    parts = []
    for method, published in NDCG_N.items():
        ours = results.compared.mean(method, NDCG_ALL)
        parts.append(f"{method} {ours:.4f} ({ours - published:+.4f})")
    return f"NDCG@n on OHSUMED, in brackets minus the published value: {', '.join(parts)}."


def _accuracy(results: CollectionResults) -> str:
    parts = []
    for figure in ("ApproxAP by alpha", "ApproxNDCG by alpha"):
        curves = results.curves[figure]
        low, high = min(curves), max(curves)
        ends = [1 - curves[alpha].rho[-1] for alpha in (low, high)]
        least = [1 - curves[alpha].rho.max() for alpha in (low, high)]
        parts.append(
            f"{figure.split()[0]} ends with {ends[0]:.1%} at alpha = {low:g} and {ends[1]:.1%} at {high:g} "
            f"(least of all epochs {least[0]:.1%} and {least[1]:.1%})"
        )
    return f"Accuracy of approximation on {results.collection.name}: {'; '.join(parts)}."


def _of_bounds(collections: Mapping[str, CollectionResults]) -> str:
    parts = []
    for name, one in collections.items():
        curves = [curve for by in one.curves.values() for curve in by.values()]
        shares = [
            float(np.mean([curve.bounds[kind].covered.mean() for curve in curves]))
            for kind in ("gap", "relevant")
        ]
        parts.append(f"{name} {shares[0]:.0%} and {shares[1]:.0%}")
    return (
        "Share of the queries that the theorems cover, with eps from the least gap of scores and from the "
        f"positions of relevant documents: {', '.join(parts)}. They do not cover tied scores, which "
        "documents with the same features have."
    )


def missing(results: Results) -> tuple[tuple[str, str], ...]:
    """Name what could not be done, and why."""
    curves = ("Figures 1 to 5, published curves", "The paper prints curves without numbers; ours are alone.")
    return (*missing_data(_NEEDED_FOR, results.collections), curves)


def how(results: Results) -> tuple[str, ...]:
    """Describe data, protocol and settings."""
    grids = results.settings.grids
    sets = "; ".join(
        f"{name}, {COLLECTIONS[name]}, {len(one.collection.splits)} folds"
        for name, one in results.collections.items()
    )
    return (
        f"- Data: {sets}. Training, validation and test queries are LETOR's; every value is the mean of the "
        "test folds. Labels of 1 and more are relevant.",
        f"- ApproxAP and ApproxNDCG are trained by Algorithm 1: linear, from zero, {grids.epochs} epochs, "
        f"one query per step in random order (seed {results.settings.seed}), eta = {grids.rate:g}, no "
        f"penalty. ApproxAP has alpha {listed(grids.ap_alpha)} times beta {listed(grids.ap_beta)}, and MAP "
        "of the validation queries chooses setting and epoch. ApproxNDCG has alpha "
        f"{listed(grids.ndcg_alpha)}, and NDCG@n chooses.",
        "- Other rows have the library's grids (`directrix methods NAME`), chosen by validation: MAP for "
        "AdaRank.MAP, SVMmap, ListNet and RankSVM, NDCG@n for AdaRank.NDCG and SoftRank. Rows with L-BFGS "
        "have the same surrogates with full gradients and a penalty, because the paper plans to try other "
        "optimisers.",
        "- Approximation: the training queries of fold 1. Every value of alpha and beta has its own "
        "training, so its own scores. Errors are measured after every epoch, including the first, where "
        "weights are small and soft positions still near the middle. Bounds are shown where their theorem "
        "covers the query (decision 0105).",
        "- Tests: paired t-tests over the test queries of all folds, two-sided, at .05, without correction. "
        "An ordering holds if the difference has its sign and p < .05; it does not hold if the difference "
        "has the other sign and p < .05; else it is not significant. Two methods are comparable if the 95 % "
        "interval of their difference lies within 0.01 of 0, and are not if it lies outside. An error falls "
        "with a parameter if every step lowers it, by the same test over the training queries.",
    )


def differs(results: Results) -> tuple[str, ...]:
    """Describe what differs from the paper."""
    collections = results.collections
    replaced = (
        f"- MAP and the errors of ApproxAP are shown on {' and '.join(collections)} in place of TD2003 and "
        "TD2004, so the statements of the paper are tested on other queries. It has ApproxAP above "
        "ApproxNDCG in MAP on TD2004, and the two comparable on TD2003."
    )
    return (
        *([] if {"TD2003", "TD2004"} & set(collections) else [replaced]),
        "- OHSUMED is that of LETOR 3.0, with 45 features; the paper has LETOR 2.0, with 25 for the same "
        "16,140 documents. The documents of TD2003 and TD2004 differ in LETOR 3.0, too.",
        "- The paper cites AdaRank from LETOR's site and ran the authors' tools for SVMmap and SoftRank. "
        "Here all are the library's. SoftRank is its surrogate with L-BFGS and a linear model. AdaRank "
        "sets a chosen feature aside until all others were chosen, and AdaRank.NDCG boosts NDCG@10.",
        "- NDCG has the discount of LETOR's script, which agrees with the published values, although Eq. 5 "
        "has another. Equal scores count by expectation, not in the order of the file (decision 0106).",
    )
