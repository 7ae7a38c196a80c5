"""``directrix reproduce``: the experiment of a paper, with its tables."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from directrix.cli.doctor import environment
from directrix.cli.output import print_json, progress_of, remark

_NAMES = {"yue2007": "Yue et al. (2007): SVMmap on runs as features, TREC-7"}
_QUICK_TRIALS = 2


class Form(StrEnum):
    """How to print the tables."""

    table = "table"
    json = "json"


def reproduce(
    name: Annotated[str, typer.Argument(help="The paper: yue2007.", show_default=False)],
    data: Annotated[Path, typer.Option(help="Folder that holds trec7/.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for tables and trials; default the name.", show_default=False
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Splits of the topics; default 50, with --quick 2.", show_default=False),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few trials and settings: a look, no result.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the splits.")] = 0,
    jobs: Annotated[int, typer.Option(help="Trials of a data set at a time; -1 = one a core.")] = -1,
    form: Annotated[Form, typer.Option("--format", "-f", help="How to print the tables.")] = Form.table,
) -> None:
    """Repeat the experiment of a paper, and print its tables; a run that was stopped goes on.

    The folder gets tables.txt, tables.json, tables.tex, page.md, every finished trial (cells.jsonl) and
    settings.json.
    """
    from directrix.cli.settings import usage
    from directrix.errors import InputError

    with usage():
        if name not in _NAMES:
            there = "; ".join(f"{key}: {what}" for key, what in _NAMES.items())
            raise InputError(f"there is no reproduction {name!r}. There is {there}.")
        if jobs == 0 or jobs < -1:
            raise InputError(f"--jobs {jobs}: a number of trials at a time is needed, or -1 for one a core.")
    trials = trials or (_QUICK_TRIALS if quick else 50)
    folder = Path(name) if output is None else output
    command = f"directrix reproduce {name} --data DIR"
    command += f" --trials {trials}" * (trials != 50) + " --quick" * quick + f" --seed {seed}" * (seed != 0)
    document, text = _yue2007(data, folder, (trials, quick, seed, jobs), command)
    if form is Form.json:
        print_json(document)
    else:
        typer.echo(text)
    remark(f"written: {folder}/tables.txt, tables.json, tables.tex, page.md")


def _yue2007(
    data: Path, folder: Path, options: tuple[int, bool, int, int], command: str
) -> tuple[dict[str, Any], str]:
    """Run what is left of the trials, write the folder, and return the tables."""
    from directrix.experiments.yue2007.collection import read_collection
    from directrix.experiments.yue2007.methods import QUICK, Grid
    from directrix.experiments.yue2007.protocol import Settings, run_trials
    from directrix.experiments.yue2007.results import results
    from directrix.reports.folder import open_folder, text_of, write_settings, write_tables
    from directrix.reports.yue2007 import tables
    from directrix.reports.yue2007_page import page

    trials, quick, seed, jobs = options
    chosen = Settings(trials=trials, seed=seed, grid=QUICK if quick else Grid())
    collection = read_collection(data)
    installation = {name: what for name, what in environment().items() if name != "numba cache"}  # a path
    fixed = {**chosen.fixed(), "data": collection.digest, "directrix": installation["directrix"]}
    settings = {"name": "yue2007", "fixed": fixed, "trials": trials, "installation": installation}
    path = open_folder(folder, settings)
    begun = time.monotonic()
    with progress_of("trials of a data set") as progress:
        cells = run_trials(collection, chosen, path, n_jobs=jobs, progress=progress)
    found = results(collection, chosen, cells)
    settings["seconds"] = {
        "training": round(sum(sum(column.seconds.values()) for column in found), 1),
        "this call": round(time.monotonic() - begun, 1),
    }
    write_settings(folder, settings)
    shown = tables(found)
    document = {
        "name": "yue2007",
        "settings": settings,
        "tables": [table.json() for table in shown],
        "columns": [column.to_dict() for column in found],
    }
    write_tables(folder, shown, document, page(found, chosen, command))
    return document, text_of(shown)
