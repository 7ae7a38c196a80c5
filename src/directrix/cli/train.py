"""``directrix train``: from a data file to a model file."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directrix.cli.files import Missing, MissingOption, as_wide_as, check_writable
from directrix.cli.memory import read_or_open
from directrix.cli.output import (
    Format,
    FormatOption,
    print_json,
    print_rows,
    progress_bar,
    remark,
)
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.rankers.selection.search import Search


def train(
    train: Annotated[
        Path,
        typer.Argument(
            help="Training data: LETOR / svmlight (.gz .bz2 .xz too), Parquet or Arrow.", show_default=False
        ),
    ],
    valid: Annotated[
        Path | None,
        typer.Option(help="Validation data; without it cross-validation on the training queries."),
    ] = None,
    measure: Annotated[
        str, typer.Option("--measure", "-m", help="What to train for and to choose by.")
    ] = "nDCG@10",
    method: Annotated[str, typer.Option(help="A method of `directrix methods`, or auto.")] = "auto",
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path("model.json"),
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Fix a setting instead of searching it, e.g. alpha=50."
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="Bring features to a common scale first: query-minmax, query-standard, query-percentile, "
            "minmax, standard."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of folds and of trainers that draw.")] = 0,
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help="Only methods with this model: linear, mlp, stumps, trees; repeatable."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Without --valid: folds of the cross-validation; 1 holds back a fifth. "
            "Default 5, and 1 from 1,000 queries on.",
            show_default=False,
        ),
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds after which no more is tried.", show_default=False),
    ] = None,
    missing: MissingOption = Missing.error,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Leave the features of a Parquet or Arrow file there and read them as they are used (linear "
            "models only). Default: if they would take 40 % of the available memory.",
            show_default=False,
        ),
    ] = None,
    form: FormatOption = Format.table,
) -> None:
    """Train a ranker for the measure you report, and write it as JSON.

    Every setting of the method's grid is trained; the measure on the validation queries chooses. Standard
    output holds what was tried, remarks and progress go to standard error.
    """
    from directrix.cli.settings import parse_settings, usage
    from directrix.data.formats import is_table
    from directrix.rankers.selection.search import plan_search, run_search

    with usage():
        fixed = parse_settings(settings or [])
        for name, option in (("scale", "--scale"), ("random_state", "--seed")):
            if name in fixed and (option == "--seed" or scale is not None):
                raise InputError(f"--set {name}: {option} says the same; give only {option}.")
        if scale is not None:
            fixed["scale"] = scale
        plan = plan_search(method, measure, fixed, models)
    goal = plan.measure.name
    check_writable(output, train, valid)
    begun = time.perf_counter()
    q = read_or_open(train, missing, stream=stream)
    judge = None
    if valid is not None:
        of_valid = stream if is_table(valid) else None
        judge = as_wide_as(read_or_open(valid, missing, stream=of_valid), q.n_features, valid, str(train))
    with progress_bar(f"training {method} for {goal}") as progress:
        found = run_search(plan, q, judge, folds=folds, time_budget=time_budget, seed=seed, progress=progress)
    found.ranker.save(output)
    _report(found, goal, form)
    for text in found.remarks:
        remark(f"note: {text}")
    remark(f"chosen: {found.chosen.label} by {goal} on {found.selection}")
    remark(f"why: {found.why}")
    if not math.isnan(found.gap):
        surrogate = found.ranker.surrogate_
        remark(f"mean |{surrogate} - {surrogate.measure.name}| on the training queries: {found.gap:.4f}")
    above = found.ranker.result_.gap
    if above is not None:
        remark(f"proven: no parameters have a training loss lower by more than {above:.2g}")
    remark(f"saved: {output} ({time.perf_counter() - begun:.1f} s)")


def _report(found: Search, goal: str, form: Format) -> None:
    if form is not Format.json:
        columns = ["candidate", f"{goal} valid", f"{goal} train", "steps", "status", "seconds", ""]
        rows = [
            [
                *(c.label, c.valid, c.train, c.steps, c.status),
                f"{c.seconds:.1f}",
                "chosen" if c is found.chosen else "",
            ]
            for c in found.candidates
        ]
        print_rows(columns, rows, form)
        return
    entries = [
        {
            "method": c.method,
            "settings": dict(c.settings),
            "valid": c.valid,
            "train": c.train,
            "steps": c.steps,
            "status": c.status,
            "seconds": c.seconds,
        }
        for c in found.candidates
    ]
    print_json(
        {
            "measure": goal,
            "selection": found.selection,
            "why": found.why,
            "chosen": found.candidates.index(found.chosen),
            "gap": found.gap,
            "above_minimum": found.ranker.result_.gap,
            "candidates": entries,
        }
    )
