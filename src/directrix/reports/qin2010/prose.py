"""What was found and what was done, in sentences made of the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from directrix.experiments.qin2010.methods import MAP, NDCG_ALL
from directrix.experiments.qin2010.protocol import COLLECTIONS, Found, Settings
from directrix.experiments.significance import detectable
from directrix.reports.qin2010.published import NDCG_N
from directrix.reports.report import Claim, Section

__all__ = ["PAPER", "TITLE", "differs", "how", "missing", "sections", "summary"]

TITLE = "Qin, Liu and Li (2010): ApproxAP and ApproxNDCG"
PAPER = (
    "Tao Qin, Tie-Yan Liu and Hang Li (2010), A general approximation framework for direct optimization of "
    "information retrieval measures, Information Retrieval 13, 375-397, "
    "https://doi.org/10.1007/s10791-009-9124-x"
)


def summary(found: Mapping[str, Found], checked: Sequence[Claim]) -> tuple[str, ...]:
    """What was found, in sentences."""
    said = [*_counted(checked), *(_of_collection(each) for each in found.values())]
    if "OHSUMED" in found:
        said.append(_beside_published(found["OHSUMED"]))
    return tuple(f"- {each}" for each in (*said, *map(_accuracy, found, found.values()), _of_bounds(found)))


def _counted(checked: Sequence[Claim]) -> list[str]:
    """Of approximation, and of methods: the latter are claims of Sections 6.3 to 6.5."""
    parts = {"the accuracy of approximation": [], "which method ranks better": []}  # type: dict[str, list[str]]
    for claim in checked:
        kind = "which method ranks better" if claim.source.startswith("Sect. 6") else next(iter(parts))
        parts[kind].append(claim.verdict)
    return [
        f"Of {len(said)} claims about {kind} {_said(Counter(said))}." for kind, said in parts.items() if said
    ]


def _said(counts: Counter[str]) -> str:
    words = {
        "holds": ("holds", "hold"),
        "does not hold": ("does not", "do not"),
        "not significant": ("cannot be told at this number of queries",) * 2,
    }
    return ", ".join(f"{n} {words[key][n != 1]}" for key in words if (n := counts[key]) or key == "holds")


def _of_collection(found: Found) -> str:
    compared = found.compared
    parts = []
    for measure, shown in ((MAP, "MAP"), (NDCG_ALL, "NDCG@n")):
        means = {method: compared.mean(method, measure) for method in compared.entries}
        low, high = (pick(means, key=means.__getitem__) for pick in (min, max))
        parts.append(f"{shown} from {means[low]:.3f} ({low}) to {means[high]:.3f} ({high})")
    values, others = (compared.values(method, MAP) for method in ("ApproxAP", "SVMmap"))
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return (
        f"**{found.collection.name}**: {parts[0]}, {parts[1]}. One standard error of ApproxAP's MAP over "
        f"{len(values)} queries is {error:.3f}; a true difference to SVMmap below "
        f"{detectable(values, others):.3f} would more often than once in five go unseen."
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
        ("Figures 1 to 5, published curves", "The paper prints curves without numbers; ours stand alone."),
    )


def sections(found: Mapping[str, Found]) -> tuple[Section, ...]:
    """Heads for the tables."""
    return (
        Section("Approximation", 1 + 2 * len(found)),
        Section("Ranking accuracy", 5 if "OHSUMED" in found else 2),
        Section("Tests of the orderings", 1),
        Section("What validation chose", len(found)),
    )


def how(found: Mapping[str, Found], settings: Settings) -> tuple[str, ...]:
    """Data, protocol, settings."""
    grids = settings.grids
    sets = "; ".join(
        f"{name}, {COLLECTIONS[name]}, {len(each.collection.splits)} folds" for name, each in found.items()
    )
    look = "- A quick look: few epochs, settings and folds. Its figures are no results."
    return (
        *([] if settings.n_folds is None else [look]),
        f"- Data: {sets}. Training, validation and test queries are LETOR's; every figure is the mean of the "
        "test folds. Labels of 1 and more are relevant.",
        f"- ApproxAP and ApproxNDCG by Algorithm 1: linear, from zero, {grids.epochs} epochs of one query a "
        f"step in random order (seed {settings.seed}), eta = {grids.rate:g}, no penalty. ApproxAP has alpha "
        f"{_listed(grids.ap_alpha)} times beta {_listed(grids.ap_beta)}, and MAP of the validation queries "
        f"chooses setting and epoch. ApproxNDCG has alpha {_listed(grids.ndcg_alpha)}, and NDCG@n chooses.",
        "- Other rows have the library's grids (`directrix methods NAME`), chosen by validation: MAP for "
        "AdaRank.MAP, SVMmap, ListNet and RankSVM, NDCG@n for AdaRank.NDCG and SoftRank. Rows with L-BFGS "
        "have the same surrogates with full gradients and a penalty: the paper plans to try other "
        "optimisers.",
        "- Approximation: the training queries of fold 1; every value of alpha and beta has a training of "
        "its own, so scores of its own; errors are measured after every epoch, the first included, where "
        "weights are small and soft positions still near the middle. Bounds are drawn and tabled where "
        "their theorem says something (decision 0105).",
        "- Tests: paired t-tests over the test queries of all folds, two-tailed, at .05, each by itself. An "
        "ordering holds if the difference has its sign and p < .05, does not hold if it has the other and p "
        "< .05; else it is not significant. Two methods are comparable if the 95 % interval of their "
        "difference lies within 0.01 of 0, are not if it lies outside. An error falls with a parameter if "
        "every step lowers it, by the same test over the training queries.",
    )


def differs(found: Mapping[str, Found]) -> tuple[str, ...]:
    """What is not as in the paper."""
    stand_in = (
        []
        if "TD2003" in found or "TD2004" in found
        else [
            f"MAP and the errors of ApproxAP are looked at on {' and '.join(found)} in the place of TD2003 "
            "and TD2004: what the paper says of these is asked of other queries. It has ApproxAP above "
            "ApproxNDCG in MAP on TD2004, and the two comparable on TD2003."
        ]
    )
    return (
        *(f"- {each}" for each in stand_in),
        "- OHSUMED is that of LETOR 3.0, with 45 features; the paper has LETOR 2.0, with 25 for the same "
        "16,140 documents. TD2003 and TD2004 of LETOR 3.0 have other documents, too.",
        "- The paper cites AdaRank from LETOR's site and ran the authors' tools for SVMmap and SoftRank. "
        "Here all are the library's. SoftRank is its surrogate with L-BFGS and a linear model; AdaRank lets "
        "a chosen feature rest, and AdaRank.NDCG boosts NDCG@10.",
        "- NDCG has the discount of LETOR's script, which the published figures agree with, though Eq. 5 has "
        "another; equal scores count by expectation, not in the order of the file (decision 0106).",
    )


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
