"""Boosted regression trees: LightGBM grows and scores them, we check their text."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from directrix.errors import InputError, MissingExtra
from directrix.threads import get_threads
from directrix.types import Float64Array

_CELLS_A_THREAD = 1 << 20
_HEADER = ("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx")
_LISTS = ("feature_names", "feature_infos", "tree_sizes")
_FIRST = {"version": "v4", "num_class": "1", "num_tree_per_iteration": "1", "label_index": "0"}
_SPLITS = {"split_feature": int, "threshold": float, "decision_type": int}  # one entry per split
_SPLITS |= {"left_child": int, "right_child": int}
_UNUSED = ("split_gain", "internal_value", "internal_weight", "internal_count", "leaf_weight", "leaf_count")
_BLOCK = re.compile(r"Tree=(\d+)\n((?:[a-z_]+=[^\n]*\n)+)\n+")
_INFO = re.compile(r"none|\[-?[\d.e+-]+:-?[\d.e+-]+\]|-?\d+(:-?\d+)*")


def lightgbm() -> Any:
    """Return the package LightGBM.

    Raises `MissingExtra` if it is not installed, and `InputError` if a library of the system is missing.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra("lightgbm", "training or using boosted trees") from error
    except OSError as error:  # e.g. no OpenMP in a slim container
        raise InputError(
            f"LightGBM, which grows trees, cannot be loaded: {error}. It needs the system's OpenMP library; "
            "type e.g. apt-get install libgomp1, or brew install libomp."
        ) from error
    return lightgbm


