"""``directrix train``, ``predict``, ``calibrate`` and ``methods``: from data to a model, and its scores."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.export import with_missing_of
from directrix.cli.limits import stopping_later
from directrix.cli.reading import (
    RECORDED,
    ByPositionOption,
    ModelData,
    WeightedData,
    check_model,
    check_writable,
    query_classes,
    same_features,
)
from directrix.cli.show import progress_log, remark, show, write_text
from directrix.data.columns import RECOGNIZED, ColumnNames, column_list
from directrix.data.formats import format_of, inputs, read_file
from directrix.data.shards.context import is_on_cluster, is_sharded
from directrix.errors import InputError, amount, short_text

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.search.search import AutoRanker, SearchResult
    from directrix.types import Float64Array

_Report = Annotated[
    Path | None,
    options.option(
        help="HTML page to write: all candidates, learning curves, importance of features, and a comparison "
        "with a baseline, query by query."
    ),
]
_Scale = Annotated[
    str | None,
    options.option(
        help="Scaling of the features: standard, log, quantile or minmax, by the training data; "
        "query-minmax, query-standard or query-percentile, by query; or several side by side, such as "
        "raw+query-percentile."
    ),
]
_Folds = Annotated[
    int | None,
    options.option(
        min=1,
        help="Number of folds without --valid; 1 holds out a fifth. Default 5; 1 from 1,000 queries on.",
    ),
]
_ByQuery = Annotated[
    bool,
    Option(
        "--by-query/--no-by-query",
        help="Also try per-query scaling; such a model needs all documents of a query to score one of them.",
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
_TimeBudget = Annotated[
    float | None,
    options.option(
        min=0.001,
        help="Time budget for all candidates, without compilation; one that exceeds its share is stopped.",
    ),
]
_Resume = Annotated[bool, Option("--resume", help="With --cluster: resume an interrupted training run.")]
_Models = Annotated[
    list[str] | None,
    options.option(
        "--model", help="Only methods with these models: linear, mlp, stumps, trees; repeatable, or a,b."
    ),
]
_Nonnegative = Annotated[
    list[str] | None,
    options.option(
        help="Features whose weights must not be negative: names, or numbers from 1 where the file has no "
        "names, as a,b, or all; repeatable. Only linear models are trained."
    ),
]
_Monotone = Annotated[
    list[str] | None,
    options.option(
        help="Features that may only raise the score, or with a minus sign only lower it: a,b or =-c; names "
        "or numbers as for --nonnegative. Linear models, networks and trees are trained."
    ),
]
_Engine = Annotated[
    str | None,
    options.option(
        metavar="NAME[:VERSION]",
        help="Try only what this engine can run: a format of `directrix export`, such as solr or "
        "opensearch:3.5. Missing features are read as the engine reads them.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of a search: method, settings, measure, folds and budget."""

    measure: options.MeasureOption = "nDCG@10"
    method: Annotated[
        str, Option(help="A method listed by `directrix methods`, several as A,B, or auto.")
    ] = "auto"
    settings: options.SettingsOption = None
    scale: _Scale = None
    seed: options.SeedOption = 0
    models: _Models = None
    nonnegative: _Nonnegative = None
    monotone: _Monotone = None
    folds: _Folds = None
    time_budget: _TimeBudget = None
    by_query: _ByQuery = True
    single: Annotated[bool, Option("--single", help="Keep one candidate, never an ensemble.")] = False
    simple: Annotated[
        bool,
        options.option(
            "--simple",
            help="Keep one candidate: that of the first method within one standard error of the best.",
        ),
    ] = False
    jobs: options.JobsOption = 1
    engine: _Engine = None

    def ranker(self, q: Queries | None = None) -> AutoRanker:
        """Return the checked search; if data are given, features that constraints name are looked up."""
        from directrix.search.search import AutoRanker

        options.check_jobs(self.jobs)
        constraints = _constraints(self.nonnegative, self.monotone, q)
        by_option = {"random_state": "--seed"} | ({} if self.scale is None else {"scale": "--scale"})
        by_option |= {name: {"bounds": "--nonnegative"}.get(name, "--monotone") for name in constraints}
        settings = options.parse_settings(self.settings, by_option) | constraints
        ranker = AutoRanker(
            self.measure,
            method=self.method,
            settings=settings | ({} if self.scale is None else {"scale": self.scale}),
            models=options.comma_separated(self.models) or None,
            by_query=self.by_query,
            folds=self.folds,
            time_budget=self.time_budget,
            single=self.single,
            simple=self.simple,
            n_jobs=self.jobs,
            random_state=self.seed,
            engine=self.engine,
        )
        ranker.check_parameters()
        return ranker


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
    reading: WeightedData,
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
    with options.usage():
        ranker = search.ranker()
    if output is None:
        output = Path("model.json")
        if output.exists() and not force:
            raise InputError(f"{output} exists; type -o {output} or --force to replace it, or -o FILE.")
    check_writable(output, train, valid)
    if report is not None:
        check_report(report, output, train, valid)
    start = time.perf_counter()
    if is_on_cluster():
        _check_shards(train, valid, report, search, reading)
        _train_shards(ranker, train, valid, output, form, start, resume=resume)
        return
    if resume:
        raise InputError("--resume continues a training on shards; add --cluster, or leave it out.")
    reading = with_missing_of(search.engine, reading).weighs(train, optional=False)
    queries = reading.read_or_open(train, stream=stream)
    weights = reading.weights(train, queries)
    ranker, validation = search.ranker(queries), None
    if valid is not None:
        of_valid = reading.weighs(valid, optional=True)
        validation = of_valid.read_or_open(valid, stream=stream if format_of(valid).is_table else None)
        names = queries.feature_names
        validation = same_features(
            validation, queries.n_features, names, valid, str(train), by_position=by_position
        )
    run = partial(ranker.search, queries, validation, weights=weights)
    text = f"training {search.method} for {search.measure}"
    result = search_and_save(run, text, output, form, start, reading.names())
    if report is not None:
        from directrix.reports.training import write_training_report

        files = str(train), str(valid)
        write_training_report(result, report, queries, validation, names=files, command=context.obj)
        remark(f"open: {report}")


