"""``directrix clicks describe``, ``model``, ``propensities``, ``interleave`` and ``simulate``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.reading import LogColumns, RunColumns, TrainingData, check_writable, is_model
from directrix.cli.show import progress_bar, remark, save_report, show
from directrix.cli.text import write_run
from directrix.errors import amount

if TYPE_CHECKING:
    from directrix.clicks.interleaving import InterleavedList
    from directrix.data.trec.runs import Run

LogArgument = Annotated[
    Path,
    options.argument(
        metavar="LOG",
        help="Click log with one row per shown document, or with counts: CSV, TSV, JSON lines, Parquet, "
        "Arrow, or a folder of the last two.",
    ),
]
_Model = Annotated[str, Option(help="Click model: GCTR, RCTR, DCTR, PBM, UBM, CM, DCM, SDBN or DBN.")]


def describe_command(
    *,
    log: LogArgument,
    columns: LogColumns,
    report: options.ReportOption = None,
    form: options.FormatOption = options.Format.table,
    context: typer.Context,
) -> None:
    """Print the size of a log of clicks, and clicks by position.

    The column moved shows whether the log can separate position bias from relevance. It is the fraction of
    impressions whose document was also shown at other positions.
    """
    from directrix.reports.clicks import log_report

    check_writable(report, log)
    read = columns.read(log)
    show(form, read.tables(), read.to_dict())
    if read.n_sessions is None and not columns.impressions_column:
        remark("note: the log has counts only; if a column identifies sessions, type --session-column NAME")
    save_report(report, partial(log_report, read, data=str(log), command=context.obj))


def model_command(
    *,
    log: LogArgument,
    model: _Model = "PBM",
    test: Annotated[
        Path | None, options.option(help="Log to test the model on. Default: the log that it is fitted to.")
    ] = None,
    columns: LogColumns,
    report: options.ReportOption = None,
    form: options.FormatOption = options.Format.table,
    context: typer.Context,
) -> None:
    """Fit a click model to a log, and print its parameters and its perplexity by position.

    Perplexity 1 is perfect, and 2 is a coin flip. It is computed over the sessions that have the position,
    marginally and given the clicks above. Use --test to compare models on a log of other sessions.
    """
    from directrix.clicks.models import model as model_named
    from directrix.reports.clicks import model_report
    from directrix.tables import Table

    with options.usage():
        users = model_named(model)
    check_writable(report, log, test)
    read = columns.read(log)
    users.fit(read)
    tested = read if test is None else columns.read(test)
    likelihood = users.log_likelihood(tested)
    perplexity = {
        "marginal": users.perplexity(tested).tolist(),
        "given clicks": users.perplexity(tested, given_clicks=True).tolist(),
    }
    rows = zip(map(str, range(1, tested.n_positions + 1)), *perplexity.values(), strict=True)
    title = f"Perplexity on {test or log}, log-likelihood {likelihood:.6g}"
    tables = [*users.tables(), Table(title, ("position", *perplexity), tuple(rows), digits=4)]
    show(form, tables, users.to_dict() | {"log_likelihood": likelihood, "perplexity": perplexity})
    save_report(report, lambda: model_report(tables, model=users.name, data=str(log), command=context.obj))


def propensities_command(
    *,
    log: LogArgument,
    method: Annotated[
        str,
        Option(
            help="all-pairs, pivot or chain: documents at several positions; random-top, random-pair: random "
            "positions; em; regression-em: by --features; trust: with clicks that trust brings."
        ),
    ] = "all-pairs",
    features: Annotated[
        Path | None, options.option(help="Features of the documents of the log, for regression-em.")
    ] = None,
    positions: Annotated[
        int | None, options.option(min=2, help="Number of positions, from the first. Default: all.")
    ] = None,
    columns: LogColumns,
    resamples: Annotated[int, Option(min=20, help="Number of bootstrap samples of queries.")] = 200,
    seed: options.SeedOption = 0,
    report: options.ReportOption = None,
    form: options.FormatOption = options.Format.table,
    context: typer.Context,
) -> None:
    """Estimate position bias: the probability of examining each position, relative to the first.

    Prints 95 % intervals. If the log does not identify the bias, for example because every document was shown
    at one position per query, an error says what to log.
    """
    from directrix.clicks.position_bias import propensities
    from directrix.data.formats import read_file
    from directrix.reports.clicks import propensities_report

    check_writable(report, log, features)
    read = columns.read(log)
    of_documents = None if features is None else read_file(features, columns=columns.of_features(features))
    with progress_bar("samples of queries") as progress:
        found = propensities(
            read,
            method,
            features=of_documents,
            n_positions=positions,
            n_resamples=resamples,
            seed=seed,
            progress=progress,
        )
    show(form, found.tables(), found.to_dict())
    save_report(report, lambda: propensities_report(found, data=str(log), command=context.obj))


def interleave_command(
    *,
    runs: Annotated[
        list[Path], options.argument(metavar="RUN...", help="Two runs or more: TREC text or tables.")
    ],
    method: Annotated[
        str, Option(help="team-draft or probabilistic; for two runs also balanced or optimized.")
    ] = "team-draft",
    k: Annotated[int, Option("-k", min=1, help="Number of documents per query.")] = 10,
    names: options.NamesOption = None,
    output: Annotated[
        Path | None,
        options.option("--output", "-o", help="File for the lists: a TREC run, or JSON lines (.jsonl)."),
    ] = None,
    columns: RunColumns,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Interleave the rankings of two or more rankers into one list per query, with credits for clicks.

    A click on a document earns the credits in its row. In balanced lists, credits depend on all clicks of a
    session; see directrix.clicks.interleave. Use another seed, and thus another list, for each session.
    """
    from directrix.cli.rankings import check_system_names, read_rankings, system_names
    from directrix.clicks.interleaving import interleave
    from directrix.tables import Table

    if len(runs) < 2:
        raise typer.BadParameter("one run cannot be interleaved; give two or more.")
    with options.usage():
        check_system_names(names, runs)
    check_writable(output, *runs)
    read = read_rankings(runs, columns.names())
    of_runs = system_names(runs, names, [run.tag for run in read])
    a, b, *others = (replace(run, tag=name) for run, name in zip(read, of_runs, strict=True))
    lists = interleave(a, b, method, others=others, k=k, seed=seed)
    assert isinstance(lists, dict)
    tables = [shown.tables()[0] for shown in lists.values()]
    rows = [(query, *row) for query, table in zip(lists, tables, strict=True) for row in table.rows]
    every = Table(f"Interleaved lists, {method}", ("query", *tables[0].columns), tuple(rows))
    document = [{"query": query, **shown.to_dict()} for query, shown in lists.items()]
    show(form, [every], {"method": method, "seed": seed, "lists": document})
    if output is not None:
        write_run(_run_of(lists), output)


