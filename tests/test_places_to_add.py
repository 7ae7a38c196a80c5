"""A toy of every kind, added as the READMEs say, is found wherever users look for it.

The toys are added to a copy of the package, whose registry and table of formats are read by a new process.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import directrix

SOURCE = Path(directrix.__file__).parent

FILES = {  # new modules, and what they hold
    "measures/toy.py": '''
from dataclasses import dataclass
from typing import ClassVar
from directrix.measures.dcg import DCG

@dataclass(frozen=True, kw_only=True, repr=False)
class Toy(DCG):
    """A sum of discounted gains under another name."""
    symbol: ClassVar[str] = "Toy"
''',
    "surrogates/toy.py": '''
from dataclasses import dataclass
from directrix.surrogates.losses import Regression

@dataclass(frozen=True)
class ToyLoss(Regression):
    """Squared errors under another name."""
''',
    "trainers/toy.py": '''
from dataclasses import dataclass
from typing import ClassVar
from directrix.trainers.full_gradients import LBFGS

@dataclass(frozen=True)
class ToyTrainer(LBFGS):
    """L-BFGS under another name."""
    short_name: ClassVar[str] = "toy"
''',
    "export/toy.py": """
from dataclasses import replace
from directrix.export import python

TARGET = replace(python.TARGET, title="a toy")
""",
    "data/toy.py": """
from directrix.data.letor.read import read_letor
from directrix.data.letor.write import letor_lines

def read_toy(path, *, missing):
    return read_letor(path, missing=missing)

def toy_lines(q):
    return letor_lines(q)
""",
    "cli/toy.py": '''
def toy_command() -> None:
    """Print a greeting."""
    print("hello")
''',
}
EDITS = {  # a place in a file, and what is added after it
    "registry.py": {
        "MEASURES = {\n": '    "Toy": "measures.toy",\n',
        "SURROGATES = {\n": '    "ToyLoss": "surrogates.toy",\n',
        "TRAINERS = {\n": '    "ToyTrainer": "trainers.toy",\n',
        "TARGETS = {\n": '    "toy": "export.toy",\n',
        "COMMANDS = (\n": '    "toy",\n',
        "BY_TEXT = (\n": '    *("Toy", "ToyLoss"),\n',
    },
    "data/formats.py": {
        "FORMATS = (": 'Format("Toy", (".toy",), reader="toy:read_toy", lines="toy:toy_lines"), ',
    },
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of a process that imports the copy with the toys."""
    folder = tmp_path_factory.mktemp("toys")
    copy = folder / "directrix"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, content in FILES.items():
        (copy / name).write_text(content)
    for name, edits in EDITS.items():
        text = (copy / name).read_text()
        for place, added in edits.items():
            assert text.count(place) == 1, f"{place!r} of {name} is not there"
            text = text.replace(place, place + added)
        (copy / name).write_text(text)
    return {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"}


def printed(environment, folder, *arguments):
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'Toy' in dx.measures()", "True"),
        ("dx.measure('Toy@3')([3., 2, 1], [1., 0, 1], [0, 3]).round(2)", "[1.5]"),
        ("dx.LinearRanker('ToyLoss').surrogate", "ToyLoss"),
        ("dx.surrogate('ToyLoss')", "ToyLoss(intercept=True, target='gains')"),
        ("dx.LinearRanker('ToyLoss', trainer='toy', max_iter=2).fit_queries(q).result_.status", "max_iter"),
        ("dx.trainers.ToyTrainer.short_name", "toy"),
    ],
)
def test_python_has_it(environment, tmp_path, expression, value):
    code = "import directrix as dx; q = dx.data.make_cubic(n_queries=5, docs_per_query=5, n_features=3)"
    assert printed(environment, tmp_path, "-c", f"{code}; print({expression})") == value + "\n"


@pytest.mark.slow
def test_the_command_line_has_it(environment, tmp_path):
    code = "import sys; from directrix.cli.main import app; app(prog_name='directrix')"

    def run(*arguments):
        return printed(environment, tmp_path, "-c", code, *arguments)

    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n" * 2)
    assert "toy" in run("--help")
    assert run("toy") == "hello\n"
    run("convert", "a.txt", "b.toy")
    assert (tmp_path / "b.toy").read_bytes() == (tmp_path / "a.txt").read_bytes()
    run("train", "b.toy", "--method", "Regression", "-o", "model.json")
    run("export", "model.json", "model.py", "--to", "toy")
    assert "Toy@2" in run("evaluate", "b.toy", "model.json", "-m", "Toy@2")
