"""``directrix events interactions``: labeled queries from a table of events."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from directrix.cli.options import Missing, SeedOption, argument, option
from directrix.cli.output import remark, sizes_text
from directrix.cli.reading import EventOptions, check_writable
from directrix.data.files import to_number
from directrix.data.formats import ARROW, named
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.interactions.build import Interactions


def events_interactions_command(
    *,
    events: Annotated[Path, argument(metavar="EVENTS", help="Events: CSV, TSV, JSON lines, Parquet, Arrow.")],
    output: Annotated[Path, option("--output", "-o", help="Parquet or Arrow file to write.")],
    by: Annotated[
        Literal["day", "session", "user"],
        Option(help="A query is a user and a day from midnight UTC, a session, or a user."),
    ] = "day",
    grade: Annotated[
        list[str] | None,
        option(
            metavar="KIND=LABEL",
            help="Label of a kind of event; repeatable. Default: view=0, click=1, cart=2, purchase=3.",
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        option(help="Table of items by query, or of all items. Default: items with earlier events."),
    ] = None,
    decision: Annotated[
        str | None,
        option(metavar="TIME", help="Time of all queries, for --by user. Default: by the events."),
    ] = None,
    negatives: Annotated[
        int | None, option(min=1, help="Number of items without an event to sample per query. Default: all.")
    ] = None,
    sampling: Annotated[
        Literal["uniform", "popularity"],
        Option(help="Sample items uniformly, or by earlier events."),
    ] = "uniform",
    user_features: Annotated[Path | None, option(help="Table of features of users.")] = None,
    item_features: Annotated[Path | None, option(help="Table of features of items.")] = None,
    pair_features: Annotated[Path | None, option(help="Table of features of users and items.")] = None,
    split: Annotated[
        str | None,
        option(
            metavar="TIME",
            help="Write later queries, with all candidates, to --test-output; omit queries that span it.",
        ),
    ] = None,
    test_output: Annotated[Path | None, option(help="Parquet or Arrow file for the later queries.")] = None,
    missing: Annotated[Missing, Option(help="Features without a row; see train.")] = Missing.error,
    seed: SeedOption = 0,
    columns: EventOptions,
) -> None:
    """Make labeled queries from events such as views and purchases, without features from the future.

    Each query has a decision time. Labels come from later events, candidates and features from earlier ones.
    """
    from directrix.data.interactions.build import from_interactions
    from directrix.data.interactions.tables import moment

    if (split is None) != (test_output is None):
        raise typer.BadParameter("--split TIME and --test-output FILE belong together; give both, or none.")
    if test_output is not None and test_output.resolve() == output.resolve():
        raise typer.BadParameter(f"--test-output {test_output} is the file of -o too; give another name.")
    tables: dict[str, Any]
    tables = {"user_features": user_features, "item_features": item_features, "pair_features": pair_features}
    targets = [target for target in (output, test_output) if target is not None]
    for target in targets:
        if named(target) is not ARROW:
            raise typer.BadParameter(f"{target}: queries are written as *.parquet or *.arrow; choose one.")
        check_writable(target, events, candidates, *tables.values())
    at = None if split is None else moment(_time(split), "--split")
    make = partial(
        from_interactions,
        events,
        by=by,
        grades=_grades(grade),
        decision=_time(decision),
        candidates=candidates,
        missing=missing.value,
        seed=seed,
        **columns.by_role(),
        **tables,
    )
    for target, q in zip(targets, _split(make, negatives, sampling, at, output), strict=True):
        with ARROW.writing(target) as add:
            add(q)
        remark(f"saved: {target} ({sizes_text(q.n_docs, q.n_queries, q.n_features)})")


def _split(
    make: Callable[..., Interactions], negatives: int | None, sampling: str, split: float | None, output: Path
) -> Sequence[Interactions]:
    """Return all queries, or those before and after the split, these with all their candidates."""
    q = make(negatives=negatives, sampling=sampling)
    if is_drawn := bool((q.sampling < 1.0).any()):
        remark(
            f"note: {output} has sampled negatives; measures and calibrated probabilities are higher than "
            "with all items"
        )
    if split is None:
        return (q,)
    before, after = q.split(split)
    if is_drawn:
        # Later queries are made again with all candidates. The warnings were shown the first time.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            after = make().split(split)[1]
    return before, after


def _grades(texts: list[str] | None) -> dict[str, float] | None:
    grades = {}
    for text in texts or ():
        kind, _, label = text.rpartition("=")
        if not kind or math.isnan(to_number(label)):
            raise InputError(f"--grade {text}: KIND=LABEL is needed; type e.g. --grade order=3.")
        grades[kind] = to_number(label)
    return grades or None


def _time(text: str | None) -> str | float | None:
    """Return seconds as a number, and other times as the text of a date."""
    return text if text is None or math.isnan(to_number(text)) else to_number(text)
