"""Who answers questions about shards: this process, unless a cluster is chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any

from directrix.data.memory import available_memory
from directrix.data.shards.context import CURRENT_DRIVER
from directrix.data.shards.task import Task
from directrix.data.shards.tree import Span, merged, root_of

ROOM = 0.25
"""Share of the available memory for features that shards hold."""


class Driver(ABC):
    """Gives tasks to processes and merges their answers; the bits do not depend on who answered what."""

    def ask(self, task: Task) -> Any:
        """Return the merged answer of all shards of a task; None if there are none."""
        answers = self.answers(task) if task.numbers else {}
        return merged(answers, root_of(len(task.shards)), task.question.merge)

    @abstractmethod
    def answers(self, task: Task) -> dict[Span, Any]:
        """Return the answers of the shards, merged or not."""


class ThisProcess(Driver):
    """All shards are of this process, one after another; each uses all threads.

    Parameters
    ----------
    room : int, optional
        Bytes of features that shards may hold in memory. Default: a quarter of what is available.
    """

    def __init__(self, room: int | None = None) -> None:
        self._given = room

    @cached_property
    def _room(self) -> int:
        return int(ROOM * available_memory()) if self._given is None else self._given

    def answers(self, task: Task) -> dict[Span, Any]:
        """Answer here."""
        return replace(task, room=self._room)()


_HERE = ThisProcess()


def current_driver() -> Driver:
    """Return the driver of the innermost ``with directrix.cluster(...)``, else this process."""
    driver: Driver = CURRENT_DRIVER.get() or _HERE
    return driver
