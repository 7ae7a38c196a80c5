"""The report as one self-contained HTML file: tables to sort, figures, queries to inspect."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from directrix.reports.claims import MARKS, tally
from directrix.reports.figures import GRID, INK, across
from directrix.reports.markdown import inline_html, to_html
from directrix.reports.page import joined, sections_of
from directrix.reports.report import Claim, Figure, PerQuery, Report, Verdict
from directrix.tables import Table, Value, json_value

_PANEL = 15  # rem; a narrower panel cannot be read, so its frame scrolls
# in the order of sorting
_CLASSES: dict[Verdict, str] = {
    "holds": "holds",
    "not significant": "open",
    "not tested": "open",
    "does not hold": "fails",
}
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def html(report: Report, drawn: Mapping[str, str]) -> str:
    """Return a report as one HTML file that loads nothing.

    Parameters
    ----------
    report : Report
    drawn : mapping of str to str
        SVG of each figure by its name, as `directrix.reports.figures.draw` makes it.

    Returns
    -------
    str
        Its Content-Security-Policy allows only the script that it contains, and no forms. Without scripts
        everything works except sorting and the queries. Names and texts are escaped everywhere.
    """
    parts = [
        ("In short", to_html(joined(report.summary))),
        ("Claims of the paper", _claims(report.claims)),
    ]
    for section, tables in sections_of(report):
        parts.append((section.title, to_html(joined(section.text)) + "".join(map(_table, tables))))
    parts += [
        (
            "Figures",
            "".join(_figure(i, figure, drawn[figure.name]) for i, figure in enumerate(report.figures)),
        ),
        ("Query by query", _asset("queries.html") if report.per_query else ""),
        ("What was done", to_html(joined(report.how))),
        ("What differs from the paper", to_html(joined(report.differs))),
        ("What could not be done", _missing(report.missing)),
        ("How to repeat it", _again(report)),
    ]
    shown = [(f"part-{i}", title, body) for i, (title, body) in enumerate(parts) if body]
    script = _asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values = {
        "title": escape(report.title),
        "paper": to_html(report.paper),
        "command": escape(report.command),
        "contents": "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title, _ in shown),
        "parts": "\n".join(
            f'<section id="{at}" aria-labeledby="{at}-title"><h2 id="{at}-title">{escape(title)}</h2>\n'
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


def _queries(parts: Sequence[PerQuery]) -> list[dict[str, Any]]:
    """Values and rankings as lists, because scripts change the order of keys.

    Parts with equal rankings share them: the later ones have the number of the first part instead.
    """
    documents: list[dict[str, Any]] = []
    earlier: list[Any] = []
    for part in parts:
        methods = list(part.values)
        rankings = [part.rankings.get(name, ()) for name in methods]
        first = earlier.index(rankings) if rankings in earlier else None
        earlier.append(rankings)
        documents.append(
            {
                "name": part.name,
                "measure": part.measure,
                "queries": part.query_ids,
                "methods": methods,
                "values": [json_value(np.asarray(part.values[name], np.float64)) for name in methods],
                "rankings": [_documents(each) for each in rankings] if first is None else first,
            }
        )
    return documents


def _documents(rankings: Sequence[Sequence[tuple[str, int, float]]]) -> list[list[list[Any]]]:
    return [
        [[str(doc), int(label), json_value(float(f"{score:.6g}"))] for doc, label, score in part]
        for part in rankings
    ]


def _claims(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    rows = [
        [
            f'<th scope="row">{escape(claim.text)}</th>',
            f"<td>{escape(claim.source)}</td>",
            _verdict(claim),
            f"<td>{escape(claim.evidence)}</td>",
        ]
        for claim in claims
    ]
    heads = "".join(_head(name, is_numeric=False) for name in ("claim", "where", "here", "our figures"))
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<p>{escape(tally(claims))}</p>" + _framed(
        "Claims of the paper", f"<tr>{heads}</tr>", body, "claims"
    )


def _verdict(claim: Claim) -> str:
    verdict = claim.verdict
    place = list(_CLASSES).index(verdict)
    mark = f'<span aria-hidden="true">{MARKS[verdict]}</span> {escape(claim.judged)}'
    return f'<td data-value="{place}"><span class="verdict {_CLASSES[verdict]}">{mark}</span></td>'


def _table(table: Table) -> str:
    numeric = table.numeric()
    groups = "".join(
        f'<th colspan="{n}" scope="colgroup">{escape(name)}</th>' if name else f'<td colspan="{n}"></td>'
        for name, n in table.groups
    )
    heads = "".join(_head(name, is_numeric=right) for name, right in zip(table.columns, numeric, strict=True))
    body = "".join(
        "<tr>" + "".join(_cell(table, value, i, numeric[i]) for i, value in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    notes = f'<p class="notes">{escape(" ".join(table.notes))}</p>' if table.notes else ""
    return _framed(table.title, (f"<tr>{groups}</tr>" if groups else "") + f"<tr>{heads}</tr>", body) + notes


def _framed(title: str, heads: str, body: str, kind: str = "") -> str:
    return (
        f'<div class="frame {kind}" role="region" aria-label="{escape(title)}" tabindex="0"><table>'
        f"<caption>{escape(title)}</caption><thead>{heads}</thead><tbody>{body}</tbody></table></div>"
    )


def _head(name: str, *, is_numeric: bool) -> str:
    kind = ' class="number"' if is_numeric else ""
    return f'<th scope="col" aria-sort="none"{kind}><button type="button">{escape(name)}</button></th>'


def _cell(table: Table, value: Value, column: int, is_numeric: bool) -> str:  # noqa: FBT001
    kind = ' class="number"' if is_numeric else ""
    if value is None:
        return f'<td{kind} data-value=""><span aria-label="no value">–</span></td>'
    if isinstance(value, str):
        tag, more = ("th", ' scope="row"') if column == 0 else ("td", "")
        return f"<{tag}{kind}{more}>{escape(value)}</{tag}>"
    digits = repr(value.item() if isinstance(value, np.generic) else value) if np.isfinite(value) else ""
    return f'<td{kind} data-value="{digits}" title="{digits}">{escape(table.shown(value))}</td>'


def _figure(number: int, figure: Figure, svg: str) -> str:
    """A figure within the page: its ids are made unique, and ink and grid get the colors of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>figure{number}-", svg)
    svg = svg.replace(INK, "currentColor").replace(GRID, "var(--grid)")
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    wide = f'style="min-width: {_PANEL * across(len(figure.panels))}rem"'
    svg = svg.replace("<svg", f'<svg {wide} role="img" aria-label="{escape(figure.alt)}"', 1)
    title = escape(figure.title)
    return (
        f'<figure><div class="frame" role="region" aria-label="{title}" tabindex="0">{svg}</div>'
        f"<figcaption>{title}</figcaption></figure>"
    )


def _missing(missing: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<li><strong>{escape(what)}</strong>: {inline_html(why)}</li>" for what, why in missing)
    return f"<ul>{items}</ul>" if items else ""


def _again(report: Report) -> str:
    settings = json.dumps(report.settings, indent=1)
    prompt = ">>>" if report.command.startswith("directrix.") else "$"  # a call in Python, or a shell
    return (
        f"<pre><code>{escape(prompt)} {escape(report.command)}</code></pre>"
        "<details><summary>Settings, seeds and versions</summary>"
        f"<pre><code>{escape(settings)}</code></pre></details>"
    )
