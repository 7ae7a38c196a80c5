"""``directrix doctor``: statistics of data files, or the installation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.advice import in_shell
from directrix.cli.output import progress_lines, remark, show
from directrix.cli.reading import ColumnOptions
from directrix.data.formats import inputs

if TYPE_CHECKING:
    from directrix.data.audits import FileAudit

_EXTRAS = {
    "matplotlib": "plot",
    "pyarrow": "arrow",
    "torch": "torch",
    "onnxruntime": "export",
}
"""Optional packages, and the extras that install them."""
# Options by which `git describe` prints the whole commit, and never a tag.
_DESCRIBE = ("--always", "--dirty", "--abbrev=40", "--exclude=*")


def doctor_command(
    *,
    files: Annotated[
        list[Path] | None, options.argument(metavar="DATA...", help=f"Data files: {inputs()}.")
    ] = None,
    compile_: Annotated[
        bool, Option("--compile", help="Compile all kernels now and keep them for later runs.")
    ] = False,
    columns: ColumnOptions,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Examine data files and the queries they share; without files, show the installation."""
    from directrix.tables import Table

    if compile_ and files:
        raise typer.BadParameter("--compile takes no files.")
    if not files:
        done = {"compile": _compile()} if compile_ else {}
        facts, (kernels, kernel_rows) = environment(), _kernels()
        rows = [*((name, str(value)) for name, value in facts.items()), *kernel_rows]
        show(form, [Table("", ("what", "value"), tuple(rows))], {**facts, "kernels": kernels, **done})
        return
    from directrix.data.audits import audit

    read = {str(path): columns.file(path).queries("nan") for path in files}
    result = audit(read)
    columns_of_files = [_facts(file) for file in result.files]
    lines = tuple((name, *(facts[name] for facts in columns_of_files)) for name in columns_of_files[0])
    show(form, [Table("", ("what", *(file.name for file in result.files)), lines)], result.to_dict())
    if form is not options.Format.json:
        for text in result.remarks():
            remark(f"note: {in_shell(text)}")


def _facts(file: FileAudit) -> dict[str, str]:
    low, mean, high = file.docs_per_query
    return {
        "rows": str(file.n_docs),
        "queries": str(file.n_queries),
        "features": str(file.n_features),
        "rows per query": f"{low} to {high}, mean {mean:.1f}",
        "labels": ", ".join(f"{label}: {count}" for label, count in file.labels.items()),
        "queries without a relevant row": str(file.queries_without_relevant),
        "queries without an irrelevant row": str(file.queries_all_relevant),
        "queries with one label only": str(file.queries_with_one_label),
        "constant features": str(len(file.constant_features)),
        "duplicate features": str(len(file.duplicate_features)),
        "features in the order of labels": str(len(file.perfect_features)),
        "duplicate rows": str(file.duplicate_rows),
        "repeated documents": str(file.repeated_documents),
        "missing values": str(file.missing_values),
        "a tree of 32 leaves": f"about {_seconds_of_tree(file.n_docs, file.n_features):.2g} s on one thread",
    }


def _seconds_of_tree(n_docs: int, n_features: int) -> float:
    """Seconds in which `directrix.BoostedRanker` grows a tree, without binning and validation."""
    # Nanoseconds for a value and for a document, measured with `python -m benchmarks trees` (Zen 5, 20,000 to
    # 1,200,000 documents).
    return n_docs * (1.0 * n_features + 100.0) * 1e-9


def environment() -> dict[str, Any]:
    """Return versions, the commit, the machine, and the number of threads; no paths."""
    import os
    import platform

    from directrix import __version__
    from directrix.threads import get_threads

    packages = ("numpy", "scipy", "numba", "scikit-learn", "lightgbm", "piqp", "typer", "rich")
    return {
        "directrix": __version__,
        **_commit(),
        "python": platform.python_version(),
        **{name: _version(name, name) for name in packages},
        **{name: _version(name, f'"directrix[{extra}]"') for name, extra in _EXTRAS.items()},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "threads": get_threads(),
    }


def _commit() -> dict[str, str]:
    """Return the commit of an editable installation, "-dirty" if its files were changed; else nothing."""
    import subprocess

    import directrix

    how: Any = {"cwd": Path(directrix.__file__).parent, "capture_output": True, "text": True, "check": True}
    # The first command fails where an installed package is in another repository. There is no commit without
    # git, without a repository, and in a repository of another user.
    try:
        subprocess.run(["git", "ls-files", "--error-unmatch", "__init__.py"], **how)
        done = subprocess.run(["git", "--no-optional-locks", "describe", *_DESCRIBE], **how)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": done.stdout.strip()}


def _version(name: str, target: str) -> str:
    """Return the version of a package, or how to install it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return f"not installed: pip install {target}"


def _kernels() -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return where compiled kernels are kept, and how many, for JSON and as rows of a table."""
    from directrix.kernels import BASELINE, size_of, survey

    cache = survey()
    stale_size = size_of(cache.stale)
    rows = [("kernels", f"{cache.kernels}, compiled for {cache.processor}: {cache.compiled}")]
    if cache.shipped:
        contents = f"{cache.shipped} that Python calls, with all that they call, compiled for {BASELINE}"
        rows.append(("from the wheel", contents))
    for place in cache.places:
        writable = "writable" if place.writable else "not writable"
        contents = f"{writable}, {place.files} files, {_megabytes(place.size)}"
        rows.append(("kept in", f"{place.folder} ({contents})"))
    if cache.stale:
        contents = f"{len(cache.stale)} files, {_megabytes(stale_size)}"
        rows.append(("stale", f"{contents}; directrix doctor --compile removes them"))
    facts = {key: getattr(cache, key) for key in ("processor", "kernels", "compiled", "shipped")}
    facts |= {"places": [place._asdict() for place in cache.places]}
    return facts | {"stale_files": len(cache.stale), "stale_size": stale_size}, rows


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def _compile() -> dict[str, Any]:
    """Compile all kernels and return what it took."""
    import time

    from directrix.cli.compiling import compile_all
    from directrix.kernels import remove_stale

    start = time.perf_counter()
    with progress_lines("compiling") as report:
        compiled, read = compile_all(report)
    seconds, removed = time.perf_counter() - start, remove_stale()
    remark(
        f"compiled {compiled} kernel signatures in {seconds:.1f} s"
        if compiled
        else f"everything was compiled already: {read} kernel signatures read in {seconds:.1f} s"
    )
    if removed:
        remark(f"removed {removed} stale files")
    return {"seconds": seconds, "compiled": compiled, "found": read, "removed": removed}
