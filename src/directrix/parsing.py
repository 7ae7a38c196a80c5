"""Reading and showing of short texts that hold Python values, such as ``NAME(value, field=value)``."""

from __future__ import annotations

import ast
import difflib
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from directrix.errors import InputError

UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError, TypeError)
"""Errors of a text that cannot be read; a TypeError: a literal such as {[]: 1}."""
LONGEST = 2000
"""Maximum length of a text; Python's parser needs stack and time for deep nesting."""

IN_MODULE = re.compile(r"\s*+([A-Za-z_][\w.]*+)\s*+:(.*)", re.DOTALL)
"""``module:Name``, by which a user names code to import; texts of files are never imported."""


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def json_of(content: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text; `ValueError` for other text, too deep nesting or half a character."""
    text = content if isinstance(content, str) else content.decode("utf-8-sig")
    try:
        value = json.loads(text, **hooks)
        if _ESCAPED_SURROGATE.search(text):
            # Only an escape can bring half of a character into a value, and encoding finds it.
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("its lists or objects are nested too deeply") from None
    except UnicodeEncodeError as error:
        raise ValueError(f"{error.object[error.start]!a} is half of a character (a lone surrogate)") from None
    return value


class Call(NamedTuple):
    """A call that was read from text."""

    name: str
    """Empty if the text calls something without a name of its own, e.g. ``module.Name()``."""
    arguments: list[Any]
    """Values without a field, in order."""
    fields: dict[str, Any]
    """Values by field."""


def parse_tree(text: str) -> ast.expr:
    """Return the syntax tree of an expression of at most `LONGEST` characters; raises `UNREADABLE`.

    The text must contain only the expression: Python's parser skips comments and would read ``AP # @5`` as
    AP.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} characters, of which at most {LONGEST} are read")
    text = text.strip()
    tree = ast.parse(text, mode="eval").body
    # The tree must cover the whole text, so that writing it again loses nothing.
    if ast.get_source_segment(text, tree) != text:
        raise ValueError("a comment or parentheses surround it")
    return tree


def parse_literal(text: str) -> Any:
    """Return the value of a Python literal; raises `UNREADABLE`."""
    return ast.literal_eval(parse_tree(text))


def call_of(tree: ast.expr, value: Callable[[ast.expr], Any] = ast.literal_eval) -> Call:
    """Read the tree of ``NAME``, or ``NAME(value, field=value)``; raises `UNREADABLE` for any other form.

    ``value`` converts the syntax tree of each value, and may raise too; the default accepts Python literals.

    >>> call_of(parse_tree("ApproxNDCG(50, k=10)"))
    Call(name='ApproxNDCG', arguments=[50], fields={'k': 10})
    """
    # A bare name is a call without arguments.
    call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
    return Call(
        call.func.id if isinstance(call.func, ast.Name) else "",
        [value(argument) for argument in call.args],
        {field.arg or "": value(field.value) for field in call.keywords},
    )


def unknown_name(name: str, known: Iterable[str], what: str, text: str) -> InputError:
    """Return the error for an unknown name in a text, with the nearest known names, or else all."""
    names = {name.lower(): name for name in known}
    # 0.5 is the least similarity of a suggestion, on difflib's scale from 0 to 1.
    near = [names[match] for match in difflib.get_close_matches(name.lower(), names, cutoff=0.5)]
    meant = f"; did you mean {' or '.join(near)}?" if near else f". Known: {', '.join(names.values())}."
    return InputError(f"{text!r}: there is no {what} {name!r}{meant}")


def build(made: Any, call: Call, text: str) -> Any:
    """Return an object of a dataclass, or a changed copy of an object, with the fields of a call.

    Raises `InputError` if the class has no such fields.
    """
    kind = made if isinstance(made, type) else type(made)
    names = [field.name for field in fields(kind)]
    try:
        wrong = next((f"has no field {name!r}" for name in call.fields if name not in names), "")
        if call.arguments and made is not kind:
            wrong = "is changed by fields with names"
        if not wrong:
            return kind(*call.arguments, **call.fields) if made is kind else replace(made, **call.fields)
    except TypeError as error:
        wrong = f"cannot be made ({error})"
    raise InputError(f"{text!r}: {kind.__name__} {wrong}; its fields are {', '.join(names)}.")


def import_named(module: str, name: str, what: str, example: str) -> Any:
    """Import an object that the user named, which runs the code of its module.

    Raises `InputError` if there is no such module or name; ``what`` is the typed text, and ``example`` shows
    the form.
    """
    if str(Path.cwd()) not in sys.path:
        # The folder comes last, so it hides no installed package. It stays, because worker processes
        # import from there too.
        sys.path.append(str(Path.cwd()))
    try:
        home = import_module(module)
    except ImportError as error:
        raise InputError(
            f"{what}: the module {module!r} cannot be imported ({error}); a module of the current folder "
            f"{Path.cwd()} or of sys.path is needed, {example}."
        ) from error
    if not hasattr(home, name):
        raise InputError(
            f"{what}: the module {module!r} ({getattr(home, '__file__', 'built in')}) has no such name; it "
            f"has {', '.join(n for n in vars(home) if not n.startswith('_')) or 'none'}."
        )
    return getattr(home, name)
