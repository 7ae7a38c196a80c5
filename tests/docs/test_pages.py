"""Every code block of README and docs runs, and prints what the page shows."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import directrix as dx

from .blocks import Block, blocks, run_console, run_python, without_optional

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("README.md")),
    *sorted(path for name in ("tests", "tools", "benchmarks") for path in (ROOT / name).rglob("README.md")),
]
REAL = ("OHSUMED", "MQ2008")
_SLOW = "fuse inspect large-data monotone other-tools pytorch scikit-learn watch"
SLOW = {"docs/documents.md", *(f"docs/how-to/{name}.md" for name in _SLOW.split())}


def is_real(block: Block) -> bool:
    return any(name in block.text for name in REAL)


def pages(*, real: bool) -> list:
    """Pages with at least one block that needs real data, or one that does not."""
    files = [p for p in PAGES if p.exists() and any(is_real(b) == real for b in blocks(p.read_text("utf-8")))]
    names = [str(p.relative_to(ROOT)) for p in files]
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with what the pages assume: the command ``directrix`` and three small files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    # MLflow writes into the folder: mlflow-skinny has no database, and nothing is to be sent
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    rng = np.random.default_rng(7)
    taste = np.array([1.0, 0.6, 0.3, 0.0, -0.5])
    for first, (name, n_queries) in enumerate((("train", 60), ("vali", 30), ("test", 30))):
        X = rng.random((20 * n_queries, 5)).round(4)
        utility = X @ taste + rng.normal(0.0, 0.25, len(X))
        labels = np.searchsorted([0.9, 1.2, 1.5], utility).astype(float)
        qid = np.repeat(np.arange(n_queries) + 1000 * (first + 1), 20)
        docs = [f"D{100000 * (first + 1) + i}" for i in range(len(X))]
        dx.write_letor(dx.Queries.from_arrays(X, labels, qid=qid, doc_ids=docs), tmp_path / f"{name}.txt")
    bin_ = tmp_path / ".bin"
    bin_.mkdir()
    start = "import sys; from directrix.cli.main import app; app(prog_name='directrix')"
    for name, arguments in (("directrix", f'-W error -c "{start}"'), ("python", "")):
        (bin_ / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (bin_ / name).chmod(0o755)
    return tmp_path


@pytest.fixture
def environment(folder):
    return {
        **os.environ,
        "PATH": f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(dx.__file__).parents[1]),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }


def run(page, folder, environment, *, real):
    names = {"__name__": "__page__"}
    chosen = [block for block in blocks((ROOT / page).read_text("utf-8")) if is_real(block) == real]
    assert chosen
    if any("import torch" in block.text for block in chosen):
        pytest.importorskip("torch", reason=f"{page} needs PyTorch: pip install torch")
    chosen, missing = without_optional(chosen)
    for block in chosen:
        if block.language == "python":
            run_python(block, names, page)
        else:
            run_console(block, folder, environment, page)
    if missing:
        pytest.skip(f"{page}: all blocks pass but those that need {', '.join(sorted(missing))}")


@pytest.mark.parametrize("page", pages(real=False))
def test_page(page, folder, environment):
    run(page, folder, environment, real=False)


@pytest.mark.parametrize("page", pages(real=True))
def test_page_on_real_data(page, folder, environment, data_dir):
    for name in REAL:
        (folder / name).symlink_to((data_dir / "letor" / name).resolve())
    run(page, folder, environment, real=True)
