"""Messages of errors, compared with one golden file, so that their language can improve in one place.

After a change of wording: ``MESSAGES=write python -m pytest tests/data`` (or all tests), then
``python -m tests.messages`` puts what was raised into ``golden/messages.txt``; read the difference.
"""

import json
import os
import re
import tempfile
from collections import Counter
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden" / "messages.txt"
RAISED = ROOT / ".messages.jsonl"
TEMPORARY = re.compile(
    re.escape(tempfile.gettempdir()) + r"/pytest-of-[^/]+/pytest-\d+(/popen-gw\d+)?/[^/\s'\"`:,]+"
)


_calls = Counter()


@contextmanager
def rejects(kind):
    """Expect an error of this kind, with a golden message of this place in the test that runs.

    A place is the number of the call within the test; it has a message for each of the test's parameters.
    """
    running = os.environ["PYTEST_CURRENT_TEST"]
    _calls[running] += 1
    with pytest.raises(kind) as caught:
        yield caught
    test = f"{re.match(r'[^[ ]+', running)[0]} {_calls[running]}"
    message = portable(str(caught.value))
    if os.environ.get("MESSAGES") == "write":
        with RAISED.open("a", encoding="utf-8") as out:
            out.write(json.dumps([test, message]) + "\n")
    else:
        assert message in golden().get(test, ()), f"{GOLDEN.name} has no such message of {test}: {message}"


def portable(message):
    """A message in one line, without what differs between machines: folders, and digits after the sixth."""
    message = TEMPORARY.sub("TMP", message).replace(str(ROOT), "ROOT").replace("\n", "\\n")
    message = re.sub(r"\d+\.\d{6,}(e[+-]\d+)?", lambda digits: f"{float(digits[0]):.6g}", message)
    return message.encode("utf-8", "backslashreplace").decode()


@cache
def golden():
    """Messages of every place: the test and its number on a line, and the messages on indented lines."""
    found, messages = {}, []
    for line in GOLDEN.read_text(encoding="utf-8").split("\n"):
        if line.startswith("    "):
            messages.append(line.removeprefix("    "))
        elif line:
            messages = found.setdefault(line, [])
    return found


def is_defined(test):
    """Whether a test of this name is still there."""
    path, _, name = test.partition(" ")[0].partition("::")
    return (ROOT / path).exists() and f"def {name.rpartition('::')[2]}(" in (ROOT / path).read_text("utf-8")


def write_golden():
    """Put what was raised into the golden file; tests that did not run keep their messages."""
    raised = {}
    for line in RAISED.read_text(encoding="utf-8").split("\n"):
        if line:
            test, message = json.loads(line)
            raised.setdefault(test, set()).add(message)
    found = {test: messages for test, messages in {**golden(), **raised}.items() if is_defined(test)}
    lines = [
        line for test in sorted(found) for line in (test, *(f"    {each}" for each in sorted(found[test])))
    ]
    GOLDEN.write_text("\n".join([*lines, ""]), encoding="utf-8")
    RAISED.unlink()


if __name__ == "__main__":
    write_golden()
