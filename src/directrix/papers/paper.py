"""A paper: the experiment that reproduces it, the texts of its page, and the report.

A `Workspace`, which has the folders of data and results, goes in, and a `Report` comes out::

    paper = find_paper("qin2010")
    report = paper.reproduce(workspace)
    write_report(workspace.folder, report)
"""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from directrix.errors import InputError
from directrix.experiments.cells import total_seconds
from directrix.experiments.crossval_result import CrossValidation, settings_text
from directrix.experiments.significance import Significance
from directrix.papers.claims import OrderClaim, corrected, verdict
from directrix.papers.workspace import Workspace, absent
from directrix.reports.report import Claim, Curve, Figure, Panel, PerQuery, Report, Section, Verdict
from directrix.tables import Table, Value

_QUICK_RUN = (
    "**This is a quick run**: few settings and folds, and short trainings. It shows that everything works; "
    "its numbers are not results. So tables leave out published values, and no claim gets a verdict."
)
# A quick run leaves out these three columns.
_COMPARED = ("published", "ours", "difference")
# This is written for None. No text contains it, so texts with such a value can be left out.
_NOTHING = "\0"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Settings of an experiment, with methods to run it: all that results depend on apart from the data.

    Each paper adds fields. A field ``trials`` is the number of random splits, which users may choose.
    """

    # The folders of ``letor/`` that it can use.
    letor: ClassVar[Sequence[str]] = ()

    # The seed of everything random.
    seed: int = 0

    def read(self, data: Path) -> Mapping[str, Any]:
        """Read the data from a folder, by name; each has a ``digest`` of all that results depend on."""
        raise NotImplementedError

    def run(self, data: Mapping[str, Any], work: Workspace) -> Any:
        """Run all computations, by ``work.cells`` and ``work.cross_validate``, and return `Results`."""
        raise NotImplementedError


E = TypeVar("E", bound=Experiment)
C = TypeVar("C")
R = TypeVar("R", bound="Results[Any, Any]")


@dataclass(frozen=True, eq=False)
class Results(Generic[E, C]):
    """All results of an experiment."""

    settings: E
    # The results by the name of the collection.
    collections: Mapping[str, C]


@dataclass(frozen=True)
class Words:
    """The texts of a paper, edited without Python: ``page.md``, ``captions.toml`` and ``published.toml``.

    They may contain placeholders such as ``{settings.seed}`` or ``{rate:g}``, see `str.format`. A tuple is
    written as numbers with commas between them. A text with a placeholder whose value is None is left out.

    Parameters
    ----------
    title : str
        Heading of the page.
    citation : str
        Citation and question of the paper; Markdown.
    sections : mapping of str to tuple of str
        Other parts of ``page.md``, by their headings: paragraphs and items of lists.
    captions : mapping
        Titles, columns and notes of ``tables``; titles and descriptions of ``figures``; texts, sources and
        evidence of ``claims``; and ``notes`` that tables refer to by name.
    published : mapping
        Values as printed in the paper, and its orderings of methods.
    """

    title: str
    citation: str
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    captions: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str) -> Words:
        """Read the files of a paper.

        In ``page.md`` the first heading is the title, the text below it the citation; every other heading
        begins a section. Blank lines separate paragraphs, and every item of a list is a paragraph.
        """
        folder = Path(__file__).parent / "words" / name
        captions, published = (
            tomllib.loads((folder / file).read_text("utf-8")) for file in ("captions.toml", "published.toml")
        )
        page = (folder / "page.md").read_text("utf-8")
        first, *rest = re.split(r"^#+ ", page, flags=re.MULTILINE)[1:]
        title, citation = first.split("\n", 1)
        headed = (section.split("\n", 1) for section in rest)
        sections = {heading: tuple(re.split(r"\n+(?=- )|\n\n+", body.strip())) for heading, body in headed}
        return cls(title, citation.strip(), sections, captions, published)

    def section(self, heading: str, **values: Any) -> tuple[str, ...]:
        """Return the paragraphs of a part of the page; none if the page does not have it."""
        return _filled(self.sections.get(heading, ()), values)

    def pairs(self, heading: str, **values: Any) -> tuple[tuple[str, str], ...]:
        """Return the items ``- NAME: TEXT`` of a part of the page."""
        items = (item.removeprefix("- ").partition(": ") for item in self.section(heading, **values))
        return tuple((name, text) for name, _, text in items)

    def table(
        self,
        key: str,
        rows: Iterable[Sequence[Any]],
        *,
        heads: Sequence[tuple[str, Sequence[str]]] = (),
        notes: Sequence[str] = (),
        **values: Any,
    ) -> Table:
        """Make a table with its title, notes and digits, and whether it is a detail.

        ``heads`` lists groups of columns that vary, as (name, columns); a single group has no name.
        ``notes`` are further notes, or names of notes.
        """
        caption, named = self.captions["tables"][key], self.captions.get("notes", {})
        # A note that is the name of a shared one is replaced by its text.
        written = [named.get(note, note) for note in caption.get("notes", ())]
        (title,) = _filled([caption["title"]], values)
        groups = [(name, len(columns)) for name, columns in heads] if len(heads) > 1 else []
        return Table(
            title,
            tuple(c for _, columns in heads for c in columns) or _filled(caption["columns"], values),
            tuple(map(tuple, rows)),
            tuple((name, n) for name, n in groups or caption.get("groups", ())),
            (*_filled(written, values), *(named.get(note, note) for note in notes)),
            caption.get("digits", 3),
            caption.get("detail", False),
        )

    def figure(self, key: str, panels: Iterable[Panel], **values: Any) -> Figure:
        """Make a figure with its title and description; its name is the key unless the caption has one."""
        caption = self.captions["figures"][key]
        texts = (caption.get("name", key), caption["title"], caption["alt"])
        name, title, alt = _filled(texts, values)
        return Figure(name, title, tuple(panels), alt)

    def statement(self, key: str, **values: Any) -> tuple[str, str]:
        """Return text and source of a claim."""
        caption = self.captions["claims"][key]
        text, source = _filled((caption["text"], caption["source"]), values)
        return text, source

    def claim(self, key: str, *tests: Significance, tested: str, **values: Any) -> OrderClaim:
        """Make a claim that tests decide; ``tested`` names their sample."""
        (evidence,) = _filled([self.captions["claims"][key]["evidence"]], values)
        return OrderClaim(*self.statement(key, **values), verdict(*tests), evidence, tested, tests)

    def fact(self, key: str, *, holds: bool | None, **values: Any) -> Claim:
        """Make a claim that needs no test of significance; None = the numbers do not decide it."""
        (evidence,) = _filled([self.captions["claims"][key]["evidence"]], values)
        outcome: Verdict = "not tested" if holds is None else "holds" if holds else "does not hold"
        return Claim(*self.statement(key, **values), outcome, evidence)


class _Filler(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, tuple):
            return ", ".join(f"{number:g}" for number in value)
        return _NOTHING if value is None else str(super().format_field(value, format_spec))


def _filled(texts: Iterable[str], values: Mapping[str, Any]) -> tuple[str, ...]:
    filled = (_Filler().vformat(text, (), values) for text in texts)
    return tuple(text for text in filled if _NOTHING not in text)


@dataclass(frozen=True, kw_only=True)
class Paper(Generic[E, R]):
    """A paper: its experiment, and the parts of the report on its results.

    Parameters
    ----------
    words : Words
        Its page, captions and published values.
    full, quick : Experiment
        The experiment of a full and of a quick run.
    claims, tables, figures, summary, per_query : callable
        Parts of the `Report`, made from the results; tables in sections, the summary of the results and the
        claims.
    details : callable
        Values for the placeholders in the sections "how", "differs" and "missing" of the page, in addition to
        the settings and the collections that are absent.
    """

    words: Words
    full: E
    quick: E
    claims: Callable[[R], Iterable[Claim]]
    tables: Callable[[R], Iterable[Section]]
    figures: Callable[[R], Iterable[Figure]]
    summary: Callable[[R, Sequence[Claim]], Iterable[str]]
    per_query: Callable[[R], Iterable[PerQuery]]
    details: Callable[[R], Mapping[str, Any]] = lambda _: {}

    def experiment(self, work: Workspace) -> E:
        """Return the requested experiment.

        Raises
        ------
        InputError
            If a number of trials is given for a paper without random splits.
        """
        values: dict[str, Any] = {"seed": work.seed}
        if work.trials is not None:
            if not hasattr(self.full, "trials"):
                raise InputError(
                    f"trials={work.trials}: {work.name} has no random splits whose number could be chosen; "
                    "leave it out."
                )
            values["trials"] = work.trials
        return replace(self.quick if work.quick else self.full, **values)

    def reproduce(self, work: Workspace, experiment: E | None = None) -> Report:
        """Run the unfinished parts of an experiment, by default the requested one, and return its report.

        Raises
        ------
        InputError
            If data are missing or cannot be read, or the folder holds a run of other settings or data.
        """
        chosen = self.experiment(work) if experiment is None else replace(experiment, seed=work.seed)
        data = chosen.read(work.data)
        fixed = asdict(chosen)
        # A run may be resumed with more trials.
        free = {name: fixed.pop(name) for name in ("trials",) if name in fixed}
        digests = {name: collection.digest for name, collection in data.items()}
        record = work.open({**fixed, "data": digests}, **free)
        begun = time.monotonic()
        results = chosen.run(data, work)
        # The cells also know the time of earlier calls that were interrupted.
        seconds = {"all parts": total_seconds(work.path)} if work.path.is_file() else {}
        seconds["this call"] = time.monotonic() - begun
        record["seconds"] = {name: round(value, 1) for name, value in seconds.items()}
        return self.report(results, work, record)

    def report(self, results: R, work: Workspace, record: Mapping[str, Any]) -> Report:
        """Return the report of finished results; ``record`` is the content of ``settings.json``."""
        claims = corrected(self.claims(results))
        details = {
            "settings": results.settings,
            "absent": absent(self.full.letor, results.collections),
            **self.details(results),
        }
        sections = tuple(section for section in self.tables(results) if section.tables or section.text)
        if work.quick:
            claims = tuple(replace(claim, verdict="not tested", tested="") for claim in claims)
            sections = tuple(
                replace(section, tables=tuple(map(without_published, section.tables))) for section in sections
            )
        return Report(
            name=work.name,
            title=self.words.title,
            paper=self.words.citation,
            summary=(_QUICK_RUN,) if work.quick else tuple(self.summary(results, claims)),
            figures=tuple(self.figures(results)),
            claims=claims,
            missing=self.words.pairs("missing", **details),
            how=self.words.section("how", **details),
            settings=record,
            command=work.command,
            per_query=tuple(self.per_query(results)),
            sections=sections,
            differs=self.words.section("differs", **details),
        )


def without_published(table: Table) -> Table:
    """Leave out published values, which are from other folds and trials, and differences from them."""
    groups = [name for name, n in table.groups for _ in range(n)] or [""] * len(table.columns)
    named = zip(groups, table.columns, strict=True)
    published = {i for i, names in enumerate(named) if any("published" in name for name in names)}
    differences = {i + 2 for i in published if table.columns[i : i + 3] == _COMPARED}
    notes = tuple(note for note in table.notes if not note.startswith("Published"))
    rows = tuple(row for row in table.rows if not str(row[0]).endswith("(published)"))
    return replace(table, rows=rows, notes=notes).without(published | differences)


def with_difference(published: float | None, ours: float) -> tuple[float | None, float, float | None]:
    """Return three cells: a published value, if there is one, ours, and the difference."""
    return published, ours, None if published is None else ours - published


def settings_rows(compared: CrossValidation, *, has_steps: bool = False) -> list[tuple[Value, ...]]:
    """Return for every entry the settings that validation chose in every fold, and its seconds.

    Settings that are the same for all candidates are left out. In brackets, with ``has_steps``: the epoch,
    iteration or round that was kept.
    """
    rows: list[tuple[Value, ...]] = []
    for entry in compared.entries:
        cells = []
        for result in compared.results[entry]:
            chosen = result.tried[result.chosen]
            # Values may be lists, which have no hash. Their repr has one.
            varied = {
                name: value
                for name, value in chosen.settings.items()
                if len({repr(candidate.settings.get(name)) for candidate in result.tried}) > 1
            }
            cells.append(settings_text(varied) + f" ({chosen.steps})" * has_steps)
        rows.append((entry, *cells, compared.seconds(entry)))
    return rows


def line(
    label: str,
    x: Iterable[float],
    y: Iterable[float],
    style: Literal["line", "points", "dashed"] = "line",
) -> Curve:
    """Make a curve of plain numbers."""
    return Curve(label, np.array(list(x), dtype=np.float64), np.array(list(y), dtype=np.float64), style)
