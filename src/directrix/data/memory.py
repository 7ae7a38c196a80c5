"""Available memory, and the rejection of data that would not fit into it."""

from __future__ import annotations

import os
from pathlib import Path

from directrix.errors import Advice, InputError

_NOT_ASKED = 64 << 20  # bytes that need no look at what is available
_RESERVE = 256 << 20  # bytes that reading leaves: the system ends a process that takes the last ones


def check_room(n_bytes: int, what: str, advice: str) -> None:
    """Raise `InputError` for an allocation that does not fit into available memory, before it is made.

    ``what`` needs the bytes.
    """
    if n_bytes > _NOT_ASKED and n_bytes > (available := available_memory()):
        raise InputError(
            f"{what} would take {n_bytes / 1e9:.4g} GB of memory, and {available / 1e9:.3g} GB are "
            "available.",
            advice,
        )


def check_left(path: Path, n_read: int) -> None:
    """Reject further reading of a file, after ``n_read`` bytes, when memory is nearly exhausted."""
    if (available := available_memory()) < _RESERVE:
        raise InputError(
            f"{path} does not fit into memory: after {n_read / 1e9:.3g} GB of its content {available:,} "
            "bytes are available. Use fewer rows, or a machine with more memory; training can read Parquet "
            "and Arrow block by block.",
            Advice("convert-by-block"),
        )


def available_memory() -> int:
    """Return the bytes that this process may still allocate, by machine, control group and limits."""
    limit = address_limit()
    of_limit = None if limit is None else max(limit - _address_space(), 0)
    return min((n for n in (_of_machine(), _of_group(), of_limit) if n is not None), default=8 << 30)


def address_limit() -> int | None:
    """Return the limit on this process's address space in bytes; None = no limit."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _address_space() -> int:
    """Address space in use by this process, which the limit counts."""
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
    """Memory left by the control groups (version 2) of this process; file caches do not count."""
    root, left = Path("/sys/fs/cgroup"), list[int]()
    try:
        name = Path("/proc/self/cgroup").read_text().partition("0::")[2].split("\n")[0].strip("/")
    except OSError:
        return None
    for group in [root / name, *(root / name).parents]:
        try:
            limit, usage = (int((group / f"memory.{file}").read_text()) for file in ("max", "current"))
            lines = (group / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):  # no such file, or "max"
            continue
        cache = next((int(line.split()[1]) for line in lines if line.startswith("file ")), 0)
        left.append(max(limit - usage + cache, 0))
    return min(left, default=None)
