"""``directrix doctor``: what is in a data file, or what directrix runs on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.output import Format, FormatOption, print_json, print_rows, remark

if TYPE_CHECKING:
    from directrix.data.audit import FileAudit

_EXTRAS = {"lightgbm": "lightgbm", "matplotlib": "plot", "piqp": "qp", "pyarrow": "arrow", "torch": "torch"}
"""Optional packages, and the extras that install them."""


def doctor(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="LETOR / svmlight, Parquet or Arrow files.", show_default=False),
    ] = None,
    form: FormatOption = Format.table,
) -> None:
    """Examine data files; with several, also which queries they share. Without files: the installation."""
    if not files:
        facts = environment()
        if form is Format.json:
            print_json(facts)
        else:
            print_rows(["what", "value"], [[name, str(value)] for name, value in facts.items()], form)
        return
    from directrix.data.audit import audit
    from directrix.data.formats import read_file

    found = audit({str(path): read_file(path, missing="nan") for path in files})
    if form is Format.json:
        print_json(found.to_dict())
        return
    columns = [_facts(file) for file in found.files]
    rows = [[name, *(facts[name] for facts in columns)] for name in columns[0]]
    print_rows(["what", *(file.name for file in found.files)], rows, form)
    for text in found.remarks():
        remark(f"note: {text}")


def _facts(file: FileAudit) -> dict[str, str]:
    low, mean, high = file.docs_per_query
    return {
        "rows": str(file.n_docs),
        "queries": str(file.n_queries),
        "features": str(file.n_features),
        "rows a query": f"{low} to {high}, mean {mean:.1f}",
        "labels": ", ".join(f"{label}: {count}" for label, count in file.labels.items()),
        "queries without a relevant row": str(file.queries_without_relevant),
        "queries of one label": str(file.queries_with_one_label),
        "constant features": str(len(file.constant_features)),
        "duplicate features": str(len(file.duplicate_features)),
        "duplicate rows": str(file.duplicate_rows),
        "missing values": str(file.missing_values),
    }


def environment() -> dict[str, Any]:
    """Versions, the machine, and what the kernels use of it."""
    import os
    import platform
    from importlib.metadata import version

    from directrix import __version__
    from directrix.threads import get_threads

    packages = ("numpy", "scipy", "numba", "scikit-learn", "typer", "rich")
    return {
        "directrix": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        **{name: _extra(name, extra) for name, extra in _EXTRAS.items()},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "threads": get_threads(),
        "numba cache": _cache(),
    }


def _extra(name: str, extra: str) -> str:
    """Version of an optional package, or how to get it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return f'not installed: pip install "directrix[{extra}]"'


def _cache() -> str:
    """Where compiled kernels are kept, and whether they can be."""
    import os

    import directrix

    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(directrix.__file__).parent)
    return f"{folder} ({'writable' if os.access(folder, os.W_OK) else 'not writable'})"
