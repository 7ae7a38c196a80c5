"""The runner of the pages detects each kind of mistake on a page."""

import os

import pytest

from .blocks import Block, blocks, run_console, run_python, without_optional

PAGE = """# Title

```python
a = 1
```

<!-- not run: opens a window -->
```python
show()
```

- in a list:

    ```console
    $ echo two
    two
    ```

```text
not code
```
"""


def test_blocks_are_found_with_their_lines_and_without_their_indentation():
    assert blocks(PAGE) == [Block("python", "a = 1\n", 4), Block("console", "$ echo two\ntwo\n", 15)]


def test_an_exemption_needs_a_reason():
    assert len(blocks("<!-- not run: -->\n```python\nshow()\n```\n")) == 1


def test_blocks_that_need_an_absent_package_are_left_out(monkeypatch):
    monkeypatch.setattr("tests.docs.blocks.OPTIONAL", ["no_such_package", "json"])
    runs = [Block("python", "a = 1\n", 1), Block("python", "import json\n", 3)]
    needs = [Block("python", "from no_such_package.module import Writer\n", 2)]
    assert without_optional([runs[0], *needs, runs[1]]) == (runs, {"no_such_package"})


def test_names_live_on_from_block_to_block():
    names = {}
    run_python(Block("python", "a = 1\n", 1), names, "page")
    run_python(Block("python", ">>> a + 1\n2\n", 1), names, "page")
    run_python(Block("python", ">>> b = a + 2\n", 1), names, "page")
    assert names["b"] == 3


def test_a_wrong_output_of_python_is_seen():
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run_python(Block("python", ">>> 1 + 1\n3\n", 1), {}, "page")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$ echo one\ntwo\n", "but the page shows:\ntwo"),
        ("$ exit 1\n", r"\$ exit 1"),
        ("$ echo AP 0.55\nAP 0.52\n", "AP 0.52"),
        ("$ echo AP 0.5\nAP 0.5 more\n", "more"),
        ("$ echo 1.0.2\n1.0.1\n", "1.0.1"),
        ("$ echo error: none\nerror: none\n", "error: none"),
        ("echo one\n", "no line begins with"),
    ],
)
def test_a_mistake_in_a_console_block_is_seen(tmp_path, text, message):
    with pytest.raises(AssertionError, match=message):
        run_console(Block("console", text, 1), tmp_path, dict(os.environ), "page")


@pytest.mark.parametrize(
    "text",
    [
        "$ echo one\none\n",
        "$ echo 1.234 s\n... s\n",
        "$ echo error: no; exit 1\nerror: no\n",
        "$ echo a \\\n  b\na b\n",
        "$ echo AP 0.51 x\nAP   0.52   x\n",
        "$ echo 1.0.1 a...b\n1.0.1 a...\n",
    ],
)
def test_a_right_console_block_passes(tmp_path, text):
    assert run_console(Block("console", text, 1), tmp_path, dict(os.environ), "page") is None
