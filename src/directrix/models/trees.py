"""Boosted regression trees, in LightGBM's form: this module stores and scores them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from directrix.data.memory import check_room
from directrix.errors import InputError, MissingExtra
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN, ZERO, parse_trees, written
from directrix.models.plans import Planned, plan_of
from directrix.models.rows import read_only
from directrix.models.walks import counts_from, means_from, walked
from directrix.schema import check
from directrix.threads import get_threads
from directrix.types import Array, Float64Array

# LightGBM gets one more thread for this number of cells, because its idle threads spin.
_CELLS_A_THREAD = 1 << 20
# The lists that describe a model take these bytes per feature; a file may claim any number of features.
_BYTES_A_FEATURE = 100
_LISTS: dict[str, Any] = {
    "n_leaves": np.int64,
    "feature": np.int32,
    "threshold": np.float64,
    "decision": np.uint8,
    "left": np.int32,
    "right": np.int32,
    "gain": np.float64,
    "leaf": np.float64,
    "count": np.uint32,
}


def _whole(kind: Any) -> range:
    limits = np.iinfo(kind)
    return range(int(limits.min), int(limits.max) + 1)


TREES = {
    "n_features": range(1 << 31),
    **{name: [float if kind is np.float64 else _whole(kind)] for name, kind in _LISTS.items()},
    "categories": [[range(1 << 31)]],
}
"""Form of trees in JSON types, see `directrix.schema`."""


def lightgbm() -> Any:
    """Return the package LightGBM.

    Raises `MissingExtra` if it is not installed, and `InputError` if a library of the system is missing.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra("lightgbm", "training boosted trees") from error
    except OSError as error:  # e.g. no OpenMP in a slim container
        raise InputError(
            f"LightGBM, which grows trees, cannot be loaded: {error}. It needs the system's OpenMP library; "
            "type e.g. apt-get install libgomp1, or brew install libomp."
        ) from error
    return lightgbm


