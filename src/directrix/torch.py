"""A surrogate as a loss for PyTorch: ``directrix.torch.loss(ApproxNDCG(alpha=10))``.

Needs PyTorch: ``pip install "directrix[torch]"``. Importing this module does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from directrix.errors import InputError, MissingExtra
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.types import Array, Float64Array, Int64Array

__all__ = ["Loss", "loss"]

_FORMS = (
    "give scores (n_queries, longest) with lengths= or mask=, scores (n_docs,) with qptr=, or a list of "
    "tensors, one per query"
)


@dataclass(frozen=True)
class Loss:
    """A loss to minimise, called with scores and labels; `loss` makes it.

    Parameters
    ----------
    surrogate : Surrogate
        The function that training maximises.
    """

    surrogate: Any

    def __call__(
        self, scores: Any, labels: Any, *, lengths: Any = None, mask: Any = None, qptr: Any = None
    ) -> Any:
        r"""Minus the mean over queries of the surrogate, :math:`-\frac{1}{n}\sum_q S_q`.

        Parameters
        ----------
        scores : tensor (n_queries, longest), tensor (n_docs,), or list of tensors (n_q,)
            Scores by query: padded, one query after another, or one tensor per query, on any device.
            Half precision is converted to float32.
        labels : tensor, array or list of them
            Grades >= 0, in the same form as the scores; values in the padding do not matter.
        lengths : integers (n_queries,), optional
            Number of documents of every query of padded scores; they come first in their row.
        mask : booleans (n_queries, longest), optional
            Instead of ``lengths``: True for documents, False for padding. Without both all are documents.
        qptr : integers (n_queries + 1,), optional
            For scores (n_docs,): query q owns the documents ``qptr[q] <= i < qptr[q + 1]``. Without it they
            are one query.

        Returns
        -------
        tensor ()
            On the device of the scores. Its backward is the analytic gradient, computed in the same call;
            there is no second derivative. Queries without relevant documents are part of the mean.

        Raises
        ------
        InputError
            If shapes disagree, a score is NaN or infinite, or a second derivative is requested.

        Notes
        -----
        Runs on the CPU: scores on the CPU are not copied; those on another device are copied to it, and
        the gradient is copied back.
        """
        flat, grades, pointers = _flat(scores, labels, lengths, mask, qptr)
        if len(pointers) < 2:
            raise InputError("there is no query; give the scores of at least one query.")
        mean_loss, _ = _functions()
        return mean_loss.apply(flat, self.surrogate, grades, pointers)


def loss(surrogate: Any) -> Loss:
    """Return a surrogate as a loss for PyTorch.

    Parameters
    ----------
    surrogate : Surrogate or str
        The function to maximise, e.g. ``ApproxNDCG(alpha=10)`` or its text.

    Returns
    -------
    Loss
        A function of scores and labels.

    Raises
    ------
    MissingExtra
        If PyTorch is not installed.
    InputError
        If the argument is neither a surrogate nor the text of one.
    """
    _functions()
    chosen = as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate
    if isinstance(chosen, type) or not hasattr(chosen, "value_and_grad"):
        raise InputError(
            f"directrix.torch.loss({chosen!r:.80}): a surrogate is needed, an object with value_and_grad; "
            "type e.g. directrix.torch.loss(directrix.ApproxNDCG(alpha=10))."
        )
    return Loss(chosen)


@cache
def _functions() -> tuple[Any, Any]:
    """Define the two autograd functions, here because their base class is in PyTorch."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "directrix.torch.loss") from None

    class MeanLoss(torch.autograd.Function):
        """Minus the mean of a surrogate over queries."""

        @staticmethod
        def forward(ctx: Any, scores: Any, surrogate: Any, labels: Any, qptr: Any) -> Any:
            value, grad = surrogate.value_and_grad(scores.detach().cpu().numpy(), labels, qptr)
            slope = torch.as_tensor(grad * (-1.0 / len(value)), dtype=scores.dtype, device=scores.device)
            ctx.save_for_backward(scores, slope)
            return scores.new_tensor(-float(np.mean(value)))

        @staticmethod
        def backward(ctx: Any, *upstream: Any) -> Any:
            return Slope.apply(upstream[0], *ctx.saved_tensors), None, None, None

    class Slope(torch.autograd.Function):
        """The gradient; takes the scores, so that its own derivative is an error, not silently 0."""

        @staticmethod
        def forward(ctx: Any, upstream: Any, scores: Any, slope: Any) -> Any:
            return upstream * slope

        @staticmethod
        def backward(ctx: Any, *upstream: Any) -> Any:
            raise InputError(
                "a second derivative of directrix.torch.loss was requested; only the first exists. Leave out "
                "create_graph=True, or detach the gradient before it is differentiated: grad.detach()."
            )

    return MeanLoss, Slope


