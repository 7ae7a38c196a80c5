"""``directrix clicks simulate``: a log of simulated users."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.clicks.inputs import ModelOption
from directrix.cli.output import remark
from directrix.cli.reading import ModelOptions, check_writable
from directrix.data.file import DataFile
from directrix.errors import amount


def clicks_simulate_command(
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
    model: ModelOption = "PBM",
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
    reading: ModelOptions,
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
    if ranker is not None and DataFile(ranker).is_model:
        served: Any = load(ranker)
        q = reading.read(served.model_, data, ranker)
    else:
        q = reading.read_for([], reading.file(data))
        served = -q.rows.astype(float) if ranker is None else read_scores(ranker, q.n_docs, data)[q.rows]
    n = {"n_sessions": sessions, "n_positions": positions}
    log = simulate(q, served, model, policy=policy, eta=eta, seed=seed, **n)
    write_log(log, output)
    clicks = amount(int(log.sessions.click.sum()), "clicks")
    remark(f"saved: {output} ({amount(sessions, 'sessions')}, {clicks})")
