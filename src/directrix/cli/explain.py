"""``directrix explain``: what a model depends on, and why a document is where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.files import check_writable, features_for, read_for
from directrix.cli.output import echo, print_json, print_rows, progress_bar, remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.experiments.explanation.explain import Explanation

_Measure = Annotated[
    str | None,
    options.without_default(
        "--measure", "-m", help="Measure. Default: the one that the model was trained for."
    ),
]
_Query = Annotated[
    str | None,
    options.without_default(help="Explain the ranking of this query instead: its first documents."),
]
_Docs = Annotated[
    str | None,
    options.without_default(
        metavar="A,B", help="With --query: why one of these two documents is above the other one."
    ),
]
_Top = Annotated[int, Option(min=1, help="Number of features, or of documents of --query, to show.")]
_Retrain = Annotated[
    Path | None,
    options.without_default(
        metavar="TRAIN", help="Training data: train the model again without each of the --top features."
    ),
]
_Valid = Annotated[
    Path | None, options.without_default(help="Validation data of --retrain, for models that stop early.")
]
_Groups = Annotated[
    Path | None,
    options.without_default(
        metavar="FILE", help="Groups of queries: a query and the name of its group per line."
    ),
]
_Report = Annotated[
    Path | None,
    options.without_default(help="HTML page to write: tables and figures. It needs matplotlib."),
]


def explain(
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
        options.without_default(min=1, help="Number of shuffles. Default: 5, fewer for large data."),
    ] = None,
    report: _Report = None,
    seed: options.SeedOption = 0,
    missing: options.ModelMissingOption = None,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Say what a model depends on, and why a document is where it is.

    By how much the measure falls when a feature is shuffled, or left out, and how features move ranks. With
    --query: what each feature adds to the scores of its documents.
    """
    from directrix.measures.names import measure as parse_measure

    with options.usage():
        _check(query, docs, {"--retrain": retrain, "--groups": groups, "--report": report}, valid)
        goal = None if measure is None else parse_measure(measure)
    check_writable(report, model, data, retrain, valid, groups)
    if report is not None:
        from directrix.reports.figures import need_plot

        need_plot()
    from directrix.rankers.loading import load

    ranker = load(model)

    def read(path: Path) -> Queries:
        q = read_for([ranker], path, missing, columns)
        return features_for(q, ranker, path, model, by_position=by_position)

    q = read(data)
    if query is not None:
        _print_query(ranker, q, query, docs, top, form)
        return
    from directrix.experiments.explanation.explain import explain as explained

    parts = {"train": retrain, "valid": valid}
    with progress_bar("training without") as progress:
        explanation = explained(
            ranker,
            q,
            goal,
            **{name: None if path is None else read(path) for name, path in parts.items()},
            groups=None if groups is None else _read_groups(groups),
            top=top,
            n_repeats=repeats,
            seed=seed,
            progress=progress,
        )
    _print(explanation, top, form)
    if report is not None:
        from directrix.reports.explanation import explanation_report
        from directrix.reports.write import write_page

        names = {"model": str(model), "data": str(data)}
        write_page(report, explanation_report(explanation, top, **names, command=context.obj, seed=seed))
        remark(f"open: {report}")


def _check(query: str | None, docs: str | None, others: dict[str, Path | None], valid: Path | None) -> None:
    """Refuse options that do not go together."""
    if docs is not None and query is None:
        raise InputError("--docs names documents of one query; give it too, e.g. --query 301.")
    given = [name for name, path in others.items() if path is not None]
    if query is not None and given:
        raise InputError(f"--query explains one query, {given[0]} all of them; give one of the two.")
    if valid is not None and others["--retrain"] is None:
        raise InputError("--valid is used with --retrain only; give the training data too: --retrain TRAIN.")
    if docs is not None and len(options.comma_separated([docs])) != 2:
        raise InputError(f"--docs {short_text(docs)}: two documents are needed, e.g. --docs D17,D4.")


def _print_query(
    ranker: Any, q: Queries, query: str, docs: str | None, top: int, form: options.Format
) -> None:
    from directrix.experiments.explanation.explain import contributions_on
    from directrix.experiments.explanation.of_query import OfQuery
    from directrix.experiments.importance import feature_labels
    from directrix.reports.explanation import pair_table, query_table

    one, contributions = OfQuery(ranker, q, query, feature_labels(ranker, q)), contributions_on(ranker, q)
    if docs is None:
        ranked = one.ranked(contributions, top)
        document, table = ranked.to_dict(), query_table(ranked)
    else:
        first, second = options.comma_separated([docs])
        pair = one.advantage(contributions, first, second)
        document, table = pair.to_dict(), pair_table(pair, top)
    if form is options.Format.json:
        print_json(document)
    elif form is options.Format.tsv:
        print_rows(table.heads(), table.rows, form)
    else:
        echo(table.text())


def _print(explanation: Explanation, top: int, form: options.Format) -> None:
    from directrix.reports.explanation import explanation_tables

    if form is options.Format.json:
        print_json(explanation.to_dict())
    elif form is options.Format.tsv:
        table = explanation_tables(explanation, len(explanation.importance.names))[0]
        print_rows(table.heads(), table.rows, form)
    else:
        echo("\n\n".join(table.text() for table in explanation_tables(explanation, top)))


def _read_groups(path: Path) -> dict[str, str]:
    """Return the group of every query of a file; fields are separated by a tab, a comma or blanks."""
    from directrix.data.files import open_data, readable

    groups: dict[str, str] = {}
    with readable(path), open_data(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.decode("utf-8-sig", "backslashreplace").strip()
            if not text:
                continue
            mark = next((mark for mark in "\t," if mark in text), None)
            query, *group = (field.strip() for field in text.split(mark, 1))
            if not group or not group[0]:
                raise InputError(
                    f"{path}, line {number}: {short_text(text)} is not a query and its group; write e.g. "
                    f"'301 navigational'."
                )
            if groups.setdefault(query, group[0]) != group[0]:
                raise InputError(f"{path}, line {number}: query {query} has two groups; give each one group.")
    return groups