def simulate_command(
    *,
    data: options.DataArgument,
    output: Annotated[
        Path, options.option("--output", "-o", help="Log to write: Parquet (.parquet) or CSV (.csv).")
    ],
    ranker: Annotated[
        Path | None,
        options.option(
            metavar="SCORES|MODEL", help="Ranker that serves the sessions. Default: the order of the rows."
        ),
    ] = None,
    model: _Model = "PBM",
    sessions: Annotated[int, Option(min=1, help="Number of sessions.")] = 100_000,
    policy: Annotated[
        str,
        Option(
            help="deterministic: by decreasing score; shuffle: all positions at random; swap: position 1 "
            "with a random one; plackett-luce: sampled in proportion to exp(score)."
        ),
    ] = "deterministic",
    positions: Annotated[int, Option(min=1, help="Number of documents that are shown.")] = 10,
    eta: Annotated[float, Option(min=0.0, help="Severity of position bias; 0: none.")] = 1.0,
    reading: TrainingData,
    seed: options.SeedOption = 0,
) -> None:
    """Simulate users who see rankings of labeled documents and click, and write the log.

    The probability of examining a position is that measured by Joachims et al. (2005), to the power of --eta.
    Documents with higher labels, from 0 to 4, are clicked more often.
    """
    from directrix.cli.rankings import read_scores
    from directrix.clicks.simulation import simulate
    from directrix.clicks.writing import write_log
    from directrix.rankers.loading import load

    check_writable(output, data, ranker)
    q = reading.read(data)
    served: Any = -q.rows.astype(float)
    if ranker is not None:
        served = load(ranker) if is_model(ranker) else read_scores(ranker, q.n_docs, data)[q.rows]
    n = {"n_sessions": sessions, "n_positions": positions}
    log = simulate(q, served, model, policy=policy, eta=eta, seed=seed, **n)
    write_log(log, output)
    clicks = amount(int(log.sessions.click.sum()), "clicks")
    remark(f"saved: {output} ({amount(sessions, 'sessions')}, {clicks})")


def _run_of(lists: dict[str, InterleavedList]) -> Run:
    """Return lists as a run, whose scores fall by one from position to position."""
    from directrix.data.trec.runs import Run

    rankings = {
        query: {document: float(len(shown.documents) - i) for i, document in enumerate(shown.documents)}
        for query, shown in lists.items()
    }
    return Run.from_frame(rankings, tag="interleaved")
