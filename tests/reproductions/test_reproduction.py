"""What all reproductions share: settings of a request, the record of a run, the parts of a report."""

import json
from dataclasses import dataclass, replace

import pytest

from directrix import reproductions
from directrix.errors import InputError
from directrix.reports.page import page
from directrix.reports.report import Claim, Section
from directrix.reproductions.base import Reproduction, SeededSettings, without_published
from directrix.reproductions.paper import Paper
from directrix.tables import Table
from tests.reproductions.requests import request_of


@dataclass(frozen=True)
class Settings(SeededSettings):
    rate: float = 0.5


@dataclass(frozen=True)
class WithTrials(Settings):
    trials: int = 50


@dataclass(frozen=True)
class Numbers:
    digest: str = "sha256:0"


def tables(results):
    table = Table("Numbers", ("name", "value"), (("rate", results.rate),))
    return (Section("First", (table, table)), Section("How to read"), Section("Second", (table,)))


PAPER = Reproduction(
    paper=Paper("A paper", "Somebody (2030)."),
    full=Settings(),
    quick=Settings(rate=0.1),
    read=lambda data, settings: {"numbers": Numbers()},
    run=lambda data, settings, runner: settings,
    claims=lambda results: [Claim("A is above B", "Table 1", "holds", "")],
    tables=tables,
    figures=lambda results: (),
    summary=lambda results, claims: [f"{len(claims)} claim."],
    per_query=lambda results: (),
    details=lambda results: {},
    seconds=lambda results: {"training": 1.26},
)


def test_a_paper_that_was_loaded_does_not_hide_the_function():
    assert reproductions.reproduction("qin2010") is reproductions.reproduction("qin2010")


def test_settings_are_those_of_the_request(tmp_path):
    assert PAPER.settings(request_of("paper", tmp_path, tmp_path, seed=3)) == Settings(seed=3, rate=0.1)
    assert PAPER.settings(request_of("paper", tmp_path, tmp_path, quick=False)) == Settings()


def test_trials_are_for_papers_that_have_some(tmp_path):
    request = request_of("paper", tmp_path, tmp_path, trials=3)
    with pytest.raises(InputError, match="--trials 3: paper has no random splits"):
        PAPER.settings(request)
    random = replace(PAPER, quick=WithTrials(), full=WithTrials())
    assert random.settings(request).trials == 3
    assert random.settings(replace(request, trials=None)).trials == 50


def test_a_run_may_be_resumed_with_more_trials_but_not_with_another_rate(tmp_path):
    random = replace(PAPER, quick=WithTrials(), full=WithTrials())
    for trials in (2, 3):
        random.reproduce(request_of("paper", tmp_path, tmp_path, trials=trials))
    record = json.loads((tmp_path / "settings.json").read_text())
    assert record["trials"] == 3
    assert record["fixed"] == {
        **{"seed": 0, "rate": 0.5, "data": {"numbers": "sha256:0"}},
        **{"quick": True, "directrix": "0"},
    }
    with pytest.raises(InputError, match=r"rate 0\.5"):
        random.reproduce(request_of("paper", tmp_path, tmp_path), WithTrials(rate=0.7))


def test_the_page_of_a_quick_run_says_so(tmp_path):
    quick = PAPER.reproduce(request_of("paper", tmp_path, tmp_path / "quick"))
    full = PAPER.reproduce(request_of("paper", tmp_path, tmp_path / "full", quick=False))
    assert "quick run" in quick.summary[0]
    assert quick.summary[1:] == full.summary == ("1 claim.",)


def test_headings_have_the_tables_of_their_group(tmp_path):
    report = PAPER.reproduce(request_of("paper", tmp_path, tmp_path))
    sections = [(section.title, len(section.tables)) for section in report.sections]
    assert sections == [("First", 2), ("How to read", 0), ("Second", 1)]
    assert report.settings["seconds"]["training"] == 1.3
    assert "this call" in report.settings["seconds"]


def test_a_quick_run_is_compared_with_no_published_values(tmp_path):
    """They are means of five folds, or of other numbers of trials."""
    table = Table(
        "Means",
        ("method", "published", "ours", "difference", "ours", "AP", "nDCG"),
        (("A", 0.5, 0.4, -0.1, 0.3, 0.2, 0.1),),
        groups=(("", 1), ("TD2003", 3), ("MQ2008", 1), ("published", 2)),
        notes=("Published: a web site.", "Ours: means."),
    )
    paper = replace(PAPER, tables=lambda results: (Section("First", (table,)),))
    quick, full = (
        paper.report(Settings(), request_of("paper", tmp_path, tmp_path, quick=is_quick), {})
        for is_quick in (True, False)
    )
    assert full.tables == (table,)
    assert "quick run" in quick.summary[0]
    (shown,) = quick.tables
    assert quick.sections[0].tables == quick.tables
    assert (shown.columns, shown.rows) == (("method", "ours", "ours"), (("A", 0.4, 0.3),))
    assert shown.groups == (("", 1), ("TD2003", 1), ("MQ2008", 1))
    assert shown.notes == ("Ours: means.",)


def test_differences_of_our_own_values_stay():
    table = Table("Tests", ("methods", "difference", "p"), (("A, B", 0.1, 0.5),))
    assert without_published(table) == table


def test_the_page_says_how_long_all_parts_took(tmp_path):
    """Also those of earlier calls: the file of finished cells knows."""

    def run(data, settings, runner):
        runner.path.write_text('{"key": ["a"], "seconds": 100.0, "result": 1}\n' * 2)
        return settings

    request = request_of("paper", tmp_path, tmp_path / "run", quick=False)
    report = replace(PAPER, run=run).reproduce(request)
    assert report.settings["seconds"]["all parts"] == 200.0
    assert "Its parts, one after another, took 3 minutes by the clock." in page(report)
    assert "by the clock" not in page(PAPER.reproduce(replace(request, folder=tmp_path / "other")))
