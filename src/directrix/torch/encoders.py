"""Losses for the trainers of sentence-transformers: cross-encoders, and retrieval within a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import normalize

from directrix.errors import InputError
from directrix.parameters import positive, whole
from directrix.torch.losses import loss


class CrossEncoderLoss(torch.nn.Module):
    r"""A surrogate as the loss of ``CrossEncoderTrainer``: :math:`-\frac{1}{n}\sum_q S_q`.

    The columns of the data set are a query, a list of documents, and a list of labels; queries may have
    different numbers of documents.

    Parameters
    ----------
    model : sentence_transformers.CrossEncoder
        With one score per pair (``num_labels=1``).
    surrogate : Surrogate or str
        The function to maximize.
    mini_batch_size : int >= 1, or None
        Number of pairs that the model encodes at once; None: all of the batch. The loss is always that of the
        whole batch.
    **settings
        ``backend`` and ``distributed`` of `loss`.

    Raises
    ------
    InputError
        If there is no such surrogate, or the model has several scores per pair; when called, if labels are
        not one list per query with one label per document.

    Notes
    -----
    It needs ``pip install sentence-transformers`` (version 6 or later). Scores are raw outputs of the model,
    without the activation, which does not change rankings.

    Examples
    --------
    See docs/how-to/pytorch.md.
    """

    def __init__(
        self,
        model: Any,
        surrogate: Any = "ApproxNDCG",
        *,
        mini_batch_size: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        if getattr(model, "num_labels", 1) != 1:
            raise InputError(
                f"CrossEncoderLoss: the model has {model.num_labels} outputs per pair; one is needed: "
                "CrossEncoder(name, num_labels=1)."
            )
        if mini_batch_size is not None:
            whole(mini_batch_size, "mini_batch_size", "CrossEncoderLoss")
        self.model, self.mini_batch_size = model, mini_batch_size
        self.loss = loss(surrogate, **settings)

    def forward(
        self, inputs: Sequence[Any], labels: Any, prompt: str | None = None, task: str | None = None
    ) -> Any:
        """Return the loss of a batch: inputs are a list of queries and a list of lists of documents."""
        if len(inputs) != 2 or isinstance(labels, torch.Tensor):
            raise InputError(
                f"CrossEncoderLoss: got {len(inputs)} columns and labels of type {type(labels).__name__}; a "
                "query, a list of documents and a list of labels are needed in each row."
            )
        queries, lists = inputs
        sizes = [len(documents) for documents in lists]
        if [len(grades) for grades in labels] != sizes:
            raise InputError(
                f"CrossEncoderLoss: the queries have {sizes!r:.80} documents and "
                f"{[len(grades) for grades in labels]!r:.80} labels; every document needs one."
            )
        rows = zip(queries, lists, strict=True)
        pairs = [(query, document) for query, documents in rows for document in documents]
        if not pairs:
            raise InputError(
                "CrossEncoderLoss: no query of the batch has a document; leave such queries out."
            )
        # The model scores some pairs at a time, which bounds its memory; the loss sees whole lists.
        size = self.mini_batch_size or len(pairs)
        batches = [self._scores(pairs[i : i + size], prompt, task) for i in range(0, len(pairs), size)]
        grades = torch.cat([torch.as_tensor(grades) for grades in labels])
        return self.loss(torch.cat(batches), grades, qptr=torch.tensor([0, *sizes]).cumsum(0))

    def _scores(self, pairs: list[tuple[Any, Any]], prompt: str | None, task: str | None) -> Any:
        tokens = self.model.preprocess(pairs, prompt=prompt, task=task)
        device = self.model.device
        there = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in tokens.items()}
        return self.model(there)["scores"].flatten()

    def get_config_dict(self) -> dict[str, Any]:
        """Return the description of the loss for the model card."""
        return {"surrogate": repr(self.loss.surrogate), "mini_batch_size": self.mini_batch_size}


class RetrievalLoss(torch.nn.Module):
    r"""A surrogate over the documents of a batch, as the loss of ``SentenceTransformerTrainer``.

    Every query ranks all documents of the batch by :math:`s = c \cos(u, v)`; its own document is relevant. A
    row holds a query, its document and, optionally, irrelevant documents.

    Parameters
    ----------
    model : sentence_transformers.SentenceTransformer, or None
        None: call `of_embeddings`.
    surrogate : Surrogate or str
        The function to maximize, e.g. ``"ApproxAP"`` or ``"ApproxNDCG"``.
    scale : float > 0
        c, in units of score.
    **settings
        ``backend`` and ``distributed`` of `loss`. Documents of other processes are not ranked.

    Raises
    ------
    InputError
        If there is no such surrogate, or the scale is not > 0.

    Notes
    -----
    O(n m) memory for n queries and m documents: the scores.

    Examples
    --------
    >>> import directrix as dx, torch
    >>> queries, documents = torch.eye(3)[:2], torch.eye(3)
    >>> dx.torch.RetrievalLoss(None, "ApproxAP").of_embeddings(queries, documents).round(decimals=3)
    tensor(-1.)
    """

    def __init__(
        self,
        model: Any,
        surrogate: Any = "ApproxNDCG",
        *,
        scale: float = 20.0,
        **settings: Any,
    ) -> None:
        super().__init__()
        self.model, self.scale = model, positive(scale, "scale", "RetrievalLoss")
        self.loss = loss(surrogate, **settings)

    def forward(self, sentence_features: Sequence[dict[str, Any]], labels: Any = None) -> Any:
        """Return the loss of a batch; ``labels`` are not used: the first document of a row is relevant."""
        queries, *documents = [self.model(column)["sentence_embedding"] for column in sentence_features]
        return self.of_embeddings(queries, torch.cat(documents))

    def of_embeddings(self, queries: Any, documents: Any, labels: Any = None) -> Any:
        """Return the loss of embeddings.

        Parameters
        ----------
        queries : tensor (n, dimensions)
        documents : tensor (m, dimensions)
            The first n are those of the queries, in their order, unless ``labels`` are given.
        labels : (n, m), optional
            Grades >= 0 of all pairs.

        Returns
        -------
        tensor ()
        """
        # The document of query i has number i, so without labels the relevant pairs are the diagonal.
        scores = self.scale * normalize(queries, dim=1) @ normalize(documents, dim=1).T
        return self.loss(scores, torch.eye(*scores.shape) if labels is None else labels)

    def get_config_dict(self) -> dict[str, Any]:
        """Return the description of the loss for the model card."""
        return {"surrogate": repr(self.loss.surrogate), "scale": self.scale}
