"""The sentences of Chapelle and Wu (2010) that can be checked, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from directrix.experiments.chapelle2010.paths import SmoothingPath
from directrix.experiments.chapelle2010.plan import Plan
from directrix.experiments.chapelle2010.results import Results, whole_path
from directrix.experiments.chapelle2010.theory import Theory
from directrix.experiments.crossval import CrossValidation
from directrix.experiments.significance import compare, paired_t
from directrix.reports.chapelle2010.tables import LINEAR, truncations
from directrix.reports.report import Claim, Verdict

__all__ = ["best_claim", "claims_of", "figure_of", "listwise_claims", "ordering"]

_LISTWISE = ("SVMMap", "ListNet", "AdaRank-NDCG", "AdaRank-MAP")
_FOLDS = 5  # of LETOR
_SOFT = "SoftNDCG"
_COMPARED = (LINEAR, _SOFT, "RankSVM", "Regression", *_LISTWISE, "RankBoost", "FRank")  # in the paper
_SVM_OF_LETOR = 0.414  # nDCG@10 on OHSUMED
_NEARLY = 0.05  # of a rate
_LITTLE = 0.05  # of a rise
_ROUNDING = 1e-6  # of float32 features


def claims_of(found: Results, plan: Plan) -> tuple[Claim, ...]:
    """All of them, in the order of the paper; those on methods are about its first collection."""
    first = found.compared[found.first]
    return (
        *_of_paths(found, plan),
        *_of_theory(found.theory),
        *_best(first, found.first),
        *listwise_claims(first, found.first),
        *_of_cut_offs(first, found.first),
    )


def ordering(text: str, source: str, better: Any, worse: Any, what: str) -> Claim:
    """Check that the first has the higher mean, by a paired t-test.

    Parameters
    ----------
    text, source : str
        Of the claim.
    better, worse : float (n,)
        Values in the same order of queries, or folds.
    what : str
        What they are: "nDCG@10 of 106 queries".

    Returns
    -------
    Claim
        "not significant" if p >= .05.

    Examples
    --------
    >>> found = ordering("A is above B.", "Fig. 1", [0.5, 0.7, 0.6], [0.4, 0.5, 0.5], "AP of 3 queries")
    >>> found.verdict
    'not significant'
    >>> found.evidence
    'AP of 3 queries: .6000 against .4667, difference +.1333, paired t-test p = .057.'
    """
    test = paired_t(better, worse)
    verdict: Verdict = "not significant"
    if test.p < 0.05:
        verdict = "holds" if test.difference > 0.0 else "does not hold"
    means = f"{_short(float(np.mean(better)))} against {_short(float(np.mean(worse)))}"
    gap = ("+" if test.difference >= 0 else "-") + _short(abs(test.difference))
    p = f"p = {test.p:.3f}".replace("0.", ".") if test.p >= 0.001 else "p < .001"
    return Claim(text, source, verdict, f"{what}: {means}, difference {gap}, paired t-test {p}.")


def _of_paths(found: Results, plan: Plan) -> Iterator[Claim]:
    full = found.paths[whole_path(plan)]
    folds = f"of {len(full.train)} folds (pairs are folds)"
    yield ordering(
        "The training nDCG improves while sigma is halved.",
        "Sect. 4.4.2, Fig. 2",
        full.train[:, -1],
        full.train[:, 1],
        f"Training nDCG@50 {folds} after the last round and after the first",
    )
    queries = f"of {full.test.shape[1]} test queries"
    yield ordering(
        "The test nDCG falls again when sigma becomes small: one should stop early.",
        "Sect. 4.4.2 and 5.2, Fig. 2",
        full.test_of_chosen,
        full.test[-1],
        f"nDCG@50 {queries}, at the round that validation chose and at sigma = {plan.sigma_last:g}",
    )
    alone = found.paths.get(
        SmoothingPath(plan.sigma_last, plan.sigma_last, plan.middle, plan.iterations * plan.rounds)
    )
    if alone is not None:
        yield ordering(
            "Annealing finds a better local optimum than training at the last sigma at once.",
            "Sect. 4.4.2 and 7",
            full.surrogate[:, -1],
            alone.surrogate[:, -1],
            f"What was maximised, {folds}, annealed and at once",
        )
    rounds, failed = sum(full.statuses.values()), full.statuses.get("line_search", 0)
    gain = float((full.surrogate[:, -1] - full.surrogate[:, 0]).mean())
    left = float((full.further - full.surrogate[:, -1]).mean())
    yield _fact(
        "That the function has kinks where scores tie did no harm to the optimiser.",
        "Sect. 4.1",
        left <= _LITTLE * gain,
        f"Annealing raises the objective by {_short(gain)}, mean "
        f"{folds.removesuffix(' (pairs are folds)')}; L-BFGS "
        f"from there by {_short(left, 5)}. {failed} of {rounds} rounds ended where the line search found "
        "nothing "
        "better, for rounding or for a kink.",
    )


def _of_theory(found: Theory) -> Iterator[Claim]:
    yield _fact(
        "As sigma goes to 0 the error of SmoothNDCG falls like exp(-gap^2 / sigma), gap the smallest "
        "difference of scores.",
        "Sect. 5.1",
        found.is_bounded and found.rate >= 1.0 - _NEARLY,
        f"20 lists: no error is above its bound; the slope of -log(error) over gap^2 / sigma is "
        f"{found.rate:.2f} or more.",
    )
    yield _fact(
        "The Lipschitz constant of SmoothNDCG grows like 1 / sqrt(sigma).",
        "Sect. 5.2",
        found.scaled_gradient <= _ROUNDING,
        "The gradient at (c s, c^2 sigma) is that at (s, sigma) divided by c; largest relative difference "
        f"{found.scaled_gradient:.0e}.",
    )
    yield _fact(
        "For sigma to infinity SmoothNDCG is constant and the minimiser is near w0, wherever training "
        "starts.",
        "Sect. 5.3",
        found.moved <= 1e-3 and found.unregularised <= _ROUNDING,
        f"sigma = 2^40: values of three starts differ by {found.unregularised:.0e}, trainings end "
        f"{found.moved:.0e} of the length of w0 away from it.",
    )
    yield _fact(
        "With w0 = 0, (sigma, lambda) and (c^2 sigma, lambda / c^2) have minimisers that differ by the "
        "factor c: fix one.",
        "Sect. 5.4",
        found.rescaled_value <= _ROUNDING and found.rescaled_gradient <= found.own_gradient + _ROUNDING,
        f"c = 3: losses differ by {found.rescaled_value:.0e}; at the first minimum the largest gradient is "
        f"{found.own_gradient:.0e}, at c times it, times c, {found.rescaled_gradient:.0e}.",
    )


def _best(found: CrossValidation, name: str) -> Iterator[Claim]:
    values = {entry: figure_of(found, entry) for entry in (LINEAR, *found.entries) if entry in _COMPARED}
    if len(values) > 1:
        yield best_claim(values, name, _what(found))
    for rival in values:
        text, source = f"SmoothNDCG is above {rival} by nDCG on {name}.", "Sect. 7, Fig. 3"
        if rival == _SOFT:
            text, source = f"SmoothNDCG is a bit more accurate than SoftRank on {name}.", "Sect. 7, Fig. 5"
        if rival != LINEAR:
            yield ordering(text, source, values[LINEAR], values[rival], _what(found))


def best_claim(values: dict[str, Any], name: str, what: str) -> Claim:
    """Whether SmoothNDCG is above all others, corrected for their number."""
    pairs = compare(values, against=LINEAR).pairs
    means = {entry: float(each.mean()) for entry, each in values.items()}
    ordered = sorted(means, key=lambda entry: -means[entry])
    verdict: Verdict = "not significant"
    if all(pair.differs and pair.difference < 0.0 for pair in pairs):
        verdict = "holds"
    elif any(pair.differs and pair.difference > 0.0 for pair in pairs):
        verdict = "does not hold"
    place = ordered.index(LINEAR) + 1
    smallest = min(pairs, key=lambda pair: pair.adjusted)
    evidence = (
        f"{what}: place {place} of {len(means)}; {LINEAR} {_short(means[LINEAR])}, "
        + ", ".join(f"{entry} {_short(means[entry])}" for entry in ordered if entry != LINEAR)
        + f". Smallest p, against {smallest.first}, with Holm's correction {smallest.adjusted:.3f}."
    )
    text = f"SmoothNDCG is the best of all methods by nDCG on {name}."
    return Claim(text, "Sect. 7, Fig. 3", verdict, evidence)


def listwise_claims(found: CrossValidation, name: str) -> Iterator[Claim]:
    """RankSVM against the listwise methods, and against LETOR's if all folds were run."""
    if "RankSVM" not in found.entries:
        return
    for rival in _LISTWISE:
        if rival in found.entries:
            yield ordering(
                f"RankSVM, solved to its optimum, is above the listwise {rival} on {name}.",
                "Sect. 7",
                figure_of(found, "RankSVM"),
                figure_of(found, rival),
                _what(found),
            )
    if name == "OHSUMED" and len(found.folds) == _FOLDS:
        ours = found.mean("RankSVM", "nDCG@10")
        yield _fact(
            "RankSVM solved to its optimum is better than LETOR's, which had stopped before it.",
            "Sect. 7",
            ours > _SVM_OF_LETOR,
            f"nDCG@10 {_short(ours)} here, {_short(_SVM_OF_LETOR, 3)} on LETOR's web site; no values by "
            f"query to test.",
        )


