"""Chapelle and Wu (2010) on LETOR: SmoothRank against the baselines, its smoothing, cut-off and theory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from directrix.experiments.chapelle2010.plan import FULL, QUICK, Plan, there
from directrix.experiments.chapelle2010.results import Results, read, run
from directrix.experiments.crossval import CrossValidation, Split
from directrix.experiments.significance import compare
from directrix.reports.chapelle2010.claims import claims_of, figure_of
from directrix.reports.chapelle2010.figures import figures_of
from directrix.reports.chapelle2010.tables import LINEAR, rivals, tables_of
from directrix.reports.rankings import compared_by_query
from directrix.reports.report import Claim, PerQuery, Report

if TYPE_CHECKING:
    from directrix.reproductions.request import Request

__all__ = ["reproduce"]

_PAPER = (
    "Olivier Chapelle and Mingrui Wu (2010). Gradient descent optimization of smoothed information retrieval "
    "metrics. Information Retrieval 13, 216-235. doi:10.1007/s10791-009-9110-3"
)
_SHOWN = "nDCG@10"


def reproduce(request: Request) -> Report:
    """Run what is left of it and report.

    Parameters
    ----------
    request : Request
        ``data`` holds ``letor/OHSUMED/Fold1`` and so on; collections of LETOR 3.0 that are there are run.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If there is no collection, or the folder holds a run of other settings.

    Notes
    -----
    Cost: about 15 minutes of one core for OHSUMED and MQ2008, with ``quick`` less than one.
    """
    plan = QUICK if request.quick else FULL
    names, absent = there(request.data, plan)
    splits = read(request.data, names, plan)
    digests = {name: [split.digest for split in each] for name, each in splits.items()}
    path, settings = request.open({**plan.fixed(), "data": digests})
    with request.progress("trainings") as progress:
        found = run(splits, plan, path, seed=request.seed, n_jobs=request.jobs, progress=progress)
    checked = claims_of(found, plan)
    return Report(
        name="chapelle2010",
        title="SmoothRank: gradient descent on smoothed measures",
        paper=_PAPER,
        summary=_summary(found, checked, plan),
        tables=tables_of(found, plan),
        figures=figures_of(found, plan),
        claims=checked,
        missing=_missing(absent, plan, request.data),
        how=_how(found, plan),
        settings={**settings, "seconds": _seconds(found)},
        command=request.command,
        per_query=tuple(
            part for name, each in found.compared.items() for part in _per_query(name, each, splits[name])
        ),
    )


def _summary(found: Results, checked: tuple[Claim, ...], plan: Plan) -> tuple[str, ...]:
    lines = []
    for name, each in found.compared.items():
        entries = (LINEAR, *rivals(each))
        for what, means in (
            ("nDCG@10", {entry: each.mean(entry, _SHOWN) for entry in entries}),
            ("the mean of nDCG@1 to nDCG@10", {e: float(figure_of(each, e).mean()) for e in entries}),
        ):
            ordered = sorted(means, key=lambda entry: -means[entry])
            place, others = ordered.index(LINEAR) + 1, [entry for entry in ordered if entry != LINEAR]
            lines.append(
                f"On {name}, by {what}, SmoothNDCG has place {place} of {len(means)} with "
                f"{means[LINEAR]:.4f}; the best of the others is {others[0]} with {means[others[0]]:.4f}."
            )
        power = compare({entry: figure_of(each, entry) for entry in entries}, against=LINEAR)
        lines.append(f"{name}: {power.power_note}")
    first = found.compared[found.first]
    if "SmoothAP" in first.entries:
        lines.append(
            "SmoothAP, which the paper proposes without trying it, has AP "
            f"{first.mean('SmoothAP', 'AP'):.4f} on {found.first}, SmoothNDCG {first.mean(LINEAR, 'AP'):.4f}."
        )
    said = Counter(claim.verdict for claim in checked)
    lines.append(
        f"Of {len(checked)} statements of the paper {said['holds']} hold, {said['does not hold']} do not, "
        f"and {said['not significant']} are not significant: differences, either way, that so few queries "
        "or folds cannot show."
    )
    if plan == QUICK:
        lines.append(
            "This was a quick run, on few folds with short trainings: a look at the machinery, no result."
        )
    return tuple(lines)


def _missing(absent: tuple[str, ...], plan: Plan, data: Path) -> tuple[tuple[str, str], ...]:
    lines = [
        (f"{name} (Figure 4)", f"`letor/{name}/Fold1` is not in the data folder; it is run when it is there.")
        for name in absent
    ]
    if plan.collections is not None:
        lines.append(("other collections", "Left out of a quick run."))
    return (
        *lines,
        ("Figure 4, means over all collections of LETOR 3.0", "Needs all seven."),
        (
            "Figure 5, the Gaussian-process SoftRank",
            "Not in directrix; SoftNDCG of Taylor et al. (2008) stands for it.",
        ),
        (
            "the paper's numbers",
            "The text of it that we have lacks figures and digits of tables; LETOR's published means stand "
            "for them.",
        ),
    )


def _how(found: Results, plan: Plan) -> tuple[str, ...]:
    folds = ", ".join(f"{name}: {len(each)} folds" for name, each in found.splits.items())
    return (
        f"**Data.** Official folds of LETOR ({folds}), as they come: no scaling.",
        "**Protocol.** Every method is trained on the training queries of a fold. Settings, and for "
        "methods that keep "
        "their best step also the step, are chosen by nDCG@50 on the validation queries (average precision "
        "for "
        "methods that optimise it), with ties as expectations. Test queries are measured once, by the "
        "rules of "
        "LETOR 3.0's script.",
        f"**SmoothRank.** Start w0: ridge regression on the gains, relevant and irrelevant documents "
        f"weighted alike. "
        f"sigma = {plan.sigma_first:g}, halved to {plan.sigma_last:g}, {plan.iterations} conjugate-gradient "
        "iterations (Polak and Ribière) a round; k = 50; penalty lambda |w - w0|^2 with lambda of "
        + ", ".join(f"{l2:g}" for l2 in plan.l2)
        + ". Validation chooses lambda and the round.",
        "**Non-linear rankers.** A network of 10 hidden units, annealed in the same way with its usual "
        "penalty; "
        "LightGBM's trees with SmoothNDCG at sigma = .1 or 1 as objective; a Gaussian kernel map of 100 "
        "training rows (Nyström) and the linear ranker on it.",
        "**Statistics.** Two-sided paired t-tests over queries, or over folds where a claim is about "
        "training. "
        "A claim is *not significant* where p >= .05; claims are tested one by one, tables with Holm's "
        "correction.",
        "**Differences from the paper.** The penalty grid, the number of iterations a round and the ridge "
        "of the start "
        "are not in the text; ours are above.",
    )


def _seconds(found: Results) -> dict[str, float]:
    every: list[CrossValidation] = [*found.compared.values(), *([found.mapped] if found.mapped else [])]
    return {"trainings of the tables": round(sum(each.seconds(e) for each in every for e in each.entries), 1)}


def _per_query(name: str, found: CrossValidation, splits: tuple[Split, ...]) -> tuple[PerQuery, ...]:
    return compared_by_query(name, found, splits, (LINEAR, *rivals(found)), {_SHOWN: _SHOWN})
