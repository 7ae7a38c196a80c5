"""Rankers on features that stay in a file."""

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.data.tables.read import open_parquet
from directrix.data.tables.write import write_parquet
from directrix.errors import InputError


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    q, _ = make_linear(60, 20, 6, seed=1)
    q = dx.Queries.from_arrays(q.features.astype(np.float32), q.labels, group=np.diff(q.qptr))
    path = tmp_path_factory.mktemp("stored") / "data.arrow"
    write_parquet(q, path)
    return q, open_parquet(path)


@pytest.mark.parametrize("trainer", ["lbfgs", "cg", "sgd", "adam"])
@pytest.mark.parametrize("scale", [None, "standard", "query-minmax"])
def test_a_ranker_is_the_one_trained_in_memory(both, trainer, scale):
    """Of one block, so that the order of stochastic trainers is the same too."""
    rankers = [
        dx.LinearRanker(trainer=trainer, scale=scale, start="zero", max_iter=3, random_state=0).fit_queries(
            q.take(range(40)), q.take(range(40, 60))
        )
        for q in both
    ]
    np.testing.assert_allclose(rankers[1].coef_, rankers[0].coef_, rtol=1e-4, atol=1e-6)
    scores = [rankers[0].predict_queries(q) for q in both]
    assert scores[0].tobytes() == scores[1].tobytes()
    if scale is None:
        assert rankers[1].training_["data"] == rankers[0].training_["data"]  # the digest too


def test_weights_and_the_regression_start(both):
    fitted = [
        dx.LinearRanker(max_iter=2).fit_queries(
            q, query_weight=np.arange(60.0), doc_weight=np.linspace(0.0, 1.0, 1200)
        )
        for q in both
    ]
    np.testing.assert_allclose(fitted[1].coef_, fitted[0].coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "ranker",
    [dx.MLPRanker(), dx.LinearRanker(trainer="coordinate-ascent"), dx.LinearRanker(trainer="svm-acc")],
)
def test_what_needs_the_matrix_refuses(both, ranker):
    with rejects(InputError):
        ranker.fit_queries(both[1])


def test_values_that_are_not_finite_are_found_before_training(tmp_path):
    import pyarrow as pa

    features = pa.array([[1.0, 2.0], [0.0, np.nan], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    table = pa.table({"qid": [1, 1, 2], "label": [0, 1, 0], "features": features})
    with pa.OSFile(str(tmp_path / "nan.arrow"), "w") as f, pa.ipc.new_file(f, table.schema) as writer:
        writer.write_table(table)
    with rejects(InputError):
        dx.LinearRanker().fit_queries(open_parquet(tmp_path / "nan.arrow"))
