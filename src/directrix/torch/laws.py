"""Invariants of any ranking loss in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

from directrix.laws.check import LawBroken


class _Trial(NamedTuple):
    """Generator of lists, cut-off and tolerance."""

    generator: torch.Generator
    k: int
    eps: float
    rtol: float

    def differ(self, found: Any, wanted: Any) -> bool:
        """Whether a number is NaN, or further from another than rounding."""
        size = max(float(torch.as_tensor(wanted).abs().max()), 1e-9)
        off = (torch.as_tensor(found) - torch.as_tensor(wanted)).abs().max()
        return not float(off) <= self.rtol * size


def check_loss(
    loss: Callable[..., Any], *, k: int = 5, seed: int = 0, eps: float = 1e-5, rtol: float = 1e-4
) -> None:
    """Test that a loss satisfies the invariants of a ranking loss.

    - slope: its gradient is the slope, in random directions.
    - order: permuting the documents of a query permutes the gradient and leaves the value.
    - padding: longer rows, and any values in the padding, change nothing, and padding has no gradient.
    - batch: the gradient of a query depends on the others only through the division by their number.
    - lengths: it does not depend on their lengths, so that long and short queries have the same weight.
    - shift: adding a number to all scores of a query changes nothing.
    - finite: nothing is NaN or infinite for tied scores, one document, equal labels, no relevant document, a
      row of padding, and scores of 1e4.
    - below k: the only relevant document, below the first k, is pulled up.

    Parameters
    ----------
    loss : callable
        ``loss(scores, labels, mask=mask)`` of float64 tensors (n_queries, longest) returns a tensor (), lower
        for better rankings; the mask is True for documents. The result of `loss` can be tested.
    k : int >= 1
        Cut-off of the loss, if it has one.
    seed : int
        Seed of the lists.
    eps, rtol : float > 0
        Step of finite differences, in units of score, and the relative difference that counts as rounding.
        For a loss that computes in float32 use ``eps=1e-3, rtol=1e-2``.

    Raises
    ------
    LawBroken
        If an invariant is broken. Its ``laws`` has the name of each broken one and the finding.

    Notes
    -----
    The test makes some 100 calls with lists of up to 40 documents. Random losses break "order", because their
    noise belongs to positions; those without a function, such as `Lambda`, break "slope".

    Examples
    --------
    >>> import directrix as dx
    >>> dx.torch.check_loss(dx.torch.loss("ApproxNDCG(alpha=3.0)"))
    """
    trial = _Trial(torch.Generator().manual_seed(seed), k, eps, rtol)
    broken = {}
    for name, test in _INVARIANTS.items():
        try:
            finding = next(test(loss, trial), None)
        except (ArithmeticError, IndexError, RuntimeError, TypeError, ValueError) as error:
            finding = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        if finding is not None:
            broken[name] = finding
    if broken:
        lines = "\n- ".join(f"{name}: {finding}" for name, finding in broken.items())
        failure = LawBroken(f"{loss!r:.200} breaks\n- {lines}")
        failure.laws = broken
        raise failure


Found = Iterator[str]


def _lists(generator: torch.Generator, sizes: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Scores, labels 0 to 2, at least one of them not 0, and mask."""
    shape = len(sizes), max(sizes)
    scores = torch.randn(shape, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 3, shape, generator=generator).double()
    labels[:, 0] = 1.0
    mask = torch.arange(shape[1]) < torch.tensor(sizes)[:, None]
    return torch.where(mask, scores, 0.0), torch.where(mask, labels, 0.0), mask


def _call(loss: Callable[..., Any], scores: Any, labels: Any, mask: Any) -> tuple[float, Any]:
    """Value and gradient."""
    leaf = scores.detach().clone().requires_grad_()
    # A loss that writes into its arguments must not spoil the next call.
    value = loss(leaf, labels.clone(), mask=mask.clone())
    (grad,) = torch.autograd.grad(value, leaf, allow_unused=True, materialize_grads=True)
    return float(value.detach()), grad


def _slope(loss: Callable[..., Any], trial: _Trial) -> Found:
    scores, labels, mask = _lists(trial.generator, (8, 8, 8))
    _, grad = _call(loss, scores, labels, mask)
    for _ in range(5):
        way = torch.randn(scores.shape, generator=trial.generator, dtype=torch.float64)
        ends = [_call(loss, scores + step * way, labels, mask)[0] for step in (-trial.eps, trial.eps)]
        slope, claimed = (ends[1] - ends[0]) / (2.0 * trial.eps), float((grad * way).sum())
        # Where the slope is nearly 0, only a comparison with the size of the gradient is meaningful.
        rounding = trial.rtol * float(grad.norm() * way.norm())
        if trial.differ(claimed, slope) and not abs(claimed - slope) <= rounding:
            yield f"the gradient says {claimed:.6g}, the slope is {slope:.6g}"


