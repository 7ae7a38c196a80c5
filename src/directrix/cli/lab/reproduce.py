"""``directrix lab reproduce``: the experiment of a paper, with its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from directrix.cli import options
from directrix.cli.doctor import environment
from directrix.cli.output import echo, progress_lines, remark, show
from directrix.papers import PAPERS, find_paper
from directrix.reports.folder import check_folder


def lab_reproduce_command(
    *,
    name: Annotated[str, options.argument(metavar="PAPER", help=f"The paper: {', '.join(PAPERS)}.")],
    data: Annotated[Path, options.option(help="Folder that holds letor/ and trec7/.")],
    output: Annotated[
        Path | None,
        options.option("--output", "-o", help="Folder to write to. Default: the name of the reproduction."),
    ] = None,
    trials: Annotated[
        int | None, options.option(min=1, help="Number of random splits, for papers that use them.")
    ] = None,
    quick: Annotated[
        bool,
        Option("--quick", help="Few trials and settings, to check that everything works."),
    ] = False,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = -1,
    page: Annotated[
        Path | None, options.option(help="Folder of a site that also gets NAME.md, its pictures and tables.")
    ] = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Repeat the experiment of a paper, and print its tables and claims; a stopped run is resumed.

    The folder gets the tables as text, JSON, LaTeX and CSV, figures, page.md, report.html to open in a
    browser, every finished part (cells.jsonl) and settings.json.
    """
    with options.usage():
        options.check_jobs(jobs)
        chosen = find_paper(name)
    from directrix.papers.workspace import Workspace
    from directrix.reports.figures import need_plot
    from directrix.reports.write import document, publish, text_of, write_report

    need_plot()
    folder = Path(name) if output is None else output
    check_folder(folder, "tables.txt", "tables/01.csv", "figures/1.png")
    if page is not None:
        check_folder(page, f"{name}.md", f"{name}/1.png")
    # The command makes the same report on another machine, so it contains no paths.
    command = f"directrix lab reproduce {name} --data DIR" + ("" if trials is None else f" --trials {trials}")
    command += " --quick" * quick + f" --seed {seed}" * (seed != 0)
    work = Workspace(
        name=name,
        data=data,
        folder=folder,
        quick=quick,
        seed=seed,
        jobs=jobs,
        command=command,
        installation=environment(),
        progress=progress_lines,
        trials=trials,
    )
    with options.usage():
        chosen.experiment(work)
    report = chosen.reproduce(work)
    write_report(folder, report)
    if page is not None:
        publish(page, report)
    if form is options.Format.table:
        echo(text_of(report))
    else:
        show(form, report.tables, document(report))
    remark(f"written: {folder}/tables.txt, tables.json, tables.tex, tables, figures, page.md, report.html")
