"""Tables and page of an explanation: importance of features, ranks by their values, parts of scores."""

from __future__ import annotations

import numpy as np

from directrix import __version__
from directrix.experiments.explanation.dependence import Dependence
from directrix.experiments.explanation.explain import Explanation
from directrix.experiments.explanation.of_query import Advantage, RankedQuery, contributing
from directrix.reports.report import Curve, Figure, Panel, Report, Section
from directrix.reports.training_figures import importance_panel
from directrix.tables import Table, Value, escaped_markdown

_PARTS = 3  # features that are named for a document
_PANELS = 3  # side by side in a figure
_IN_GROUPS = 5  # features for every group


def explanation_tables(explanation: Explanation, top: int) -> tuple[Table, ...]:
    """Return the tables of the ``top`` features: importance, ranks by values, groups of queries."""
    return tuple(table for section in _sections(explanation, top) for table in section.tables)


def _sections(explanation: Explanation, top: int) -> tuple[Section, ...]:
    sections = [Section("What the features are worth", (_importance(explanation, top),))]
    if explanation.dependence:
        sections.append(Section("How they move a document", (_dependence(explanation.dependence[:top]),)))
    if explanation.groups:
        sections.append(Section("Groups of queries", (_groups(explanation),)))
    return tuple(sections)


def explanation_report(
    explanation: Explanation, top: int, *, model: str, data: str, command: str, seed: int
) -> Report:
    """Return the page of an explanation of a model on some data, with these names."""
    found, sections = explanation.importance, _sections(explanation, top)
    best = [found.names[j] for j in found.ranked[:3] if found.interval(j)[0] > 0.0]
    summary = (
        [f"most important: {', '.join(best)}"]
        if best
        else ["no feature has an importance that is more than chance"]
    )
    return Report(
        name="explanation",
        title=f"What {model} depends on",
        paper=escaped_markdown(
            f"{model} on {data}: {found.measure} {found.value:.4f} on {found.n_queries} queries with "
            f"{found.n_docs} documents."
        ),
        summary=tuple(f"- {escaped_markdown(text)}" for text in summary),
        tables=tuple(table for section in sections for table in section.tables),
        figures=_figures(explanation, top),
        command=command,
        settings={"measure": found.measure, "seed": seed, "directrix": __version__},
        sections=sections,
    )


def query_table(ranked: RankedQuery) -> Table:
    """Return the first documents of a query, each with the features that contribute most to its score."""
    rows = []
    for place, (document, label, score, values, parts) in enumerate(
        zip(ranked.documents, ranked.labels, ranked.scores, ranked.values, ranked.contributions, strict=True),
        start=1,
    ):
        named = [f"{ranked.names[f]} {parts[f]:+.3g} ({values[f]:.4g})" for f in contributing(parts)[:_PARTS]]
        rows.append((place, document, f"{label:g}", float(score), ", ".join(named)))
    return Table(
        f"Query {ranked.query}: the first {len(rows)} documents",
        ("rank", "document", "label", "score", "what contributes most (its value)"),
        tuple(rows),
        notes=(
            "A contribution is what the feature adds to the score, compared with the documents of the query; "
            "those of a document add up to its score minus their mean score.",
        ),
        digits=4,
    )


def pair_table(pair: Advantage, top: int) -> Table:
    """Return what each feature adds to the difference of two documents."""
    (above, below), chosen = pair.documents, pair.ranked[:top]
    rows: list[tuple[Value, ...]] = [
        (pair.names[f], float(pair.contributions[f]), *(f"{value:.6g}" for value in pair.values[:, f]))
        for f in chosen
    ]
    rest = pair.ranked[top:]
    if rest:
        rows.append((f"{len(rest)} others", float(pair.contributions[rest].sum()), "", ""))
    rows.append(("score", pair.scores[0] - pair.scores[1], *(f"{score:.6g}" for score in pair.scores)))
    heads = ("feature", "contribution", f"{above} (rank {pair.ranks[0]})", f"{below} (rank {pair.ranks[1]})")
    return Table(str(pair), heads, tuple(rows), digits=4)


