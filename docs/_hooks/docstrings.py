"""Docstrings as Markdown: formulas and cross-references of NumPy style, read by mkdocstrings."""

import re
import textwrap
from typing import Any

from griffe import Extension, Object

_BLOCK = re.compile(r"^( *)\.\. math:: ?(.*(?:\n(?:\1 +\S.*|(?=\n\1 ))$)*)", re.MULTILINE)
_INLINE = re.compile(r":math:`([^`]*)`")
_CODE = re.compile(r"^( *)\.\. code-block:: (\w+)\n\n((?:\1 +\S.*\n?|\n)+)", re.MULTILINE)

_PARAMETERS = re.compile(r"^( *)Parameters\n\1-{3,}\n(?:(?!\n *\S+\n *-{3,}\n).)*", re.MULTILINE | re.DOTALL)
_JOINT = re.compile(r"^( *)(\w+(?:, \w+)+)((?: : [^\n]*)?\n(?:\1 +\S[^\n]*\n?)*)", re.MULTILINE)
_CHOICES = re.compile(r"^( *\w+ : )\{([^}\n]*)\}", re.MULTILINE)


class RestToMarkdown(Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by Griffe for every module, class, function and attribute."""
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """Rewrite the few reStructuredText forms that the project's docstrings use."""
    text = _PARAMETERS.sub(_one_by_one, text)
    text = _BLOCK.sub(_formula, text)
    text = _INLINE.sub(r"$\1$", text)
    return _CODE.sub(_code, text).replace(r"\|", "|")


def _one_by_one(match: re.Match[str]) -> str:
    """Undo two readings of Griffe: the default of `a, b : int` is not a's for both, nor is the first
    word in braces always a default."""
    text = _JOINT.sub(lambda m: "".join(f"{m[1]}{name}{m[3]}" for name in m[2].split(", ")), match[0])
    return _CHOICES.sub(r"\1\2", text)


def _formula(match: re.Match[str]) -> str:
    indent, body = match.groups()
    tex = " ".join(line.strip() for line in body.splitlines())
    return f"{indent}$$\n{indent}{tex}\n{indent}$$"


def _code(match: re.Match[str]) -> str:
    indent, language, body = match.groups()
    fenced = f"```{language}\n{textwrap.dedent(body).rstrip()}\n```\n"
    return textwrap.indent(fenced, indent)
