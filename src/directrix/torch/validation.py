"""A measure as a function of tensors, for validation during training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.measures.names import measure as parse_measure
from directrix.torch.losses import require_torch


@dataclass(frozen=True)
class Measure:
    """A measure of tensors; `measure` makes it."""

    measure: Any

    def __call__(
        self, scores: Any, labels: Any, *, lengths: Any = None, mask: Any = None, qptr: Any = None
    ) -> Any:
        """Values (n_queries,) of the measure, float64 on the CPU; arguments as for `Loss`.

        Half precision is compared as it is: rounding scores to it makes ties, which the measure's rule
        for ties decides. NaN marks queries that the measure leaves out.
        """
        import torch

        from directrix.torch.layout import arrange

        with torch.no_grad():
            scores, grades, form = arrange(scores, labels, lengths, mask, qptr)
            form = form.cpu()
            if scores.dim() == 2:
                scores, grades = scores[form.to(scores.device)], grades[form.to(grades.device)]
                form = torch.cat([torch.zeros(1, dtype=torch.int64), form.sum(dim=1).cumsum(0)])
        values = self.measure(scores.cpu().numpy(), grades.cpu().numpy(), form.numpy())
        return torch.from_numpy(np.asarray(values, dtype=np.float64))


def measure(measure: Any) -> Measure:
    """Return a measure as a function of scores and labels that are tensors on any device.

    Parameters
    ----------
    measure : measure or str
        E.g. ``"nDCG@10"``.

    Returns
    -------
    Measure
        A function of scores and labels in any form that `loss` takes; it returns the value of every query.

    Raises
    ------
    MissingExtra
        If PyTorch is not installed.
    InputError
        If there is no such measure.

    Notes
    -----
    Exact, with the bits of `directrix.evaluate`. Scores of another device are copied to the CPU, one number
    per document, and sorted there.
    """
    require_torch("directrix.torch.measure")
    return Measure(parse_measure(measure))
