"""``directrix crossval``: methods compared on folds, settings selected on validation queries."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.files import check_writable
from directrix.cli.output import echo, print_json, print_rows, progress_lines, remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import LETOR, read_file
from directrix.errors import InputError
from directrix.reports.folder import check_folder

if TYPE_CHECKING:
    from directrix.experiments.crossval import Entry
    from directrix.experiments.crossval_result import CrossValidation
    from directrix.experiments.splits import Split


_Methods = Annotated[
    list[str],
    options.without_default("--method", help="Methods listed by `directrix methods`, e.g. A,B; repeatable."),
]


_Data = Annotated[
    Path, options.argument(metavar="FOLDS", help="Folder with Fold1, Fold2, ... of LETOR, or one data file.")
]


def crossval(
    context: typer.Context,
    data: _Data,
    methods: _Methods,
    measures: options.MeasuresOption = None,
    select: Annotated[
        str | None,
        options.without_default(help="Measure to train for and to select by. Default: the first measure."),
    ] = None,
    convention: options.ConventionOption = None,
    settings: options.SettingsOption = None,
    folds: Annotated[
        int | None, options.without_default(min=3, help="Number of folds of a single file; default 5.")
    ] = None,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = -1,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder of the finished trainings, to resume from.")
    ] = Path("crossval"),
    report: options.ReportOption = None,
    missing: options.MissingOption = options.Missing.error,
    columns: ColumnNames = RECOGNIZED,
    form: options.LatexFormatOption = options.LatexFormat.table,
) -> None:
    """Compare methods on folds: select settings on validation queries, report results on test queries.

    Every finished training is kept in the folder: the same command resumes an interrupted run, and a command
    with other methods adds them.
    """
    from directrix.experiments.crossval import cross_validate, plan_entry

    with options.usage():
        options.check_jobs(jobs)
        _check_folds(folds, data)
        names = options.measure_names(measures)
        select = select or names[0]
        tool = options.convention_named(convention)
        entries, fixed = _entries(methods, settings)
        for entry in entries:
            plan_entry(entry, select, tool)  # wrong settings are errors before any data are read
    check_folder(output)
    check_writable(report, data)
    splits = _splits(data, missing, columns, folds or 5, seed)
    plan = {
        "select": select,
        "convention": "default" if tool is None else tool.name,
        "seed": seed,
        "measures": names,
        "set": json.loads(json.dumps(fixed, default=repr)),
    }
    path = _open_folder(output, splits, entries, plan)
    with progress_lines("trainings") as progress:
        result = cross_validate(
            splits,
            entries,
            names,
            select=select,
            convention=tool,
            path=path,
            seed=seed,
            n_jobs=jobs,
            progress=progress,
        )
    _print(result, select, form)
    _note_failures(result)
    remark(f"finished trainings: {path}")
    if report is not None:
        from directrix.reports.crossval import crossval_report
        from directrix.reports.write import write_page

        page = crossval_report(result, select, data=str(data), command=context.obj, settings=plan)
        write_page(report, page)
        remark(f"open: {report}")


def _check_folds(folds: int | None, data: Path) -> None:
    if folds is not None and data.is_dir():
        raise InputError(f"--folds {folds}: the folder {data} has folds; leave out --folds, or give a file.")


def _entries(methods: list[str], settings: list[str] | None) -> tuple[list[Entry], dict[str, Any]]:
    """Return the methods, each with those of the fixed settings that it has, and all fixed settings."""
    from directrix.experiments.crossval import Entry
    from directrix.rankers.methods import method

    fixed = options.parse_settings(settings, {"random_state": "--seed"})
    chosen = list({found.name: found for found in map(method, options.comma_separated(methods))}.values())
    for name in fixed:
        if not any(name in one.settings for one in chosen):
            chosen[0].check_settings({name: None})
    return [
        Entry(one.name, one, {name: value for name, value in fixed.items() if name in one.settings})
        for one in chosen
    ], fixed


def _splits(
    data: Path, missing: options.Missing, columns: ColumnNames, folds: int, seed: int
) -> tuple[Split, ...]:
    from directrix.experiments.splits import k_fold_splits, letor_splits

    if data.is_dir():
        LETOR.check_names(data, columns)
        return letor_splits(data, missing=missing.value)
    return k_fold_splits(read_file(data, missing=missing.value, columns=columns), folds, seed=seed)


def _open_folder(output: Path, splits: tuple[Split, ...], entries: list[Entry], plan: dict[str, Any]) -> Path:
    """Open the folder of the run; a folder of a run with other data or settings is an error."""
    from directrix.cli.doctor import environment
    from directrix.reports.folder import open_folder

    installation = environment()
    digest = hashlib.sha256("".join(split.name + split.digest for split in splits).encode())
    fixed = {
        "data": f"sha256:{digest.hexdigest()}",
        "folds": [split.name for split in splits],
        **plan,
        "directrix": installation["directrix"],
    }
    methods = [entry.name for entry in entries]
    return open_folder(
        output, {"name": "crossval", "fixed": fixed, "methods": methods, "installation": installation}
    )


def _print(result: CrossValidation, select: str, form: options.LatexFormat) -> None:
    from directrix.reports.crossval import crossval_tables

    if form is options.LatexFormat.json:
        _print_json(result, select)
        return
    scores, chosen = crossval_tables(result, select)
    if form is options.LatexFormat.tsv:
        rows = []
        for row in result.to_dict()["rows"]:
            selected = json.dumps(row["selected"], default=repr)
            rows.append([row["method"], row["measure"], row["mean"], *row["folds"], selected, row["seconds"]])
        head = ["method", "measure", "mean", *result.folds, "selected", "seconds"]
        print_rows(head, rows, options.Format.tsv)
    elif form is options.LatexFormat.latex:
        echo("\n\n".join([r"% needs \usepackage{booktabs}", scores.latex(), chosen.latex()]), exact=True)
    else:
        echo(f"{scores.text()}\n\n\n{chosen.text()}")


def _print_json(result: CrossValidation, select: str) -> None:
    from directrix.reports.crossval import against_first

    rows = [
        {
            "method": entry,
            "measure": measure,
            "difference": None if test is None else float(test.difference),
            "p": None if test is None else float(test.p),
        }
        for (entry, measure), test in against_first(result).items()
    ]
    print_json(
        {
            **result.to_dict(),
            "select": select,
            "folds": list(result.folds),
            "queries": len(result.query_ids),
            "significance": {"test": "paired-t", "against": result.entries[0], "rows": rows},
        }
    )


def _note_failures(result: CrossValidation) -> None:
    """Print a note for every method and fold in which candidates failed."""
    for entry, fold in itertools.product(result.entries, result.folds):
        candidates = result.candidates(entry, fold)
        failed = [candidate for candidate in candidates if candidate.status == "failed"]
        if failed:
            remark(
                f"note: {entry}, {fold}: {len(failed)} of {len(candidates)} candidates could not be trained: "
                f"{failed[0].message}"
            )
