"""A reproduction: settings, data, trainings, and the report of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from directrix.errors import InputError
from directrix.experiments.cells import total_seconds
from directrix.reports.report import Claim, Figure, PerQuery, Report, Section
from directrix.reproductions.paper import Paper
from directrix.reproductions.request import Request
from directrix.reproductions.runner import Runner
from directrix.tables import Table

_QUICK_RUN = (
    "**This is a quick run**: few settings and folds, and short trainings. It shows that everything works; "
    "its numbers are not results, and published values are left out."
)


_COMPARED = ("published", "ours", "difference")


def without_published(table: Table) -> Table:
    """Leave out published values and differences from them: they are of other folds and trials."""
    groups = [name for name, n in table.groups for _ in range(n)] or [""] * len(table.columns)
    named = zip(groups, table.columns, strict=True)
    published = {i for i, names in enumerate(named) if "published" in names}
    differences = {i + 2 for i in published if table.columns[i : i + 3] == _COMPARED}
    notes = tuple(note for note in table.notes if not note.startswith("Published"))
    return replace(table.without(published | differences), notes=notes)


@dataclass(frozen=True, kw_only=True)
class SeededSettings:
    """All that results depend on besides the data; each paper adds fields of its own."""

    seed: int = 0  # of everything random


class Data(Protocol):
    """Data that a reproduction reads."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that results depend on."""


S = TypeVar("S", bound=SeededSettings)
D = TypeVar("D", bound=Data)
R = TypeVar("R")


@dataclass(frozen=True)
class Reproduction(Generic[S, D, R]):
    """What ``directrix reproduce`` runs.

    Parameters
    ----------
    paper : Paper
        Its page, captions and published values.
    full, quick : SeededSettings
        Settings of a full and of a quick run. Settings with a field ``trials`` have random splits.
    read : callable
        Reads the data, by name, from a folder.
    run : callable
        Runs all trainings and returns the results, which hold the settings too.
    claims, tables, figures, summary, per_query : callable
        Parts of the `Report`, made of the results; tables in sections, the summary of the results and the
        claims.
    details : callable
        Values for the placeholders in the sections "how", "differs" and "missing" of the page.
    seconds : callable
        How long trainings took, by name.
    more : callable
        Further keys of ``tables.json``.
    """

    paper: Paper
    full: S
    quick: S
    read: Callable[[Path, S], Mapping[str, D]]
    run: Callable[[Mapping[str, D], S, Runner], R]
    claims: Callable[[R], Sequence[Claim]]
    tables: Callable[[R], Sequence[Section]]
    figures: Callable[[R], Sequence[Figure]]
    summary: Callable[[R, Sequence[Claim]], Sequence[str]]
    per_query: Callable[[R], Sequence[PerQuery]]
    details: Callable[[R], Mapping[str, Any]]
    seconds: Callable[[R], Mapping[str, float]] = lambda _: {}
    more: Callable[[R], Mapping[str, Any]] = lambda _: {}

    @property
    def has_trials(self) -> bool:
        """Whether the paper has random splits whose number can be chosen."""
        return hasattr(self.full, "trials")

    def settings(self, request: Request) -> S:
        """Return the settings of a request.

        Raises
        ------
        InputError
            If it gives a number of trials to a paper without random splits.
        """
        given: dict[str, Any] = {"seed": request.seed}
        if request.trials is not None:
            if not self.has_trials:
                raise InputError(
                    f"--trials {request.trials}: {request.name} has no random splits whose number could be "
                    "chosen; leave it out."
                )
            given["trials"] = request.trials
        return replace(self.quick if request.quick else self.full, **given)

    def reproduce(self, request: Request, settings: S | None = None) -> Report:
        """Run what is not finished yet, and report all of it; settings are by default those of the request.

        Raises
        ------
        InputError
            If data are missing or cannot be read, or the folder holds a run of other settings or data.
        """
        chosen = self.settings(request) if settings is None else replace(settings, seed=request.seed)
        data = self.read(request.data, chosen)
        fixed = asdict(chosen)
        # a run may be resumed with more trials
        free = {name: fixed.pop(name) for name in ("trials",) if name in fixed}
        digests = {name: one.digest for name, one in data.items()}
        path, record = request.open({**fixed, "data": digests}, **free)
        begun = time.monotonic()
        results = self.run(data, chosen, Runner(path, request.jobs, request.progress))
        this_call = time.monotonic() - begun
        parts = {"all parts": total_seconds(path)} if path.is_file() else {}
        seconds = {**self.seconds(results), **parts, "this call": this_call}
        record["seconds"] = {name: round(value, 1) for name, value in seconds.items()}
        return self.report(results, request, record)

    def report(self, results: R, request: Request, record: Mapping[str, Any]) -> Report:
        """Return the report of finished results; ``record`` is the content of ``settings.json``."""
        claims = tuple(self.claims(results))
        summary = self.summary(results, claims)
        details = self.details(results)
        sections = tuple(self.tables(results))
        if request.quick:
            sections = tuple(
                replace(section, tables=tuple(map(without_published, section.tables))) for section in sections
            )
        return Report(
            name=request.name,
            title=self.paper.title,
            paper=self.paper.citation,
            summary=(_QUICK_RUN, *summary) if request.quick else tuple(summary),
            tables=tuple(table for section in sections for table in section.tables),
            figures=tuple(self.figures(results)),
            claims=claims,
            missing=self.paper.pairs("missing", **details),
            how=self.paper.section("how", **details),
            settings=record,
            command=request.command,
            per_query=tuple(self.per_query(results)),
            sections=sections,
            differs=self.paper.section("differs", **details),
            more=self.more(results),
        )