def _of_cut_offs(found: CrossValidation, name: str) -> Iterator[Claim]:
    entries = truncations(found)
    for k, entry in entries.items():
        measure = f"nDCG@{k}"
        if k != "50" and measure in found.measures:
            yield ordering(
                f"To be good at {measure} on {name}, train with k = 50 and not with k = {k}.",
                "Sect. 7, Table 3",
                found.values(LINEAR, measure),
                found.values(entry, measure),
                f"{measure} of {len(found.query_ids)} test queries",
            )
    smallest = next(iter(entries))
    gaps = {k: _by_fold(found, entry) for k, entry in ((smallest, entries[smallest]), ("50", LINEAR))}
    if smallest != "50":
        yield ordering(
            f"A small cut-off in training (k = {smallest}) overfits more than k = 50.",
            "Sect. 7, Table 3",
            gaps[smallest],
            gaps["50"],
            f"Training less test nDCG@{smallest}, by fold (pairs are folds)",
        )


def _by_fold(found: CrossValidation, entry: str) -> Any:
    """Training value less test value of the smallest cut-off, fold by fold."""
    measure = f"nDCG@{next(iter(truncations(found)))}"
    train = []
    for fold, chosen in zip(found.folds, found.results[entry], strict=True):
        train.append(found.candidates(entry, fold)[chosen.chosen].train[measure])
    return np.array(train) - np.array(found.folds_of(entry, measure))


def figure_of(found: CrossValidation, entry: str) -> Any:
    """Of every query the mean of nDCG@1 to nDCG@10: the curve of the paper's figure as one number."""
    return np.mean([found.values(entry, f"nDCG@{k}") for k in range(1, 11)], axis=0)


def _what(found: CrossValidation) -> str:
    return f"Mean of nDCG@1 to nDCG@10, {len(found.query_ids)} test queries"


def _fact(text: str, source: str, holds: bool, evidence: str) -> Claim:  # noqa: FBT001 - what was found
    return Claim(text, source, "holds" if holds else "does not hold", evidence)


def _short(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}".removeprefix("0")
