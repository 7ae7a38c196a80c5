"""``directrix crossval``: methods compared on folds, settings chosen by validation."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import Missing, MissingOption, read_data
from directrix.cli.output import PaperFormat, PaperFormatOption, print_json, progress_of, remark
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.experiments.crossval import CrossValidation, Entry, Split
    from directrix.experiments.tuning import Search as How


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
            help="Folder with Fold1, Fold2, ... of LETOR, or one LETOR / svmlight file.",
            show_default=False,
        ),
    ],
    methods: Annotated[
        list[str],
        typer.Option("--method", help="A method of `directrix methods`; repeatable.", show_default=False),
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", "-m", help="Repeat for several. Default nDCG@10 and AP.", show_default=False
        ),
    ] = None,
    select: Annotated[
        str | None,
        typer.Option(help="What to train for and choose by; default the first measure.", show_default=False),
    ] = None,
    convention: Annotated[
        str | None,
        typer.Option(help="Count as this tool does: letor3, trec_eval, sklearn, ...", show_default=False),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Fix a setting of the methods that have it, e.g. alpha=50.",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        Search, typer.Option(help="All settings of the grid, some at random, or fewer and fewer.")
    ] = Search.grid,
    candidates: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Settings of a method to draw for random (default 10) and halving.",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=3, help="Folds of a single file; default 5.", show_default=False),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of folds, draws, and trainers that draw.")
    ] = 0,
    jobs: Annotated[int, typer.Option(help="Trainings at a time; -1 = one a core.")] = -1,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of finished trainings, to go on from.")
    ] = Path("crossval"),
    missing: MissingOption = Missing.error,
    form: PaperFormatOption = PaperFormat.table,
) -> None:
    """Compare methods on folds: settings chosen on validation queries, figures of test queries.

    Every training is kept in the folder when it ends: the same command goes on with a run that was stopped,
    and one with other methods adds them.
    JSON: {"convention": .., "rows": [{"method": .., "measure": .., "mean": .., "folds": [..], "selected":
    [..], "seconds": ..}], ..}.
    """
    from directrix.cli.doctor import environment
    from directrix.cli.settings import usage
    from directrix.experiments.crossval import cross_validate
    from directrix.reports.folder import open_folder

    names = list(dict.fromkeys(measures or ["nDCG@10", "AP"]))
    how: How = search.value
    with usage():
        entries, fixed = _entries(methods, settings or [])
        tool = None if convention in (None, "default") else str(convention)
        _check(entries, names, select or names[0], tool, (how, candidates, seed))
        if jobs == 0 or jobs < -1:
            raise InputError(
                f"--jobs {jobs}: a number of trainings at a time is needed, or -1 for one a core."
            )
        if folds is not None and data.is_dir():
            raise InputError(
                f"--folds {folds}: {data} is a folder, which has its own folds; leave it out, or give a file."
            )
    splits = _splits(data, missing, 5 if folds is None else folds, seed)
    installation = environment()
    depends = {
        "data": _digest(splits),
        "folds": [split.name for split in splits],
        "measures": names,
        "select": select or names[0],
        "convention": tool or "default",
        "set": json.loads(json.dumps(fixed, default=repr)),
        "search": how,
        "candidates": candidates,
        "seed": seed,
        "directrix": installation["directrix"],
    }
    told = {"name": "crossval", "fixed": depends, "methods": [entry.name for entry in entries]}
    path = open_folder(output, {**told, "installation": installation})
    with progress_of("trainings") as progress:
        found = cross_validate(
            splits,
            entries,
            names,
            select=select,
            convention=tool,
            search=how,
            n_candidates=candidates,
            path=path,
            seed=seed,
            n_jobs=jobs,
            progress=progress,
        )
    _print(found, select or names[0], form)
    for text in _notes(found):
        remark(f"note: {text}")
    remark(f"finished trainings: {path}")


def _entries(methods: list[str], settings: list[str]) -> tuple[list[Entry], dict[str, Any]]:
    """The methods, each with the fixed settings that it has."""
    from directrix.cli.settings import parse_settings
    from directrix.experiments.crossval import Entry
    from directrix.rankers.methods import method as find_method

    fixed = parse_settings(settings)
    ways = list({way.name: way for way in map(find_method, methods)}.values())
    for name in fixed:
        if name == "random_state":
            raise InputError("--set random_state: --seed says the same; give only --seed.")
        if not any(name in way.settings for way in ways):
            ways[0].check_settings({name: None})
    return [
        Entry(way.name, way, {name: value for name, value in fixed.items() if name in way.settings})
        for way in ways
    ], fixed


def _check(
    entries: list[Entry], names: list[str], select: str, tool: str | None, how: tuple[How, int | None, int]
) -> None:
    """Refuse what is wrong with the options before any data are read."""
    from directrix.experiments.rules import Rules
    from directrix.experiments.tuning import candidates_of, check_candidates
    from directrix.measures.names import measure as parse_measure

    for name in names:
        parse_measure(name)
    goal = Rules(tool).trained_for(select)
    for entry in entries:
        check_candidates(candidates_of(entry, goal, *how), goal)


def _splits(data: Path, missing: Missing, folds: int, seed: int) -> tuple[Split, ...]:
    from directrix.experiments.crossval import k_fold_splits, letor_splits

    if data.is_dir():
        return letor_splits(data, missing=missing.value)
    return k_fold_splits(read_data(data, missing), folds, seed=seed)


def _digest(splits: tuple[Split, ...]) -> str:
    state = hashlib.sha256("".join(split.name + split.digest for split in splits).encode())
    return f"sha256:{state.hexdigest()}"


def _print(found: CrossValidation, select: str, form: PaperFormat) -> None:
    from directrix.reports.crossval import against_first, crossval_tables

    if form is PaperFormat.json:
        tests = against_first(found)
        rows = [
            {
                "method": entry,
                "measure": measure,
                "difference": None if test is None else float(test.difference),
                "p": None if test is None else float(test.p),
            }
            for (entry, measure), test in tests.items()
        ]
        more = {"test": "paired-t", "against": found.entries[0], "rows": rows}
        about = {"select": select, "folds": list(found.folds), "queries": len(found.query_ids)}
        print_json({**found.to_dict(), **about, "significance": more})
        return
    figures, chosen = crossval_tables(found, select)
    if form is PaperFormat.tsv:
        head = ["method", "measure", "mean", *found.folds, "selected", "seconds"]
        typer.echo("\t".join(head))
        for row in found.to_dict()["rows"]:
            values = ["" if value is None else repr(value) for value in (row["mean"], *row["folds"])]
            picked = json.dumps(row["selected"], default=repr)
            typer.echo("\t".join([row["method"], row["measure"], *values, picked, str(row["seconds"])]))
    elif form is PaperFormat.latex:
        typer.echo("\n\n".join([r"% needs \usepackage{booktabs}", figures.latex(), chosen.latex()]))
    else:
        typer.echo(f"{figures.text()}\n\n\n{chosen.text()}")


def _notes(found: CrossValidation) -> list[str]:
    """What could not be trained, and that it was left out."""
    notes = []
    for entry in found.entries:
        for fold in found.folds:
            tried = found.candidates(entry, fold)
            failed = [each for each in tried if each.status == "failed"]
            if failed:
                notes.append(
                    f"{entry}, {fold}: {len(failed)} of {len(tried)} candidates could not be trained: "
                    f"{failed[0].message}"
                )
    return notes
