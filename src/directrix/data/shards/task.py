"""Requests to shards: their execution, the state of shards in a process, and the merging of results.

A question goes to all shards, on any number of processes, and one answer comes out::

    task = Task(folder, manifest.shards, manifest.form, manifest.present, question)
    answer = current_driver().ask(task)

Answers are merged along a fixed tree over the numbers of the shards, so the bits of the result depend neither
on the number of processes nor on their order.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from directrix.data.files import readable
from directrix.data.memory import available_memory
from directrix.data.queries import Queries
from directrix.data.shards.context import CURRENT_DRIVER
from directrix.data.shards.manifest import Shard, form_of
from directrix.data.tables.read import open_parquet
from directrix.errors import InputError
from directrix.fingerprint import fingerprint
from directrix.threads import set_threads
from directrix.types import Float64Array

# Of the data that questions prepare for a shard, the last two are kept: an objective and a measure, each
# with features if those are held.
_KEPT = 2
_OPEN_SHARDS: OrderedDict[tuple[str, Shard, str], OpenShard] = OrderedDict()
# A process keeps this number of shards open, of all folders together.
_MOST_OPEN = 4096
_LOCK = threading.Lock()


Span = tuple[int, int]
"""Shards first <= number < last below one node of a binary tree over their numbers."""
ROOM = 0.25
"""Share of the available memory for features that shards hold."""


class Question:
    """A request to every shard; a frozen value that can be pickled.

    A subclass has a method ``answer``. Results of neighbors are merged by `merge`, left before right: arrays
    are added, lists are joined.
    """

    def answer(self, shard: OpenShard) -> Any:
        """Return the result of one shard, which has at least one document."""
        raise NotImplementedError

    def merge(self, left: Any, right: Any) -> Any:
        """Return the combined result of two neighbors."""
        return left + right


def check_code(sent: str, parts: Any) -> None:
    """Raise `InputError` if the code of this process differs from that of the sender of a fingerprint."""
    if fingerprint(parts) != sent:
        raise InputError(
            "a worker has other code for the measure or the surrogate than the process that asks it: a "
            "module was edited after the worker imported it, or versions of Python differ. "
            "Restart the workers."
        )


class OpenShard:
    """An open shard: its queries, and the data that requests have prepared for it."""

    def __init__(self, folder: Path, number: int, shard: Shard, form: str, *, is_held: bool = False) -> None:
        self.folder, self.number, self.shard, self.form, self.is_held = folder, number, shard, form, is_held
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.RLock()

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.shard.file

    @cached_property
    def stored(self) -> Queries:
        """Queries of the shard, with features in the file; compared with the manifest once."""
        self.check_file()
        q = open_parquet(self.path)
        form = form_of(q.n_features, q.features.dtype, q.feature_names)
        if (form, q.n_docs, q.n_queries) != (self.form, self.shard.documents, self.shard.queries):
            raise InputError(
                f"shard {self.number}: {self.path} has other queries, documents or features than the "
                "manifest says. Write the shards again."
            )
        return q

    def check_file(self) -> None:
        """Raise `InputError` if the file is absent, or is not the one that the manifest describes."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise InputError(
                f"shard {self.number}: {self.path} cannot be opened on this machine ({error.strerror}); all "
                "workers need the folder of shards at the same path. Mount or copy it."
            ) from error
        with readable(self.path), self.path.open("rb") as file:
            digest = "" if size != self.shard.bytes else hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.shard.sha256:
            raise InputError(
                f"shard {self.number}: {self.path} is not the file that the manifest describes "
                f"({self.shard.bytes:,} bytes, SHA-256 {self.shard.sha256[:12]}...): it has changed since it "
                "was written. Write the shards again."
            )

    def queries(self, scale: Any = None, *, in_memory: bool = False) -> Queries:
        """Return its queries, scaled, with their features in memory if there is room, or if required."""
        q = self.stored
        if in_memory or self.is_held:
            q = replace(q, features=q.features.read(0, q.n_docs))
        return q if scale is None else q.scaled(scale)

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the cached result of ``make`` for this key; only the last few are kept."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def root_of(n_shards: int) -> Span:
    """Return the span of the whole tree, whose width is a power of 2."""
    return 0, 1 << max(n_shards - 1, 0).bit_length()


