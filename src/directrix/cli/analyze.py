"""``directrix explain``, ``describe``, ``lab certify`` and ``lab tendency``: analyses of models."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.advice import message_of
from directrix.cli.options import Format
from directrix.cli.reading import ModelData, TrainingData, check_writable, load_model, query_classes
from directrix.cli.show import echo, progress_bar, remark, save_report, show
from directrix.data.formats import inputs
from directrix.data.shards.context import is_on_cluster
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.tables import Table

_STEPS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
_CHANGE = {
    "linear": "k times the change of the surrogate",
    "monotone": "the change of the best non-decreasing function of the surrogate",
}


class TendencyTransform(StrEnum):
    """Transforms of a surrogate under which its tendency is computed."""

    linear = "linear"
    monotone = "monotone"


_Measure = Annotated[
    str | None,
    options.option("--measure", "-m", help="Measure. Default: the one that the model was trained for."),
]
_Query = Annotated[
    str | None,
    options.option(help="Explain the ranking of this query instead: its first documents."),
]
_Docs = Annotated[
    str | None,
    options.option(
        metavar="A,B", help="With --query: explain why one of these two documents ranks above the other."
    ),
]
_Top = Annotated[int, Option(min=1, help="Number of features, or of documents of --query, to show.")]
_Retrain = Annotated[
    Path | None,
    options.option(
        metavar="TRAIN", help="Training data, to retrain the model without each of the --top features."
    ),
]
_Valid = Annotated[
    Path | None, options.option(help="Validation data of --retrain, for models that stop early.")
]
_Groups = Annotated[
    Path | None,
    options.option(
        metavar="FILE", help="File of query groups: one query and the name of its group per line."
    ),
]


def certify_command(
    *,
    model: options.ModelArgument,
    data: options.DataArgument,
    measures: Annotated[
        list[str] | None,
        options.option(
            "--measure",
            "-m",
            help="Measures to test, e.g. AP,nDCG@10; repeatable. Default: the training measure.",
        ),
    ] = None,
    eps: Annotated[float, Option(help="Maximum undetected fraction of improving directions.")] = 0.01,
    delta: Annotated[float, Option(help="Maximum probability of a wrong certificate.")] = 0.01,
    steps: Annotated[str, Option(help="Step sizes, separated by commas.")] = _STEPS,
    relative: Annotated[
        bool, Option("--relative", help="Multiply step sizes by the norm of the weights.")
    ] = False,
    exact: Annotated[
        bool, Option("--exact", help="Linear models: also search every direction exactly, at all step sizes.")
    ] = False,
    one_weight: Annotated[
        bool,
        Option("--one-weight", help="Change one weight at a time instead of moving in random directions."),
    ] = False,
    polish: Annotated[
        bool, Option("--polish", help="Follow rising directions until a test finds none; requires -o.")
    ] = False,
    output: Annotated[
        Path | None, options.option("--output", "-o", help="Model file to write with --polish.")
    ] = None,
    seed: options.SeedOption = 0,
    reading: ModelData,
    cluster: options.ClusterOption = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Test whether the weights of a model are a local optimum of a measure on the training data.

    Moves the weights in random directions (459 for the default --eps and --delta) and computes the measure
    after each step. With --polish, the weights follow rising directions, and the saved model passes the test.
    """
    from directrix.experiments.optimality.certificate import check_steps, n_directions
    from directrix.measures.names import measure

    with options.usage():
        goals = [measure(name) for name in options.measure_names(measures, default=())]
        n_directions(eps, delta)
        chosen = {"eps": eps, "delta": delta, "steps": check_steps(_step_sizes(steps)), "relative": relative}
        _check_polish(output, len(goals), polish=polish, other_test=exact or one_weight)
    check_writable(output, model, data)
    ranker = load_model(model, data)
    if is_on_cluster():
        from directrix.data.shards.queries import open_shards

        queries: Any = open_shards(data)
    else:
        queries = reading.read(ranker.model_, data, model)
    rows: list[dict[str, Any]] = []
    for goal in goals or [ranker.measure_]:
        rows.append(
            _certify(ranker, queries, goal, {**chosen, "exact": exact, "one_weight": one_weight}, seed)
        )
        if polish and output is not None:
            rows.append(_polish(ranker, queries, goal, chosen, seed, output))
    document = {"model": str(model), "data": str(data), "rows": rows}
    show(form, [_certificates(rows, is_exact=form is options.Format.tsv)], document)


