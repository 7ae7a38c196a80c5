"""``directrix compare``: tests of the differences between rankings of the same queries."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import remark, save_report, show
from directrix.cli.reading import RankedOptions, check_writable
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.cli.rankings import JudgedRanking, Topics
    from directrix.experiments.significance.comparisons import Comparisons
    from directrix.measures.convention import Convention
    from directrix.tables import Table
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
    options.option(
        "--measure",
        "-m",
        metavar="NAME,...",
        help="Measures to compare by, e.g. AP,nDCG@10; repeatable. Default: nDCG@10.",
    ),
]
_Correction = Annotated[
    Correction, Option(help="Adjustment for the number of pairs; auto = Holm, or part of Tukey's tests.")
]
_Against = Annotated[
    str | None,
    options.option(help="Name or file of the ranking to compare all others with. Default: all pairs."),
]
_CommonQueries = Annotated[
    bool,
    Option(
        "--common-queries",
        help="Compare on the topics that all runs have, instead of counting missing ones as empty.",
    ),
]
_RequiredGain = Annotated[
    float | None,
    options.option(
        help="Exit with 3 unless the interval of the gain over --against is above this number, for every "
        "other ranking."
    ),
]


def compare_command(
    *,
    context: typer.Context,
    data: options.JudgedArgument,
    rankings: options.RankingsArgument,
    measures: _Measures = None,
    test: Annotated[Test, Option(help="Statistical test of a pair.")] = Test.paired_t,
    correction: _Correction = Correction.auto,
    against: _Against = None,
    alpha: Annotated[float, Option(help="Significance level; intervals have confidence 1 - alpha.")] = 0.05,
    common_queries: _CommonQueries = False,
    all_judged: options.AllJudgedOption = False,
    require_gain: _RequiredGain = None,
    report: options.ReportOption = None,
    seed: options.SeedOption = 0,
    convention: options.ConventionOption = None,
    system_names: options.NamesOption = None,
    reading: RankedOptions,
    cluster: options.ClusterOption = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Test which of several rankings of the same queries differ by more than chance.

    Systems that share a letter do not differ significantly. A topic that one run has and another lacks counts
    as an empty ranking of the latter.

    Exit status 3 means that the gain required by --require-gain was not shown.
    """
    from directrix.cli.rankings import check_system_names, judged_rankings
    from directrix.experiments.significance.comparisons import checked_correction

    with options.usage():
        _check(list(map(str, rankings)), alpha)
        check_system_names(system_names, rankings)
        names = options.measure_names(measures, default=("nDCG@10",))
        _check_gain(require_gain, against, names)
        if common_queries and all_judged:
            raise InputError("--common-queries and --all-judged choose other queries; give one of the two.")
        tool = options.convention_named(convention)
    check_writable(report, data, *rankings)
    topics: Topics = "common" if common_queries else "judged" if all_judged else "any"
    judged = judged_rankings(data, rankings, reading, system_names, topics)
    with options.usage():
        files = dict(zip(map(str, rankings), (ranking.name for ranking in judged), strict=True))
        chosen = _against(against, files)
        checked_correction(test.value, correction.value, chosen)
    counts = _counts(judged, is_common=common_queries)
    values = _values(names, judged, tool)
    how = {"test": test.value, "correction": correction.value, "alpha": alpha, "seed": seed}
    results = _compared(values, counts, how | {"against": chosen})
    convention_name = "default" if tool is None else tool.name
    pairs = None if form is options.Format.table else True
    show(
        form,
        [table for name, result in results.items() for table in result.tables(name, pairs=pairs)],
        _document(results, convention_name),
        _pair_rows(results),
    )
    gains = {} if require_gain is None else _gains(names[0], results[names[0]], require_gain)
    for text in gains:
        remark(text)
    if report is not None:
        from directrix.reports.compare import comparison_report

        page = comparison_report(
            results,
            values,
            judged={ranking.name: ranking.judged for ranking in judged},
            data=str(data),
            convention=convention_name,
            command=context.obj,
            remarks=tuple(gains),
        )
        save_report(report, lambda: page)
    if not all(gains.values()):
        raise typer.Exit(options.NOT_SHOWN)


def _compared(
    values: dict[str, dict[str, Float64Array]], counts: dict[str, int], how: dict[str, Any]
) -> dict[str, Comparisons]:
    """Compare the systems by each measure, whose values they have query by query; ``how`` as users chose."""
    from directrix.experiments.significance.comparisons import compare as compare_values
    from directrix.measures.names import measure

    results = {}
    for name, of_systems in values.items():
        result = compare_values(of_systems, **how)
        parsed = measure(name)
        means = {system: parsed.summary(by_query) for system, by_query in of_systems.items()}
        results[name] = replace(result, ranked=counts, means=means, unit=parsed.unit)
    return results


def _check(files: list[str], alpha: float) -> None:
    """Reject wrong options before anything is read."""
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
        raise InputError(f"{what}: a baseline is needed. Type --against RANKING too.")
    if len(names) > 1:
        raise InputError(f"{what}: one measure is needed, got {len(names)}. Type e.g. -m {names[0]} only.")
    if not isfinite(least):
        raise InputError(f"{what}: a finite number is needed, e.g. --require-gain 0.005.")


def _gains(measure: str, comparison: Comparisons, least: float) -> dict[str, bool]:
    """Say for every pair in a sentence whether the gain of its first system is shown."""
    gains = {}
    for pair in comparison.pairs:
        is_shown = pair.interval[0] > least
        text = (
            f"gain of {pair.first} over {pair.second}: {measure} {pair.difference:+.4f}, "
            f"{100 * (1 - comparison.alpha):g} % {pair.interval_text}; a gain of {least:g} is "
        )
        gains[text + ("shown" if is_shown else "not shown")] = is_shown
    return gains


def _counts(judged: list[JudgedRanking], *, is_common: bool) -> dict[str, int]:
    """Return the number of topics of each run, with a remark where one lacks some."""
    # Queries that no run has count too, unless only the common ones do.
    every = frozenset[str]().union(*(ranking.ranked for ranking in judged))
    every = every if is_common else every.union(judged[0].query_ids)
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

    systems = [evaluate(names, **ranking.arrays, convention=tool, per_query=True) for ranking in judged]
    lacking = [np.array([query not in r.ranked for query in r.query_ids]) for r in judged]
    for name in names:
        # Some measures, such as Kendall's tau, are undefined for no documents. A topic that only this run
        # lacks counts 0 all the same.
        is_defined = ~np.isnan([values[name] for values in systems]).all(axis=0)
        for values, absent in zip(systems, lacking, strict=True):
            values[name] = np.where(absent & is_defined & np.isnan(values[name]), 0.0, values[name])
    return {name: {r.name: v[name] for r, v in zip(judged, systems, strict=True)} for name in names}


def _document(results: dict[str, Comparisons], convention: str) -> Any:
    documents = [{"measure": m, "convention": convention, **r.to_dict()} for m, r in results.items()]
    return documents if len(documents) > 1 else documents[0]


def _pair_rows(results: dict[str, Comparisons]) -> Table:
    """Return every pair by each measure, the ends of its interval last."""
    from directrix.tables import Table

    rows = []
    for measure, result in results.items():
        for pair in result.pairs:
            row = {"measure": measure, **pair.to_dict()}
            low, high = row.pop("interval")
            rows.append({**row, "low": low, "high": high})
    return Table("", tuple(rows[0]), tuple(tuple(row.values()) for row in rows))
