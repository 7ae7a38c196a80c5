"""``directrix clicks train`` and ``evaluate``: train rankers on a log of clicks, and estimate their gains."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.clicks import LogArgument
from directrix.cli.export import with_missing_of
from directrix.cli.reading import LogColumns, ModelData, TrainingData, check_writable, is_model
from directrix.cli.show import remark, save_report, show
from directrix.cli.train import SearchOptions, check_report, search_and_save
from directrix.data.formats import read_file
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.clicks.log import Log
    from directrix.data.queries import Queries
    from directrix.search.search import SearchResult
    from directrix.types import Progress

_Propensities = Annotated[
    str | None,
    options.option(
        metavar="P1,P2,...",
        help="Probabilities of examination from position 1, or alpha and beta of trust bias as A1,A2,.../B1,"
        "B2,...; or the file of `directrix clicks propensities -f json`. Default: the column examination of "
        "the log, or else an estimate from the log.",
    ),
]
_Clip = Annotated[float, Option(min=1e-9, max=1.0, help="Lowest propensity of clipped.")]


@dataclass(frozen=True, kw_only=True)
class ClickSearch(SearchOptions):
    """Options of a search that evaluates candidates by gains from clicks."""

    measure: Annotated[str, options.option("--measure", "-m", help="A sum of gains: DCG@K, P@K or ARP.")] = (
        "DCG@10"
    )


def train_command(
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
    propensities: _Propensities = None,
    clip: _Clip = 0.1,
    report: options.ReportOption = None,
    search: ClickSearch,
    columns: LogColumns,
    reading: TrainingData,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Train a ranker on a click log, with an estimator of gains that corrects position bias.

    Queries are weighted by their impressions. Settings are selected by the same estimate on held-out
    queries. The correction needs enough traffic: use `directrix clicks evaluate` on another part of the log
    to compare with --estimator naive.
    """
    import numpy as np

    from directrix.clicks.gains import gain_measure, training_data

    start = time.perf_counter()
    search = replace(search, measure=gain_measure(search.measure)[0].name)
    if output.exists() and not force:
        raise InputError(f"{output} exists; type --force to replace it, or -o FILE.")
    check_writable(output, log, features)
    if report is not None:
        check_report(report, output, log, features)
    with options.usage():
        search.ranker()
    documents = _features(features, with_missing_of(search.engine, reading))
    name: Any = estimator  # checked there
    clicks = columns.read(log)
    n_queries = len(clicks.pairs.query_ids)
    if n_absent := n_queries - int((clicks.pairs.queries(map(str, documents.query_ids)) >= 0).sum()):
        remark(f"note: {n_absent:,} of {n_queries:,} queries of the log have no features and are left out")
    q = training_data(
        clicks,
        documents,
        name,
        propensities=_positions(propensities),
        clip=clip,
        seed=search.seed,
    )
    weights = None, np.add.reduceat(np.asarray(q.counts), q.qptr[:-1])

    def run(progress: Progress) -> SearchResult:
        result = search.ranker(q).search(q, weights=weights, progress=progress)
        data = {**result.ranker.training_["data"], "log": _digest(clicks)}
        result.ranker.model_ = result.ranker.model_.recorded(data=data)
        return result

    text = f"training {search.method} for {search.measure}"
    result = search_and_save(run, text, output, form, start, reading.names())
    if report is not None:
        from directrix.reports.training import write_training_report

        write_training_report(result, report, q, None, names=(str(log), ""), command=context.obj)


def _digest(log: Log) -> str:
    """Return a hash of the impressions of a log, which does not depend on its clicks."""
    cells = log.aggregate()
    state = hashlib.sha256("\0".join((*log.pairs.query_ids, *log.pairs.doc_ids)).encode(errors="replace"))
    for counts in (cells.pair, cells.position, cells.impressions):
        state.update(counts.tobytes())
    return f"sha256:{state.hexdigest()}"


def _features(path: Path, reading: TrainingData) -> Queries:
    return read_file(path, missing=reading.missing.value, columns=replace(reading.names(), has_labels=False))


