"""Every error and warning that directrix raises on purpose."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any

from directrix.advice import PYTHON

NO_ITEMS = (TypeError, NotImplementedError)
"""Errors of ``list`` for a value that it cannot read; some memoryviews raise the latter."""


# A terminal would obey or misplace these characters. They are the control characters except tab
# and line feed, surrogates, which no terminal can encode, changes of direction, and separators of
# lines.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# No word, and no name of a file, has this number of characters, so a longer run without a blank is cut.
_ENDLESS_FROM = 300
_ENDLESS = re.compile(rf"[^\s/\\]{{{_ENDLESS_FROM},}}")
# A message longer than this number of characters loses its middle.
_LONGEST_LINE = 5000


def visible(text: str) -> str:
    r"""Return text with control characters as escapes such as ``\x1b``, which a terminal does not obey."""
    return _HIDDEN.sub(_escaped, text)


def one_line(text: str, most: int = _LONGEST_LINE) -> str:
    r"""Return text that has names of files or users as one line that can be read.

    Line ends and tabs are escapes too, and the middle of very long words and lines is left out.

    >>> print(one_line("bm\n25"), len(one_line("x" * 10**6)))
    bm\n25 203
    """
    if text.isprintable() and len(text) < _ENDLESS_FROM:
        return text
    text = re.sub(r"[\t\n]", _escaped, visible(text))
    text = _ENDLESS.sub(lambda match: _cut(match[0], 200), text)
    return text if len(text) <= most else _cut(text, most)


def _escaped(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def _cut(text: str, most: int) -> str:
    return f"{text[: most // 2]}...{text[-(most // 2) :]}"


class Advice(str):
    """Advice by its key: the sentence that says what to type in Python.

    The key and its values stay known, so that another door, such as the command line, says it in its words.

    Parameters
    ----------
    key : str
        A key of `directrix.advice.PYTHON`.
    **values : object
        What the template of the key names, and the one of the command line.

    Examples
    --------
    >>> print(Advice("folds", most=3, default=5))
    Type at most folds=3, or leave it out for 5.
    """

    __slots__ = ("key", "values")
    key: str
    values: dict[str, object]

    def __new__(cls, key: str, /, **values: object) -> Advice:
        """Return the sentence for Python."""
        # The text itself is the advice for Python. A shell takes the key and the values, and builds its
        # own sentence.
        advice = super().__new__(cls, one_line(PYTHON[key].format(**values)))
        advice.key, advice.values = key, values
        return advice

    def __reduce__(self) -> tuple[object, ...]:
        """Let a worker process pass it on with its key."""
        return partial(Advice, self.key, **self.values), ()


class InputError(ValueError):
    """Data that cannot be used.

    The message has four parts: what arrived, where (file:line, row, query id), what is
    needed, and what to type next.

    Parameters
    ----------
    problem : str
        The first three parts, and the fourth if it is the same in Python and in a shell.
    *advice : str
        What to type, as the last sentences: an `Advice` if it differs between Python and a shell.
    lines : sequence of str
        Several problems, each on a line of its own between ``problem`` and ``advice``.

    Examples
    --------
    >>> error = InputError("6 folds of 3 queries.", Advice("folds", most=3, default=5))
    >>> str(error)
    '6 folds of 3 queries. Type at most folds=3, or leave it out for 5.'
    >>> error.advice[0].key
    'folds'
    """

    def __init__(self, problem: str, *advice: str, lines: Sequence[str] = ()) -> None:
        self.problem, self.advice, self.lines = problem, advice, lines
        super().__init__(self.text(advice))

    def text(self, advice: Iterable[str]) -> str:
        """Return the message with its advice in these words."""
        fix = " ".join(advice)
        if not self.lines:
            return one_line(f"{self.problem} {fix}".rstrip())
        return "\n".join(
            map(one_line, filter(None, (self.problem, *(f"  {line}" for line in self.lines), fix)))
        )

    def at(self, place: str) -> InputError:
        """Return the same error with its place in front, e.g. a file or a fold."""
        return InputError(f"{place}: {self.problem}", *self.advice, lines=self.lines)

    def __reduce__(self) -> tuple[object, ...]:
        """Let a worker process pass it on with its advice."""
        return partial(type(self), self.problem, *self.advice, lines=self.lines), ()


def short_text(value: object, limit: int = 60) -> str:
    """Return the ``repr`` of any value for a message, truncated if it is long."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001
        # The `repr` of user values may raise an error of any class: huge integers, lists nested deeply,
        # classes that fail.
        kind = "huge integer" if isinstance(value, int) else f"{type(value).__name__} that cannot be printed"
        text = f"a {kind}"
    # The `repr` of arrays and frames has several lines, and a message needs one.
    text = " ".join(map(str.strip, text.splitlines()))
    return text if len(text) <= limit else text[: limit - 3] + "..."


def first_repeated(values: Iterable[Hashable]) -> Any:
    """Return the first value that occurred before, or None, in one pass also over many values."""
    seen = set[Hashable]()
    # `add` returns None, so a new value is stored and skipped in the same expression.
    return next((value for value in values if value in seen or seen.add(value)), None)  # type: ignore[func-returns-value]


def amount(n: int, things: str) -> str:
    """Return a number and its noun, given in the plural: "1 query", "2,000 queries"."""
    thing = f"{things[:-3]}y" if things.endswith("ies") else things[:-1]
    return f"{n:,} {thing if n == 1 else things}"


def in_words(names: Iterable[str], word: str = "and") -> str:
    """Return names as in a sentence: ``A, B and C``."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


EXTRAS = ("arrow", "dask", "export", "plot", "pyterrier", "text", "torch")
"""Groups of optional packages; ``all`` is all of them."""


class MissingExtra(ImportError):
    """A package is not installed; the message gives the install line.

    Parameters
    ----------
    extra : str
        Name of the extra in ``pip install "directrix[extra]"``, or of a core package that is missing, e.g.
        after ``pip install --no-deps``.
    purpose : str
        Task that needs it, as the subject of a sentence: "reading Parquet files".

    Examples
    --------
    >>> import directrix as dx
    >>> print(dx.MissingExtra("plot", "the figures of a report"))
    the figures of a report needs an optional package; type: pip install "directrix[plot]"
    """

    def __init__(self, extra: str, purpose: str) -> None:
        is_extra = extra in EXTRAS
        needs = "an optional package" if is_extra else f"the package {extra}, which is not installed"
        target = f'"directrix[{extra}]"' if is_extra else extra
        super().__init__(f"{purpose} needs {needs}; type: pip install {target}")
        self._given = extra, purpose

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        """Let a worker process pass it on: by default, an exception is rebuilt from its message."""
        return type(self), self._given


class NotConverged(UserWarning):
    """Training stopped before its own criterion was met.

    Examples
    --------
    >>> import warnings
    >>> import directrix as dx
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", dx.NotConverged)  # an error, not a warning
    ...     ranker = dx.LinearRanker().fit_queries(q)
    """


def warn(
    message: str, category: type[Warning] = UserWarning, *, advice: str = "", stacklevel: int = 2
) -> None:
    """Issue a warning, by default at the caller of the function that calls this.

    ``advice``: what to type, as its last sentence, which is also an attribute of the warning, as of an error.
    ``stacklevel``: 1 = the caller of ``warn``, 2 = its caller, and so on.
    """
    warning = category(one_line(f"{message} {advice}".rstrip()))
    warning.advice = advice  # type: ignore[attr-defined]
    warnings.warn(warning, stacklevel=stacklevel + 1)  # noqa: TID251
