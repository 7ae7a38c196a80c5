"""``directrix train``: from labeled queries to a model file."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.export import with_missing_of
from directrix.cli.limits import stopping_later
from directrix.cli.output import progress_log, remark, show
from directrix.cli.reading import (
    RECORDED,
    ByPositionOption,
    WeightedOptions,
    check_writable,
    same_features,
)
from directrix.data.columns import RECOGNIZED, ROLES, ColumnNames
from directrix.data.shards.context import is_on_cluster, is_sharded
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.search.plan import Plan
    from directrix.search.search import SearchResult


_Report = Annotated[
    Path | None,
    options.option(
        help="HTML page to write: all candidates, learning curves, importance of features, and a comparison "
        "with a baseline, query by query."
    ),
]
_Stream = Annotated[
    bool | None,
    options.option(
        "--stream/--no-stream",
        help="Read the features of a Parquet or Arrow file from disk as they are needed (linear models "
        "only). Default: if they would take more than 40 % of the available memory.",
    ),
]
_Resume = Annotated[bool, Option("--resume", help="With --cluster: resume an interrupted training run.")]


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of a search: method, settings, measure, folds and budget."""

    measure: options.MeasureOption = "nDCG@10"
    method: Annotated[
        str, Option(help="A method listed by `directrix methods`, several as A,B, or auto.")
    ] = "auto"
    settings: options.SettingsOption = None
    scale: Annotated[
        str | None,
        options.option(
            help="Scaling of the features: standard, log, quantile or minmax, by the training data; "
            "query-minmax, query-standard or query-percentile, by query; or several side by side, such as "
            "raw+query-percentile."
        ),
    ] = None
    seed: options.SeedOption = 0
    models: Annotated[
        list[str] | None,
        options.option(
            "--model",
            metavar="MODEL,...",
            help="Only methods with these models: linear, mlp, stumps, trees; repeatable, or a,b.",
        ),
    ] = None
    nonnegative: Annotated[
        list[str] | None,
        options.option(
            metavar="FEATURE,...",
            help="Features whose weights must not be negative: names, or numbers from 1 where the file has "
            "no names, as a,b, or all; repeatable. Only linear models are trained.",
        ),
    ] = None
    monotone: Annotated[
        list[str] | None,
        options.option(
            metavar="FEATURE,...",
            help="Features that may only raise the score, or with a minus sign only lower it: a,b or =-c; "
            "names or numbers as for --nonnegative. Linear models, networks and trees are trained.",
        ),
    ] = None
    folds: Annotated[
        int | None,
        options.option(
            min=1,
            help="Number of folds without --valid; 1 holds out a fifth. Default 5; 1 from 1,000 queries on.",
        ),
    ] = None
    time_budget: Annotated[
        float | None,
        options.option(
            min=0.001,
            help="Time budget for all candidates, without compilation; one that exceeds its share is "
            "stopped.",
        ),
    ] = None
    by_query: Annotated[
        bool,
        Option(
            "--by-query/--no-by-query",
            help="Also try per-query scaling; such a model needs all documents of a query to score one of "
            "them.",
        ),
    ] = True
    single: Annotated[bool, Option("--single", help="Keep one candidate, never an ensemble.")] = False
    simple: Annotated[
        bool,
        options.option(
            "--simple",
            help="Keep one candidate: that of the first method within one standard error of the best.",
        ),
    ] = False
    jobs: options.JobsOption = 1
    engine: Annotated[
        str | None,
        options.option(
            metavar="NAME[:VERSION]",
            help="Try only what this engine can run: a format of `directrix export`, such as solr or "
            "opensearch:3.5. Missing features are read as the engine reads them.",
        ),
    ] = None

    def plan(self) -> Plan:
        """Return what will be tried, checked before data are read; `constraints` look up their features."""
        from directrix.search.auto import AutoRanker

        options.check_jobs(self.jobs)
        constraints = self.constraints()
        by_option = {"random_state": "--seed"} | ({} if self.scale is None else {"scale": "--scale"})
        by_option |= {name: {"bounds": "--nonnegative"}.get(name, "--monotone") for name in constraints}
        fixed = options.parse_settings(self.settings, by_option) | constraints
        return AutoRanker(
            self.measure,
            method=self.method,
            settings=fixed | ({} if self.scale is None else {"scale": self.scale}),
            models=options.comma_separated(self.models) or None,
            by_query=self.by_query,
            folds=self.folds,
            time_budget=self.time_budget,
            single=self.single,
            simple=self.simple,
            n_jobs=self.jobs,
            random_state=self.seed,
            engine=self.engine,
        ).plan()

    def constraints(self, queries: Any = None) -> dict[str, Any]:
        """Return the settings ``bounds`` and ``monotone`` that the options mean, if they are given.

        Without data (`Queries` or shards) no feature is looked up, and the settings name none. Raises
        `InputError` for an option without a feature, or one that the data do not have.
        """
        fixed: dict[str, Any] = {}
        positive, directed = map(options.comma_separated, (self.nonnegative, self.monotone))
        if (self.nonnegative and not positive) or (self.monotone and not directed):
            raise InputError("--nonnegative and --monotone need a feature; type e.g. --monotone=price,-age.")
        if positive:
            fixed["bounds"] = {}
            if queries is not None:
                is_all = positive == ["all"] and "all" not in (queries.feature_names or ())
                bounds = {} if is_all else {_feature(f, queries)[0]: (0.0, None) for f in positive}
                fixed["bounds"] = "nonnegative" if is_all else bounds
        if directed:
            pairs = [] if queries is None else [_feature(f, queries, "--monotone") for f in directed]
            fixed["monotone"] = dict(pairs)
            if len(fixed["monotone"]) < len(pairs):
                features = ",".join(directed)
                raise InputError(f"--monotone {features}: a feature has both directions; give it one.")
        return fixed


