"""``directrix compare``: which of several rankings differ by more than chance."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import print_json, print_rows, remark
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.cli.scores import JudgedRanking
    from directrix.experiments.significance.comparisons import Comparisons
    from directrix.measures.convention import Convention
    from directrix.types import Float64Array


class Test(StrEnum):
    """Test of a pair of rankings."""

    paired_t = "paired-t"
    wilcoxon = "wilcoxon"
    sign = "sign"
    randomisation = "randomisation"
    tukey = "tukey"
    randomised_tukey = "randomised-tukey"


class Correction(StrEnum):
    """Adjustment of p-values for the number of pairs."""

    auto = "auto"
    holm = "holm"
    bonferroni = "bonferroni"
    benjamini_hochberg = "benjamini-hochberg"
    none = "none"


def compare(
    data: options.JudgedArgument,
    rankings: options.RankingsArgument,
    name: Annotated[str, Option("--measure", "-m", help="Measure to compare by.")] = "nDCG@10",
    test: Annotated[Test, Option(help="Statistical test of a pair.")] = Test.paired_t,
    correction: Annotated[
        Correction, Option(help="Adjustment for the number of pairs; auto = Holm, or part of Tukey's tests.")
    ] = Correction.auto,
    against: Annotated[
        Path | None,
        options.without_default(help="Compare all others with this one only. Default: all pairs."),
    ] = None,
    alpha: Annotated[float, Option(help="Significance level; intervals have confidence 1 - alpha.")] = 0.05,
    seed: options.SeedOption = 0,
    convention: options.ConventionOption = None,
    missing: options.MissingOption = options.Missing.error,
    form: options.LatexFormatOption = options.LatexFormat.table,
) -> None:
    """Test which of several rankings of the same queries differ by more than chance.

    Systems that share a letter do not differ significantly.
    """
    from directrix.cli.scores import judged_rankings
    from directrix.experiments.significance.systems import compare as compare_values
    from directrix.measures.names import measure

    files = list(map(str, rankings))
    with options.usage():
        _check(files, against, alpha)
        measure(name)
        tool = options.convention_named(convention)
    judged = judged_rankings(data, rankings, missing)
    values = _by_query(files, [_values(name, ranking, tool) for ranking in judged])
    with options.usage():
        result = compare_values(
            values,
            test=test.value,
            correction=correction.value,
            alpha=alpha,
            against=None if against is None else str(against),
            seed=seed,
        )
    _print(result, name, "default" if tool is None else tool.name, form)


def _check(files: list[str], against: Path | None, alpha: float) -> None:
    """Refuse wrong options before anything is read."""
    if len(files) < 2:
        raise InputError("one ranking is given; two or more are needed. `directrix evaluate` takes one.")
    repeated = next((file for file in files if files.count(file) > 1), None)
    if repeated is not None:
        raise InputError(f"{repeated} is given twice; give every ranking once.")
    if against is not None and str(against) not in files:
        raise InputError(f"--against {against} is not one of the rankings; they are {', '.join(files)}.")
    if not 0.0 < alpha < 1.0:
        raise InputError(f"--alpha {alpha:g}: a number between 0 and 1 is needed, e.g. --alpha 0.05.")


def _values(name: str, ranking: JudgedRanking, tool: Convention | None) -> dict[str, float]:
    """Return the value of each query; NaN where the measure is undefined."""
    from directrix.measures.evaluation import evaluate

    values = evaluate([name], **ranking.arrays, convention=tool, per_query=True)
    return dict(zip(ranking.query_ids, values[name].tolist(), strict=True))


def _by_query(files: list[str], values: list[dict[str, float]]) -> dict[str, Float64Array]:
    """Bring all rankings into one order of queries; NaN where a run lacks one."""
    import numpy as np

    queries = list(dict.fromkeys(query for by_query in values for query in by_query))
    for file, by_query in zip(files, values, strict=True):
        if len(by_query) < len(queries):
            n_missing = len(queries) - len(by_query)
            remark(f"note: {file} lacks {n_missing} of {len(queries)} queries; they do not count")
    return {
        file: np.array([by_query.get(query, np.nan) for query in queries])
        for file, by_query in zip(files, values, strict=True)
    }


def _print(result: Comparisons, name: str, convention: str, form: options.LatexFormat) -> None:
    from directrix.reports.compare import comparison_tables

    if form is options.LatexFormat.json:
        print_json({"measure": name, "convention": convention, **result.to_dict()})
    elif form is options.LatexFormat.tsv:
        rows = [pair.to_dict() for pair in result.pairs]
        flat = [{**row, "low": row["interval"][0], "high": row["interval"][1]} for row in rows]
        heads = [head for head in flat[0] if head != "interval"]
        print_rows(heads, [[row[head] for head in heads] for row in flat], options.Format.tsv)
    elif form is options.LatexFormat.latex:
        parts = (table.latex() for table in comparison_tables(result, name, pairs=True))
        typer.echo("\n\n".join([r"% needs \usepackage{booktabs}", *parts]))
    else:
        typer.echo("\n\n".join(table.text() for table in comparison_tables(result, name)))