def threads_for(X: Any) -> int:
    """Number of threads of LightGBM for these features: one for few, because its threads wait by spinning."""
    cells = int(X.shape[0]) * int(X.shape[1])
    return min(get_threads(), 1 + cells // _CELLS_A_THREAD)


def quietly(make: Any, *args: Any, **settings: Any) -> Any:
    """Call a function of LightGBM without its warnings about the memory layout of arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return make(*args, **settings)


@dataclass(frozen=True)
class Trees:
    r"""Score = sum over trees of the value of the leaf that a document falls into.

    Trees are not a `directrix.types.Model`: they are grown, not moved along a gradient of parameters. Their
    text is in LightGBM's own format, up to "end of trees"; "" for none, which scores 0.
    """

    text: str
    n_features: int

    @classmethod
    def grown(cls, booster: Any, n_trees: int, n_features: int) -> Trees:
        """Take the first ``n_trees`` trees out of a LightGBM ``Booster``."""
        if n_trees == 0:
            return cls("", n_features)
        text = booster.model_to_string(num_iteration=n_trees, importance_type="split")
        # Scores do not depend on objective, importances and the settings of the training.
        text = re.sub(r"^objective=.*\n", "", text[: text.index("end of trees")], flags=re.MULTILINE)
        return cls(text + "end of trees\n", n_features)

    def predict(self, X: Any) -> Float64Array:
        """Score of every row of an array or a CSR matrix: float64 (n_rows,).

        NaN goes the way that LightGBM's trees keep for missing values. Raises `MissingExtra` if LightGBM is
        not installed.
        """
        if not self.text or not X.shape[0]:
            return np.zeros(X.shape[0])
        scores = quietly(self._booster.predict, X, raw_score=True, num_threads=threads_for(X))
        return np.asarray(scores, dtype=np.float64)

    @cached_property
    def _booster(self) -> Any:
        return quietly(lightgbm().Booster, model_str=self.text)

    @cached_property
    def leaf_values(self) -> Float64Array:
        """Values of all leaves, tree by tree: float64 (n_leaves of all trees,)."""
        lines = re.findall(r"^leaf_value=(.*)$", self.text, re.MULTILINE)
        return np.array([float(word) for line in lines for word in line.split()], dtype=np.float64)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self._blocks)

    @property
    def _blocks(self) -> list[str]:
        """The text of every tree."""
        body = self.text.partition("\n\n")[2].rpartition("end of trees\n")[0]
        return [block[0] for block in _BLOCK.finditer(body)]

    def followed_by(self, others: Trees) -> Trees:
        """Return these trees and others after them, on the same features; not one number of them changes."""
        if not self.text or not others.text:
            return self if self.text else others
        blocks = [
            f"Tree={number}\n{block.partition(chr(10))[2]}"
            for number, block in enumerate((*self._blocks, *others._blocks))
        ]
        sizes = " ".join(str(len(block.encode())) for block in blocks)
        head = re.sub(r"(?m)^tree_sizes=.*$", f"tree_sizes={sizes}", others.text.partition("\n\n")[0])
        return Trees(f"{head}\n\n{''.join(blocks)}end of trees\n", self.n_features)

    def gains(self) -> Float64Array:
        """Sum over all splits of a feature of what they gain, as LightGBM counts: float64 (n_features,)."""
        if not self.text:
            return np.zeros(self.n_features)
        return np.asarray(self._booster.feature_importance("gain"), dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "n_features": self.n_features}

    def check(self) -> Trees:
        """Check the text line by line; LightGBM itself trusts what it reads, and may crash.

        Returns the trees themselves. Raises `InputError` if it is not the text of numerical trees on
        ``n_features`` columns: a line that is missing, repeated or unknown, a value that is not a number, a
        count that does not fit, a branch to nowhere.
        """
        if self.text:
            try:
                self._check_text()
            except (ValueError, KeyError, OverflowError) as error:
                raise InputError(
                    f"the text of the trees is damaged: {error}. Save the model again with ranker.save(path)."
                ) from None
        return self

    def _check_text(self) -> None:
        head, gap, rest = self.text.partition("\n\n")
        body, end, tail = rest.rpartition("end of trees\n")
        _need(gap and end and not tail and head.startswith("tree\n"), "its frame is not that of a model")
        header = _entries(head.removeprefix("tree\n"), (*_HEADER, *_LISTS))
        for name, wanted in _FIRST.items():
            _need(header[name] == wanted, f"{name} is {header[name][:40]!r}, must be {wanted}")
        count = int(header["max_feature_idx"]) + 1
        _need(count == self.n_features, f"it is for {count} features, the model has {self.n_features}")
        names, infos = header["feature_names"].split(" "), header["feature_infos"].split(" ")
        _need(names == [f"Column_{i}" for i in range(count)], "feature_names are not Column_0 to the last")
        _need(len(infos) == count and all(map(_INFO.fullmatch, infos)), "feature_infos do not fit")
        blocks = list(_BLOCK.finditer(body))
        whole = "".join(block[0] for block in blocks)
        _need(blocks and whole == body, "there is text between the trees")
        sizes = [len(block[0].encode()) for block in blocks]
        _need(header["tree_sizes"] == " ".join(map(str, sizes)), "tree_sizes do not fit the trees")
        for number, block in enumerate(blocks):
            _need(block[1] == str(number), f"tree {number} is missing")
            _check_tree(f"tree {number}", block[2], count)


def _check_tree(where: str, text: str, n_features: int) -> None:
    names = ("num_leaves", "num_cat", *_SPLITS, "leaf_value", "is_linear", "shrinkage", *_UNUSED)
    tree = _entries(text, names, where)
    n_leaves = int(tree["num_leaves"])
    _need(tree["num_cat"] == "0" and tree["is_linear"] == "0", f"{where} is not of numerical splits")
    _need(n_leaves >= 1, f"{where} has {n_leaves} leaves")
    for name in ("leaf_value", "shrinkage", *_UNUSED):
        values = [float(word) for word in tree[name].split()]
        _need(all(map(math.isfinite, values)), f"{where}: {name} has a value that is not finite")
        size = 1 if name == "shrinkage" else n_leaves if name.startswith("leaf") else n_leaves - 1
        left_out = n_leaves == 1 and not values and name != "leaf_value"
        _need(len(values) == size or left_out, f"{where}: {name} has {len(values)} entries")
    splits = {name: [kind(word) for word in tree[name].split()] for name, kind in _SPLITS.items()}
    _need(all(len(values) == n_leaves - 1 for values in splits.values()), f"{where} lacks splits")
    _need(all(0 <= f < n_features for f in splits["split_feature"]), f"{where}: a feature is not there")
    _need(all(not math.isnan(t) for t in splits["threshold"]), f"{where}: a threshold is NaN")
    # bit 0: categorical; bit 1: where missing values go; bits 2-3: what counts as missing
    _need(all(d in range(0, 12, 2) for d in splits["decision_type"]), f"{where}: decision_type")
    children = [(s, c) for side in ("left_child", "right_child") for s, c in enumerate(splits[side])]
    # A leaf is -1 - its number. Later splits have higher numbers, so that no branch comes back.
    _need(all(c < 0 or c > s for s, c in children), f"{where}: a branch leads back")
    wanted = [*range(-n_leaves, 0), *range(1, n_leaves - 1)] if n_leaves > 1 else []
    _need(sorted(c for _, c in children) == wanted, f"{where}: a branch leads nowhere")


def _entries(text: str, names: tuple[str, ...], where: str = "the header") -> dict[str, str]:
    pairs = [line.partition("=")[::2] for line in text.strip("\n").split("\n")]
    entries = dict(pairs)
    _need(len(entries) == len(pairs), f"{where} repeats a line")
    _need(set(entries) <= set(names), f"{where} has a line that is unknown")
    missing = [name for name in names if name not in entries]
    _need(not missing, f"{where} lacks {', '.join(missing)}")
    return entries


def _need(condition: object, problem: str) -> None:
    if not condition:
        raise ValueError(problem)
