"""The page of the demo."""

import re

import numpy as np

from directrix.data.synthetic import make_cubic
from directrix.experiments.significance import t_interval
from directrix.reports.demo import demo_report
from directrix.reports.write import write_page

ROWS = [
    {"method": "A", "AP": 0.5, "seconds": 0.1, "difference": None, "p": None},
    {"method": "B", "AP": 0.6, "seconds": 0.1, "difference": 0.1, "p": 4e-17},
    {"method": "C", "AP": 0.6, "seconds": 0.1, "difference": 0.1, "p": 0.0111},
]
VALUES = {"A": [0.4, 0.5, 0.6], "B": [0.5, 0.6, 0.7], "C": [0.5, 0.9, 0.7]}


def page(path):
    scores = {name: np.arange(12.0) for name in VALUES}
    values = {name: {"AP": np.array(of)} for name, of in VALUES.items()}
    remarks = ["stars: p < .05 *, .01 **, .001 ***", "mean |a_b - c_d|"]
    write_page(path, demo_report(ROWS, make_cubic(3, 4, 2, seed=0), scores, values, remarks))
    return path.read_text(encoding="utf-8")


def test_remarks_are_text_and_the_table_has_p_and_stars(tmp_path):
    shown = page(tmp_path / "page.html")
    assert "stars: p &lt; .05 *, .01 **, .001 ***</p>" in shown
    assert "<li>mean |a_b - c_d|</li>" in shown
    assert 'title="4e-17">&lt; .001</td><td>***</td>' in shown  # not 0.000
    assert 'title="0.0111">0.011</td><td>*</td>' in shown


def test_it_begins_with_what_was_gained_and_a_picture_of_it(tmp_path):
    shown = page(tmp_path / "page.html")
    low, high = t_interval(VALUES["C"], VALUES["A"])
    gain = "<strong>+0.200 AP</strong> over A on 3 test queries of synthetic data, 95 % interval "
    order = [">What was gained</h2>", f"{gain}[{low:+.3f}, {high:+.3f}]", "<figure>", "<table"]
    assert [shown.index(part) for part in order] == sorted(shown.index(part) for part in order)
    assert shown.count("<figure>") == 1
    assert "It is higher on 3 queries and lower on 0." in shown


def test_it_compares_the_saved_model_with_the_baseline_first(tmp_path):
    shown = page(tmp_path / "page.html")
    assert re.search(r'"methods":\s*\["C",\s*"A",\s*"B"\]', shown)


def test_without_matplotlib_the_page_says_how_to_get_the_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    shown = page(tmp_path / "page.html")
    assert "<figure>" not in shown
    assert "directrix[plot]" in shown
