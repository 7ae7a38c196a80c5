"""Files of a paper that are edited without Python, and how their placeholders are filled."""

import pytest

from directrix.papers import PAPERS
from directrix.papers.paper import Words, with_difference
from directrix.reports.report import Claim

CAPTIONS = {
    "notes": {"means": "Means of {n} folds."},
    "tables": {
        "one": {"title": "Table {number}", "columns": ["method", "{measure}"], "notes": ["means", "{web}"]}
    },
    "claims": {"a": {"text": "A is above {other}", "source": "Table {number}", "evidence": "{value:.2f}"}},
}
SECTIONS = {
    "how": ("- Rates {rates}.", "- Missing {why}."),
    "missing": ("- Table 2, A: not: there", "- B: {why}"),
}


def test_a_paragraph_without_its_value_is_left_out():
    found = Words("T", "C", SECTIONS)
    assert found.section("how", rates=(0.1, 10.0), why=None) == ("- Rates 0.1, 10.",)
    assert found.section("how", rates=1, why="data") == ("- Rates 1.", "- Missing data.")
    assert found.pairs("missing", why=None) == (("Table 2, A", "not: there"),)
    assert found.section("differs") == ()
    with pytest.raises(KeyError, match="rates"):
        found.section("how")


def test_captions_are_filled():
    found = Words("T", "C", captions=CAPTIONS)
    table = found.table("one", [["a", 0.5]], number=3, measure="AP", n=5, web=None)
    assert (table.title, table.columns, table.notes) == ("Table 3", ("method", "AP"), ("Means of 5 folds.",))
    claim = found.fact("a", holds=False, other="B", number=2, value=0.123)
    assert claim == Claim("A is above B", "Table 2", "does not hold", "0.12")


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_has_its_sections(name):
    found = Words.of(name)
    assert {"how", "missing"} <= set(found.sections)
    assert found.title
    assert found.citation
    assert all(": " in item for item in found.sections["missing"])


def test_the_difference_is_ours_minus_the_published_value():
    assert with_difference(0.5, 0.75) == (0.5, 0.75, 0.25)
    assert with_difference(None, 0.75) == (None, 0.75, None)
