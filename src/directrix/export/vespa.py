"""A rank profile of Vespa. Missing features are NaN."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.export.expressions import Language
from directrix.export.formula import Formula
from directrix.export.target import ExportTarget
from directrix.export.trees import Below, Node, TreeSplit, nested, nodes_of
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

# A rank feature is a word, with arguments in parentheses and an output after a point.
_NAME = re.compile(r"[A-Za-z_]\w*(\([\w., ]*\))?(\.\w+)*", re.ASCII)
_RESERVED = frozenset(["true", "false", "if", "in"])
"""Words of expressions; names of functions in the profile begin with ``directrix``."""

# A number, a word, or an operator.
_TOKEN = re.compile(
    r"\s*(?:(\d[\w.]*(?:(?<=[eE])[-+]\d+)?)|([A-Za-z_]\w*)|(<=|>=|==|[-+*/()!<>,.]))", re.ASCII
)
_COMPARISONS: dict[str, Any] = {
    "<=": np.less_equal,
    "<": np.less,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
}


@dataclass(frozen=True)
class Vespa(Language):
    """Vespa's ranking expressions."""

    CHOICE = "if ({}, {}, {})"
    MISSING = "isNan({}) == 1"
    LOG = "log({})"

    def feature(self, number: int) -> str:
        """Return a rank feature by its name."""
        name = self.formula.name(number)
        if not _NAME.fullmatch(name) or name in _RESERVED or name.startswith("directrix"):
            raise InputError(
                f"{name!r} is not a rank feature of Vespa, such as bm25(title) or attribute(age); rename the "
                "feature in the data, and train again."
            )
        return name

    def column(self, name: str) -> str:
        """Return a function of the profile."""
        return f"{name}()"

    def trees(self, model: Trees) -> list[str]:
        """Return trees in the form that Vespa recognizes: ``<`` and ``!(>=)``, which are false for NaN.

        A tree of one leaf is a number, which would end the sum of trees, so another tree takes its value.
        Vespa rounds limits to float32 in large forests, and features too if its fast forest is enabled.
        """

        def branch(split: TreeSplit, left: str, right: str) -> str:
            below = Below.of(split, np.float32)
            feature, limit = self.feature(split.feature), self.number(below.limit)
            is_missing_below = split.missing_left != below.is_swapped
            condition = f"!({feature} >= {limit})" if is_missing_below else f"{feature} < {limit}"
            return self.choice(condition, *below.sides(left, right))

        nodes = nodes_of(model)
        # Trees of one leaf are constants, whose sum moves into the leaves of the last tree.
        rest = sum(tree[0].value for tree in nodes if tree[0].split is None)
        *others, last = [tree for tree in nodes if tree[0].split is not None] or [[Node(None)]]
        last = [node._replace(value=node.value + rest) if node.split is None else node for node in last]
        return nested([*others, last], self.number, branch)


def _write(formula: Formula) -> bytes:
    """Return a rank profile, which a schema contains."""
    language = Vespa(formula)
    steps, score = language.score()
    listed = ""
    if formula.calibration is not None:
        # The probability uses the score several times, so the score becomes a function.
        steps.append({"directrix_score": score.replace("\n", " ")})
        score = "directrix_score()"
        steps.append({"directrix_probability": language.probability(formula.calibration, score)})
        listed = "    summary-features: directrix_probability\n"
    functions = [
        f"    function {name}() {{\n        expression: {text}\n    }}\n"
        for step in steps
        for name, text in step.items()
    ]
    return (
        "rank-profile directrix {\n"
        f"{''.join(functions)}    first-phase {{\n        expression {{\n{score}\n        }}\n    }}\n"
        f"{listed}}}\n"
    ).encode()


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by a reader of Vespa's expressions."""
    text = content.decode()
    functions = dict(re.findall(r"function (\w+)\(\) \{\n\s*expression: (.*)\n", text))
    values: dict[str, Any] = {formula.name(f): X[:, f] for f in range(formula.n_features)}
    for name, body in functions.items():
        values[f"{name}()"] = _Expression(body, values).value()
    body = text.partition("expression {\n")[2].partition("\n        }")[0]
    scores = np.empty(len(X))
    scores[:] = _Expression(body, values).value()
    if formula.calibration is None:
        return scores
    return np.column_stack([scores, values["directrix_probability()"]])


class _Expression:
    """Evaluates an expression from left to right, of all rows at once."""

    def __init__(self, text: str, values: dict[str, Any]) -> None:
        self._text, self._known, self._place = text, values, 0
        # Longer names come first, because one name may begin another.
        names = sorted(values, key=len, reverse=True)
        self._features = (
            re.compile(r"\s*(" + "|".join(map(re.escape, names)) + r")(?![\w(])") if names else None
        )

    def value(self) -> Any:
        """Return the value of the whole text."""
        result = self._sum()
        if self._text[self._place :].strip():
            raise InputError(f"Vespa's expression has more than one: {self._text[self._place :][:40]!r}.")
        return result

    def _next(self, wanted: str = "") -> Any:
        """Return the next token without consuming it, or consume it if it is the wanted one."""
        match = _TOKEN.match(self._text, self._place)
        token = next((group for group in match.groups() if group), "") if match else ""
        if match and wanted and token == wanted:
            self._place = match.end()
            return True
        return False if wanted else token

    def _need(self, token: str) -> None:
        if not self._next(token):
            raise InputError(f"Vespa's expression lacks {token!r} at {self._text[self._place :][:40]!r}.")

    def _sum(self) -> Any:
        total = self._product()
        while self._next() in ("+", "-"):
            sign = 1.0 if self._next("+") else -1.0 if self._next("-") else 0.0
            total = total + sign * self._product()
        return total

    def _product(self) -> Any:
        total = self._atom()
        while (operator := self._next()) in ("*", "/"):
            self._need(operator)
            factor = self._atom()
            total = total * factor if operator == "*" else total / factor
        return total

    def _condition(self) -> Any:
        if self._next("!"):
            self._need("(")
            result = ~self._condition()
            self._need(")")
            return result
        left = self._sum()
        operator = self._next()
        self._need(operator if operator in _COMPARISONS else "a comparison")
        right = self._sum()
        return _COMPARISONS[operator](left, right)

    def _atom(self) -> Any:
        if self._next("-"):
            return -self._atom()
        if self._next("("):
            result = self._sum()
            self._need(")")
            return result
        if self._features and (match := self._features.match(self._text, self._place)):
            self._place = match.end()
            return self._known[match[1]]
        token = self._next()
        self._need(token or "a value")
        if token[0].isdigit():
            return np.float64(token)
        self._need("(")
        if token == "if":
            # The value has all rows, so both sides are evaluated and chosen from.
            condition = self._condition()
            self._need(",")
            yes = self._sum()
            self._need(",")
            result = np.where(condition, yes, self._sum())
        else:
            functions = {"isNan": np.isnan, "log": np.log, "exp": np.exp, "tanh": np.tanh}
            if token not in functions:
                raise InputError(f"Vespa's expression names {token!r}, neither a feature nor a function.")
            # Both sides of a choice are computed, also the logarithm of numbers that the condition excludes.
            with np.errstate(invalid="ignore", divide="ignore"):
                result = functions[token](self._sum())
        self._need(")")
        return result


TARGET = ExportTarget(
    "a Vespa rank profile",
    _write,
    _read,
    "a reader of Vespa's expressions",
    keeps_calibration=True,
    rounds_trees=True,
)
