"""Tables of the reproduction, from figures made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from directrix.experiments.significance import Paired
from directrix.experiments.yue2007.methods import METHODS, Grid
from directrix.experiments.yue2007.protocol import Settings
from directrix.experiments.yue2007.results import ColumnResult, Figure
from directrix.reports.yue2007 import page, tables

NAMES = ("basic", "plain + basic", "all", "all without the best")


def column(name, best):
    """A data set on which SVMmap has MAP ``best``, and all others less and less."""
    against = [Paired(3, 1, 0, 0.049), Paired(2, 1, 1, 0.051), *[Paired(4, 0, 0, 0.001)] * 3]
    others = [m.name for m in METHODS[1:]]
    pairs = zip(others, against, strict=True)
    lower = [Figure(m, np.full(4, best - 0.1 * i), a) for i, (m, a) in enumerate(pairs, 1)]
    bases = ("Best run", "2nd best", "3rd best")
    return ColumnResult(
        name=name,
        n_runs=5,
        topics=("351", "352", "353", "354"),
        methods=(
            Figure("SVMmap", np.full(4, best), None),
            *lower,
        ),
        base=tuple(
            Figure(b, np.full(4, best - 0.01 * i), a, f"run-{i}")
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


def test_runs_stand_beside_the_published_functions(found):
    six = tables(found)[0]
    assert [name for name, _ in six.groups] == ["", "basic", "plain + basic", "TREC 9", "TREC 10"]
    assert six.rows[0] == ("SVMmap", 0.6, None, 0.7, None, 0.242, None, 0.236, None)
    assert six.rows[1] == ("Best run", 0.59, "3/1 **", 0.69, "3/1 **", 0.204, "39/11 **", 0.181, "37/13 **")
    assert six.rows[2][:3] == ("2nd best", 0.58, "2/1/1")
    assert len(six.rows) == 4
    assert "Runs of 'basic': run-1, run-2, run-3." in six.notes


def test_methods_stand_beside_the_published_methods(found):
    ten = tables(found)[4]
    assert [name for name, _ in ten.groups] == ["", "all", "TREC 9", "TREC 10"]
    assert [row[0] for row in ten.rows] == [method.name for method in METHODS]
    assert ten.rows[1] == ("SVMroc", pytest.approx(0.7), "3/1 **", 0.282, "29/21", 0.278, "35/15 **")
    assert ten.rows[5][3:] == (0.233, "47/3 **", 0.238, "46/4 **")


@pytest.mark.parametrize(("number", "names"), [(6, NAMES[:2]), (7, NAMES[2:3]), (8, NAMES[3:])])
def test_tables_9_to_11_have_the_data_sets_of_6_to_8(found, number, names):
    for shown in (tables(found)[number - 6], tables(found)[number - 3]):
        assert tuple(name for name, _ in shown.groups[1:-2]) == names
    assert tables(found)[number - 3].title.startswith(f"Table {number + 3}:")


def test_published_figures_of_one_model_are_the_same_in_both_tables(found):
    shown = tables(found)
    for base, methods in ((0, 3), (1, 4), (2, 5)):
        assert shown[base].rows[0][-4:] == shown[methods].rows[0][-4:]


def test_choices_and_worth_of_c_are_shown(found):
    chosen, _, balanced, worth, _, _ = tables(found)[6:]
    assert [row[1] for row in balanced.rows] == ["SVMacc2"] * 4
    assert chosen.columns == ("data set", "model", "0.01", "1", "seconds a trial")
    assert chosen.rows[1] == ("basic", "SVMroc", 1, 3, 10.0 / 4)
    assert worth.rows[0] == ("basic", "SVMmap", 0.25, 0.125)


def test_the_page_has_the_settings_and_what_did_not_converge(found):
    settings = Settings(
        trials=4,
        seed=7,
        grid=replace(Grid(), hinge_c=(0.01, 1.0), accuracy_c=(0.5, 2.0), accuracy_loss="hinge"),
    )
    text = page(found, settings, "directrix reproduce yue2007 --data DIR --seed 7")
    assert "- 4 trials, seed 7: 10 topics train, 5 choose" in text
    assert ": 0.01, 1;\n" in text
    assert "sum over documents of the hinge): 0.5, 2;" in text
    assert f"{4 * 6 * 2} trainings ended before" in text
    assert "$ directrix reproduce yue2007 --data DIR --seed 7\n" in text
    assert text.count("**: p < .05") + text.count(r"\*\*: p \< .05") == 1
