"""Every paper: the experiment that is asked for, the record of a run, the parts of a report."""

import json
from dataclasses import dataclass, replace

from directrix.errors import InputError
from directrix.papers import find_paper
from directrix.papers.paper import Experiment, Paper, Results, Words, without_published
from directrix.reports.page import page
from directrix.reports.report import Claim, Section
from directrix.tables import Table
from tests.messages import rejects
from tests.papers.workspaces import quick_workspace


@dataclass(frozen=True)
class Numbers:
    digest: str = "sha256:0"


@dataclass(frozen=True)
class Rates(Experiment):
    rate: float = 0.5

    def read(self, data):
        return {"numbers": Numbers()}

    def run(self, data, work):
        return Results(self, {})


@dataclass(frozen=True)
class WithTrials(Rates):
    trials: int = 50


def tables(results):
    table = Table("Numbers", ("name", "value"), (("rate", results.settings.rate),))
    how = Section("How to read", text=("From left to right.",))
    return (Section("First", (table, table)), how, Section("Nothing"), Section("Second", (table,)))


PAPER = Paper(
    words=Words("A paper", "Somebody (2030)."),
    full=Rates(),
    quick=Rates(rate=0.1),
    claims=lambda results: [Claim("A is above B", "Table 1", "holds", "")],
    tables=tables,
    figures=lambda results: (),
    summary=lambda results, claims: [f"{len(claims)} claim."],
    per_query=lambda results: (),
)


def test_a_paper_is_found_by_its_name():
    assert find_paper("qin2010") is find_paper("qin2010")
    with rejects(InputError):
        find_paper("nobody1999")


def test_the_experiment_is_that_of_the_request(tmp_path):
    assert PAPER.experiment(quick_workspace("paper", tmp_path, tmp_path, seed=3)) == Rates(seed=3, rate=0.1)
    assert PAPER.experiment(quick_workspace("paper", tmp_path, tmp_path, quick=False)) == Rates()


def test_trials_are_for_papers_that_have_some(tmp_path):
    request = quick_workspace("paper", tmp_path, tmp_path, trials=3)
    with rejects(InputError):
        PAPER.experiment(request)
    random = replace(PAPER, quick=WithTrials(), full=WithTrials())
    assert random.experiment(request).trials == 3
    assert random.experiment(replace(request, trials=None)).trials == 50


def test_a_run_may_be_resumed_with_more_trials_but_not_with_another_rate(tmp_path):
    random = replace(PAPER, quick=WithTrials(), full=WithTrials())
    for trials in (2, 3):
        random.reproduce(quick_workspace("paper", tmp_path, tmp_path, trials=trials))
    record = json.loads((tmp_path / "settings.json").read_text())
    assert record["trials"] == 3
    assert record["fixed"] == {
        **{"seed": 0, "rate": 0.5, "data": {"numbers": "sha256:0"}},
        **{"quick": True, "directrix": "0"},
    }
    with rejects(InputError):
        random.reproduce(quick_workspace("paper", tmp_path, tmp_path), WithTrials(rate=0.7))


def test_the_page_of_a_quick_run_says_so(tmp_path):
    quick = PAPER.reproduce(quick_workspace("paper", tmp_path, tmp_path / "quick"))
    full = PAPER.reproduce(quick_workspace("paper", tmp_path, tmp_path / "full", quick=False))
    assert "quick run" in quick.summary[0]
    assert (len(quick.summary), full.summary) == (1, ("1 claim.",))
    assert [claim.verdict for claim in (*quick.claims, *full.claims)] == ["not tested", "holds"]


def test_headings_have_the_tables_of_their_group(tmp_path):
    report = PAPER.reproduce(quick_workspace("paper", tmp_path, tmp_path))
    sections = [(section.title, len(section.tables)) for section in report.sections]
    assert sections == [("First", 2), ("How to read", 0), ("Second", 1)]
    assert "this call" in report.settings["seconds"]


def test_a_quick_run_is_compared_with_no_published_values(tmp_path):
    """They are means of five folds, or of other numbers of trials."""
    table = Table(
        "Means",
        ("method", "published", "ours", "difference", "ours", "AP", "nDCG"),
        (("A", 0.5, 0.4, -0.1, 0.3, 0.2, 0.1), ("A (published)", 0.6, *[None] * 5)),
        groups=(("", 1), ("TD2003", 3), ("MQ2008", 1), ("TREC 9, published", 2)),
        notes=("Published: a web site.", "Ours: means."),
    )
    paper = replace(PAPER, tables=lambda results: (Section("First", (table,)),))
    quick, full = (
        paper.report(Results(Rates(), {}), quick_workspace("paper", tmp_path, tmp_path, quick=is_quick), {})
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

    class Slow(Rates):
        def run(self, data, work):
            lines = (f'{{"key": ["{key}"], "seconds": 100.0, "result": 1}}\n' for key in "ab")
            work.path.write_text("".join(lines))
            return super().run(data, work)

    request = quick_workspace("paper", tmp_path, tmp_path / "run", quick=False)
    report = replace(PAPER, full=Slow()).reproduce(request)
    assert report.settings["seconds"]["all parts"] == 200.0
    assert "Its parts, one after another, took 3 minutes by the clock." in page(report)
    assert "by the clock" not in page(PAPER.reproduce(replace(request, folder=tmp_path / "other")))
