"""Whether features are read into memory or stay in their file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from directrix.cli.files import Missing, read_data
from directrix.cli.output import remark

if TYPE_CHECKING:
    from directrix.data.queries import Queries

__all__ = ["available_memory", "read_or_open"]

_SHARE = 0.4  # of the memory that is available; a search takes parts of the queries, which are copies


def read_or_open(path: Path, missing: Missing, *, stream: bool | None) -> Queries:
    """Read a data file, or open it with its features left there.

    ``stream=None`` opens a Parquet or Arrow file whose features would take more than 40 % of the available
    memory, and says so.

    Raises
    ------
    InputError
        If a text file is to be opened, or missing values are to be replaced in one that is.
    """
    from directrix.data.arrow.files import ArrowFiles
    from directrix.data.formats import format_of, open_file
    from directrix.errors import InputError

    if stream is False or (stream is None and not format_of(path).is_table):
        return read_data(path, missing)
    available = available_memory()
    # by what the file says of itself: one that is to be read may have its rows in any order
    if stream is None and ArrowFiles(path).n_bytes <= _SHARE * available:
        return read_data(path, missing)
    q = open_file(path)
    n_bytes = q.n_docs * q.n_features * q.features.itemsize
    if missing is not Missing.error:
        raise InputError(
            f"--missing {missing.value} replaces values, which is not done in features that stay in their "
            f"file; write them first: `directrix convert {path} new.arrow --missing {missing.value}`."
        )
    remark(
        f"note: features stay in {path}: {n_bytes / 1e9:.3g} GB, {available / 1e9:.3g} GB of memory are "
        f"available"
    )
    return q


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, of its control group, of its limits."""
    found = [_of_machine(), _of_group()]
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        found.append(None if limit == resource.RLIM_INFINITY else max(limit - _taken(), 0))
    except ImportError:
        pass  # Windows has no such limits
    return min((n for n in found if n is not None), default=8 << 30)


def _taken() -> int:
    """Addresses that this process has taken, which the limit counts."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _of_group() -> int | None:
    """What is left of the least limit of a control group, version 2 or 1; caches of files do not count."""
    left: list[int] = []
    for folder, most, used, cached in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"),
    ):
        for place in _places(Path(folder)):
            try:
                limit, now = int((place / most).read_text()), int((place / used).read_text())
                lines = (place / "memory.stat").read_text().splitlines()
            except (OSError, ValueError):  # no such file, or "max"
                continue
            cache = next((int(line.split()[1]) for line in lines if line.startswith(f"{cached} ")), 0)
            left.append(max(limit - now + cache, 0))
    return min(left, default=None)


def _places(root: Path) -> list[Path]:
    """Folders of the control group of this process and of those that hold it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return [root]
    names = [line.split(":", 2)[2].lstrip("/") for line in lines if line.split(":")[1] in ("", "memory")]
    nearest = [root / name for name in names if name]
    return [*nearest, *(p for folder in nearest for p in folder.parents if root in p.parents), root]
