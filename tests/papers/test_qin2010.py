"""The reproduction of Qin et al. (2010), end to end on a small collection; its claims on made-up values."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from directrix.data.letor.read import read_letor
from directrix.errors import InputError
from directrix.experiments.crossval_result import CrossValidation, FoldResult
from directrix.experiments.significance import paired_t
from directrix.experiments.surrogate_error import approximation
from directrix.laws.bounds import BOUNDS
from directrix.measures.precision import AP
from directrix.papers.claims import Ordering, check_ordering, comparable, scored
from directrix.papers.paper import Results
from directrix.papers.qin2010 import (
    MAP,
    NDCG_ALL,
    OWN,
    QUICK,
    Approximated,
    Bounded,
    ErrorCurve,
    Grids,
    Qin2010,
)
from directrix.papers.qin2010_page import PAPER, falls
from directrix.papers.workspace import Collection
from directrix.reports.page import page
from directrix.reports.write import document
from directrix.surrogates.approx import ApproxAP, ApproxNDCG, ApproxPrecision
from directrix.trainers.stochastic import SGD
from directrix.trainers.wrappers import Continuation
from tests.experiments.letor_folder import letor_folder
from tests.messages import rejects
from tests.papers.workspaces import quick_workspace

# the lists of the small collection are shorter than ten documents
pytestmark = pytest.mark.filterwarnings("ignore:P@10 has the same value for every ranking")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    letor_folder(folder / "letor" / "OHSUMED", seed=1)
    letor_folder(folder / "letor" / "TD2004", seed=2)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


def reproduce(data, folder, **options):
    return PAPER.reproduce(quick_workspace("qin2010", data, folder, **options))


@pytest.fixture(scope="module")
def report(data, folder):
    return reproduce(data, folder)


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The report of the same trainings as if they were a full run, which has published values."""
    request = quick_workspace("qin2010", data, tmp_path_factory.mktemp("whole"), quick=False)
    return PAPER.reproduce(request, QUICK)


def table(report, start):
    return next(each for each in report.tables if each.title.startswith(start))


def test_every_table_has_every_row(report):
    names = [entry.name for entry in QUICK.entries()]
    assert [row[0] for row in table(report, "Tables 2 and 3").rows] == names
    assert [row[0] for row in table(report, "Figures 4 and 5").rows] == names
    assert [row[0] for row in table(report, "Measures of Section 7").rows] == list(OWN.values())
    assert len(table(report, "Figures 1 to 3: error of approximation, TD2004").rows) == 3 + 3 + 3


def test_published_figures_stand_next_to_ours_with_the_difference(whole):
    two = table(whole, "Tables 2 and 3")
    assert two.groups == (("", 1), ("TD2003", 1), ("TD2004", 3), ("OHSUMED", 1))
    said = {row[0]: row for row in two.rows}
    assert said["SVMmap"][1:3] == (0.198, 0.304)
    ours, difference = said["SVMmap"][3:5]
    np.testing.assert_allclose(difference, ours - 0.304, rtol=0, atol=1e-12)
    assert said["SoftRank"][1] is None
    ndcg = {row[0]: row for row in table(whole, "NDCG@n").rows}
    assert ndcg["ApproxNDCG"][1] == 0.6698
    np.testing.assert_allclose(ndcg["ApproxNDCG"][3], ndcg["ApproxNDCG"][2] - 0.6698, rtol=0, atol=1e-12)


def test_figures_are_those_of_the_rankings_that_are_shown(report):
    """AP of the kept rankings, which hold every document of these short lists, by hand."""
    (each,) = (p for p in report.per_query if (p.name, p.measure) == ("OHSUMED", "AP"))
    assert len(each.query_ids) == 10  # two of three folds of 15 queries
    rows = zip(each.query_ids, each.values["ApproxAP"], each.rankings["ApproxAP"], strict=True)
    for query, values, ranking in rows:
        assert {name.split("-")[0] for name, *_ in ranking} == {f"D{int(query) - 1}"}
        assert [score for *_, score in ranking] == sorted((s for *_, s in ranking), reverse=True)
        relevant = np.array([label > 0 for _, label, _ in ranking])
        precision = np.cumsum(relevant) / np.arange(1, len(ranking) + 1)
        np.testing.assert_allclose(values, precision[relevant].mean(), rtol=1e-12, atol=0)


