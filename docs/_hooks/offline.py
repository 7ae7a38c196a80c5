"""A page may load nothing from another machine, and no formula may be left as TeX."""

import re

from mkdocs.exceptions import PluginError

_REMOTE = re.compile(r'<(?:script|img|iframe|link)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"[^>]*>')
_HARMLESS = re.compile(r'rel="(?:canonical|next|prev|edit)"')
_LEFT_OVER = re.compile(r'class="arithmatex"|:math:`|\.\. (?:math|code-block)::')


def on_post_page(output: str, page: object, **_: object) -> str:
    """Stop the build at the first page that breaks the rule; called by MkDocs."""
    remote = [tag for tag in _REMOTE.findall(output) if not _HARMLESS.search(tag)]
    if remote:
        raise PluginError(f"{page}: loads {remote[0]} from another machine; put the file into docs/")
    left = _LEFT_OVER.search(output)
    if left:
        near = output[max(left.start() - 80, 0) : left.end() + 120]
        raise PluginError(f"{page}: a formula or directive was not converted: {near}")
    return output
