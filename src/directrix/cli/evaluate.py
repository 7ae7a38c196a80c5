"""``directrix evaluate``: measures of rankings, on all queries, by query or by segment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.output import remark, show
from directrix.cli.reading import RankedOptions, query_classes
from directrix.errors import InputError, amount

if TYPE_CHECKING:
    from directrix.cli.rankings import JudgedRanking, Topics
    from directrix.measures.convention import Convention
    from directrix.measures.evaluation import ConventionEvaluations, Evaluation


_ALL = "all"


def evaluate_command(
    *,
    data: options.JudgedArgument,
    rankings: options.RankingsArgument,
    measures: options.MeasuresOption = None,
    per_query: Annotated[bool, Option("--per-query", help="Print the value of every query too.")] = False,
    convention: Annotated[
        str | None,
        options.option(
            help="Compute measures as another tool does: letor3, trec_eval, sklearn, ..., or all."
        ),
    ] = None,
    by: Annotated[
        Path | None,
        options.option(
            "--by",
            help="File with a segment of each query, e.g. its language: lines `query segment`, or a table. "
            "Prints each segment too.",
        ),
    ] = None,
    intervals: Annotated[
        bool, Option("--intervals", help="Print 95 % intervals of the means, by the bootstrap over queries.")
    ] = False,
    all_judged: options.AllJudgedOption = False,
    system_names: options.NamesOption = None,
    reading: RankedOptions,
    cluster: options.ClusterOption = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Evaluate score files and models on labeled data, or TREC runs on qrels."""
    from directrix.cli.rankings import check_system_names, judged_rankings
    from directrix.tables import Table

    all_tools = convention == _ALL
    with options.usage():
        check_system_names(system_names, rankings)
        names = options.measure_names(measures)
        tool = None if all_tools else options.convention_named(convention)
        if per_query and by is not None:
            raise InputError("--per-query prints queries and --by prints segments; give one of the two.")
    topics: Topics = "judged" if all_judged else "own"
    judged = judged_rankings(data, rankings, reading, system_names, topics)
    segments = None if by is None else _segments(by, judged)
    # Means over different queries cannot be compared, though the table shows them side by side.
    if len({frozenset(ranking.query_ids) for ranking in judged}) > 1:
        counts = ", ".join(f"{ranking.name} {len(ranking.ranked)}" for ranking in judged)
        remark(
            f"note: these are means over different queries ({counts}); `directrix compare` takes those that "
            "a run lacks as empty rankings"
        )
    how: dict[str, Any] = {"all_tools": all_tools, "segments": segments, "intervals": intervals}
    evaluations = [_evaluated(names, ranking, tool, **how) for ranking in judged]
    for text in dict.fromkeys(chain.from_iterable(map(_left_out, evaluations))):
        remark(f"note: {text}")
    queries = [ranking.query_ids if per_query else None for ranking in judged]
    systems = list(zip([ranking.name for ranking in judged], evaluations, queries, strict=True))
    results = [
        {
            "convention": name,
            "rows": [_row(system, values[name], names, ids) for system, values, ids in systems],
        }
        for name in evaluations[0]
    ]
    # The columns of the table are those that `_lines` yields for the same options.
    heads = (["convention"] if all_tools else []) + ["name"] + (["query"] if per_query else [])
    heads += [] if by is None else ["segment", "queries"]
    heads += [f"{name}{end}" for name in names for end in ("", *((" low", " high") if intervals else ()))]
    rows = tuple(line for result in results for line in _lines(result, all_tools))
    show(form, [Table("", tuple(heads), rows, digits=4)], results if all_tools else results[0])
    if convention is None and form is not options.Format.json:
        remark("convention: default (--convention all shows the values of other tools)")


