"""The pages of a comparison of systems, and of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from directrix import __version__
from directrix.data.trec.join import Judged
from directrix.errors import in_words
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance.comparisons import Comparisons
from directrix.reports.rankings import top_rankings
from directrix.reports.report import PerQuery, Report, Section
from directrix.tables import escaped_markdown
from directrix.types import Float64Array


def comparison_report(
    results: Mapping[str, Comparisons],
    values: Mapping[str, Mapping[str, Float64Array]],
    *,
    judged: Mapping[str, Judged],
    data: str,
    convention: str,
    command: str,
    remarks: Sequence[str] = (),
) -> Report:
    """Return the page of a comparison: its tables, and every query of every pair, with both rankings.

    ``results`` are by measure, ``values`` by measure and system, ``judged`` by system; ``remarks`` are
    sentences of plain text.
    """
    systems = {name: (run.scores, run) for name, run in judged.items()}
    rankings = top_rankings(systems, next(iter(values.values())).values())
    reference = next(iter(results.values()))
    best = {measure: max(result.means, key=result.means.__getitem__) for measure, result in results.items()}
    first = [
        text
        for measure, name in best.items()
        for text in (
            _first(measure, results[measure].means, name),
            *_verdicts(measure, results[measure], name),
        )
    ]
    ids = next(iter(judged.values())).query_ids
    return Report(
        name="compare",
        title=f"{len(reference.means)} rankings by {' and '.join(results)}",
        paper=escaped_markdown(f"{', '.join(reference.means)}: rankings of {data}, compared query by query."),
        summary=tuple(f"- {escaped_markdown(text)}" for text in (*remarks, *first)),
        command=command,
        settings={
            **{name: getattr(reference, name) for name in ("test", "correction", "against", "alpha", "seed")},
            "convention": convention,
            "directrix": __version__,
        },
        per_query=tuple(
            PerQuery(data, measure, ids, by_system, rankings) for measure, by_system in values.items()
        ),
        sections=tuple(
            Section(measure, result.tables(measure, pairs=True)) for measure, result in results.items()
        ),
    )


def _first(measure: str, means: Mapping[str, float], best: str) -> str:
    """Say which systems have the highest mean."""
    names = [name for name, mean in means.items() if mean == means[best]]
    verb = "is" if len(names) == 1 else "are"
    return f"{measure}: {' and '.join(names)} {verb} first with {means[best]:.4f}"


def _verdicts(measure: str, result: Comparisons, best: str) -> Iterator[str]:
    """Say for each pair with the first system, or with the one compared against, whether it is better."""
    for pair in result.pairs:
        # Of all pairs, only those of the best system are sentences. The tables have the others.
        if result.against is None and best not in (pair.first, pair.second):
            continue
        unit = f" {result.unit}" if result.unit else ""
        kind = "p" if result.correction is None or len(result.pairs) == 1 else "adjusted p"
        way = "better" if pair.difference >= 0.0 else "worse"
        yield (
            f"{measure}: {pair.first} - {pair.second} {pair.difference:+.4f}{unit}, "
            f"{100 * (1 - result.alpha):g} % {pair.interval_text}, {kind} {pair.adjusted:.2g}: "
            + (way if pair.differs else f"not shown to be {way}")
        )


def crossval_report(
    result: CrossValidation, *, data: str, command: str, settings: Mapping[str, Any]
) -> Report:
    """Return the page of a cross-validation: its tables, and every test query of every pair of methods."""
    measure, ids = result.measures[0], tuple(map(str, result.query_ids))
    best = max(result.entries, key=lambda entry: result.mean(entry, measure))
    texts = [f"{measure}: {best} is first with {result.mean(best, measure):.4f}, the mean over folds"]
    if len(result.entries) > 1 and all(result.against_first().values()):
        texts += _verdicts(measure, result.compare()[measure], best)
    return Report(
        name="crossval",
        title=f"{len(result.entries)} methods by {in_words(result.measures)}",
        paper=escaped_markdown(f"{', '.join(result.entries)}: trained on the folds of {data}."),
        summary=tuple(f"- {escaped_markdown(text)}" for text in texts),
        sections=(Section("Tables", result.tables()),),
        command=command,
        settings=settings,
        per_query=tuple(
            PerQuery(
                "test queries of all folds", name, ids, {e: result.values(e, name) for e in result.entries}
            )
            for name in result.measures
        ),
    )
