"""Tables of the reproduction, from figures made by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from directrix.experiments.significance import Significance
from directrix.papers.yue2007 import (
    METHODS,
    Constraints,
    Count,
    DataSetResult,
    Grid,
    SystemResult,
    TrialResults,
    Yue2007,
)
from directrix.papers.yue2007_page import PAPER
from directrix.reports.page import page
from tests.papers.workspaces import quick_workspace

COUNTED = (Constraints("basic", 5.0, (Count(0.01, 1e6, 30, 25.0),), 5, 5),)
NAMES = ("basic", "plain + basic", "all", "all without the best")


def pair(wins, losses, ties, p):
    """A comparison of two systems with the sign of the more frequent outcome."""
    return Significance(p, wins - losses, wins + losses + ties, wins, ties, losses)


def column(name, best):
    """A data set on which SVMmap has MAP ``best``, and all others less and less."""
    against = [pair(3, 1, 0, 0.009), pair(2, 1, 1, 0.051), *[pair(4, 0, 0, 0.001)] * 4]
    others = [m.name for m in METHODS[1:]]
    pairs = zip(others, against, strict=True)
    lower = [SystemResult(m, np.full(4, max(best - 0.1 * i, 0.0)), a) for i, (m, a) in enumerate(pairs, 1)]
    bases = ("Best run", "2nd best", "3rd best")
    return DataSetResult(
        name=name,
        n_runs=5,
        n_features=250,
        n_documents=1000,
        n_relevant=40,
        topics=("351", "352", "353", "354"),
        methods=(
            SystemResult("SVMmap", np.full(4, best), None),
            *lower,
        ),
        base=tuple(
            SystemResult(b, np.full(4, best - 0.01 * i), a, f"run-{i}")
            for i, (b, a) in enumerate(zip(bases, against, strict=False), 1)
        ),
        chosen={m.name: {0.01: 1, 1.0: 3} for m in METHODS},
        by_c={m.name: {0.01: 0.25, 1.0: 0.125} for m in METHODS},
        seconds={m.name: 10.0 for m in METHODS},
        not_converged={m.name: 2 for m in METHODS},
    )


@pytest.fixture(scope="module")
def found():
    return tuple(column(name, best) for name, best in zip(NAMES, (0.6, 0.7, 0.8, 0.9), strict=True))


def results_of(found, counted, settings=None):
    return TrialResults(settings or Yue2007(), {one.name: one for one in found}, counted)


def tables_of(found):
    """All tables, whatever their group."""
    return [table for group in PAPER.tables(results_of(found, COUNTED)) for table in group.tables]


def numbered(found):
    """Tables from 6 on."""
    return tables_of(found)[6:]


def report(found, settings, command="x"):
    request = quick_workspace("yue2007", Path("data"), Path("folder"), quick=False, command=command)
    return PAPER.report(results_of(found, COUNTED, settings), request, {})


def test_runs_stand_next_to_the_published_functions(found):
    six = numbered(found)[0]
    assert [name for name, _ in six.groups] == [
        "",
        "basic",
        "plain + basic",
        "TREC 9 (published)",
        "TREC 10 (published)",
    ]
    assert six.rows[0] == ("SVMmap", 0.6, None, 0.7, None, 0.242, None, 0.236, None)
    assert six.rows[1] == ("Best run", 0.59, "3/1 **", 0.69, "3/1 **", 0.204, "39/11 **", 0.181, "37/13 **")
    assert six.rows[2][:3] == ("2nd best", 0.58, "2/1/1")
    assert len(six.rows) == 4
    assert "Best runs of 'basic', in order: run-1, run-2, run-3." in six.notes


def test_methods_stand_next_to_the_published_methods(found):
    ten = numbered(found)[4]
    assert [name for name, _ in ten.groups] == ["", "all", "TREC 9 (published)", "TREC 10 (published)"]
    assert [row[0] for row in ten.rows] == [method.name for method in METHODS]
    assert ten.rows[1] == ("SVMroc", pytest.approx(0.7), "3/1 **", 0.282, "29/21", 0.278, "35/15 **")
    assert ten.rows[5][3:] == (0.233, "47/3 **", 0.238, "46/4 **")
    assert ten.rows[-1][3:] == (None,) * 4, "SVMacc with the hinge is not the paper's"


@pytest.mark.parametrize(("number", "names"), [(6, NAMES[:2]), (7, NAMES[2:3]), (8, NAMES[3:])])
def test_tables_9_to_11_have_the_data_sets_of_6_to_8(found, number, names):
    for shown in (numbered(found)[number - 6], numbered(found)[number - 3]):
        assert tuple(name for name, _ in shown.groups[1:-2]) == names
    assert numbered(found)[number - 3].title.startswith(f"Table {number + 3}:")


def test_choices_of_c_are_shown(found):
    chosen, _, balanced, _ = numbered(found)[6:]
    assert [row[1] for row in balanced.rows] == ["SVMacc2"] * 4
    assert chosen.columns == ("data set", "model", "0.01", "1", "seconds per trial")
    assert chosen.rows[1] == ("basic", "SVMroc", 1, 3, 10.0 / 4)


@pytest.fixture(scope="module")
def shown(found):
    """The page of a run with settings of its own."""
    grid = replace(Grid(), hinge_c=(0.01, 1.0), accuracy_c=(0.5, 2.0), published_c=(0.25, 4.0))
    settings = Yue2007(trials=4, seed=7, grid=grid)
    return page(report(found, settings, "directrix lab reproduce yue2007 --data DIR --seed 7"))


def test_the_page_has_the_settings_and_what_did_not_converge(shown):
    assert "- 4 trials, seed 7: of 50 topics 10 train, 5 choose" in shown
    assert ": 0.01, 1;\n" in shown
    assert "sum over documents of the squared hinge): 0.5, 2;" in shown
    assert "the hinge as published, with C of 0.25, 4 and at most 50 passes" in shown
    assert f"{4 * 7 * 2} of {4 * 7 * 2 * 4} training runs ended" in shown
    assert "basic (5 runs), plain + basic (5 runs)" in shown


def test_the_page_begins_with_what_svmmap_is_better_than(found, shown):
    line = next(line for line in shown.splitlines() if line.startswith("- **basic**"))
    assert line == (
        "- **basic**: SVMmap has MAP 0.600: better than SVMroc 0.500, SVMacc2 0.300, SVMacc3 0.200, SVMacc4 "
        "0.100, SVMacc (hinge) 0.000, best run (`run-1`) 0.590; no clear difference from SVMacc 0.400."
    )
    lost = [replace(f, against=pair(1, 3, 0, 0.001)) if f.against else f for f in found[0].methods]
    turned = replace(found[0], methods=tuple(lost))
    assert "MAP 0.600: better than best run (`run-1`) 0.590; worse than SVMroc 0.500, SVMacc 0.400," in page(
        report((turned, *found[1:]), Yue2007())
    )


CLEAR_WIN, CLEAR_LOSS, UNCLEAR = pair(40, 10, 0, 0.01), pair(10, 40, 0, 0.01), pair(30, 20, 0, 0.2)


def verdict(name, text, found, **against):
    """Verdict on a data set, where some comparisons of SVMmap, and MAP of SVMroc, are as told."""
    (number,) = [i for i, c in enumerate(found) if c.name == name]

    def told(figure):
        test, mean = against.get(figure.name.replace(" ", "_"), (figure.against, figure.mean))
        return replace(figure, against=test, values=np.full(4, mean))

    one = found[number]
    changed = replace(one, methods=tuple(map(told, one.methods)), base=tuple(map(told, one.base)))
    (claim,) = [c for c in PAPER.claims(results_of((changed,), ())) if text in c.text]
    return claim.verdict


@pytest.mark.parametrize(
    ("name", "text", "told", "expected"),
    [
        ("basic", "better than the best run", {"Best_run": (CLEAR_WIN, 0.1)}, "holds"),
        ("basic", "better than the best run", {"Best_run": (UNCLEAR, 0.1)}, "not significant"),
        ("basic", "better than the best run", {"Best_run": (CLEAR_LOSS, 0.9)}, "does not hold"),
        ("basic", "SVMmap is above SVMroc (in", {"SVMroc": (UNCLEAR, 0.5)}, "not significant"),
        ("basic", "SVMmap is above SVMroc (in", {"SVMroc": (CLEAR_LOSS, 0.7)}, "does not hold"),
        ("basic", "SVMmap is above SVMroc (in", {"SVMroc": (CLEAR_WIN, 0.5)}, "holds"),
        ("all", "above the best run (in", {"Best_run": (UNCLEAR, 0.1)}, "not significant"),
        ("all", "SVMmap is better than SVMroc", {"SVMroc": (UNCLEAR, 0.1)}, "not significant"),
        ("all without the best", "run, which it lacks", {"Best_run": (CLEAR_LOSS, 0.99)}, "does not hold"),
        ("all without the best", "run, which it lacks", {"Best_run": (UNCLEAR, 0.99)}, "not significant"),
        ("all without the best", "highest MAP", {"SVMroc": (CLEAR_WIN, 0.8)}, "holds"),
        ("all without the best", "highest MAP", {"SVMroc": (UNCLEAR, 0.8)}, "not significant"),
        ("all without the best", "highest MAP", {"SVMroc": (CLEAR_LOSS, 0.99)}, "does not hold"),
        ("basic", "SVMmap is better than SVMacc2", {"SVMacc2": (CLEAR_LOSS, 0.9)}, "does not hold"),
    ],
)
def test_what_the_paper_says_holds_or_not(found, name, text, told, expected):
    assert verdict(name, text, found, **told) == expected


def test_every_sentence_is_checked_on_every_data_set_it_is_about(found):
    made = list(PAPER.claims(results_of(found, ())))
    assert [sum(claim.text.startswith(f"{name}: ") for claim in made) for name in NAMES] == [7, 7, 7, 8]
    assert {claim.source for claim in made} == {f"Table {number}" for number in range(6, 12)}
    first = made[0]
    assert first.tested == "4 topics"
    assert first.evidence == "MAP SVMmap 0.6000, run-1 0.5900; higher on 3 topics, lower on 1; p = 0.009"


def test_queries_can_be_looked_into(found):
    part = report(found, Yue2007()).per_query[1]
    assert (part.name, part.query_ids) == ("plain + basic", ("351", "352", "353", "354"))
    assert list(part.values)[5:8:2] == ["SVMacc4", "Best run (run-1)"]
    np.testing.assert_allclose(part.values["SVMroc"], [0.6] * 4, rtol=1e-12, atol=0)


def test_the_figure_has_the_worth_of_every_c(found):
    panel = report(found, Yue2007()).figures[0].panels[2]
    assert panel.title == "all"
    assert [curve.label for curve in panel.curves] == [method.name for method in METHODS]
    assert (panel.curves[0].x.tolist(), panel.curves[0].y.tolist()) == ([0.01, 1.0], [0.25, 0.125])


def test_tables_1_to_5_and_theorem_1_come_first(found):
    one, two, _, four, five, constraints = tables_of(found)[:6]
    assert one.rows[0] == ("p", 1, 0, 0, 0, 0, 1, 1, 0)
    assert one.rows[2][1:4] == (1, 2, 3)
    assert [round(value, 2) for value in two.rows[0][1:]] == [0.59, 0.47, 0.59, 0.47]
    assert [round(value, 2) for value in four.rows[1][1:]] == [0.51, 0.73, 0.64, 0.73]
    assert five.rows[0] == ("basic (ours)", 5, 250, 1000, 40)
    assert five.rows[-1] == ("TREC 10 Submissions (published)", 18, 900, None, None)
    assert constraints.rows == (("basic", "0.01", 25.0, 30, "1.0e+06"),)


def test_ends_of_the_grid_are_counted(found):
    """Every choice of these data sets is at one of two ends."""
    chosen = numbered(found)[6]
    assert chosen.notes[0].startswith("32 of 32 choices are at an end of the grid")
    more = {"chosen": {1.0: 1, 2.0: 2, 4.0: 1}, "by_c": {1.0: 0.1, 2.0: 0.2, 4.0: 0.1}}
    inside = [
        replace(one, **{name: dict.fromkeys(one.chosen, counts) for name, counts in more.items()})
        for one in found
    ]
    assert numbered(inside)[6].notes[0].startswith("16 of 32 choices")


def test_theorem_1_is_a_claim_with_its_verdict():
    made = PAPER.claims(results_of((), COUNTED))
    assert [(claim.source, claim.verdict) for claim in made] == [("Theorem 1", "holds")]
    broken = replace(COUNTED[0], counts=(Count(0.01, 20.0, 30, 25.0),))
    (claim,) = PAPER.claims(results_of((), (broken,)))
    assert claim.verdict == "does not hold"
