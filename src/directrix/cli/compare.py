"""``directrix compare``: which of several rankings differ by more than chance."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import Missing, MissingOption
from directrix.cli.output import Format, PaperFormat, PaperFormatOption, print_json, print_rows, remark

if TYPE_CHECKING:
    from directrix.cli.scores import Judgement
    from directrix.experiments.significance.comparisons import Comparisons
    from directrix.measures.convention import Convention
    from directrix.types import Float64Array


class Test(StrEnum):
    """How a pair is tested."""

    paired_t = "paired-t"
    wilcoxon = "wilcoxon"
    sign = "sign"
    randomisation = "randomisation"
    tukey = "tukey"
    randomised_tukey = "randomised-tukey"


class Correction(StrEnum):
    """How p-values are adjusted for the number of pairs."""

    auto = "auto"
    holm = "holm"
    bonferroni = "bonferroni"
    benjamini_hochberg = "benjamini-hochberg"
    none = "none"


def compare(
    data: Annotated[
        Path, typer.Argument(help="Labelled data, LETOR / svmlight; or TREC judgements.", show_default=False)
    ],
    rankings: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES|MODEL...",
            help="Two or more: files of one score per line, or model files; or TREC runs.",
            show_default=False,
        ),
    ],
    name: Annotated[str, typer.Option("--measure", "-m", help="What is compared.")] = "nDCG@10",
    test: Annotated[Test, typer.Option(help="How a pair is tested.")] = Test.paired_t,
    correction: Annotated[
        Correction, typer.Option(help="For the number of pairs; auto = Holm's, or Tukey's own.")
    ] = Correction.auto,
    against: Annotated[
        Path | None, typer.Option(help="Compare with this one alone, not all pairs.", show_default=False)
    ] = None,
    alpha: Annotated[float, typer.Option(help="Level; intervals have confidence 1 - alpha.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Of random signs, shuffles and samples.")] = 0,
    convention: Annotated[
        str | None,
        typer.Option(help="Count as this tool does: letor3, trec_eval, sklearn, ...", show_default=False),
    ] = None,
    missing: MissingOption = Missing.error,
    form: PaperFormatOption = PaperFormat.table,
) -> None:
    """Say which of several rankings of the same queries differ by more than chance.

    Systems that share a letter do not differ. JSON: {"measure": .., "convention": .., "systems": [..],
    "pairs": [{"first": .., "second": .., "difference": .., "p": .., "adjusted": ..}], ..}.
    """
    from directrix.cli.scores import judgements
    from directrix.cli.settings import usage
    from directrix.experiments.significance.systems import compare as of_values
    from directrix.measures.convention import convention as find_convention
    from directrix.measures.names import measure as parse_measure

    files = list(map(str, rankings))
    with usage():
        _check(files, against, alpha)
        parse_measure(name)
        tool = None if convention in (None, "default") else find_convention(str(convention))
    judged = judgements(data, rankings, missing)
    values = _by_query(files, [_values(name, each, tool) for each in judged])
    options: dict[str, Any] = {"test": test.value, "correction": correction.value, "alpha": alpha}
    with usage():
        found = of_values(values, **options, against=None if against is None else str(against), seed=seed)
    _print(found, name, "default" if tool is None else tool.name, form)


def _check(files: list[str], against: Path | None, alpha: float) -> None:
    """What is wrong with the options, before anything is read."""
    from directrix.errors import InputError

    if len(files) < 2:
        raise InputError("one ranking is given; two or more are compared. `directrix evaluate` takes one.")
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is given twice; give every ranking once.")
    if against is not None and str(against) not in files:
        raise InputError(f"--against {against}: is none of the rankings; there are {', '.join(files)}.")
    if not 0.0 < alpha < 1.0:
        raise InputError(f"--alpha {alpha:g}: a number between 0 and 1 is needed, e.g. --alpha 0.05.")


def _values(name: str, each: Judgement, tool: Convention | None) -> dict[str, float]:
    """Values of one ranking by query; NaN where the measure is undefined."""
    from directrix.measures.evaluation import evaluate

    arrays = {"qptr": each.qptr, "doc_ids": each.doc_ids}
    found = evaluate([name], each.scores, each.labels, **arrays, convention=tool, per_query=True)
    return dict(zip(each.query_ids, found[name].tolist(), strict=True))


def _by_query(files: list[str], values: list[dict[str, float]]) -> dict[str, Float64Array]:
    """All rankings in one order of queries; NaN where a run lacks one."""
    import numpy as np

    queries = list(dict.fromkeys(query for each in values for query in each))
    for file, each in zip(files, values, strict=True):
        if len(each) < len(queries):
            remark(
                f"note: {file} lacks {len(queries) - len(each)} of {len(queries)} queries; they do not count"
            )
    return {
        file: np.array([each.get(query, np.nan) for query in queries])
        for file, each in zip(files, values, strict=True)
    }


def _print(found: Comparisons, name: str, convention: str, form: PaperFormat) -> None:
    from directrix.reports.compare import comparison_tables

    if form is PaperFormat.json:
        print_json({"measure": name, "convention": convention, **found.to_dict()})
    elif form is PaperFormat.tsv:
        rows = [pair.to_dict() for pair in found.pairs]
        flat = [{**row, "low": row["interval"][0], "high": row["interval"][1]} for row in rows]
        heads = [head for head in flat[0] if head != "interval"]
        print_rows(heads, [[row[head] for head in heads] for row in flat], Format.tsv)
    elif form is PaperFormat.latex:
        parts = (table.latex() for table in comparison_tables(found, name, pairs=True))
        typer.echo("\n\n".join([r"% needs \usepackage{booktabs}", *parts]))
    else:
        typer.echo("\n\n".join(table.text() for table in comparison_tables(found, name)))
