"""The reproduction of Chapelle and Wu (2010) from end to end on tiny collections, and its claims."""

import dataclasses
import json
from contextlib import contextmanager

import numpy as np
import pytest

import directrix as dx
from directrix.experiments.crossval import plan_entry
from directrix.experiments.significance import adjust, paired_t
from directrix.papers import chapelle2010
from directrix.papers.chapelle2010 import CHOSEN_BY, QUICK, Chapelle2010, SmoothedResults, check_theory
from directrix.papers.chapelle2010_page import PAPER, best_claim, compared_table, listwise_claims
from directrix.papers.claims import Scored
from directrix.papers.workspace import Collection, Compared, absent
from tests.experiments.letor_folder import letor_folder, letor_queries
from tests.papers.workspaces import quick_workspace

TINY = dataclasses.replace(
    QUICK, baselines=("RankSVM", "SVMMap", "SmoothAP", "SoftNDCG"), truncations=(1,), collections=None
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    letor_folder(folder / "letor" / "OHSUMED")
    letor_folder(folder / "letor" / "TD2003", seed=1)
    return folder


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def request_(data, tmp_path_factory, told):
    @contextmanager
    def progress(what):
        yield lambda *of: told.append((what, *of))

    request = quick_workspace("chapelle2010", data, tmp_path_factory.mktemp("run"), quick=False)
    return dataclasses.replace(request, progress=progress)


@pytest.fixture(scope="module")
def report(request_):
    return PAPER.reproduce(request_, TINY)


def test_it_runs_from_end_to_end(report, told):
    assert told[0][0] == "paths of smoothing"
    assert {what for what, *_ in told[1:]} == {
        "paths of smoothing",
        "trainings on OHSUMED",
        "trainings on TD2003",
    }
    assert [table.title.split(":")[0] for table in report.tables] == [
        "Figure 2",
        "Figure 3, OHSUMED",
        "Figure 4, TD2003",
        "Table 3",
        "What validation chose, and seconds of all trainings",
    ]
    assert [figure.name for figure in report.figures] == [
        "annealing",
        "error",
        "methods-ohsumed-1",
        "methods-td2003-1",
        "cut-offs",
    ]
    json.dumps([table.json() for table in report.tables], allow_nan=False)
    assert "Figure 4, TD2003" not in dict(report.missing)
    assert "Figure 4, TD2004" in dict(report.missing)


def test_figures_of_the_table_are_those_of_the_queries(report):
    table = report.tables[1]
    for queries in report.per_query:
        assert set(queries.values) == {"SmoothNDCG", *TINY.baselines}
    by_name = {row[0]: row for row in table.rows}
    values = report.per_query[0].values
    assert len(values["RankSVM"]) == len(report.per_query[0].query_ids) == 10  # two folds of three
    np.testing.assert_allclose(by_name["RankSVM"][4], values["RankSVM"].mean(), rtol=1e-12, atol=0)
    assert by_name["RankSVM"][7:] == (None,) * 3, "two folds are other queries than LETOR's five"
    assert by_name["SmoothNDCG"][6] is None
    p = [paired_t(values[name], values["SmoothNDCG"]).p for name in TINY.baselines]
    assert [by_name[name][6] for name in TINY.baselines] == adjust(p, "holm").tolist()


def test_published_figures_stand_next_to_those_of_all_folds(report, request_):
    collections = {"OHSUMED": TINY.read(request_.data)["OHSUMED"]}
    one = TINY.run(collections, request_).collections["OHSUMED"]
    five = dataclasses.replace(one, compared=dataclasses.replace(one.compared, folds=tuple("12345")))
    row = next(row for row in compared_table(five).rows if row[0] == "RankSVM")
    assert row[7:] == (0.433, 0.414, row[4] - 0.414)
    (claim,) = [claim for claim in listwise_claims(five) if "LETOR's" in claim.text]
    assert claim.verdict == "not tested", "LETOR's site has no values by query"
    assert not any("LETOR's" in claim.text for claim in report.claims)


def test_statements_of_theory_hold(report):
    theory = [claim for claim in report.claims if claim.source.startswith("Sect. 5.")]
    assert [claim.source for claim in theory] == [
        "Sect. 5.1",
        "Sect. 5.2",
        "Sect. 5.2, Theorem 1",
        "Sect. 5.3",
        "Sect. 5.4",
    ]
    verdicts = [claim.verdict for claim in theory]
    assert verdicts == ["holds", "holds", "not tested", "holds", "holds"], "a bound above 1 says nothing"


def test_every_kind_of_claim_is_checked(report):
    text = "\n".join(claim.text for claim in report.claims)
    for part in (
        "improves while sigma",
        "falls again",
        "better local optimum",
        "kinks",
        "best of all methods on OHSUMED by the mean of nDCG@1 to nDCG@10",
        "than SoftRank on OHSUMED",
        "above the listwise methods on OHSUMED",
        "train with k = 50 and not with k = 1",
        "overfits more than k = 50",
    ):
        assert part in text
    assert "SmoothAP" not in text  # the paper does not try it
    assert "TD2003" not in text  # of which its text claims nothing


def test_the_best_of_all_is_clear_of_every_one():
    rng = np.random.default_rng(0)
    values = {name: rng.random(40) for name in ("SmoothNDCG", "RankSVM", "ListNet")}

    def claim():
        return best_claim("X", *(Scored(name, one) for name, one in values.items()))

    assert claim().verdict == "not significant"
    values["ListNet"] = values["SmoothNDCG"] - 0.3
    assert claim().verdict == "not significant"
    values["RankSVM"] = values["SmoothNDCG"] - 0.2
    found = claim()
    assert found.verdict == "holds"
    assert "place 1 of the 3 that the paper compares" in found.evidence
    values["RankSVM"] = values["SmoothNDCG"] + 0.2
    assert claim().verdict == "does not hold"


def test_theory_does_not_hold_where_it_is_broken(monkeypatch):
    train = letor_queries()
    right = check_theory(train, [1.0, 0.25], 0)
    assert right.is_bounded
    assert right.rate > 0.95
    assert max(right.scaled_gradient, right.unregularized, right.rescaled_value) < 1e-6
    monkeypatch.setattr(
        chapelle2010, "smooth_rescaled", lambda sigma, l2, scale: (sigma * scale, l2 / scale**2)
    )
    monkeypatch.setattr(chapelle2010, "smooth_ndcg_bound", lambda *_: 1e-6)
    monkeypatch.setattr(chapelle2010, "_INFINITE", 1.0)
    wrong = check_theory(train, [1.0, 0.25], 0)
    assert not wrong.is_bounded
    assert min(wrong.unregularized, wrong.moved, wrong.rescaled_value) > 1e-3
    assert right.steepest <= 1.0
    monkeypatch.setattr(chapelle2010, "smooth_ndcg_lipschitz", lambda n, sigma: 1e-3)
    assert check_theory(train, [1.0, 0.25], 0).steepest > 1.0


def test_the_gap_of_theorem_1_is_that_of_the_training_queries():
    train = letor_queries()
    found = check_theory(train, [4.0, 1.0], 0)
    longest = np.diff(train.qptr).max()
    expected = [
        dx.laws.generalization_bound(
            train.n_queries,
            longest,
            lipschitz=dx.laws.smooth_ndcg_lipschitz(longest, sigma),
            norm=np.linalg.norm(dx.trainers.regression_start(train)),
            radius=np.linalg.norm(train.features, axis=1).max(),
        )
        for sigma in (4.0, 1.0)
    ]
    np.testing.assert_allclose(found.gaps, expected, rtol=1e-5, atol=0)


def test_a_full_run_has_all_rows():
    settings = Chapelle2010()
    first, other = (
        [entry.name for entry in settings.entries(is_first=is_first)] for is_first in (True, False)
    )
    assert other == ["SmoothNDCG", *settings.baselines]
    assert first[: len(other)] == other
    assert "SmoothNDCG, k = all" in first
    assert settings.rounds == 13
    truncated = {e.name: e.settings["k"] for e in settings.entries(is_first=True) if "k =" in e.name}
    assert truncated["SmoothNDCG, k = 10"] == 10
    assert list(truncated.values()) == list(settings.truncations)
    for entry in settings.entries(is_first=True):
        assert plan_entry(entry, CHOSEN_BY).candidates


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (QUICK, ["other collections"]),
        (Chapelle2010(), ["Figure 3, OHSUMED", "MQ2008, which is not in the paper"]),
    ],
)
def test_collections_that_were_not_run_are_named(settings, expected):
    found = {name: Compared(Collection(name, ()), None) for name in settings.letor[1:-1]}
    details = PAPER.details(SmoothedResults(settings, found, {}, None))
    missing = PAPER.words.pairs("missing", **{"absent": absent(settings.letor, found), **details})
    assert [what for what, _ in missing[:-3]] == expected
