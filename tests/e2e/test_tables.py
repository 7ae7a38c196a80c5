"""Real data as tables of other tools: the same figures as from LETOR text and TREC files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import directrix as dx
from tests.commands import succeed

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def fold(data_dir):
    """Training and test data of a fold, as `Queries` and as columns."""
    folder = data_dir / "letor" / "OHSUMED" / "Fold1"
    found = {}
    for name in ("train", "test"):
        q = dx.read_letor(folder / f"{name}.txt")
        columns = {
            "query_id": np.repeat(q.query_ids, np.diff(q.qptr)),
            "doc_id": q.doc_ids,
            "relevance": q.labels,
        }
        columns |= {f"x{i}": q.features[:, i] for i in range(q.n_features)}
        found[name] = folder / f"{name}.txt", q, columns
    return found


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_train_the_model_of_the_text(fold, frame):
    (_, q, _), (_, test, _) = fold["train"], fold["test"]
    own, other = (dx.Queries.from_frame(frame(fold[name][2])) for name in ("train", "test"))
    np.testing.assert_array_equal(own.features, q.features)
    expected = dx.LinearRanker("ApproxNDCG", max_iter=20).fit_queries(q)
    found = dx.LinearRanker("ApproxNDCG", max_iter=20).fit_queries(own)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.predict_queries(other), expected.predict_queries(test))


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_files_evaluate_to_the_figures_of_the_text(fold, tmp_path, form):
    text, q, columns = fold["test"]
    frame, path = pd.DataFrame(columns).rename(columns={"query_id": "session"}), tmp_path / f"test.{form}"
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True, double_precision=15),
        "parquet": lambda: frame.to_parquet(path, index=False),
    }[form]()
    scores = tmp_path / "scores.txt"
    scores.write_text("".join(f"{score}\n" for score in q.features[:, 3]))
    options = ("-m", "AP,nDCG@10,RR", "-f", "json")
    expected = succeed("evaluate", text, scores, *options).stdout
    assert succeed("evaluate", path, scores, "--qid-column", "session", *options).stdout == expected
    piped = succeed(
        "evaluate", "-", scores, "--qid-column", "session", *options, given=path.read_bytes()
    ).stdout
    assert piped == expected


def test_trec_evals_names_give_trec_evals_values(data_dir, tmp_path):
    ir_measures = pytest.importorskip("ir_measures")
    folder = data_dir / "trec7"
    qrels, run = folder / "qrels.trec7.txt", folder / "runs" / "basic-TF_IDF_5.res.gz"
    names = ["map", "recip_rank", "P_5", "recall_100", "success_1", "map_cut_100", "ndcg_cut_10"]
    found = dx.evaluate(names, run=run, qrels=qrels, convention="trec_eval")
    frames = (
        pd.read_csv(qrels, sep=" ", names=["query_id", "i", "doc_id", "relevance"], dtype={0: str}),
        pd.read_csv(run, sep=" ", names=["query_id", "q", "doc_id", "rank", "score", "tag"], dtype={0: str}),
    )
    from ir_measures import AP, RR, P, R, Success, nDCG

    meant = [AP, RR, P @ 5, R @ 100, Success @ 1, AP @ 100, nDCG @ 10]
    other = ir_measures.calc_aggregate(meant, *frames)
    for name, measure in zip(names, meant, strict=True):
        np.testing.assert_allclose(found[name], other[measure], atol=5e-5, rtol=0)
