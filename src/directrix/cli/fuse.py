"""``directrix fuse``: the best combination of several runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from directrix.cli import options, texts
from directrix.cli.files import check_writable
from directrix.cli.output import echo, print_json, print_rows, progress_bar, remark
from directrix.data.columns import RECOGNIZED, ColumnNames


def fuse_command(
    runs: Annotated[
        list[Path], options.argument(metavar="RUN...", help="Two to ten runs: TREC text or tables.")
    ],
    qrels: Annotated[Path, options.without_default(help="Judgments: TREC text or a table.")],
    measure: Annotated[str, Option("--measure", "-m", help="What to maximize.")] = "nDCG@10",
    method: Annotated[str, Option(help="Which combination to use: auto, or the name of a row.")] = "auto",
    names: options.NamesOption = None,
    classes: Annotated[
        Path | None,
        options.without_default(
            help="Classes of queries, for weights of each class: lines QUERY CLASS separated by blanks."
        ),
    ] = None,
    output: texts.RunOutputOption = None,
    config: Annotated[
        str | None,
        options.without_default(
            metavar="ENGINE",
            help="Print the configuration of opensearch, elasticsearch, vespa, qdrant or weaviate.",
        ),
    ] = None,
    columns: ColumnNames = RECOGNIZED,
    folds: Annotated[int, Option(min=2, help="Folds of queries for cross-validation.")] = 5,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Find the best weights of runs for a measure, and say whether they help.

    Every method is measured with what all queries choose, and in cross-validation: weights, normalizer and
    constant chosen on the other folds. With -o the combined run of all topics is written to a file.

    Normalizers of the scores s that a run has for a query: min-max (s - min) / (max - min); z-score (s -
    mean) / deviation; sum (s - min) / sum of (s - min); rank 1 - (rank - 1) / n for n documents, rank 1 the
    best; none s.
    """
    import numpy as np

    from directrix.cli.kinds import tables_of
    from directrix.cli.scores import check_system_names, named_columns, system_names
    from directrix.data.trec.runs import read_trec_qrels, read_trec_run
    from directrix.fusion.engines import check_one_set_of_weights, configuration
    from directrix.fusion.fuse import fuse as best_fusion

    with options.usage():
        check_system_names(names, runs)
    check_writable(output, qrels, *runs)
    tables = tables_of([qrels, *runs], columns)
    of = named_columns(qrels, tables, columns)
    read = [read_trec_run(path, **of(path, "score")) for path in runs]
    judged = read_trec_qrels(qrels, **of(qrels, "label"))
    of_runs = system_names(runs, names, [run.tag for run in read])
    named = [replace(run, tag=name) for run, name in zip(read, of_runs, strict=True)]
    of_query = None if classes is None else _classes(classes)
    with progress_bar("fusion") as report:
        fusion = best_fusion(
            named, judged, measure, method=method, classes=of_query, n_folds=folds, seed=seed, progress=report
        )
    if config is not None:
        check_one_set_of_weights(fusion.of_class)
        text, differs = configuration(config, fusion.names, fusion.combination)
        echo(text, exact=True)
        for difference in differs:
            remark(f"note: {difference}")
    elif form is options.Format.json:
        print_json(fusion.to_dict())
    elif form is options.Format.tsv:
        print_rows(fusion.tables()[1].heads(), fusion.tables()[1].rows, form)
    else:
        echo(str(fusion))
    if config is not None or form is not options.Format.table:
        remark(f"note: chosen: {fusion.verdict}")
    if output is not None:
        fused = fusion.apply(named, of_query)
        texts.write_run(fused, output)
        if empty := int((np.diff(fused.qptr) == 0).sum()):
            n = len(fused.query_ids)
            remark(f"note: no documents for {empty} of {n} queries, which `directrix evaluate` leaves out")


def _classes(path: Path) -> dict[str, str]:
    """Read the class of every query."""
    from directrix.data.files import Problem, open_data, raise_problems, readable

    of_query: dict[str, str] = {}
    problems = []
    with readable(path), open_data(path) as file:
        for number, line in enumerate(file, start=1):
            words = line.decode("utf-8", "replace").split()
            if len(words) == 2 and of_query.setdefault(*words) != words[1]:
                other = f"query {words[0]} has the class {of_query[words[0]]} above"
                problems.append(Problem(number, other, "Each query has one class."))
            elif words and len(words) != 2:
                shape = "Each line reads `query class`."
                problems.append(Problem(number, f"{len(words)} words where 2 are needed", shape))
    raise_problems(path, problems)
    return of_query
