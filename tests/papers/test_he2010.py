"""The reproduction of He & Liu (2010), end to end on a tiny artificial collection, and its verdicts."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from directrix.data.letor.read import read_letor
from directrix.experiments.crossval_result import CrossValidation, FoldResult, Tried
from directrix.experiments.tendency_on_data import random_models
from directrix.measures.names import measure
from directrix.measures.precision import AP
from directrix.papers.he2010 import (
    LISTNET,
    MAP,
    NDCG,
    ONE_START,
    SIZES,
    STRUCTURAL,
    Correlated,
    He2010,
    RandomStart,
    RestartGrids,
    Sweep,
    Tendencies,
    by_flips,
    by_mean_and_variance,
    weak_query,
    weak_tendencies,
)
from directrix.papers.he2010_page import PAPER, agreement_claim
from directrix.papers.workspace import Collection
from directrix.reports.page import page
from directrix.surrogates.structural import SVMMap
from tests.experiments.letor_folder import letor_folder
from tests.papers.workspaces import quick_workspace
from tests.reference import soft as softrank

TINY = He2010(
    Sweep(models=5, sigmas=(0.1, 0.01), alphas=(10.0, 50.0, 100.0, 300.0), betas=(10.0, 100.0)),
    RestartGrids((50.0, 100.0, 300.0), (0.1,), C=(1.0,), restarts=2, soft_restarts=1, epochs=2, folds=3),
)


def reproduce(data, folder):
    request = quick_workspace("he2010", data, folder, quick=False)  # with published values
    return PAPER.reproduce(request, TINY)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A report, the folder of its run, and the data."""
    data, folder = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("run")
    letor_folder(data / "letor" / "OHSUMED")
    return reproduce(data, folder), folder, data


def test_all_tables_are_there(run):
    titles = [table.title.partition(":")[0] for table in run[0].tables]
    assert [t for t in titles if t.startswith("Table")] == [f"Table {n}" for n in range(3, 12)]
    assert {figure.name for figure in run[0].figures} == {"coefficients", "trade-off", "agreement"}
    assert [what for what, _ in run[0].missing][:2] == ["TD2003", "TD2004"]
    assert json.dumps([table.json() for table in run[0].tables], allow_nan=False)
    assert page(run[0]).startswith("# He and Liu (2010)")


def test_published_figures_stand_in_a_table(run):
    bounds = next(t for t in run[0].tables if t.title.startswith("Theorem 2:"))
    assert [row[:4] for row in bounds.rows] == [
        (0.1, None, "603", "69"),
        (0.01, "0.02", "0.00014", "2.2e-10"),
    ]


def test_random_starts_do_not_depend_on_the_given_one():
    class Keeps:
        def minimize(self, objective, start, *, callback=None):
            return start

    one, other = (RandomStart(Keeps(), 3).minimize(None, start) for start in (np.zeros(4), np.ones(4)))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(np.linalg.norm(one), 1.0, rtol=1e-12)


def test_entries_are_trained_for_their_own_measure():
    by_name = {entry.name: entry for entry in He2010(seed=3).entries()}
    assert {name for name, e in by_name.items() if e.measure == "AP"} == {
        *("SVMmap", "PermuRank", MAP, LISTNET, ONE_START)
    }
    assert (by_name[ONE_START].settings["restarts"], by_name[MAP].settings["restarts"]) == (1, 30)
    assert {e.settings["random_state"] for e in by_name.values() if e.settings} == {3}


LEVELS = {  # of the test measure, far apart against the noise
    **{MAP: 0.9, NDCG: 0.8, "SoftRank": 0.3, LISTNET: 0.5, "SVMmap": 0.4, "PermuRank": 0.5},
    **{"DORM": 0.6, "SVMndcg": 0.2, ONE_START: 0.7},
}
SWEEP = Sweep(sigmas=(0.1, 0.01), alphas=(50.0, 100.0, 300.0), betas=(10.0, 100.0))
APART = {
    family: [{"coefficient": 1e-6, "bound": 0.1, "range": 1.0} for _ in surrogates]
    for family, surrogates in SWEEP.families().items()
}
WEAK = weak_tendencies()
APART["structural"] = [{"coefficient": 0.5, "bound": None, "range": 1.0} for _ in STRUCTURAL]


