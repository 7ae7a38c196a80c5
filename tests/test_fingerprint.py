"""Fingerprints: the same for the same meaning in any process, another one for every edit that could count."""

import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from types import ModuleType

import joblib
import numpy as np
import pytest

import directrix as dx
from directrix.fingerprint import fingerprint

MODULE = """
import functools
import numba
import numpy as np
import tables_of_mine
from dataclasses import dataclass
from directrix.surrogates.base import KernelSurrogate

POWER = 1.0
WORDS = {"a", "b", "c", "d"}

@numba.njit
def compiled(x):
    return x + 10

@functools.cache
def cached(x):
    return compiled(x) - 20

def helper(x, shift=30):
    return [cached(x) - shift for _ in WORDS]

def power_of(exponent):
    return lambda r: r**-exponent

@dataclass(frozen=True)
class Mine(KernelSurrogate):
    '''A docstring.'''
    alpha: float = 40.0

    @property
    def properties(self):
        return frozenset({"smooth", "convex"})

    @staticmethod
    def sign():
        return 50

    @functools.cached_property
    def scaled(self):
        return 60 * self.alpha

    def value_and_grad(self, scores, labels, qptr):
        def inner(x):  # a comment
            try:
                return helper(x) * np.exp(POWER) * tables_of_mine.FACTOR
            except ValueError:
                return inner(x)
        return inner(scores)

class Steeper(Mine):
    pass

meaning = Steeper, power_of(70.0), Steeper.sign
"""


def defined(text, factor=80.0):
    """What the text of a module defines; it imports another module of the user."""
    tables = ModuleType("tables_of_mine")
    tables.FACTOR = factor
    tables.__file__ = "tables_of_mine.py"
    sys.modules["tables_of_mine"] = tables
    try:
        scope = {"__name__": "mine"}
        exec(text, scope)
        return scope["meaning"]
    finally:
        del sys.modules["tables_of_mine"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("POWER = 1.0", "POWER = 3.0"),
        ('{"a", "b", "c", "d"}', '{"a", "b", "c"}'),
        ("x + 10", "x + 11"),
        ("numba.njit\n", "numba.njit(fastmath=True)\n"),
        ("compiled(x) - 20", "compiled(x) - 21"),
        ("shift=30", "shift=31"),
        ("cached(x) - shift", "cached(x) + shift"),
        ("r**-exponent", "r**exponent"),
        ("alpha: float = 40.0", "alpha: float = 41.0"),
        ('"smooth", "convex"', '"smooth"'),
        ("return 50", "return 51"),
        ("60 * self", "61 * self"),
        ("np.exp(", "np.log("),
        ("except ValueError", "except TypeError"),
        ("return inner(x)", "return inner(scores)"),
        ("power_of(70.0)", "power_of(71.0)"),
    ],
)
def test_every_edit_that_could_count_is_seen(old, new):
    assert MODULE.count(old) == 1
    assert fingerprint(defined(MODULE)) != fingerprint(defined(MODULE.replace(old, new)))


def test_comments_do_not_count_and_other_modules_of_the_user_do():
    commented = MODULE.replace("# a comment", "# another").replace("POWER", "# the power\n\nPOWER", 1)
    assert fingerprint(defined(MODULE)) == fingerprint(defined(commented))
    assert fingerprint(defined(MODULE)) != fingerprint(defined(MODULE, factor=81.0))


@dataclass(frozen=True)
class Held:
    value: object


class Gains(dict):
    def __missing__(self, label):
        return 0.0


CONTENTS = [
    *(1, 1.0, True, "1", b"1", None, (), [1, 2], [[1], 2], (1, 2), {1, 2}, {"a": 1}, {"a": 2}),
    *(np.arange(2), np.arange(2.0), np.arange(2000), np.r_[:1000, 1001, 1001:2000], np.float32(1)),
    *(defaultdict(int), defaultdict(float), Gains(), Gains({1: 2}), np.log1p, np.log2, dict, list),
    *(dx.NDCG(), dx.NDCG(k=3), dx.NDCG, dx.Lambda("AP"), dx.SGD(), np.random.default_rng(1), os.environ.get),
]


def test_contents_are_told_apart_and_are_the_same_in_another_process():
    """Arrays too, whose printed form is shortened."""
    ours = [fingerprint(content) for content in CONTENTS]
    assert len({*ours, *(fingerprint(Held(content)) for content in CONTENTS)}) == 2 * len(CONTENTS)
    sendable = MODULE.replace("@functools.cached_property", "@property").replace("@functools.cache\n", "")
    sent = [*CONTENTS, Held(3), *defined(sendable)]
    calls = (joblib.delayed(fingerprint)(content) for content in sent)
    assert joblib.Parallel(2)(calls) == [fingerprint(content) for content in sent]
    code = "from directrix.fingerprint import fingerprint as f; print(f({'a', 'b', 'c', ('d', 2)}))"
    for seed in "12":  # of the order of sets
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert printed.stdout.split() == [fingerprint({"a", "b", "c", ("d", 2)})]
