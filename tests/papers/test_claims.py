"""Verdicts on values made by hand."""

import numpy as np
import pytest

from directrix.experiments.crossval_result import CrossValidation, FoldResult
from directrix.experiments.significance import Significance, paired_t
from directrix.papers.claims import OrderClaim, Scored, ahead, corrected, scored, verdict
from directrix.reports.report import Claim


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ([(0.1, 0.01), (0.2, 0.001)], "holds"),
        ([(0.1, 0.01), (0.2, 0.04)], "holds"),
        ([(0.1, 0.01), (0.2, 0.06)], "not significant"),
        ([(0.1, 0.01), (-0.2, 0.06)], "not significant"),
        ([(0.1, 0.01), (-0.2, 0.3)], "not significant"),
        ([(0.1, 0.01), (-0.2, 0.02)], "does not hold"),
        ([(0.1, 0.01), (-0.2, 0.04)], "not significant"),  # one of two
        ([(0.1, 0.05)], "not significant"),
        ([(0.0, 0.0)], "not significant"),
        ([(0.1, np.nan)], "not significant"),
        ([], "not significant"),
    ],
)
def test_a_verdict_needs_every_test(tests, expected):
    assert verdict(*(Significance(p, difference, 50, 0, 0, 0) for difference, p in tests)) == expected


def test_one_system_ahead_of_several():
    rng = np.random.default_rng(0)
    values = [level + 0.01 * rng.normal(size=40) for level in (0.5, 0.4, 0.3)]
    first, *others = (Scored(name, of) for name, of in zip("ABC", values, strict=True))
    claim = ahead("A is best", "Table 1", first, *others)
    assert claim.verdict == "holds"
    for other in others:
        test = paired_t(first.values, other.values)
        shown = f"{other.name} {other.mean:.4f} (difference {test.difference:+.4f}, p = {test.p:.3g})"
        assert shown in claim.evidence
    assert ahead("C is best", "Table 1", others[1], first, others[0]).verdict == "does not hold"


def test_the_mean_of_a_claim_is_over_queries_as_its_test_is():
    """Folds of one and of three queries: the mean of the folds' means would be .55."""
    folds = [FoldResult((), 0, np.array([values])) for values in ([0.8], [0.2, 0.3, 0.4])]
    compared = CrossValidation(("AP",), ("Fold1", "Fold2"), tuple(range(4)), "default", {"A": folds})
    np.testing.assert_allclose(compared.mean("A", "AP"), (0.8 + 0.3) / 2, rtol=1e-12)
    np.testing.assert_allclose(scored(compared, "A", "AP").mean, (0.8 + 0.2 + 0.3 + 0.4) / 4, rtol=1e-12)


def test_verdicts_of_a_page_have_holms_correction():
    """No p of .02 and .03 is below .05 / 2, a p of .001 is below .05 / 4; facts keep their verdicts."""
    claims = [
        OrderClaim(name, "Table 1", "holds", "p", tests=(Significance(p, 0.1, 50, 0, 0, 0),))
        for name, p in (("A", 0.02), ("B", 0.001), ("C", 0.03), ("D", np.nan))
    ]
    fact = Claim("E", "Table 2", "holds", "")
    found = [claim.verdict for claim in corrected([*claims, fact])]
    assert found == ["not significant", "holds", "not significant", "not significant", "holds"]
    assert [claim.verdict for claim in corrected([claims[0], claims[1]])] == ["holds", "holds"]
    assert corrected([fact]) == (fact,)


def test_all_comparisons_of_a_claim_count_once():
    """They are needed together, so that the least clear of them decides."""
    several = tuple(Significance(p, 0.1, 50, 0, 0, 0) for p in (0.02, 0.001, 0.015))
    claims = [OrderClaim(name, "", "holds", "", tests=several) for name in "AB"]
    assert [claim.verdict for claim in corrected(claims)] == ["holds"] * 2
    assert [claim.verdict for claim in corrected(claims * 2)] == ["not significant"] * 4
