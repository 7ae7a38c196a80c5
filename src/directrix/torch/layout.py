"""Layouts of scores: padded, flat, nested, or a list of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from directrix.errors import InputError
from directrix.surrogates.base import writable

_FORMS = (
    "give scores (n_queries, longest) with lengths= or mask=, scores (n_docs,) with qptr=, a nested tensor "
    "of layout torch.jagged, or a list of tensors, one per query"
)


def in_one_form(scores: Any, labels: Any, lengths: Any, mask: Any, qptr: Any) -> tuple[Any, Any, Any]:
    """Return scores and labels in one form, and their layout.

    Scores (n_docs,) have query boundaries as their layout, scores (n_queries, longest) a mask, which is True
    for documents. `torch.compile` can trace it if scores and labels are tensors.
    """
    nested = isinstance(scores, torch.Tensor) and scores.is_nested
    # PyTorch 2.4 cannot compile `list | tuple`.
    if isinstance(scores, (list, tuple)) or nested:
        if lengths is not None or mask is not None or qptr is not None:
            what = "a nested tensor" if nested else "a list of tensors, one per query,"
            raise InputError(f"{what} takes neither lengths, mask nor qptr.")
        layout: Any
        scores, grades, layout = _of_nested(scores, labels) if nested else _of_list(scores, labels)
    elif not isinstance(scores, torch.Tensor) or scores.dim() not in (1, 2):
        what = f"shape {tuple(scores.shape)}" if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise InputError(f"scores: got {what}; {_FORMS}.")
    else:
        grades, layout = _tensor(labels), _layout(scores, lengths, mask, qptr)
    if grades.shape != scores.shape:
        raise InputError(
            f"labels have shape {tuple(grades.shape)}, scores {tuple(scores.shape)}; every score needs one "
            "label."
        )
    if layout.shape[0] < (1 if scores.dim() == 2 else 2):
        raise InputError("there is no query; give the scores of at least one query.")
    if not scores.is_floating_point():
        raise InputError(f"scores have type {scores.dtype}; floating point is needed: scores.float().")
    return _single_or_double(scores).contiguous(), _single_or_double(grades.detach()), layout


def has_documents(layout: Any) -> Any:
    """Return for each query of a layout, a mask or query boundaries, whether it has documents."""
    return layout.any(dim=1) if layout.dim() == 2 else layout.diff() > 0


def _single_or_double(values: Any) -> Any:
    """Half precision as float32; NumPy has no bfloat16."""
    is_half = values.is_floating_point() and values.dtype not in (torch.float32, torch.float64)
    return values.float() if is_half else values


def _layout(scores: Any, lengths: Any, mask: Any, qptr: Any) -> Any:
    if scores.dim() == 1:
        if lengths is not None or mask is not None:
            raise InputError("lengths and mask are for padded scores (n_queries, longest); give qptr here.")
        if qptr is None:
            n = scores.shape[0]
            raise InputError(
                f"scores ({n},) came without their queries: type qptr= with the boundaries of the queries, "
                f"or qptr=[0, {n}] if all documents belong to one query."
            )
        # The values are not converted, since the surrogate checks that they are integers.
        return _tensor(qptr)
    if qptr is not None or (lengths is not None and mask is not None):
        raise InputError("padded scores take either lengths or mask, and no qptr.")
    n_queries, longest = scores.shape
    if mask is not None:
        is_document = _tensor(mask)
        if is_document.shape != scores.shape or is_document.dtype != torch.bool:
            raise InputError(
                f"mask has shape {tuple(is_document.shape)} and type {is_document.dtype}; booleans of shape "
                f"{tuple(scores.shape)} are needed, True for documents."
            )
        return is_document
    if lengths is None:
        return torch.ones_like(scores, dtype=torch.bool)
    sizes = _tensor(lengths)
    fits = sizes.shape == (n_queries,) and not (sizes.is_floating_point() or sizes.dtype == torch.bool)
    # Compiled code cannot branch on values, so the check is omitted there.
    if fits and not torch.compiler.is_compiling():
        fits = bool(((sizes >= 0) & (sizes <= longest)).all())
    if not fits:
        raise InputError(
            f"lengths={sizes.tolist()!r:.200}: an integer from 0 to {longest} is needed for each of the "
            f"{n_queries} queries."
        )
    return torch.arange(longest, device=sizes.device) < sizes[:, None]


def _of_nested(scores: Any, labels: Any) -> tuple[Any, Any, Any]:
    if scores.layout != torch.jagged or scores.dim() != 2:
        raise InputError(
            f"scores are a nested tensor of {scores.dim()} dimensions and layout {scores.layout}; lists of "
            "scores are needed: torch.nested.nested_tensor(lists, layout=torch.jagged)."
        )
    if isinstance(labels, torch.Tensor) and labels.is_nested:
        if labels.layout != torch.jagged or labels.shape[0] != scores.shape[0]:
            raise InputError("labels need the layout of the scores: a nested tensor of as many queries.")
        sizes = scores.offsets().diff(), labels.offsets().diff()
        if not torch.compiler.is_compiling() and not torch.equal(sizes[0].cpu(), sizes[1].cpu()):
            raise InputError("the lengths of the queries differ between labels and scores.")
        labels = labels.values()
    return scores.values(), _tensor(labels), scores.offsets()


def _of_list(scores: Any, labels: Any) -> tuple[Any, Any, Any]:
    if not isinstance(labels, (list, tuple)) or len(labels) != len(scores):
        raise InputError(f"scores are a list of {len(scores)} tensors; give a list of as many labels.")
    if not scores:
        raise InputError("scores are an empty list; give the scores of at least one query.")
    grades = [_tensor(grade) for grade in labels]
    for q, (score, grade) in enumerate(zip(scores, grades, strict=True)):
        if not isinstance(score, torch.Tensor) or score.dim() != 1 or grade.shape != score.shape:
            raise InputError(
                f"query {q} has scores of shape {tuple(np.shape(score))} and labels of shape "
                f"{tuple(grade.shape)}; each query needs a tensor (n_docs,) of scores and as many labels."
            )
    sizes = torch.tensor([0, *(len(score) for score in scores)])
    return torch.cat(list(scores)), torch.cat([grade.to(torch.float64) for grade in grades]), sizes.cumsum(0)


def _tensor(values: Any) -> Any:
    if isinstance(values, torch.Tensor):
        return values
    try:
        return torch.as_tensor(writable(np.asarray(values)))
    except TypeError as error:
        raise InputError(
            f"labels hold a value that is not a number ({error}); grades >= 0 are needed."
        ) from None
