"""``directrix evaluate``: measures of score files and models, under any tool's convention."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import Missing, MissingOption
from directrix.cli.output import Format, FormatOption, print_json, print_rows, remark
from directrix.cli.wording import for_the_shell

if TYPE_CHECKING:
    from directrix.cli.scores import Judgement
    from directrix.measures.convention import Convention
    from directrix.measures.evaluation import ConventionEvaluations, Evaluation

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
    from directrix.measures.names import measure as parse_measure

    names = list(dict.fromkeys(measures or ["nDCG@10", "AP"]))
    with usage():
        for name in names:
            parse_measure(name)
        tool = None if convention in (None, _ALL, _DEFAULT) else find_convention(str(convention))
    several = convention == _ALL
    judged = judgements(data, rankings, missing)
    found = [_compared(names, each) if several else _alone(names, each, tool) for each in judged]
    for text in dict.fromkeys(text for values in found for text in _left_out(values)):
        remark(f"note: {text}")
    queries = [each.query_ids if per_query else None for each in judged]
    files = list(zip(map(str, rankings), found, queries, strict=True))
    results = [
        {"convention": name, "rows": [_row(file, values[name], names, ids) for file, values, ids in files]}
        for name in found[0]
    ]
    if form is Format.json:
        print_json(results if several else results[0])
        return
    head = (["convention"] if several else []) + ["name"] + (["query"] if per_query else []) + names
    print_rows(head, [line for result in results for line in _lines(result, several)], form)
    if convention is None:
        remark("convention: default (--convention all shows how other tools count)")


def _compared(names: list[str], each: Judgement) -> ConventionEvaluations:
    """Values under every convention."""
    from directrix.measures.evaluation import evaluate_conventions

    arrays = {"qptr": each.qptr, "doc_ids": each.doc_ids}
    return evaluate_conventions(names, each.scores, each.labels, per_query=True, **arrays)


def _alone(names: list[str], each: Judgement, tool: Convention | None) -> ConventionEvaluations:
    """Values under one convention, in the same form."""
    from directrix.measures.evaluation import ConventionEvaluations
    from directrix.measures.evaluation import evaluate as values_of

    values = values_of(
        names,
        each.scores,
        each.labels,
        qptr=each.qptr,
        doc_ids=each.doc_ids,
        convention=tool,
        per_query=True,
    )
    found = ConventionEvaluations({_DEFAULT if tool is None else tool.name: values})
    found.left_out = {}
    return found


def _left_out(found: ConventionEvaluations) -> Iterator[str]:
    for tool, reasons in found.left_out.items():
        for reason in dict.fromkeys(reasons.values()):
            gone = ", ".join(name for name, why in reasons.items() if why == reason)
            yield for_the_shell(f"{tool} without {gone}: {reason}")


def _row(file: str, values: Evaluation, names: list[str], queries: tuple[str, ...] | None) -> dict[str, Any]:
    """One ranking as the JSON shows it; measures that the tool lacks have no number."""
    row: dict[str, Any] = {"name": file, "measures": {name: values.mean.get(name) for name in names}}
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
            remark(f"note: {name} is undefined for {count} queries of {file}")
    return row


def _lines(result: dict[str, Any], several: bool) -> list[list[Any]]:
    first = [result["convention"]] if several else []
    lines: list[list[Any]] = []
    for row in result["rows"]:
        queries = row.get("queries")
        head = [*first, row["name"]]
        lines += [[*head, entry["query"], *entry["measures"].values()] for entry in queries or []]
        lines.append([*head, *(["all"] if queries else []), *row["measures"].values()])
    return lines
