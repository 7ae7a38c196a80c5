"""
Vespa's rank profiles, as its content nodes evaluate them.

Sources: vespa-engine/vespa at master (2026-08-22): of config-model SchemaParser.jj; of searchlib
RankingExpressionParser.jj and features/rankingexpressionfeature.cpp; of eval/src/vespa/eval/eval function.cpp
(a parser), basic_nodes.cpp and operator_nodes.h (trees), gbdt.cpp, vm_forest.cpp, fast_forest.cpp, and llvm/.
"""

import re
from dataclasses import dataclass

import numpy as np

from .rules import Split, leaf_of, require, single

# SchemaParser.jj: an expression on the line, or in braces
EXPRESSION = r"expression\s*(?::(?P<line>[^{}\n]*)(?:\n|$)|\{(?P<braces>[^{}]*)\})"
FUNCTION = re.compile(rf"function\s+(?:inline\s+)?(?P<name>\w+)\s*\(\s*\)\s*\{{\s*{EXPRESSION}\s*\}}")
FEATURES = re.compile(r"(?:summary|match)-features\s*:[^}\n]*\n")
PHASE = re.compile(rf"(?P<phase>first|second|global)-phase\s*\{{\s*{EXPRESSION}\s*\}}")
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[A-Za-z_@][\w@$]*)|(?P<operator>\|\||&&|>=|<=|==|!=|[-+*/%^<>!(),.]))"
)
PRIORITIES = {"||": 1, "&&": 2, **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 10)}
PRIORITIES |= {"+": 101, "-": 101, "*": 102, "/": 102, "%": 102, "^": 103}
OPERATORS = {
    "||": lambda a, b: np.float64((a != 0) | (b != 0)),
    "&&": lambda a, b: np.float64((a != 0) & (b != 0)),
    "==": lambda a, b: np.float64(a == b),
    "!=": lambda a, b: np.float64(a != b),
    "<": lambda a, b: np.float64(a < b),
    "<=": lambda a, b: np.float64(a <= b),
    ">": lambda a, b: np.float64(a > b),
    ">=": lambda a, b: np.float64(a >= b),
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": np.power,
}
CALLS = {
    "isNan": lambda a: np.float64(np.isnan(a)),
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "abs": np.abs,
    "fabs": np.abs,
    "relu": lambda a: np.where(a > 0, a, 0.0),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
}


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Symbol:
    name: str


@dataclass(frozen=True)
class Call:
    """A call is one of a function or an operator, or a ``sum`` of any number of terms."""

    name: str
    children: tuple


@dataclass(frozen=True)
class If:
    condition: object
    yes: object
    no: object
    is_tree: bool


def if_node(condition, yes, no):
    """Return an If: a tree for `symbol < number` and `!(symbol >= number)`, by basic_nodes.cpp If::If."""

    def compares(node, operator):
        return (
            isinstance(node, Call)
            and node.name == operator
            and isinstance(node.children[0], Symbol)
            and isinstance(node.children[1], Number)
        )

    is_tree = compares(condition, "<") or (
        isinstance(condition, Call) and condition.name == "!" and compares(condition.children[0], ">=")
    )
    return If(
        condition, yes, no, is_tree and all(isinstance(child, Number) or tree(child) for child in (yes, no))
    )


def tree(node):
    return isinstance(node, If) and node.is_tree


def forest(node):
    """Tell sums of trees, which add from left to right: operator_nodes.h Add::check_forest."""
    return (
        isinstance(node, Call)
        and node.name == "sum"
        and all(tree(one) or forest(one) for one in node.children)
    )