def threads_for(X: Any) -> int:
    """Return LightGBM's number of threads for these features: one for few, as threads wait by spinning."""
    cells = int(X.shape[0]) * int(X.shape[1])
    return min(get_threads(), 1 + cells // _CELLS_A_THREAD)


def quietly(make: Any, *args: Any, **settings: Any) -> Any:
    """Call a function of LightGBM without its warnings about the memory layout of arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return make(*args, **settings)


@dataclass(frozen=True, eq=False)
class Trees:
    r"""Score = sum over trees of the value of the leaf that a document falls into.

    Trees are not a `directrix.types.Model`: they are grown, not moved along a gradient of parameters. They
    are stored one after another in the arrays; a tree with L leaves has L - 1 splits, the first of which is
    its root. Scores are those of LightGBM, bit by bit.

    Parameters
    ----------
    n_features : int >= 1
    n_leaves : int64 (n_trees,), >= 1
    feature : int32 (n_splits,)
        Column that a split tests.
    threshold : float64 (n_splits,)
        Values up to it go left; for a split by categories, the number of its set.
    decision : uint8 (n_splits,)
        LightGBM's ``decision_type``: 1 for a split by categories, plus 2 if missing values go left, plus the
        kind of missing values: 0 none (NaN is 0), 4 zeros, 8 NaN.
    left, right : int32 (n_splits,)
        Next split in the same tree, counted from 0, or -1 minus the number of a leaf.
    gain : float64 (n_splits,)
        Gain of the split in training.
    leaf : float64 (n_leaves of all trees,)
    count : uint32 (n_leaves of all trees,)
        Number of training documents in each leaf, which contributions need; 0 if it is not known.
    categories : tuple of tuple of int
        Sets of the categories that go left; all others, and NaN, go right.

    Raises
    ------
    InputError
        If these are not trees: inconsistent lengths, numbers that are not finite, features that do not exist,
        branches that lead nowhere, meet or lead back.

    Notes
    -----
    The constructor checks everything in O(n_splits). The time to score a document is the sum of the depths of
    all trees.
    """

    n_features: int
    n_leaves: Array
    feature: Array
    threshold: Float64Array
    decision: Array
    left: Array
    right: Array
    gain: Float64Array
    leaf: Float64Array
    count: Array
    categories: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem:
            raise _damaged(problem)
        for name in _LISTS:
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def none(cls, n_features: int) -> Trees:
        """Return no trees, which score 0."""
        return cls.of_json(
            {"n_features": n_features, "categories": [], **{key: [] for key in _LISTS}}, n_features
        )

    @classmethod
    def grown(cls, booster: Any, n_trees: int, n_features: int) -> Trees:
        """Take the first ``n_trees`` trees out of a LightGBM ``Booster``."""
        if n_trees == 0:
            return cls.none(n_features)
        return cls.of_text(booster.model_to_string(num_iteration=n_trees), n_features)

    @classmethod
    def of_text(cls, text: str, n_features: int) -> Trees:
        """Read the text of a LightGBM model."""
        return cls(n_features, **parse_trees(text))

    @classmethod
    def of_json(cls, model: Mapping[str, Any], n_features: int) -> Trees:
        """Read what `to_json` wrote; see `Trees`."""
        try:
            check(model, TREES)
        except InputError as error:
            raise _damaged(str(error).removesuffix(".")) from None
        if model["n_features"] != n_features:
            raise _damaged(f"they are for {model['n_features']} features, the model has {n_features}")
        check_room(
            _BYTES_A_FEATURE * n_features,
            f"a model of trees for {n_features:,} features",
            "Number the features without gaps, and train it again.",
        )
        arrays: dict[str, Any] = {name: np.array(model[name], dtype=kind) for name, kind in _LISTS.items()}
        return cls(n_features, **arrays, categories=tuple(map(tuple, model["categories"])))

    def to_json(self) -> dict[str, Any]:
        """Return the arrays as lists, which `of_json` reads."""
        lists = {name: getattr(self, name).tolist() for name in _LISTS}
        return {"n_features": self.n_features, **lists, "categories": list(map(list, self.categories))}

    def to_lightgbm(self, names: Sequence[str] | None = None) -> str:
        """Return a model in LightGBM's text format, with the same scores and with contributions.

        Names of features must not contain blanks or the characters ``[]{}",:``.
        """
        counts = counts_from(self, np.maximum(self.count, 1))
        return written(self, counts, means_from(self, counts), names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trees) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        """Pickle and copy the arrays alone; they are read-only again, and a plan is made where it is used."""
        return Trees, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.n_leaves)

    @cached_property
    def split_ptr(self) -> Array:
        """Tree ``t`` has the splits ``split_ptr[t] <= s < split_ptr[t + 1]``."""
        return np.append(0, np.cumsum(self.n_leaves - 1)).astype(np.int64)

    def followed_by(self, others: Trees) -> Trees:
        """Return these trees followed by others on the same features, all unchanged."""
        # The thresholds of splits by categories are positions in the list of sets, where the others' follow
        # ours.
        later = others.threshold + np.where(others.decision & CATEGORICAL, len(self.categories), 0)
        mine = {name: getattr(self, name) for name in _LISTS}
        theirs = {name: getattr(others, name) for name in _LISTS} | {"threshold": later}
        arrays: dict[str, Any] = {name: np.concatenate([mine[name], theirs[name]]) for name in _LISTS}
        return Trees(self.n_features, **arrays, categories=self.categories + others.categories)

    def gains(self) -> Float64Array:
        """Return the total gain of each feature's splits, as LightGBM counts it: float64 (n_features,)."""
        return np.bincount(self.feature, self.gain, self.n_features).astype(np.float64)

    def predict(self, X: Any) -> Float64Array:
        """Return the score of every row of an array or a CSR matrix: float64 (n_rows,).

        NaN follows the trees' branch for missing values. Scores have the same bits for any number of threads.
        """
        return walked(self, X)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Columns that splits by categories test."""
        return tuple(np.unique(self.feature[self.decision & CATEGORICAL != 0]).tolist())

    @cached_property
    def without_side(self) -> tuple[int, ...]:
        """Columns that splits test without a side for missing values, which then count as 0."""
        return tuple(np.unique(self.feature[self.decision & (CATEGORICAL | ZERO | NAN) == 0]).tolist())

    @cached_property
    def planned(self) -> Planned:
        """The form in which they are evaluated."""
        return plan_of(self)

    @cached_property
    def planned_walks(self) -> Planned:
        """The form for one or a few documents, which walk down long trees."""
        return plan_of(self, walks=True)

    @cached_property
    def sets(self) -> tuple[Array, Array]:
        """Positions where sets of categories begin, and all categories."""
        starts = np.append(0, np.cumsum([len(members) for members in self.categories])).astype(np.int64)
        together = np.array([c for members in self.categories for c in members], dtype=np.int64)
        return read_only(starts), read_only(together)

    def _problem(self) -> str:
        """Say what is wrong with the arrays; "" if nothing."""
        if (self.n_leaves < 1).any():
            return f"tree {int(np.argmax(self.n_leaves < 1))} has no leaf"
        n_leaves, n_trees = int(self.n_leaves.sum(dtype=object)), len(self.n_leaves)
        of_splits = [*_LISTS][1:-2]
        lengths = dict.fromkeys(of_splits, n_leaves - n_trees) | {"leaf": n_leaves, "count": n_leaves}
        for name, wanted in lengths.items():
            if len(getattr(self, name)) != wanted:
                return f"{name} has {len(getattr(self, name)):,} entries for {wanted:,}"
        for name in ("threshold", "gain", "leaf"):
            if not np.isfinite(getattr(self, name)).all():
                return f"{name} has a number that is not finite"
        if ((self.feature < 0) | (self.feature >= self.n_features)).any():
            return f"a split looks at a feature that is not among the {self.n_features}"
        if (self.decision > CATEGORICAL + LEFT + NAN).any() or (
            self.decision & (ZERO | NAN) == ZERO | NAN
        ).any():
            return "decision has a number that is none"
        chosen = self.threshold[self.decision & CATEGORICAL != 0]
        if not np.isin(chosen, np.arange(len(self.categories))).all():
            return "a split has a set of categories that does not exist"
        if any(list(members) != sorted(set(members)) for members in self.categories):
            return "a set of categories is not in ascending order"
        return "" if self._is_connected() else "a branch leads back, meets another, or leads nowhere"

    def _is_connected(self) -> bool:
        """Whether every leaf, and every split but the roots, is the child of one split before it."""
        n_splits = self.n_leaves - 1
        first, n_here = np.repeat(self.split_ptr[:-1], n_splits), np.repeat(n_splits, n_splits)
        # A tree has one leaf more than splits, so its leaves begin one position later for every tree before
        # it.
        first_leaf = first + np.repeat(np.arange(self.n_trees), n_splits)
        place = np.arange(len(first)) - first
        met = np.zeros(len(self.leaf) + len(first), dtype=np.int64)
        for child in (self.left.astype(np.int64), self.right.astype(np.int64)):
            # A negative child is -1 minus the number of a leaf. A split must come after its parent, which
            # excludes cycles.
            is_leaf = child < 0
            if (np.where(is_leaf, -1 - child > n_here, (child <= place) | (child >= n_here))).any():
                return False
            np.add.at(met, np.where(is_leaf, first_leaf - 1 - child, len(self.leaf) + first + child), 1)
        # Everything must be met once, except roots and the leaves of trees without splits, which have no
        # parent.
        wanted = np.ones(len(met), dtype=np.int64)
        wanted[len(self.leaf) + self.split_ptr[:-1][n_splits > 0]] = 0  # roots
        wanted[self.split_ptr[:-1][n_splits == 0] + np.flatnonzero(n_splits == 0)] = 0  # leaves of no split
        return bool((met == wanted).all())


def _damaged(problem: str) -> InputError:
    return InputError(f"the trees are damaged: {problem}. Save the model again with ranker.save(path).")
