"""A reproduction: settings, data, trainings, and the report of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from directrix.errors import InputError
from directrix.reports.report import Claim, Figure, PerQuery, Report, Section
from directrix.reports.tables import Table
from directrix.reproductions.request import Request
from directrix.reproductions.runner import Runner
from directrix.reproductions.text import QUICK_RUN


@dataclass(frozen=True, kw_only=True)
class SeededSettings:
    """All that results depend on besides the data; each paper adds fields of its own.

    Parameters
    ----------
    seed : int
        Of everything random.
    """

    seed: int = 0


class Data(Protocol):
    """Data that a reproduction reads."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that results depend on."""


class TableGroup(NamedTuple):
    """Tables under one heading.

    Parameters
    ----------
    title : str
    tables : tuple of Table
    text : tuple of str
        Paragraphs of Markdown before the tables.
    """

    title: str
    tables: tuple[Table, ...] = ()
    text: tuple[str, ...] = ()


S = TypeVar("S", bound=SeededSettings)
D = TypeVar("D", bound=Data)
R = TypeVar("R")


@dataclass(frozen=True)
class Reproduction(Generic[S, D, R]):
    """What ``directrix reproduce`` runs.

    Parameters
    ----------
    title : str
        Heading of the page.
    paper : str
        Citation and question of the paper; Markdown.
    full, quick : SeededSettings
        Settings of a full and of a quick run. Settings with a field ``trials`` have random splits.
    read : callable
        Reads the data, by name, from a folder.
    run : callable
        Runs all trainings and returns the results, which hold the settings too.
    claims, tables, figures, summary, how, missing, differs, per_query : callable
        Parts of the `Report`, made of the results; the summary of the results and the claims.
    seconds : callable
        How long trainings took, by name.
    more : callable
        Further keys of ``tables.json``.
    """

    title: str
    paper: str
    full: S
    quick: S
    read: Callable[[Path, S], Mapping[str, D]]
    run: Callable[[Mapping[str, D], S, Runner], R]
    claims: Callable[[R], Sequence[Claim]]
    tables: Callable[[R], Sequence[TableGroup]]
    figures: Callable[[R], Sequence[Figure]]
    summary: Callable[[R, Sequence[Claim]], Sequence[str]]
    how: Callable[[R], Sequence[str]]
    missing: Callable[[R], Sequence[tuple[str, str]]]
    per_query: Callable[[R], Sequence[PerQuery]]
    differs: Callable[[R], Sequence[str]] = lambda _: ()
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
        """Run what is not finished yet, and report all of it.

        Parameters
        ----------
        request : Request
        settings : SeededSettings, optional
            Default: those of the request.

        Returns
        -------
        Report

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
        seconds = {**self.seconds(results), "this call": this_call}
        record["seconds"] = {name: round(value, 1) for name, value in seconds.items()}
        return self.report(results, request, record)

    def report(self, results: R, request: Request, record: Mapping[str, Any]) -> Report:
        """Return the report of finished results; ``record`` is the content of ``settings.json``."""
        groups = self.tables(results)
        claims = tuple(self.claims(results))
        summary = self.summary(results, claims)
        return Report(
            name=request.name,
            title=self.title,
            paper=self.paper,
            summary=(QUICK_RUN, *summary) if request.quick else tuple(summary),
            tables=tuple(table for group in groups for table in group.tables),
            figures=tuple(self.figures(results)),
            claims=claims,
            missing=tuple(self.missing(results)),
            how=tuple(self.how(results)),
            settings=record,
            command=request.command,
            per_query=tuple(self.per_query(results)),
            sections=tuple(Section(group.title, len(group.tables), group.text) for group in groups),
            differs=tuple(self.differs(results)),
            more=self.more(results),
        )
