"""The front page and the navigation of the site list every page that a user may look for."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = ("how-to", "explanation", "research", "reproductions")
PAGES = [str(path.relative_to(DOCS)) for folder in FOLDERS for path in sorted((DOCS / folder).glob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_the_front_page_links_every_page_once(page):
    links = re.findall(r"\]\(([^)#]+)", (DOCS / "index.md").read_text("utf-8"))
    assert links.count(page) == 1


@pytest.mark.parametrize("page", PAGES)
def test_the_navigation_lists_every_page_once(page):
    assert len(re.findall(rf"\b{page}$", (DOCS.parent / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)) == 1


def test_a_link_of_the_front_page_has_the_title_of_its_page():
    index = (DOCS / "index.md").read_text("utf-8")
    links = dict(reversed(link) for link in re.findall(r"\[([^\]]+)\]\(([^)#]+)\)", index))
    titles = {
        page: (DOCS / page).read_text("utf-8").splitlines()[0][2:] for page in PAGES if "how-to" in page
    }
    assert {page: links[page] for page in titles} == titles


GENERATED = {page for page in PAGES if page.startswith("reproductions/") and not page.endswith("README.md")}


@pytest.mark.parametrize("page", sorted({path.name for path in DOCS.glob("*.md")} | set(PAGES) - GENERATED))
def test_a_page_opens_with_the_question_that_it_answers(page):
    title, _, question = (DOCS / page).read_text("utf-8").splitlines()[:3]
    assert title.startswith("# ")
    assert question.startswith("*")
    assert question.endswith("?*")


def test_the_front_page_says_where_pages_are_that_a_checkout_lacks():
    lacking = {
        target.relative_to(DOCS).as_posix()
        for page in DOCS.rglob("*.md")
        for link in re.findall(r"\]\(([^)#:]+\.md)", page.read_text("utf-8"))
        if not (target := (page.parent / link).resolve()).exists() and target.is_relative_to(DOCS)
    }
    last = (DOCS / "index.md").read_text("utf-8").split("\n\n")[-1]
    sources = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
    sources["benchmarks.md"] = "benchmarks/RESULTS.md"
    assert {page for page in lacking if "reference/" not in page} == set(sources)
    for name in ("make docs", "reference/", *sources.values()):
        assert f"`{name}`" in last