def test_table_2_is_the_mean_of_the_folds(report):
    (each,) = (p for p in report.per_query if (p.name, p.measure) == ("OHSUMED", "AP"))
    folds = each.values["ApproxAP"].reshape(2, 5)
    row = next(row for row in table(report, "Tables 2 and 3").rows if row[0] == "ApproxAP")
    np.testing.assert_allclose(row[-1], folds.mean(axis=1).mean(), rtol=1e-12, atol=0)


def test_question_b_compares_the_surrogate_of_a_measure_with_the_best_of_the_others(report):
    means = table(report, "Measures of Section 7")
    at = {name: i for i, name in enumerate(means.columns[1:7], 1)}
    rows = {row[1]: row for row in table(report, "Question (b)").rows}
    assert {row[0] for row in rows.values()} == {"OHSUMED"}
    assert [row[2] for row in rows.values()] == list(OWN.values())
    values = {row[0]: row[at["NDCG@10"]] for row in means.rows}
    _, _, own, value, place, rival, best, p = rows["NDCG@10"]
    assert own == "ApproxNDCG@10"
    assert value == values.pop(own)
    assert best == values[rival] == max(values.values())
    assert place == f"{1 + sum(other > value for other in values.values())} of 6"
    assert 0.0 <= p <= 1.0


def test_surrogates_of_measures_have_one_grid_and_are_chosen_by_their_own_measure():
    by_name = {entry.name: entry for entry in Qin2010().surrogates_of_measures()}
    assert {entry.measure.name: name for name, entry in by_name.items()} == OWN
    assert {repr(entry.resolved.grid) for entry in by_name.values()} == {repr({"alpha": Grids().ap_alpha})}
    made = {name: e.resolved.ranker(measure=e.measure, alpha=20.0).surrogate for name, e in by_name.items()}
    assert made["ApproxNDCG@10"] == ApproxNDCG(alpha=20.0, k=10, beta=10.0)
    assert made["ApproxPrecision"] == ApproxPrecision(k=10, alpha=20.0, beta=10.0)
    trainers = {name: e.resolved.ranker(measure=e.measure, alpha=20.0).trainer for name, e in by_name.items()}
    assert trainers["ApproxNDCG"] == SGD(learning_rate=0.01, epochs=200)
    for name in ("ApproxNDCG@10", "ApproxPrecision"):  # the paper has no stages
        assert trainers[name] == Continuation(trainers["ApproxNDCG"], shares=())


def test_error_curves_are_those_of_the_first_fold(report, data):
    train = read_letor(data / "letor" / "OHSUMED" / "Fold1" / "train.txt")
    for panel, label, surrogate in (
        (0, "alpha = 50", ApproxAP(alpha=50.0, beta=10.0)),
        (1, "beta = 1", ApproxAP(alpha=100.0, beta=1.0)),
        (2, "alpha = 100", ApproxNDCG(alpha=100.0)),
    ):
        found = approximation(train, surrogate, trainer=SGD(learning_rate=0.01, epochs=40, random_state=0))
        figure = next(figure for figure in report.figures if figure.name == "errors-ohsumed")
        curve = next(curve for curve in figure.panels[panel].curves if curve.label == label)
        np.testing.assert_allclose(curve.y, found.rho, rtol=1e-9, atol=0)
        bounds = table(report, "Bounds of the theorems, OHSUMED").rows
        name = f"{type(surrogate).__name__}, {label}"
        (row,) = (row for row in bounds if row[0] == name)
        shares = [float(found.covered(kind).mean()) for kind in BOUNDS]
        np.testing.assert_allclose(row[1:13:3], shares, rtol=1e-9, atol=0)
        known = ~np.isnan(found.bounds["relevant"])
        np.testing.assert_allclose(row[11], found.bounds["relevant"][known].mean(), rtol=1e-9, atol=0)
        np.testing.assert_allclose(row[12], found.errors[known].mean(), rtol=1e-9, atol=0)


def test_what_validation_chose_names_settings_that_were_chosen_among(report):
    rows = {row[0]: row[1:-1] for row in table(report, "What validation chose, OHSUMED").rows}
    assert len(rows["ApproxAP"]) == 2  # folds
    assert all(re.fullmatch(r"alpha=10+ beta=10+ \(\d+\)", cell) for cell in rows["ApproxAP"])
    assert all(re.fullmatch(r"- \(\d+\)", cell) for cell in rows["AdaRank.MAP"])  # one candidate


