"""Candidates and features of text: ``python -m benchmarks text`` prints quality and seconds.

The collections are Cranfield, CACM and NPL, found as the tests find them.

1. MAP of BM25 (k1 = 1.2, b = .75, Porter's stems, no stop words, all fields) by the feature, by bm25s, by
   tantivy on the same terms, and by Lucene with its own analysis of the text, if ``--anserini`` names the jar
   of Anserini (a pyserini wheel has it). The goal is .01 of Lucene.
2. Re-ranking of 200 candidates: a method that half of the queries train, its settings chosen in folds of this
   half, on the other half, for five random halves, against the single feature that is best on the same
   training queries. The value of a query is the mean over the halves that test it; the interval, of Student's
   t, is over queries. Relevant documents that are no candidates count. "auto" is what `directrix train` does
   without --method, with ``--auto-seconds`` as its --time-budget.
3. Seconds and peak memory of 42 features of 1,000 queries x 1,000 candidates of 100,000 artificial documents.
   The goal is 300 seconds.
4. The libraries that find candidates, on the terms of the same documents; tantivy if it is installed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import directrix as dx
from directrix.data import Run, join_trec, make_texts
from directrix.experiments.significance import compare
from directrix.papers.yue2007_data import Texts, read_texts
from directrix.text import Index
from directrix.text.documents import iter_documents

ANALYZER = "porter+stop"
MEASURES = ("nDCG@10", "AP")
METHODS = ("ApproxNDCG", "RankSVM")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anserini", type=Path, help="jar of Anserini, run by java")
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))
    parser.add_argument("--docs", type=int, default=100_000, help="number of artificial documents")
    parser.add_argument(
        "--auto-seconds", type=float, default=300.0, help="time budget of each training of auto; 0: no limit"
    )
    parser.add_argument("--collection", action="append", help="only these; default: all three")
    parser.add_argument(
        "--method", action="append", help="such as auto, which takes minutes; default: ApproxNDCG, RankSVM"
    )
    options = parser.parse_args()
    collections = read_texts(options.data)
    if not collections:
        print(f"not measured: no text/ in {options.data}; give --data or set DIRECTRIX_DATA")
    collections = {k: v for k, v in collections.items() if k in (options.collection or collections)}
    map_of_bm25(collections, options.anserini)
    gains(collections, options.method or METHODS, options.auto_seconds or None)
    print()
    seconds_of_features(options.docs)


def map_of_bm25(collections: dict[str, Texts], anserini: Path | None) -> None:
    heads = "".join(f"{head:>9}" for head in ("feature", "bm25s", "tantivy", "Lucene"))
    print(f"{'MAP of BM25':12}{heads}  feature - Lucene")
    for name, texts in collections.items():
        index = Index.build(texts.documents, analyzers=[ANALYZER])
        judged = {q: text for q, text in texts.queries.items() if q in texts.qrels.query_ids}
        found = index.candidates(judged, 1000)
        q = index.features(judged, found, names=[f"bm25.{index.whole}.{ANALYZER}"])
        runs = {
            "feature": Run.from_scores(q, q.features[:, 0]),
            "bm25s": found,
        }
        if find_spec("tantivy"):
            runs["tantivy"] = _by_tantivy(index, judged)
        if anserini is not None:
            runs["lucene"] = _by_lucene(texts, judged, anserini)
        values = dict.fromkeys(("feature", "bm25s", "tantivy", "lucene"), np.nan)
        values |= {of: dx.evaluate("AP", run=run, qrels=texts.qrels)["AP"] for of, run in runs.items()}
        lucene = values["lucene"]
        shown = "".join(f"{value:9.4f}" for value in values.values())
        print(f"{name:12}{shown}{values['feature'] - lucene:+18.4f}", flush=True)


def gains(collections: dict[str, Texts], methods: Sequence[str], budget: float | None) -> None:
    print(f"\n{'':12} {'':14} {'measure':8} {'value':>7} {'feature':>8} {'gain':>7}  95 % interval")
    for name, texts in collections.items():
        index = Index.build(texts.documents, analyzers=["none", ANALYZER])
        run = index.candidates({q: t for q, t in texts.queries.items() if q in texts.qrels.query_ids}, 200)
        q = index.features(texts.queries, run, texts.qrels)
        halves = [np.random.default_rng(seed).permutation(q.n_queries) for seed in range(5)]
        for what in methods:
            limit = budget if what == "auto" else None
            for measure, values, best in _tested(q, texts, halves, what, limit):
                gain = compare({"ranker": values, "feature": best}).pairs[0]
                print(
                    f"{name:12} {what:14} {measure:8} {values.mean():7.4f} {best.mean():8.4f} "
                    f"{gain.difference:+7.4f}  [{gain.interval[0]:+.4f}, {gain.interval[1]:+.4f}]",
                    flush=True,
                )


def _tested(
    q: dx.Queries, texts: Texts, halves: list[Any], method: str, budget: float | None = None
) -> Iterator[tuple[str, Any, Any]]:
    """Yield, for every measure, values of the test queries by the ranker and by the best single feature."""
    n = q.n_queries
    sums = {measure: np.zeros((2, n)) for measure in MEASURES}
    counts = np.zeros(n)
    for order in halves:
        train, test = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
        of_train, of_test = q.take(train), q.take(test)
        single = [_values(of_train, texts, column).mean(axis=1) for column in of_train.features.T]
        ranker = dx.AutoRanker(method=method, by_query=True, time_budget=budget).fit_queries(of_train)
        values = _values(of_test, texts, ranker.predict_queries(of_test))
        for m, measure in enumerate(MEASURES):
            best = int(np.argmax([means[m] for means in single]))
            sums[measure][0, test] += values[m]
            sums[measure][1, test] += _values(of_test, texts, of_test.features[:, best])[m]
        counts[test] += 1
    is_tested = counts > 0
    for measure, (of_ranker, of_feature) in sums.items():
        yield measure, of_ranker[is_tested] / counts[is_tested], of_feature[is_tested] / counts[is_tested]


def _values(q: dx.Queries, texts: Texts, scores: Any) -> Any:
    """Return the measures of every query, (n_measures, n_queries)."""
    joined = join_trec(Run.from_scores(q, scores), texts.qrels)
    values = dx.evaluate(list(MEASURES), run=joined, per_query=True)
    return np.array([values[measure] for measure in MEASURES])


def seconds_of_features(n_docs: int) -> None:
    texts = make_texts(n_docs, 1000, words_per_doc=150)
    documents = [{"docno": name, "text": f"{d['title']} {d['text']}"} for name, d in texts.documents.items()]
    print(f"{n_docs} documents, 1000 queries")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.index"
        index = _timed("index", lambda: Index.build(documents, analyzers=["none", "english", "english+stop"]))
        _timed("save", lambda: index.save(path))
        index = _timed("load", lambda: Index.load(path))
    run = _timed("1000 candidates each", lambda: index.candidates(texts.queries, 1000))
    one = Run(run.tag, run.query_ids[:1], run.qptr[:2], run.doc_ids[: run.qptr[1]], run.scores[: run.qptr[1]])
    index = replace(index)  # computes its statistics again
    index.features({run.query_ids[0]: texts.queries[run.query_ids[0]]}, one)  # compiles
    index = replace(index)
    before = _peak()
    q = _timed("features", lambda: index.features(texts.queries, run))
    print(
        f"{q.n_docs} rows x {q.n_features} features; peak {_peak():.1f} GiB, of these "
        f"{_peak() - before:.1f} GiB more than before"
    )
    print(f"\n{'library':10} {'index, s':>9} {'ms a query':>11} {'GiB':>6}")
    terms = index.terms("text", "english+stop")
    numbers = index.vocabulary("english+stop").numbers
    queries = [
        [numbers[term] for term in index.query_terms(text, "english+stop") if term in numbers]
        for text in texts.queries.values()
    ]
    for library in (_bm25s, _tantivy) if find_spec("tantivy") else (_bm25s,):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            built, found, memory = pool.apply(_measured, (library, terms, queries))
        print(
            f"{library.__name__[1:]:10} {built:9.1f} {found / len(queries) * 1000:11.2f} {memory:6.2f}",
            flush=True,
        )


def _measured(library: Any, terms: Any, queries: list[list[int]]) -> tuple[float, float, float]:
    before, begun = _peak(), time.perf_counter()
    search = library(terms)
    built = time.perf_counter() - begun
    search(queries[0])
    begun = time.perf_counter()
    for query in queries:
        search(query)
    return built, time.perf_counter() - begun, _peak() - before


def _bm25s(terms: Any) -> Callable[[list[int]], Any]:
    from directrix.text.index import scorer

    score = scorer(terms, 1.2, 0.75)

    def search(query: list[int]) -> Any:
        of = score(query)
        chosen = np.flatnonzero(of > 0.0)
        return chosen[np.argsort(-of[chosen], kind="stable")[:1000]]

    return search


def _tantivy(terms: Any) -> Callable[[list[int]], Any]:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace")
    builder.add_integer_field("row", stored=True, fast=True)
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=500_000_000, num_threads=1)
    ids, offsets = terms.tokens
    for row in range(len(offsets) - 1):
        text = " ".join(f"t{term}" for term in ids[offsets[row] : offsets[row + 1]])
        writer.add_document(tantivy.Document(text=text, row=row))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: list[int]) -> Any:
        any_of = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", f"t{term}")) for term in query
        ]
        hits = searcher.search(tantivy.Query.boolean_query(any_of), 1000).hits
        return [(score, searcher.doc(address)["row"][0]) for score, address in hits]

    return search


def _by_tantivy(index: Index, queries: dict[str, str]) -> Run:
    terms, numbers = index.terms(index.whole, ANALYZER), index.vocabulary(ANALYZER).numbers
    search, found = _tantivy(terms), {}
    for name, text in queries.items():
        known = [numbers[term] for term in index.query_terms(text, ANALYZER) if term in numbers]
        if hits := search(known):
            found[name] = {index.doc_ids[row]: score for score, row in hits}
    return Run.from_frame(found, tag="tantivy")


def _by_lucene(texts: Texts, queries: dict[str, str], jar: Path) -> Run:
    """Index and search with Anserini, which stems by Porter and leaves out the same stop words."""
    import json

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "docs").mkdir()
        with (here / "docs" / "docs.jsonl").open("w") as file:
            for _, name, fields in iter_documents(texts.documents):
                file.write(json.dumps({"id": name, "contents": " ".join(fields.values())}) + "\n")
        lines = (f"{name}\t{' '.join(text.split())}\n" for name, text in queries.items())
        (here / "queries.tsv").write_text("".join(lines))
        java = ["java", "-cp", str(jar)]
        index = ["io.anserini.index.IndexCollection", "-collection", "JsonCollection", "-input", "docs"]
        index += ["-index", "index", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
        search = ["io.anserini.search.SearchCollection", "-index", "index", "-topics", "queries.tsv"]
        search += [
            "-topicReader",
            "TsvString",
            "-output",
            "run",
            "-bm25",
            "-bm25.k1",
            "1.2",
            "-bm25.b",
            "0.75",
        ]
        for command in (index, search):
            subprocess.run([*java, *command], cwd=here, check=True, capture_output=True)
        return dx.read_trec_run(here / "run")


def _timed(what: str, work: Callable[[], Any]) -> Any:
    begun = time.perf_counter()
    result = work()
    print(f"{what:22} {time.perf_counter() - begun:7.2f} s", flush=True)
    return result


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


if __name__ == "__main__":
    main()
