"""The Markdown of reports as HTML: what is known is marked up, all else is text."""

import pytest

from directrix.reports.markdown import to_html


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>"),
        ("**a** and *b*", "<p><strong>a</strong> and <em>b</em></p>"),
        ("**a `x` b**", "<p><strong>a <code>x</code> b</strong></p>"),
        ("`**a** <b>`", "<p><code>**a** &lt;b&gt;</code></p>"),
        ("2 * 3 * 4, a*b*c", "<p>2 * 3 * 4, a*b*c</p>"),
        ("- a\n  more\n- b", "<ul><li>a\n  more</li><li>b</li></ul>"),
        ("first:\n- a\n- b", "<p>first:</p>\n<ul><li>a</li><li>b</li></ul>"),
        ("### Head", "<h3>Head</h3>"),
        (r"SVM\_map \*\* \< x", "<p>SVM_map ** &lt; x</p>"),
        ("```console\n$ a < b\n```", "<pre><code>$ a &lt; b\n</code></pre>"),
        ("[Qin](https://x.org/a?b=1&c=2)", '<p><a href="https://x.org/a?b=1&amp;c=2">Qin</a></p>'),
        (
            "see https://doi.org/10.1/2.",
            '<p>see <a href="https://doi.org/10.1/2">https://doi.org/10.1/2</a>.</p>',
        ),
        ("[run](javascript:alert(1))", "<p>[run](javascript:alert(1))</p>"),
        ("[run](javascript:x)", "<p>run</p>"),
        ("[page](../choose.md)", "<p>page</p>"),
        ('<img src=x onerror="y">', "<p>&lt;img src=x onerror=&quot;y&quot;&gt;</p>"),
        ("", ""),
    ],
)
def test_markdown(text, expected):
    assert to_html(text) == expected
