"""``directrix evaluate``: measures of score files and models, under any tool's convention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import Missing, MissingOption
from directrix.cli.output import Format, FormatOption, print_json, print_rows, remark

if TYPE_CHECKING:
    from directrix.cli.scores import Judgement
    from directrix.measures.base import RankingMeasure

_ALL = "all"
_DEFAULT = "default"


def evaluate(
    data: Annotated[
        Path, typer.Argument(help="Labelled data, LETOR / svmlight; or TREC judgements.", show_default=False)
    ],
    rankings: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES|MODEL...",
            help="Files of one score per line, or model files; or TREC runs.",
            show_default=False,
        ),
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", "-m", help="Repeat for several. Default nDCG@10 and AP.", show_default=False
        ),
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="The value of every query too.")] = False,
    convention: Annotated[
        str | None, typer.Option(help="Count as this tool does: letor3, trec_eval, sklearn, ...; or all.")
    ] = None,
    missing: MissingOption = Missing.error,
    form: FormatOption = Format.table,
) -> None:
    """Evaluate score files and models on labelled data, or TREC runs on judgements.

    JSON: {"convention": .., "rows": [{"name": .., "measures": {"nDCG@10": ..}}]}; with --per-query each row
    has "queries" too; with --convention all a list of such objects.
    """
    from directrix.cli.scores import judgements
    from directrix.cli.settings import usage
    from directrix.measures.convention import convention as find_convention
    from directrix.measures.convention import conventions
    from directrix.measures.names import measure as parse_measure

    names = list(dict.fromkeys(measures or ["nDCG@10", "AP"]))
    with usage():
        chosen = [parse_measure(name) for name in names]
        if convention == _ALL:
            tools = [_DEFAULT, *conventions()]
        elif convention is None or convention == _DEFAULT:
            tools = [_DEFAULT]
        else:
            tools = [find_convention(convention).name]
    judged = list(zip(map(str, rankings), judgements(data, rankings, missing), strict=True))
    if convention == _ALL and any(each.doc_ids is None for _, each in judged):
        without = [tool for tool in tools if _needs_documents(chosen, tool)]
        tools = [tool for tool in tools if tool not in without]
        if without:
            remark(f"note: left out {', '.join(without)}: they break ties by document id, {data} has none")
    lacking = {tool: _lacking(chosen, tool) if convention == _ALL else [] for tool in tools}
    for tool, absent in lacking.items():
        if absent:
            gone = ", ".join(names[chosen.index(m)] for m in absent)
            remark(f"note: {tool} has no {gone} ({find_convention(tool).note})")
    tools = [tool for tool in tools if len(lacking[tool]) < len(chosen)]
    results = [_result(tool, names, chosen, judged, per_query, lacking[tool]) for tool in tools]
    if form is Format.json:
        print_json(results if convention == _ALL else results[0])
        return
    several = convention == _ALL
    head = (["convention"] if several else []) + ["name"] + (["query"] if per_query else []) + names
    print_rows(head, [line for result in results for line in _lines(result, several)], form)
    if convention is None:
        remark("convention: default (--convention all shows how other tools count)")


def _needs_documents(measures: list[RankingMeasure], tool: str) -> bool:
    return tool != _DEFAULT and any(m.under(tool).tie_rule == "trec" for m in measures)


def _lacking(measures: list[RankingMeasure], tool: str) -> list[RankingMeasure]:
    from directrix.measures.convention import convention as find_convention

    return [] if tool == _DEFAULT else [m for m in measures if not find_convention(tool).has(m)]


def _result(
    tool: str,
    names: list[str],
    measures: list[RankingMeasure],
    judged: list[tuple[str, Judgement]],
    per_query: bool,
    lacking: list[RankingMeasure],
) -> dict[str, Any]:
    """One convention as the JSON shows it; measures that the tool lacks have no number."""
    from directrix.measures.evaluation import evaluate as values_of

    rows: list[dict[str, Any]] = []
    by_tool = None if tool == _DEFAULT else tool
    for name, each in judged:
        found = values_of(
            [m for m in measures if m not in lacking],
            each.scores,
            each.labels,
            qptr=each.qptr,
            doc_ids=each.doc_ids,
            convention=by_tool,
            per_query=True,
        )
        # the keys of `found` are the measures' own names: users get back the names they typed
        row: dict[str, Any] = {
            "name": name,
            "measures": {text: found.mean.get(m.name) for text, m in zip(names, measures, strict=True)},
        }
        if per_query:
            row["queries"] = [
                {
                    "query": str(query),
                    "measures": {
                        text: float(found[m.name][i]) if m.name in found else None
                        for text, m in zip(names, measures, strict=True)
                    },
                }
                for i, query in enumerate(each.query_ids)
            ]
        rows.append(row)
        for text, m in zip(names, measures, strict=True):
            if found.skipped.get(m.name):
                remark(f"note: {text} is undefined for {found.skipped[m.name]} queries of {name}")
    return {"convention": tool, "rows": rows}


def _lines(result: dict[str, Any], several: bool) -> list[list[Any]]:
    first = [result["convention"]] if several else []
    lines: list[list[Any]] = []
    for row in result["rows"]:
        queries = row.get("queries")
        head = [*first, row["name"]]
        lines += [[*head, entry["query"], *entry["measures"].values()] for entry in queries or []]
        lines.append([*head, *(["all"] if queries else []), *row["measures"].values()])
    return lines