def test_what_is_absent_is_named_and_what_is_there_is_claimed(report):
    assert [what.split(", ")[-1] for what, _ in report.missing[:2]] == [
        "TD2003",
        "A replacement for TD2003 and TD2004",
    ]
    texts = [claim.text for claim in report.claims]
    assert len(set(texts)) == len(texts)
    assert "TD2004: AdaRank.MAP has higher MAP than SVMmap" in texts
    assert not any(text.startswith(("TD2003", "MQ2008")) for text in texts)
    assert {claim.verdict for claim in report.claims} == {"not tested"}  # a quick run
    assert len(report.tables) == 1 + 2 * 2 + 3 + 2 + 3
    where = {claim.text: claim.source for claim in report.claims}
    assert where["TD2004: ApproxAP has higher MAP than SVMmap"] == "Sect. 6.3, Table 2"
    assert where["OHSUMED: ApproxAP has higher MAP than SVMmap"] == "Sect. 6.3, Table 2, of TD2003 and TD2004"
    assert where["OHSUMED: the error of ApproxNDCG falls as alpha grows"] == "Fig. 3"
    assert where["TD2004: the error of ApproxNDCG falls as alpha grows"] == "Fig. 3, of OHSUMED"
    assert "quick run" in report.summary[0]


def test_a_run_is_taken_up_again(report, data, folder):
    before = (folder / "cells.jsonl").read_bytes()
    again = reproduce(data, folder, jobs=2)
    assert (folder / "cells.jsonl").read_bytes() == before
    assert [t.rows for t in again.tables] == [t.rows for t in report.tables]
    with rejects(InputError):
        reproduce(data, folder, seed=1)
    assert json.loads((folder / "settings.json").read_text())["fixed"]["grids"]["epochs"] == 40


def test_every_form_of_it_can_be_written(report, whole):
    page_of_it = page(whole)
    assert "| SVMmap | 0.198 | 0.304 |" in page_of_it
    assert whole.claims[0].verdict == "holds"
    assert any(
        "no error is above the bound" in claim.text and claim.verdict == "holds" for claim in whole.claims
    )
    for published in ("0.304", "minus the published value"):
        assert published not in page(report), "a quick run compares nothing with published values"
    assert document(report)["name"] == "qin2010"
    json.dumps(document(report), allow_nan=False)


def test_the_grids_are_the_papers():
    grids = {entry.name: entry.resolved.grid for entry in Qin2010().entries()[:2]}
    assert len(grids["ApproxAP"]["alpha"]) * len(grids["ApproxAP"]["beta"]) == 20
    assert grids["ApproxNDCG"]["alpha"] == (10, 20, 50, 100, 150, 200, 250, 300)
    ranker = Qin2010().entries()[0].resolved.ranker(measure=AP(rel=2), alpha=20.0, beta=50.0)
    assert ranker.trainer == SGD(learning_rate=0.01, epochs=200)
    assert (ranker.surrogate, ranker.start, ranker.l2) == (
        ApproxAP(alpha=20.0, beta=50.0, rel=2),
        "zero",
        0.0,
    )


# claims, on made-up values


def results_of(**values):
    """A collection on which methods have these values, by query, of MAP and NDCG@n alike."""
    results = {
        name: [FoldResult((), 0, np.array([each, each], dtype=np.float64))] for name, each in values.items()
    }
    n = len(next(iter(values.values())))
    compared = CrossValidation((MAP, NDCG_ALL), ("Fold1",), tuple(range(n)), "default", results)
    return Approximated(Collection("OHSUMED", ()), compared, {})


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ([0.1, 0.2, 0.15, 0.1, 0.2], "holds"),
        ([-0.1, -0.2, -0.15, -0.1, -0.2], "does not hold"),
        ([0.1, -0.2, 0.15, -0.1, 0.1], "not significant"),
        ([0.1, -0.05, 0.15, 0.1, 0.05], "not significant"),  # p = .12
        ([0.0, 0.0, 0.0, 0.0, 0.0], "not significant"),
    ],
)
def test_an_ordering_needs_its_sign_and_significance(gaps, verdict):
    results = results_of(first=0.5 + np.array(gaps), second=np.full(5, 0.5))
    ordering = Ordering("first", "second", MAP, "Table 2")
    claim = check_ordering(ordering, "OHSUMED", results.compared, "MAP")
    assert claim.verdict == verdict
    assert claim.text == "OHSUMED: first has higher MAP than second"
    assert f"{np.mean(gaps):+.4f}" in claim.evidence
    assert f"p = {paired_t(0.5 + np.array(gaps), np.full(5, 0.5)).p:.3g}" in claim.evidence


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ([0.001, -0.001, 0.002, -0.002], "holds"),
        ([0.004, 0.005, 0.004, 0.005], "holds"),  # a clear difference, and small
        ([0.1, 0.11, 0.1, 0.11], "does not hold"),
        ([0.2, -0.3, 0.1, 0.1], "not significant"),
        ([-0.02, 0.0, -0.02, 0.0], "not significant"),  # from -.028 to .008
        ([-0.004, -0.012, -0.008, -0.014], "not significant"),  # below 0, but from -.017 to -.002
    ],
)
def test_comparable_is_a_small_interval(gaps, verdict):
    results = results_of(first=0.5 + np.array(gaps), second=np.full(4, 0.5))
    pair = (scored(results.compared, name, MAP) for name in ("first", "second"))
    assert comparable("comparable", "Fig. 5", *pair).verdict == verdict


