"""Transformers of PyTerrier: candidates and features from an index, and re-ranking by a ranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.data.trec.runs import Run
from directrix.errors import InputError, MissingExtra

try:
    import pyterrier as pt
except ImportError as error:
    raise MissingExtra("pyterrier", "for transformers of PyTerrier") from error

__all__ = ["Candidates", "Features", "Rerank"]


class Candidates(pt.Transformer):
    """Retrieve the best documents of queries by BM25.

    Parameters
    ----------
    index : Index
        From `directrix.text.Index.build` or `load`.
    k : int >= 1
        Documents per query.
    **options
        As in `Index.candidates`: ``field``, ``analyzer``, ``k1``, ``b``.

    Examples
    --------
    >>> import pandas as pd, directrix as dx
    >>> from directrix.interop.pyterrier import Candidates, Features, Rerank
    >>> index = dx.text.Index.build({"d1": "wings in a slipstream", "d2": "heat in slabs"})
    >>> topics = pd.DataFrame({"qid": ["1", "2"], "query": ["wing of slabs", "heat"]})
    >>> results = (Candidates(index, k=100) >> Features(index))(topics)
    >>> results.docno.tolist()
    ['d1', 'd2', 'd2']
    >>> qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d2"], "label": [1, 1]})
    >>> rerank = Rerank(dx.LinearRanker("ApproxAP(alpha=10.0)")).fit(results, qrels)
    >>> rerank(results)["rank"].tolist()
    [0, 1, 0]
    """

    def __init__(self, index: Any, k: int = 1000, **options: Any) -> None:
        self.index, self.k, self.options = index, k, options

    def transform(self, topics: Any) -> Any:
        """Add documents, scores and ranks to queries with columns qid and query; other columns are kept."""
        texts = dict(zip(topics["qid"], topics["query"], strict=True))
        if not texts:
            return topics.assign(docno=[], score=[], rank=[])
        run = self.index.candidates(texts, self.k, **self.options)
        qid = np.repeat(np.array(run.query_ids, dtype=object), np.diff(run.qptr))
        frame = type(topics)({"qid": qid, "docno": run.doc_ids, "score": run.scores})
        kept = topics.drop(columns=["docno", "score", "rank"], errors="ignore")
        return _ranked(kept.merge(frame, on="qid"))


class Features(pt.Transformer):
    """Features of candidates as the column ``features``; see `Index.features`.

    Parameters
    ----------
    index : Index
    names : sequence of str, optional
        Features to compute, in this order. Default: all features of the index.
    """

    def __init__(self, index: Any, names: Sequence[str] | None = None) -> None:
        self.index, self.names = index, names

    def transform(self, results: Any) -> Any:
        """Add features to results with columns qid, query and docno; the order of rows is kept."""
        if not len(results):
            return results.assign(features=[])
        run = Run.from_frame(
            {"qid": results["qid"], "docno": results["docno"], "score": np.zeros(len(results))}
        )
        texts = dict(zip(results["qid"], results["query"], strict=True))
        q = self.index.features(texts, run, names=self.names)
        # The index returns features grouped by query, in the order in which queries first appear.
        rows = np.argsort(_places(results["qid"]), kind="stable")
        features = np.empty_like(q.features)
        features[rows] = q.features
        return results.assign(features=list(features))


class Rerank(pt.Estimator):
    """Score documents by a ranker, from the column ``features``.

    Parameters
    ----------
    ranker : estimator
        Any ranker of directrix, e.g. ``LinearRanker()``, or a fitted one, which needs no `fit`.
    missing : {"nan", "zero"}, optional
        Meaning of missing features. Default: an error, or that of the training data of a fitted ranker.
    """

    def __init__(self, ranker: Any, *, missing: str | None = None) -> None:
        self.ranker, self.missing = ranker, missing

    def fit(self, results_tr: Any, qrels_tr: Any, results_va: Any = None, qrels_va: Any = None) -> Rerank:
        """Train; results and judgments for validation, if given, choose the iteration.

        Documents without a judgment have label 0, as do those with a negative one.
        """
        _check(results_tr)
        X, y = _labeled(results_tr, qrels_tr)
        options: dict[str, Any] = {}
        if results_va is not None and len(results_va):
            options = {"eval_set": [_labeled(results_va, qrels_va)], "eval_qid": [list(results_va["qid"])]}
        rule = self.missing or "error"
        self.ranker.fit(X, y, qid=list(results_tr["qid"]), missing=rule, **options)
        return self

    def transform(self, results: Any) -> Any:
        """Replace the column of scores, and the ranks."""
        if not len(results):
            return results
        _check(results)
        return _ranked(results.assign(score=self.ranker.predict(_matrix(results), missing=self.missing)))


def _ranked(results: Any) -> Any:
    """Add ranks from 0, as PyTerrier counts them; equal scores keep the order of rows."""
    ranks = results.groupby("qid")["score"].rank(ascending=False, method="first")
    return results.assign(rank=ranks.astype(int) - 1)


def _check(results: Any) -> None:
    if "features" not in results.columns:
        raise InputError(
            f"the results have the columns {', '.join(map(str, results.columns))}, and no features; type "
            "e.g. Features(index) >> Rerank(ranker)."
        )


def _labeled(results: Any, qrels: Any) -> tuple[Any, Any]:
    # A left join keeps the order of the results, and documents without a judgment.
    merged = results[["qid", "docno"]].merge(
        qrels[["qid", "docno", "label"]], how="left", on=["qid", "docno"]
    )
    return _matrix(results), np.maximum(merged["label"].fillna(0).to_numpy(dtype=np.float64), 0.0)


def _matrix(results: Any) -> Any:
    return np.stack([np.asarray(row) for row in results["features"]])


def _places(qids: Any) -> Any:
    """Return the number of each row's query, in order of first appearance."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(qid, len(numbers)) for qid in qids])
