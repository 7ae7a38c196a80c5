"""The search finds pages for users: decisions, which answer why, are left out of its index."""


def on_page_markdown(markdown: str, page: object, **_: object) -> str:
    """Mark the pages of decisions, but not their list, as excluded; called by MkDocs."""
    uri = page.file.src_uri
    if uri.startswith("decisions/") and not uri.endswith("README.md"):
        page.meta["search"] = {"exclude": True}
    return markdown