def spans_of(held: Iterable[int], among: Iterable[int], n_shards: int) -> list[Span]:
    """Return the largest nodes below which all shards of ``among`` are in ``held``, in order.

    The results of ``held`` below each node can be merged without others.

    Examples
    --------
    >>> spans_of([0, 1, 2, 5], [0, 1, 2, 3, 5], 8)
    [(0, 2), (2, 3), (4, 8)]
    """
    all_held, all_shards = sorted(held), sorted(among)

    def below(span: Span) -> list[Span]:
        wanted = [number for number in all_shards if span[0] <= number < span[1]]
        present = [number for number in all_held if span[0] <= number < span[1]]
        if not present:
            return []
        if present == wanted:
            return [span]
        return below((span[0], sum(span) // 2)) + below((sum(span) // 2, span[1]))

    return below(root_of(n_shards))


def merged(answers: dict[Span, Any], span: Span, merge: Callable[[Any, Any], Any]) -> Any:
    """Merge the results below a node, left before right; None if there are none.

    Earlier merges do not change a single bit: the order depends only on the numbers of the shards.

    Examples
    --------
    >>> merged({(0, 1): "a", (2, 4): "bc"}, (0, 4), lambda left, right: f"({left}{right})")
    '(abc)'
    """
    if span in answers:
        return answers[span]
    first, last = span
    if last - first <= 1:
        return None
    middle = (first + last) // 2
    left, right = merged(answers, (first, middle), merge), merged(answers, (middle, last), merge)
    if left is None or right is None:
        return right if left is None else left
    return merge(left, right)


@dataclass(frozen=True)
class Task:
    """A request to some shards of a folder, for one process."""

    folder: str
    shards: tuple[Shard, ...]
    """All shards of the folder."""
    form: str
    """Form of the features, see `form_of`."""
    numbers: tuple[int, ...]
    """Numbers of the shards of this process."""
    question: Question
    room: int = 0
    """Bytes of files whose features the process may hold in memory: faster, and the same bits."""
    threads: int | None = None
    """Threads of the kernels; None leaves them as they are."""

    def __call__(self) -> dict[Span, Any]:
        """Return the results, merged as far as these shards allow."""
        answers: dict[Span, Any] = {}
        with contextlib.ExitStack() as stack:
            # A worker may be a thread of the user's process, which keeps its own number.
            if self.threads is not None:
                stack.callback(set_threads, set_threads(self.threads))
            for number in self.numbers:
                answers[number, number + 1] = self.question.answer(self._opened(number))
        # A shard without documents has no answer, and must not keep its neighbors from being merged.
        present = [number for number, shard in enumerate(self.shards) if shard.documents]
        spans = spans_of(self.numbers, present, len(self.shards))
        return {span: merged(answers, span, self.question.merge) for span in spans}

    def _opened(self, number: int) -> OpenShard:
        """Return a shard that this process keeps open between requests."""
        shard = self.shards[number]
        key = os.path.join(self.folder, shard.file), shard, self.form
        with _LOCK:
            if key not in _OPEN_SHARDS:
                held = sum(opened.shard.bytes for opened in _OPEN_SHARDS.values() if opened.is_held)
                # The shards that are asked first are held, as long as there is room.
                is_held = held + shard.bytes <= self.room
                _OPEN_SHARDS[key] = OpenShard(Path(self.folder), number, shard, self.form, is_held=is_held)
                while len(_OPEN_SHARDS) > _MOST_OPEN:
                    _OPEN_SHARDS.popitem(last=False)
            _OPEN_SHARDS.move_to_end(key)
            return _OPEN_SHARDS[key]


def contiguous(numbers: Iterable[int], weights: Iterable[int], n_parts: int) -> list[tuple[int, ...]]:
    """Split numbers into at most ``n_parts`` runs of about equal weight, so that neighbors merge locally.

    Examples
    --------
    >>> contiguous([0, 1, 2, 3], [5, 1, 1, 5], 2)
    [(0, 1), (2, 3)]
    """
    items, loads = list(numbers), list(weights)
    total = sum(loads)
    runs: list[list[int]] = [[] for _ in range(n_parts)]
    before = 0
    for number, weight in zip(items, loads, strict=True):
        # The middle of an item's weight decides to which of equal shares of the total it belongs.
        runs[min(n_parts - 1, (2 * before + weight) * n_parts // (2 * total))].append(number)
        before += weight
    return [tuple(run) for run in runs if run]


class Driver(ABC):
    """Assigns tasks to processes and merges their results; the bits do not depend on the assignment."""

    def ask(self, task: Task) -> Any:
        """Return the merged result of all shards of a task; None if there are none."""
        answers = self.answers(task) if task.numbers else {}
        return merged(answers, root_of(len(task.shards)), task.question.merge)

    def remembered(self, question: Any, answer: Callable[[], Float64Array]) -> Float64Array:
        """Return what ``answer`` returns, or what a file of results has for the question."""
        return answer()

    @abstractmethod
    def answers(self, task: Task) -> dict[Span, Any]:
        """Return the results of the shards, merged or not."""


class ThisProcess(Driver):
    """Processes all shards in this process, one after another; each uses all threads.

    Parameters
    ----------
    room : int, optional
        Bytes of features that shards may hold in memory. Default: a quarter of the available memory.
    """

    def __init__(self, room: int | None = None) -> None:
        self._room = room

    def answers(self, task: Task) -> dict[Span, Any]:
        """Compute the results in this process."""
        # Available memory is looked at once, because the shards that are held then take some of it.
        if self._room is None:
            self._room = int(ROOM * available_memory())
        return replace(task, room=self._room)()


_HERE = ThisProcess()


def current_driver() -> Driver:
    """Return the driver of the innermost ``with directrix.cluster(...)``, else this process."""
    driver: Driver = CURRENT_DRIVER.get() or _HERE
    return driver
