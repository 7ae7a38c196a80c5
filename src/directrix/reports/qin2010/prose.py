"""What was found and what was done, in sentences made of the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from directrix.experiments.qin2010.methods import MAP, NDCG_ALL
from directrix.experiments.qin2010.protocol import COLLECTIONS, Found, Settings
from directrix.reports.qin2010.published import NDCG_N
from directrix.reports.report import Claim

__all__ = ["PAPER", "TITLE", "how", "missing", "summary"]

TITLE = "Qin, Liu and Li (2010): ApproxAP and ApproxNDCG"
PAPER = (
    "Tao Qin, Tie-Yan Liu and Hang Li (2010), A general approximation framework for direct optimization of "
    "information retrieval measures, Information Retrieval 13, 375-397, "
    "https://doi.org/10.1007/s10791-009-9124-x"
)


def summary(found: Mapping[str, Found], checked: Sequence[Claim]) -> tuple[str, ...]:
    """What was found, in sentences."""
    said = [_counted(checked), *(_of_collection(each) for each in found.values())]
    if "OHSUMED" in found:
        said.append(_beside_published(found["OHSUMED"]))
    return (*said, *(_accuracy(name, each) for name, each in found.items()), _of_bounds(found))


def _counted(checked: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in checked)
    return (
        f"Of {len(checked)} sentences and orderings of the paper, each on every collection that is there, "
        f"{counts['holds']} hold, {counts['does not hold']} do not, and {counts['not significant']} cannot "
        "be told at this number of queries."
    )


def _of_collection(found: Found) -> str:
    compared = found.compared
    parts = []
    for measure, shown in ((MAP, "MAP"), (NDCG_ALL, "NDCG@n")):
        means = {method: compared.mean(method, measure) for method in compared.entries}
        low, high = (pick(means, key=means.__getitem__) for pick in (min, max))
        parts.append(f"{shown} from {means[low]:.3f} ({low}) to {means[high]:.3f} ({high})")
    values = compared.values("ApproxAP", MAP)
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return (
        f"**{found.collection.name}**: {parts[0]}, {parts[1]}. One standard error of ApproxAP's MAP over "
        f"{len(values)} queries is {error:.3f}."
    )


def _beside_published(found: Found) -> str:
    parts = []
    for method, published in NDCG_N.items():
        here = found.compared.mean(method, NDCG_ALL)
        parts.append(f"{method} {here:.4f} ({here - published:+.4f})")
    return f"NDCG@n on OHSUMED, in brackets less the published figure: {', '.join(parts)}."


def _accuracy(name: str, found: Found) -> str:
    parts = []
    for figure in ("ApproxAP by alpha", "ApproxNDCG by alpha"):
        worst = {value: curve.rho.max() for value, curve in found.curves[figure].items()}
        low, high = min(worst), max(worst)
        ends = [1 - found.curves[figure][value].rho[-1] for value in (low, high)]
        parts.append(
            f"{figure.split()[0]} ends with {ends[0]:.1%} at alpha = {low:g} and {ends[1]:.1%} at {high:g} "
            f"(least of all epochs {1 - worst[low]:.1%} and {1 - worst[high]:.1%})"
        )
    return f"Accuracy of approximation on {name}: {'; '.join(parts)}."


def _of_bounds(found: Mapping[str, Found]) -> str:
    parts = []
    for name, each in found.items():
        curves = [curve for by in each.curves.values() for curve in by.values()]
        shares = [
            float(np.mean([curve.bounds[kind].covered.mean() for curve in curves]))
            for kind in ("gap", "relevant")
        ]
        parts.append(f"{name} {shares[0]:.0%} and {shares[1]:.0%}")
    return (
        "Share of the queries of which the theorems say something, with eps from the least gap of scores "
        f"and from the positions of relevant documents: {', '.join(parts)}. Scores that tie, as documents "
        "with the same features do, are beyond them."
    )


def missing(found: Mapping[str, Found]) -> tuple[tuple[str, str], ...]:
    """What was not done, and why."""
    places = {
        "TD2003": "Tables 2 and 3, TD2003",
        "TD2004": "Tables 2 and 3 and Figures 1 and 2, TD2004",
        "OHSUMED": "Figures 3 to 5, OHSUMED",
        "MQ2008": "A stand-in for TD2003 and TD2004",
    }
    absent = [
        (
            places[name],
            f"The data folder has no letor/{name}/Fold1. With it, and another folder for the results, the "
            "same command has them.",
        )
        for name in COLLECTIONS
        if name not in found
    ]
    return (
        *absent,
        ("Figures 1 to 5, published curves", "The paper prints them without figures; ours stand alone."),
    )


def how(found: Mapping[str, Found], settings: Settings) -> tuple[str, ...]:
    """Data, protocol, settings, differences from the paper."""
    grids = settings.grids
    folds = {name: len(each.collection.splits) for name, each in found.items()}
    sets = ", ".join(f"{name} ({COLLECTIONS[name]}; {folds[name]} folds)" for name in found)
    return (
        f"**Data.** {sets}. Training, validation and test queries are LETOR's; every figure is the mean of "
        "the test folds. Labels of 1 and more are relevant.",
        f"**ApproxAP and ApproxNDCG.** Algorithm 1: linear, from zero, {grids.epochs} epochs of one query a "
        f"step in random order (seed {settings.seed}), eta = {grids.rate:g}, no penalty. ApproxAP: alpha "
        f"{_listed(grids.ap_alpha)} times beta {_listed(grids.ap_beta)}, MAP of the validation queries "
        f"chooses setting and epoch. ApproxNDCG: alpha {_listed(grids.ndcg_alpha)}, NDCG@n chooses. The "
        "rows with L-BFGS have the same surrogates with full gradients and a penalty, in answer to the "
        "paper's plan to try other optimisers.",
        "**Baselines.** The paper cites AdaRank from LETOR's site and ran the authors' tools for SVMmap and "
        "SoftRank; all of these are the library's own here, with its grids (`directrix methods NAME`), "
        "chosen by validation: MAP for AdaRank.MAP, SVMmap, ListNet and RankSVM, NDCG@n for AdaRank.NDCG "
        "and SoftRank. SoftRank is its surrogate with L-BFGS and a linear model; AdaRank lets a chosen "
        "feature rest, and AdaRank.NDCG boosts NDCG@10.",
        "**Measures.** NDCG with the discount of LETOR's script, as the published figures have it, though "
        "Eq. 5 has another; equal scores count by expectation, not in the order of the file, where "
        "relevant documents stand nearer the top (decision 0106).",
        "**Approximation.** The training queries of fold 1; errors are measured after every epoch, the "
        "first included, where weights are small and soft positions are still near the middle. Bounds are "
        "those of the theorems where they say something (decision 0105).",
        "**Tests.** Paired t-tests over the test queries of all folds, two-tailed, at .05, each by itself. "
        "An ordering holds if the difference has its sign and p < .05, does not hold if it has the other "
        "and p < .05; else it is not significant.",
    )


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