class Parser:
    """A parser takes operators by priority, and binds `-` and `!` to values: function.cpp."""

    def __init__(self, text, functions, names):
        self.tokens, self.functions, self.names = [], functions, names
        position = 0
        text = re.sub(r"#[^\n]*", "", text).rstrip()
        while position < len(text):
            match = TOKEN.match(text, position)
            require(match, f"no token at {text[position : position + 20]!r}")
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            position = match.end()
        self.position = 0

    def peek(self):
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def take(self, *expected):
        kind, text = self.peek()
        require(not expected or text in expected, f"expected {expected}, got {text!r}")
        self.position += 1
        return kind, text

    def whole(self):
        found = self.expression()
        require(self.peek()[0] == "end", f"incomplete parse at {self.peek()[1]!r}")
        return found

    def expression(self, lowest=0):
        left = self.value()
        while (priority := PRIORITIES.get(self.peek()[1], -1)) > lowest:
            operator = self.take()[1]
            right = self.expression(priority - 1 if operator == "^" else priority)
            if operator != "+":
                left = Call(operator, (left, right))
            elif isinstance(left, Call) and left.name == "sum":
                left = Call("sum", (*left.children, right))
            else:
                left = Call("sum", (left, right))
        return left

    def value(self):
        kind, text = self.take()
        if text == "-":
            child = self.value()
            return Number(-child.value) if isinstance(child, Number) else Call("neg", (child,))
        if text == "!":
            return Call("!", (self.value(),))
        if text == "(":
            child = self.expression()
            self.take(")")
            return child
        if kind == "number":
            return self.number(text)
        require(kind == "name", f"missing value at {text!r}")
        if text == "if" and self.peek()[1] == "(":
            return self.branches()
        if text in CALLS and self.peek()[1] == "(":
            return Call(text, self.arguments())
        return self.symbol(text)

    def number(self, text):
        # rankingexpression/evaluation/Value.parse: without a point or exponent it is a long
        require(set(text) & set(".eE") or int(text) < 2**63, f"no long: {text}")
        # and Double.toString of what the content node gets has no word for an infinite number
        require(np.isfinite(float(text)), f"no finite number: {text}")
        return Number(float(text))

    def branches(self):
        condition, yes, no = self.arguments()
        return if_node(condition, yes, no)

    def arguments(self):
        self.take("(")
        found = [self.expression()]
        while self.peek()[1] == ",":
            self.take(",")
            found.append(self.expression())
        self.take(")")
        return tuple(found)

    def symbol(self, name):
        """Read a rank feature with arguments and an output, or a function of the profile."""
        if self.peek()[1] == "(":
            depth, text = 0, ""
            while not text or depth:
                token = self.take()[1]
                require(token, "a feature without an end")
                depth += {"(": 1, ")": -1}.get(token, 0)
                text += token
            if text == "()" and name in self.functions:
                return Symbol(f"{name}()")
            name += text
        while self.peek()[1] == ".":
            self.take(".")
            name += "." + self.take()[1]
        if name in ("true", "false"):  # numbers, whatever the features are called
            return Number(float(name == "true"))
        require(name in self.names or name in self.functions, f"unknown symbol: {name!r}")
        return Symbol(name if name in self.names else f"{name}()")


def load(content, names, *, fast_forest=False):
    """
    Return the scores of rows, each feature under its name in ``names``; NaN is a missing feature.

    ``fast_forest`` is the rank property `vespa.eval.use_fast_forest`.
    """
    text = content.decode("utf-8")
    profile = re.match(
        r"\s*rank-profile\s+[\w-]+\s*(?:inherits\s+[\w-]+\s*)?\{(?P<items>.*)\}\s*$", text, re.DOTALL
    )
    require(profile, "no rank profile")
    items = profile["items"]
    matches = {match["name"]: match for match in FUNCTION.finditer(items)}
    phases = [match for match in PHASE.finditer(items)]
    rest = FEATURES.sub("", PHASE.sub("", FUNCTION.sub("", items)))
    require(not rest.strip(), f"an item that is no function, phase or list of features: {rest.strip()!r}")
    require(len(phases) == 1, "no phase, or more than one")
    parsed = {
        name: Parser(match["line"] or match["braces"], matches, names).whole()
        for name, match in (*matches.items(), (None, phases[0]))
    }

    def scores(X, function=None):
        values = {name: np.float64(X[:, column]) for column, name in enumerate(names)}
        done = dict(values)

        def value_of(name):
            if name not in done:
                done[name] = evaluated(parsed[name[:-2]], value_of, len(X), fast_forest)
            return done[name]

        return evaluated(parsed[function], value_of, len(X), fast_forest)

    scores.forests = [size for node in parsed.values() for size in forests(node)]
    scores.functions = tuple(matches)
    return scores


