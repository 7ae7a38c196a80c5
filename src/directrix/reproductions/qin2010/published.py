"""Figures as printed in the paper, and those of LETOR 3.0, whose edition of OHSUMED is ours."""

from __future__ import annotations

import numpy as np

from directrix.types import Float64Array

SCORES: Float64Array = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])
"""Table 1: scores of five documents."""

POSITIONS: Float64Array = np.array([2.00118, 4.00000, 1.00000, 5.00000, 2.99882])
"""Table 1: their soft ranks at alpha = 100."""

EPS, EPS_BOUND = 0.00118, 0.00471
"""Sect. 5.1: the largest error of these, and the bound of Corollary 4."""

AP_BOUND, NDCG_BOUND = 0.0024, 0.00085
"""Sect. 5.2: what Theorems 5 and 6 say of the same example at beta = 100, one document relevant."""

MEAN_AP = {
    "ApproxAP": {"TD2003": 0.233, "TD2004": 0.350},
    "ApproxNDCG": {"TD2003": 0.238, "TD2004": 0.318},
    "AdaRank.MAP": {"TD2003": 0.137, "TD2004": 0.331},
    "SVMmap": {"TD2003": 0.198, "TD2004": 0.304},
}
"""Tables 2 and 3."""

NDCG_N = {"ApproxNDCG": 0.6698, "ApproxAP": 0.6693, "SoftRank": 0.6680, "AdaRank.NDCG": 0.6589}
"""Sect. 6.4 and 6.5: NDCG@n on OHSUMED."""

LETOR_3 = {
    "AdaRank.MAP": (0.449, 0.443),
    "AdaRank.NDCG": (0.450, 0.450),
    "SVMmap": (0.445, 0.432),
    "ListNet": (0.446, 0.441),
    "RankSVM": (0.433, 0.414),
}
"""MAP and NDCG@10 on OHSUMED from LETOR's site, by its own script."""
