"""The report as one self-contained HTML file: tables to sort, figures, queries to inspect."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.reports.figures import GRID, INK, across
from directrix.reports.page import CLAIMS, ENDING, Block, outline
from directrix.reports.report import PerQuery, Report
from directrix.tables import Table, Value, json_value

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Links with one of these beginnings lead to the web, or into the page.
_SAFE = ("https://", "http://", "#")
# A panel narrower than this number of rem cannot be read, so its frame scrolls.
_PANEL = 15
# Classes of cells that begin with a sign of `directrix.reports.report.MARKS`, in the order of sorting.
_VERDICTS = {"✓ ": "holds", "≈ ": "open", "? ": "open", "✗ ": "fails"}
# Cells and headings of columns of numbers have this class.
_NUMBER = ' class="number"'
# These characters could end the element of a script, or a line of it.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def html(report: Report, drawn: Mapping[str, str]) -> str:
    """Return a report as one self-contained HTML file; ``drawn`` has the SVG of each figure by its name.

    Its Content-Security-Policy allows only the script that it contains, and no forms. Without scripts,
    everything works except sorting and the queries. All names and texts are escaped.
    """
    sections = []
    for title, blocks in outline(report):
        sections.append((title, "".join(_block(title, block, drawn) for block in blocks)))
    if report.per_query:
        place = next((i for i, (title, _) in enumerate(sections) if title in ENDING), len(sections))
        sections.insert(place, ("Query by query", _asset("queries.html")))
    # The command is a call in Python if it begins with the name of the package, and a line of a shell
    # otherwise.
    prompt = ">>>" if report.command.startswith("directrix.") else "$"
    repeat = (
        f"<pre><code>{escape(prompt)} {escape(report.command)}</code></pre>"
        "<details><summary>Settings, seeds and versions</summary>"
        f"<pre><code>{escape(json.dumps(report.settings, indent=1))}</code></pre></details>"
    )
    sections.append(("How to repeat it", repeat))
    shown = [(f"part-{i}", title, body) for i, (title, body) in enumerate(sections)]
    # The policy of the page allows the script with this hash, and no other one.
    script = _asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values = {
        "title": escape(report.title),
        "paper": to_html(report.paper),
        "command": escape(report.command),
        "contents": "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title, _ in shown),
        "parts": "\n".join(
            f'<section id="{at}" aria-labelledby="{at}-title"><h2 id="{at}-title">{escape(title)}</h2>\n'
            f"{body}</section>"
            for at, title, body in shown
        ),
        "style": _asset("report.css"),
        "script": script,
        "digest": digest,
        "data": _json(_queries(report.per_query)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _asset("report.html"))


def _asset(name: str) -> str:
    return (files("directrix.reports") / "assets" / name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON for use within a script element: no name can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda match: _IN_SCRIPT[match[0]], text)


def _queries(collections: Sequence[PerQuery]) -> list[dict[str, Any]]:
    """Values and rankings as lists, because scripts change the order of keys.

    Parts with equal rankings share them: the later ones have the number of the first part instead.
    """
    documents: list[dict[str, Any]] = []
    earlier: list[Any] = []
    for collection in collections:
        methods = list(collection.values)
        rankings = [collection.rankings.get(name, ()) for name in methods]
        first = earlier.index(rankings) if rankings in earlier else None
        earlier.append(rankings)
        documents.append(
            {
                "name": collection.name,
                "measure": collection.measure,
                "queries": collection.query_ids,
                "methods": methods,
                "values": [json_value(np.asarray(collection.values[name], np.float64)) for name in methods],
                "rankings": [_documents(ranking) for ranking in rankings] if first is None else first,
            }
        )
    return documents


def _documents(rankings: Sequence[Sequence[tuple[str, int, float]]]) -> list[list[list[Any]]]:
    return [
        [[str(doc), int(label), json_value(float(f"{score:.6g}"))] for doc, label, score in ranking]
        for ranking in rankings
    ]


def _block(title: str, block: Block, drawn: Mapping[str, str]) -> str:
    if isinstance(block, Table):
        return _table(block if block.title else replace(block, title=title), "claims" * (title == CLAIMS))
    if isinstance(block, str):
        return to_html(block)
    # Figures are within the page: their ids are made unique, and ink and grid get the colors of the page.
    svg = drawn[block.name]
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{block.name}-", svg)
    svg = svg.replace(INK, "currentColor").replace(GRID, "var(--grid)")
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    wide = f'style="min-width: {_PANEL * across(len(block.panels))}rem"'
    svg = svg.replace("<svg", f'<svg {wide} role="img" aria-label="{escape(block.alt)}"', 1)
    title = escape(block.title)
    return (
        f'<figure><div class="frame" role="region" aria-label="{title}" tabindex="0">{svg}</div>'
        f"<figcaption>{title}</figcaption></figure>"
    )


def _table(table: Table, kind: str) -> str:
    numeric = table.numeric()
    groups = "".join(
        f'<th colspan="{n}" scope="colgroup">{escape(name)}</th>' if name else f'<td colspan="{n}"></td>'
        for name, n in table.groups
    )
    heads = "".join(
        f'<th scope="col" aria-sort="none"{_NUMBER * right}>'
        f'<button type="button">{escape(name)}</button></th>'
        for name, right in zip(table.columns, numeric, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_cell(table, value, i, numeric[i]) for i, value in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    notes = f'<p class="notes">{escape(" ".join(table.notes))}</p>' if table.notes else ""
    above, title = f"<tr>{groups}</tr>" if groups else "", escape(table.title)
    return (
        f'<div class="frame {kind}" role="region" aria-label="{title}" tabindex="0"><table>'
        f"<caption>{title}</caption><thead>{above}<tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        f"{notes}"
    )


def _cell(table: Table, value: Value, column: int, is_numeric: bool) -> str:  # noqa: FBT001
    """Return a cell; the script sorts by its ``data-value``, which has all digits."""
    kind = _NUMBER * is_numeric
    if value is None:
        return f'<td{kind} data-value=""><span aria-label="no value">–</span></td>'
    if isinstance(value, str):
        tag, more = ("th", ' scope="row"') if column == 0 else ("td", "")
        text = escape(value)
        if verdict := _VERDICTS.get(sign := value[:2]):
            more += f' data-value="{list(_VERDICTS).index(sign)}"'
            text = (
                f'<span class="verdict {verdict}"><span aria-hidden="true">{text[0]}</span>{text[1:]}</span>'
            )
        return f"<{tag}{kind}{more}>{text}</{tag}>"
    digits = repr(value.item() if isinstance(value, np.generic) else value) if np.isfinite(value) else ""
    return f'<td{kind} data-value="{digits}" title="{digits}">{escape(table.shown(value))}</td>'


def to_html(text: str) -> str:
    """Return Markdown as HTML.

    HTML in the text is escaped, and images are text. Links lead to the web or into the page; other links
    become plain text, because the page has no other files.

    Examples
    --------
    >>> to_html("**Best**: `a<b`")
    '<p><strong>Best</strong>: <code>a&lt;b</code></p>'
    """
    return str(_commonmark().render(text)).strip()


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
