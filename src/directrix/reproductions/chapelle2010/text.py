"""Sentences of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import compare
from directrix.reports.report import Claim
from directrix.reproductions.chapelle2010.methods import CURVE, LINEAR, curve, rivals
from directrix.reproductions.chapelle2010.protocol import COLLECTIONS, Results
from directrix.reproductions.chapelle2010.tables import title_of
from directrix.reproductions.collection import missing_data
from directrix.reproductions.text import listed

TITLE = "SmoothRank: gradient descent on smoothed measures"
PAPER = (
    "Olivier Chapelle and Mingrui Wu (2010). Gradient descent optimization of smoothed information retrieval "
    "metrics. Information Retrieval 13, 216-235. doi:10.1007/s10791-009-9110-3"
)


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Summarise the results on each collection, and count the verdicts."""
    sentences = [one for name, compared in results.compared.items() for one in _places(name, compared)]
    first = results.compared[results.first]
    if "SmoothAP" in first.entries:
        sentences.append(
            f"On {results.first}, SmoothAP, which the paper proposes without trying it, has AP "
            f"{first.mean('SmoothAP', 'AP'):.4f}, SmoothNDCG {first.mean(LINEAR, 'AP'):.4f}."
        )
    verdicts = Counter(claim.verdict for claim in claims)
    sentences.append(
        f"Of {len(claims)} statements of the paper {verdicts['holds']} hold, {verdicts['does not hold']} do "
        f"not, and {verdicts['not significant']} are not significant: this number of queries or folds cannot "
        "show a difference."
    )
    return tuple(sentences)


def _places(name: str, compared: CrossValidation) -> Iterator[str]:
    """Say which place SmoothNDCG has, by two measures, and which differences the test could miss."""
    values = {entry: curve(compared, entry) for entry in (LINEAR, *rivals(compared))}
    for measure, means in (
        ("nDCG@10", {entry: compared.mean(entry, "nDCG@10") for entry in values}),
        (CURVE, {entry: float(one.mean()) for entry, one in values.items()}),
    ):
        ordered = sorted(means, key=lambda entry: -means[entry])
        best = next(entry for entry in ordered if entry != LINEAR)
        yield (
            f"On {name}, by {measure}, SmoothNDCG has place {ordered.index(LINEAR) + 1} of {len(means)} with "
            f"{means[LINEAR]:.4f}; the best of the others is {best} with {means[best]:.4f}."
        )
    yield f"{name}: {compare(values, against=LINEAR).power_note}"


def missing(results: Results) -> tuple[tuple[str, str], ...]:
    """Name what could not be done, and why."""
    if results.settings.collections is None:
        collections = missing_data({name: title_of(name) for name in COLLECTIONS}, results.collections)
    else:
        collections = (("other collections", "A quick run leaves them out."),)
    return (
        *collections,
        ("Figure 4, means over all collections of LETOR 3.0", "They need all seven."),
        (
            "Figure 5, the Gaussian-process SoftRank",
            "directrix does not have it; SoftNDCG of Taylor et al. (2008) replaces it.",
        ),
        (
            "the paper's numbers",
            "The text of the paper that we have lacks figures and digits of tables; LETOR's published means "
            "replace them.",
        ),
    )


def how(results: Results) -> tuple[str, ...]:
    """Describe data, protocol and settings."""
    settings = results.settings
    folds = ", ".join(f"{name}: {len(one.splits)} folds" for name, one in results.collections.items())
    return (
        f"**Data.** Official folds of LETOR ({folds}), as they come: no scaling.",
        "**Protocol.** Every method is trained on the training queries of a fold. Settings, and for methods "
        "that keep their best step also the step, are chosen by nDCG@50 on the validation queries (average "
        "precision for methods that optimise it), with ties as expectations. Test queries are measured once, "
        "by the rules of LETOR 3.0's script.",
        "**SmoothRank.** Start w0: ridge regression on the gains, relevant and irrelevant documents weighted "
        f"alike. sigma = {settings.sigma_first:g}, halved to {settings.sigma_last:g}, {settings.iterations} "
        "conjugate-gradient iterations (Polak and Ribière) per round; k = 50; penalty lambda |w - w0|^2 with "
        f"lambda of {listed(settings.l2)}. Validation chooses lambda and the round.",
        "**Non-linear rankers.** A network of 10 hidden units, annealed in the same way with its usual "
        "penalty; LightGBM's trees with SmoothNDCG at sigma = .1 or 1 as objective; a Gaussian kernel map of "
        "100 training rows (Nyström) and the linear ranker on it.",
        "**Statistics.** Two-sided paired t-tests over queries, or over folds if a claim is about training. "
        "A claim is *not significant* if p >= .05. Each claim is tested by itself; tables have Holm's "
        "correction.",
        "**Differences from the paper.** The text does not give the penalty grid, the number of iterations "
        "per round and the ridge of the start; ours are above.",
    )
