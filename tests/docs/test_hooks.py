"""The hooks that rewrite docstrings and formulas when the site is built."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

HOOKS = Path(__file__).parents[2] / "docs" / "_hooks"


def hook(name, needs):
    pytest.importorskip(needs, reason=f"{needs} comes with the extra 'docs'")
    spec = importlib.util.spec_from_file_location(f"hook_{name}", HOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The :math:`Z_k`.", "The $Z_k$."),
        (".. math:: a\n          + b\n\nThen", "$$\na + b\n$$\n\nThen"),
        ("  .. math:: a,\n\n  with b", "  $$\n  a,\n  $$\n\n  with b"),
        ("Is \\|x\\|.", "Is |x|."),
        (".. code-block:: text\n\n    {\n      1}\n\nThen", "```text\n{\n  1}\n```\nThen"),
        (
            "Parameters\n----------\na, b : int\n    Both.\n",
            "Parameters\n----------\na : int\n    Both.\nb : int\n    Both.\n",
        ),
        (
            'Parameters\n----------\na : {"x", "y"} or None\n    It.',
            'Parameters\n----------\na : "x", "y" or None\n    It.',
        ),
        (
            "Attributes\n----------\na, b : int\n    Both.\n",
            "Attributes\n----------\na, b : int\n    Both.\n",
        ),
    ],
)
def test_docstrings_become_markdown(text, expected):
    assert hook("docstrings", "griffe").to_markdown(text) == expected


def test_formulas_become_mathml():
    inline = '<p>Is <span class="arithmatex">\\(a &lt; b\\)</span></p>'
    page = inline + '<div class="arithmatex">\\[\\hat\\pi\\]</div>'
    made = hook("math", "latex2mathml").on_page_content(page)
    assert "arithmatex" not in made
    assert made.count("<math") == 2
    assert 'class="formula"' in made
    assert "&lt;" in made or "&#x0003C;" in made


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        '<span class="arithmatex">x</span>',
        "<p>.. math:: x</p>",
    ],
)
def test_a_page_that_needs_the_network_or_shows_tex_stops_the_build(page):
    module = hook("offline", "mkdocs")
    with pytest.raises(module.PluginError):
        module.on_post_page(page, page="page")


def test_links_to_other_sites_are_fine():
    page = '<a href="https://doi.org/10">x</a><link rel="canonical" href="https://example.org/">'
    assert hook("offline", "mkdocs").on_post_page(page, page="page") == page


@pytest.mark.parametrize(
    ("uri", "search"),
    [
        ("decisions/reading-files.md", {"exclude": True}),
        ("decisions/README.md", {"boost": 0.2}),
        ("reference/data.md", {"boost": 0.2}),
        ("how-to/data.md", {"boost": 2}),
        ("how-to/deploy.md", None),
    ],
)
def test_the_search_ranks_guides_before_names_and_leaves_out_decisions(uri, search):
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri), meta={})
    assert hook("search", "mkdocs").on_page_markdown("text", page=page) == "text"
    assert page.meta.get("search") == search