def forests(node):
    """Return the number of trees of each forest, and 1 for a tree that belongs to none."""
    if tree(node):
        return [1]
    if forest(node):
        return [len(trees_of(node))]
    if isinstance(node, If):
        return forests(node.condition) + forests(node.yes) + forests(node.no)
    if not isinstance(node, Call):
        return []
    if node.name == "sum" and (first := leading(node)):
        return [
            len(trees_of(first)),
            *(size for one in node.children[len(first.children) :] for size in forests(one)),
        ]
    return [size for one in node.children for size in forests(one)]


def trees_of(node):
    """Return the trees of a forest: gbdt.cpp extract_trees."""
    return [node] if tree(node) else [found for one in node.children for found in trees_of(one)]


def leading(node):
    """Return the longest forest that begins a sum: `tree + tree + 0.3` is a forest and a number."""
    count = 0
    while count < len(node.children) and (tree(node.children[count]) or forest(node.children[count])):
        count += 1
    return Call("sum", node.children[:count]) if count > 1 else None


def evaluated(root, value_of, n, fast_forest):
    """Return the values of an expression, in double precision but for optimized forests."""

    def value(node):
        if isinstance(node, Number):
            return np.full(n, node.value)
        if isinstance(node, Symbol):
            return value_of(node.name)
        if isinstance(node, If):
            return np.where(value(node.condition) != 0, value(node.yes), value(node.no))
        if node.name == "sum":
            first = leading(node)
            if first is not None and ((fast_forest and first == root) or optimized(trees_of(first))):
                total = of_forest(first, value_of, n, single if fast_forest and first == root else np.float64)
                rest = node.children[len(first.children) :]
            else:
                total, rest = value(node.children[0]), node.children[1:]
            for one in rest:
                total = total + value(one)
            return total
        children = [value(one) for one in node.children]
        if node.name == "neg":
            return -children[0]
        if node.name == "!":
            return np.float64(children[0] == 0)
        return OPERATORS[node.name](*children) if node.name in OPERATORS else CALLS[node.name](*children)

    with np.errstate(all="ignore"):
        return value(root)


def optimized(trees):
    """Tell the large forests, which run in VMForest: gbdt.cpp Optimize::select_best."""
    depths = [list(leaf_depths(one)) for one in trees]
    paths = sum(np.mean(one) for one in depths)
    sizes = [len(one) for one in depths]
    return (max(sizes) > 12 and paths > 2500.0) or sum(sizes) > 25000


def leaf_depths(node, depth=0):
    if isinstance(node, If):
        yield from leaf_depths(node.yes, depth + 1)
        yield from leaf_depths(node.no, depth + 1)
    else:
        yield depth


def of_forest(node, value_of, n, of_feature):
    """Score with floats as thresholds and leaves, by vm_forest.cpp; fast_forest.cpp casts features, too."""
    trees = trees_of(node)
    used = []

    def built(one):
        if isinstance(one, Number):
            return float(single(one.value))
        inverted = one.condition.name == "!"
        feature, constant = (one.condition.children[0] if inverted else one.condition).children
        if feature.name not in used:
            used.append(feature.name)
        threshold = float(single(constant.value))
        return Split(
            used.index(feature.name),
            lambda values: ~(values >= threshold) if inverted else values < threshold,
            built(one.yes),
            built(one.no),
        )

    roots = [built(one) for one in trees]
    X = (
        np.column_stack([np.float64(of_feature(value_of(name))) for name in used])
        if used
        else np.empty((n, 0))
    )
    return np.sum([leaf_of(root, X) for root in roots], axis=0)
