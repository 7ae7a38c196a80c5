"""``directrix explain``: which features a model depends on, and why a document has its rank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.options import Format
from directrix.cli.output import progress_bar, save_report, show
from directrix.cli.reading import ModelOptions, check_writable, load_model, query_classes
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.data.queries import Queries


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
    reading: ModelOptions,
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
    # Without the package that draws, the report is an error now, and not after the explanation.
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

    others = {"train": retrain, "valid": valid}
    with progress_bar("training without") as progress:
        explanation = explained(
            ranker,
            q,
            goal,
            **{name: None if path is None else read(path) for name, path in others.items()},
            groups=None if groups is None else query_classes(groups),
            top=top,
            n_repeats=repeats,
            seed=seed,
            progress=progress,
        )
    # People see the most important features, and programs get all of them.
    every = explanation.tables(len(explanation.importance.names))
    show(form, explanation.tables(top), explanation.to_dict(), every[0])
    names = {"model": str(model), "data": str(data)}
    save_report(report, lambda: explanation_report(explanation, top, **names, command=context.obj, seed=seed))


def _check(query: str | None, docs: str | None, others: dict[str, Path | None], valid: Path | None) -> None:
    """Reject incompatible options."""
    if docs is not None and query is None:
        raise InputError("--docs needs --query; type e.g. --query 301.")
    for_all = [name for name, path in others.items() if path is not None]
    if query is not None and for_all:
        raise InputError(f"--query explains one query, {for_all[0]} all of them; give one of the two.")
    if valid is not None and others["--retrain"] is None:
        raise InputError("--valid is used with --retrain only; give the training data too: --retrain TRAIN.")
    if docs is not None and len(options.comma_separated([docs])) != 2:
        raise InputError(f"--docs {short_text(docs)}: two documents are needed, e.g. --docs D17,D4.")


def _show_query(ranker: Any, q: Queries, query: str, docs: str | None, top: int, form: Format) -> None:
    from directrix.experiments.explanation.explain import contributions_on
    from directrix.experiments.explanation.of_query import Advantage, OfQuery, RankedQuery
    from directrix.experiments.importance import feature_labels

    explained = OfQuery(ranker, q, query, feature_labels(ranker, q))
    contributions = contributions_on(ranker, q)
    result: RankedQuery | Advantage
    if docs is None:
        result = explained.ranked(contributions, top)
    else:
        first, second = options.comma_separated([docs])
        result = explained.advantage(contributions, first, second)
    show(form, result.tables(top), result.to_dict())
