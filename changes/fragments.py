"""Changelog fragments: one file a change, ``<issue>.<kind>.md``; see README.md here.

``python changes/fragments.py``          check them, print the section they make
``python changes/fragments.py 0.2.0``    move them into CHANGELOG.md, and set the version
"""

import datetime
import re
import sys
from pathlib import Path

KINDS = {"numbers": "Numbers changed", "added": "Added", "changed": "Changed", "fixed": "Fixed"}
_NAME = re.compile(r"(\d+)(?:-[\w-]+)?\.(\w+)\.md")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_PLACES = {  # where the version is written, and what stands before it
    "src/directrix/__init__.py": '__version__ = "',
    "CITATION.cff": "\nversion: ",
    "recipe/recipe.yaml": '\n  version: "',
    "README.md": "\ndirectrix ",
}
_MARK = "<!-- newest release below -->\n"


def section(folder: Path, title: str) -> str:
    """All fragments of a folder as one section of the changelog.

    Raises
    ------
    ValueError
        If a file is not named ``<issue>.<kind>.md`` or is empty; all such files are listed.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    wrong = []
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        match = _NAME.fullmatch(path.name)
        text = " ".join(path.read_text(encoding="utf-8").split())
        if match is None or match[2] not in KINDS:
            wrong.append(f"{path.name}: the name must be <issue>.<kind>.md, kind one of {', '.join(KINDS)}")
        elif not text:
            wrong.append(f"{path.name}: is empty; write what changes for a user, in full sentences")
        else:
            found[match[2]].append(f"- {text} (#{match[1]})")
    if wrong:
        raise ValueError("\n".join(wrong))
    parts = [f"### {KINDS[kind]}\n\n" + "\n".join(lines) for kind, lines in found.items() if lines]
    return "\n\n".join([f"## {title}", *parts]) + "\n"


def changelog(root: Path) -> str:
    """CHANGELOG.md with the fragments as its newest section."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    fresh = section(root / "changes", "Not released yet")
    return text.replace(_MARK, fresh + "\n") if "###" in fresh else text


def release(root: Path, version: str, day: datetime.date) -> None:
    """Move the fragments into CHANGELOG.md under a version and a date, and write the version into `_PLACES`.

    Raises
    ------
    ValueError
        If the version is none, a fragment is wrong, or a place has no version; nothing is written then.
    """
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r}: a version is MAJOR.MINOR.PATCH, e.g. 0.2.0 or 0.2.0rc1")
    texts = {}
    for name, before in _PLACES.items():
        pattern = re.compile(f"({re.escape(before)}){_VERSION.pattern}")
        text, n = pattern.subn(rf"\g<1>{version}", (root / name).read_text(encoding="utf-8"), count=1)
        if not n:
            raise ValueError(f"{name}: no version after {before.strip()!r}")
        texts[name] = text
    fresh = section(root / "changes", f"{version} ({day.isoformat()})")
    path = root / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(_MARK, f"{_MARK}\n{fresh}"), encoding="utf-8")
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")
    for fragment in (root / "changes").glob("*.md"):
        if fragment.name != "README.md":
            fragment.unlink()


if __name__ == "__main__":
    here = Path(__file__).parents[1]
    if len(sys.argv) > 1:
        release(here, sys.argv[1], datetime.date.today())
    else:
        sys.stdout.write(section(here / "changes", "Not released yet"))
