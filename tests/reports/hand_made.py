"""A report made by hand, in the shape of a real one."""

import numpy as np

from directrix.reports.report import Claim, Curve, Figure, Panel, PerQuery, Report, Section
from directrix.tables import Table

METHODS = ("ApproxNDCG", "ListNet", "SVMmap", "LambdaRank")
HOSTILE = "</script><b>x</b>\u2028<!-- & \"'"


def per_query(name="OHSUMED", measure="nDCG@10", *, n=30, methods=METHODS, seed=0):
    """Values by query, and rankings of ten documents for all but the last query."""
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.1, 0.8, n)
    values = {m: np.clip(hard + rng.normal(0, 0.08, n), 0, 1).round(6) for m in methods}
    rankings = {
        m: (
            *(
                tuple(
                    (f"D{doc:03d}", int(doc % 3), 2.5 - 0.25 * rank)
                    for rank, doc in enumerate(rng.permutation(14)[:10])
                )
                for _ in range(n - 1)
            ),
            (),
        )
        for m in methods
    }
    return PerQuery(name, measure, tuple(str(100 + i) for i in range(n)), values, rankings)


def report(**changes):
    """A small report with everything that a report may have."""
    parts = {
        "name": "some2010",
        "title": "Some et al. (2010) on OHSUMED",
        "paper": 'Some and Other (2010), "A title", *Journal* 1, <https://doi.org/10.1000/1>; is `x < y`?',
        "summary": (
            "- **OHSUMED**: ApproxNDCG has nDCG@10 0.451, better than ListNet 0.447.",
            "- **MQ2008**: no clear difference.",
            "Better is p < .05.",
        ),
        "sections": (
            Section(
                "Test",
                (
                    Table(
                        "Table 2: Test measures",
                        ("method", "nDCG@10", "AP", "nDCG@10", "difference"),
                        (
                            ("ApproxNDCG", 0.4512345, 0.4467, 0.4487, 0.0025345),
                            ("ListNet", 0.4471, 0.4457, 0.441, 0.0061),
                            ("SVMmap", 0.4389, None, None, None),
                            ("10 trees", 0.1, 1e-05, -0.25, 3),
                        ),
                        groups=(("", 1), ("here", 2), ("published", 2)),
                        notes=("Means over five folds.",),
                    ),
                ),
                ("As in the paper.",),
            ),
            Section(
                "Choices",
                (
                    Table(
                        "Table 3: Chosen",
                        ("fold", "alpha"),
                        (("Fold1", 100), ("Fold2", 20)),
                        notes=("By AP.",),
                        detail=True,
                    ),
                ),
            ),
        ),
        "figures": (
            Figure(
                "accuracy",
                "Figure 1: error over alpha",
                (
                    Panel(
                        "OHSUMED",
                        (
                            Curve("error", np.array([1.0, 10.0, 100.0]), np.array([0.1, 0.01, 0.001])),
                            Curve(
                                "bound", np.array([1.0, 10.0, 100.0]), np.array([0.4, 0.04, 0.004]), "dashed"
                            ),
                        ),
                        "alpha (1 / score)",
                        "error",
                        x_scale="log",
                        y_scale="log",
                    ),
                    Panel(
                        "methods",
                        (Curve("", np.arange(4.0), np.array([0.45, 0.44, 0.43, 0.42]), "bars"),),
                        "",
                        "nDCG@10",
                        x_names=METHODS,
                    ),
                ),
                "Errors fall as alpha grows; the bound is four times as high.",
            ),
        ),
        "claims": (
            Claim("ApproxNDCG is above ListNet", "Table 2", "holds", "0.451 against 0.447, p = 0.03"),
            Claim("SVMmap is below ListNet", "Table 2", "not significant", "0.439 against 0.447, p = 0.2"),
            Claim("LambdaRank is best", "Sect. 6", "does not hold", "0.42, p = 1e-05"),
        ),
        "missing": (("TD2003", "the data are not there."),),
        "how": ("- Five folds.\n  Each trains, validates, tests.", "All of it took a minute."),
        "settings": {"name": "some2010", "fixed": {"seed": 0}, "installation": {"directrix": "0"}},
        "command": "directrix lab reproduce some2010 --data DIR",
        "per_query": (per_query(), per_query("MQ2008", "AP", n=12, methods=METHODS[:3], seed=1)),
        "differs": ("- Other data.",),
    }
    return Report(**{**parts, **changes})