def search_and_save(
    run: Callable[..., SearchResult],
    text: str,
    output: Path,
    form: options.Format,
    start: float,
    names: ColumnNames = RECOGNIZED,
) -> SearchResult:
    """Run a search, show it, and save its ranker: the best so far if a signal ends the search."""
    from directrix.reports.training import race_table

    with stopping_later() as is_stopped:
        with progress_log(text) as report:

            def progress(done: int, total: int, now: str) -> bool:
                report(done, total, now)
                return is_stopped()

            result = run(progress=progress)
        if columns := {key: name for key in RECORDED if (name := getattr(names, key)) is not None}:
            data = {**result.ranker.training_["data"], "columns": columns}
            result.ranker.model_ = result.ranker.model_.recorded(data=data)
        result.ranker.save(output)
        show(form, [race_table(result)], _document(result))
        _print_remarks(result)
        remark(f"saved: {output} ({time.perf_counter() - start:.1f} s)")
    return result


def _check_shards(
    train: Path, valid: Path | None, report: Path | None, search: SearchOptions, reading: WeightedData
) -> None:
    """Reject options that sharded training does not support, before starting a cluster."""
    if not is_sharded(train):
        raise InputError(
            f"{train} is not a folder of shards, which --cluster needs; type `directrix cluster shard "
            f"{train} SHARDS` first."
        )
    if valid is None:
        raise InputError("--cluster needs validation data, a file or a folder of shards: add --valid.")
    given: dict[str, Any] = {"--report": report, "--folds": search.folds, "--time-budget": search.time_budget}
    given |= {"--weight-column": reading.weight_column, "--query-weight-column": reading.query_weight_column}
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} is not supported on shards; leave it out.")


