"""What a fitted ranker computes, as a sum of simple models of features: the one thing that targets write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from directrix.data.frames import Categories
from directrix.models.trees import Trees
from directrix.types import Float64Array


@dataclass(frozen=True)
class Input:
    """One column that a model sees: ``(g(x) - center) * factor`` of one feature x.

    Parameters
    ----------
    feature : int
    kind : {"linear", "log", "knots"}
        g is x itself, ``sign(x) log(1 + |x|)``, or a line through knots that is constant beyond both ends.
    center, factor : float
    missing : float, or None
        What the column is where the feature is missing; None: the model does without it in its own way, or
        cannot do without it.
    knots, scores : tuple of float
        Of kind "knots".
    """

    feature: int
    kind: str = "linear"
    center: float = 0.0
    factor: float = 1.0
    missing: float | None = None
    knots: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def is_feature(self) -> bool:
        """Whether the column is the feature as it is, but where it is missing."""
        return self.kind == "linear" and self.center == 0.0 and self.factor == 1.0

    def of(self, values: Float64Array) -> Float64Array:
        """Values of the column for values of the feature, none of which is missing."""
        if self.kind == "knots":
            return np.interp(values, self.knots, self.scores)
        if self.kind == "log":
            values = np.copysign(np.log1p(np.abs(values)), values)
        with np.errstate(over="ignore"):
            column: Float64Array = (values - self.center) * self.factor
        return column


class Linear(NamedTuple):
    """``constant`` + sum of ``weights`` times columns."""

    weights: Float64Array
    constant: float = 0.0


class Network(NamedTuple):
    """Hidden layers of (weights (n_in, n_out), bias), the weights of the last units, and a linear model.

    ``linear`` is None without residual terms; else a layer as wide as the hidden one before adds its inputs.
    """

    layers: tuple[tuple[Float64Array, Float64Array], ...]
    last: Float64Array
    linear: Linear | None
    activation: str

    def adds_inputs(self, layer: int) -> bool:
        """Whether a hidden layer adds its inputs to its units."""
        n_in, n_out = self.layers[layer][0].shape
        return self.linear is not None and layer > 0 and n_in == n_out


class Summand(NamedTuple):
    """A model, and the columns that it sees."""

    model: Linear | Network | Trees
    inputs: tuple[Input, ...]


class Formula(NamedTuple):
    """The score of a document: the sum of parts."""

    parts: tuple[Summand, ...]
    n_features: int
    names: tuple[str, ...] | None
    categories: Categories | None

    @property
    def used(self) -> list[int]:
        """Features on which the score depends, ascending."""
        found: set[int] = set()
        for model, inputs in self.parts:
            if isinstance(model, Trees):
                found |= {inputs[f].feature for f in model.feature.tolist()}
            else:
                weights = model.weights if isinstance(model, Linear) else np.ones(len(inputs))
                found |= {one.feature for one, weight in zip(inputs, weights.tolist(), strict=True) if weight}
        return sorted(found)

    def name(self, feature: int) -> str:
        """Name of a feature; without names by its number, which counts from 1 as LETOR does."""
        return f"feature_{feature + 1}" if self.names is None else self.names[feature]

    @property
    def all_names(self) -> list[str]:
        """Names of all features, in their order."""
        return [self.name(feature) for feature in range(self.n_features)]
