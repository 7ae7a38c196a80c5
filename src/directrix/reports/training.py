"""The page of a training run: the candidates, the features that matter, and the gain over a baseline."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.inspection import BASELINE, Inspection, inspect_search
from directrix.rankers.means import mean_and_error
from directrix.reports.plots import training_figures
from directrix.reports.rankings import top_rankings
from directrix.reports.report import PerQuery, Report, Section
from directrix.reports.write import write_page
from directrix.search.search import SearchResult
from directrix.search.trial import SAMPLE
from directrix.tables import Table, Value, escaped_markdown, json_value

_COMMAND = "directrix.experiments.write_training_report(result, path, queries, valid)"
_NAMES = ("training queries", "validation queries")
# The table shows this number of queries that gain most, and of queries that lose most.
_MOST_MOVED = 5
_FEATURES = 20


def write_training_report(
    result: SearchResult,
    path: str | os.PathLike[str],
    queries: Queries,
    valid: Queries | None = None,
    *,
    names: tuple[str, str] = _NAMES,
    command: str = _COMMAND,
) -> None:
    """Write a report on a search and on the ranker that it chose, as one self-contained HTML file.

    It shows the table of all candidates, the validation measure against seconds for each, the learning curve
    of the chosen candidate, the importance of features, and a comparison with a ridge regression by the
    paired t-test, query by query.

    Parameters
    ----------
    result : SearchResult
        Returned by `AutoRanker.search`, which keeps it as ``search_``.
    path : path
        The HTML file; an existing one is replaced.
    queries, valid : Queries
        As they were given to the search.
    names : (str, str)
        Their names on the page.
    command : str
        Command that makes the page again, which is shown on it.

    Raises
    ------
    InputError
        If the data are not those of the search, or the file cannot be written.
    MissingExtra
        If matplotlib is not installed.

    Notes
    -----
    Cost: a regression per fold, and the predictions of `permutation_importance`: a few seconds.

    Examples
    --------
    >>> from directrix import AutoRanker
    >>> from directrix.experiments import write_training_report
    >>> from directrix.data import make_linear
    >>> queries, _ = make_linear(20, 10, 3, seed=0)
    >>> result = AutoRanker(method="ApproxNDCG", settings={"max_iter": 5}).search(queries)
    >>> write_training_report(result, "report.html", queries)  # doctest: +SKIP
    """
    inspection = inspect_search(result, queries, valid)
    write_page(Path(path), training_report(result, inspection, queries, valid, names=names, command=command))


def training_report(
    result: SearchResult,
    inspection: Inspection,
    queries: Queries,
    valid: Queries | None = None,
    *,
    names: tuple[str, str] = _NAMES,
    command: str = _COMMAND,
) -> Report:
    """Return the report of a search; see `write_training_report`."""
    measure = result.ranker.measure_.name
    rows = []
    for name, data in zip(names, (queries, valid), strict=True):
        if data is not None:
            sizes = np.diff(data.qptr)
            span = f"{sizes.min()} to {sizes.max()}"
            labels = f"{data.labels.min():g} to {data.labels.max():g}"
            rows.append((name, data.n_queries, data.n_docs, span, data.n_features, labels))
    heads = ("data", "queries", "documents", "per query", "features", "labels")
    importance, compared = inspection.importance.tables(_FEATURES), _compared(result, inspection)
    sections = (
        Section("Data", (Table("Queries and documents", heads, tuple(rows)),)),
        Section("The candidates", (_race_table(result, inspection),)),
        Section("What the ranker depends on", importance),
        *((Section(f"Against {BASELINE}", compared, (_bias(result),)),) if compared else ()),
    )
    figures, absent = training_figures(result, inspection, _FEATURES)
    if inspection.refusal:
        absent += ((f"Comparison with {BASELINE}", escaped_markdown(inspection.refusal)),)
    return Report(
        name="training",
        title=f"Trained for {measure}: {next(iter(inspection.values))}",
        paper=escaped_markdown(
            f"{result.name}, trained on {names[0]} and chosen by {measure} on {result.selection}."
        ),
        summary=_summary(result, inspection),
        figures=figures,
        missing=absent,
        how=_how(result, inspection, has_valid=valid is not None),
        settings=_settings(result),
        command=command,
        per_query=_per_query(result, inspection, names[valid is not None], has_valid=valid is not None),
        sections=sections,
    )


def race_table(result: SearchResult) -> Table:
    """Return a row for every candidate: its results, why training ended, and its part in the choice."""
    name = result.ranker.measure_.name
    heads = ("candidate", f"{name} valid", "error", f"{name} train", "steps", "status", "seconds", "")
    rows: list[tuple[Value, ...]] = [
        (t.label, t.valid, t.error, t.train, t.steps, t.status, f"{t.seconds:.1f}", result.part_of(t))
        for t in result.trials
    ]
    if (single := result.baseline) is not None:
        rows.append((single.label, single.valid, single.error, single.train, None, "", "", single.outcome))
    return Table("", heads, tuple(rows), digits=4)


def _race_table(result: SearchResult, inspection: Inspection) -> Table:
    """The rows of `race_table` with the lead of what was chosen, query by query; the outcome comes second."""
    race = race_table(result)
    heads, rows = race.columns, race.rows
    values = next(iter(inspection.values.values()))
    wider: list[tuple[Value, ...]] = []
    compared: list[Any] = [*result.trials, *filter(None, [result.baseline])]
    for trial, (label, valid, error, *others, outcome) in zip(compared, rows, strict=True):
        lead: tuple[Value, Value] = mean_and_error(values[: len(trial.values)] - trial.values)
        # There is no lead over the chosen candidate itself, nor over one that was not trained to the end.
        is_chosen = trial is result.chosen and not result.members
        if math.isnan(trial.valid) or trial.outcome == SAMPLE or trial.progress or is_chosen:
            lead = None, None
        cells = (label, outcome, valid, error, *lead, *others)
        # NaN is unknown, and such a cell is empty.
        wider.append(tuple(None if isinstance(v, float) and math.isnan(v) else v for v in cells))
    return Table(
        f"All {len(result.trials)} candidates, in the order of preference",
        (heads[0], "outcome", *heads[1:3], "lead", "its error", *heads[3:-1]),
        tuple(wider),
        notes=(
            "valid, train: means over the validation and the training queries. error: standard error over "
            "queries. lead: mean difference of what was chosen to the candidate, over the same validation "
            "queries; of a dropped candidate over those that it was evaluated on, and none to one that the "
            "time budget stopped.",
        ),
        digits=4,
    )


def _compared(result: SearchResult, inspection: Inspection) -> tuple[Table, ...]:
    """The comparison with the baseline, and the queries that differ most."""
    if inspection.comparison is None:
        return ()
    queries, (name, mine), (other, theirs) = inspection.queries, *inspection.values.items()
    gain = mine - theirs
    # A comparison with NaN is false, so queries without a value are left out.
    order = [int(i) for i in np.argsort(-gain, kind="stable") if abs(gain[i]) > 0.0]
    moved = [i for i in order[:_MOST_MOVED] if gain[i] > 0.0]
    moved += [i for i in order[-_MOST_MOVED:] if gain[i] < 0.0]
    sizes = np.diff(queries.qptr)
    rows = tuple(
        (str(queries.query_ids[i]), int(sizes[i]), float(mine[i]), float(theirs[i]), float(gain[i]))
        for i in moved
    )
    measure = result.ranker.measure_.name
    movers = Table(
        f"{measure} of the queries that gain and lose most",
        ("query", "documents", name, other, "difference"),
        rows,
        digits=4,
    )
    return (*inspection.comparison.tables(measure), movers)


def _summary(result: SearchResult, inspection: Inspection) -> tuple[str, ...]:
    measure, importance = result.ranker.measure_.name, inspection.importance
    texts = [f"chosen: {result.name} by {measure} on {result.selection}", f"why: {result.why}"]
    if inspection.comparison is not None:
        (pair,) = inspection.comparison.pairs
        texts.append(
            f"against {pair.second}: {measure} {pair.difference:+.4f}; higher on {pair.wins} queries, equal "
            f"on {pair.ties}, lower on {pair.losses}. {_bias(result)}"
        )
    texts.append(importance.headline)
    texts += [f"note: {text}" for text in result.notes]
    return tuple(f"- {escaped_markdown(text)}" for text in texts)


def _how(result: SearchResult, inspection: Inspection, *, has_valid: bool) -> tuple[str, ...]:
    examined = "validation queries"
    if not has_valid:
        examined = "training queries, because the ranker was trained again on all of them"
    importance = inspection.importance
    if importance.n_queries < importance.n_given:
        examined = f"{importance.n_queries} of {importance.n_given} {examined}, drawn at random"
    texts = [
        f"The candidates were compared on {escaped_markdown(result.selection)}. Those that are behind by "
        "more than two standard errors after some of the folds are dropped; of several methods the best "
        "third is tried with all settings.",
        f"Importances are those of the saved ranker on {examined}; a feature with one value per query has "
        "importance 0.",
    ]
    if inspection.comparison is not None:
        texts.append(f"{BASELINE}, a ridge regression on the gains, was trained on the same queries.")
    return tuple(texts)


def _bias(result: SearchResult) -> str:
    """Say what the queries of the comparison with the baseline chose, which makes its lead too high."""
    chosen = [f"the candidate among {len(result.trials)}"] if len(result.trials) > 1 else []
    if any(trial.candidate.method.keeps_best for trial in result.members or (result.chosen,)):
        chosen.append("the best step of a training")
    bias = f"The same queries chose {' and '.join(chosen)}, so this lead is too high. " if chosen else ""
    return f"{bias}A comparison on test queries has the last word."


def _settings(result: SearchResult) -> dict[str, object]:
    record = result.ranker.training_
    return {
        "measure": repr(result.ranker.measure_),
        "selection": result.selection,
        "folds": result.folds,
        "seed": result.seed,
        "chosen": json_value({result.chosen.name: dict(result.chosen.candidate.settings)}),
        "members": [trial.label for trial in result.members],
        "data": record["data"],
        "versions": record["versions"],
    }


def _per_query(
    result: SearchResult, inspection: Inspection, name: str, *, has_valid: bool
) -> tuple[PerQuery, ...]:
    """Values of every query, and first documents of those that differ most; none without a baseline."""
    if inspection.comparison is None:
        return ()
    queries, rankings = inspection.queries, {}
    # Without identifiers, documents are named by their row. Rows of joined folds are not those of the file.
    if has_valid or queries.doc_ids is not None:
        systems = {label: (scores, queries) for label, scores in inspection.scores.items()}
        rankings = top_rankings(systems, inspection.values.values())
    ids = tuple(map(str, queries.query_ids))
    return (PerQuery(name, result.ranker.measure_.name, ids, inspection.values, rankings),)
