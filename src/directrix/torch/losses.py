"""A surrogate as a loss for PyTorch: ``directrix.torch.loss(ApproxNDCG(alpha=10))``.

It needs PyTorch: ``pip install "directrix[torch]"``; importing this module does not.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from directrix.errors import InputError, MissingExtra
from directrix.measures.names import measure as parse_measure
from directrix.surrogates.names import surrogate as as_surrogate

if TYPE_CHECKING:
    from torch import Tensor

Backend = Literal["auto", "kernels", "torch"]


class Loss:
    """A loss to minimize, called with scores and labels; `loss` makes it.

    Parameters
    ----------
    surrogate : Surrogate
        The function that training maximizes.
    backend, distributed
        See `loss`.
    """

    def __init__(self, surrogate: Any, backend: Backend = "auto", *, distributed: bool = False) -> None:
        self.surrogate, self.backend, self.distributed = surrogate, backend, distributed
        from directrix.torch.operator import number_of

        self._number = number_of(self)

    def __reduce__(self) -> Any:
        return partial(type(self), self.surrogate, self.backend, distributed=self.distributed), ()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.surrogate!r}, {self.backend!r}, distributed={self.distributed!r})"
        )

    def __call__(
        self, scores: Any, labels: Any, *, lengths: Any = None, mask: Any = None, qptr: Any = None
    ) -> Tensor:
        r"""Minus the mean over queries with documents of the surrogate, :math:`-\frac{1}{n}\sum_q S_q`.

        Parameters
        ----------
        scores : tensor (n_queries, longest), tensor (n_docs,), nested tensor, or list of tensors (n_q,)
            Scores by query: padded, one query after another, nested (``layout=torch.jagged``), or one tensor
            per query, on any device. Half precision is converted to float32.
        labels : tensor, array or list of them
            Grades >= 0, in the same form as the scores; values in the padding do not matter. They are best
            left on the CPU, where everything that depends on labels alone is computed.
        lengths : integers (n_queries,), optional
            Number of documents of every query of padded scores; they come first in their row.
        mask : booleans (n_queries, longest), optional
            Instead of ``lengths``: True for documents, False for padding. Without both all are documents.
        qptr : integers (n_queries + 1,), optional
            Needed for scores (n_docs,): query q has the documents ``qptr[q] <= i < qptr[q + 1]``;
            ``[0, len(scores)]`` for a single query.

        Returns
        -------
        tensor ()
            On the device of the scores. Its backward is the analytic gradient, computed in the same call;
            there is no second derivative. Queries without relevant documents are part of the mean, those
            without documents are not.

        Raises
        ------
        InputError
            If shapes disagree, scores (n_docs,) have no ``qptr``, no query has a document, a score is NaN or
            infinite, or a second derivative is requested.

        Notes
        -----
        O(n_docs) memory. See `loss` for the device of the computation.
        """
        from directrix.torch.layout import has_documents, in_one_form
        from directrix.torch.operator import surrogate_values

        scores, grades, form = in_one_form(scores, labels, lengths, mask, qptr)
        value = surrogate_values(scores, grades, form, self._number)
        # A query without documents has no value, so it does not count in the mean.
        counts = has_documents(form).to(value.device)
        total, n_queries = value.where(counts, 0.0).sum(), counts.sum()
        if not self.distributed:
            return -total / n_queries
        import torch.distributed as processes

        if not (processes.is_available() and processes.is_initialized()):
            raise InputError(
                "distributed=True: torch.distributed is not initialized; call init_process_group() before "
                "the loss, or leave out distributed."
            )
        # Slopes are averaged over processes, so the number of processes cancels in the mean over all queries.
        n_of_all = n_queries.to(value.dtype)
        processes.all_reduce(n_of_all)
        return -total * (processes.get_world_size() / n_of_all)

    def is_native(self, device: Any) -> bool:
        """Whether PyTorch's own operations compute losses of scores on this device."""
        from directrix.torch.formulas import has_formula

        if self.backend == "auto":
            return device.type != "cpu" and has_formula(self.surrogate)
        return self.backend == "torch"


def loss(surrogate: Any, *, backend: Backend = "auto", distributed: bool = False) -> Loss:
    """Return a surrogate as a loss for PyTorch.

    Parameters
    ----------
    surrogate : Surrogate or str
        The function to maximize, e.g. ``ApproxNDCG(alpha=10)`` or its text.
    backend : {"auto", "kernels", "torch"}
        "kernels": compiled kernels on the CPU, to which scores of another device are copied. "torch":
        operations of PyTorch on the device of the scores, for surrogates with the property ``smooth``,
        SmoothRank's and `RankCosine`. "auto": kernels for scores on the CPU, and for surrogates that
        PyTorch's operations do not support.
    distributed : bool
        The mean is over the queries of all processes of ``torch.distributed``, which must all call the loss
        equally often. `DistributedDataParallel` then gives the gradient of one process with all queries, also
        if processes have different numbers of queries.

    Returns
    -------
    Loss
        A function of scores and labels. ``torch.compile`` takes it as one operator.

    Raises
    ------
    MissingExtra
        If PyTorch is not installed.
    InputError
        If the argument is not a surrogate or its text, or has no formula for the backend.

    Notes
    -----
    The noise of a surrogate with the property ``random`` is that of its ``draw``. For new noise in each step,
    make a new loss: ``loss(surrogate.redraw(step))``.
    """
    require_torch("directrix.torch.loss")
    from directrix.torch.formulas import has_formula

    chosen = as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate
    if isinstance(chosen, type) or not hasattr(chosen, "value_and_grad"):
        raise InputError(
            f"directrix.torch.loss({chosen!r:.80}): a surrogate is needed, an object with value_and_grad; "
            "type e.g. directrix.torch.loss(directrix.ApproxNDCG(alpha=10))."
        )
    if backend not in get_args(Backend):
        raise InputError(f"backend={backend!r}: type 'auto', 'kernels' or 'torch'.")
    if backend == "torch" and not has_formula(chosen):
        raise InputError(
            f"{chosen!r:.80} has no formula in PyTorch; leave out backend='torch'. Scores of another "
            "device are then copied to the CPU."
        )
    return Loss(chosen, backend, distributed=distributed)


def require_torch(what: str) -> None:
    """Raise `MissingExtra` unless PyTorch is installed."""
    if find_spec("torch") is None:
        raise MissingExtra("torch", what)


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
    Values are exact, with the bits of `directrix.evaluate`. Scores of another device are copied to the CPU,
    one number per document, and sorted there. Rounding to half precision creates ties, for which the
    measure's rule applies.

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
    ) -> Tensor:
        """Return values (n_queries,) of the measure, float64 on the CPU; arguments as for `Loss`.

        NaN marks queries that the measure skips, and those without documents.
        """
        import torch

        from directrix.torch.layout import has_documents, in_one_form

        with torch.no_grad():
            scores, grades, form = in_one_form(scores, labels, lengths, mask, qptr)
            form = form.cpu()
            counts = has_documents(form).numpy()
            if scores.dim() == 2:
                scores, grades = scores[form.to(scores.device)], grades[form.to(grades.device)]
                form = torch.cat([torch.zeros(1, dtype=torch.int64), form.sum(dim=1).cumsum(0)])
        values = self.measure(scores.cpu().numpy(), grades.cpu().numpy(), form.numpy())
        return torch.from_numpy(np.where(counts, values, np.nan))


measure = TensorMeasure
"""``measure("nDCG@10")`` returns a `TensorMeasure`."""
