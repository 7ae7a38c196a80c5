"""Fields of surrogates and trainers: every class of the registry refuses what a field cannot be."""

from dataclasses import fields

import numpy as np
import pytest

import directrix as dx
from directrix.parameters import CONSTRAINTS, check_fields
from directrix.registry import SURROGATES, TRAINERS, classes
from tests.messages import rejects

GIVEN = {"Anneal": (dx.CG(),), "BestSoFar": (dx.SGD(), len), "Restarts": (dx.LBFGS(),)}
NUMBERS, FLAGS, WORDS = ("10", True, np.nan, np.inf, -1), (1, "yes"), ("no such word",)


def bad_values(kind, field):
    """Values that a field of a class refuses; none if it has another check."""
    if isinstance(field.default, bool):
        return FLAGS
    return WORDS if field.name in getattr(kind, "choices", {}) else NUMBERS * (field.name in CONSTRAINTS)


FIELDS = [
    (kind, field.name, value)
    for kind in (*classes(SURROGATES).values(), *classes(TRAINERS).values())
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
        CONSTRAINTS[name](value, name, "Owner")


def test_numbers_become_those_of_python_and_none_stays_where_it_is_the_default():
    surrogate = dx.ApproxNDCG(alpha=np.float32(2.0), k=np.int64(3))
    assert [type(value) for value in (surrogate.alpha, surrogate.k)] == [float, int]
    check_fields(dx.ApproxNDCG(k=None))
    with rejects(dx.InputError):
        dx.ApproxPrecision(k=None)
