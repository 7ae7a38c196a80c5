# ruff: noqa: E501 - one measure a line
"""Long lists with ties under every convention: the values that the tools themselves print.

Sorts differ in what they do with ties from 16 documents on. Scores and labels are arithmetic, see `long_list`;
every number is the output of the tool, run on those. trec_eval, gdeval and Eval-Score-4.0 print 4 or 5 digits.
"""

import numpy as np
import pytest

import directrix as dx
from directrix.measures.line_search import line_search

LISTS = [(n, kinds) for kinds in (2, 5) for n in (16, 17, 50, 100)]
"""Numbers of documents and of different scores, in the order of the values below."""

# convention, tool, absolute tolerance, values of each measure
CASES = [
    ("trec_eval", "trec_eval 10.0-rc3", 5e-05, {
        "nDCG": [0.6937, 0.5978, 0.655, 0.6269, 0.5497, 0.5869, 0.6487, 0.6671],
        "nDCG@10": [0.5372, 0.3798, 0.2048, 0.2619, 0.4518, 0.2833, 0.2166, 0.2194],
        "AP": [0.525, 0.5649, 0.5087, 0.3403, 0.444, 0.5026, 0.4614, 0.4331],
        "RR": [1.0, 1.0, 1.0, 0.3333, 0.3333, 0.5, 0.5, 0.5],
        "P@10": [0.4, 0.3, 0.3, 0.4, 0.5, 0.4, 0.4, 0.3],
        "Rprec": [0.3333, 0.4, 0.5, 0.2857, 0.5, 0.4444, 0.4583, 0.4722],
    }),
    ("gdeval", "gdeval.pl of trec-web-2014", 5e-06, {
        "nDCG@10": [0.44497, 0.2445, 0.14932, 0.20769, 0.3764, 0.21655, 0.15051, 0.18385],
        "ERR@10": [0.2767, 0.1449, 0.14185, 0.18987, 0.14066, 0.13136, 0.14909, 0.24166],
    }),
    ("letor3", "Eval-Score-3.0.pl", 1e-09, {
        "P@10": [0.4, 0.4, 0.5, 0.2, 0.5, 0.4, 0.5, 0.6],
        "AP": [0.382753358, 0.437142857, 0.521521783, 0.344847399, 0.47030932, 0.516895704, 0.560374309, 0.472080505],
        "nDCG@10": [0.427142359, 0.574973942, 0.333134082, 0.0416936511, 0.423574286, 0.389716092, 0.391517018, 0.463542582],
    }),
    ("letor4", "Eval-Score-4.0.pl", 5e-05, {
        "P@10": [0.4, 0.4, 0.5, 0.2, 0.5, 0.4, 0.5, 0.6],
        "AP": [0.3828, 0.4371, 0.5215, 0.3448, 0.4703, 0.5169, 0.5604, 0.4721],
    }),
    ("sklearn", "scikit-learn 1.9.1", 1e-08, {
        "nDCG": [0.599223341, 0.591410284, 0.697367776, 0.628980411, 0.538404305, 0.617428011, 0.687347006, 0.678687644],
        "nDCG@10": [0.420863949, 0.439981671, 0.336402507, 0.214285714, 0.437040684, 0.314755015, 0.305555556, 0.285714286],
        "DCG@10": [3.3181146, 3.14190699, 4.38688488, 2.92085957, 3.27658245, 3.18556221, 4.16492939, 3.89447943],
        "ROCArea": [0.466666667, 0.633333333, 0.409090909, 0.464835165, 0.6, 0.368055556, 0.475160256, 0.589409722],
    }),
    ("lightgbm", "LightGBM 4.7.0", 1e-08, {
        "nDCG@10": [0.358681737, 0.383335756, 0.246734712, 0.0195692443, 0.342704211, 0.231491881, 0.285037939, 0.305526793],
        "nDCG": [0.486669698, 0.506094112, 0.596147565, 0.532927385, 0.465670783, 0.53323761, 0.683286387, 0.642110313],
        "AP@10": [0.251984127, 0.365714286, 0.20952381, 0.0342857143, 0.393386243, 0.245679012, 0.387698413, 0.41297619],
        "AP": [0.382753358, 0.437142857, 0.521521783, 0.344847399, 0.47030932, 0.516895704, 0.560374309, 0.472080505],
    }),
    ("xgboost", "xgboost 3.2.0", 1e-08, {
        "nDCG": [0.486669698, 0.506094112, 0.596147565, 0.532927385, 0.465670783, 0.53323761, 0.683286387, 0.642110313],
        "nDCG@10": [0.358681737, 0.383335756, 0.246734712, 0.0195692443, 0.342704211, 0.231491881, 0.285037939, 0.305526793],
        "AP": [0.382753358, 0.437142857, 0.521521783, 0.344847399, 0.47030932, 0.516895704, 0.560374309, 0.472080505],
        "AP@10": [0.251984127, 0.365714286, 0.20952381, 0.0342857143, 0.393386243, 0.245679012, 0.387698413, 0.41297619],
    }),
    ("catboost", "catboost 1.2.10", 1e-07, {
        "nDCG": [0.474963342, 0.45082272, 0.548111162, 0.507057606, 0.507614265, 0.550695085, 0.596789569, 0.582545597],
        "nDCG@10": [0.188496904, 0.247295202, 0.0, 0.0, 0.409717531, 0.253131101, 0.112096981, 0.0],
        "DCG": [3.7446372, 3.21932287, 10.0418073, 11.7125418, 3.80568687, 5.57345671, 11.8496325, 14.0010128],
        "AP@10": [0.0888888889, 0.192380952, 0.0, 0.0, 0.355687831, 0.184656085, 0.112619048, 0.0],
        "AP": [0.293025031, 0.301204482, 0.400229029, 0.239409717, 0.418187831, 0.448465369, 0.411873849, 0.358229492],
        "RR": [0.2, 0.2, 0.0625, 0.0256410256, 0.25, 0.333333333, 0.142857143, 0.0769230769],
    }),
    ("ranx", "ranx 0.3.21 with Numba 0.68.1", 1e-08, {
        "nDCG": [0.555632698, 0.53233008, 0.652945123, 0.699143951, 0.527152607, 0.567191156, 0.652654547, 0.62214696],
        "nDCG@10": [0.492213558, 0.415143496, 0.207926495, 0.357293989, 0.42205359, 0.265268809, 0.236951296, 0.157944579],
        "AP": [0.406613757, 0.423290043, 0.48245727, 0.356567045, 0.44451567, 0.474920396, 0.478894265, 0.411162846],
        "AP@10": [0.33994709, 0.332380952, 0.0428571429, 0.0514285714, 0.367592593, 0.203703704, 0.108333333, 0.0319444444],
        "RR": [0.333333333, 0.333333333, 0.5, 1.0, 0.25, 0.333333333, 0.5, 0.166666667],
        "P@5": [0.2, 0.4, 0.4, 0.4, 0.4, 0.6, 0.6, 0.0],
        "R@10": [0.833333333, 0.8, 0.107142857, 0.0857142857, 0.833333333, 0.444444444, 0.208333333, 0.111111111],
        "Rprec": [0.333333333, 0.4, 0.464285714, 0.285714286, 0.5, 0.333333333, 0.458333333, 0.444444444],
    }),
]  # fmt: skip


