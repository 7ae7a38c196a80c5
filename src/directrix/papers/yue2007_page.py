"""The page of Yue et al. (2007): Tables 1 to 11, published values next to ours, and the order of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np

from directrix.experiments.significance import Significance, adjust, signed_rank
from directrix.measures.pairs import ROCArea
from directrix.measures.precision import AP
from directrix.papers.claims import verdict
from directrix.papers.paper import Paper, Words, line
from directrix.papers.yue2007 import (
    QUICK,
    SVM_MAP,
    DataSetResult,
    TrialResults,
    Yue2007,
)
from directrix.papers.yue2007_data import TEXTS
from directrix.reports.report import Claim, Figure, Panel, PerQuery, Section
from directrix.tables import Table, Value
from directrix.types import Float64Array

WORDS = Words.of("yue2007")
# Tables up to this number compare with runs, later ones with other SVMs.
_LAST_OF_RUNS = 8
# Methods of a kind have the same values of C, so they share a table of choices.
_KINDS = {
    "structural SVMs": ("SVMmap", "SVMroc"),
    "classification": ("SVMacc", "SVMacc3", "SVMacc4"),
    "balanced classification": ("SVMacc2",),
    "classification with the hinge": ("SVMacc (hinge)",),
}


# claims


def _claims(results: TrialResults) -> Iterator[Claim]:
    counts = [count for data_set in results.constraints for count in data_set.counts]
    if counts:
        yield WORDS.fact(
            "theorem-1",
            holds=all(data_set.is_bounded for data_set in results.constraints),
            most=max(count.largest / count.bound for count in counts),
            n=sum(data_set.n_trainings for data_set in results.constraints),
        )
    for data_set in results.collections.values():
        for statement in WORDS.published["statements"]:
            if data_set.name in statement.get("data_sets", [data_set.name]):
                yield _checked(statement, data_set)


def _checked(statement: Mapping[str, Any], data_set: DataSetResult) -> Claim:
    """Test by signed ranks whether a system is ahead: on more topics, or if stated ``by_map`` by its MAP."""
    systems = {system.name: system for system in (*data_set.methods, *data_set.base)}
    strongest = max(data_set.methods[1:], key=lambda method: method.mean)
    a, b = systems[statement["first"]], systems.get(statement["second"], strongest)
    # The tests of SVMmap against the other systems are results already.
    pair = (b.against if a.name == SVM_MAP else None) or signed_rank(a.values, b.values)
    lead = a.mean - b.mean if statement.get("by_map") else pair.wins - pair.losses
    of_runs, of_methods = (
        table["number"]
        for table in WORDS.published["tables"]
        if data_set.name in (*table["data_sets"], *table.get("with_documents", ()))
    )
    return WORDS.claim(
        "order",
        pair._replace(difference=lead),
        tested=f"{len(a.values)} topics",
        name=data_set.name,
        text=statement["text"],
        number=of_runs if b.run else of_methods,
        names=[system.run or system.name for system in (a, b)],
        a=a,
        b=b,
        pair=pair,
        level=f", level on {pair.ties}" if pair.ties else "",
    )


# tables


def _tables(results: TrialResults) -> tuple[Section, ...]:
    by_name = results.collections
    of_runs: list[Table] = []
    of_methods: list[Table] = []
    for table in WORDS.published["tables"]:
        for names, where, published in (
            (table["data_sets"], "", table["rows"]),
            (table.get("with_documents", []), ", collections with documents", []),
        ):
            if names and by_name.keys() >= set(names):
                group = of_runs if table["number"] <= _LAST_OF_RUNS else of_methods
                compared = [by_name[name] for name in names]
                group.append(_compared(table["number"], table["title"] + where, compared, published))
    data_sets = ", ".join(f"{data_set.name} ({data_set.n_runs} runs)" for data_set in by_name.values())
    rows = [
        (
            f"{data_set.name} (ours)",
            data_set.n_runs,
            data_set.n_features,
            data_set.n_documents,
            data_set.n_relevant,
        )
        for data_set in by_name.values()
    ]
    rows += [(f"{one['name']} (published)", *one["row"], None, None) for one in WORDS.published["statistics"]]
    statistics = WORDS.table("statistics", rows, bins=results.settings.grid.bins)
    first = (*_examples(), statistics, *_constraints(results))
    return (
        Section("Examples and data", first),
        Section("How to read the tables", text=WORDS.section("reading", data_sets=data_sets)),
        Section("Against single runs", tuple(of_runs)),
        Section("Against other SVMs", tuple(of_methods)),
        Section("Which C", _by_c(results), WORDS.section("choices", settings=results.settings)),
    )


def _compared(
    number: int, title: str, data_sets: Sequence[DataSetResult], published: Sequence[Sequence[Value]]
) -> Table:
    """Compare SVMmap with the best runs or the other methods, with the published rows if there are any."""
    has_runs = number <= _LAST_OF_RUNS
    systems = [
        (data_set.methods[0], *data_set.base) if has_runs else data_set.methods for data_set in data_sets
    ]
    # The paper's methods come first. Those that it does not have get empty cells.
    nothing = [None] * len(published[0]) if published else []
    rows = []
    for row, theirs in zip(zip(*systems, strict=False), chain(published, repeat(nothing)), strict=False):
        ours = [value for system in row for value in (system.mean, _wins(system.against))]
        rows.append((row[0].name, *ours, *(value or None for value in theirs)))
    notes = [
        f"Best runs of {data_set.name!r}, in order: {', '.join(s.run for s in data_set.base)}."
        for data_set in data_sets
    ]
    groups = [data_set.name for data_set in data_sets]
    groups += ["TREC 9 (published)", "TREC 10 (published)"] if published else []
    table = WORDS.table(
        "compared",
        rows,
        heads=[("", ["model"]), *((name, ["MAP", "W/L"]) for name in groups)],
        notes=notes if has_runs else (),
        number=number,
        title=title,
    )
    return replace(table, detail=not published)


def _wins(against: Significance | None) -> str | None:
    if against is None:
        return None
    counts = [against.wins, against.losses, *([against.ties] if against.ties else [])]
    return "/".join(map(str, counts)) + (" **" if against.is_clear else "")


def _examples() -> Iterator[Table]:
    """Tables 1 to 4: what a method optimizes decides which of two rankings it prefers (Section 2)."""
    for example in WORDS.published["examples"]:
        labels = np.array(example["labels"], dtype=np.float64)
        n, (first, second), other = len(labels), example["tables"], example["other"]
        rankings = {"h1": np.arange(n, 0.0, -1.0), "h2": np.arange(1.0, n + 1.0)}
        rows = [
            ("p", *map(int, labels)),
            ("rank(h1)", *range(n, 0, -1)),
            ("rank(h2)", *range(1, n + 1)),
        ]
        heads = [("", ("document", *map(str, range(1, n + 1))))]
        yield WORDS.table("example", rows, heads=heads, number=first)
        values = [(h, *_values(scores, labels, other), *example[h]) for h, scores in rankings.items()]
        notes = () if other == "ROCArea" else ("erratum",)
        yield WORDS.table("example-values", values, number=second, other=other, notes=notes)


def _values(scores: Float64Array, labels: Float64Array, other: str) -> tuple[float, float]:
    """Return AP of a ranking, and its ROC area or best accuracy."""
    qptr = np.array([0, len(labels)])
    ap = float(AP()(scores, labels, qptr)[0])
    is_area = other == "ROCArea"
    return ap, float(ROCArea()(scores, labels, qptr)[0]) if is_area else best_accuracy(scores, labels)


def best_accuracy(scores: Float64Array, labels: Float64Array) -> float:
    r"""Return the highest accuracy of any threshold on the scores of one query (Section 2.2).

    .. math:: \max_t \frac1n \#\{i : [s_i > t] = [l_i \ge 1]\}

    Examples
    --------
    >>> best_accuracy(np.array([2.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0]))
    0.6666666666666666
    """
    relevant = labels >= 1.0
    # A threshold at each score, and one below all scores, split the documents in every possible way.
    thresholds = np.append(-np.inf, scores)
    return max(float(((scores > t) == relevant).mean()) for t in thresholds)


def _constraints(results: TrialResults) -> Iterator[Table]:
    """Make a table of what Algorithm 1 adds, next to the bound of Theorem 1; none without such trials."""
    experiment, counted = results.settings, results.constraints
    rows = [
        (data_set.name, f"{c:g}", added, largest, f"{bound:.1e}")
        for data_set in counted
        for c, bound, largest, added in data_set.counts
    ]
    if rows:
        yield WORDS.table(
            "constraints",
            rows,
            n_trials=min(experiment.counted, experiment.trials),
            n_train=experiment.n_train,
            epsilon=experiment.grid.epsilon,
            n_trainings=sum(data_set.n_trainings for data_set in counted),
            n_converged=sum(data_set.n_converged for data_set in counted),
            radius=max(data_set.radius for data_set in counted),
        )


def _by_c(results: TrialResults) -> tuple[Table, ...]:
    data_sets = list(results.collections.values())
    chosen = []
    for kind, methods in _KINDS.items():
        often: list[tuple[Value, ...]] = []
        n_ends = n = 0
        for data_set in data_sets:
            for method in methods:
                counts = list(data_set.chosen[method].values())
                # A C at an end of its grid shows that a better one may lie outside.
                n_ends, n = n_ends + counts[0] + (counts[-1] if len(counts) > 1 else 0), n + sum(counts)
                often.append((data_set.name, method, *counts, data_set.seconds[method] / sum(counts)))
        values_of_c = [f"{c:g}" for c in data_sets[0].chosen[methods[0]]]
        heads = [("", ("data set", "model", *values_of_c, "seconds per trial"))]
        chosen.append(WORDS.table("chosen", often, heads=heads, kind=kind, n_ends=n_ends, n=n))
    return tuple(chosen)


# figures, values by query and sentences


def _figures(results: TrialResults) -> Iterator[Figure]:
    panels = [
        Panel(
            data_set.name,
            tuple(line(method, means, means.values()) for method, means in data_set.by_c.items()),
            "C",
            "MAP of the test topics",
            x_scale="log",
        )
        for data_set in results.collections.values()
    ]
    yield WORDS.figure("map-by-c", panels)


def _per_query(results: TrialResults) -> Iterator[PerQuery]:
    for data_set in results.collections.values():
        systems = (*data_set.methods, *data_set.base)
        values = {f"{s.name} ({s.run})" if s.run else s.name: s.values for s in systems}
        yield PerQuery(data_set.name, "AP, mean over trials", data_set.topics, values)


def _summary(results: TrialResults, claims: Sequence[Claim]) -> Iterator[str]:
    for data_set in results.collections.values():
        first, *others = *data_set.methods, *data_set.base[:1]
        tests = [system.against or signed_rank(first.values, system.values) for system in others]
        kinds: dict[str, list[str]] = {"better than": [], "worse than": [], "no clear difference from": []}
        named = dict(zip(("holds", "does not hold", "not significant"), kinds.values(), strict=True))
        for system, test, p in zip(others, tests, adjust([test.p for test in tests]), strict=True):
            name = f"{system.name.lower()} (`{system.run}`)" if system.run else system.name
            outcome = verdict(test._replace(p=float(p), difference=test.wins - test.losses))
            named[outcome].append(f"{name} {system.mean:.3f}")
        compared = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)
        yield from WORDS.section("summary", name=data_set.name, first=first, compared=compared)
    yield from WORDS.section("verdicts")


def _details(results: TrialResults) -> dict[str, Any]:
    experiment, data_sets = results.settings, results.collections.values()
    missing = [
        f"`text/{files[0].split('/')[0]}`" for name, files in TEXTS.items() if name not in results.collections
    ]
    where = f"{', '.join(missing)} are not in the data folder. Add them, and run the command again."
    if not experiment.has_texts:
        where = "A quick run leaves them out."
    return {
        "texts": ", ".join(name for name in results.collections if name in TEXTS) or None,
        "absent": where if missing else None,
        "trainings": sum(
            experiment.trials * len(counts) for data_set in data_sets for counts in data_set.chosen.values()
        ),
        "unconverged": sum(sum(data_set.not_converged.values()) for data_set in data_sets),
    }


PAPER = Paper(
    words=WORDS,
    full=Yue2007(),
    quick=QUICK,
    claims=_claims,
    tables=_tables,
    figures=_figures,
    summary=_summary,
    per_query=_per_query,
    details=_details,
)
