"""``directrix evaluate``: measures of score files, models and runs, under the convention of any tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.output import print_json, print_rows, remark
from directrix.data.columns import RECOGNIZED, ColumnNames

if TYPE_CHECKING:
    from directrix.cli.scores import JudgedRanking
    from directrix.measures.convention import Convention
    from directrix.measures.evaluation import ConventionEvaluations, Evaluation

_ALL = "all"


def evaluate(
    data: options.JudgedArgument,
    rankings: options.RankingsArgument,
    measures: options.MeasuresOption = None,
    per_query: Annotated[bool, Option("--per-query", help="Print the value of every query too.")] = False,
    convention: Annotated[
        str | None,
        options.without_default(
            help="Compute measures as another tool does: letor3, trec_eval, sklearn, ..., or as all do."
        ),
    ] = None,
    system_names: options.NamesOption = None,
    missing: options.ModelMissingOption = None,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Evaluate score files and models on labeled data, or TREC runs on qrels."""
    from directrix.cli.scores import check_system_names, judged_rankings

    all_tools = convention == _ALL
    with options.usage():
        check_system_names(system_names, rankings)
        names = options.measure_names(measures)
        tool = None if all_tools else options.convention_named(convention)
    judged = judged_rankings(data, rankings, missing, columns, names=system_names, by_position=by_position)
    if len({ranking.ranked for ranking in judged}) > 1:
        counts = ", ".join(f"{ranking.name} {len(ranking.ranked)}" for ranking in judged)
        remark(
            f"note: these are means over different queries ({counts}); `directrix compare` takes those that "
            "a run lacks as empty rankings"
        )
    evaluations = [_values(names, ranking, tool, all_tools=all_tools) for ranking in judged]
    for text in dict.fromkeys(text for values in evaluations for text in _left_out(values)):
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
    if form is options.Format.json:
        print_json(results if all_tools else results[0])
        return
    head = (["convention"] if all_tools else []) + ["name"] + (["query"] if per_query else []) + names
    print_rows(head, [line for result in results for line in _lines(result, all_tools)], form)
    if convention is None:
        remark("convention: default (--convention all shows the values of other tools)")


def _values(
    names: list[str], ranking: JudgedRanking, tool: Convention | None, *, all_tools: bool
) -> ConventionEvaluations:
    """Return the values under one convention, or under all, by the name of the convention."""
    from directrix.measures import evaluation

    if all_tools:
        return evaluation.evaluate_conventions(names, **ranking.arrays, per_query=True)
    values = evaluation.evaluate(names, **ranking.arrays, convention=tool, per_query=True)
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
    system: str, values: Evaluation, names: list[str], queries: tuple[str, ...] | None
) -> dict[str, Any]:
    """Return one ranking as the JSON shows it; measures that the tool does not define are null."""
    row: dict[str, Any] = {"name": system, "measures": {name: values.mean.get(name) for name in names}}
    if queries is not None:
        row["queries"] = [
            {
                "query": query,
                "measures": {name: float(values[name][i]) if name in values else None for name in names},
            }
            for i, query in enumerate(queries)
        ]
    for name, count in values.skipped.items():
        if count:
            remark(f"note: {name} is undefined for {count} queries of {system}")
    return row


def _lines(result: dict[str, Any], all_tools: bool) -> list[list[Any]]:
    prefix = [result["convention"]] if all_tools else []
    lines: list[list[Any]] = []
    for row in result["rows"]:
        queries = row.get("queries")
        head = [*prefix, row["name"]]
        lines += [[*head, entry["query"], *entry["measures"].values()] for entry in queries or []]
        lines.append([*head, *(["all"] if queries else []), *row["measures"].values()])
    return lines
