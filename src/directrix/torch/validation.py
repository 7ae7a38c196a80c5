"""A measure as a function of tensors, for validation during training."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.measures.names import measure as parse_measure
from directrix.torch.losses import require_torch


class TensorMeasure:
    """A measure as a function of scores and labels that are tensors on any device.

    Parameters
    ----------
    measure : measure or str
        E.g. ``"nDCG@10"``.

    Raises
    ------
    MissingExtra
        If PyTorch is not installed.
    InputError
        If there is no such measure.

    Notes
    -----
    Exact, with the bits of `directrix.evaluate`. Scores of another device are copied to the CPU, one number
    per document, and sorted there. Rounding scores to half precision makes ties, which the measure's rule for
    ties decides.

    Examples
    --------
    >>> import directrix as dx, torch
    >>> dx.torch.measure("RR")(torch.tensor([[0.3, 0.1, 0.2]]), torch.tensor([[0, 0, 1]]))
    tensor([0.5000], dtype=torch.float64)
    """

    def __init__(self, measure: Any) -> None:
        require_torch("directrix.torch.measure")
        self.measure = parse_measure(measure)

    def __repr__(self) -> str:
        return f"directrix.torch.measure({self.measure.name!r})"

    def __call__(
        self, scores: Any, labels: Any, *, lengths: Any = None, mask: Any = None, qptr: Any = None
    ) -> Any:
        """Values (n_queries,) of the measure, float64 on the CPU; arguments as for `Loss`.

        NaN marks queries that the measure leaves out.
        """
        import torch

        from directrix.torch.layout import in_one_form

        with torch.no_grad():
            scores, grades, form = in_one_form(scores, labels, lengths, mask, qptr)
            form = form.cpu()
            if scores.dim() == 2:
                scores, grades = scores[form.to(scores.device)], grades[form.to(grades.device)]
                form = torch.cat([torch.zeros(1, dtype=torch.int64), form.sum(dim=1).cumsum(0)])
        values = self.measure(scores.cpu().numpy(), grades.cpu().numpy(), form.numpy())
        return torch.from_numpy(np.asarray(values, dtype=np.float64))


measure = TensorMeasure
"""``measure("nDCG@10")`` returns a `TensorMeasure`."""
