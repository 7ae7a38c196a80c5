"""A model whose training read missing values as 0 does so in every format, too."""

from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError
from directrix.export.formula import formula_of
from directrix.export.target import target as find_target
from directrix.export.verification import verify
from directrix.registry import TARGETS
from tests.messages import rejects

from .conftest import data
from .test_export import TAKEN, installed

MODELS = {  # and the model of the same form whose training data are complete
    "linear": (dx.LinearRanker(scale="standard", max_iter=20), "linear, named"),
    "linear, as it is": (dx.LinearRanker(max_iter=20), "linear"),
    "linear, log": (dx.LinearRanker(scale="log", max_iter=20), "linear, log"),
    "network": (dx.MLPRanker(hidden=(6, 6), scale="quantile", max_iter=20), "network, quantiles"),
    "stumps": (dx.StumpRanker(max_iter=20), "stumps"),
    "trees": (dx.BoostedRanker(n_trees=20), "trees"),
    "trees, scaled": (dx.BoostedRanker(n_trees=20, scale="standard"), "trees"),
}


@pytest.fixture(scope="module")
def fitted():
    raw = data(missing=True)
    zeros = dx.Queries.from_arrays(raw.features, raw.labels, qid=np.repeat(np.arange(40), 20), missing="zero")
    assert raw.missing == "nan"
    assert np.isnan(raw.features).any()
    rankers = {name: ranker.fit_queries(zeros) for name, (ranker, _) in MODELS.items()}
    rankers["ensemble"] = dx.EnsembleRanker([MODELS["linear"][0], MODELS["trees"][0]]).fit_queries(zeros)
    return rankers, raw, zeros


@pytest.mark.parametrize("to", TARGETS)
def test_a_missing_feature_counts_zero(to, fitted, tmp_path):
    installed(to)
    rankers, raw, zeros = fitted
    for name, ranker in rankers.items():
        np.testing.assert_array_equal(ranker.predict_queries(raw), ranker.predict_queries(zeros))
        if {**MODELS, "ensemble": (None, "ensemble")}[name][1] not in TAKEN[to]:
            with rejects(InputError):
                dx.export(ranker, tmp_path / "m", to=to, check=raw)
            continue
        found = dx.export(ranker, tmp_path / "m", to=to, check=raw)
        assert (found.n_rows, found.n_other_order) == (2000 + raw.n_docs, 0)
        assert "mean" not in found.note


@pytest.mark.parametrize("to", ["onnx", "vespa", "sql", "python"])
def test_the_mean_in_place_of_zero_is_found(to, fitted):
    installed(to)
    ranker, target = fitted[0]["linear"], find_target(to)
    formula = formula_of(ranker)
    (part,) = formula.parts
    mean = tuple(replace(one, missing=0.3) for one in part.inputs)
    planted = formula._replace(parts=(part._replace(inputs=mean),))
    with pytest.raises(InputError, match="rows have other scores"):
        verify(target.content(planted), target, formula, ranker)


def test_scaled_trees_that_send_missing_features_another_way_are_for_new_versions(tmp_path):
    q = data()
    far_from_zero = replace(q, features=q.features + 5.0)
    ranker = dx.BoostedRanker(n_trees=5, scale="standard").fit_queries(far_from_zero)
    with rejects(InputError):
        dx.export(ranker, tmp_path / "m", to="elasticsearch:1.5.8")
    assert "from 1.5.9 on" in dx.export(ranker, tmp_path / "m", to="elasticsearch").note
