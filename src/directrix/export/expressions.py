"""A formula as text of a language of expressions: SQL, and Vespa's ranking expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from directrix.export.formula import Formula, Input, Linear, Network
from directrix.models.trees import Trees
from directrix.rankers.calibration import SHARE, Calibration
from directrix.types import Array

Steps = list[dict[str, str]]
"""Columns by name, layer after layer: those of a layer use the features and the layers before."""

# PostgreSQL raises an error where exp overflows or underflows, near exponents of 709 and -745.
_LARGEST_EXPONENT = 700.0

# A parser descends one level for every term of a sum, and has a limit of levels; longer sums are nested.
_AT_ONCE = 40


@dataclass(frozen=True)
class Language(ABC):
    """Writer of the parts of an expression; subclasses define the differences between languages."""

    formula: Formula
    CHOICE: ClassVar[str]
    """Template of a condition and the two values that it chooses from."""
    MISSING: ClassVar[str]
    """Template of the condition that a value is missing."""
    LOG: ClassVar[str]
    """Template of the natural logarithm."""

    @abstractmethod
    def feature(self, number: int) -> str:
        """Return the text of a feature."""

    @abstractmethod
    def column(self, name: str) -> str:
        """Return the text of a column of an earlier layer."""

    def number(self, value: float) -> str:
        """Return the text of a constant."""
        return repr(float(value))

    @abstractmethod
    def trees(self, model: Trees) -> list[str]:
        """Return each tree as an expression."""

    def choice(self, condition: str, yes: str, no: str) -> str:
        """Return one of two values."""
        return self.CHOICE.format(condition, yes, no)

    def score(self) -> tuple[Steps, str]:
        """Return the columns that the score needs, and the score."""
        steps: Steps = []
        terms = []
        for number, (model, inputs) in enumerate(self.formula.parts, start=1):
            if isinstance(model, Linear):
                terms.append(self.sum(self._linear(model, [self._input(entry) for entry in inputs])))
            elif isinstance(model, Network):
                terms.append(self._network(model, inputs, f"{number}", steps))
            else:
                terms.append(self.sum(self.trees(model)))
        return steps, self.sum(terms if len(terms) == 1 else [f"({term})" for term in terms])

    def probability(self, calibration: Calibration, score: str) -> str:
        """Return the expression of the calibrated probability, given that of the score."""
        number, knots = self.number, calibration.knots
        t = f"({number(calibration.slope)} * {score} + ({number(calibration.intercept)}))"
        if not knots:
            bounded = self.choice(f"{t} < {number(-_LARGEST_EXPONENT)}", number(-_LARGEST_EXPONENT), t)
            bounded = self.choice(f"{t} > {number(_LARGEST_EXPONENT)}", number(_LARGEST_EXPONENT), bounded)
            return f"{number(1.0)} / ({number(1.0)} + exp(-({bounded})))"
        # The absolute value is a choice of signs, since not every language has a function for it.
        size = self.choice(f"{t} < {number(0.0)}", f"-{t}", t)
        rising = f"{t} / ({number(1.0)} + {size})"
        regression = f"{number(1.0 - SHARE)} * ({self._knots(score, knots, calibration.values)})"
        return f"{regression} + {number(0.5 * SHARE)} * ({number(1.0)} + {rising})"

    def sum(self, terms: list[str]) -> str:
        """Return the sum of terms, nested in groups."""
        while len(terms) > _AT_ONCE:
            groups = (terms[first : first + _AT_ONCE] for first in range(0, len(terms), _AT_ONCE))
            terms = [f"({' + '.join(group)})" for group in groups]
        return " + ".join(terms) if terms else self.number(0.0)

    def _linear(self, model: Linear, columns: list[str]) -> list[str]:
        return [*self._products(model.weights, columns), self.number(model.constant)]

    def _products(self, weights: Array, columns: list[str]) -> list[str]:
        pairs = zip(weights.tolist(), columns, strict=True)
        return [f"{self.number(weight)} * {column}" for weight, column in pairs if weight]

    def _network(self, model: Network, inputs: tuple[Input, ...], name: str, steps: Steps) -> str:
        columns = [self.feature(entry.feature) for entry in inputs]
        first = {
            f"directrix{name}_x{i}": self._input(entry)
            for i, entry in enumerate(inputs)
            if not entry.is_feature or entry.missing is not None
        }
        # Columns that are not plain features become a layer of their own, so that their text is written once.
        if first:
            steps.append(first)
            columns = [
                self.column(f"directrix{name}_x{i}") if f"directrix{name}_x{i}" in first else column
                for i, column in enumerate(columns)
            ]
        terms = [] if model.linear is None else self._linear(model.linear, columns)
        for layer, (weights, bias) in enumerate(model.layers):
            units, prefix = range(len(bias)), f"directrix{name}_{layer + 1}_"
            steps.append(
                {
                    f"{prefix}{j}_sum": self.sum(
                        [*self._products(weights[:, j], columns), self.number(bias[j])]
                    )
                    for j in units
                }
            )
            sums = [self.column(f"{prefix}{j}_sum") for j in units]
            before = [f" + {column}" for column in columns] if model.adds_inputs(layer) else [""] * len(bias)
            # Sums are a layer of their own, because an activation uses its sum more than once.
            zero = self.number(0.0)
            active = (
                f"tanh({total})"
                if model.activation == "tanh"
                else self.choice(f"{total} > {zero}", total, zero)
                for total in sums
            )
            steps.append({f"{prefix}{j}": unit + before[j] for j, unit in enumerate(active)})
            columns = [self.column(f"{prefix}{j}") for j in units]
        return self.sum([*self._products(model.last, columns), *terms])

    def _input(self, entry: Input) -> str:
        x = self.feature(entry.feature)
        if entry.factor == 0.0 and entry.kind != "knots":
            return self.number(0.0)
        if entry.kind == "knots":
            value = self._knots(x, entry.knots, entry.scores)
        else:
            value = x
            if entry.kind == "log":
                value = self.choice(
                    f"{x} < {self.number(0.0)}",
                    "-" + self.LOG.format(f"{self.number(1.0)} - {x}"),
                    self.LOG.format(f"{self.number(1.0)} + {x}"),
                )
            if entry.center != 0.0 or entry.factor != 1.0:
                value = f"({value} - ({self.number(entry.center)})) * {self.number(entry.factor)}"
        if entry.missing is not None:
            value = self.choice(self.MISSING.format(x), self.number(entry.missing), value)
        return value if value == x else f"({value})"

    def _knots(self, x: str, knots: tuple[float, ...], scores: tuple[float, ...]) -> str:
        """Return the line through knots, constant beyond both ends."""
        lines = [
            (z, (end - z) / (right - left), left)
            for (left, right), (z, end) in zip(pairwise(knots), pairwise(scores), strict=True)
        ]
        return self._between(x, [(scores[0], 0.0, 0.0), *lines, (scores[-1], 0.0, 0.0)], knots)

    def _between(self, x: str, lines: list[tuple[float, float, float]], knots: tuple[float, ...]) -> str:
        """Return the line (value, slope, where) that holds for x, each up to its knot; found by halving."""
        if len(lines) == 1:
            value, slope, where = lines[0]
            if slope == 0.0:
                return self.number(value)
            return f"{self.number(slope)} * ({x} - ({self.number(where)})) + {self.number(value)}"
        middle = len(lines) // 2
        return self.choice(
            f"{x} <= {self.number(knots[middle - 1])}",
            self._between(x, lines[:middle], knots[: middle - 1]),
            self._between(x, lines[middle:], knots[middle:]),
        )


def float_text(value: float) -> str:
    """Return a float as text that reads back exactly, with an exponent: SQL reads others as decimals."""
    text = repr(float(np.float64(value)))
    return text if "e" in text else f"{text}e0"
