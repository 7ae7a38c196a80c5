"""Formulas without scripts: TeX becomes MathML when the site is built.

Pages mark formulas as `$...$` and `$$...$$`, which pymdownx.arithmatex wraps; here the wrapped
TeX is replaced by MathML, which browsers draw themselves. Nothing is loaded from elsewhere.
"""

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Replace every formula of a page; called by MkDocs."""
    return _FORMULA.sub(_as_mathml, content)


def _as_mathml(match: re.Match[str]) -> str:
    tag, bracket, text = match.groups()
    tex = html.unescape(text).strip()
    if bracket == "(":
        return convert(tex)
    return f'<{tag} class="formula">{convert(tex, display="block")}</{tag}>'