def _order(loss: Callable[..., Any], trial: _Trial) -> Found:
    scores, labels, mask = _lists(trial.generator, (7, 7))
    value, grad = _call(loss, scores, labels, mask)
    order = torch.randperm(7, generator=trial.generator)
    moved, slope = _call(loss, scores[:, order], labels[:, order], mask)
    if trial.differ(moved, value):
        yield f"the value {value:.6g} becomes {moved:.6g}"
    if trial.differ(slope, grad[:, order]):
        yield "the gradient is not permuted with the documents"


def _padding(loss: Callable[..., Any], trial: _Trial) -> Found:
    scores, labels, mask = _lists(trial.generator, (6, 6))
    value, grad = _call(loss, scores, labels, mask)
    for held in (0.0, 50.0, -50.0):
        longer = [
            torch.nn.functional.pad(t, (0, 4), value=v)
            for t, v in ((scores, held), (labels, 0.0), (mask, False))
        ]
        padded, slope = _call(loss, *longer)
        if trial.differ(padded, value) or trial.differ(slope[:, :6], grad):
            yield f"four places of padding that hold {held:g} make {value:.6g} into {padded:.6g}"
        if float(slope[:, 6:].abs().max()) > 0.0:
            yield f"padding that holds {held:g} has a gradient"


def _alone(sizes: tuple[int, ...], loss: Callable[..., Any], trial: _Trial) -> Found:
    lists = _lists(trial.generator, sizes)
    _, together = _call(loss, *lists)
    for q, size in enumerate(lists[2].sum(dim=1).tolist()):
        _, grad = _call(loss, *(t[q : q + 1, :size] for t in lists))
        if trial.differ(len(together) * together[q, :size], grad[0]):
            share = float((together[q, :size] * grad[0]).sum() / (grad[0] ** 2).sum().clamp_min(1e-300))
            yield f"a query of {size} documents has {share:.3g} of its gradient in a batch of {len(together)}"


def _shift(loss: Callable[..., Any], trial: _Trial) -> Found:
    scores, labels, mask = _lists(trial.generator, (7, 7))
    value, grad = _call(loss, scores, labels, mask)
    moved, slope = _call(loss, scores + torch.tensor([[3.0], [-2.0]]), labels, mask)
    if trial.differ(moved, value) or trial.differ(slope, grad):
        yield f"scores 3 higher make {value:.6g} into {moved:.6g}"
    if float(grad.sum(dim=1).abs().max()) > trial.rtol * float(grad.abs().max()):
        yield f"the gradient of a query adds up to {float(grad.sum(dim=1).abs().max()):.3g}"


def _finite(loss: Callable[..., Any], trial: _Trial) -> Found:
    scores, labels, mask = _lists(trial.generator, (6, 6))
    first = mask & (torch.arange(6) == 0)
    cases = {
        "tied scores": (torch.zeros_like(scores), labels, mask),
        "one document": (scores, labels, first),
        "labels that are all 1": (scores, torch.ones_like(labels), mask),
        "no relevant document": (scores, torch.zeros_like(labels), mask),
        "a row of padding": (scores, labels * mask[:1], mask & torch.tensor([[True], [False]])),
        "scores of 1e4": (1e4 * scores, labels, mask),
        "one query without a relevant document": (scores, labels * torch.tensor([[1.0], [0.0]]), mask),
    }
    for name, case in cases.items():
        value, grad = _call(loss, *case)
        if not (torch.isfinite(grad).all() and abs(value) < float("inf")):
            yield f"{name}: the value is {value:g}, the largest gradient {float(grad.abs().max()):g}"


def _below_k(loss: Callable[..., Any], trial: _Trial) -> Found:
    scores = torch.linspace(1.0, 0.0, 3 * trial.k, dtype=torch.float64)[None]
    labels = torch.zeros_like(scores)
    labels[0, -1] = 1.0
    _, grad = _call(loss, scores, labels, torch.ones_like(scores, dtype=torch.bool))
    if not float(grad[0, -1]) < 0.0:
        yield f"at rank {3 * trial.k} it has the gradient {float(grad[0, -1]):g}"


_INVARIANTS: dict[str, Callable[[Callable[..., Any], _Trial], Found]] = {
    "slope": _slope,
    "order": _order,
    "padding": _padding,
    "batch": partial(_alone, (7, 7, 7)),
    "lengths": partial(_alone, (40, 4)),
    "shift": _shift,
    "finite": _finite,
    "below k": _below_k,
}
LAWS = tuple(_INVARIANTS)
"""Names of the invariants."""