def train_command(
    *,
    context: typer.Context,
    train: options.DataArgument,
    valid: Annotated[
        Path | None,
        options.option(help="Validation data. Default: cross-validation on the training queries."),
    ] = None,
    output: Annotated[
        Path | None, options.option("--output", "-o", help="Model file to write. Default: model.json.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace model.json without -o.")] = False,
    report: _Report = None,
    search: SearchOptions,
    reading: WeightedOptions,
    by_position: ByPositionOption = False,
    stream: _Stream = None,
    resume: _Resume = False,
    cluster: options.ClusterOption = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Train a ranker for the measure you report, and write it as JSON.

    Trains settings in the grid of the method and keeps the one with the best measure on the validation
    queries. With several methods, it averages their best candidates, except those more than two standard
    errors behind the best one. Candidates are printed to standard output, notes and progress to standard
    error.
    """
    from directrix.search.search import search as run_search

    # Wrong options are errors before any data are read, which may take minutes.
    with options.usage():
        plan = search.plan()
    # Only the default file is protected: a user who types -o names the file to replace.
    if output is None:
        output = Path("model.json")
        if output.exists() and not force:
            raise InputError(f"{output} exists; type -o {output} or --force to replace it, or -o FILE.")
    check_writable(output, train, valid)
    if report is not None:
        check_report(report, output, train, valid)
    start = time.perf_counter()
    # `main.py` has entered ``--cluster``, so this asks the context and not the option.
    if is_on_cluster():
        _check_shards(train, valid, report, search, reading)
        validation: Any = valid if valid is None or is_sharded(valid) else reading.read(valid)
        _train_shards(search, plan, train, validation, output, form, start, resume=resume)
        return
    if resume:
        raise InputError("--resume continues a training on shards; add --cluster, or leave it out.")
    # An engine reads missing features in its own way, and the model must be trained on the same values.
    reading = with_missing_of(search.engine, reading)
    queries, weights = reading.read_weighted(train, stream=stream)
    # Constraints name features, which are known only now.
    plan, validation = plan.with_settings(search.constraints(queries)), None
    if valid is not None:
        validation = reading.read_validation(valid, stream=stream)
        validation = same_features(validation, queries, valid, str(train), by_position=by_position)
    run = partial(run_search, plan, queries, validation, weights=weights)
    result = search_and_save(run, search, output, form, start, reading.names())
    if report is not None:
        from directrix.reports.training import write_training_report

        files = str(train), str(valid)
        write_training_report(result, report, queries, validation, names=files, command=context.obj)
        remark(f"open: {report}")


def search_and_save(
    run: Callable[..., SearchResult],
    search: SearchOptions,
    output: Path,
    form: options.Format,
    start: float,
    names: ColumnNames = RECOGNIZED,
) -> SearchResult:
    """Run a search, show it, and save its ranker: the best so far if a signal ends the search."""
    from directrix.reports.training import race_table

    with stopping_later() as is_stopped:
        with progress_log(f"training {search.method} for {search.measure}") as report:

            def progress(done: int, total: int, now: str) -> bool:
                report(done, total, now)
                return is_stopped()

            result = run(progress=progress)
        # The model records the columns that were named, so that other commands need not be told them again.
        if columns := {key: name for key in RECORDED if (name := getattr(names, key)) is not None}:
            data = {**result.ranker.training_["data"], "columns": columns}
            result.ranker.model_ = result.ranker.model_.recorded(data=data)
        result.ranker.save(output)
        show(form, [race_table(result)], _document(result))
        for text in result.notes:
            remark(f"note: {text}")
        remark(f"chosen: {result.name} by {result.ranker.measure_.name} on {result.selection}")
        remark(f"why: {result.why}")
        if not math.isnan(result.gap):
            surrogate = result.ranker.surrogate_
            remark(f"mean |{surrogate} - {surrogate.measure.name}| on the training queries: {result.gap:.4f}")
        if (above := result.ranker.result_.gap) is not None:
            remark(f"proven: the training loss is at most {above:.2g} above its minimum")
        remark(f"saved: {output} ({time.perf_counter() - start:.1f} s)")
    return result


def _check_shards(
    train: Path, valid: Path | None, report: Path | None, search: SearchOptions, reading: WeightedOptions
) -> None:
    """Reject options that sharded training does not support, before starting a cluster."""
    if not is_sharded(train):
        raise InputError(
            f"{train} is not a folder of shards, which --cluster needs; type `directrix cluster shard "
            f"{train} SHARDS` first."
        )
    if valid is None:
        raise InputError("--cluster needs validation data, a file or a folder of shards: add --valid.")
    values: dict[str, Any] = {"--report": report, "--folds": search.folds}
    values |= {"--time-budget": search.time_budget}
    values |= {ROLES[key].option: reading.texts[key] for key in ("weight", "query_weight")}
    for option, value in values.items():
        if value is not None:
            raise InputError(f"{option} is not supported on shards; leave it out.")


def _train_shards(
    search: SearchOptions,
    plan: Plan,
    train: Path,
    valid: Any,
    output: Path,
    form: options.Format,
    start: float,
    *,
    resume: bool,
) -> None:
    """Train on the cluster; partial results are kept next to the model until it is done, for --resume."""
    from directrix.data.shards.checkpoint import keep_answers
    from directrix.data.shards.queries import open_shards
    from directrix.search.search import search as run_search

    answers = output.with_name(f"{output.name}.answers")
    queries = open_shards(train)
    validation = open_shards(valid) if isinstance(valid, Path) else valid
    plan = plan.with_settings(search.constraints(queries))
    with keep_answers(answers, resume=resume):
        search_and_save(partial(run_search, plan, queries, validation), search, output, form, start)


def check_report(report: Path, output: Path, train: Path, valid: Path | None) -> None:
    """Reject a report that cannot be drawn or written, before the training starts."""
    from directrix.reports.figures import need_plot

    if report.absolute() == output.absolute():
        raise InputError(f"--report and -o are both {report}; give two names, e.g. --report report.html.")
    check_writable(report, train, valid)
    need_plot()


def _document(result: SearchResult) -> dict[str, Any]:
    fields = "valid", "error", "train", "steps", "status", "seconds", "outcome", "progress"
    places = {id(trial): i for i, trial in enumerate(result.trials)}
    single = result.baseline
    return {
        "measure": result.ranker.measure_.name,
        "selection": result.selection,
        "why": result.why,
        "chosen": places[id(result.chosen)],
        "members": [places[id(trial)] for trial in result.members],
        "gap": result.gap,
        "above_minimum": result.ranker.result_.gap,
        "candidates": [
            {"method": trial.name, "settings": trial.candidate.settings}
            | {name: getattr(trial, name) for name in fields}
            for trial in result.trials
        ],
        "single_feature": None
        if single is None
        else {name: getattr(single, name) for name in ("label", "valid", "error", "train")},
    }


def _feature(text: str, queries: Any, option: str = "--nonnegative") -> tuple[int | str, int]:
    """Name or column of a feature, and its direction."""
    names = queries.feature_names or ()
    # A minus sign may also be the first letter of a name.
    falls = option == "--monotone" and text.startswith("-") and text not in names
    feature = text[1:] if falls else text
    if feature in names:
        return feature, -1 if falls else 1
    # Numbers count from 1, and name features only where the data have no names.
    number = int(feature) if not names and feature.isdecimal() and len(feature) < 10 else 0
    if 1 <= number <= queries.n_features:
        return number - 1, -1 if falls else 1
    n_features = queries.n_features
    present = f"with the names {', '.join(names[:20])}" if names else f"numbered 1 to {n_features}"
    raise InputError(
        f"{option} {short_text(feature)}: the data have no such feature; they have {n_features}, {present}."
    )
