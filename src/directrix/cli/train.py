"""``directrix train``: from a data file to a model file."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.constraints import MonotoneOption, NonnegativeOption, constraint_settings, with_features
from directrix.cli.files import check_writable, same_features
from directrix.cli.memory import read_or_open
from directrix.cli.output import print_json, print_rows, progress_bar, remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import format_of, read_file
from directrix.data.shards.context import is_on_cluster, is_sharded
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.search.search import Search, SearchResult


_Report = Annotated[
    Path | None,
    options.without_default(
        help="HTML page to write: all candidates, learning curves, importance of features, and a comparison "
        "with a baseline, query by query."
    ),
]
_Scale = Annotated[
    str | None,
    options.without_default(
        help="Scaling of the features: standard, log, quantile or minmax, by the training data; "
        "query-minmax, query-standard or query-percentile, by query; or several side by side, such as "
        "raw+query-percentile."
    ),
]
_Folds = Annotated[
    int | None,
    options.without_default(
        min=1,
        help="Number of folds without --valid; 1 holds out a fifth. Default 5; 1 from 1,000 queries on.",
    ),
]
_ByQuery = Annotated[
    bool,
    Option(
        "--by-query/--no-by-query",
        help="Try scales by query too; such a model needs all documents of a query to score one of them.",
    ),
]
_Stream = Annotated[
    bool | None,
    options.without_default(
        "--stream/--no-stream",
        help="Read the features of a Parquet or Arrow file from disk as they are needed (linear models "
        "only). Default: if they would take more than 40 % of the available memory.",
    ),
]
_TimeBudget = Annotated[
    float | None,
    options.without_default(
        min=0.001,
        help="Seconds for all candidates; one that exceeds its share is stopped. Compiling is extra.",
    ),
]
_Resume = Annotated[
    bool, Option("--resume", help="With --cluster: continue a training that was interrupted.")
]
_Models = Annotated[
    list[str] | None,
    options.without_default(
        "--model", help="Only methods with these models: linear, mlp, stumps, trees; repeatable, or a,b."
    ),
]


def train(
    context: typer.Context,
    train: options.DataArgument,
    valid: Annotated[
        Path | None,
        options.without_default(help="Validation data. Default: cross-validation on the training queries."),
    ] = None,
    measure: Annotated[
        str, Option("--measure", "-m", help="Measure to train for and to select by.")
    ] = "nDCG@10",
    method: Annotated[
        str, Option(help="A method listed by `directrix methods`, several as A,B, or auto.")
    ] = "auto",
    output: Annotated[Path, Option("--output", "-o", help="Model file to write.")] = Path("model.json"),
    report: _Report = None,
    settings: options.SettingsOption = None,
    scale: _Scale = None,
    seed: options.SeedOption = 0,
    models: _Models = None,
    nonnegative: NonnegativeOption = None,
    monotone: MonotoneOption = None,
    folds: _Folds = None,
    time_budget: _TimeBudget = None,
    by_query: _ByQuery = True,
    single: Annotated[bool, Option("--single", help="Keep one candidate, never an ensemble.")] = False,
    jobs: options.JobsOption = 1,
    missing: options.MissingOption = options.Missing.error,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
    stream: _Stream = None,
    resume: _Resume = False,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Train a ranker for the measure you report, and write it as JSON.

    Trains settings in the grid of the method and keeps the one with the best measure on the validation
    queries. Of several methods it keeps an ensemble, if its lead exceeds the standard error. The candidates
    are printed to standard output, remarks and progress to standard error.
    """
    with options.usage():
        options.check_jobs(jobs)
        constraints = constraint_settings(nonnegative, monotone)
        search = _search(settings, scale, measure, method, models, constraints, by_query=by_query)
    check_writable(output, train, valid)
    if report is not None:
        _check_report(report, output, train, valid)
    start = time.perf_counter()
    if is_on_cluster():
        _check_shards(train, valid, report, folds, time_budget)
        result = _train_shards(search, train, valid, output, seed, resume=resume)
        _save(result, output, form, start)
        return
    if resume:
        raise InputError("--resume continues a training on shards; add --cluster, or leave it out.")
    queries = read_or_open(train, missing, columns, stream=stream)
    search = with_features(search, nonnegative, monotone, queries)
    validation = _validation(valid, train, queries, missing, columns, stream, by_position=by_position)
    with progress_bar(f"training {method} for {measure}") as progress:
        result = search.run(
            queries,
            validation,
            folds=folds,
            time_budget=time_budget,
            seed=seed,
            single=single,
            n_jobs=jobs,
            progress=progress,
        )
    _save(result, output, form, start)
    if report is not None:
        from directrix.reports.training import write_training_report

        names = str(train), str(valid)
        write_training_report(result, report, queries, validation, names=names, command=context.obj)
        remark(f"open: {report}")