def _train_shards(
    ranker: AutoRanker,
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

    answers = output.with_name(f"{output.name}.answers")
    judged = open_shards(valid) if is_sharded(valid) else read_file(valid)
    with keep_answers(answers, resume=resume):
        run = partial(ranker.search, open_shards(train), judged)
        search_and_save(run, f"training for {ranker.measure}", output, form, start)


def check_report(report: Path, output: Path, train: Path, valid: Path | None) -> None:
    """Reject a report that cannot be drawn or written, before the training starts."""
    from directrix.reports.figures import need_plot

    if report.absolute() == output.absolute():
        raise InputError(f"--report and -o are both {report}; give two names, e.g. --report report.html.")
    check_writable(report, train, valid)
    need_plot()


def _document(result: SearchResult) -> dict[str, Any]:
    fields = (
        "settings",
        "valid",
        "error",
        "train",
        "steps",
        "status",
        "seconds",
        "outcome",
        "progress",
    )
    places = {id(c): i for i, c in enumerate(result.candidates)}
    return {
        "measure": result.ranker.measure_.name,
        "selection": result.selection,
        "why": result.why,
        "chosen": places[id(result.chosen)],
        "members": [places[id(c)] for c in result.members],
        "gap": result.gap,
        "above_minimum": result.ranker.result_.gap,
        "candidates": [
            {"method": c.name} | {name: getattr(c, name) for name in fields} for c in result.candidates
        ],
        "single_feature": None
        if (single := result.baseline) is None
        else {name: getattr(single, name) for name in ("label", "valid", "error", "train")},
    }


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


def _constraints(
    nonnegative: Sequence[str] | None, monotone: Sequence[str] | None, q: Queries | None = None
) -> dict[str, Any]:
    """Return the settings ``bounds`` and ``monotone`` of rankers that the options mean, if they are given.

    Without data the features are not looked up, and the settings name none. Raises `InputError` for an
    option without a feature, or one that the data do not have.
    """
    settings: dict[str, Any] = {}
    positive, directed = options.comma_separated(nonnegative), options.comma_separated(monotone)
    if (nonnegative and not positive) or (monotone and not directed):
        raise InputError("--nonnegative and --monotone need a feature; type e.g. --monotone=price,-age.")
    if positive:
        if q is not None and positive == ["all"] and "all" not in (q.feature_names or ()):
            settings["bounds"] = "nonnegative"
        else:
            settings["bounds"] = {} if q is None else {_feature(f, q)[0]: (0.0, None) for f in positive}
    if directed:
        pairs = [] if q is None else [_feature(f, q, "--monotone") for f in directed]
        settings["monotone"] = dict(pairs)
        if len(settings["monotone"]) < len(pairs):
            raise InputError(f"--monotone {','.join(directed)}: a feature has both directions; give it one.")
    return settings


def _feature(text: str, q: Queries, option: str = "--nonnegative") -> tuple[int | str, int]:
    """Name or column of a feature, and its direction."""
    names = q.feature_names or ()
    falls = option == "--monotone" and text.startswith("-") and text not in names
    feature = text[1:] if falls else text
    if feature in names:
        return feature, -1 if falls else 1
    number = int(feature) if not names and feature.isdecimal() and len(feature) < 10 else 0
    if 1 <= number <= q.n_features:
        return number - 1, -1 if falls else 1
    known = f"with the names {', '.join(names[:20])}" if names else f"numbered 1 to {q.n_features}"
    raise InputError(
        f"{option} {short_text(feature)}: the data have no such feature; they have {q.n_features}, {known}."
    )


def predict_command(
    *,
    model: options.ModelArgument,
    data: Annotated[Path, options.argument(metavar="DATA", help=f"Data to score: {inputs()}.")],
    output: Annotated[
        Path | None,
        options.option("--output", "-o", help="File to write. Default: standard output."),
    ] = None,
    run: Annotated[
        str | None,
        options.option(metavar="TAG", help="Write a TREC run with this tag instead of one score per line."),
    ] = None,
    probability: Annotated[
        bool,
        Option("--probability", help="Write the probabilities of a calibrated model instead of its scores."),
    ] = False,
    diversify_column: Annotated[
        str | None,
        options.option(
            metavar="NAME",
            help="Separate documents with the same value of this column, by maximal marginal relevance: "
            "write minus the ranks.",
        ),
    ] = None,
    trade_off: Annotated[
        float,
        Option(
            min=0.0, max=1.0, help="For --diversify-column: 1 uses the probability alone, 0 the column alone."
        ),
    ] = 0.7,
    reading: ModelData,
) -> None:
    """Score every row of a file: one score per line in the order of the file, or a TREC run."""
    from directrix.rankers.model_file import read_model  # `load` imports scikit-learn, for a second

    options.check_tag("--run", run)
    check_writable(output, model, data)
    check_model(model, data)
    saved = read_model(model)
    q = reading.read(saved, data, model, has_labels=False)
    scores = saved.predict_queries(q)
    if probability or diversify_column is not None:
        scores = saved.probabilities(scores)
    if diversify_column is not None:
        scores = _diversified(scores, q, data, diversify_column, trade_off)
    text = _score_lines(q.restore(scores)) if run is None else _run_lines(q, scores, run)
    write_text(text, output, f"{amount(q.n_docs, 'scores')} of {amount(q.n_queries, 'queries')}")


def _diversified(
    probabilities: Float64Array, q: Queries, path: Path, column: str, trade_off: float
) -> Float64Array:
    from directrix.data.tables.files import column_names, table_of
    from directrix.diversity.rerank import mmr

    names = q.feature_names or ()
    if column in names:
        values = q.features[:, names.index(column)]
        return mmr(probabilities, values, trade_off=trade_off, qptr=q.qptr)
    known = column_names(path) if format_of(path).has_names else []
    if column not in known:
        raise InputError(
            f"{path}: there is no column {column}; its columns are {column_list(known) or 'without names'}. "
            "Type --diversify-column NAME with one of a CSV, TSV, JSON lines, Parquet or Arrow file."
        )
    values = table_of(path, columns=[column]).column(column).to_pylist()
    return mmr(probabilities, [values[row] for row in q.rows], trade_off=trade_off, qptr=q.qptr)


class Kind(StrEnum):
    """Kind of a calibration."""

    isotonic = "isotonic"
    platt = "platt"


def calibrate_command(
    *,
    model: options.ModelArgument,
    data: options.DataArgument,
    output: Annotated[Path, options.option("--output", "-o", help="Model file to write.")],
    kind: Annotated[
        Kind,
        Option(help="Isotonic regression, for some thousand documents, or Platt's sigmoid, for hundreds."),
    ] = Kind.isotonic,
    rel: Annotated[float, Option(min=1e-9, help="Lowest label that counts as relevant.")] = 1.0,
    by: Annotated[
        Path | None,
        options.option(help="File with a segment of each query, as for `directrix evaluate --by`."),
    ] = None,
    reading: ModelData,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Calibrate the scores of a model to probabilities of relevance, and write the model with them.

    DATA are labeled queries that the model was not trained on. Scores and their order do not change;
    `directrix predict --probability` writes the probabilities. The printed curve and errors are
    cross-validated on the queries of DATA.
    """
    from dataclasses import replace

    from directrix.data.tables.files import has_sampled_negatives
    from directrix.experiments.calibration import calibration_curve, cross_calibrated
    from directrix.rankers.calibration import Calibration
    from directrix.rankers.inputs import warn_if_trained_on
    from directrix.rankers.model_file import read_model, write_model

    check_writable(output, data, by)
    check_model(model, data)
    saved = read_model(model)
    q = reading.read(saved, data, model)
    warn_if_trained_on(q, saved.training, stacklevel=1)
    if has_sampled_negatives(data):
        remark(
            f"note: {data} has sampled negatives, so the probabilities are higher than with all items; "
            "calibrate on lists with all items, such as those of `directrix events interactions "
            "--test-output`"
        )
    scores = saved.predict_queries(q)
    calibration = Calibration.fit(scores, q.labels, kind.value, rel)
    probabilities = cross_calibrated(scores, q, kind.value, rel)
    curve = calibration_curve(probabilities, q, rel=rel, by=None if by is None else _by_query(by, q))
    write_model(replace(saved, calibration=calibration), output)
    show(form, curve.tables(), curve.to_dict())
    remark(f"saved: {output} ({kind.value} calibration on {amount(q.n_docs, 'documents')})")


def _by_query(path: Path, q: Queries) -> dict[Hashable, str]:
    """Return the segment of each query of the data that has one."""
    classes = query_classes(path)
    return {query: classes[str(query)] for query in q.query_ids if str(query) in classes}


def _score_lines(scores: Float64Array) -> str:
    """Return one score per line, with enough digits to read the same bits back."""
    return "".join(f"{score!r}\n" for score in scores.tolist())


def _run_lines(q: Queries, scores: Float64Array, tag: str) -> str:
    from dataclasses import replace

    import numpy as np

    from directrix.data.trec.runs import Run, document_names, run_text

    run = Run.from_scores(q, scores, tag)
    return run_text(replace(run, doc_ids=np.array(document_names(q), dtype=object)))


def methods_command(
    name: Annotated[str | None, options.argument(metavar="METHOD", help="Method to show in full.")] = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """List the methods of train, or show one with its settings, grid, cost and source."""
    from directrix.rankers.methods import method, methods
    from directrix.tables import Table

    with options.usage():
        chosen = methods() if name is None else (method(name),)
    if name is not None:
        entries = chosen[0].describe().items()
        table = Table("", ("", ""), tuple((key, _text(value)) for key, value in entries))
    else:
        heads = ("method", "model", "trainer", "grid", "use when")
        summaries = [m.summary() for m in chosen]
        columns = ("name", "model", "trainer", "grid", "use_when")
        table = Table("", heads, tuple(tuple(_text(one[c]) for c in columns) for one in summaries))
    # descriptions need scikit-learn, which takes a second to import
    show(form, [table], [m.describe() for m in chosen] if form is options.Format.json else None)
    if name is None and form is options.Format.table:
        remark("`directrix methods NAME` shows settings, cost and source")


def _text(value: object) -> str:
    if value is None or value in ({}, []):
        return "-"
    if isinstance(value, dict):
        return "; ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    return ", ".join(str(entry) for entry in value) if isinstance(value, list | tuple) else str(value)
