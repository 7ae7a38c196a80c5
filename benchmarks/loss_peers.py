"""Losses of other libraries for `bench_loss_laws`, in a process of the environment that has them.

    python benchmarks/loss_peers.py LIBRARY

LIBRARY is a name in `PEERS`. Prints its version, and its losses with the laws that cannot be asked of them,
as a line of JSON. Each line of standard input, a loss with scores, labels and mask (queries, documents), is
answered by a line with value and gradient. ``--smooth-ap CLASSES SIZE`` prints the value of SmoothAPLoss of
pytorch-metric-learning for classes of embeddings that are far apart, and the MiB that it takes.

Every library gets lists in the form that it wants, and reduces a batch as it does by default. Cut-offs are 5.
Losses that draw noise get the same seed for each call. Their noise depends on the shape of the batch, so that
no law can be asked that compares batches of different shapes.

- sentence-transformers: a model whose outputs are the scores; lists without their padding.
- allRank, TensorFlow Ranking: padded lists; -1 is the label of padding.
- Rax: padded lists; ``where`` is the mask.
- pytorch-metric-learning has no lists, but pairs of a query's embedding and a document's, each positive or
  negative. Query q has the q-th unit vector, and its document the same vector times the score: their dot
  product, which DotProductSimilarity(normalize_embeddings=False) takes, is the score. ``ref_emb`` has the
  documents of all queries, without padding, and ``indices_tuple`` the pairs of each query and its own
  documents; those with a label above 0 are positive. In SmoothAPLoss and FastAPLoss every embedding is a
  query and all others are its documents. They refuse ``ref_emb`` and do not look at single pairs, and
  SmoothAPLoss refuses classes of different sizes: no list can be expressed, so that no law can be asked.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from full_pass import extra_mib
from padded_peers import allrank_losses

CUT = 5
NOISE = ("padding", "batch", "lengths")
"""Laws that compare batches of different shapes."""
NO_LIST = ("all",)
Loss = Callable[[Any, Any, Any], tuple[Any, Any]]
Losses = Iterator[tuple[str, Loss, tuple[str, ...]]]
"""Names, losses, and the laws that cannot be asked."""


def by_autograd(loss: Callable[[Any, Any, Any], Any]) -> Loss:
    """Value and gradient of a loss in PyTorch."""
    import torch

    def call(scores: np.ndarray, labels: np.ndarray, mask: np.ndarray) -> tuple[Any, Any]:
        torch.manual_seed(0)
        leaf = torch.tensor(scores, requires_grad=True)
        value = loss(leaf, torch.tensor(labels), torch.tensor(mask))
        (grad,) = torch.autograd.grad(value, leaf, allow_unused=True, materialize_grads=True)
        return value.detach(), grad

    return call


def of_sentence_transformers() -> Losses:
    import torch

    losses = import_module("sentence_transformers.cross_encoder.losses")

    class Scores(torch.nn.Module):
        """Takes the place of a cross-encoder: its documents are numbers of scores."""

        num_labels, device, scores = 1, torch.device("cpu"), None

        def preprocess(self, pairs: Any, **_: Any) -> Any:
            return {"places": torch.tensor([document for _, document in pairs])}

        def forward(self, tokens: Any) -> Any:
            return {"scores": self.scores.flatten()[tokens["places"]]}

    model = Scores()

    def adapted(loss: Any) -> Loss:
        def call(scores: Any, labels: Any, mask: Any) -> Any:
            model.scores = scores
            places = torch.arange(scores.numel()).reshape(scores.shape)
            lists = [row[kept].tolist() for row, kept in zip(places, mask, strict=True)]
            grades = [row[kept] for row, kept in zip(labels, mask, strict=True)]
            return loss([[""] * len(lists), lists], grades)

        return by_autograd(call)

    for name in ("LambdaLoss", "RankNetLoss", "ListNetLoss", "ListMLELoss", "PListMLELoss"):
        kind = getattr(losses, name)
        known, wanted = inspect.signature(kind).parameters, {"respect_input_order": False}
        settings = {key: value for key, value in wanted.items() if key in known}
        cut = {"k": CUT} if name == "LambdaLoss" else {}
        yield f"{name}{f'(k={CUT})' if cut else ''}", adapted(kind(model, **settings, **cut)), ()


def of_allrank() -> Losses:
    import torch

    losses, cut = allrank_losses(), {"k": CUT}
    for name, settings in {
        "lambdaLoss": {"weighing_scheme": "ndcgLoss2PP_scheme", **cut},
        "neuralNDCG": cut,
        "approxNDCGLoss": {},
        "listNet": {},
        "listMLE": {},
        "rankNet": {},
    }.items():
        loss = getattr(losses, name)

        def call(scores: Any, labels: Any, mask: Any, loss: Any = loss, settings: Any = settings) -> Any:
            return loss(scores.float(), torch.where(mask, labels, -1.0).float(), **settings)

        yield f"{name}{f'(k={CUT})' if settings else ''}", by_autograd(call), NOISE * (name == "listMLE")


def of_rax() -> Losses:
    import jax
    import jax.numpy as jnp
    import rax

    def by_jax(loss: Any, **settings: Any) -> Loss:
        value_and_grad = jax.value_and_grad(lambda s, y, where: loss(s, y, where=where, **settings))
        compiled = jax.jit(value_and_grad)
        return lambda s, y, mask: compiled(*map(jnp.asarray, (s, y, mask)))

    ndcg, pairs = rax.approx_t12n(rax.ndcg_metric), rax.pairwise_logistic_loss
    yield "approx ndcg_metric", by_jax(ndcg), ()
    yield f"approx ndcg_metric(topn={CUT})", by_jax(ndcg, topn=CUT), ()
    yield "gumbel approx ndcg_metric", by_jax(rax.gumbel_t12n(ndcg), key=jax.random.PRNGKey(0)), NOISE
    yield "softmax_loss", by_jax(rax.softmax_loss), ()
    yield "listmle_loss", by_jax(rax.listmle_loss), ()
    yield "pairwise_logistic_loss", by_jax(pairs), ()
    for name in ("dcg_lambdaweight", "dcg2_lambdaweight"):
        weight = getattr(rax, name)

        def cut_off(*arguments: Any, weight: Any = weight, **settings: Any) -> Any:
            return weight(*arguments, topn=CUT, **settings)

        yield f"pairwise_logistic_loss, {name}(topn={CUT})", by_jax(pairs, lambdaweight_fn=cut_off), ()


def of_tensorflow_ranking() -> Losses:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    losses = import_module("tensorflow_ranking.python.keras.losses")

    def by_tape(loss: Any) -> Loss:
        def call(scores: np.ndarray, labels: np.ndarray, mask: np.ndarray) -> tuple[Any, Any]:
            tf.random.set_seed(0)
            leaf = tf.constant(scores, tf.float32)
            with tf.GradientTape() as tape:
                tape.watch(leaf)
                value = loss(tf.constant(np.where(mask, labels, -1.0), tf.float32), leaf)
            grad = tape.gradient(value, leaf, unconnected_gradients="zero")
            return value, tf.convert_to_tensor(grad)

        return call

    # the noise of ListMLELoss is in the order of equal labels; that it counts padding does not come from it
    unasked = {"GumbelApproxNDCGLoss": NOISE, "ListMLELoss": ("batch", "lengths")}
    for name in (
        "ApproxNDCGLoss",
        "GumbelApproxNDCGLoss",
        "SoftmaxLoss",
        "ListMLELoss",
        "PairwiseLogisticLoss",
    ):
        yield name, by_tape(getattr(losses, name)()), unasked.get(name, ())
    for name in ("DCGLambdaWeight", "NDCGLambdaWeightV2"):
        loss = losses.PairwiseLogisticLoss(lambda_weight=getattr(losses, name)(topn=CUT))
        yield f"PairwiseLogisticLoss, {name}(topn={CUT})", by_tape(loss), ()


def of_pytorch_metric_learning() -> Losses:
    import torch

    losses = import_module("pytorch_metric_learning.losses")
    distances = import_module("pytorch_metric_learning.distances")

    def adapted(loss: Any) -> Loss:
        def call(scores: Any, labels: Any, mask: Any) -> Any:
            queries = torch.eye(len(scores), dtype=scores.dtype, requires_grad=True)  # as a model's are
            query = mask.nonzero()[:, 0]
            documents = queries.detach()[query] * scores[mask][:, None]
            (positive,) = (labels[mask] > 0.0).nonzero(as_tuple=True)
            (negative,) = (labels[mask] == 0.0).nonzero(as_tuple=True)
            pairs = query[positive], positive, query[negative], negative
            return loss(queries, indices_tuple=pairs, ref_emb=documents)

        return by_autograd(call)

    for name in ("NTXentLoss", "SupConLoss", "MultiSimilarityLoss", "TripletMarginLoss"):
        dot_product = distances.DotProductSimilarity(normalize_embeddings=False)
        yield name, adapted(getattr(losses, name)(distance=dot_product)), ()
    for name in ("FastAPLoss", "SmoothAPLoss"):
        yield name, adapted(getattr(losses, name)()), NO_LIST


def smooth_ap(n_classes: int, size: int) -> list[float]:
    """Value of SmoothAPLoss, which should be 0 here, and MiB that it takes with its gradient."""
    import torch

    loss = import_module("pytorch_metric_learning.losses").SmoothAPLoss()
    values = []

    def run(n_classes: int, size: int) -> None:
        generator = torch.Generator().manual_seed(0)
        classes = torch.arange(n_classes).repeat_interleave(size)
        centers = torch.nn.functional.one_hot(classes).double()
        leaf = centers + 0.05 * torch.rand(centers.shape, generator=generator, dtype=torch.float64)
        value = loss(leaf.float().requires_grad_(), classes)
        value.backward()
        values.append(float(value.detach()))

    run(2, 2)
    mib = extra_mib(lambda: run(n_classes, size))
    return [values[-1], mib]


PEERS = {
    "sentence-transformers": of_sentence_transformers,
    "allRank": of_allrank,
    "Rax": of_rax,
    "TensorFlow-Ranking": of_tensorflow_ranking,
    "pytorch-metric-learning": of_pytorch_metric_learning,
}
"""Libraries by the names of their packages, in the case of their own pages."""


def answer(loss: Loss, lists: dict[str, Any]) -> dict[str, Any]:
    """Value and gradient, or the error of the library."""
    try:
        value, grad = loss(*(np.array(lists[name]) for name in ("scores", "labels", "mask")))
    except Exception as error:  # noqa: BLE001 of any library, which the benchmark prints
        kind, text = type(error).__name__, (str(error).splitlines() or [""])[0]
        return {"error": text if kind == "RuntimeError" else f"{kind}: {text}"}
    return {"value": float(value), "grad": np.asarray(grad, dtype=float).tolist()}


def main() -> int:
    who, *rest = sys.argv[1:]
    if who == "--smooth-ap":
        print(json.dumps(smooth_ap(*map(int, rest))))
        return 0
    # what a library prints is no answer
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    losses, unasked = {}, {}
    for name, loss, laws in PEERS[who]():
        losses[name], unasked[name] = loss, laws
    print(json.dumps([version(who), unasked]), file=answers)
    for line in sys.stdin:
        lists = json.loads(line)
        print(json.dumps(answer(losses[lists["loss"]], lists)), file=answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
