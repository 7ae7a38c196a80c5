"""The Markdown of reports as HTML: CommonMark by markdown-it-py."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_SAFE = ("https://", "http://", "#")


def to_html(text: str) -> str:
    """Markdown as HTML.

    Parameters
    ----------
    text : str
        CommonMark.

    Returns
    -------
    str
        HTML in the text is escaped, and images are text. Links lead to the web or into the page; other links
        become plain text, because the page has no other files.

    Examples
    --------
    >>> to_html("**Best**: `a<b`")
    '<p><strong>Best</strong>: <code>a&lt;b</code></p>'
    """
    return str(_commonmark().render(text)).strip()


def inline_html(text: str) -> str:
    """Markdown within a line as HTML: code, bold, italics and links."""
    return str(_commonmark().renderInline(text))


@cache
def _commonmark() -> MarkdownIt:
    from markdown_it import MarkdownIt

    commonmark = MarkdownIt("commonmark", {"html": False}).disable("image")
    commonmark.add_render_rule("link_open", _link)
    commonmark.add_render_rule("link_close", _link)
    return commonmark


def _link(renderer: Any, tokens: Sequence[Any], i: int, options: Any, env: MutableMapping[str, Any]) -> str:
    if tokens[i].type == "link_open":
        env["is_safe"] = tokens[i].attrGet("href").startswith(_SAFE)
    return str(renderer.renderToken(tokens, i, options, env)) if env["is_safe"] else ""