def _importance(explanation: Explanation, top: int) -> Table:
    found, without = explanation.importance, explanation.left_out
    shown = [j for j in found.ranked if found.mean[j] or found.error[j]]
    heads: tuple[str, ...] = ("feature", "importance", "low", "high")
    groups: tuple[tuple[str, int], ...] = ()
    rows: list[tuple[Value, ...]] = [
        (found.names[j], float(found.mean[j]), *found.interval(j)) for j in shown[:top]
    ]
    notes = [
        "importance: how far the measure falls when the values of the feature are shuffled within every "
        "query; low, high: 95 % interval over queries, for each feature alone."
    ]
    unused = sum(not (found.mean[j] or found.error[j]) for j in found.ranked)
    if unused:
        notes.append(f"{unused} of {len(found.ranked)} features make no difference.")
    if len(found.ranked) < len(found.names):
        notes.append(f"Examined: the {len(found.ranked)} of {len(found.names)} that move the scores most.")
    if without is not None:
        heads, groups = (*heads, "fall", "low", "high"), (("", 4), ("left out", 3))
        rows = [
            (*row, *((without.mean(j), *without.interval(j)) if j in without.columns else (None,) * 3))
            for row, j in zip(rows, shown, strict=False)
        ]
        notes.append(
            f"left out: how far it falls from {without.value:.4f} when the ranker is trained without it."
        )
    sizes = f"{found.n_queries} queries, {found.n_docs} documents"
    title = f"Importance of features for {found.measure}, {found.value:.4f} on {sizes}"
    return Table(title, heads, tuple(rows), groups, tuple(notes), digits=4)


def _dependence(moves: tuple[Dependence, ...]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for one in moves:
        ends = [(f"{one.values[i]:.4g}", float(one.rank[i])) for i in (0, -1)]
        rows.append((one.feature, one.own_rank, *ends[0], *ends[1], float(one.error.max())))
    return Table(
        "Mean rank of a document, by the value of one of its features",
        ("feature", "own value", "value", "rank", "value", "rank", "error"),
        tuple(rows),
        groups=(("", 1), ("rank", 1), ("low", 2), ("high", 2), ("", 1)),
        notes=(
            "Documents drawn from every query get the value, and nothing else changes; rank 1 is the top. "
            "low, high: the 5 % and 95 % quantiles of the feature. error: the largest standard error of a "
            "change.",
        ),
        digits=1,
    )


def _groups(explanation: Explanation) -> Table:
    found, rows = explanation.importance, []
    for group in explanation.groups:
        for j in found.ranked[:_IN_GROUPS]:
            interval = group.intervals[j]
            rows.append((group.name, group.n_queries, group.value, found.names[j], group.mean[j], *interval))
    heads = ("group", "queries", found.measure, "feature", "importance", "low", "high")
    return Table("Groups of queries", heads, tuple(rows), digits=4)


def _figures(explanation: Explanation, top: int) -> tuple[Figure, ...]:
    found = explanation.importance
    shown = [j for j in found.ranked if found.mean[j] or found.error[j]][:top]
    if not shown:
        return ()
    bars = importance_panel(found.mean[shown], [found.names[j] for j in shown], f"fall of {found.measure}")
    title = f"Importance of features: the fall of {found.measure} when one is shuffled within every query."
    figures = [Figure("importance", title, (bars,), "bars; the table has their heights")]
    moves = explanation.dependence[:top]
    for first in range(0, len(moves), _PANELS):
        panels = tuple(_panel(one) for one in moves[first : first + _PANELS])
        names = ", ".join(one.feature for one in moves[first : first + _PANELS])
        title = f"Mean rank of a document, by the value of {names}; dashed: with its own value."
        alt = "rank against the value of a feature; the table has its ends"
        figures.append(Figure(f"ranks-{first // _PANELS + 1}", title, panels, alt))
    return tuple(figures)


def _panel(one: Dependence) -> Panel:
    ends = np.array([one.values[0], one.values[-1]])
    curves = (
        Curve("", one.values, one.rank),
        Curve("", one.values, one.rank, "points"),
        Curve("", ends, np.full(2, one.own_rank), "dashed"),
    )
    return Panel("", curves, one.feature, "mean rank, 1 is the top")