def long_list(n, kinds):
    """Scores with ``kinds`` different values, and labels from 0 to 3."""
    i, seed = np.arange(n), n + kinds
    return i * seed * 7919 % 104729 % kinds, np.maximum(0, (i * i * 31 + seed * i + 7) % 97 % 8 - 4)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_long_lists_with_ties(case):
    tool, source, atol, expected = case
    for name, values in expected.items():
        for (n, kinds), value in zip(LISTS, values, strict=True):
            scores, labels = long_list(n, kinds)
            if tool.startswith("letor"):
                labels = np.minimum(labels, 2)  # these tools know no higher label
            ids = [f"d{i:03d}" for i in range(n)]
            got = dx.measure(name).under(tool)(scores, labels, [0, n], doc_ids=ids)
            np.testing.assert_allclose(
                got, [value], rtol=0, atol=atol, err_msg=f"{source}: {name}, {n} {kinds}"
            )


def test_copies_of_eval_score_4_weigh_ranks_1_and_2_alike():
    """As 3.0 does; the description of LETOR 4.0, which `letor4` follows, has log2(1 + p)."""
    values = [0.4271, 0.575, 0.3331, 0.0417, 0.4236, 0.3897, 0.3915, 0.4635]
    for (n, kinds), value in zip(LISTS, values, strict=True):
        scores, labels = long_list(n, kinds)
        third, fourth = (
            dx.NDCG(k=10).under(name)(scores, np.minimum(labels, 2), [0, n]) for name in ("letor3", "letor4")
        )
        np.testing.assert_allclose(third, [value], rtol=0, atol=5e-5)
        assert abs(fourth[0] - value) > 5e-4


def test_every_convention_is_here():
    assert tuple(case[0] for case in CASES) == dx.measures.conventions()


def test_ranx_orders_what_was_retrieved_alone():
    """Documents that were not retrieved take no part in its sort, wherever they stand."""
    scores, labels = long_list(50, 2)
    m = dx.AP().under("ranx")
    alone = m(scores, labels, [0, 50])
    rng = np.random.default_rng(0)
    wide = np.full(80, -np.inf)
    where = np.sort(rng.choice(80, 50, replace=False))
    wide[where] = scores
    both = np.zeros(80)
    both[where] = labels
    for qptr, s, y in (
        ([0, 80], wide, both),
        ([0, 80, 130], np.append(wide, scores), np.append(both, labels)),
    ):
        np.testing.assert_array_equal(m(s, y, qptr), np.repeat(alone, len(qptr) - 1))
    assert dx.AP(ties="order", k=None)(scores, labels, [0, 50]) != alone


def test_training_by_line_search_cannot_follow_the_order_of_ranx():
    with pytest.raises(dx.InputError, match="depends on all scores of a query"):
        line_search(dx.AP(ties="ranx"), [1.0, 0.0], [0.0, 1.0], [0, 1], [0, 2])
