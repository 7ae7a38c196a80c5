"""``directrix lab crossval``: compare published methods, and your own, on folds."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_lines, remark, save_report, show, write_text
from directrix.cli.reading import TrainingOptions, check_writable
from directrix.data.formats import LETOR
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.experiments.crossval import Entry
    from directrix.experiments.crossval_result import CrossValidation
    from directrix.experiments.splits import Split
    from directrix.tables import Table

_Methods = Annotated[
    list[str],
    options.option(
        "--method",
        metavar="METHOD,...",
        help="Methods listed by `directrix methods`, e.g. A,B, or your own in a module, which is "
        "imported, e.g. my_loss:MyLoss; repeatable.",
    ),
]
_Shard = Annotated[
    str | None,
    options.option(metavar="I/N", help="Train only share I of N, as one of N jobs on the same folder."),
]
_Latex = Annotated[
    Path | None,
    options.option("--latex", help="LaTeX table to write for a paper, with tests against the first method."),
]
_Data = Annotated[
    Path, options.argument(metavar="FOLDS", help="Folder with Fold1, Fold2, ... of LETOR, or one data file.")
]


def lab_crossval_command(
    *,
    context: typer.Context,
    data: _Data,
    methods: _Methods,
    measures: options.MeasuresOption = None,
    select: Annotated[
        str | None,
        options.option(help="Measure to train for and to select by. Default: the first measure."),
    ] = None,
    convention: options.ConventionOption = None,
    settings: options.SettingsOption = None,
    folds: Annotated[
        int | None, options.option(min=3, help="Number of folds of a single file; default 5.")
    ] = None,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = -1,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder of the finished training runs, to resume from.")
    ] = Path("crossval"),
    shard: _Shard = None,
    latex: _Latex = None,
    report: options.ReportOption = None,
    reading: TrainingOptions,
    cluster: options.ClusterOption = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Compare methods on folds: select settings on validation queries and report results on test queries.

    Every finished training run is kept in the folder: the same command resumes an interrupted run, and a
    command with other methods adds them.
    """
    from directrix.experiments.crossval import cross_validate, plan_entry, train_shard
    from directrix.reports.compare import crossval_report
    from directrix.reports.folder import check_folder

    with options.usage():
        options.check_jobs(jobs)
        _check_folds(folds, data)
        names = options.measure_names(measures)
        select = select or names[0]
        tool = options.convention_named(convention)
        entries, fixed = _entries(methods, settings)
        place = _place(shard)
        if place and (latex or report):
            raise InputError("--shard trains a part; give --latex and --report to the command without it.")
        if latex and len(entries) < 2:
            raise InputError("--latex compares methods, got one; give two or more, the baseline first.")
        # Wrong settings are errors before any data are read.
        for entry in entries:
            plan_entry(entry, select, tool)
    check_folder(output)
    check_writable(report, data)
    check_writable(latex, data)
    splits = _splits(data, reading, folds or 5, seed)
    plan = {
        "select": select,
        "convention": "default" if tool is None else tool.name,
        "seed": seed,
        "measures": names,
        "set": json.loads(json.dumps(fixed, default=repr)),
    }
    # The folder of another run is an error here, since its finished training runs would mix with these.
    path = _open_folder(output, splits, entries, plan)
    with progress_lines("training runs") as progress:
        how: dict[str, Any] = {"path": path, "n_jobs": jobs, "progress": progress}
        how |= {"select": select, "convention": tool, "seed": seed}
        if place is not None:
            finished, n_cells = train_shard(place, splits, entries, names, **how)
            remark(f"{finished} of {n_cells} training runs are finished; leave out --shard to print results")
            return
        result = cross_validate(splits, entries, names, **how)
    show(form, result.tables(), result.to_dict(), _rows(result))
    _note_failures(result)
    remark(f"finished training runs: {path}")
    if latex is not None:
        write_text(r"% needs \usepackage{booktabs}" + "\n" + result.latex() + "\n", latex, "LaTeX table")
    save_report(report, lambda: crossval_report(result, data=str(data), command=context.obj, settings=plan))


def _check_folds(folds: int | None, data: Path) -> None:
    if folds is not None and data.is_dir():
        raise InputError(f"--folds {folds}: the folder {data} has folds; leave out --folds, or give a file.")


def _entries(methods: list[str], settings: list[str] | None) -> tuple[list[Entry], dict[str, Any]]:
    """Return the methods, each with the fixed settings that it has, and all fixed settings."""
    from directrix.experiments.crossval import entry_of
    from directrix.rankers.methods import method

    fixed = options.parse_settings(settings, {"random_state": "--seed"})
    chosen = {}
    for text in options.comma_separated(methods):
        entry = entry_of(text)
        # A method without settings gets the spelling of tables.
        if entry.method == text:
            entry = replace(entry, name=method(text).name)
        chosen[entry.name, entry.resolved] = entry
    entries = list(chosen.values())
    # A setting that no method has is a mistake, which the first method reports.
    for name in fixed:
        if not any(name in entry.resolved.settings for entry in entries):
            entries[0].resolved.check_settings({name: None})
    return [
        replace(
            entry,
            settings={**entry.settings, **{n: v for n, v in fixed.items() if n in entry.resolved.settings}},
        )
        for entry in entries
    ], fixed


def _place(shard: str | None) -> tuple[int, int] | None:
    if shard is None:
        return None
    place, _, number = shard.partition("/")
    if not (place.isdecimal() and number.isdecimal() and 1 <= int(place) <= int(number)):
        raise InputError(f"--shard must be I/N with 1 <= I <= N, got {shard}. Type e.g. --shard 3/10.")
    return int(place), int(number)


def _splits(data: Path, reading: TrainingOptions, folds: int, seed: int) -> tuple[Split, ...]:
    from directrix.experiments.splits import k_fold_splits, letor_splits

    if data.is_dir():
        LETOR.check_names(data, reading.names())
        return letor_splits(data, missing=reading.missing.value)
    return k_fold_splits(reading.read(data), folds, seed=seed)


def _open_folder(output: Path, splits: tuple[Split, ...], entries: list[Entry], plan: dict[str, Any]) -> Path:
    """Open the folder of the run; a folder of a run with other data or settings is an error."""
    from directrix.cli.doctor import environment
    from directrix.reports.folder import open_folder

    installation = environment()
    # The data are known by their content, so the folder can be resumed with the data in another place.
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


def _rows(result: CrossValidation) -> Table:
    from directrix.tables import Table

    rows = []
    for row in result.to_dict()["rows"]:
        selected = json.dumps(row["selected"], default=repr)
        rows.append((row["method"], row["measure"], row["mean"], *row["folds"], selected, row["seconds"]))
    return Table("", ("method", "measure", "mean", *result.folds, "selected", "seconds"), tuple(rows))


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
