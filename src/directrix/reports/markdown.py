"""The Markdown of reports: plain text escaped for it, and its conversion to HTML.

Paragraphs, lists, headings, code, bold, italics and links are marked up; everything else is text.
"""

from __future__ import annotations

import html
import re

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
        Blank lines separate paragraphs; items of lists begin with "- ", headings with "#"; "```" fences code.

    Returns
    -------
    str
        Everything else is escaped, HTML included. Links lead to the web or into the page; other links become
        plain text, because the page has no other files.

    Examples
    --------
    >>> to_html("**Best**: `a<b`")
    '<p><strong>Best</strong>: <code>a&lt;b</code></p>'
    """
    blocks = []
    for i, part in enumerate(_FENCE.split(text)):
        if i % 2:
            blocks.append(f"<pre><code>{html.escape(part)}</code></pre>")
        else:
            blocks += [_block(block) for block in re.split(r"\n\s*\n", part) if block.strip()]
    return "\n".join(blocks)


def _block(text: str) -> str:
    text = text.strip()
    if text.startswith("#"):
        return f"<h3>{inline_html(text.lstrip('#').strip())}</h3>"
    before, *items = _ITEM.split(text)
    parts = [f"<p>{inline_html(before.strip())}</p>"] if before.strip() else []
    if items:
        parts.append("<ul>" + "".join(f"<li>{inline_html(item.strip())}</li>" for item in items) + "</ul>")
    return "\n".join(parts)


def inline_html(text: str) -> str:
    """Markdown within a line as HTML: code, bold, italics and links."""
    marked, end = "", 0
    for match in _INLINE.finditer(text):
        marked += html.escape(text[end : match.start()]) + _marked(match)
        end = match.end()
    return marked + html.escape(text[end:])


def _marked(match: re.Match[str]) -> str:
    if match["code"]:
        return f"<code>{html.escape(match['code'][1:-1])}</code>"
    if match["escaped"]:
        return html.escape(match["escaped"])
    if match["bold"]:
        return f"<strong>{inline_html(match['bold'])}</strong>"
    if match["italic"]:
        return f"<em>{inline_html(match['italic'])}</em>"
    link = match["url"] or match["link"]
    shown = html.escape(link) if match["url"] else inline_html(match["text"])
    return f'<a href="{html.escape(link)}">{shown}</a>' if link.startswith(_SAFE) else shown
