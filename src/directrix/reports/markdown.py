"""The Markdown of reports as HTML: paragraphs, lists, code, bold, italics, links; all else is text."""

from __future__ import annotations

import html
import re

__all__ = ["to_html"]

_INLINE = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|\\(?P<escaped>[\\`*_|<>\[\]#-])"
    r"|\*\*(?P<bold>[^*]+)\*\*"
    r"|(?<!\w)\*(?P<italic>[^*\s][^*]*)\*(?!\w)"
    r"|\[(?P<text>[^\]]+)\]\((?P<link>[^()\s]+)\)"
    r"|(?P<url>https?://[^\s<>()]+[^\s<>().,;:])"
)
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^- ", re.MULTILINE)
_SAFE = ("https://", "http://", "#")


def to_html(text: str) -> str:
    """Markdown as HTML.

    Parameters
    ----------
    text : str
        Blank lines part paragraphs; lists begin with "- "; heads with "#"; "```" fences code.

    Returns
    -------
    str
        Everything else is escaped, HTML included; links lead to the web or into the page, others are
        their text alone, for the page stands by itself.

    Examples
    --------
    >>> to_html("**Best**: `a<b`")
    '<p><strong>Best</strong>: <code>a&lt;b</code></p>'
    """
    parts = _FENCE.split(text)
    found = []
    for i, part in enumerate(parts):
        if i % 2:
            found.append(f"<pre><code>{html.escape(part)}</code></pre>")
        else:
            found += [_block(block) for block in re.split(r"\n\s*\n", part) if block.strip()]
    return "\n".join(found)


def _block(text: str) -> str:
    text = text.strip()
    if text.startswith("#"):
        return f"<h3>{_inline(text.lstrip('#').strip())}</h3>"
    before, *items = _ITEM.split(text)
    parts = [f"<p>{_inline(before.strip())}</p>"] if before.strip() else []
    if items:
        parts.append("<ul>" + "".join(f"<li>{_inline(item.strip())}</li>" for item in items) + "</ul>")
    return "\n".join(parts)


def _inline(text: str) -> str:
    found, at = "", 0
    for match in _INLINE.finditer(text):
        found += html.escape(text[at : match.start()]) + _marked(match)
        at = match.end()
    return found + html.escape(text[at:])


def _marked(match: re.Match[str]) -> str:
    if match["code"]:
        return f"<code>{html.escape(match['code'][1:-1])}</code>"
    if match["escaped"]:
        return html.escape(match["escaped"])
    if match["bold"]:
        return f"<strong>{_inline(match['bold'])}</strong>"
    if match["italic"]:
        return f"<em>{_inline(match['italic'])}</em>"
    link = match["url"] or match["link"]
    shown = html.escape(link) if match["url"] else _inline(match["text"])
    return f'<a href="{html.escape(link)}">{shown}</a>' if link.startswith(_SAFE) else shown
