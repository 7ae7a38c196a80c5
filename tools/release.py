"""Print why a commit cannot be published, and fail: ``python -m tools.release``; `make release` begins so."""

import re
import subprocess
import sys
from pathlib import Path

PLACEHOLDER = "security@example.org"


def problems(root: Path) -> list[str]:
    """Return what must be mended in a checkout before it can be published, each with the fix."""
    (version,) = re.findall(r'(?m)^__version__ = "(.+)"', _text(root, "src/directrix/__init__.py"))
    cited = _text(root, "CITATION.cff")
    tag, write = f"v{version}", f"Type: make version VERSION={version}"
    checks = {
        "the tree has uncommitted changes. Commit them, or remove them.": _git(root, "status", "--porcelain"),
        f"the commit has no tag {tag}. Type: git tag {tag}": tag
        not in _git(root, "tag", "--points-at", "HEAD"),
        f"CHANGELOG.md has no section {version}. Write it.": f"## {version}\n"
        not in _text(root, "CHANGELOG.md"),
        f"CITATION.cff does not state version {version}. {write}": f"\nversion: {version}\n" not in cited,
        f"CITATION.cff has no date of release. {write}": "\ndate-released: " not in cited,
        f"SECURITY.md has the placeholder {PLACEHOLDER}. Replace it by an address that is read.": (
            PLACEHOLDER in _text(root, "SECURITY.md")
        ),
    }
    return [text for text, applies in checks.items() if applies]


def _text(root: Path, path: str) -> str:
    return (root / path).read_text("utf-8")


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    if found := problems(Path.cwd()):
        sys.exit("\n".join(["not published:", *found]))
