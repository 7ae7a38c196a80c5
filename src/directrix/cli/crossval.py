"""``directrix crossval``: methods compared on folds, settings selected on validation queries."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import read_data
from directrix.cli.options import (
    ConventionOption,
    JobsOption,
    LatexFormat,
    LatexFormatOption,
    MeasuresOption,
    Missing,
    MissingOption,
    SeedOption,
    SettingsOption,
    check_jobs,
    convention_named,
    measure_names,
    parse_settings,
    usage,
)
from directrix.cli.output import print_json, progress_lines, remark
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.experiments.crossval_result import CrossValidation
    from directrix.experiments.splits import Split
    from directrix.experiments.tuning import Entry
    from directrix.experiments.tuning import Search as SearchName


class Search(StrEnum):
    """Which settings of a grid are trained."""

    grid = "grid"
    random = "random"
    halving = "halving"


def crossval(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDS",
            help="Folder with Fold1, Fold2, ... of LETOR, or one data file.",
            show_default=False,
        ),
    ],
    methods: Annotated[
        list[str],
        typer.Option(
            "--method", help="A method listed by `directrix methods`; repeatable.", show_default=False
        ),
    ],
    measures: MeasuresOption = None,
    select: Annotated[
        str | None,
        typer.Option(
            help="Measure to train for and to select by. Default: the first measure.", show_default=False
        ),
    ] = None,
    convention: ConventionOption = None,
    settings: SettingsOption = None,
    search: Annotated[
        Search,
        typer.Option(help="Train the whole grid, a random part of it, or use successive halving."),
    ] = Search.grid,
    candidates: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of settings that random (default 10) and halving search sample per method.",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=3, help="Number of folds of a single file; default 5.", show_default=False),
    ] = None,
    seed: SeedOption = 0,
    jobs: JobsOption = -1,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the finished trainings, to resume from.")
    ] = Path("crossval"),
    missing: MissingOption = Missing.error,
    form: LatexFormatOption = LatexFormat.table,
) -> None:
    """Compare methods on folds: select settings on validation queries, report results on test queries.

    Every finished training is kept in the folder: the same command resumes an interrupted run, and a command
    with other methods adds them.
    """
    with usage():
        check_jobs(jobs)
        if folds is not None and data.is_dir():
            raise InputError(
                f"--folds {folds}: the folder {data} has folds; leave out --folds, or give a file."
            )
        names = measure_names(measures)
        tool = convention_named(convention)
        entries, fixed = _entries(methods, settings)
        plan: dict[str, Any] = {
            "select": select or names[0],
            "convention": "default" if tool is None else tool.name,
            "search": search.value,
            "candidates": candidates,
            "seed": seed,
        }
        _check_candidates(entries, plan)
    splits = _splits(data, missing, 5 if folds is None else folds, seed)
    path = _open_folder(output, splits, entries, {**plan, "measures": names, "set": fixed})
    result = _run(splits, entries, names, plan, path, jobs)
    _print(result, plan["select"], form)
    for text in _notes(result):
        remark(f"note: {text}")
    remark(f"finished trainings: {path}")


def _entries(methods: list[str], settings: list[str] | None) -> tuple[list[Entry], dict[str, Any]]:
    """Return the methods, each with those of the fixed settings that it has, and all fixed settings."""
    from directrix.experiments.tuning import Entry
    from directrix.rankers.methods import method

    fixed = parse_settings(settings, {"random_state": "--seed"})
    chosen = list({found.name: found for found in map(method, methods)}.values())
    for name in fixed:
        if not any(name in one.settings for one in chosen):
            chosen[0].check_settings({name: None})
    return [
        Entry(one.name, one, {name: value for name, value in fixed.items() if name in one.settings})
        for one in chosen
    ], fixed


def _check_candidates(entries: list[Entry], plan: dict[str, Any]) -> None:
    """Raise what is wrong with the settings before any data are read."""
    from directrix.experiments.crossval import Rules
    from directrix.experiments.tuning import candidates_of, check_candidates

    tool = None if plan["convention"] == "default" else plan["convention"]
    measure = Rules(tool).trained_for(plan["select"])
    how: tuple[SearchName, int | None, int] = plan["search"], plan["candidates"], plan["seed"]
    for entry in entries:
        check_candidates(candidates_of(entry, measure, *how), measure)


def _splits(data: Path, missing: Missing, folds: int, seed: int) -> tuple[Split, ...]:
    from directrix.experiments.splits import k_fold_splits, letor_splits

    if data.is_dir():
        return letor_splits(data, missing=missing.value)
    return k_fold_splits(read_data(data, missing), folds, seed=seed)


def _open_folder(
    output: Path, splits: tuple[Split, ...], entries: list[Entry], settings: dict[str, Any]
) -> Path:
    """Open the folder of the run; a folder of a run with other data or settings is an error."""
    from directrix.cli.doctor import environment
    from directrix.reports.folder import open_folder

    installation = environment()
    digest = hashlib.sha256("".join(split.name + split.digest for split in splits).encode())
    fixed = {
        "data": f"sha256:{digest.hexdigest()}",
        "folds": [split.name for split in splits],
        **settings,
        "set": json.loads(json.dumps(settings["set"], default=repr)),
        "directrix": installation["directrix"],
    }
    methods = [entry.name for entry in entries]
    return open_folder(
        output, {"name": "crossval", "fixed": fixed, "methods": methods, "installation": installation}
    )


def _run(
    splits: tuple[Split, ...],
    entries: list[Entry],
    names: list[str],
    plan: dict[str, Any],
    path: Path,
    jobs: int,
) -> CrossValidation:
    from directrix.experiments.crossval import cross_validate

    with progress_lines("trainings") as progress:
        return cross_validate(
            splits,
            entries,
            names,
            select=plan["select"],
            convention=None if plan["convention"] == "default" else plan["convention"],
            search=plan["search"],
            n_candidates=plan["candidates"],
            path=path,
            seed=plan["seed"],
            n_jobs=jobs,
            progress=progress,
        )


def _print(result: CrossValidation, select: str, form: LatexFormat) -> None:
    from directrix.reports.crossval import crossval_tables

    if form is LatexFormat.json:
        _print_json(result, select)
        return
    scores, chosen = crossval_tables(result, select)
    if form is LatexFormat.tsv:
        typer.echo("\t".join(["method", "measure", "mean", *result.folds, "selected", "seconds"]))
        for row in result.to_dict()["rows"]:
            values = ["" if value is None else repr(value) for value in (row["mean"], *row["folds"])]
            selected = json.dumps(row["selected"], default=repr)
            typer.echo("\t".join([row["method"], row["measure"], *values, selected, str(row["seconds"])]))
    elif form is LatexFormat.latex:
        typer.echo("\n\n".join([r"% needs \usepackage{booktabs}", scores.latex(), chosen.latex()]))
    else:
        typer.echo(f"{scores.text()}\n\n\n{chosen.text()}")


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


def _notes(result: CrossValidation) -> list[str]:
    """Return a note for every method and fold in which candidates failed."""
    notes = []
    for entry in result.entries:
        for fold in result.folds:
            candidates = result.candidates(entry, fold)
            failed = [candidate for candidate in candidates if candidate.status == "failed"]
            if failed:
                notes.append(
                    f"{entry}, {fold}: {len(failed)} of {len(candidates)} candidates could not be trained: "
                    f"{failed[0].message}"
                )
    return notes
