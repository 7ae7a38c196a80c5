"""The driver in use, and whether a folder holds shards; imports nothing heavy, for commands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

MANIFEST = "shards.json"

CURRENT_DRIVER: ContextVar[Any] = ContextVar("directrix driver", default=None)
"""The driver of the innermost ``with directrix.cluster(...)``; None = this process."""


def is_on_cluster() -> bool:
    """Whether requests to shards leave this process."""
    return CURRENT_DRIVER.get() is not None


@contextlib.contextmanager
def using_driver(driver: T) -> Iterator[T]:
    """Send requests to this driver within the block."""
    token = CURRENT_DRIVER.set(driver)
    try:
        yield driver
    finally:
        CURRENT_DRIVER.reset(token)


def is_sharded(path: Path) -> bool:
    """Whether a path is a folder of shards, by its manifest."""
    return path.is_dir() and (path / MANIFEST).is_file()