def hand_made():
    """Two folds of 20 test queries; ApproxRank-MAP's training MAP is .5, .6, .7, from one start .1 lower."""
    rng = np.random.default_rng(0)
    measures = ("AP", "nDCG@5", "nDCG@10")
    shared = rng.normal(0.0, 0.02, (2, 3, 20))

    def tried(settings, level):
        means = dict.fromkeys(measures, level)
        return Tried("", settings, "converged", level, means, means, means, 1, 1.0)

    results = {}
    for entry, level in LEVELS.items():
        many = {MAP: (0.5, 0.6, 0.7), ONE_START: (0.4, 0.5, 0.6), NDCG: (0.5, 0.6, 0.7)}
        grid = [
            tried({"alpha": a}, v) for a, v in zip((50.0, 100.0, 300.0), many.get(entry, ()), strict=False)
        ]
        if entry == "SoftRank":
            grid = [tried({"sigma": 0.1}, 0.45), tried({"sigma": 0.01}, 0.75)]
        grid = tuple(grid) or (tried({"C": 1.0}, level / 2),)
        noise = 0.0 if entry in (LISTNET, "PermuRank") else 0.001  # these two: equal but for chance
        results[entry] = [
            FoldResult(grid, len(grid) - 1, level + s + rng.normal(0.0, noise + 1e-3, s.shape))
            for s in shared
        ]
    found = CrossValidation(measures, ("Fold1", "Fold2"), tuple(range(40)), "letor3", results)
    falling = {
        family: {label: np.array([0.5, 0.6]) / 4.0**i for i, label in enumerate(surrogates)}
        for family, surrogates in SWEEP.families().items()
    }
    falling["structural"] = {name: np.array([0.8, 0.9]) for name in STRUCTURAL}
    falling["beta"] = {label: np.array([0.1, 0.1]) for label in falling["beta"]}

    third = {family: {label: v / 3.0 for label, v in of.items()} for family, of in falling.items()}
    return Correlated(Collection("OHSUMED", ()), found, falling, third)


def verdicts(found):
    made = PAPER.claims(Tendencies(He2010(SWEEP), {"OHSUMED": found}, APART, WEAK))
    return {claim.text.removeprefix("OHSUMED: "): claim.verdict for claim in made}


def test_verdicts_follow_the_figures():
    said = verdicts(hand_made())
    assert said["eps* of ApproxRank-MAP decreases as alpha increases"] == "holds"
    assert said["eps* of SVMmap, DORM, PermuRank and SVMndcg is big"] == "holds"
    assert said["with proper parameters the three have very strong tendency correlation"] == "holds"
    assert said["training MAP with restarts keeps increasing for alpha in [50, 400]"] == "holds"
    assert said["test MAP of ApproxRank-MAP is the best"] == "holds"
    trade = "there is a trade-off: as alpha grows training MAP from one start rises, then falls"
    assert said[trade] == "does not hold"  # it only rises
    assert said["ListNet has higher MAP than SVMmap"] == "holds"
    assert said["ListNet has higher MAP than PermuRank"] == "not significant"
    assert said["SoftRank has higher NDCG@5 than ListNet"] == "does not hold"
    assert said["ListNet has higher NDCG@5 than DORM"] == "does not hold"
    assert said["SoftRank has higher training NDCG@5 than DORM"] == "holds"
    assert said["SoftRank can have arbitrarily strong tendency correlation, within its bound"] == "holds"


def test_verdicts_of_theorems_and_of_what_cannot_always_be():
    found = hand_made()
    said = verdicts(found)
    loses = "the model that maximizes a surrogate has at most eps* less of the measure than the best model"
    assert said[loses] == "holds"  # a third of eps*
    # DORM is at .3, ListNet at .25, SVMndcg at .1
    assert said["DORM does not outperform ListNet in training NDCG@5"] == "does not hold"
    assert said["SVMndcg does not outperform ListNet in training NDCG@5"] == "holds"
    (theorem_4,) = (text for text in said if text.startswith("For some data eps* of SVMmap, DORM, PermuRank"))
    assert said[theorem_4] == "holds"
    worse = {family: {label: 4.0 * v for label, v in of.items()} for family, of in found.losses.items()}
    said = verdicts(replace(found, losses=worse))
    assert said[loses] == "does not hold"


