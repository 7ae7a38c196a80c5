"""The Markdown of reports as HTML: CommonMark without HTML, images and links to other files."""

from html import escape

import pytest

from directrix.reports.html import html, to_html
from directrix.reports.page import page
from directrix.reports.report import Section
from directrix.tables import escaped_markdown

from .hand_made import report


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>"),
        ("**a** and *b*", "<p><strong>a</strong> and <em>b</em></p>"),
        ("**a `x` b**", "<p><strong>a <code>x</code> b</strong></p>"),
        ("`**a** <b>`", "<p><code>**a** &lt;b&gt;</code></p>"),
        ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
        ("- a\n  more\n- b", "<ul>\n<li>a\nmore</li>\n<li>b</li>\n</ul>"),
        ("first:\n- a\n- b", "<p>first:</p>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("- p < .05 *, .01 **, .001 ***", "<ul>\n<li>p &lt; .05 *, .01 **, .001 ***</li>\n</ul>"),
        ("### Head", "<h3>Head</h3>"),
        (r"SVM\_map \*\* \< x", "<p>SVM_map ** &lt; x</p>"),
        ("```console\n$ a < b\n```", '<pre><code class="language-console">$ a &lt; b\n</code></pre>'),
        ("[Qin](https://x.org/a?b=1&c=2)", '<p><a href="https://x.org/a?b=1&amp;c=2">Qin</a></p>'),
        (
            "see <https://doi.org/10.1/2>.",
            '<p>see <a href="https://doi.org/10.1/2">https://doi.org/10.1/2</a>.</p>',
        ),
        ("[run](javascript:alert(1))", "<p>[run](javascript:alert(1))</p>"),
        ("[run](javascript:x)", "<p>[run](javascript:x)</p>"),
        ("[page](../choose.md) and [b](#b)", '<p>page and <a href="#b">b</a></p>'),
        ("[send](mailto:a) ![x](https://x.org/x.png)", '<p>send !<a href="https://x.org/x.png">x</a></p>'),
        ('<img src=x onerror="y">', "<p>&lt;img src=x onerror=&quot;y&quot;&gt;</p>"),
        ("", ""),
    ],
)
def test_markdown(text, expected):
    assert to_html(text) == expected


TEXT = r"p < .05 *, .01 **, .001 ***; |a_b_c| `x`, [0.1, 0.2], [here](page.md) \* \ <b> &lt; &#42;"


def test_escaped_text_comes_out_as_it_went_in():
    assert to_html(escaped_markdown(TEXT)) == f"<p>{escape(TEXT)}</p>"


def test_what_is_missing_is_text_and_why_is_markdown():
    missing = report(missing=(("Table 2 of *TD2003*", "`letor/TD2003` is not there."),))
    assert "- Table 2 of \\*TD2003\\*: `letor/TD2003` is not there." in page(missing)
    shown = html(missing, {"accuracy": "<svg></svg>"})
    assert "Table 2 of *TD2003*: <code>letor/TD2003</code> is not there.</li>" in shown


def test_headings_are_text():
    shown = page(
        report(title="A * B * C", sections=(Section("a_b", text=("x",)), Section("*c*", text=("y",))))
    )
    assert shown.startswith("# A \\* B \\* C\n")
    assert "## a\\_b\n" in shown
    assert "## \\*c\\*\n" in shown
