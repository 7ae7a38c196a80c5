"""Statements of the paper, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from directrix.experiments.significance import Significance, paired_t
from directrix.reports.report import Claim
from directrix.reproductions.claims import LEVEL, Scored, ahead, p_value, verdict
from directrix.reproductions.donmez2009.future import Counted
from directrix.reproductions.donmez2009.methods import COMPARED
from directrix.reproductions.donmez2009.optimality import optimality_claims
from directrix.reproductions.donmez2009.pairs import MATCHED, EqualPairs, PairCounts, Sized, equal_pairs
from directrix.reproductions.donmez2009.protocol import CollectionResults, Results
from directrix.reproductions.donmez2009.settings import MEASURES, USUAL
from directrix.reproductions.paper import paper

_PAPER = paper("donmez2009")
_TABLES = {"nDCG": "Sect. 7", "AP": "Table 1", "RR": "Table 2"}  # of constructions
_FROM, _TO = 10.0**-2.5, 10.0**-0.5  # one or two orders of magnitude below, rounded
_BEST = (  # measure that is tested, what is trained for, and what it is ahead of
    ("nDCG", "nDCG", ("nDCG@10", "AP", "RR")),
    ("AP", "AP", ("nDCG", "nDCG@10", "RR")),
    ("nDCG@10", "nDCG", ("nDCG@10",)),
    ("RR", "nDCG", ("RR",)),
)


def claims(results: Results) -> tuple[Claim, ...]:
    """Check all statements that these data can decide, in the order of the paper."""
    collections = results.collections.items()
    measures = [name for name in dict.fromkeys(run.trained for run in results.sized) if name in MATCHED]
    return (
        *(
            ahead(
                *_PAPER.statement("constructions", name=name, measure=measure, source=_TABLES[measure]),
                *one.constructions(measure),
            )
            for name, one in collections
            for measure in COMPARED
        ),
        *optimality_claims(results),
        *_pairs([counts for counts in results.pairs if counts.model == "mlp"]),
        *_most_pairs(results.counted),
        *(claim for name, one in collections for claim in _matching(name, one)),
        *(_equal(results.sized, measure) for measure in measures),
        *(_shrinks(results.sized, measure) for measure in measures),
    )


def _pairs(counts: list[PairCounts]) -> Iterator[Claim]:
    means: dict[str, dict[str, float]] = {}
    for one in counts:
        means.setdefault(one.collection, {})[one.measure] = one.mean
    listed = "; ".join(
        f"{name}: " + " > ".join(f"{m} {by[m]:,.0f}" for m in sorted(by, key=by.__getitem__, reverse=True))
        for name, by in means.items()
    )
    holds = all(by[a] > by[b] for by in means.values() for a, b in pairwise(MEASURES))
    yield _PAPER.fact("more-pairs", holds=holds, pairs=listed)
    of_rr = [one for one in counts if one.measure == "RR"]
    yield _PAPER.fact(
        "mrr-pairs",
        holds=all(_FROM <= one.binary_share <= _TO for one in of_rr),
        shares="; ".join(f"{one.collection} {one.binary_share:.1%}" for one in of_rr),
        changing="; ".join(f"{one.collection} {one.changing_share or 0.0:.1%}" for one in of_rr),
        least=_FROM,
        most=_TO,
    )


def _most_pairs(counted: tuple[Counted, ...]) -> Iterator[Claim]:
    """Compare the constructions at the same weights."""
    places: dict[str, dict[str, int]] = {}
    for one in counted:
        if one.model == "mlp":
            places.setdefault(f"{one.collection}, {one.measure}", {})[one.construction] = one.end
    if places:
        most = {place: max(by, key=by.__getitem__) for place, by in places.items()}
        listed = "; ".join(
            f"{place}: {by[USUAL]:,}, {name} {by[name]:,}"
            for (place, by), name in zip(places.items(), most.values(), strict=True)
        )
        holds = all(by[USUAL] == max(by.values()) for by in places.values())
        yield _PAPER.fact("most-pairs", holds=holds, pairs=listed)


def _matching(name: str, results: CollectionResults) -> Iterator[Claim]:
    values = results.matching("mlp").values
    for target, trained, others in _BEST:
        key = "matched" if trained == target else "not-matched"
        yield ahead(
            *_PAPER.statement(key, name=name, target=target, trained=trained),
            *(
                Scored(f"training for {m}", values[m][target], float(np.nanmean(values[m][target])))
                for m in (trained, *others)
            ),
        )
    tests = [
        paired_t(values[trained][target], values["RR"][target])
        for target in MEASURES
        for trained in MEASURES
        if trained != "RR"
    ]
    behind = [test for test in tests if test.difference > 0.0]
    yield _PAPER.claim(
        "mrr-lowest",
        verdict(*tests),
        name=name,
        n_queries=tests[0].n,
        n_behind=len(behind),
        n=len(tests),
        n_clear=sum(test.p < LEVEL for test in behind),
        n_ahead=sum(test.difference < 0.0 and test.p < LEVEL for test in tests),
    )


def _equal(runs: tuple[Sized, ...], target: str) -> Claim:
    rows = equal_pairs(runs, target)
    tests, listed = [], []
    for other in dict.fromkeys(row.other.trained for row in rows):
        pairs = [row for row in rows if row.other.trained == other]
        test, n = _over_sizes(pairs), len(pairs)
        tests.append(test)
        listed.append(f"than for {other} {test.difference:+.4f}, {p_value(test.p)}, {n} size{'s' * (n != 1)}")
    leads = "; ".join(listed) or "no sizes with about as many pairs"
    source = MATCHED[target]
    n_queries = len(runs[0].test[target])
    texts = {"target": target, "source": source, "leads": leads, "n_queries": n_queries}
    return _PAPER.claim("equal-pairs", verdict(*tests), **texts)


def _over_sizes(rows: list[EqualPairs]) -> Significance:
    """Test the lead of the matched training, its mean over sizes for every query."""
    leads = [np.subtract(row.matched.test[row.target], row.other.test[row.target]) for row in rows]
    mean = np.mean(leads, axis=0)
    return paired_t(mean, np.zeros_like(mean))


def _shrinks(runs: tuple[Sized, ...], target: str) -> Claim:
    """Compare the lead of nDCG over the matched training on the fewest and the most queries."""
    tests = {(run.trained, run.size): np.asarray(run.test[target], dtype=np.float64) for run in runs}
    sizes = sorted({run.size for run in runs})
    leads = {n: tests["nDCG", n] - tests[target, n] for n in (sizes[0], sizes[-1])}
    return ahead(
        *_PAPER.statement("lead-shrinks", target=target),
        *(Scored(f"lead with {n} queries", lead, float(np.nanmean(lead))) for n, lead in leads.items()),
    )
