"""Available memory, and the rejection of data that would not fit into it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from directrix.errors import Advice, InputError

# Fewer bytes than these are allocated without a look at what is available.
_NOT_ASKED = 64 << 20
# Reading leaves this number of bytes, because the system ends a process that takes the last ones.
_RESERVE = 256 << 20
# Taken as available where the system does not say: 8 GiB.
_UNKNOWN = 8 << 30


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
    left = _left_in_groups()
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        left.append(next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")))
    if (limit := address_limit()) is not None:
        used = 0
        # The limit counts the address space, which is larger than the memory in use.
        with suppress(OSError, ValueError):
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        left.append(max(limit - used, 0))
    return min(left, default=_UNKNOWN)


def address_limit() -> int | None:
    """Return the limit on this process's address space in bytes; None = no limit."""
    try:
        import resource
    except ImportError:
        # Windows has no such limits.
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _left_in_groups() -> list[int]:
    """Memory left by each control group (version 2) of this process; file caches do not count."""
    root, left = Path("/sys/fs/cgroup"), list[int]()
    try:
        name = Path("/proc/self/cgroup").read_text().partition("0::")[2].split("\n")[0].strip("/")
    except OSError:
        return left
    for group in [root / name, *(root / name).parents]:
        try:
            limit, usage = (int((group / f"memory.{file}").read_text()) for file in ("max", "current"))
            lines = (group / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):
            # The group has no such file, or no limit, which is written as "max".
            continue
        cache = next((int(line.split()[1]) for line in lines if line.startswith("file ")), 0)
        left.append(max(limit - usage + cache, 0))
    return left