def _flat(
    scores: Any, labels: Any, lengths: Any, mask: Any, qptr: Any
) -> tuple[Any, Float64Array, Int64Array]:
    """Scores as one tensor, labels and pointers as arrays."""
    import torch

    if isinstance(scores, list | tuple):
        if lengths is not None or mask is not None or qptr is not None:
            raise InputError("a list of tensors, one per query, takes neither lengths, mask nor qptr.")
        return _of_list(scores, labels)
    if not isinstance(scores, torch.Tensor) or scores.dim() not in (1, 2):
        what = f"shape {tuple(scores.shape)}" if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise InputError(f"scores: got {what}; {_FORMS}.")
    grades = _array(labels)
    if grades.shape != tuple(scores.shape):
        raise InputError(
            f"labels have shape {grades.shape}, scores {tuple(scores.shape)}; every score needs one label."
        )
    if scores.dim() == 1:
        if lengths is not None or mask is not None:
            raise InputError("lengths and mask are for padded scores (n_queries, longest); give qptr here.")
        # not converted: the surrogate checks that they are integers
        pointers = _array([0, len(scores)] if qptr is None else qptr)
        return _floating(scores), _grades(grades), pointers
    if qptr is not None or (lengths is not None and mask is not None):
        raise InputError("padded scores take either lengths or mask, and no qptr.")
    is_document = _documents(tuple(scores.shape), lengths, mask)
    chosen = scores[torch.as_tensor(is_document, device=scores.device)]
    return _floating(chosen), _grades(grades[is_document]), _pointers(is_document.sum(axis=1))


def _of_list(scores: Any, labels: Any) -> tuple[Any, Float64Array, Int64Array]:
    import torch

    if not isinstance(labels, list | tuple) or len(labels) != len(scores):
        raise InputError(f"scores are a list of {len(scores)} tensors; give a list of as many labels.")
    if not scores:
        raise InputError("scores are an empty list; give the scores of at least one query.")
    grades = [_array(grade) for grade in labels]
    for q, (score, grade) in enumerate(zip(scores, grades, strict=True)):
        if not isinstance(score, torch.Tensor) or score.dim() != 1 or grade.shape != tuple(score.shape):
            raise InputError(
                f"query {q} has scores of shape {tuple(np.shape(score))} and labels of shape {grade.shape}; "
                "each query needs a tensor (n_docs,) of scores and as many labels."
            )
    flat = _floating(torch.cat(list(scores)))
    return flat, _grades(np.concatenate(grades)), _pointers(np.array([len(g) for g in grades]))


def _documents(shape: tuple[int, ...], lengths: Any, mask: Any) -> Array:
    """Booleans, True where padded scores hold a document."""
    n_queries, longest = shape
    if mask is not None:
        is_document = _array(mask)
        if is_document.shape != shape or is_document.dtype != np.bool_:
            raise InputError(
                f"mask has shape {is_document.shape} and type {is_document.dtype}; booleans of shape {shape} "
                "are needed, True for documents."
            )
        return is_document
    if lengths is None:
        return np.ones(shape, dtype=np.bool_)
    sizes = _array(lengths)
    if (
        sizes.shape != (n_queries,)
        or sizes.dtype.kind not in "iu"
        or not ((sizes >= 0) & (sizes <= longest)).all()
    ):
        raise InputError(
            f"lengths={sizes.tolist()!r:.200}: an integer from 0 to {longest} is needed for each of the "
            f"{n_queries} queries."
        )
    rows: Array = np.arange(longest) < sizes[:, None]
    return rows


def _grades(labels: Array) -> Float64Array:
    try:
        return labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"labels hold a value that is not a number ({error}); grades >= 0 are needed."
        ) from None


def _pointers(sizes: Any) -> Int64Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _array(values: Any) -> Array:
    detach = getattr(values, "detach", None)
    return np.asarray(values if detach is None else detach().cpu())


def _floating(scores: Any) -> Any:
    import torch

    if not scores.is_floating_point():
        raise InputError(f"scores have type {scores.dtype}; floating point is needed: scores.float().")
    kept = scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
    return kept.contiguous()
