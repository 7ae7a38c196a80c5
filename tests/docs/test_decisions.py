"""The index lists each page once, each page says when to revisit, and references to pages hold."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
PAGES = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "README.md"})


def test_the_index_lists_every_page_once_by_its_title():
    listed = re.findall(r"(?m)^- \[([^\]]+)\]\(([a-z-]+\.md)\)", (FOLDER / "README.md").read_text("utf-8"))
    titles = [(page.read_text("utf-8").splitlines()[0].removeprefix("# "), page.name) for page in PAGES]
    assert sorted(listed) == sorted(titles)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_when_to_revisit_its_choices(page):
    assert "*Revisit*" in page.read_text("utf-8")


def test_the_source_refers_to_pages_that_exist():
    sources = [p for p in (FOLDER.parents[1] / "src").rglob("*") if p.suffix in (".py", ".md")]
    named = {
        name for p in sources for name in re.findall(r"docs/decisions/([\w.-]+\.md)", p.read_text("utf-8"))
    }
    assert named <= {page.name for page in PAGES}
