"""``directrix clicks train``: a ranker from a log of clicks."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.clicks.inputs import (
    ClipOption,
    LogArgument,
    PropensitiesOption,
    digest_of,
    propensities_of,
)
from directrix.cli.export import with_missing_of
from directrix.cli.output import remark
from directrix.cli.reading import LogOptions, TrainingOptions, check_writable
from directrix.cli.train import SearchOptions, check_report, search_and_save
from directrix.data.file import DataFile
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.search.search import SearchResult
    from directrix.types import Progress


@dataclass(frozen=True, kw_only=True)
class ClickSearch(SearchOptions):
    """Options of a search that evaluates candidates by gains from clicks."""

    measure: Annotated[str, options.option("--measure", "-m", help="A sum of gains: DCG@K, P@K or ARP.")] = (
        "DCG@10"
    )


def clicks_train_command(
    *,
    context: typer.Context,
    log: LogArgument,
    features: Annotated[
        Path,
        options.argument(metavar="FEATURES", help="Features of the documents, by query and document."),
    ],
    output: Annotated[Path, options.option("--output", "-o", help="Model file to write.")] = Path(
        "model.json"
    ),
    force: Annotated[bool, Option("--force", help="Replace the model file.")] = False,
    estimator: Annotated[
        str,
        Option(help="naive, ips, clipped, policy-aware, affine (trust bias) or doubly-robust."),
    ] = "ips",
    propensities: PropensitiesOption = None,
    clip: ClipOption = 0.1,
    report: options.ReportOption = None,
    search: ClickSearch,
    columns: LogOptions,
    reading: TrainingOptions,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Train a ranker on a click log, with an estimator of gains that corrects position bias.

    Queries are weighted by their impressions. Settings are selected by the same estimate on held-out
    queries. The correction needs enough traffic: use `directrix clicks evaluate` on another part of the log
    to compare with --estimator naive.
    """
    import numpy as np

    from directrix.clicks.gains import gain_measure, training_data
    from directrix.clicks.log import Log
    from directrix.search.search import search as run_search

    start = time.perf_counter()
    search = replace(search, measure=gain_measure(search.measure)[0].name)
    if output.exists() and not force:
        raise InputError(f"{output} exists; type --force to replace it, or -o FILE.")
    check_writable(output, log, features)
    if report is not None:
        check_report(report, output, log, features)
    with options.usage():
        plan = search.plan()
    documents = _features(features, with_missing_of(search.engine, reading))
    # `training_data` checks the name, whose type is a `Literal` there.
    name: Any = estimator
    clicks = Log.read(log, **columns.by_role())
    n_queries = len(clicks.pairs.query_ids)
    if n_absent := n_queries - int((clicks.pairs.queries(map(str, documents.query_ids)) >= 0).sum()):
        remark(f"note: {n_absent:,} of {n_queries:,} queries of the log have no features and are left out")
    q = training_data(
        clicks,
        documents,
        name,
        propensities=propensities_of(propensities),
        clip=clip,
        seed=search.seed,
    )
    plan = plan.with_settings(search.constraints(q))
    # Queries weigh as much as the impressions of their documents.
    weights = None, np.add.reduceat(np.asarray(q.counts), q.qptr[:-1])

    def run(progress: Progress) -> SearchResult:
        result = run_search(plan, q, weights=weights, progress=progress)
        # By this hash `directrix clicks evaluate` notes that a model was trained on the log.
        data = {**result.ranker.training_["data"], "log": digest_of(clicks)}
        result.ranker.model_ = result.ranker.model_.recorded(data=data)
        return result

    result = search_and_save(run, search, output, form, start, reading.names())
    if report is not None:
        from directrix.reports.training import write_training_report

        write_training_report(result, report, q, None, names=(str(log), ""), command=context.obj)


def _features(path: Path, reading: TrainingOptions) -> Queries:
    return DataFile(path, replace(reading.names(), has_labels=False)).queries(reading.missing.value)