def _save(result: SearchResult, output: Path, form: options.Format, start: float) -> None:
    result.ranker.save(output)
    _print(result, form)
    _print_remarks(result)
    remark(f"saved: {output} ({time.perf_counter() - start:.1f} s)")


def _check_shards(
    train: Path, valid: Path | None, report: Path | None, folds: int | None, time_budget: float | None
) -> None:
    """Refuse what a training on shards does not have, before a cluster works."""
    if not is_sharded(train):
        raise InputError(
            f"{train} is not a folder of shards, which --cluster needs; type `directrix shard {train} "
            "SHARDS` first."
        )
    if valid is None:
        raise InputError("--cluster needs validation data, a file or a folder of shards: add --valid.")
    given = {"--report": report, "--folds": folds, "--time-budget": time_budget}
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} is not for a training on shards; leave it out.")


def _train_shards(
    search: Search, train: Path, valid: Any, output: Path, seed: int, *, resume: bool
) -> SearchResult:
    """Train on the cluster; answers of the shards are kept next to the model until it is done."""
    from directrix.data.shards.checkpoint import keep_answers
    from directrix.data.shards.queries import open_shards

    answers = output.with_name(f"{output.name}.answers")
    judged = open_shards(valid) if is_sharded(valid) else read_file(valid)
    with (
        progress_bar(f"training for {search.measure.name}") as progress,
        keep_answers(answers, resume=resume),
    ):
        return search.run(open_shards(train), judged, seed=seed, progress=progress)


def _check_report(report: Path, output: Path, train: Path, valid: Path | None) -> None:
    """Refuse a page that cannot be drawn or written, before the training and not after it."""
    from directrix.reports.figures import need_plot

    if report.absolute() == output.absolute():
        raise InputError(f"--report and -o are both {report}; give two names, e.g. --report report.html.")
    check_writable(report, train, valid)
    need_plot()


def _search(
    settings: list[str] | None,
    scale: str | None,
    measure: str,
    method: str,
    models: list[str] | None,
    constraints: dict[str, Any],
    *,
    by_query: bool,
) -> Search:
    """Return the search, with the settings that options fix."""
    from directrix.search.search import Search

    by_option = {"random_state": "--seed"} | ({} if scale is None else {"scale": "--scale"})
    by_option |= {name: {"bounds": "--nonnegative"}.get(name, "--monotone") for name in constraints}
    fixed = options.parse_settings(settings, by_option) | constraints
    if scale is not None:
        fixed["scale"] = scale
    return Search.of(method, measure, fixed, options.comma_separated(models) or None, by_query=by_query)


def _validation(
    path: Path | None,
    train: Path,
    queries: Queries,
    missing: options.Missing,
    columns: ColumnNames,
    stream: bool | None,
    *,
    by_position: bool,
) -> Queries | None:
    """Return the validation data, with the features of the training data; None without a path."""
    if path is None:
        return None
    q = read_or_open(path, missing, columns, stream=stream if format_of(path).is_table else None)
    return same_features(
        q, queries.n_features, queries.feature_names, path, str(train), by_position=by_position
    )


def _print(result: SearchResult, form: options.Format) -> None:
    name = result.ranker.measure_.name
    if form is not options.Format.json:
        from directrix.reports.training import race_rows

        print_rows(*race_rows(result), form)
        return
    fields: tuple[str, ...] = ("settings", "valid", "error", "train", "steps", "status", "seconds")
    fields += ("outcome", "progress")
    candidates = [{"method": c.name} | {name: getattr(c, name) for name in fields} for c in result.candidates]
    places = {id(c): i for i, c in enumerate(result.candidates)}
    print_json(
        {
            "measure": name,
            "selection": result.selection,
            "why": result.why,
            "chosen": places[id(result.chosen)],
            "members": [{"candidate": places[id(c)], "weight": weight} for c, weight in result.members],
            "gap": result.gap,
            "above_minimum": result.ranker.result_.gap,
            "candidates": candidates,
        }
    )


def _print_remarks(result: SearchResult) -> None:
    for text in result.notes:
        remark(f"note: {text}")
    remark(f"chosen: {result.name} by {result.ranker.measure_.name} on {result.selection}")
    remark(f"why: {result.why}")
    if not math.isnan(result.gap):
        surrogate = result.ranker.surrogate_
        remark(f"mean |{surrogate} - {surrogate.measure.name}| on the training queries: {result.gap:.4f}")
    above = result.ranker.result_.gap
    if above is not None:
        remark(f"proven: the training loss is at most {above:.2g} above its minimum")