def curve_of(rho, by_query=None, broken=0):
    each = Bounded(0.5, 0.2, 0.1, broken)
    by_query = np.full(4, np.mean(rho)) if by_query is None else np.array(by_query)
    return ErrorCurve(np.array(rho), by_query, {"relevant": each})


@pytest.mark.parametrize(
    ("second", "third", "verdict"),
    [
        ([0.2, 0.21, 0.2, 0.2], [0.1, 0.1, 0.11, 0.1], "holds"),
        ([0.2, 0.21, 0.2, 0.2], [0.21, 0.2, 0.2, 0.2], "not significant"),
        ([0.2, 0.21, 0.2, 0.2], [0.4, 0.41, 0.4, 0.41], "does not hold"),
        ([0.2, 0.21, 0.2, 0.2], [0.4, 0.41, 0.4, 0.4], "not significant"),  # by the same in four queries
    ],
)
def test_an_error_falls_if_every_step_lowers_it(second, third, verdict):
    curves = {
        10.0: curve_of([0.3], [0.3, 0.3, 0.31, 0.3]),
        50.0: curve_of([0.2], second),
        100.0: curve_of([0.1], third),
    }
    assert falls("OHSUMED", "ApproxAP by alpha", "Fig. 1", curves).verdict == verdict


@pytest.mark.parametrize(
    ("rho", "first"),
    [([0.04, 0.03], 1), ([0.2, 0.04, 0.06, 0.04], 4), ([0.04, 0.05], None), ([0.06, 0.04], 2)],
)
def test_from_which_epoch_on_it_is_accurate(rho, first):
    assert curve_of(rho).above(0.95) == first


def test_accuracy_is_asked_of_every_epoch_and_every_alpha():
    values = {
        name: np.full(4, 0.5) for name in ("ApproxAP", "ApproxNDCG", "AdaRank.MAP", "AdaRank.NDCG", "SVMmap")
    }
    good, late = (
        {10.0: curve_of([0.04, 0.03]), 100.0: curve_of([0.01, 0.01])},
        {100.0: curve_of([0.03, 0.01], broken=2)},
    )
    curves = {"ApproxAP by alpha": good, "ApproxNDCG by alpha": late, "ApproxAP by beta": good}
    results = Results(Qin2010(), {"TD2003": replace(results_of(**values), curves=curves)})
    texts = {claim.text: claim for claim in PAPER.claims(results)}
    at = {text: claim.verdict for text, claim in texts.items() if "accurate" in text or "98 %" in text}
    assert at == {
        "TD2003: ApproxAP is accurate above 95 % for all alpha, in every epoch": "holds",
        "TD2003: ApproxAP above 98 % at alpha = 100, in every epoch": "holds",
        "TD2003: ApproxNDCG is accurate above 95 % for all alpha, in every epoch": "holds",
        "TD2003: ApproxNDCG above 98 % at alpha = 100, in every epoch": "does not hold",
    }
    assert (
        "above from epoch 2 on"
        in texts["TD2003: ApproxNDCG above 98 % at alpha = 100, in every epoch"].evidence
    )
    broken = next(claim for text, claim in texts.items() if "no error is above" in text)
    assert broken.verdict == "does not hold"
    assert broken.evidence.startswith("2 above")
