"""``directrix clicks evaluate``: the gains that rankers would have had in a log."""

from __future__ import annotations

from functools import partial
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
from directrix.cli.output import remark, save_report, show
from directrix.cli.reading import LogOptions, ModelOptions, check_writable
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries


def clicks_evaluate_command(
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
            metavar="ESTIMATOR,...",
            help="naive (always), ips, clipped, self-normalized, policy-aware, affine, doubly-robust; and of "
            "CTR@K from randomized lists whole-list, independent, reward-interaction, pseudo-inverse; "
            "repeatable, or a,b. Default: ips.",
        ),
    ] = None,
    propensities: PropensitiesOption = None,
    clip: ClipOption = 0.1,
    biased: Annotated[
        bool,
        Option("--biased", help="Allow measures that no estimator estimates without bias, such as nDCG."),
    ] = False,
    names: options.NamesOption = None,
    report: options.ReportOption = None,
    columns: LogOptions,
    reading: ModelOptions,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Estimate the gains of rankers in the sessions of a log that another ranker served.

    Prints 95 % intervals by queries, effective sample sizes, the share of documents that the log never shows,
    and the differences from the first ranker. Use queries or days that the models were not trained on.
    """
    from directrix.cli.rankings import check_system_names, system_names
    from directrix.clicks.counterfactual import evaluate
    from directrix.clicks.log import Log
    from directrix.reports.clicks import counterfactual_report

    with options.usage():
        check_system_names(names, rankers)
    check_writable(report, log, features, *rankers)
    called = system_names(rankers, names, [path.stem for path in rankers])
    q, scores, logs = _scored(rankers, features, reading)
    clicks = Log.read(log, **columns.by_role())
    digest = digest_of(clicks) if any(logs.values()) else ""
    if trained := [called[i] for i, path in enumerate(rankers) if logs.get(path) == digest]:
        remark(
            f"note: {', '.join(trained)}: trained on this log, so it looks better than on others; give a log "
            "of later days"
        )
    result = evaluate(
        clicks,
        dict(zip(called, scores, strict=True)),
        measure,
        features=q,
        estimators=options.comma_separated(estimators) or ["ips"],
        propensities=propensities_of(propensities),
        clip=clip,
        biased=biased,
        seed=seed,
    )
    show(form, result.tables(), result.to_dict())
    save_report(report, partial(counterfactual_report, result, data=str(log), command=context.obj))


def _scored(
    paths: list[Path], features: Path | None, reading: ModelOptions
) -> tuple[Queries | None, list[Any], dict[Path, str]]:
    """Return the candidates, their scores by each model (runs of text are paths), and the models' logs."""
    from directrix.rankers.loading import load

    models, rankings = {}, dict[Path, Any]()
    for path in paths:
        file = reading.file(path)
        if file.is_model:
            models[path] = load(path)
        elif file.is_table:
            rankings[path] = file.with_own_columns().run()
    if features is None:
        if models:
            raise InputError(f"{next(iter(models))} is a model, which needs features; type --features FILE.")
        return None, [rankings.get(path, path) for path in paths], {}
    saved = {path: model.model_ for path, model in models.items()}
    file = reading.with_recorded(reading.file(features), saved.values())
    q = reading.read_for(saved.values(), file, has_labels=False)
    rankings |= {
        path: models[path].predict_queries(reading.matched(q, saved[path], features, path)) for path in models
    }
    logs = {path: model.training["data"].get("log") for path, model in saved.items()}
    return q, [rankings.get(path, path) for path in paths], logs
