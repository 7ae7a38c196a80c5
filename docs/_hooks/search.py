"""The search finds pages for users: guides before reference, and decisions, which answer why, not at all."""

_LATE = ("reference/", "reproductions/", "decisions/", "changelog", "contributing", "benchmarks")
# What most users ask about.
_EARLY = ("how-to/data.md", "how-to/missing-values.md", "reference/conventions.md")


def on_page_markdown(markdown: str, page: object, **_: object) -> str:
    """Exclude decisions, but not their list; rank names and records after guides. Called by MkDocs."""
    uri = page.file.src_uri
    if uri.startswith("decisions/") and not uri.endswith("README.md"):
        page.meta["search"] = {"exclude": True}
    elif uri in _EARLY:
        page.meta["search"] = {"boost": 2}
    elif uri.startswith(_LATE):
        page.meta["search"] = {"boost": 0.2}
    return markdown
