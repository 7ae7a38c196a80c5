"""Which candidate of a search is chosen, by how much it is ahead, and what its figures do not show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.kinds import KINDS
from directrix.rankers.method import Method
from directrix.rankers.selection.trial import CUT_SHORT, SAMPLE, UNTRAINED, Candidate, Fold
from directrix.rankers.training import mean_and_error
from directrix.types import Float64Array


def contenders(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that can be chosen.

    These are the ones that finished, and of those that the time budget stopped the ones that are ahead of
    them all: what a training that was stopped would have reached, its value does not tell. If none finished,
    those that were stopped after a step, or else before.
    """
    of = {end: [c for c in candidates if c.outcome == end] for end in ("", CUT_SHORT, UNTRAINED)}
    if not of[""]:
        return of[CUT_SHORT] or of[UNTRAINED]
    best = max(c.or_worst for c in of[""])
    ahead = [c for c in of[CUT_SHORT] if c.or_worst > best]
    return [c for c in candidates if any(c is one for one in of[""] + ahead)]


def preferred(candidates: Sequence[Candidate]) -> Candidate:
    """Return the earliest method whose best candidate is within one standard error of the best of all.

    The error is that of the mean difference over the validation queries, query by query. Of the candidates
    of a method the best counts; of equals the earliest. Only `contenders` count.
    """
    candidates = contenders(candidates)
    best = max(candidates, key=lambda c: c.or_worst)
    for name in dict.fromkeys(c.method for c in candidates):
        of_method = max((c for c in candidates if c.method == name), key=lambda c: c.or_worst)
        behind, error = difference(best, of_method)
        if behind <= error and math.isnan(of_method.valid) == math.isnan(best.valid):
            return of_method
    return best


def why_chosen(chosen: Candidate, candidates: Sequence[Candidate], measure: RankingMeasure) -> str:
    """Compare with the best candidate of the other methods, query by query."""
    others = [c for c in contenders(candidates) if c.method != chosen.method and not math.isnan(c.valid)]
    value = f"{measure.name} {chosen.valid:.4f}"
    if chosen.progress:
        value += f", stopped by the time budget after {chosen.progress}"
    if not others or math.isnan(chosen.valid):
        count = sum(c.method == chosen.method for c in contenders(candidates))
        among = f"the best of {count} settings" if count > 1 else "the only candidate"
        return f"{value}, {among} of {chosen.method}"
    second = max(others, key=lambda c: c.valid)
    ahead, error = difference(chosen, second)
    n = int((~np.isnan(chosen.values - second.values)).sum())
    apart = f"{abs(ahead):.4f} +- {error:.4f} over {n} queries"
    if ahead < 0.0:
        return (
            f"{value}; {second.label} is ahead by {apart}, less than one standard "
            f"error, and {chosen.method} comes first in the order of preference"
        )
    text = f"{value}, ahead of the best other method, {second.label}, by {apart}"
    return text if ahead > 2.0 * error else f"{text}; a difference this small may be chance"


def why_blended(
    members: Sequence[tuple[Candidate, float]],
    valid: float,
    single: Candidate,
    lead: tuple[float, float, int],
    measure: RankingMeasure,
) -> str:
    """Say what an ensemble consists of, and by how much it is ahead of the best single candidate."""
    parts = " + ".join(f"{weight:.2f} {candidate.label}" for candidate, weight in members)
    ahead, error, n = lead
    return (
        f"{measure.name} {valid:.4f}, an ensemble of {parts}; ahead of the best single candidate, "
        f"{single.label}, by {ahead:.4f} +- {error:.4f} over the {n} queries that selected its members"
    )


