"""Files that cannot be used: name -> (content, regex of the message).

The content is bytes, or a function that makes the path given to it into something else.
Every message of a line names it as ``file:line``.
"""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

_GOOD = b"2 qid:1 1:0.5 2:0.25\n0 qid:1 1:0.5 2:0\n"
_MANY = b"".join(b"1 qid:%d 1:%d.5 2:0\n" % (i, i) for i in range(200))


def _directory(path: Path) -> None:
    path.mkdir()


def _absent(path: Path) -> None:
    assert not path.exists()


def _no_permission(path: Path) -> None:
    path.write_bytes(_GOOD)
    path.chmod(0)


def _side_file(sizes: str) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        path.write_bytes(b"1 1:0.5\n0 1:0.25\n2 1:1\n")
        path.with_name(path.name + ".query").write_text(sizes)

    return build


NEEDS_NO_ROOT = {"no-permission"}
"""Cases that the superuser does not see fail."""

FILES: dict[str, tuple[bytes | Callable[[Path], None], str]] = {
    # nothing there
    "absent": (_absent, r"does not exist"),
    "directory": (_directory, r"is a directory; one file is needed"),
    "no-permission": (_no_permission, r"may not be read by this user; type `chmod u\+r"),
    "empty": (b"", r"has no data; at least one line"),
    "blank-lines-only": (b"\n  \n\r\n", r"has no data"),
    "comments-only": (b"# a\n# b\n", r"has no data"),
    # compressed
    "gz-cut-off": (gzip.compress(_MANY)[:-30], r"compressed data are damaged or cut off"),
    "gz-wrong-checksum": (gzip.compress(_GOOD)[:-8] + bytes(8), r"damaged or cut off \(CRC"),
    "gz-corrupt": (gzip.compress(_MANY)[:15] + b"\xff" * 200, r"damaged or cut off"),
    "bz2-cut-off": (bz2.compress(_MANY)[:-20], r"damaged or cut off"),
    "xz-corrupt": (lzma.compress(_MANY)[:20] + b"x" * 100, r"damaged or cut off"),
    "gz-empty": (gzip.compress(b""), r"has no data"),
    # labels
    "label-text": (b"good qid:1 1:1\n", r"bad:1: the label is 'good', not a number"),
    "label-infinite": (b"inf qid:1 1:1\n", r"bad:1: the label is 'inf'"),
    "label-overflow": (b"1e999 qid:1 1:1\n", r"bad:1: .*'1e999'; .* Write the highest grade"),
    "label-negative": (
        _GOOD + b"-1 qid:1 1:1\n",
        r"bad:3: the label is '-1'; labels are finite and >= 0.*Shift",
    ),
    "label-missing": (b"qid:1 1:1\n", r"bad:1: the label is 'qid:1', not a number"),
    # queries
    "qid-missing": (b"1 1:0.5\n", r"bad:1: no qid: '1:0.5' follows the label, where `qid:ID` is needed"),
    "qid-text": (b"1 qid:one 1:1\n", r"bad:1: the query is 'qid:one'; files need an integer"),
    "qid-twice": (b"1 qid:1 qid:2 1:1\n", r"bad:1: 'qid:2' is not a feature"),
    "query-split": (
        b"1 qid:1 1:1\n1 qid:2 1:1\n# note\n0 qid:1 1:2\n",
        r"bad:4: query 1 starts again; its lines began at .*bad:1 and were followed by others.*sort",
    ),
    # features
    "feature-no-colon": (b"1 qid:1 1:1 2\n", r"bad:1: '2' is not a feature; `index:value` is needed"),
    "feature-text": (b"1 qid:1 bm25:1\n", r"bad:1: 'bm25:1' is not a feature"),
    "index-zero": (
        b"1 qid:1 0:1\n",
        r"bad:1: the feature index of '0:1' is below the first one.*index_base=0",
    ),
    "index-negative": (b"1 qid:1 -1:1\n", r"bad:1: '-1:1' is not a feature"),
    "index-order": (
        _GOOD + b"1 qid:1 2:1 1:1\n",
        r"bad:3: the feature index of '1:1' is lower than the one before",
    ),
    "index-twice": (b"1 qid:1 1:1 1:2\n", r"bad:1: the feature index of '1:2' occurs twice"),
    "index-too-large": (b"1 qid:1 99999999999:1\n", r"bad:1: .* is not a feature|too large"),
    "index-above-int32": (b"1 qid:1 2147483649:1\n", r"bad:1: the feature index of .* is too large"),
    "value-empty": (b"1 qid:1 1:\n", r"bad:1: the value of '1:' is not a number"),
    "value-space": (b"1 qid:1 1: 0.5\n", r"bad:1: the value of '1:' is not a number"),
    "value-nan": (b"1 qid:1 1:NaN\n", r"bad:1: the value of '1:NaN' is missing.*missing='zero'"),
    "value-null": (b"1 qid:1 1:NULL\n", r"bad:1: the value of '1:NULL' is missing.*missing='nan'"),
    "value-infinite": (b"1 qid:1 1:-inf\n", r"bad:1: the value of '1:-inf' is infinite"),
    "value-overflow": (b"1 qid:1 1:1e400\n", r"bad:1: the value of '1:1e400' is too large"),
    # the file as a whole
    "cut-off-in-a-line": (_GOOD + b"1 qid:1 1:0.5", r"bad:3: the file ends within a line, after feature 1"),
    "cut-off-before-the-comment": (
        b"# two features\n1 qid:1 1:0.5 # docid = a\n0 qid:1 1:0.75 # docid = b\n2 qid:1 1:0.2",
        r"bad:4: the file ends within a line: its last line lacks the comment that every other line has",
    ),
    "cut-off-before-the-space": (
        gzip.compress(b"1 qid:1 1:0.5 \n0 qid:1 1:0.75 \n2 qid:1 1:0.2"),
        r"bad:3: the file ends within a line: its last line lacks the space at the end that every other",
    ),
    "binary": (bytes(range(256)) * 4, r"bad:1: a NUL byte; text in UTF-8 is needed"),
    "utf-16": ("1 qid:1 1:1\n".encode("utf-16"), r"bad:1: a NUL byte.*iconv -f UTF-16 -t UTF-8"),
    "nul-in-a-comment": (_GOOD + b"1 qid:1 1:1 2:1 # doc\0id\n", r"bad:3: a NUL byte"),
    "carriage-returns-alone": (
        b"".join(b"%d qid:1 1:1 # docid = %d\r" % (i % 2, i) for i in range(48)),
        r"bad:1: a carriage return within the line; lines end with a line feed. Type `tr",
    ),
    "carriage-return-gz": (
        gzip.compress(_GOOD + b"1 qid:1 1:1 # a\r0 qid:1 1:0\n"),
        r"bad:3: a carriage return",
    ),
    "carriage-return-in-a-line": (_MANY * 300 + b"1 qid:1 1:1\r2:1\n", r"bad:60001: a carriage return"),
    "side-file-with-nul": (_side_file("3\0\n"), r"query:1: a NUL byte"),
    # numbers that are rounded by big integers
    "value-1e309": (
        b"0 qid:1\t1:0\n" * 3 + b"1e308 qid:1 1:1.000000000000000000000000000000000000001e309\n",
        r"bad:4: the value of '1:1.0*[.]* *.* is too large for float64",
    ),
    "json": (b'{"format": "directrix/1"}\n', r"bad is JSON, as model files are"),
    "many-bad-lines": (
        b"x\n" * 1000,
        r"1,000 lines cannot be used:\n([^\n]*bad:\d+: [^\n]*\n){20}  ... and 980 more",
    ),
    "bad-lines-far-apart": (
        b"x\n" + _MANY * 300 + b"1 qid:1 1:y\n",
        r"2 lines cannot be used:\n.*bad:1: .*\n.*bad:60002: the value of '1:y'",
    ),
    # sizes of queries beside the file
    "side-file-wraps-around": (
        _side_file("99999999999999999\n" * 184 + "46744073709551800\n" * 1 + "1\n" * 3),
        r"sizes add up to 18,4",
    ),
    "side-file-sum": (_side_file("1\n1\n"), r"2 sizes add up to 2, but .* has 3 lines"),
    "side-file-text": (_side_file("1\ntwo\n"), r"size 2 is 'two'"),
    "side-file-zero": (_side_file("0\n3\n"), r"size 1 is '0'"),
}


def build(name: str, path: Path) -> None:
    """Make the bad file ``name`` at ``path``."""
    content = FILES[name][0]
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
