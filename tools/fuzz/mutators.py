"""Mutations of files and texts; each kind knows the structure of what it changes.

A mutator takes a `random.Random` and the seeds, and returns the bytes of one input.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from tools.fuzz.hostile import INTEGERS, WORDS

Mutator = Callable[[Random, Sequence[bytes]], bytes]

_SEPARATORS = re.compile(rb"(\r?\n|[ \t,:;=+()\[\]{}@|])")
_MOST = 1 << 20


def of_bytes(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A seed with some bytes changed, added, removed or repeated, or cut, or joined to another seed."""
    data = bytearray(random.choice(seeds))
    for _ in range(few(random)):
        at, to = _span(random, len(data))
        kind = random.randrange(9)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif kind == 1 and data:
            data[at % len(data)] = random.choice((0, 1, 9, 10, 13, 32, 35, 45, 48, 58, 127, 128, 255))
        elif kind == 2:
            data[at:at] = random.randbytes(random.randrange(1, 9))
        elif kind == 3:
            data[at:at] = random.choice(WORDS)
        elif kind == 4:
            del data[at:to]
        elif kind == 5:
            data[at:at] = data[at:to] * random.choice((1, 2, 50))
        elif kind == 6:
            data[at:to] = bytes(to - at)
        elif kind == 7:
            del data[at:]
        else:
            other = random.choice(seeds)
            data[at:] = other[random.randrange(len(other) + 1) :]
    return bytes(data[:_MOST])