def difference(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean difference over the validation queries, and its standard error."""
    return (0.0, 0.0) if one is other else mean_and_error(one.values - other.values)


def keep_selection(ranker: Any, values: Float64Array, selection: str, n_candidates: int) -> None:
    """Keep in the record of the training what the choice was made by; model files hold it."""
    defined = int((~np.isnan(values)).sum())
    value, error = mean_and_error(values)
    ranker.training_ = {
        **ranker.training_,
        "selection": {
            "on": selection,
            "queries": defined,
            "value": value if defined else None,
            "error": error if defined > 1 else None,
            "candidates": n_candidates,
        },
    }


def remarks_on_data(folds: list[Fold], measure: RankingMeasure, best: Candidate) -> Iterator[str]:
    """Yield a remark on validation queries that cannot rank the candidates."""
    train, judge = folds[0].train, folds[0].judge
    if math.isnan(best.valid):
        yield f"{measure.name} is undefined on all validation queries, so the first candidate was kept"
    elif judge is not train and not any(fold.judge.n_ordered for fold in folds):
        yield (
            "no validation query has documents of different labels, so all candidates are equal and the "
            "first was kept"
        )


def remarks_on_gains(measure: RankingMeasure, gap: float) -> Iterator[str]:
    """Yield a remark on a measure whose gains differ from those of the surrogate, if one was optimized."""
    if not math.isnan(gap) and getattr(measure, "gain", "exp") != "exp":
        yield (
            f"training maximizes the gain 2^label - 1; {measure.name} chooses among the candidates and is "
            "what score reports"
        )


def remarks_on_scales(ranker: Any) -> Iterator[str]:
    """Yield a remark on a ranker that cannot score a document without the others of its query."""
    scale = ranker.scale_
    if scale is not None and scale.by_query:
        yield (
            f"the model scales features by query ({scale.kind}): to score one document it needs all "
            "documents of the query; by_query=False, --no-by-query in a shell, leaves such models out"
        )


def remarks_on_packages(absent: Sequence[Method]) -> Iterator[str]:
    """Yield a remark on methods whose packages are not installed; they may be the best ones."""
    packages: dict[str | None, list[str]] = {}
    for method in absent:
        packages.setdefault(KINDS[method.model].needs, []).append(method.name)
    for package, names in packages.items():
        yield (
            f"{', '.join(names)}: not trained, because the package {package} is not installed; type: pip "
            f"install {package}"
        )


def remarks_on_constraints(unable: Sequence[str]) -> Iterator[str]:
    """Yield a remark on methods that cannot keep to the constraints."""
    if unable:
        yield f"{', '.join(unable)}: not trained, because they cannot keep to the constraints"


def remarks_on_trials(
    without_weights: Sequence[str],
    failed: Mapping[str, InputError],
) -> Iterator[str]:
    """Yield remarks on methods that could not be trained."""
    if without_weights:
        yield f"{', '.join(without_weights)}: not trained, because they do not support weights of documents"
    names: dict[str, list[str]] = {}
    for name, error in failed.items():
        names.setdefault(str(error), []).append(name)
    for text, alike in names.items():
        yield f"{', '.join(alike)} could not be trained with every setting: {text}"


def remarks_on_budget(
    budget: float, used: float, candidates: Sequence[Candidate], untried: Sequence[str]
) -> Iterator[str]:
    """Yield remarks on trainings that a time budget stopped or left out, and on the seconds used."""
    stopped = [
        f"{c.label} after {c.progress}{' on the sample' if c.outcome == SAMPLE else ''}"
        for c in candidates
        if c.progress and c.outcome != UNTRAINED
    ]
    begun = {c.label: c.method for c in candidates if c.outcome == UNTRAINED}  # also on a sample
    if stopped:
        finished = any(not c.outcome for c in candidates)
        rule = "chosen only if ahead of all that finished" if finished else "no candidate finished"
        yield f"stopped by the time budget ({rule}): {', '.join(stopped)}"
    if untrained := Counter([*begun.values(), *untried]):
        names = (f"{name} ({n} settings)" if n > 1 else name for name, n in untrained.items())
        yield f"not trained for lack of time: {', '.join(names)}"
    if used > budget:
        yield f"the time budget of {budget:g} s was used up: the candidates took {used:.1f} s"
    elif stopped or untrained:
        yield f"the candidates took {used:.1f} s of the time budget of {budget:g} s"