def _certify(ranker: Any, queries: Any, measure: Any, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    from directrix.experiments.optimality import certify as test

    with progress_bar("certifying") as progress:
        certificate = test(ranker, queries, measure, seed=seed, progress=progress, **settings)
    remark(*certificate.text().split("\n"))
    return {"polished": False, **certificate.to_dict()}


def _polish(
    ranker: Any, queries: Any, measure: Any, settings: dict[str, Any], seed: int, output: Path
) -> dict[str, Any]:
    from directrix.experiments.optimality import polish

    with progress_bar("polishing") as progress:
        polished = polish(ranker, queries, measure, seed=seed, progress=progress, **settings)
    polished.ranker.save(output)
    remark(*polished.certificate.text().split("\n"))
    remark(f"saved: {output} ({polished.moves} moves); evaluate it on other data too")
    counts = {"start": polished.start, "moves": polished.moves, "tests": polished.tests}
    return {"polished": True, **polished.certificate.to_dict(), **counts}


def _step_sizes(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(
            f"--steps {text!r}: numbers separated by commas are needed, e.g. --steps 0.1,1."
        ) from None


def _check_polish(output: Path | None, n_measures: int, *, polish: bool, other_test: bool) -> None:
    """Reject options that contradict each other."""
    if polish and output is None:
        raise InputError("--polish makes a new model; give the file to write: -o polished.json.")
    if output is not None and not polish:
        raise InputError("-o names the model that --polish writes; add --polish, or leave out -o.")
    if polish and n_measures > 1:
        raise InputError(f"--polish follows one measure, but {n_measures} were given; give -m once.")
    if polish and other_test:
        raise InputError(
            "--polish tests steps in random directions; leave out --exact and --one-weight, and run "
            "`directrix lab certify` with them on the polished model."
        )


def _certificates(rows: list[dict[str, Any]], *, is_exact: bool) -> Table:
    """Return a line for every certificate; without every digit where four decimals would hide a rise."""
    from directrix.tables import Table

    heads = ["model", "measure", "value", "directions", "rising", "level", "largest rise", "step"]
    heads += ["confidence", "local optimum"]
    names = ("measure", "value", "n_directions", "n_rising", "n_level", "largest_rise", "largest_step")
    lines = []
    for row in rows:
        line = ["polished" if row["polished"] else "given", *(row[name] for name in names)]
        if not is_exact:
            line[6:8] = f"{line[6]:.1e}", "" if line[7] is None else f"{line[7]:g}"
        # where nothing is random there is no confidence, and no claim about other directions
        single = row["directions"] != "random"
        verdict = ("of single weights" if single else "yes") if row["is_local_optimum"] else "no"
        lines.append([*line, "" if single else row["confidence"], verdict])
    if rows[0]["exact"]:
        for k, where in enumerate(("within", "anywhere")):
            heads += [f"lines rising {where}", f"rise {where}"]
            for line, row in zip(lines, rows, strict=True):
                rise = row["exact"][k]["largest_rise"]
                line += [row["exact"][k]["n_rising"], rise if is_exact else f"{rise:.1e}"]
    return Table("", tuple(heads), tuple(map(tuple, lines)), digits=4)


def tendency_command(
    *,
    data: options.DataArgument,
    surrogates: Annotated[
        list[str] | None,
        options.option(
            "--surrogate",
            "-s",
            help='Surrogates, e.g. "ApproxAP(alpha=100),ListNet"; your own in a module, which is imported: '
            '"my_loss:MyLoss(alpha=3)"; repeatable. Default: all, with several parameters each.',
        ),
    ] = None,
    measure: Annotated[
        str | None,
        options.option("--measure", "-m", help="Measure. Default: the one each surrogate approximates."),
    ] = None,
    models: Annotated[int, Option(min=2, help="Number of random linear models.")] = 100,
    norm: Annotated[float, Option(help="Norm of the weights, which sets the unit of the scores.")] = 1.0,
    transform: Annotated[
        TendencyTransform,
        Option(help="Transform of the surrogate: a factor k, or any non-decreasing function (slower)."),
    ] = TendencyTransform.linear,
    seed: options.SeedOption = 0,
    reading: TrainingData,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Compute the tendency correlation of surrogates and measures over random models.

    The coefficient is the largest difference, over pairs of models and queries, between the change of the
    measure and k times that of the surrogate, for the best constant k. 0 means that they change alike.
    --transform monotone uses the best non-decreasing function instead of a constant.
    """
    from directrix.experiments.tendency_on_data import (
        EVERY_SURROGATE,
        random_models,
        surrogate_tendencies,
        with_value,
    )
    from directrix.measures.names import measure as parse_measure
    from directrix.parameters import positive
    from directrix.surrogates.names import typed_surrogate
    from directrix.tables import Table

    with options.usage():
        positive(norm, "norm")
        texts = options.comma_separated(surrogates or EVERY_SURROGATE)
        chosen = [with_value(typed_surrogate(text)) for text in texts]
        goal = None if measure is None else parse_measure(measure)
    queries = reading.read(data)
    if not surrogates:
        chosen = _defined_for(chosen, queries)
    with progress_bar("tendency") as report:
        weights = random_models(models, queries.n_features, norm=norm, seed=seed)
        results = surrogate_tendencies(
            chosen, queries, measure=goal, models=weights, transform=transform.value, progress=report
        )
    rows = [_row(surrogate, result, goal, queries) for surrogate, result in zip(chosen, results, strict=True)]
    if form is not options.Format.json:
        remark(
            f"coefficient: largest difference between {_CHANGE[transform]} and the change of the measure, "
            f"over all pairs of {models} random models and all {queries.n_queries} queries; 0 means that "
            "they change alike"
        )
        remark("median: the same on the median query; query: where the difference is largest")
    table = Table("", tuple(rows[0]), tuple(tuple(row.values()) for row in rows), digits=4)
    settings = {"models": models, "norm": norm, "transform": transform.value, "seed": seed}
    show(form, [table], {**settings, "queries": queries.n_queries, "rows": rows})


def _defined_for(surrogates: list[Any], queries: Queries) -> list[Any]:
    """Return the surrogates that are defined for the labels, with a note about each of the others."""
    defined = []
    for surrogate in surrogates:
        try:
            surrogate.prepare(queries.labels, queries.qptr)
        except InputError as error:
            remark(f"note: {surrogate!r} is left out: {message_of(error)}")
        else:
            defined.append(surrogate)
    return defined


def _row(surrogate: Any, result: Any, measure: Any, queries: Queries) -> dict[str, Any]:
    import numpy as np

    return {
        "surrogate": repr(surrogate),
        "measure": (surrogate.measure if measure is None else measure).name,
        "coefficient": result.coefficient,
        "k": None if np.isnan(result.k) else result.k,
        "median": float(np.nanmedian(result.by_query)),
        "query": str(queries.query_ids[result.query]),
    }


def explain_command(
    *,
    context: typer.Context,
    model: options.ModelArgument,
    data: options.DataArgument,
    measure: _Measure = None,
    query: _Query = None,
    docs: _Docs = None,
    top: _Top = 10,
    retrain: _Retrain = None,
    valid: _Valid = None,
    groups: _Groups = None,
    repeats: Annotated[
        int | None,
        options.option(min=1, help="Number of shuffles. Default: 5, fewer for large data."),
    ] = None,
    report: options.ReportOption = None,
    seed: options.SeedOption = 0,
    reading: ModelData,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Explain what a model depends on, and why a document has its rank.

    Prints how much the measure falls when a feature is shuffled or left out, and how features move ranks.
    With --query, prints what each feature adds to the scores of the documents.
    """
    from directrix.measures.names import measure as parse_measure

    with options.usage():
        _check(query, docs, {"--retrain": retrain, "--groups": groups, "--report": report}, valid)
        goal = None if measure is None else parse_measure(measure)
    check_writable(report, model, data, retrain, valid, groups)
    if report is not None:
        from directrix.reports.figures import need_plot

        need_plot()
    ranker = load_model(model, data)

    def read(path: Path) -> Queries:
        return reading.read(ranker.model_, path, model)

    q = read(data)
    if query is not None:
        _show_query(ranker, q, query, docs, top, form)
        return
    from directrix.experiments.explanation.explain import explain as explained
    from directrix.reports.explanation import explanation_report

    parts = {"train": retrain, "valid": valid}
    with progress_bar("training without") as progress:
        explanation = explained(
            ranker,
            q,
            goal,
            **{name: None if path is None else read(path) for name, path in parts.items()},
            groups=None if groups is None else query_classes(groups),
            top=top,
            n_repeats=repeats,
            seed=seed,
            progress=progress,
        )
    every = explanation.tables(len(explanation.importance.names))
    show(form, explanation.tables(top), explanation.to_dict(), every[0])
    names = {"model": str(model), "data": str(data)}
    save_report(report, lambda: explanation_report(explanation, top, **names, command=context.obj, seed=seed))


def _check(query: str | None, docs: str | None, others: dict[str, Path | None], valid: Path | None) -> None:
    """Reject incompatible options."""
    if docs is not None and query is None:
        raise InputError("--docs needs --query; type e.g. --query 301.")
    given = [name for name, path in others.items() if path is not None]
    if query is not None and given:
        raise InputError(f"--query explains one query, {given[0]} all of them; give one of the two.")
    if valid is not None and others["--retrain"] is None:
        raise InputError("--valid is used with --retrain only; give the training data too: --retrain TRAIN.")
    if docs is not None and len(options.comma_separated([docs])) != 2:
        raise InputError(f"--docs {short_text(docs)}: two documents are needed, e.g. --docs D17,D4.")


def _show_query(ranker: Any, q: Queries, query: str, docs: str | None, top: int, form: Format) -> None:
    from directrix.experiments.explanation.explain import contributions_on
    from directrix.experiments.explanation.of_query import Advantage, OfQuery, RankedQuery
    from directrix.experiments.importance import feature_labels

    one, contributions = OfQuery(ranker, q, query, feature_labels(ranker, q)), contributions_on(ranker, q)
    result: RankedQuery | Advantage
    if docs is None:
        result = one.ranked(contributions, top)
    else:
        first, second = options.comma_separated([docs])
        result = one.advantage(contributions, first, second)
    show(form, result.tables(top), result.to_dict())


def describe_command(
    *,
    context: typer.Context,
    model: options.ModelArgument,
    data: Annotated[
        Path | None,
        options.argument(
            metavar="DATA",
            help=f"Data for measures and feature importances: {inputs()}.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        options.option("--measure", "-m", help="Further measures to report on DATA; repeatable."),
    ] = None,
    report: options.ReportOption = None,
    seed: options.SeedOption = 0,
    reading: ModelData,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Print a model card: training, data, measures with intervals, features and known limits."""
    from directrix.experiments.card import card_of
    from directrix.reports.card import card_report
    from directrix.tables import notes_once

    names = []
    with options.usage():
        if measures:
            names = options.measure_names(measures)
        if names and data is None:
            raise typer.BadParameter("--measure needs DATA; type describe MODEL DATA.")
    check_writable(report, model, data)
    ranker, q = load_model(model, data), None
    if data is not None:
        q = reading.read(ranker.model_, data, model)
    found = card_of(ranker, model, q, names, seed=seed)
    page = card_report(found, model=str(model), data=None if data is None else str(data), command=context.obj)
    if form is options.Format.markdown:
        echo(f"# {page.title}\n\n{page.paper}\n", exact=True)
    show(form, notes_once(page.tables), found)
    save_report(report, lambda: page)
