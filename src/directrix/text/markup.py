"""Documents and queries in the mark-up of test collections: TREC's tags and SMART's lines of one letter."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from directrix.data.files import open_data, readable
from directrix.errors import InputError

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LABEL = re.compile(r"^\s*(?:number|topic|description|narrative)\s*:", re.IGNORECASE)
_SMART = re.compile(r"\.([A-Z])(?:\s+(\S+))?\s*")
_SMART_FIELDS = {"T": "title", "A": "authors", "B": "source", "K": "keywords", "W": "text"}
_TOPIC_FIELDS = {"desc": "description", "narr": "narrative"}
_BEGIN = re.compile(r"<(doc|top)>", re.IGNORECASE)


def markup_of(path: Path) -> str:
    """Return "trec" or "smart" by the first line of a file that is not blank; "" of any other."""
    with readable(path), open_data(path) as file:
        while line := file.readline(4096):
            text = line.decode("utf-8", "replace").strip()
            if _BEGIN.match(text):
                return "trec"
            if text:
                return "smart" if text.startswith(".I ") else ""
    return ""


def read_markup(path: Path, kind: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield for every document or topic its place, identifier and fields; text of the same tag is joined."""
    with readable(path), open_data(path) as file:
        lines = ((number, line.decode("utf-8", "replace")) for number, line in enumerate(file, start=1))
        yield from (_smart if kind == "smart" else _trec)(path, lines)


def _smart(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str, dict[str, str]]]:
    place, name, field = "", "", ""
    fields: dict[str, list[str]] = {}
    for number, line in lines:
        mark = _SMART.fullmatch(line)
        if mark is None or (mark[2] and mark[1] != "I"):
            if field:
                fields.setdefault(field, []).append(line)
            continue
        if mark[1] != "I":
            field = _SMART_FIELDS.get(mark[1], "")
            continue
        if place:
            yield place, name, _text(fields)
        place, name, field, fields = f"{path}:{number}", mark[2] or "", "", {}
    if place:
        yield place, name, _text(fields)


def _trec(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str, dict[str, str]]]:
    begun, block, end = 0, list[str](), ""
    for number, line in lines:
        if not begun:
            if begin := _BEGIN.search(line):
                begun, block, end = number, [], f"</{begin[1].lower()}>"
                line = line[begin.end() :]
            else:
                continue
        before, found, _ = line.lower().partition(end)
        block.append(line[: len(before)])
        if found:
            yield f"{path}:{begun}", *_of_tags("".join(block))
            begun = 0
    if begun:
        raise InputError(
            f"{path}:{begun}: a document begins here and has no {end.upper()}; the file is cut off. Fetch it "
            "again, or remove this document."
        )


def _of_tags(block: str) -> tuple[str, dict[str, str]]:
    """Return identifier and fields of what stands between the tags of a document or topic.

    Text outside of all tags is the field ``text``; tags within a field, such as <P>, are left out. The fields
    of topics need no closing tags: each begins where the one before ends.
    """
    block = _COMMENT.sub(" ", block)
    is_topic = re.search(r"<num>", block, re.IGNORECASE) is not None
    fields: dict[str, list[str]] = {}
    field, at = "", 0
    for tag in _TAG.finditer(block):
        fields.setdefault(field or "text", []).append(block[at : tag.start()])
        at, known = tag.end(), _TOPIC_FIELDS.get(tag[2].lower(), tag[2].lower())
        if tag[1]:
            field = "" if known == field else field
        elif is_topic or not field:
            field = known
    fields.setdefault(field or "text", []).append(block[at:])
    text = _text({key: [_LABEL.sub("", html.unescape(part)) for part in fields[key]] for key in fields})
    name = text.pop("docno", "") or text.pop("num", "")
    return name, {key: value for key, value in text.items() if value}


def _text(fields: dict[str, list[str]]) -> dict[str, str]:
    return {field: " ".join(" ".join(parts).split()) for field, parts in fields.items()}
