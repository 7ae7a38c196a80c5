"""``directrix reproduce``: the experiment of a paper, with its tables."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from directrix.cli.doctor import environment
from directrix.cli.options import JobsOption, SeedOption, check_jobs, usage
from directrix.cli.output import print_json, progress_lines, remark

if TYPE_CHECKING:
    from directrix.reports.report import Report
    from directrix.reports.request import Request


class _Paper(NamedTuple):
    """What a name stands for, the module whose ``reproduce`` does it, and whether it has random splits."""

    what: str
    module: str
    has_trials: bool = False


_PAPERS = {
    "qin2010": _Paper("Qin, Liu & Li (2010): ApproxRank, OHSUMED", "directrix.reports.qin2010"),
    "chapelle2010": _Paper("Chapelle & Wu (2010): SmoothRank, OHSUMED", "directrix.reports.chapelle2010"),
    "yue2007": _Paper(
        "Yue et al. (2007): SVMmap on runs as features, TREC-7", "directrix.reports.yue2007", has_trials=True
    ),
    "donmez2009": _Paper(
        "Donmez, Svore & Burges (2009): local optimality of LambdaRank, OHSUMED",
        "directrix.reports.donmez2009",
    ),
    "he2010": _Paper("He & Liu (2010): tendency correlation, OHSUMED", "directrix.reports.he2010"),
}


class Form(StrEnum):
    """How to print the tables."""

    table = "table"
    json = "json"


def reproduce(
    name: Annotated[str, typer.Argument(help=f"The paper: {', '.join(_PAPERS)}.", show_default=False)],
    data: Annotated[Path, typer.Option(help="Folder that holds letor/ and trec7/.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for all that is written; default the name.", show_default=False
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Random splits, of papers that have some.", show_default=False),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few trials and settings: a look, no result.")
    ] = False,
    seed: SeedOption = 0,
    jobs: JobsOption = -1,
    page: Annotated[
        Path | None,
        typer.Option(help="Folder for NAME.md and its pictures, too, for a site.", show_default=False),
    ] = None,
    form: Annotated[Form, typer.Option("--format", "-f", help="How to print the tables.")] = Form.table,
) -> None:
    """Repeat the experiment of a paper, and print its tables and claims; a run that was stopped goes on.

    The folder gets the tables as text, JSON, LaTeX and CSV, figures, page.md, report.html to be opened in a
    browser, every finished part (cells.jsonl) and settings.json.
    """
    with usage():
        paper = _paper(name)
        _check(name, trials, jobs, page, has_trials=paper.has_trials)
    from directrix.reports.figures import need_plot
    from directrix.reports.request import Request
    from directrix.reports.write import document, publish, text_of, write_report

    need_plot()
    folder = Path(name) if output is None else output
    installation = environment()
    request = Request(
        name=name,
        data=data,
        folder=folder,
        quick=quick,
        seed=seed,
        jobs=jobs,
        command=_command(name, trials, quick=quick, seed=seed),
        installation=installation,
        progress=progress_lines,
        trials=trials,
    )
    work: Callable[[Request], Report] = importlib.import_module(paper.module).reproduce
    report = work(request)
    write_report(folder, report)
    if page is not None:
        publish(page, report)
    if form is Form.json:
        print_json(document(report))
    else:
        typer.echo(text_of(report))
    remark(f"written: {folder}/tables.txt, tables.json, tables.tex, tables, figures, page.md, report.html")


def _paper(name: str) -> _Paper:
    from directrix.errors import InputError

    there = {key: paper for key, paper in _PAPERS.items() if importlib.util.find_spec(paper.module)}
    if name not in there:
        known = "; ".join(f"{key}: {paper.what}" for key, paper in there.items())
        raise InputError(f"there is no reproduction {name!r}. There is {known}.")
    return there[name]


def _check(name: str, trials: int | None, jobs: int, page: Path | None, *, has_trials: bool) -> None:
    from directrix.errors import InputError

    if trials is not None and not has_trials:
        raise InputError(
            f"--trials {trials}: {name} has no random splits of which some could be run; leave it out."
        )
    check_jobs(jobs)
    if page is not None and page.exists() and not page.is_dir():
        raise InputError(f"--page {page}: is a file; give the folder that the page is to lie in.")


def _command(name: str, trials: int | None, *, quick: bool, seed: int) -> str:
    """Does the same again, on a machine of one's own: no paths."""
    command = f"directrix reproduce {name} --data DIR"
    command += "" if trials is None else f" --trials {trials}"
    return command + " --quick" * quick + f" --seed {seed}" * (seed != 0)