def _positions(text: str | None) -> Any:
    """Return estimated propensities, numbers by position, or alpha and beta."""
    import numpy as np

    from directrix.clicks.position_bias import Propensities

    if text is None:
        return None
    try:  # numbers first: a long list is no name of a file
        rows = [[float(value) for value in part.split(",")] for part in text.split("/")]
    except ValueError:
        rows = []
        if os.path.isfile(text):
            try:
                found = json.loads(Path(text).read_text(encoding="utf-8"))
                arrays = ("theta", "interval", "beta", "beta_interval")
                return Propensities(**found | {key: np.array(found[key], np.float64) for key in arrays})
            except (ValueError, LookupError, TypeError):
                raise InputError(
                    f"{text} holds no propensities; write it with `directrix clicks propensities LOG -f "
                    "json`."
                ) from None
    if len(rows) not in (1, 2) or len({len(row) for row in rows}) != 1:
        raise typer.BadParameter(
            f"--propensities {short_text(text)}: neither a file nor numbers by position, e.g. 1,0.7,0.5."
        )
    return rows[0] if len(rows) == 1 else rows


def evaluate_command(
    *,
    context: typer.Context,
    log: LogArgument,
    rankers: Annotated[
        list[Path],
        options.argument(metavar="MODEL...", help="Model files, or runs: TREC text or tables."),
    ],
    features: Annotated[
        Path | None,
        options.option(help="Features of the documents, by query and document; needed for models."),
    ] = None,
    measure: Annotated[
        str,
        options.option(
            "--measure",
            "-m",
            help="A sum of gains: DCG@K, P@K or ARP; or CTR@K, clicks at the top K.",
        ),
    ] = "DCG@10",
    estimators: Annotated[
        list[str] | None,
        options.option(
            "--estimator",
            help="naive (always), ips, clipped, self-normalized, policy-aware, affine, doubly-robust; and of "
            "CTR@K from randomized lists whole-list, independent, reward-interaction, pseudo-inverse; "
            "repeatable, or a,b. Default: ips.",
        ),
    ] = None,
    propensities: _Propensities = None,
    clip: _Clip = 0.1,
    biased: Annotated[
        bool,
        Option("--biased", help="Allow measures that no estimator estimates without bias, such as nDCG."),
    ] = False,
    names: options.NamesOption = None,
    report: options.ReportOption = None,
    columns: LogColumns,
    reading: ModelData,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Estimate the gains of rankers in the sessions of a log that another ranker served.

    Prints 95 % intervals by queries, effective sample sizes, the share of documents that the log never shows,
    and the differences from the first ranker. Use queries or days that the models were not trained on.
    """
    from directrix.cli.rankings import check_system_names, system_names
    from directrix.clicks.counterfactual import evaluate

    with options.usage():
        check_system_names(names, rankers)
    check_writable(report, log, features, *rankers)
    called = system_names(rankers, names, [path.stem for path in rankers])
    q, given, logs = _scored(rankers, features, reading)
    clicks = columns.read(log)
    digest = _digest(clicks) if any(logs.values()) else ""
    if trained := [name for path, name in zip(rankers, called, strict=True) if logs.get(path) == digest]:
        remark(
            f"note: {', '.join(trained)}: trained on this log, so it looks better than on others; give a log "
            "of later days"
        )
    result = evaluate(
        clicks,
        dict(zip(called, given, strict=True)),
        measure,
        features=q,
        estimators=options.comma_separated(estimators) or ["ips"],
        propensities=_positions(propensities),
        clip=clip,
        biased=biased,
        seed=seed,
    )
    show(form, result.tables(), result.to_dict())
    if report is not None:
        from directrix.reports.clicks import counterfactual_report

        save_report(report, partial(counterfactual_report, result, data=str(log), command=context.obj))


def _scored(
    paths: list[Path], features: Path | None, reading: ModelData
) -> tuple[Queries | None, list[Any], dict[Path, str]]:
    """Return the candidates, their scores by each model (runs of text are paths), and the models' logs."""
    from directrix.data.formats import is_documents_table
    from directrix.data.tables.files import column_names
    from directrix.data.trec.runs import read_trec_run
    from directrix.rankers.loading import load

    models = {path: load(path) for path in paths if is_model(path)}
    given: dict[Path, Any] = {}
    for path in paths:
        if path not in models and is_documents_table(path):
            names = reading.names().within(column_names(path))
            given[path] = read_trec_run(path, qid=names.qid, doc_id=names.doc_id)
    if features is None:
        if models:
            raise InputError(f"{next(iter(models))} is a model, which needs features; type --features FILE.")
        return None, [given.get(path, path) for path in paths], {}
    saved = {path: model.model_ for path, model in models.items()}
    q = reading.read_for(saved.values(), features, has_labels=False)
    given |= {
        path: models[path].predict_queries(reading.matched(q, saved[path], features, path)) for path in models
    }
    logs = {path: model.training["data"].get("log") for path, model in saved.items()}
    return q, [given.get(path, path) for path in paths], logs
