"""``directrix compare``: which of several rankings differ by more than chance."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.files import check_writable
from directrix.cli.output import echo, print_json, print_rows, remark
from directrix.data.columns import RECOGNIZED, ColumnNames
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
    randomization = "randomization"
    tukey = "tukey"
    randomized_tukey = "randomized-tukey"


class Correction(StrEnum):
    """Adjustment of p-values for the number of pairs."""

    auto = "auto"
    holm = "holm"
    bonferroni = "bonferroni"
    benjamini_hochberg = "benjamini-hochberg"
    none = "none"


_Measures = Annotated[
    list[str] | None,
    options.without_default(
        "--measure", "-m", help="Measures to compare by, e.g. AP,nDCG@10; repeatable. Default: nDCG@10."
    ),
]
_Correction = Annotated[
    Correction, Option(help="Adjustment for the number of pairs; auto = Holm, or part of Tukey's tests.")
]
_Against = Annotated[
    str | None,
    options.without_default(
        help="Compare all others with this one only, by its name or file. Default: all pairs."
    ),
]
_CommonQueries = Annotated[
    bool,
    Option(
        "--common-queries",
        help="Compare on the topics that all runs have, not with missing ones as empty rankings.",
    ),
]
_RequiredGain = Annotated[
    float | None,
    options.without_default(
        help="Exit with 1 unless the interval of the gain over --against is at or above this number, for "
        "every other ranking."
    ),
]


def compare(
    context: typer.Context,
    data: options.JudgedArgument,
    rankings: options.RankingsArgument,
    measures: _Measures = None,
    test: Annotated[Test, Option(help="Statistical test of a pair.")] = Test.paired_t,
    correction: _Correction = Correction.auto,
    against: _Against = None,
    alpha: Annotated[float, Option(help="Significance level; intervals have confidence 1 - alpha.")] = 0.05,
    common_queries: _CommonQueries = False,
    require_gain: _RequiredGain = None,
    report: options.ReportOption = None,
    seed: options.SeedOption = 0,
    convention: options.ConventionOption = None,
    system_names: options.NamesOption = None,
    missing: options.ModelMissingOption = None,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
    form: options.LatexFormatOption = options.LatexFormat.table,
) -> None:
    """Test which of several rankings of the same queries differ by more than chance.

    Systems that share a letter do not differ significantly. A topic that a run lacks and another run has
    counts as if nothing had been retrieved for it.

    Exit status: 0 fine, 1 the data cannot be used or the gain of --require-gain is not shown, 2 wrong usage.
    """
    from directrix.cli.scores import check_system_names, judged_rankings
    from directrix.experiments.significance.systems import checked_correction

    with options.usage():
        _check(list(map(str, rankings)), alpha)
        check_system_names(system_names, rankings)
        names = options.measure_names(measures, default=("nDCG@10",))
        _check_gain(require_gain, against, names)
        tool = options.convention_named(convention)
    check_writable(report, data, *rankings)
    judged = judged_rankings(
        data,
        rankings,
        missing,
        columns,
        names=system_names,
        by_position=by_position,
        topics="common" if common_queries else "any",
    )
    with options.usage():
        files = dict(zip(map(str, rankings), (ranking.name for ranking in judged), strict=True))
        chosen = _against(against, files)
        checked_correction(test.value, correction.value, chosen)
    counts = _counts(judged, is_common=common_queries)
    values = _values(names, judged, tool)
    how = {"test": test.value, "correction": correction.value, "alpha": alpha, "seed": seed}
    results = _compared(values, counts, how | {"against": chosen})
    convention_name = "default" if tool is None else tool.name
    _print(results, convention_name, form)
    gains = {} if require_gain is None else _gains(names[0], results[names[0]], require_gain)
    for text in gains:
        remark(text)
    if report is not None:
        from directrix.reports.compare import comparison_report
        from directrix.reports.write import write_page

        page = comparison_report(
            results,
            values,
            judged[0].query_ids,
            data=str(data),
            convention=convention_name,
            command=context.obj,
            remarks=tuple(gains),
        )
        write_page(report, page)
        remark(f"open: {report}")
    if not all(gains.values()):
        raise typer.Exit(1)


def _compared(
    values: dict[str, dict[str, Float64Array]], counts: dict[str, int], how: dict[str, Any]
) -> dict[str, Comparisons]:
    """Compare the systems by each measure, whose values they have query by query; ``how`` as users chose."""
    from directrix.experiments.significance.systems import compare as compare_values
    from directrix.measures.names import measure

    results = {}
    for name, of_systems in values.items():
        result = compare_values(of_systems, **how)
        known = measure(name)
        means = {system: known.summary(of) for system, of in of_systems.items()}
        results[name] = replace(result, ranked=counts, means=means, unit=known.unit)
    return results


def _check(files: list[str], alpha: float) -> None:
    """Refuse wrong options before anything is read."""
    if len(files) < 2:
        raise InputError("one ranking is given; two or more are needed. `directrix evaluate` takes one.")
    repeated = next((file for file in files if files.count(file) > 1), None)
    if repeated is not None:
        raise InputError(f"{repeated} is given twice; give every ranking once.")
    if not 0.0 < alpha < 1.0:
        raise InputError(f"--alpha {alpha:g}: a number between 0 and 1 is needed, e.g. --alpha 0.05.")


def _against(given: str | None, systems: dict[str, str]) -> str | None:
    """Return the name of the ranking that the others are compared with; ``systems`` are names by file."""
    if given is None or given in systems.values():
        return given
    if given not in systems:
        names = ", ".join(systems.values())
        raise InputError(f"--against {given} is not one of the rankings; they are {names}.")
    return systems[given]


def _check_gain(least: float | None, against: object, names: list[str]) -> None:
    if least is None:
        return
    what = f"--require-gain {least:g}"
    if against is None:
        raise InputError(f"{what}: over which ranking? Type --against RANKING too.")
    if len(names) > 1:
        raise InputError(f"{what}: by one measure, not {len(names)}. Type e.g. -m {names[0]} alone.")
    if not isfinite(least):
        raise InputError(f"{what}: a finite number is needed, e.g. --require-gain 0.005.")


def _gains(measure: str, comparison: Comparisons, least: float) -> dict[str, bool]:
    """Say for every pair in a sentence whether the gain of its first system is shown."""
    gains = {}
    for pair in comparison.pairs:
        low, high = pair.interval
        is_shown = low >= least  # NaN, with too few queries, is not
        text = (
            f"gain of {pair.first} over {pair.second}: {measure} {pair.difference:+.4f}, "
            f"{100 * (1 - comparison.alpha):g} % interval [{low:.4f}, {high:.4f}]; a gain of {least:g} is "
        )
        gains[text + ("shown" if is_shown else "not shown")] = is_shown
    return gains


def _counts(judged: list[JudgedRanking], *, is_common: bool) -> dict[str, int]:
    """Return the number of topics of each run, with a remark where one lacks some."""
    every = frozenset[str]().union(*(ranking.ranked for ranking in judged))
    what = "do not count for any run" if is_common else "count as if it had retrieved nothing"
    for ranking in judged:
        if lacking := len(every) - len(ranking.ranked):
            other = "" if is_common else " (--common-queries leaves them out)"
            remark(f"note: {ranking.name} lacks {lacking} of {len(every)} queries, which {what}{other}")
    return {ranking.name: len(ranking.ranked) for ranking in judged}


def _values(
    names: list[str], judged: list[JudgedRanking], tool: Convention | None
) -> dict[str, dict[str, Float64Array]]:
    """Return for each measure and ranking the value of every query; NaN where the measure is undefined."""
    import numpy as np

    from directrix.measures.evaluation import evaluate

    found = [evaluate(names, **ranking.arrays, convention=tool, per_query=True) for ranking in judged]
    lacking = [np.array([query not in r.ranked for query in r.query_ids]) for r in judged]
    for name in names:
        # of no documents some measures are undefined, e.g. Kendall's tau: missing topics count 0 all the same
        is_defined = ~np.isnan([values[name] for values in found]).all(axis=0)
        for values, absent in zip(found, lacking, strict=True):
            values[name] = np.where(absent & is_defined & np.isnan(values[name]), 0.0, values[name])
    return {name: {r.name: v[name] for r, v in zip(judged, found, strict=True)} for name in names}


def _print(results: dict[str, Comparisons], convention: str, form: options.LatexFormat) -> None:
    from directrix.reports.compare import comparison_tables

    if form is options.LatexFormat.json:
        documents = [
            {"measure": name, "convention": convention, **result.to_dict()}
            for name, result in results.items()
        ]
        print_json(documents if len(documents) > 1 else documents[0])
    elif form is options.LatexFormat.tsv:
        rows = [
            {"measure": name, **pair.to_dict()} for name, result in results.items() for pair in result.pairs
        ]
        flat = [{**row, "low": row["interval"][0], "high": row["interval"][1]} for row in rows]
        heads = [head for head in flat[0] if head != "interval"]
        print_rows(heads, [[row[head] for head in heads] for row in flat], options.Format.tsv)
    elif form is options.LatexFormat.latex:
        tables = [t for name, result in results.items() for t in comparison_tables(result, name, pairs=True)]
        echo(
            "\n\n".join([r"% needs \usepackage{booktabs}", *(table.latex() for table in tables)]), exact=True
        )
    else:
        tables = [t for name, result in results.items() for t in comparison_tables(result, name)]
        echo("\n\n".join(table.text() for table in tables))