def _segments(path: Path, judged: list[JudgedRanking]) -> dict[str, str]:
    """Read the segment of each query, with a note of queries that are not evaluated."""
    of_query = query_classes(path)
    evaluated = {query for ranking in judged for query in ranking.query_ids}
    if unknown := [query for query in of_query if query not in evaluated]:
        remark(f"note: {len(unknown)} of {len(of_query)} queries of {path} are not among those evaluated")
    return of_query


def _evaluated(
    names: list[str],
    ranking: JudgedRanking,
    tool: Convention | None,
    *,
    all_tools: bool,
    segments: dict[str, str] | None,
    intervals: bool,
) -> ConventionEvaluations:
    """Return the values under one convention, or under all, by the name of the convention."""
    import numpy as np

    from directrix.measures import evaluation

    how: dict[str, Any] = {**ranking.arrays, "per_query": True, "intervals": intervals}
    # Segments are known by the names of queries, so arrays need these in place of boundaries.
    if segments is not None:
        how["by"] = segments
        if "run" not in how:
            how["qid"] = np.repeat(ranking.query_ids, np.diff(how.pop("qptr")))
    if all_tools:
        return evaluation.evaluate_conventions(names, **how)
    values = evaluation.evaluate(names, **how, convention=tool)
    result = evaluation.ConventionEvaluations({"default" if tool is None else tool.name: values})
    result.left_out = {}
    return result


def _left_out(result: ConventionEvaluations) -> Iterator[str]:
    """Say which measures a convention leaves out, and why."""
    for tool, reasons in result.left_out.items():
        for reason in dict.fromkeys(reasons.values()):
            names = ", ".join(name for name, why in reasons.items() if why == reason)
            yield f"convention {tool} leaves out {names}: {reason}"


def _row(
    system: str, values: Evaluation[Any], names: list[str], queries: tuple[str, ...] | None
) -> dict[str, Any]:
    """Return one ranking as the JSON shows it; measures that the tool does not define are null."""
    row: dict[str, Any] = {"name": system, **_figures(values, names)}
    if queries is not None:
        row["queries"] = [
            {
                "query": query,
                "measures": {name: float(values[name][i]) if name in values else None for name in names},
            }
            for i, query in enumerate(queries)
        ]
    if values.segments:
        row["segments"] = [
            {"segment": segment, "queries": len(evaluation.query_ids), **_figures(evaluation, names)}
            for segment, evaluation in [*values.segments.items(), ("all", values)]
        ]
    for figures in row.get("segments", [row]):
        if lacking := [name for name, ends in figures.get("intervals", {}).items() if ends is None]:
            where = f"segment {figures['segment']} of {system}" if "segment" in figures else system
            remark(f"note: no interval of {', '.join(lacking)} for {where}: needs six queries, not all equal")
    for name, count in values.skipped.items():
        if count:
            remark(f"note: {name} is undefined for {amount(count, 'queries')} of {system}")
    return row


def _figures(values: Evaluation[Any], names: list[str]) -> dict[str, Any]:
    figures: dict[str, Any] = {"measures": {name: values.mean.get(name) for name in names}}
    if values.intervals:
        figures["intervals"] = {name: values.intervals.get(name) for name in names}
    return figures


def _lines(result: dict[str, Any], all_tools: bool) -> Iterator[tuple[Any, ...]]:
    prefix = [result["convention"]] if all_tools else []
    for row in result["rows"]:
        # A single query has no interval, so its cells are empty.
        head, none = [*prefix, row["name"]], dict.fromkeys(row.get("intervals", ()))
        for segment in row.get("segments", ()):
            yield (*head, segment["segment"], segment["queries"], *_cells(segment))
        for entry in row.get("queries", ()):
            yield (*head, entry["query"], *_cells(entry | {"intervals": none}))
        if "segments" not in row:
            yield (*head, *(["all"] if "queries" in row else []), *_cells(row))


def _cells(figures: dict[str, Any]) -> Iterator[Any]:
    for name, value in figures["measures"].items():
        yield value
        if name in figures.get("intervals", ()):
            yield from figures["intervals"][name] or (None, None)
