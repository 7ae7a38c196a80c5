"""Lists of documents as padded tensors, and sums over their pairs in memory O(number of documents)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from directrix.types import Array

_PAIRS = {"cpu": 1 << 18}
"""Pairs of documents in a block: what stays in the cache of a CPU; a GPU wants more work at once."""
_PAIRS_ELSEWHERE = 1 << 23


@dataclass(frozen=True)
class Lists:
    """Padded lists: scores and mask (n_queries, longest), and what a surrogate prepared of the labels.

    ``prepared`` holds arrays with an entry for each document as tensors of the shape of the scores, padded
    by 0; ``where`` are the places of the documents with an entry of the first one that is not 0, and whether
    they are documents, as of queries with fewer of them some are not.
    """

    scores: Any
    mask: Any
    prepared: tuple[Any, ...]
    where: tuple[Any, Any]

    def weighted(self) -> tuple[Any, Any, Any]:
        """Scores, weights and mask of the documents with a weight, which is the first prepared array."""
        places, kept = self.where
        return self.scores.gather(1, places), self.prepared[0].gather(1, places) * kept, kept


def padded_lists(scores: Any, mask: Array, prepared: tuple[Any, ...], entries: tuple[str, ...]) -> Lists:
    """Pad scores, differentiably, and what was prepared; ``entries`` as of `KernelSurrogate`."""

    def there(array: Array) -> Any:
        kind = scores.dtype if array.dtype.kind == "f" else None
        return torch.as_tensor(array, dtype=kind, device=scores.device)

    padded = [
        _pad(array, mask) if of == "document" else array for array, of in zip(prepared, entries, strict=True)
    ]
    weight = padded[0] if padded[0].shape == mask.shape else mask
    counts = np.count_nonzero(weight, axis=1)
    most = max(int(counts.max(initial=0)), 1)
    places = np.argsort(weight == 0.0, axis=1, kind="stable")[:, :most]
    is_document = there(mask)
    rows = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
    return Lists(
        rows.masked_scatter(is_document, scores),
        is_document,
        tuple(there(array) for array in padded),
        (there(places), there(np.arange(most) < counts[:, None])),
    )


def _pad(array: Array, mask: Array) -> Array:
    rows = np.zeros(mask.shape, dtype=array.dtype)
    rows[mask] = array
    return rows


def sum_over_pairs(f: Callable[..., Any], rows: tuple[Any, ...], columns: tuple[Any, ...]) -> Any:
    """Sum f(rows[:, :, None], columns[:, None, :]) over the columns, of which a block at a time is computed.

    ``rows`` are tensors (n_queries, R), ``columns`` tensors (n_queries, C); f returns a tensor, or several
    stacked before the first dimension.
    """
    return _PairSums.apply(f, len(rows), *rows, *columns)


class _PairSums(torch.autograd.Function):
    """Keeps the rows and columns alone: pairs are computed again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, f: Callable[..., Any], n_rows: int, *tensors: Any) -> Any:
        ctx.f, ctx.n_rows = f, n_rows
        ctx.save_for_backward(*tensors)
        total: Any = 0.0
        for _, block in _blocks(tensors, n_rows):
            total = total + f(*block).sum(dim=-1)
        return total

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        tensors = ctx.saved_tensors
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[2:]) if needed]
        grads = {i: torch.zeros_like(tensors[i]) for i in wanted}
        for part, block in _blocks(tensors, ctx.n_rows):
            leaves = {i: block[i].detach().requires_grad_() for i in wanted}
            with torch.enable_grad():
                sums = ctx.f(*(leaves.get(i, t) for i, t in enumerate(block))).sum(dim=-1)
            found = torch.autograd.grad(sums, list(leaves.values()), upstream[0])
            for i, grad in zip(wanted, found, strict=True):
                if i < ctx.n_rows:
                    grads[i] += grad[:, :, 0]
                else:
                    grads[i][:, part] += grad[:, 0]
        return (None, None, *(grads.get(i) for i in range(len(tensors))))


def _blocks(tensors: tuple[Any, ...], n_rows: int) -> Iterator[tuple[slice, list[Any]]]:
    """Columns of each block, and the rows and columns of its pairs in three dimensions."""
    size = max(1, _PAIRS.get(tensors[0].device.type, _PAIRS_ELSEWHERE) // max(tensors[0].numel(), 1))
    rows = [row[:, :, None] for row in tensors[:n_rows]]
    for begin in range(0, tensors[n_rows].shape[1], size):
        part = slice(begin, begin + size)
        yield part, [*rows, *(column[:, None, part] for column in tensors[n_rows:])]
