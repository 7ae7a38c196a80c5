"""The page of the demo."""

import numpy as np

from directrix.data.synthetic import make_cubic
from directrix.reports.demo import demo_page


def test_remarks_are_text_and_the_table_has_p_and_stars():
    q = make_cubic(3, 4, 2, seed=0)
    rows = [{"method": "A", "AP": 0.5, "seconds": 0.1, "difference": None, "p": None}]
    rows.append({"method": "B", "AP": 0.6, "seconds": 0.1, "difference": 0.1, "p": 4e-17})
    rows.append({"method": "C", "AP": 0.6, "seconds": 0.1, "difference": 0.1, "p": 0.0111})
    scores, values = {"A": np.arange(12.0)}, {"A": {"AP": np.array([0.4, 0.5, 0.6])}}
    shown = demo_page(rows, q, scores, values, ["stars: p < .05 *, .01 **, .001 ***", "mean |a_b - c_d|"])
    assert "<li>stars: p &lt; .05 *, .01 **, .001 ***</li>" in shown
    assert "<li>mean |a_b - c_d|</li>" in shown
    assert 'title="4e-17">&lt; .001</td><td>***</td>' in shown  # not 0.000
    assert 'title="0.0111">0.011</td><td>*</td>' in shown
