"""A model inside a search engine: SQLite's full-text index, candidates, features and model in one query.

    python benchmarks/bench_engine.py [--data DATA]

The 1,400 abstracts of Cranfield are indexed by FTS5. For each of the 225 queries one SELECT finds 100
candidates by BM25 and their features; an exported model, trained on the queries of four folds, ranks
those of the fifth in the same SELECT. nDCG@10 counts every judged document (grades 1 best to 4 have
labels 4 to 1; the undocumented -1 has 0). "gain" is that over BM25 by query, with its standard error.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import statistics
import tempfile
import time
import warnings
from contextlib import closing
from pathlib import Path

import bench_letor as letor
import numpy as np

import directrix as dx

FEATURES = ("bm25", "bm25_title", "bm25_body", "bm25_authors", "body_size", "title_size")
CANDIDATES = """
SELECT rowid AS doc,
-bm25(docs, 1, 1, 0) AS bm25, -bm25(docs, 1, 0, 0) AS bm25_title, -bm25(docs, 0, 1, 0) AS bm25_body,
-bm25(docs, 0, 0, 1) AS bm25_authors, length(body) AS body_size, length(title) AS title_size
FROM docs WHERE docs MATCH ? ORDER BY bm25 DESC LIMIT 100
"""


def smart(path, *fields):
    """Texts of a file of the SMART format, by their place from 1 and by field."""
    for place, entry in enumerate(re.split(r"^\.I \d+\n", path.read_text(), flags=re.MULTILINE)[1:], start=1):
        parts = re.split(r"^\.([A-Z])\n", entry, flags=re.MULTILINE)
        found = dict(zip(parts[1::2], parts[2::2], strict=True))
        yield place, *(found.get(field, "") for field in fields)


def judgements(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    judged = {}
    for query, doc, grade in rows:
        judged.setdefault(query, {})[doc] = float(5 - int(grade)) if grade != "-1" else 0.0
    return dx.data.Qrels.from_frame(judged)


def match(text):
    """The query of FTS5 that asks for any of the words."""
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"[a-z]{2,}", text.lower())))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    folder = parser.parse_args().data / "text" / "cranfield"
    if not folder.exists():
        print(f"no data in {folder}")
        return
    warnings.simplefilter("ignore")
    queries = {str(place): match(text) for place, text in smart(folder / "cran.qry", "W")}
    qrels = judgements(folder / "cranqrel")
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE docs USING fts5(title, body, authors, tokenize='porter')")
        rows = list(smart(folder / "cran.all.1400", "T", "W", "A"))
        database.executemany("INSERT INTO docs (rowid, title, body, authors) VALUES (?, ?, ?, ?)", rows)
        table = [
            (query, *row) for query, text in queries.items() for row in database.execute(CANDIDATES, (text,))
        ]
        judged = {q: qrels.rows_of(n) for n, q in enumerate(qrels.query_ids)}
        labels = [qrels.labels[judged[q][str(doc)]] if str(doc) in judged[q] else 0.0 for q, doc, *_ in table]
        q = dx.Queries.from_arrays(
            np.array([row[2:] for row in table]),
            labels,
            qid=[row[0] for row in table],
            feature_names=FEATURES,
        )
        models = {
            "BM25 alone": None,
            "linear": dx.LinearRanker("ApproxNDCG(alpha=10)", scale="standard"),
            "trees": dx.BoostedRanker("YetiRank('nDCG@10')", n_trees=100, num_leaves=7, l2=20.0),
        }
        print(f"Cranfield, {len(queries)} queries, SQLite {sqlite3.sqlite_version}\n")
        print(f"{'':12}{'nDCG@10':>9}{'gain':>9}{'+-':>8}{'ms a query':>12}  verified")
        first = None
        for name, ranker in models.items():
            per_query, seconds, said = ranked(ranker, q, queries, qrels, database)
            first = per_query if first is None else first
            gain = per_query - first
            error = np.std(gain, ddof=1) / np.sqrt(len(gain))
            print(
                f"{name:12}{per_query.mean():9.4f}{gain.mean():+9.4f}{error:8.4f}"
                f"{1e3 * seconds:12.2f}  {said}"
            )


def ranked(ranker, q, queries, qrels, database):
    """nDCG@10 by query, ranked by a model of the other folds; seconds of a SELECT; what was verified."""
    scores, seconds, sentences = {}, [], set()
    for train, test in dx.data.k_folds(q, 5, seed=0):
        sql, value = CANDIDATES, "bm25"
        if ranker is not None:
            ranker.fit_queries(train)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.sql")
                found = dx.export(ranker, path, to="sql", check=test)
                sentences.add(f"order of {found.n_queries - found.n_other_order}/{found.n_queries} queries")
                sql, value = (
                    f"WITH features AS ({CANDIDATES}) {path.read_text()} ORDER BY score DESC",
                    "score",
                )
        for query in test.query_ids:
            start = time.perf_counter()
            cursor = database.execute(sql, (queries[query],))
            place = [column for column, *_ in cursor.description].index(value)
            scores[query] = {str(row[0]): row[place] for row in cursor}
            seconds.append(time.perf_counter() - start)
    run = dx.data.Run.from_frame(scores)
    per_query = dx.evaluate("nDCG@10", run=run, qrels=qrels, per_query=True)["nDCG@10"]
    return np.asarray(per_query), statistics.median(seconds), ", ".join(sorted(sentences)) or "-"


if __name__ == "__main__":
    main()
