"""A fixed binary tree over the numbers of shards: each process merges the answers it has along it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Span = tuple[int, int]
"""Shards first <= number < last below one node of the tree."""


def root_of(n_shards: int) -> Span:
    """Return the span of the whole tree, whose width is a power of 2."""
    return 0, 1 << max(n_shards - 1, 0).bit_length()


def spans_of(held: Iterable[int], among: Iterable[int], n_shards: int) -> list[Span]:
    """Return the largest nodes below which all shards of ``among`` are in ``held``, in order.

    Whoever has the answers of ``held`` can merge those below each node without others.

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
    """Merge the answers below a node, left before right; None if there is none.

    Which of them were merged before makes no difference, not in a bit: the order depends on the numbers of
    the shards alone.

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
