"""The reproduction of Donmez et al. (2009), end to end on tiny artificial data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from directrix.papers.donmez2009 import Donmez2009
from directrix.papers.donmez2009_page import PAPER
from directrix.papers.donmez2009_training import CONSTRUCTIONS, MEASURES, Artificial, Large
from tests.papers.workspaces import quick_workspace

TINY = Donmez2009(
    rates=(0.1,),
    epochs=13,
    patience=13,
    hidden=2,
    eps=0.2,
    delta=0.2,  # 8 directions
    polish_moves=2,
    artificial=Artificial(
        n_features=4, docs_per_query=8, n_monomials=34, n_train=8, n_valid=6, n_test=8, sizes=(4, 8)
    ),
    large=Large(size=Artificial(5, 8, 20, 9, 6, 7, ()), rates=(0.1, 0.01)),
)


@pytest.fixture(scope="module")
def request_(tmp_path_factory):
    folder = tmp_path_factory.mktemp("donmez2009")
    return quick_workspace("donmez2009", folder / "no data", folder / "out", quick=False, seed=3)


@pytest.fixture(scope="module")
def report(request_):
    return PAPER.reproduce(request_, TINY)


def test_no_direction_points_along_the_random_weights(report):
    """Along them a linear ranking stays as it is: one seed must not draw both."""
    figure = next(one for one in report.figures if one.name == "fig6-random-weights")
    panel = next(one for one in figure.panels if "single-layer" in one.title)
    assert all(len(set(curve.y.tolist())) > 1 for curve in panel.curves)


def test_everything_of_the_paper_is_in_the_report(report):
    assert [table.title.split(":")[0] for table in report.tables[:3]] == [
        "Table 1",
        "Table 2",
        "As Tables 1 and 2, for nDCG",
    ]
    assert any(table.title.startswith("Tables 3 and 4") for table in report.tables)
    assert [figure.name for figure in report.figures] == [
        "fig1-ndcg",
        "fig2-ndcg-10",
        "fig3-ap",
        "fig4-rr",
        "fig5-effective-pairs",
        "fig6-random-weights",
    ]
    assert {one.measure for one in report.per_query} == set(MEASURES)
    assert len(report.claims) >= 24
    for table in report.tables:
        assert table.text()
        json.dumps(table.json(), allow_nan=False)


def test_missing_data_are_named(report):
    (web, _), (ohsumed, reason), (mq2008, _), *_ = report.missing
    assert web == "10K and 22K web data"
    assert (ohsumed.split(",")[0], mq2008.split(",")[0]) == ("OHSUMED", "MQ2008")
    assert "letor/OHSUMED/Fold1" in reason
    assert report.settings["fixed"]["seed"] == 3
    assert report.settings["fixed"]["artificial"]["n_train"] == 8
    assert "The seed is 3" in report.how[-1]


def test_curves_begin_at_the_value_of_the_weights_and_the_highest_is_above_the_others(report):
    figure = report.figures[0]
    assert [panel.title for panel in figure.panels] == ["artificial, single-layer", "artificial, two-layer"]
    for panel in figure.panels:
        *directions, highest = panel.curves
        assert len(directions) == 4
        assert {curve.y[0] for curve in panel.curves} == {highest.y[0]}
        assert highest.x.tolist() == pytest.approx([i / 10 for i in range(11)])
        for curve in directions:
            assert (curve.y <= highest.y + 1e-12).all()


def test_the_table_of_optima_agrees_with_the_claim(report):
    table = next(table for table in report.tables if table.title.startswith("Local optimality"))
    rising = {row[1]: row[6] for row in table.rows if row[2] == "AP" and row[3] == "best on training"}
    claim = next(claim for claim in report.claims if claim.text.startswith("Weights learned for AP"))
    assert claim.source == "Sect. 7.1, Fig. 3"
    assert "80% confidence" in claim.text
    for net, count in rising.items():
        assert f"artificial, {net}: {count} of 8 rise" in claim.evidence
    assert (claim.verdict == "holds") == (max(rising.values()) == 0)


def test_published_values_are_complete_and_as_printed():
    trained, constructions = (PAPER.words.published[name] for name in ("trained", "constructions"))
    assert all(tuple(rows) == MEASURES for rows in trained.values())
    assert {len(row) for rows in trained.values() for row in rows.values()} == {4}
    assert trained["web 10K"]["nDCG@10"][0][0] == 0.442
    assert trained["web 22K"]["RR"][3][0] == 0.539
    assert all(set(rows) == set(CONSTRUCTIONS) for rows in constructions.values())
    for rows in trained.values():
        assert [row[i][1] for i, row in enumerate(rows.values())] == ["–"] * 4


def test_the_data_of_the_papers_size_have_rows_of_their_own(report):
    table = next(one for one in report.tables if "paper's size" in one.title)
    assert table.notes[0].startswith("5 features, 8 documents per query, 9 / 6 / 7 queries")
    assert [row[:3] for row in table.rows] == [
        ("single-layer", "nDCG", "chosen by validation"),
        ("single-layer", "nDCG", "best on training"),
    ]
    assert table.rows[0][9] > 0.0
    assert table.rows[1][3] >= table.rows[0][3]


def test_the_page_says_what_differs(report):
    assert any(text.startswith("- Rates: 0.1;") for text in report.differs)


def test_rates_that_were_chosen_are_counted(report):
    table = report.tables[-1]
    assert table.columns[-1] == "0.1"
    assert [row[-1] for row in table.rows] == [1] * 8  # one fold, one rate, which is both ends of the grid
    assert table.notes[0].startswith("8 of 8 training runs have a rate at an end")


def test_steps_from_short_weights_are_relative_to_their_norm(tmp_path, monkeypatch):
    """Longer steps would leave nothing of them; here weights of a norm below 1.5 count as short."""
    monkeypatch.setattr("directrix.papers.donmez2009._SHORTEST", 1.5)
    request = quick_workspace("donmez2009", tmp_path / "no data", tmp_path / "out", quick=False)
    PAPER.reproduce(request, replace(TINY, large=None))
    cells = [json.loads(line)["result"] for line in (request.folder / "cells.jsonl").read_text().splitlines()]
    tested = [one for one in cells if isinstance(one, dict) and "norm" in one]
    assert min(one["norm"] for one in tested) < 1.5 < max(one["norm"] for one in tested)
    for one in tested:
        assert one["unit"] == pytest.approx(one["norm"] if one["norm"] < 1.5 else 1.0, rel=1e-6)
