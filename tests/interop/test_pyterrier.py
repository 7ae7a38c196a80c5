"""Transformers of PyTerrier, and data sets of ir_datasets, with the packages themselves."""

import numpy as np
import pandas as pd
import pytest

import directrix as dx
from directrix.text import Index
from tests.messages import rejects

pt = pytest.importorskip("pyterrier")
WORDS = [f"w{i}" for i in range(30)]


@pytest.fixture(scope="module")
def texts():
    """An index, topics and judgments: relevant are documents with the words of the query near each other."""

    def places(text, query, number):
        return [i for i, word in enumerate(text.split()) if word == query.split()[number]] or [
            number * 99 - 9
        ]

    rng = np.random.default_rng(1)
    documents = {f"d{d}": " ".join(rng.choice(WORDS, 12)) for d in range(150)}
    queries = {str(q): " ".join(rng.choice(WORDS, 2, replace=False)) for q in range(20)}
    rows = [
        (q, d, 1)
        for q, query in queries.items()
        for d, text in documents.items()
        if min(abs(i - j) for i in places(text, query, 0) for j in places(text, query, 1)) < 4
    ]
    topics = pd.DataFrame(list(queries.items()), columns=["qid", "query"])
    return Index.build(documents), topics, pd.DataFrame(rows, columns=["qid", "docno", "label"])


# of PyTerrier itself with pandas 3.1
@pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:There are shared pipeline")
def test_a_pipeline_is_fitted_and_evaluated_by_pyterrier(texts):
    from directrix.interop.pyterrier import Candidates, Features, Rerank

    index, topics, qrels = texts
    first = Candidates(index, k=50)
    pipeline = first >> Features(index) >> Rerank(dx.LinearRanker("ApproxAP(alpha=10.0)", max_iter=20))
    pipeline.fit(topics[:10], qrels, topics[10:15], qrels)
    table = pt.Experiment([first, pipeline], topics[15:], qrels, ["map"])
    assert table["map"][1] > table["map"][0]


def test_features_keep_the_order_of_rows_whatever_it_is(texts):
    from directrix.interop.pyterrier import Candidates, Features

    index, topics, _ = texts
    results = Candidates(index, k=5)(topics).sample(frac=1.0, random_state=0)
    found = Features(index, ["bm25.text.english+stop", "length.text.none"])(results)
    assert found["docno"].tolist() == results["docno"].tolist()
    np.testing.assert_allclose(np.stack(found["features"])[:, 0], results["score"], rtol=1e-6)


def test_columns_of_topics_are_kept_and_ranks_begin_at_zero(texts):
    from directrix.interop.pyterrier import Candidates

    index, topics, _ = texts
    found = Candidates(index, k=3)(topics.assign(user="u"))
    assert set(found.columns) == {"qid", "query", "user", "docno", "score", "rank"}
    assert found[found["qid"] == "0"]["rank"].tolist() == [0, 1, 2]


def test_results_without_features_and_without_rows(texts):
    from directrix.interop.pyterrier import Candidates, Features, Rerank

    index, topics, qrels = texts
    nothing = (Candidates(index) >> Features(index))(topics[:0])
    assert {"docno", "score", "rank", "features"} <= set(nothing.columns)
    assert not len(Rerank(dx.LinearRanker())(nothing))
    results = Candidates(index, k=3)(topics)
    with rejects(dx.InputError):
        Rerank(dx.LinearRanker()).fit(results, qrels)


def test_a_data_set_of_ir_datasets_is_taken_as_it_is(tmp_path):
    ir_datasets = pytest.importorskip("ir_datasets")
    (tmp_path / "d.tsv").write_text("d1\twings in a slipstream\nd2\theat\n")
    (tmp_path / "q.tsv").write_text("7\twing\n")
    (tmp_path / "qrels").write_text("7 0 d1 2\n")
    data = ir_datasets.create_dataset(
        docs_tsv=str(tmp_path / "d.tsv"),
        queries_tsv=str(tmp_path / "q.tsv"),
        qrels_trec=str(tmp_path / "qrels"),
    )
    index = Index.build(data)
    run = index.candidates(data)
    assert run.doc_ids.tolist() == ["d1"]
    assert index.features(data, run, data).labels.tolist() == [2.0]
    assert dx.evaluate("AP", run=run, qrels=data)["AP"] == 1.0
