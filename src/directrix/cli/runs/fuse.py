"""``directrix runs fuse``: the best weights of runs for a measure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.output import echo, progress_bar, remark, show, write_run
from directrix.cli.reading import RunOptions, check_writable, query_classes


def runs_fuse_command(
    *,
    runs: Annotated[
        list[Path], options.argument(metavar="RUN...", help="Two to ten runs: TREC text or tables.")
    ],
    qrels: Annotated[Path, options.option(help="Judgments: TREC text or a table.")],
    measure: options.MeasureOption = "nDCG@10",
    method: Annotated[str, Option(help="Which combination to use: auto, or the name of a row.")] = "auto",
    names: options.NamesOption = None,
    classes: Annotated[
        Path | None,
        options.option(
            help="File of query classes that get their own weights: one query and its class per line."
        ),
    ] = None,
    output: options.RunOutputOption = None,
    config: Annotated[
        str | None,
        options.option(
            metavar="ENGINE",
            help="Print the configuration of opensearch, elasticsearch, vespa, qdrant or weaviate.",
        ),
    ] = None,
    columns: RunOptions,
    folds: Annotated[int, Option(min=2, help="Folds of queries for cross-validation.")] = 5,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Find the best weights of runs for a measure, and test whether they help.

    Weights, normalizer and constant of every method are chosen on all queries, and for cross-validation on
    the other folds. With -o, the combined run of all topics is written to a file.

    Normalizers of the scores s of a run for a query: min-max (s - min) / (max - min); z-score (s -
    mean) / deviation; sum (s - min) / sum of (s - min); rank 1 - (rank - 1) / n for n documents, rank 1 the
    best; none s.
    """
    import numpy as np

    from directrix.cli.rankings import check_system_names, note_unmatched, read_qrels_and_runs, system_names
    from directrix.fusion.engines import check_one_set_of_weights, computes, configuration
    from directrix.fusion.fuse import fuse as best_fusion

    with options.usage():
        check_system_names(names, runs)
    check_writable(output, qrels, *runs)
    judgments, read = read_qrels_and_runs(qrels, runs, columns.names())
    of_runs = system_names(runs, names, [run.tag for run in read])
    named = [replace(run, tag=name) for run, name in zip(read, of_runs, strict=True)]
    of_query = None if classes is None else query_classes(classes)
    note_unmatched("the runs", named, judgments.query_ids)
    how: dict[str, Any] = {"method": method, "classes": of_query, "n_folds": folds, "seed": seed}
    with progress_bar("fusion") as report:
        fusion = best_fusion(named, judgments, measure, **how, progress=report)
    if config is not None:
        # An engine computes only some methods, so the best of these is configured.
        if method == "auto":
            best, fusion = fusion.method, fusion.among(lambda combination: computes(config, combination))
            if fusion.method != best:
                remark(f"note: {config} does not support {best}; this is the best method that it supports")
        check_one_set_of_weights(fusion.of_class)
        text, differs = configuration(config, fusion.names, fusion.combination)
        echo(text, exact=True)
        for difference in differs:
            remark(f"note: {difference}")
        if not computes(config, fusion.combination):
            remark(f"note: the gain is that of {fusion.method}, which {config} does not compute")
    elif form is options.Format.table:
        echo(str(fusion))
    else:
        show(form, fusion.tables(), fusion.to_dict(), fusion.tables()[1])
    if config is not None or form is not options.Format.table:
        remark(f"note: chosen: {fusion.verdict}")
    if output is not None:
        fused = fusion.apply(named, of_query)
        write_run(fused, output)
        if empty := int((np.diff(fused.qptr) == 0).sum()):
            n = len(fused.query_ids)
            remark(f"note: no documents for {empty} of {n} queries, which `directrix evaluate` leaves out")
