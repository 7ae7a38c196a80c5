"""The table of what takes a measure of the user's own (docs/how-to/own-measure.md), cell by cell."""

import re
from pathlib import Path

import numpy as np
import pytest

import directrix as dx
from directrix.interop import lightgbm
from directrix.measures import RankingMeasure, Terms
from directrix.measures import names as known_names
from directrix.surrogates.gumbel import Gumbel
from directrix.surrogates.lambdas import LambdaLoss
from directrix.surrogates.structural import SVMMrr

DATA, _ = dx.data.make_linear(12, 8, 3, seed=0)
SCORES = DATA.features[:, 0].astype(float)
ARRAYS = {"scores": SCORES, "labels": DATA.labels, "qptr": DATA.qptr}
RANKER = dx.LinearRanker("ListNet", max_iter=2).fit_queries(DATA)
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own-measure.md"


def terms(labels, qptr):
    """Half a point for a relevant document, over the number of its rank."""
    return Terms(0.5 * (labels >= 1), 1.0 / np.arange(1.0, np.diff(qptr).max(initial=0) + 1.0))


@pytest.fixture
def measures(monkeypatch):
    """A measure of each kind, by the heads of the columns of the table."""
    monkeypatch.setattr(known_names, "_DEFINED", {})

    @dx.define_measure
    class Formless(RankingMeasure):
        """Whether the first document is relevant."""

        symbol = "Formless"

        def of_ranking(self, ranking, part):
            first = ranking.qptr[:-1]
            return 1.0 * (ranking.labels[first] > 0)

    forms = ("sum", "precision", "first_hit", "cascade", "pairs")
    return {form: dx.define_measure(f"My{form.title()}", terms, form=form)() for form in forms} | {
        "none": Formless()
    }


def fitted(surrogate, measure, trainer="lbfgs"):
    """Train a little."""
    return dx.LinearRanker(surrogate, trainer=trainer, max_iter=1).fit_queries(DATA, measure=measure)


def trees(surrogate):
    """Train a tree."""
    return dx.BoostedRanker(surrogate, n_trees=1).fit_queries(DATA)


def tendencies(measure):
    models = dx.experiments.random_models(3, DATA.n_features, seed=0)
    return dx.experiments.surrogate_tendencies([dx.ListNet()], DATA, measure=measure, models=models)


def select(measure):
    ranker = dx.AutoRanker(measure, method="Regression").fit_queries(DATA)
    assert ranker.measure_ == measure


def stop_early(measure):
    ranker = dx.LinearRanker("ListNet", max_iter=3).fit_queries(DATA, DATA, measure=measure)
    assert any(np.isfinite(row["score"]) for row in ranker.result_.trace)


def cross_validated(measure):
    splits = dx.experiments.k_fold_splits(DATA, 3)
    dx.experiments.cross_validate(splits, "Regression", measure)


def torch_measure(measure):
    pytest.importorskip("torch")
    from directrix.torch import measure as metric

    metric(measure)


ROUTES = {
    "evaluate": lambda m: dx.evaluate(
        m,
        **ARRAYS,
        convention="letor3",
        by={0: "a", 1: "a"} | dict.fromkeys(range(2, 12), "b"),
        intervals=True,
    ),
    "reconcile": lambda m: dx.reconcile(0.5, m, SCORES, DATA.labels, qptr=DATA.qptr),
    "eval_set": stop_early,
    "AutoRanker": select,
    "train": select,  # the command is AutoRanker
    "lab crossval": cross_validated,
    "certify": lambda m: dx.certify(RANKER, DATA, m),
    "permutation_importance": lambda m: dx.experiments.permutation_importance(RANKER, DATA, m),
    "surrogate_tendencies": tendencies,
    "torch.measure": torch_measure,
    "line_search": lambda m: dx.experiments.line_search(m, SCORES, DATA.labels, DATA.labels, DATA.qptr),
    "CoordinateAscent": lambda m: fitted(None, m, "coordinate-ascent"),
    "Lambda": lambda m: [trees(dx.Lambda(m)), lightgbm.objective(dx.Lambda(m))],
    "YetiRank": lambda m: [trees(dx.YetiRank(m)), lightgbm.objective(dx.YetiRank(m))],
    "ApproxMeasure": lambda m: fitted(dx.ApproxMeasure(m), m),
    "Gumbel": lambda m: fitted(Gumbel(dx.ApproxMeasure(m)), m, "sgd"),
    "SVMMap": dx.SVMMap,
    "SVMNdcg": dx.SVMNdcg,
    "SVMRoc": dx.SVMRoc,
    "SVMMrr": SVMMrr,
    "LambdaLoss": LambdaLoss,
    "SoftNDCG": dx.SoftNDCG,
    "Dorm": dx.Dorm,
}


def table():
    """The rows of the table: names in the first cell, and a cell for each kind of measure."""
    text = PAGE.read_text("utf-8").split("## Where your measure can be used")[1].split("\n## ")[0]
    heads, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    kinds = [re.findall(r"\w+", head.replace("`", "")) for head in heads[1:]]
    for name, *cells in rows:
        yield (
            re.findall(r"`([^`]+)`", name),
            [(kind, cell) for of, cell in zip(kinds, cells, strict=True) for kind in of],
        )


@pytest.mark.filterwarnings("ignore")  # a few steps do not converge
@pytest.mark.parametrize("route", ROUTES)
def test_the_table_is_true(measures, route):
    (cells,) = [cells for names, cells in table() if route in names]
    assert [kind for kind, _ in cells] == list(measures)
    for kind, cell in cells:
        if cell == "yes":
            ROUTES[route](measures[kind])
        else:
            assert cell == "no"
            with pytest.raises((dx.InputError, TypeError)):
                ROUTES[route](measures[kind])


def test_every_name_of_the_table_is_tried():
    assert sorted(name for names, _ in table() for name in names) == sorted(ROUTES)


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost", "catboost"])
def test_boosters_take_every_metric(measures, booster):
    module = pytest.importorskip(f"directrix.interop.{booster}")
    for measure in measures.values():
        assert callable(module.metric(measure)) or hasattr(module.metric(measure), "evaluate")
