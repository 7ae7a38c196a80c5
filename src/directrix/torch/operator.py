"""The operator that computes a surrogate and its slope, one step for `torch.compile`.

Value and slope are computed in one call, by the compiled kernels or by `formulas`; the backward pass only
multiplies. Everything that depends on labels alone is computed on the CPU, by the surrogate itself.
"""

# Annotations are not postponed here, since PyTorch 2.4 makes the schemas of operators from annotations that
# are types, not texts.
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch

from directrix.data.checks import check_labels, check_length, check_qptr
from directrix.errors import InputError
from directrix.torch.formulas import values
from directrix.types import Array

_LOSSES: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Losses by number, because operators take only numbers and tensors."""
_numbers = count()


def number_of(loss: Any) -> int:
    """Number a loss; the number is valid as long as the loss exists."""
    number = next(_numbers)
    _LOSSES[number] = loss
    return number


def surrogate_values(scores: Any, labels: Any, layout: Any, number: int) -> Any:
    """Return values (n_queries,) of a loss's surrogate, differentiable in scores; see `in_one_form`."""
    return _values_and_slope(scores, labels, layout, number)[0]


@torch.library.custom_op("directrix::surrogate", mutates_args=())
def _values_and_slope(
    scores: torch.Tensor, labels: torch.Tensor, layout: torch.Tensor, number: int
) -> tuple[torch.Tensor, torch.Tensor]:
    loss, form, grades = _LOSSES[number], layout.cpu().numpy(), labels.cpu().numpy()
    # Other processes may have documents even if this one has none.
    if not (loss.distributed or form.any()):
        raise InputError("no query has a document; leave such a batch out, or give scores of one document.")
    if scores.dim() == 1:
        return _of_flat(loss, scores, grades, form)
    there = layout.to(scores.device)
    qptr = np.append(0, np.cumsum(form.sum(axis=1))).astype(np.int64)
    value, slope = _of_flat(loss, scores[there], grades[form], qptr)
    return value, torch.zeros_like(scores).masked_scatter_(there, slope)


def _of_flat(loss: Any, scores: Any, grades: Array, qptr: Array) -> tuple[Any, Any]:
    """Return values (n_queries,) and slopes (n_docs,) of scores (n_docs,)."""
    if loss.is_native(scores.device) and bool(torch.isfinite(scores).all()):
        qptr = check_qptr(qptr, len(scores))
        labels = check_labels(grades, qptr=qptr)
        check_length(len(labels), len(scores), "labels", "scores")
        # PyTorch does not record a backward pass in a thread that runs an operator, so another one does. It
        # continues the stream of this one, so that a GPU computes in this order.
        current = torch.cuda.current_stream(scores.device) if scores.is_cuda else None
        stream = nullcontext() if current is None else torch.cuda.stream(current)

        def with_slope() -> tuple[Any, Any]:
            with stream, torch.enable_grad(), torch.autocast(scores.device.type, enabled=False):
                flat = scores.detach().requires_grad_()
                value = values(loss.surrogate, flat, labels, qptr)
                (slope,) = torch.autograd.grad(value.sum(), flat, materialize_grads=True, allow_unused=True)
            return value.detach(), slope

        with ThreadPoolExecutor(1) as thread:
            value, slope = thread.submit(with_slope).result()
        if bool(torch.isfinite(value).all()):
            return value, slope
    # The kernels name the scores that are not finite, or too large, in their message.
    value, grad = loss.surrogate.value_and_grad(scores.cpu().numpy(), grades, qptr)
    like: dict[str, Any] = {"dtype": scores.dtype, "device": scores.device}
    return torch.tensor(value, **like), torch.tensor(grad, **like)


@torch.library.custom_op("directrix::slope", mutates_args=())
def _slope(
    upstream: torch.Tensor, scores: torch.Tensor, slope: torch.Tensor, layout: torch.Tensor
) -> torch.Tensor:
    """Slope times the incoming gradient of each query; takes the scores, so its derivative is an error."""
    if scores.dim() == 2:
        return slope * upstream[:, None]
    sizes = layout.to(scores.device).diff()
    return slope * upstream.repeat_interleave(sizes, output_size=len(scores))


def _no_second_derivative(_: Any, *__: Any) -> Any:
    raise InputError(
        "a second derivative of directrix.torch.loss was requested; only the first exists. Leave out "
        "create_graph=True, or detach the gradient before it is differentiated: grad.detach()."
    )


def _shapes(scores: Any, labels: Any, layout: Any, number: int) -> Any:
    n_queries = layout.shape[0] - (scores.dim() == 1)
    return scores.new_empty(n_queries), torch.empty_like(scores)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], output[1], inputs[2])
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, upstream: Any, _: Any) -> Any:
    return _slope(upstream, *ctx.saved_tensors), None, None, None


_values_and_slope.register_fake(_shapes)
_values_and_slope.register_autograd(_backward, setup_context=_keep)
_slope.register_fake(lambda upstream, scores, slope, layout: torch.empty_like(scores))
_slope.register_autograd(_no_second_derivative)
