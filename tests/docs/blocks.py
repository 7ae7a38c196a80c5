"""Find the fenced code blocks of Markdown pages, and run them.

``python``   run in one namespace per page; with ``>>>`` prompts the output is compared. If the first line is
             the name of a file, ``# my_loss.py``, the block is also written to it
``console``  lines after ``$`` are run by the shell. The lines below, if any, are compared with the output:
             "..." matches anything, and figures with a decimal point may differ by 0.02, because
             processors differ in the last bits and an optimizer may end elsewhere. If they begin with
             ``error:``, the exit status must be 1 or 2

Blocks of other languages are not run. A python or console block that cannot run in a test has a
comment before it that says why: ``<!-- not run: needs a browser -->``. A block that names one of
`OPTIONAL` is left out where it is not installed; the test of its page then runs the others and is skipped.
"""

import doctest
import re
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FENCE = re.compile(
    r"^(?P<before>[^\n]*)\n(?:[ \t]*\n)*(?P<indent> *)```(?P<language>\w+)[^\n]*\n"
    r"(?P<body>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)
_EXEMPT = re.compile(r"<!-- not run: .{10,} -->")
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n?((?:(?!\$ ).*\n?)*)", re.MULTILINE)
_FIGURE = re.compile(r"((?<![\w.])[+-]?\d+\.\d+(?![\w.]))")
_TOLERANCE = 0.02
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

OPTIONAL = ["tensorboard", "mlflow", "implicit"]
"""Packages that write logs of trainings, and one that is not installed everywhere."""


@dataclass(frozen=True)
class Block:
    """A block to run: its language, its text, and its line on the page."""

    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page that must run, in order."""
    runnable = []
    for match in _FENCE.finditer("\n" + page):
        if match["language"] in ("python", "console") and not _EXEMPT.search(match["before"]):
            indent = len(match["indent"])
            text = "".join(line[indent:] or "\n" for line in match["body"].splitlines(keepends=True))
            runnable.append(Block(match["language"], text, page.count("\n", 0, match.start("body") - 1) + 1))
    return runnable


def without_optional(chosen: list[Block]) -> tuple[list[Block], set[str]]:
    """Return the blocks that can run here, and the packages that the others need."""
    absent = [package for package in OPTIONAL if find_spec(package) is None]
    needs = [{package for package in absent if package in block.text} for block in chosen]
    kept = [block for block, packages in zip(chosen, needs, strict=True) if not packages]
    return kept, set().union(*needs)


def run_python(block: Block, names: dict[str, Any], where: str) -> None:
    """Run a block; the next blocks can use its names."""
    if ">>>" not in block.text:
        if file := re.match(r"# (\w+\.py)\n", block.text):
            Path(file[1]).write_text(block.text, encoding="utf-8")
        exec(compile("\n" * (block.line - 1) + block.text, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line - 1)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=_FLAGS, verbose=False).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not report, "".join(report)


def run_console(block: Block, folder: Path, environment: dict[str, str], where: str) -> None:
    """Run the commands of a block and compare what they print with what the page shows."""
    commands = list(_COMMAND.finditer(block.text))
    assert commands, f"{where}:{block.line}: no line begins with '$ '"
    for match in commands:
        command, want = match.groups()
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        printed = re.sub(r"^Compiling kernels, once: .*\n", "", done.stdout, flags=re.MULTILINE)
        shown = f"{where}:{block.line}: $ {command}\n{printed}"
        refused = want.lstrip().startswith(("error:", "Usage:"))
        assert (done.returncode in (1, 2)) if refused else (done.returncode == 0), shown
        if want.strip():
            assert agree(want, printed), f"{shown}\nbut the page shows:\n{want}"


def agree(want: str, got: str) -> bool:
    """Return whether an output is the one that the page shows."""
    parts = _FIGURE.split(want.strip())
    pattern = "".join(_FIGURE.pattern if i % 2 else _loose(part) for i, part in enumerate(parts))
    match = re.fullmatch(pattern, got.strip(), re.DOTALL)
    if match is None:
        return False
    pairs = zip(match.groups(), parts[1::2], strict=True)
    return all(abs(float(printed) - float(shown)) <= _TOLERANCE for printed, shown in pairs)


def _loose(text: str) -> str:
    """A regular expression for text: any white space for white space, anything for an ellipsis."""
    words = [".*".join(map(re.escape, word.split("..."))) for word in re.split(r"\s+", text)]
    return r"\s+".join(words)
