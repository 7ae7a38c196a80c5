"""Which laws of a ranking loss the losses of PyTorch libraries keep: ``python -m benchmarks loss_laws``.

Prints a table of `directrix.torch.check_loss` for our losses and for those of sentence-transformers and
allRank if they are installed (``pip install sentence-transformers``, ``pip install --no-deps allrank``), and
below it what was found. Losses of sentence-transformers get scores in place of the outputs of a model; they
compute in float32, so that all are looked at with the tolerances for it. Cut-offs are 5; ListMLE orders
documents by their labels, which sentence-transformers calls respect_input_order=False.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from padded_peers import allrank_losses

import directrix as dx

torch: Any = import_module("torch") if find_spec("torch") else None
OURS = ("ApproxNDCG", "ApproxAP", "SmoothNDCG", "LambdaLoss(k=5)", "RankNet", "ListNet", "ListMLE", "Gumbel")


def of_sentence_transformers() -> Iterator[tuple[str, Callable[..., Any]]]:
    losses = import_module("sentence_transformers.cross_encoder.losses")

    class Scores(torch.nn.Module):
        """Takes the place of a cross-encoder: its documents are numbers of scores."""

        num_labels, device, scores = 1, torch.device("cpu"), None

        def preprocess(self, pairs: Any, **_: Any) -> Any:
            return {"places": torch.tensor([document for _, document in pairs])}

        def forward(self, tokens: Any) -> Any:
            return {"scores": self.scores.flatten()[tokens["places"]]}

    model = Scores()

    def adapted(loss: Any) -> Callable[..., Any]:
        def call(scores: Any, labels: Any, *, mask: Any) -> Any:
            model.scores = scores
            places = torch.arange(scores.numel()).reshape(scores.shape)
            lists = [row[kept].tolist() for row, kept in zip(places, mask, strict=True)]
            grades = [row[kept] for row, kept in zip(labels, mask, strict=True)]
            return loss([[""] * len(lists), lists], grades)

        return call

    for name in ("LambdaLoss", "RankNetLoss", "ListNetLoss", "ListMLELoss", "PListMLELoss"):
        kind = getattr(losses, name)
        known, wanted = inspect.signature(kind).parameters, {"respect_input_order": False}
        settings = {key: value for key, value in wanted.items() if key in known}
        cut = {"k": 5} if name == "LambdaLoss" else {}
        yield f"{name}{'(k=5)' if cut else ''}", adapted(kind(model, **settings, **cut))


def of_allrank() -> Iterator[tuple[str, Callable[..., Any]]]:
    losses, cut = allrank_losses(), {"k": 5}
    for name, settings in {
        "lambdaLoss": {"weighing_scheme": "ndcgLoss2PP_scheme", **cut},
        "neuralNDCG": cut,
        "approxNDCGLoss": {},
        "listNet": {},
        "listMLE": {},
        "rankNet": {},
    }.items():
        loss = getattr(losses, name)

        def call(scores: Any, labels: Any, *, mask: Any, loss: Any = loss, settings: Any = settings) -> Any:
            return loss(scores.float(), torch.where(mask, labels, -1.0).float(), **settings)

        yield f"{name}{'(k=5)' if settings else ''}", call


def main() -> None:
    from directrix.torch.laws import LAWS

    libraries: dict[str, Iterator[tuple[str, Any]]] = {
        "directrix": ((name, dx.torch.loss(name)) for name in OURS)
    }
    for module, package, adapted in (
        ("sentence_transformers", "sentence-transformers", of_sentence_transformers),
        ("allrank", "allRank", of_allrank),
    ):
        if find_spec(module):
            libraries[f"{package} {version(package)}"] = adapted()
    print(f"| library | loss | {' | '.join(LAWS)} |\n{'|---' * (len(LAWS) + 2)}|")
    notes = []
    for library, losses in libraries.items():
        for name, loss in losses:
            broken: Any = {}
            try:
                dx.torch.check_loss(loss, eps=1e-3, rtol=1e-2)
            except dx.laws.LawBroken as error:
                broken = error.laws
            print(f"| {library} | {name} | {' | '.join('no' if law in broken else 'yes' for law in LAWS)} |")
            notes += [f"- {library}, {name}, {law}: {found}" for law, found in broken.items()]
    print("\n" + "\n".join(notes))


if __name__ == "__main__":
    main()
