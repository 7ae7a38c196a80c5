"""``directrix demo``: every method on built-in data, compared with statistics."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import check_writable
from directrix.cli.output import Format, FormatOption, print_json, print_rows, progress_bar, remark
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.rankers.stored import StoredRanker
    from directrix.types import Float64Array, FloatArray

_GOAL = "nDCG@10"
_BASELINE = "Regression"
_AUTO = "auto"
_SHORT = {"epochs": 50}


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for model and report.")] = Path(
        "demo"
    ),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the data and of the training.")] = 0,
    form: FormatOption = Format.table,
) -> None:
    """Train on built-in data, and print who is better, by how much, and whether that is chance."""
    from directrix import __version__
    from directrix.data.letor_write import replacing
    from directrix.reports.demo import demo_page

    path = _model_path(output)
    q = _data(seed)
    train, valid, test = (q.take(range(*span)) for span in ((0, 300), (300, 400), (400, 600)))
    remark(
        f"directrix {__version__} · built-in data: {q.n_queries} queries x {q.n_docs // q.n_queries} "
        f"documents x {q.n_features} features, labels 0-{q.labels.max():.0f}, seed {seed} · target {_GOAL}\n"
        f"trained on {train.n_queries} queries, chosen on {valid.n_queries}, "
        f"figures from the other {test.n_queries}"
    )
    rows: list[dict[str, Any]] = []
    scores: dict[str, FloatArray] = {}
    every: dict[str, dict[str, Float64Array]] = {}
    plan = _plan(train, valid, seed)
    with progress_bar("training") as progress:
        for number, (name, fit) in enumerate(plan):
            progress(number, len(plan), name)
            begun = time.perf_counter()
            ranker = fit()
            seconds = time.perf_counter() - begun
            scores[name] = ranker.predict_queries(test)
            every[name] = values = _values(scores[name], test)
            against = _against(values[_GOAL], every[_BASELINE][_GOAL], name)
            rows.append({"method": name, **_means(values), "seconds": seconds, **against})
    _print(rows, form)
    said = _findings(ranker, train, seed)
    for text in said:
        remark(text)
    ranker.save(path)
    page = path.with_name("report.html")
    with replacing(page) as file:
        file.write(demo_page(rows, test, scores, every, said).encode())
    remark(f"saved: {path}   open: {page}")


def _model_path(folder: Path) -> Path:
    """Make the folder now: a name that cannot be one is said before the training, not after it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; a folder is needed for the model, e.g. -o {folder}-demo.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("model.json", "report.html"):
        check_writable(folder / name)
    return folder / "model.json"


def _data(seed: int, n_docs: int = 50, n_features: int = 60) -> Queries:
    """Labels from a random cubic polynomial; the level of each feature differs from query to query.

    Raw retrieval scores have such levels. They mean nothing for the ranking, which is what a regression
    on the labels cannot know.
    """
    from dataclasses import replace

    import numpy as np

    from directrix.data.synthetic import make_cubic

    q = make_cubic(600, n_docs, n_features, n_monomials=200, label_noise=0.1, seed=seed)
    level = np.random.default_rng(seed).normal(0.0, 2.0, (q.n_queries, q.n_features))
    features = q.features + np.repeat(level, np.diff(q.qptr), axis=0)
    return replace(q, features=features.astype(np.float32))


def _plan(train: Queries, valid: Queries, seed: int) -> list[tuple[str, Callable[[], StoredRanker]]]:
    """Name of each row, and how to get its ranker."""
    from directrix.measures.names import measure as parse_measure
    from directrix.rankers.methods import method
    from directrix.rankers.selection.search import search

    def fixed(name: str, **settings: Any) -> Callable[[], StoredRanker]:
        goal = parse_measure(_GOAL)
        return lambda: method(name).ranker(measure=goal, **settings).fit_queries(train, measure=goal)

    def auto() -> StoredRanker:
        found = search(
            train, valid, measure=_GOAL, models=["linear"], settings={**_SHORT, "cg_iter": 10}, seed=seed
        )
        ranker: StoredRanker = found.ranker
        return ranker

    return [
        (_BASELINE, fixed(_BASELINE)),
        ("ListNet", fixed("ListNet", l2=1e-3)),
        ("LambdaRank", fixed("LambdaRank", rate=1e-3, **_SHORT)),
        *((f"ApproxNDCG, alpha {alpha:g}", fixed("ApproxNDCG", alpha=alpha)) for alpha in (1.0, 10.0, 100.0)),
        ("ApproxAP", fixed("ApproxAP")),
        (_AUTO, auto),
    ]


def _values(scores: FloatArray, q: Queries) -> dict[str, Float64Array]:
    """Both measures of every query."""
    from directrix.measures.names import measure

    return {name: measure(name)(scores, q.labels, q.qptr) for name in (_GOAL, "AP")}


def _means(values: dict[str, Float64Array]) -> dict[str, float]:
    return {name: float(entry.mean()) for name, entry in values.items()}


def _against(values: Float64Array, base: Float64Array, name: str) -> dict[str, Any]:
    """Mean difference over queries, and the p-value of the two-sided paired t-test."""
    if name == _BASELINE:
        return {"difference": None, "p": None}
    from directrix.experiments.significance import paired_t

    found = paired_t(values, base)
    return {"difference": found.difference, "p": found.p}


def _print(rows: list[dict[str, Any]], form: Format) -> None:
    if form is Format.json:
        print_json({"measure": _GOAL, "baseline": _BASELINE, "rows": rows})
        return
    if form is Format.tsv:
        print_rows(list(rows[0]), [list(row.values()) for row in rows], form)
        return
    from directrix.reports.compare import stars

    lines = [
        [
            row["method"],
            f"{row[_GOAL]:.3f}",
            f"{row['AP']:.3f}",
            f"{row['seconds']:.1f}",
            "-" if row["p"] is None else f"{row['difference']:+.3f} {stars(row['p'])}",
        ]
        for row in rows
    ]
    print_rows(["method", _GOAL, "AP", "seconds", f"against {_BASELINE}"], lines, form)


def _findings(ranker: StoredRanker, train: Queries, seed: int) -> list[str]:
    """How far the surrogate is from its measure, and whether the weights are a local optimum of the goal."""
    from directrix.experiments.optimality import certify
    from directrix.rankers.training import surrogate_gap

    surrogate, gap = ranker.surrogate_, surrogate_gap(ranker, train)
    said = ["stars: two-sided paired t-test over queries, p < .05 *, .01 **, .001 ***"]
    if not math.isnan(gap):  # LambdaRank has forces, and no surrogate of a measure
        said.append(
            f"surrogate error of {_AUTO}: mean |{type(surrogate).__name__} - {surrogate.measure.name}| = "
            f"{gap:.4f} on the training queries"
        )
    found = certify(ranker, train, _GOAL, relative=True, seed=seed)
    rise = f", by {found.largest_rise:.4f} at most" if found.n_rising else f" ({found.confidence:.0%})"
    said.append(
        f"local optimum: {found.n_rising} of {found.n_directions} random directions raise {_GOAL} on the "
        f"training queries{rise}"
    )
    return said
