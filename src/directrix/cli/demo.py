"""``directrix demo``: several methods on built-in data, compared with a significance test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_bar, remark, show
from directrix.reports.folder import check_folder

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.rankers.base import Ranker
    from directrix.rankers.linear import LinearRanker
    from directrix.tables import Table
    from directrix.types import Float64Array, FloatArray

_MEASURE = "nDCG@10"
_BASELINE = "Regression"
_AUTO = "auto"
_EXAMINED = "ApproxNDCG, alpha 10"
_FOLDER = Path("demo")
_SHORT = {"epochs": 50}


def demo_command(
    *,
    output: Annotated[Path, Option("--output", "-o", help="Folder for the model and the report.")] = _FOLDER,
    seed: options.SeedOption = 0,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Train several methods on built-in data; print their results and tests of significance."""
    from directrix import __version__
    from directrix.experiments.significance import paired_t
    from directrix.kernels import working_time
    from directrix.measures.names import measure
    from directrix.reports.demo import demo_report
    from directrix.reports.write import write_page
    from directrix.tables import Table

    # A wrong name is an error before the training, and not after it.
    check_folder(output, "model.json", "report.html")
    output.mkdir(parents=True, exist_ok=True)
    path = output / "model.json"
    queries = _data(seed)
    train, valid, test = (queries.take(range(*span)) for span in ((0, 300), (300, 400), (400, 600)))
    remark(
        f"directrix {__version__} · synthetic data: {queries.n_queries} queries x "
        f"{queries.n_docs // queries.n_queries} documents x {queries.n_features} features, labels "
        f"0-{queries.labels.max():.0f}, seed {seed} · target {_MEASURE}",
        f"trained on {train.n_queries} queries, selected on {valid.n_queries}, evaluated on the other "
        f"{test.n_queries}",
    )
    rows: list[dict[str, Any]] = []
    scores: dict[str, FloatArray] = {}
    values: dict[str, dict[str, Float64Array]] = {}
    rankers: dict[str, Any] = {}
    trainings = _trainings(train, valid, seed)
    with progress_bar("training") as progress:
        # The first training imports modules, whose time then belongs to no method.
        trainings[0][1]()
        for number, (name, fit) in enumerate(trainings):
            progress(number, len(trainings), name)
            start = working_time()
            rankers[name] = fit()
            seconds = working_time() - start
            scores[name] = rankers[name].predict_queries(test)
            values[name] = {m: measure(m)(scores[name], test.labels, test.qptr) for m in (_MEASURE, "AP")}
            means = {m: float(by_query.mean()) for m, by_query in values[name].items()}
            row: dict[str, Any] = {"method": name, **means, "seconds": seconds, "difference": None, "p": None}
            if name != _BASELINE:
                pair = paired_t(values[name][_MEASURE], values[_BASELINE][_MEASURE])
                row |= {"difference": pair.difference, "p": pair.p}
            rows.append(row)
    document = {"measure": _MEASURE, "baseline": _BASELINE, "rows": rows}
    every = Table("", tuple(rows[0]), tuple(tuple(row.values()) for row in rows))
    show(form, [_table(rows)], document, every)
    findings = _findings(rankers[_EXAMINED], train, seed)
    for text in findings:
        remark(text)
    rankers[_AUTO].save(path)
    page = path.with_name("report.html")
    write_page(page, demo_report(rows, test, scores, values, findings))
    remark(f"saved: {path}   open: {page}")


def _data(seed: int, n_docs: int = 50, n_features: int = 60) -> Queries:
    """Return data with labels from a random cubic polynomial; each query shifts each feature by a constant.

    Raw retrieval scores have such shifts. They do not change the ranking of a query, but a regression on the
    labels suffers from them.
    """
    from dataclasses import replace

    import numpy as np

    from directrix.data.synthetic import make_cubic

    queries = make_cubic(600, n_docs, n_features, n_monomials=200, label_noise=0.1, seed=seed)
    shift = np.random.default_rng(seed).normal(0.0, 2.0, (queries.n_queries, queries.n_features))
    features = queries.features + np.repeat(shift, np.diff(queries.qptr), axis=0)
    return replace(queries, features=features.astype(np.float32))


def _trainings(train: Queries, valid: Queries, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Return the name of each row, and a function that trains its ranker."""
    from directrix.measures.names import measure
    from directrix.rankers.methods import method
    from directrix.search.auto import AutoRanker
    from directrix.search.single_feature import best_feature

    goal = measure(_MEASURE)

    def fixed(name: str, **settings: Any) -> Callable[[], Ranker]:
        return lambda: method(name).ranker(measure=goal, **settings).fit_queries(train, measure=goal)

    def auto() -> Ranker:
        hyperparameters = {**_SHORT, "l2": 1e-3, "cg_iter": 10}
        auto = AutoRanker(goal, settings=hyperparameters, models=["linear"], by_query=True, random_state=seed)
        ranker: Ranker = auto.search(train, valid).ranker
        return ranker

    single = best_feature(train, goal)
    # Without a penalty the weights grow until the last bits of a processor decide which optimum is reached.
    return [
        (_BASELINE, fixed(_BASELINE)),
        (single.label, lambda: single),
        ("ListNet", fixed("ListNet", l2=1e-3)),
        ("LambdaRank", fixed("LambdaRank", learning_rate=1e-3, **_SHORT)),
        *(
            (f"ApproxNDCG, alpha {alpha:g}", fixed("ApproxNDCG", alpha=alpha, l2=2e-4))
            for alpha in (1.0, 10.0)
        ),
        ("ApproxAP", fixed("ApproxAP", l2=1e-3)),
        (_AUTO, auto),
    ]


def _table(rows: list[dict[str, Any]]) -> Table:
    from directrix.tables import Table, stars

    lines = []
    for row in rows:
        line = (row["method"], f"{row[_MEASURE]:.3f}", f"{row['AP']:.3f}", f"{row['seconds']:.1f}")
        lines.append((*line, "-" if row["p"] is None else f"{row['difference']:+.3f} {stars(row['p'])}"))
    return Table("", ("method", _MEASURE, "AP", "seconds", f"against {_BASELINE}"), tuple(lines))


def _findings(ranker: LinearRanker, train: Queries, seed: int) -> list[str]:
    """Say how far the surrogate is from its measure, and whether the weights are a local optimum."""
    from directrix.experiments.optimality import certify
    from directrix.rankers.means import surrogate_gap

    surrogate, gap = ranker.surrogate_, surrogate_gap(ranker, train)
    certificate = certify(ranker, train, _MEASURE, relative=True, seed=seed)
    rise, confidence = f", by at most {certificate.largest_rise:.4f}", f" ({certificate.confidence:.0%})"
    return [
        "stars: two-sided paired t-test over queries, p < .05 *, .01 **, .001 ***",
        f"surrogate error of {_EXAMINED}: mean |{type(surrogate).__name__} - {surrogate.measure.name}| = "
        f"{gap:.2g} on the training queries",
        f"local optimum of {_EXAMINED}: {certificate.n_rising} of {certificate.n_directions} random "
        f"directions raise {_MEASURE} on the training queries"
        f"{rise if certificate.n_rising else confidence}",
    ]
