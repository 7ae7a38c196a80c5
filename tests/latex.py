"""Tables in LaTeX, read back as LaTeX would: groups must close, and no special character may be left."""

import re

_SYMBOLS = {
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    "{[}": "[",
}


def plain(text):
    """The text that a piece of LaTeX prints."""
    for symbol, shown in _SYMBOLS.items():
        text = text.replace(symbol, {"\\": "\0", "~": "\1", "^": "\2"}.get(shown, shown))
    text = re.sub(r"\\([&%$#_{}])", lambda found: chr(ord(found[1]) + 0xE000), text)
    assert not re.search(r"[&%$#_{}~^\\]", text), f"left for LaTeX to interpret: {text!r}"
    text = text.translate({0: "\\", 1: "~", 2: "^"})
    return re.sub("[\ue000-\uf8ff]", lambda found: chr(ord(found[0]) - 0xE000), text)


def cell(text):
    """Text, mark, and whether it is bold."""
    found = re.fullmatch(
        r"(\\textbf\{(?P<bold>[^{}]*)\}|(?P<text>.*?))(\\textsuperscript\{(?P<mark>.*)\})?", text
    )
    shown = found["text"] if found["bold"] is None else found["bold"]
    return plain(shown), plain(found["mark"] or ""), found["bold"] is not None


def read_table(text):
    """Caption, headings, and rows of cells of the one table of a document."""
    lines = text.strip().split("\n")
    if lines[0].startswith("%"):
        assert lines.pop(0) == r"% needs \usepackage{booktabs}"
    assert lines[:2] == [r"\begin{table}", r"\centering"]
    caption = plain(re.fullmatch(r"\\caption\{(.*)\}", lines[2])[1])
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[3])[1]
    assert (lines[4], lines[6]) == (r"\toprule", r"\midrule")
    assert lines[-3:] == [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    rows = []
    for line in (lines[5], *lines[7:-3]):
        assert line.endswith(r" \\")
        cells = re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))
        assert len(cells) == len(columns), line
        rows.append(list(map(cell, cells)))
    return caption, [text for text, _, _ in rows[0]], rows[1:]
