"""Fields of measures, surrogates, trainers and rankers: every class refuses what a field cannot be."""

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import pytest

import directrix as dx
from directrix.measures.base import RankingMeasure
from directrix.parameters import CHECKS, check_fields, literal_words
from directrix.rankers.ensemble import EnsembleRanker
from directrix.registry import MEASURES, SURROGATES, TRAINERS, classes
from tests.messages import rejects

GIVEN = {"Anneal": (dx.CG(),), "BestSoFar": (dx.SGD(), len), "Restarts": (dx.LBFGS(),)}
NUMBERS, FLAGS, WORDS = ("10", True, np.nan, np.inf, -1), (1, "yes"), ("no such word",)


def bad_values(kind, field):
    """Values that a field of a class refuses; none if it has another check."""
    if isinstance(field.default, bool):
        return FLAGS
    checks = getattr(kind, "checks", CHECKS)
    is_word = field.name in literal_words(kind)
    return WORDS if is_word else NUMBERS * (field.name in checks)


FIELDS = [
    (kind, field.name, value)
    for registry in (MEASURES, SURROGATES, TRAINERS)
    for kind in classes(registry).values()
    for field in fields(kind)
    for value in bad_values(kind, field)
]


@pytest.mark.parametrize(("kind", "name", "value"), FIELDS)
def test_every_field_refuses_what_it_cannot_be(kind, name, value):
    with pytest.raises(dx.InputError, match=rf"{kind.__name__}\({name}=.*{name} must be"):
        kind(*GIVEN.get(kind.__name__, ()), **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            ("sigma", 1e-31),
            ("alpha", 0.0),
            ("shrink", 1.5),
            ("factor", 1.0),
            ("average", 1.0),
            ("below", 1.0),
        ],
        *[("shrink_chance", 1.5), ("anneal", 0.5), ("num_leaves", 1), ("k", 10**30), ("epochs", 2.5)],
        *[
            ("learning_rate", 0.0),
            ("decay", 0.0),
            ("epsilon", 0.0),
            ("rounds", 0),
            ("patience", None),
            ("C", 0),
            ("draw", 0.5),
        ],
    ],
)
def test_limits_belong_to_the_name(name, value):
    with pytest.raises(dx.InputError, match=rf"Owner\({name}=.*{name} must be"):
        CHECKS[name](value, name, "Owner")


def test_numbers_become_those_of_python_and_none_stays_where_it_is_the_default():
    surrogate = dx.ApproxNDCG(alpha=np.float32(2.0), k=np.int64(3))
    assert [type(value) for value in (surrogate.alpha, surrogate.k)] == [float, int]
    check_fields(dx.ApproxNDCG(k=None))
    with rejects(dx.InputError):
        dx.ApproxPrecision(k=None)


@dataclass(frozen=True, kw_only=True, repr=False)
class Persistent(RankingMeasure):
    """A measure with a field of any name, which no table limits, and one with words of its own."""

    symbol = "Persistent"
    k: int | None = None
    decay: float = 2.0
    sort: Literal["up", "down"] = "up"

    def of_ranking(self, ranking, part):
        return np.zeros(len(ranking.retrieved))


def test_a_measure_of_ones_own_names_its_fields_freely():
    assert Persistent(decay=-3.0).decay == -3.0
    for field in ({"k": 0}, {"ties": "none"}, {"sort": "sideways"}):
        with rejects(dx.InputError):
            Persistent(**field)


ROWS, LABELS, QID = np.eye(4), np.array([1.0, 0.0, 1.0, 0.0]), [0, 0, 1, 1]
RANKERS = [
    *[(dx.LinearRanker, name, value) for name, value in (("l2", -1), ("l2", np.nan), ("max_iter", 1.5))],
    *[(dx.LinearRanker, name, "none") for name in ("trainer", "start", "bounds", "center", "scale")],
    *[(dx.LinearRanker, name, 3.5) for name in ("surrogate", "monotone", "random_state", "patience")],
    *[(dx.MLPRanker, name, 7) for name in ("hidden", "activation", "dropout", "residual", "warm_start")],
    *[(dx.StumpRanker, "thresholds", value) for value in (0, 2.5, "few")],
    *[(dx.BoostedRanker, name, 0) for name in ("n_trees", "learning_rate", "max_bin", "subsample")],
    *[(dx.BoostedRanker, name, 7) for name in ("oblivious", "init_model", "lightgbm_params", "monotone")],
    *[(dx.BoostedRanker, "num_leaves", value) for value in (1, 131_073)],
    (dx.BoostedRanker, "categorical_features", 0),
    (EnsembleRanker, "members", 3),
    (EnsembleRanker, "weights", 0.5),
    *[(dx.AutoRanker, name, 0) for name in ("method", "settings", "models", "folds", "time_budget")],
    *[(dx.AutoRanker, name, 0) for name in ("engine", "by_query", "single", "simple")],
    *[(dx.AutoRanker, name, "no") for name in ("n_jobs", "random_state")],
]


@pytest.mark.parametrize(("kind", "name", "value"), RANKERS)
def test_every_parameter_of_a_ranker_is_checked_when_it_is_fitted(kind, name, value):
    ranker = kind(**{name: value})  # scikit-learn's contract: the constructor checks nothing
    with rejects(dx.InputError):
        ranker.check_parameters()
    with pytest.raises(dx.InputError, match=rf"{kind.__name__}\({name}=.*{name} must be"):
        ranker.fit(ROWS, LABELS, qid=QID)
    assert ranker.get_params(deep=False)[name] is value


def test_a_ranker_keeps_numbers_of_numpy_as_they_were_given():
    strength = np.float64(0.5)
    ranker = dx.LinearRanker(l2=strength, max_iter=1).fit(ROWS, LABELS, qid=QID)
    assert ranker.l2 is strength
