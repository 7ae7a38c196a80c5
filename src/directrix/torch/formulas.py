r"""Smooth surrogates in PyTorch's own operations, for scores on any device.

Each formula is that of the surrogate's docstring, and uses the arrays that the surrogate prepares from labels
for its kernel. PyTorch differentiates it. Sums over pairs of documents are computed for a block of documents
at a time, and again in the backward pass: see `lists`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn.functional import logsigmoid, relu, softplus

from directrix.surrogates.approx import sigmoid_code
from directrix.types import Array, Float64Array, Int64Array

_PAIRS = {"cpu": 1 << 18}
"""Pairs of documents in a block: they fit into the cache of a CPU; a GPU needs more work at once."""
_PAIRS_ELSEWHERE = 1 << 23


@dataclass(frozen=True)
class Lists:
    """Padded lists: scores and mask (n_queries, longest), and arrays that a surrogate prepared from labels.

    ``prepared`` holds arrays with an entry for each document as tensors of the shape of the scores, padded
    by 0; ``where`` are the positions of the documents with a nonzero entry in the first array, and whether
    they are documents: queries with fewer of them are padded.
    """

    scores: Any
    mask: Any
    prepared: tuple[Any, ...]
    where: tuple[Any, Any]

    def weighted(self) -> tuple[Any, Any, Any]:
        """Return scores, weights and mask of the documents with a weight, the first prepared array."""
        places, kept = self.where
        return self.scores.gather(1, places), self.prepared[0].gather(1, places) * kept, kept


def padded_lists(scores: Any, mask: Array, prepared: tuple[Any, ...], entries: tuple[str, ...]) -> Lists:
    """Pad scores (differentiably) and prepared arrays; ``entries`` as in `KernelSurrogate`."""

    def there(array: Array) -> Any:
        kind = scores.dtype if array.dtype.kind == "f" else None
        return torch.as_tensor(array, dtype=kind, device=scores.device)

    padded = []
    for array, unit in zip(prepared, entries, strict=True):
        if unit == "document":
            rows = np.zeros(mask.shape, dtype=array.dtype)
            rows[mask] = array
            padded.append(rows)
        else:
            padded.append(array)
    # Many documents have no gain. Those with one are moved to the front, so that sums over pairs take fewer
    # rows.
    weight = padded[0] if padded[0].shape == mask.shape else mask
    counts = np.count_nonzero(weight, axis=1)
    most = max(int(counts.max(initial=0)), 1)
    places = np.argsort(weight == 0.0, axis=1, kind="stable")[:, :most]
    is_document = there(mask)
    empty = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
    return Lists(
        empty.masked_scatter(is_document, scores),
        is_document,
        tuple(there(array) for array in padded),
        (there(places), there(np.arange(most) < counts[:, None])),
    )


def sum_over_pairs(f: Callable[..., Any], rows: tuple[Any, ...], columns: tuple[Any, ...]) -> Any:
    """Sum f(rows[:, :, None], columns[:, None, :]) over the columns, one block at a time.

    ``rows`` are tensors (n_queries, R), ``columns`` tensors (n_queries, C); f returns a tensor, or several
    stacked before the first dimension.
    """
    return _PairSums.apply(f, len(rows), *rows, *columns)


class _PairSums(torch.autograd.Function):
    """Stores only the rows and columns: pairs are computed again in the backward pass."""

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
        for chunk, block in _blocks(tensors, ctx.n_rows):
            leaves = {i: block[i].detach().requires_grad_() for i in wanted}
            with torch.enable_grad():
                sums = ctx.f(*(leaves.get(i, t) for i, t in enumerate(block))).sum(dim=-1)
            slopes = torch.autograd.grad(sums, list(leaves.values()), upstream[0])
            for i, grad in zip(wanted, slopes, strict=True):
                if i < ctx.n_rows:
                    grads[i] += grad[:, :, 0]
                else:
                    grads[i][:, chunk] += grad[:, 0]
        return (None, None, *(grads.get(i) for i in range(len(tensors))))


def _blocks(tensors: tuple[Any, ...], n_rows: int) -> Iterator[tuple[slice, list[Any]]]:
    """Columns of each block, and the rows and columns of its pairs in three dimensions."""
    size = max(1, _PAIRS.get(tensors[0].device.type, _PAIRS_ELSEWHERE) // max(tensors[0].numel(), 1))
    rows = [row[:, :, None] for row in tensors[:n_rows]]
    for begin in range(0, tensors[n_rows].shape[1], size):
        chunk = slice(begin, begin + size)
        yield chunk, [*rows, *(column[:, None, chunk] for column in tensors[n_rows:])]


_TAIL = 36.0
"""Mass below exp(-36) is left out of a distribution."""
_TERMS = 64
"""Maximum number of terms of a Fourier series."""


def soft_ndcg(surrogate: Any, lists: Lists) -> Any:
    """Return values (n_queries,), in float64, because phases of long lists are large."""
    scores, (x, gain, _) = lists.scores.double(), lists.weighted()
    columns = scores, torch.arange(scores.shape[1], device=x.device).expand_as(scores), lists.mask
    rows = x.double(), lists.where[0]

    def coin(x: Any, i: Any, y: Any, j: Any, mask: Any) -> Any:
        return torch.erf((y - x) / (2.0 * surrogate.sigma)) * (mask & (i != j))

    def moments(*pair: Any) -> Any:
        u = coin(*pair)
        return torch.stack([u, u * u])

    # The number of documents above one is a sum of coins. Its distribution is concentrated, so a Fourier
    # series of few terms gives the expected discount.
    with torch.no_grad():
        m = lists.mask.sum(dim=1, keepdim=True).double() - 1.0
        total, squares = sum_over_pairs(moments, rows, columns)
        low, n, terms = _terms(0.5 * (m + total), 0.25 * (m - squares), m)
        angle = math.pi * torch.arange(1, terms + 1, device=x.device).double() / n[..., None]
        real, imaginary, mean = _spectrum(angle, low, n, m, surrogate)
        used = angle < 0.5 * math.pi
        angle = torch.where(used, angle, 0.0)

    def factors(x: Any, i: Any, c: Any, s: Any, y: Any, j: Any, mask: Any) -> Any:
        u = coin(x, i, y, j, mask)
        a, b = torch.where(mask & (i != j), c, 1.0), s * u
        return torch.stack([0.5 * torch.log(a * a + b * b), torch.atan2(b, a)])

    spread = [row[..., None].expand_as(angle).flatten(1) for row in rows]
    waves = torch.cos(angle).flatten(1), torch.sin(angle).flatten(1)
    size, phase = sum_over_pairs(factors, (*spread, *waves), columns).unflatten(-1, angle.shape[1:])
    series = torch.exp(size) * (real * torch.cos(phase) - imaginary * torch.sin(phase))
    expected = mean + 2.0 * torch.where(used, series, 0.0).sum(dim=-1)
    return (gain * expected).sum(dim=1).to(lists.scores.dtype)


def _terms(mean: Any, variance: Any, m: Any) -> tuple[Any, Any, int]:
    """First number of documents above that matters, odd period, and the number of terms of the longest."""
    reach = _TAIL / 3.0 + torch.sqrt(_TAIL**2 / 9.0 + 2.0 * _TAIL * variance.clamp_min(0.0)) + 1.0
    low, high = torch.floor(mean - reach).clamp_min(0.0), torch.minimum(torch.ceil(mean + reach), m)
    n = (high - low + 1.0).clamp_min(1.0)
    n = n + 1.0 - n % 2
    square = _TAIL / (2.0 * (variance - 0.25).clamp_min(1e-9))
    count = torch.where(square < 1.0, n / math.pi * torch.asin(torch.sqrt(square.clamp_max(1.0))), 0.5 * n)
    return low, n, max(1, min(_TERMS, int(torch.minimum(torch.ceil(count), (n - 1.0) / 2.0).max())))


def _spectrum(angle: Any, low: Any, n: Any, m: Any, surrogate: Any) -> tuple[Any, Any, Any]:
    """Transform of the discounts of low, low + 1, ... documents above, and their mean over the period."""
    real, imaginary, mean = torch.zeros_like(angle), torch.zeros_like(angle), torch.zeros_like(n)
    for above in range(int(n.max())):
        x = low + above
        d = torch.where((above < n) & (x <= m), 1.0 / (torch.log2(2.0 + x) * n), 0.0)
        if surrogate.k is not None:
            d = torch.where(x < surrogate.k, d, surrogate.share * d)
        turn = angle * (2.0 * x - m)[..., None]
        real += d[..., None] * torch.cos(turn)
        imaginary -= d[..., None] * torch.sin(turn)
        mean += d
    return real, imaginary, mean


_MOST_PADDING = 4
"""Maximum ratio of padded positions to documents; above it, short lists are computed separately."""


def has_formula(surrogate: Any) -> bool:
    """Whether a surrogate has a formula here; user-defined subclasses have none."""
    kind = type(surrogate).__name__
    return type(surrogate).__module__.startswith("directrix.") and (
        has_formula(surrogate.surrogate) if kind == "Gumbel" else kind in FORMULAS
    )


def values(surrogate: Any, scores: Any, labels: Float64Array, qptr: Int64Array) -> Any:
    """Return values (n_queries,) of scores (n_docs,), differentiable in them."""
    if type(surrogate).__name__ == "Gumbel":
        noises = surrogate.noises(labels, qptr)
        moved = (scores + torch.tensor(noise, dtype=scores.dtype, device=scores.device) for noise in noises)
        by_noise = [values(surrogate.surrogate, noisy, labels, qptr) for noisy in moved]
        return torch.stack(by_noise).mean(dim=0)
    sizes = np.diff(qptr)
    longest = int(sizes.max(initial=0))
    if len(sizes) * longest > _MOST_PADDING * max(len(labels), len(sizes)):
        # Long and short lists are computed separately, so that padding does not outgrow the documents.
        is_long, both = sizes > longest // 2, []
        for chosen in (is_long, ~is_long):
            documents = np.flatnonzero(np.repeat(chosen, sizes))
            ends = np.concatenate([[0], np.cumsum(sizes[chosen])])
            there = scores[torch.as_tensor(documents, device=scores.device)]
            both.append(values(surrogate, there, labels[documents], ends))
        order = np.argsort(np.concatenate([np.flatnonzero(is_long), np.flatnonzero(~is_long)]))
        return torch.cat(both)[torch.as_tensor(order, device=scores.device)]
    mask = np.arange(max(longest, 1)) < sizes[:, None]
    prepared = surrogate.prepare(labels, qptr)
    if hasattr(surrogate, "shares"):
        prepared = (surrogate.shares(*prepared, qptr),)
    lists = padded_lists(scores, mask, prepared, surrogate.entries)
    return FORMULAS[type(surrogate).__name__](surrogate, lists)


# ------------------------------------------------------------------------------------------- ApproxRank


def _step(sigmoid: str, steepness: float, z: Any) -> Any:
    """The smooth step of `soft_ranks` at steepness * z."""
    kind, factor = sigmoid_code(sigmoid)
    z = factor * steepness * z
    if kind == 0:
        return torch.sigmoid(z)
    return 0.5 + torch.atan(z) / math.pi if kind == 1 else 0.5 * torch.erfc(-z)


def _soft_ranks(surrogate: Any, steepness: float, x: Any, y: Any, mask: Any) -> Any:
    """1 + the sum over the documents y, but not x itself, of the step from x to y."""

    def above(x: Any, y: Any, mask: Any) -> Any:
        return _step(surrogate.sigmoid, steepness, y - x) * mask

    return 0.5 + sum_over_pairs(above, (x,), (y, mask))


def _of_ranks(surrogate: Any, lists: Lists, earned: Callable[[Any], Any]) -> Any:
    x, weight, _ = lists.weighted()
    ranks = _soft_ranks(surrogate, surrogate.alpha, x, lists.scores, lists.mask)
    return (weight * earned(ranks)).sum(dim=1)


def _cut(surrogate: Any, ranks: Any) -> Any:
    step = _step(surrogate.sigmoid, surrogate.beta, surrogate.k + 0.5 - ranks)
    return (1.0 - surrogate.share) * step


def _approx_ndcg(surrogate: Any, lists: Lists) -> Any:
    def earned(ranks: Any) -> Any:
        discount = 1.0 / torch.log2(1.0 + ranks)
        return discount if surrogate.k is None else discount * (surrogate.share + _cut(surrogate, ranks))

    return _of_ranks(surrogate, lists, earned)


def _approx_precision(surrogate: Any, lists: Lists) -> Any:
    def earned(ranks: Any) -> Any:
        return _cut(surrogate, ranks) + surrogate.share / torch.log2(1.0 + ranks)

    return _of_ranks(surrogate, lists, earned)


def _approx_measure(surrogate: Any, lists: Lists) -> Any:
    discount_between = surrogate.discount(lists.mask.shape[1])

    def earned(ranks: Any) -> Any:
        discount, slope = discount_between(ranks.detach().cpu().numpy().astype(np.float64).ravel())
        value, slope = (torch.as_tensor(a).to(ranks).reshape(ranks.shape) for a in (discount, slope))
        # The value is known only as a number, so its slope is attached as a tangent.
        return value + slope * (ranks - ranks.detach())

    return _of_ranks(surrogate, lists, earned)


def _approx_ap(surrogate: Any, lists: Lists) -> Any:
    x, weight, kept = lists.weighted()
    ranks = _soft_ranks(surrogate, surrogate.alpha, x, lists.scores, lists.mask)
    among_relevant = _soft_ranks(surrogate, surrogate.beta, -ranks, -ranks, kept)
    return (weight * among_relevant / ranks).sum(dim=1)


def _approx_cascade(surrogate: Any, lists: Lists) -> Any:
    """ApproxRR and ApproxERR; the product over the documents above is the exponential of a sum."""
    x, weight, kept = lists.weighted()
    ranks = _soft_ranks(surrogate, surrogate.alpha, x, lists.scores, lists.mask)
    place = torch.arange(x.shape[1], device=x.device).expand_as(x)
    kind, factor = sigmoid_code(surrogate.sigmoid)

    def log_left(rank: Any, i: Any, other: Any, w: Any, j: Any) -> Any:
        # This form of log(1 - w / (1 + exp(-z))) is exact also where w = 1 and z is large.
        if kind == 0:
            z = factor * surrogate.beta * (rank - other)
            left = logsigmoid(-z) - logsigmoid(-(z + torch.log1p(-w)))
        else:
            passes = (1.0 - w) + w * _step(surrogate.sigmoid, surrogate.beta, other - rank)
            left = torch.log(passes.clamp_min(torch.finfo(passes.dtype).tiny))
        return torch.where(i == j, 0.0, left)

    log_product = sum_over_pairs(log_left, (ranks, place), (ranks, weight * kept, place))
    return (weight / ranks * torch.exp(log_product)).sum(dim=1)


def _approx_kendall(surrogate: Any, lists: Lists) -> Any:
    s, mask, labels = lists.scores, lists.mask, lists.prepared[0]

    def wanted(x: Any, high: Any, y: Any, low: Any, mask: Any) -> Any:
        is_pair = (high > low) & mask
        return torch.stack(
            [is_pair * (2.0 * _step(surrogate.sigmoid, surrogate.alpha, x - y) - 1.0), is_pair]
        )

    in_order, pairs = sum_over_pairs(wanted, (s, labels), (s, labels, mask)).sum(dim=-1)
    n = mask.sum(dim=1)
    return in_order / torch.sqrt((pairs * 0.5 * n * (n - 1)).clamp_min(1.0))


# ------------------------------------------------------------------------------------------- SmoothRank


def _shares(surrogate: Any, lists: Lists) -> tuple[Any, Any]:
    """Return the gain of each rank from its soft document, and the discounts of ranks, 0 for no rank."""
    discount = lists.prepared[1]
    order = torch.where(lists.mask, lists.scores, -math.inf).argsort(dim=1, descending=True, stable=True)
    x, gain, mask = (t.gather(1, order) for t in (lists.scores, lists.prepared[0], lists.mask))
    top = min(x.shape[1], len(discount))
    # The order of tied documents is arbitrary, so their slopes are averaged; the values stay as they are.
    first, ones = torch.ones_like(x, dtype=torch.int64), torch.ones_like(x)
    first[:, 1:] = (x[:, 1:] != x[:, :-1]) | (mask[:, 1:] != mask[:, :-1])
    group = first.cumsum(dim=1) - 1
    total, size = (torch.zeros_like(x).scatter_add(1, group, source) for source in (x, ones))
    mean = (total / size.clamp_min(1.0)).gather(1, group)
    centers = (x.detach() + (mean - mean.detach()))[:, :top]

    def pulls(center: Any, y: Any, gain: Any, mask: Any) -> Any:
        u = torch.exp(-((y - center) ** 2) / surrogate.sigma) * mask
        return torch.stack([u, u * gain])

    total, gained = sum_over_pairs(pulls, (centers,), (x, gain, mask))
    present = mask[:, :top]
    return gained / torch.where(present, total, 1.0) * present, discount[:top] * present


def _smooth_sum(surrogate: Any, lists: Lists) -> Any:
    earned, discount = _shares(surrogate, lists)
    return (earned * discount).sum(dim=1)


def _smooth_ap(surrogate: Any, lists: Lists) -> Any:
    earned, discount = _shares(surrogate, lists)
    above = earned.cumsum(dim=1)
    if surrogate.variant == "direct":
        above = 1.0 + above - earned
    relevant = lists.prepared[0].sum(dim=1)
    return (earned * discount * above).sum(dim=1) / relevant.clamp_min(1.0)


# ------------------------------------------------------------------------------------------- losses


def _top_one(_: Any, lists: Lists) -> Any:
    logs = torch.where(lists.mask, lists.scores, -math.inf)
    # A query without documents has no finite score, from which `log_softmax` would be NaN.
    shares = torch.log_softmax(torch.where(lists.mask.any(dim=1, keepdim=True), logs, 0.0), dim=1)
    return (lists.prepared[0] * torch.where(lists.mask, shares, 0.0)).sum(dim=1)


def _list_mle(_: Any, lists: Lists) -> Any:
    order, end, factor = lists.prepared
    x = lists.scores.gather(1, order)
    is_first = torch.ones_like(lists.mask)
    is_first[:, 1:] = end[:, 1:] != end[:, :-1]
    place = torch.arange(x.shape[1], device=x.device)
    start = torch.where(is_first, place, 0).cummax(dim=1).values
    lower = torch.logcumsumexp(x, dim=1).gather(1, (start - 1).clamp_min(0))
    counts = (start > 0) & lists.mask
    return (factor * torch.where(counts, logsigmoid(x - torch.where(counts, lower, 0.0)), 0.0)).sum(dim=1)


def _rank_cosine(surrogate: Any, lists: Lists) -> Any:
    s, unit = lists.scores, lists.prepared[0]
    largest = s.abs().amax(dim=1, keepdim=True).detach()
    defined = largest > (1e-29 if s.dtype == torch.float32 else 1e-290)
    a = s / torch.where(defined, largest, 1.0) * defined
    n = lists.mask.sum(dim=1, keepdim=True)
    if surrogate.centered:
        a = (a - a.sum(dim=1, keepdim=True) / n.clamp_min(1)) * lists.mask
    square = (a * a).sum(dim=1)
    defined = square > 1e-30 * n[:, 0]
    cosine = (a * unit).sum(dim=1) / torch.sqrt(torch.where(defined, square, 1.0))
    # Where all scores are equal, the value is that of a right angle, with a slope towards the target.
    value = torch.where(defined, 0.5 * (cosine - 1.0), -0.5 + 0.5 * (unit * (s - s.detach())).sum(dim=1))
    return torch.where((unit != 0.0).any(dim=1), value, 0.0)


def _pairwise(cost: Callable[[Any], Any], _: Any, lists: Lists) -> Any:
    (levels, weight, shares), s = lists.prepared, lists.scores

    def costs(x: Any, high: Any, y: Any, low: Any, mask: Any) -> Any:
        return cost(x - y) * ((high > low) & mask)

    return -shares * (weight * sum_over_pairs(costs, (s, levels), (s, levels, lists.mask))).sum(dim=1)


def _regression(surrogate: Any, lists: Lists) -> Any:
    gains, weight = lists.prepared
    error = (lists.scores - gains) * lists.mask
    if surrogate.intercept:
        total = weight.sum(dim=1, keepdim=True).clamp_min(1e-9)
        error = error - (weight * error).sum(dim=1, keepdim=True) / total
    return -(weight * error**2).sum(dim=1)


FORMULAS: dict[str, Callable[[Any, Lists], Any]] = {
    "ApproxNDCG": _approx_ndcg,
    "ApproxPrecision": _approx_precision,
    "ApproxAP": _approx_ap,
    "ApproxRR": _approx_cascade,
    "ApproxERR": _approx_cascade,
    "ApproxKendall": _approx_kendall,
    "ApproxMeasure": _approx_measure,
    "SmoothNDCG": _smooth_sum,
    "SmoothAP": _smooth_ap,
    "SoftNDCG": soft_ndcg,
    "ListNet": _top_one,
    "XENDCG": _top_one,
    "ListMLE": _list_mle,
    "RankCosine": _rank_cosine,
    "RankNet": partial(_pairwise, lambda margin: softplus(-margin, threshold=40.0)),
    "RankSVM": partial(_pairwise, lambda margin: relu(1.0 - margin) ** 2),
    "Regression": _regression,
}
"""Formulas by the class of the surrogate."""