def of_lines(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A text with words replaced, and lines repeated, exchanged, removed, or ended in another way."""
    if random.random() < 0.15:
        return of_bytes(random, seeds)
    lines = random.choice(seeds).split(b"\n")
    for _ in range(few(random)):
        at = random.randrange(len(lines))
        kind = random.randrange(12)
        if kind < 6:
            lines[at] = _with_word(random, lines[at])
        elif kind == 6:
            lines[at:at] = [lines[at]] * random.choice((1, 2, 100))
        elif kind == 7:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 8:
            lines[at] = random.choice(random.choice(seeds).split(b"\n"))
        elif kind == 9:
            lines[at] += random.choice(WORDS)
        elif kind == 10:
            lines[at] = random.choice(WORDS) + lines[at]
        elif len(lines) > 1:
            del lines[at]
    ends = random.choices((b"\n", b"\r\n", b"\r", b"\n\n", b" \n", b""), (20, 2, 1, 1, 1, 0.2))[0]
    start = random.choices((b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\n"), (20, 1, 1, 1))[0]
    return (start + ends.join(lines))[:_MOST]


def of_text(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A name or a call with tokens exchanged, nested and repeated up to thousands of times."""
    text = random.choice(seeds)
    for _ in range(few(random)):
        at, to = _span(random, len(text))
        kind = random.randrange(8)
        if kind < 3:
            text = _with_word(
                random, text, random.choice([*_SEPARATORS.split(random.choice(seeds)), b"", b"k"])
            )
        elif kind == 3:
            token = random.choice(
                (b" ", b"-", b"(", b"[", b"{", b"@", b"\t", b"f(", b"~", b"not ", b".", b"_", b"9", b"+")
            )
            text = text[:at] + token * random.choice((1, 2, 3, 50, 2000, 20000)) + text[at:]
        elif kind == 4:
            opening, closing = random.choice((b"()", b"[]", b"{}", b"''", b'""'))[:1], b""
            closing = {b"(": b")", b"[": b"]", b"{": b"}"}.get(opening, opening)
            depth = random.choice((1, 2, 90, 300, 5000))
            text = text[:at] + opening * depth + text[at:to] + closing * depth + text[to:]
        elif kind == 5:
            text = of_bytes(random, [text, *seeds])
        elif kind == 6:
            text = text[:at] + random.choice(seeds) + text[to:]
        else:
            text = _with_word(random, text)
    return text[:_MOST]


def of_json(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A JSON value with entries replaced, removed, added, renamed or nested; sometimes bytes of its text."""
    kind = random.random()
    if kind < 0.02:
        depth, (opening, closing) = (
            random.choice((10, 900, 5000, 100_000)),
            random.choice(((b"[", b"]"), (b'{"a":', b"0}"))),
        )
        return _with_word(random, random.choice(seeds), opening * depth + closing * depth)
    if kind < 0.1:
        return of_bytes(random, seeds)
    if kind < 0.2:
        return of_lines(random, seeds)
    try:
        value = json.loads(random.choice(seeds))
    except (ValueError, RecursionError):  # a line that was mutated before
        return of_lines(random, seeds)
    for _ in range(few(random)):
        value = _changed(random, value)
    encoder = json.JSONEncoder(indent=random.choice((None, 1)), ensure_ascii=random.random() < 0.5)
    data = _start_of(encoder.iterencode(value)).encode("utf-8", "surrogatepass")
    return (of_bytes(random, [data]) if kind > 0.97 else data)[:_MOST]


def _start_of(parts: Iterable[str]) -> str:
    """Copies of copies are small in memory, and endless as text."""
    start, size = [], 0
    for part in parts:
        start.append(part)
        size += len(part)
        if size > _MOST:
            break
    return "".join(start)


def of_json_lines(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Lines of JSON, one of which is mutated as JSON, or all as lines."""
    if random.random() < 0.4:
        return of_lines(random, seeds)
    lines = random.choice(seeds).splitlines()
    for _ in range(few(random)):
        at = random.randrange(len(lines))
        lines[at] = (
            of_json(random, [lines[at]]).replace(b"\n", b" ") if lines[at].startswith(b"{") else lines[at]
        )
    return b"\n".join(lines) + b"\n"


def of_binary(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Arrow, Feather, Parquet: integers of 2, 4 and 8 bytes at aligned places become others."""
    if random.random() < 0.25:
        return of_bytes(random, seeds)
    data = bytearray(random.choice(seeds))
    for _ in range(few(random)):
        size, code = random.choice(((2, "<h"), (4, "<i"), (8, "<q")))
        at = random.randrange(0, max(len(data) - size, 1), random.choice((1, size)))
        if at + size > len(data):
            continue
        (before,) = struct.unpack_from(code, data, at)
        wanted = random.choice((*INTEGERS, before + 1, before - 1, -before, before * 2, before << 8))
        data[at : at + size] = (wanted % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(data)


def of_archive(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Change a member of an archive, whose checksums are right again, or the archive itself."""
    data = random.choice(seeds)
    if random.random() < 0.2:
        return of_binary(random, [data])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(list(members))
    members[name] = of_binary(random, [members[name]])
    out = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if random.random() < 0.05 else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", kind) as archive:
        for key, content in members.items():
            archive.writestr(key, content)
    return out.getvalue()


def compressed(inner: Mutator) -> Mutator:
    """Mutate the text and compress it, or the compressed bytes, or make much of little: repeated lines."""
    formats: tuple[Callable[[bytes], bytes], ...] = (_gzip, bz2.compress, lzma.compress)

    def mutate(random: Random, seeds: Sequence[bytes]) -> bytes:
        squeeze, kind = random.choice(formats), random.random()
        if kind < 0.45:
            return squeeze(inner(random, seeds))
        if kind < 0.9:
            return of_bytes(random, [squeeze(random.choice(seeds)), squeeze(b"")])
        if kind < 0.98:
            parts = [random.choice(formats)(inner(random, seeds)) for _ in range(random.randrange(2, 4))]
            return b"".join(parts)
        unit = random.choice((b"\n", b"\0", b" ", b"#", b"1", b"1 qid:1 1:1\n"))
        start, most = random.choice((b"", random.choice(seeds))), random.choice((1000, 1 << 20, 1 << 24))
        return squeeze(start + unit * (most // len(unit)))

    return mutate


def _gzip(data: bytes) -> bytes:
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) as out:
        out.write(data)
    return file.getvalue()


def few(random: Random) -> int:
    return random.choices((1, 2, 3, 6), (12, 3, 1, 0.5))[0]


def _span(random: Random, size: int) -> tuple[int, int]:
    at = random.randrange(size + 1)
    return at, min(size, at + random.choice((1, 2, 4, 16, 200)))


def _with_word(random: Random, line: bytes, word: bytes | None = None) -> bytes:
    """The line with a word, or a separator, replaced by a given one or by one that readers stumble over."""
    parts = _SEPARATORS.split(line)
    at = random.randrange(len(parts))
    number = re.fullmatch(rb"-?\d+", parts[at])
    if word is None and number and random.random() < 0.4:
        word = str(int(parts[at][:300]) + random.choice(INTEGERS)).encode()
    if word is None and random.random() < 0.3:
        word = random.choice(parts)
    parts[at] = random.choice(WORDS) if word is None else word
    return b"".join(parts)


def _changed(random: Random, value: Any) -> Any:
    """The value with one entry, at any depth, changed."""
    inside = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if inside and random.random() < 0.85:
        key, kind = random.choice(inside), random.randrange(12)
        other = value[random.choice(inside)]
        if kind == 0:
            value.pop(key)
        elif kind == 1 and isinstance(value, dict):
            value[random.choice(("", "format", "type", "count", str(key) * 2, "\ufeff"))] = value.pop(key)
        elif kind == 2 and isinstance(value, list):
            value[key:key] = [other] * random.choice((1, 2, 300))
        elif kind == 3:
            value[key] = other
        else:
            value[key] = _changed(random, value[key])
        return value
    if isinstance(value, str) and random.random() < 0.6:
        return of_text(random, [value.encode("utf-8", "surrogatepass")])[: 1 << 16].decode("utf-8", "replace")
    if isinstance(value, float) and random.random() < 0.5:
        return value * random.choice((0.5, -1, 1e3, 1e-300))
    if isinstance(value, int | float) and random.random() < 0.7:
        return random.choice(
            (*INTEGERS, value, -value, value + 1, value - 1, 0.5, 1e308, -1e308, 5e-324, 10**30)
        )
    return _hostile(random, value)


def _hostile(random: Random, value: Any) -> Any:
    kind = random.randrange(9)
    if kind == 0:
        for _ in range(random.choice((1, 2, 20, 150))):
            value = random.choice(([value], {"a": value}))
        return value
    if kind == 1:
        return [value] * random.choice((0, 1, 2, 1000))
    if kind == 2:
        return float(random.choice(("nan", "inf", "-inf")))
    if kind == 3:
        return random.choice(WORDS).decode()
    return random.choice(
        (None, True, False, [], {}, "", 0, -1, 0.5, 10**400, 2**63, [[]], [None], {"": None})
    )
