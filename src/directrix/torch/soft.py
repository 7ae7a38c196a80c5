r"""SoftNDCG in PyTorch's own operations: rank distributions by their Fourier series.

The mathematics is that of the kernel, `surrogates._kernels.soft`, with its number of terms; here all
documents are above or below by a coin, however far they are, and the product of the coins' factors is summed
up as logarithms and phases.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from directrix.torch.lists import Lists, sum_over_pairs

_TAIL = 36.0
"""What is left out of a distribution is exp(-36)."""
_TERMS = 64


def soft_ndcg(surrogate: Any, lists: Lists) -> Any:
    """Values (n_queries,), in float64: phases of long lists are many turns."""
    scores, (x, gain, _) = lists.scores.double(), lists.weighted()
    columns = scores, torch.arange(scores.shape[1], device=x.device).expand_as(scores), lists.mask
    rows = x.double(), lists.where[0]

    def coin(x: Any, i: Any, y: Any, j: Any, mask: Any) -> Any:
        return torch.erf((y - x) / (2.0 * surrogate.sigma)) * (mask & (i != j))

    def moments(*pair: Any) -> Any:
        u = coin(*pair)
        return torch.stack([u, u * u])

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