@pytest.mark.parametrize("n_relevant", SIZES[:4])
def test_on_the_query_of_theorem_4_measures_rise_and_structural_surrogates_fall(n_relevant):
    q = weak_query(n_relevant)
    n = n_relevant**2
    assert (q.n_docs, q.labels.sum()) == (n, n_relevant)
    high = (n_relevant - 1 + n_relevant / n) / n_relevant  # all but one at the top, one at rank n
    low = sum(i / (n - n_relevant + i) for i in range(1, n_relevant + 1)) / n_relevant
    values = [AP()(np.ascontiguousarray(q.features[:, i]), q.labels, q.qptr)[0] for i in (0, 1)]
    np.testing.assert_allclose(values, [high, low], rtol=1e-12)
    made = {one["surrogate"]: one for one in WEAK if one["n_relevant"] == n_relevant}
    np.testing.assert_allclose(made["SVMMap"]["rise"], high - low, rtol=1e-12)
    for name in STRUCTURAL.values():
        assert made[name]["surrogate rise"] < 0.0
        np.testing.assert_allclose(made[name]["coefficient"], made[name]["rise"], rtol=1e-9)


def test_bounds_of_theorem_2_are_above_the_error_of_softrank():
    """Scores .1 apart, all orders of labels of 5 documents: twice the largest error, by the recursion."""
    scores = 0.1 * np.arange(5.0)
    for sigma in (0.2, 0.05, 0.02):
        errors = []
        for labels in {*permutations((0.0, 0.0, 0.0, 1.0, 2.0)), *permutations((2.0, 2.0, 2.0, 2.0, 1.0))}:
            exact = measure("nDCG")(scores, np.array(labels), np.array([0, 5]))[0]
            errors.append(abs(softrank.ndcg(scores, labels, sigma) - exact))
        bounds = by_flips(5, 0.1, sigma), by_mean_and_variance(5, 0.1, sigma)
        assert 2 * max(errors) <= bounds[0] < bounds[1]


def test_the_loss_is_that_of_the_model_with_the_highest_surrogate(run):
    """Theorem 1 on the training queries of a fold, by hand."""
    _, folder, data = run
    cells = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]
    (cell,) = (c for c in cells if c["key"][:4] == ["tendency", "OHSUMED", "Fold1", "structural"])
    q = read_letor(data / "letor" / "OHSUMED" / "Fold1" / "train.txt")
    scores = [q.features.astype(float) @ w for w in random_models(5, q.n_features)]
    exact = [AP()(s, q.labels, q.qptr).mean() for s in scores]
    hinges = [SVMMap().value_and_grad(s, q.labels, q.qptr)[0].mean() for s in scores]
    first = cell["result"][0]
    np.testing.assert_allclose(first["loss"], max(exact) - exact[int(np.argmax(hinges))], rtol=0, atol=1e-9)
    assert first["loss"] <= first["coefficient"]


def test_verdicts_turn_with_the_figures():
    found = hand_made()
    rising = {name: dict(reversed(of.items())) for name, of in found.coefficients.items()}
    rising["structural"] = {name: np.array([0.01, 0.02]) for name in STRUCTURAL}
    said = verdicts(replace(found, coefficients=rising))
    assert said["eps* of ApproxRank-MAP decreases as alpha increases"] == "does not hold"
    assert said["eps* of SVMmap, DORM, PermuRank and SVMndcg is big"] == "does not hold"
    assert said["with proper parameters the three have very strong tendency correlation"] == "does not hold"


def test_the_trade_off_is_read_off_the_candidates():
    trade = hand_made().trade_off
    np.testing.assert_array_equal(trade.alphas, [50.0, 100.0, 300.0])
    np.testing.assert_array_equal(trade.many, [[0.5, 0.5], [0.6, 0.6], [0.7, 0.7]])
    np.testing.assert_array_equal(trade.one, [[0.4, 0.4], [0.5, 0.5], [0.6, 0.6]])


def test_agreement_ranks_coefficients_against_measures():
    found = hand_made().agreements[0]
    assert list(found.points) == [
        *(f"ApproxRank-MAP alpha={a}" for a in (50, 100, 300)),
        *("SVMmap", "PermuRank"),
    ]
    assert [round(eps, 4) for eps, _ in found.points.values()][:3] == [0.55, 0.1375, 0.0344]
    # .7 > .6 > .5 by strength, then SVMmap and PermuRank, tied: 9 of 10 pairs count, all concordant
    np.testing.assert_allclose(found.by_fold["train"], np.full(2, 9 / np.sqrt(9 * 10)), rtol=1e-12)


def test_folds_decide_whether_tendency_predicts_the_measure():
    each = hand_made().agreements[0]

    def verdict(*taus):
        agreed = each._replace(by_fold={side: np.array(taus) for side in ("train", "test")})
        return agreement_claim("OHSUMED", agreed).verdict

    assert verdict(0.5, 0.4, 0.5) == "holds"
    assert verdict(-0.5, -0.4, -0.5) == "does not hold"
    assert verdict(0.9, 0.8, -0.2) == "not significant"
