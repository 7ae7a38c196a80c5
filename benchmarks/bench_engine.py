"""A model inside a search engine: full-text index, candidates, features and model in one query.

    python benchmarks/bench_engine.py [--data DATA]

The 1,400 abstracts of Cranfield are indexed by SQLite's FTS5, and by a server of PostgreSQL, where it is
installed. For each of the 225 queries one SELECT finds 100 candidates by the engine's own score, and
their features; an exported model, trained on the queries of four folds, ranks those of the fifth in the
same SELECT. nDCG@10 counts every judged document (grades 1 best to 4 have labels 4 to 1; the
undocumented -1 has 0). "gain" is that over the engine's score by query, with its standard error.
"""

from __future__ import annotations

import argparse
import csv
import re
import sqlite3
import statistics
import tempfile
import time
import warnings
from contextlib import closing, contextmanager
from pathlib import Path

import letor
import numpy as np
import postgres

import directrix as dx


class Sqlite:
    """SQLite in memory; the first feature ranks the candidates."""

    features = ("bm25", "bm25_title", "bm25_body", "bm25_authors", "body_size", "title_size")
    candidates = """
SELECT rowid AS doc,
-bm25(docs, 1, 1, 0) AS bm25, -bm25(docs, 1, 0, 0) AS bm25_title, -bm25(docs, 0, 1, 0) AS bm25_body,
-bm25(docs, 0, 0, 1) AS bm25_authors, length(body) AS body_size, length(title) AS title_size
FROM docs WHERE docs MATCH ? ORDER BY bm25 DESC LIMIT 100
"""

    def __init__(self, database, rows):
        self.name, self.database = f"SQLite {sqlite3.sqlite_version}", database
        database.execute("CREATE VIRTUAL TABLE docs USING fts5(title, body, authors, tokenize='porter')")
        database.executemany("INSERT INTO docs (rowid, title, body, authors) VALUES (?, ?, ?, ?)", rows)

    @classmethod
    @contextmanager
    def opened(cls, rows):
        with closing(sqlite3.connect(":memory:")) as database:
            yield cls(database, rows)

    def ask(self, sql, queries):
        """Rows by name, and the seconds they took, of each query."""
        for words in queries:
            start = time.perf_counter()
            cursor = self.database.execute(sql, (" OR ".join(f'"{word}"' for word in words),))
            names = [column for column, *_ in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
            yield rows, time.perf_counter() - start


class Postgres:
    """A server of PostgreSQL; its scores know no rarity of words, so a view of it is a feature."""

    features = (
        *("cover", "cover_by_size", "cover_title", "cover_body", "rank", "rank_by_size", "rank_title"),
        *("rarity", "matched", "body_size", "title_size"),
    )
    schema = """
CREATE TABLE docs (
  doc int PRIMARY KEY, title text, body text, authors text,
  in_title tsvector GENERATED ALWAYS AS (to_tsvector('english', title)) STORED,
  in_body tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED,
  in_any tsvector GENERATED ALWAYS AS (
    setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', body), 'D')
  ) STORED
);
CREATE INDEX ON docs USING gin (in_any);
"""
    words = """
CREATE TABLE words AS
SELECT word, ln((SELECT count(*) FROM docs) / ndoc::float8) AS rarity
FROM ts_stat('SELECT in_any FROM docs');
CREATE UNIQUE INDEX ON words (word);
ANALYZE;
"""
    candidates = """
SELECT doc, cover,
  ts_rank_cd(in_any, query, 1) AS cover_by_size, ts_rank_cd(in_title, query) AS cover_title,
  ts_rank_cd(in_body, query) AS cover_body, ts_rank(in_any, query) AS rank,
  ts_rank(in_any, query, 1) AS rank_by_size, ts_rank(in_title, query) AS rank_title,
  rarity, matched, length(body) AS body_size, length(title) AS title_size
FROM (
  SELECT *, ts_rank_cd(in_any, query) AS cover
  FROM docs, to_tsquery('english', $1) AS query
  WHERE in_any @@ query ORDER BY cover DESC, doc LIMIT 100
) AS found, LATERAL (
  SELECT sum(rarity) AS rarity, count(*) AS matched
  FROM words WHERE word = ANY (tsvector_to_array(to_tsvector('english', $1)))
  AND in_any @@ quote_literal(word)::tsquery
) AS of_words
ORDER BY cover DESC
"""

    def __init__(self, run, rows):
        self.run = run
        self.name = f"PostgreSQL {run('SHOW server_version').split()[0]}"
        copied = "".join(
            "\t".join([str(place), *(" ".join(text.replace("\\", " ").split()) for text in texts)]) + "\n"
            for place, *texts in rows
        )
        run(f"{self.schema}COPY docs (doc, title, body, authors) FROM STDIN;\n{copied}\\.\n{self.words}")

    @classmethod
    @contextmanager
    def opened(cls, rows):
        with postgres.server() as run:
            yield cls(run, rows)

    def ask(self, sql, queries):
        """Rows by name, and the seconds they took, of each query."""
        asked = "".join(f"EXECUTE ask ('{' | '.join(words)}');\n" for words in queries)
        printed = self.run(
            f"PREPARE ask (text) AS {sql};\n\\pset format csv\n\\pset tuples_only off\n\\timing on\n{asked}"
        )
        parts = re.split(r"^Time: ([\d.]+) ms.*\n", printed, flags=re.MULTILINE)
        for text, milliseconds in zip(parts[:-1:2], parts[1::2], strict=True):
            rows = csv.DictReader(text.splitlines())
            yield (
                [{name: float(value or 0) for name, value in row.items()} for row in rows],
                float(milliseconds) / 1e3,
            )


def smart(path, *fields):
    """Texts of a file of the SMART format, by their place from 1 and by field."""
    for place, entry in enumerate(re.split(r"^\.I \d+\n", path.read_text(), flags=re.MULTILINE)[1:], start=1):
        parts = re.split(r"^\.([A-Z])\n", entry, flags=re.MULTILINE)
        found = dict(zip(parts[1::2], parts[2::2], strict=True))
        yield place, *(found.get(field, "") for field in fields)


def judgments(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    judged = {}
    for query, doc, grade in rows:
        judged.setdefault(query, {})[doc] = float(5 - int(grade)) if grade != "-1" else 0.0
    return dx.data.Qrels.from_frame(judged)


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
    queries = {
        str(place): list(dict.fromkeys(re.findall(r"[a-z]{2,}", text.lower())))
        for place, text in smart(folder / "cran.qry", "W")
    }
    qrels = judgments(folder / "cranqrel")
    rows = list(smart(folder / "cran.all.1400", "T", "W", "A"))
    for engine in (Sqlite, Postgres):
        if engine is Postgres and postgres.programs() is None:
            print("PostgreSQL is not installed")
            continue
        with engine.opened(rows) as opened:
            report(opened, queries, qrels)


def report(engine, queries, qrels):
    """Print nDCG@10 of the engine's own order and of models in it."""
    found = engine.ask(engine.candidates, queries.values())
    table = [(query, row) for query, (rows, _) in zip(queries, found, strict=True) for row in rows]
    judged = {q: qrels.rows_of(n) for n, q in enumerate(qrels.query_ids)}
    docs = [(query, f"{row['doc']:.0f}") for query, row in table]
    q = dx.Queries.from_arrays(
        np.array([[row[name] or 0.0 for name in engine.features] for _, row in table], dtype=float),
        [qrels.labels[judged[query][doc]] if doc in judged[query] else 0.0 for query, doc in docs],
        qid=[query for query, _ in docs],
        feature_names=engine.features,
    )
    models = {
        f"{engine.features[0]} alone": None,
        "linear": dx.LinearRanker("ApproxNDCG(alpha=10)", scale="standard"),
        "trees": dx.BoostedRanker("YetiRank('nDCG@10')", n_trees=100, num_leaves=7, l2=20.0),
    }
    print(f"Cranfield, {len(queries)} queries, {engine.name}\n")
    print(f"{'':12}{'nDCG@10':>9}{'gain':>9}{'+-':>8}{'ms a query':>12}  verified")
    first = None
    for name, ranker in models.items():
        per_query, seconds, said = ranked(ranker, q, queries, qrels, engine)
        first = per_query if first is None else first
        gain = per_query - first
        error = np.std(gain, ddof=1) / np.sqrt(len(gain))
        print(f"{name:12}{per_query.mean():9.4f}{gain.mean():+9.4f}{error:8.4f}{1e3 * seconds:12.2f}  {said}")
    print()


def ranked(ranker, q, queries, qrels, engine):
    """nDCG@10 by query, ranked by a model of the other folds; seconds of a SELECT; what was verified."""
    scores, seconds, sentences = {}, [], set()
    for train, test in dx.data.k_folds(q, 5, seed=0):
        sql, value = engine.candidates, engine.features[0]
        if ranker is not None:
            ranker.fit_queries(train)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.sql")
                found = dx.export(ranker, path, to="sql", check=test)
                sentences.add(f"order of {found.n_queries - found.n_other_order}/{found.n_queries} queries")
                model, value = path.read_text(), "score"
                sql = f"WITH features AS ({engine.candidates}) {model} ORDER BY score DESC"
        asked = engine.ask(sql, [queries[query] for query in test.query_ids])
        for query, (rows, spent) in zip(test.query_ids, asked, strict=True):
            scores[query] = {f"{row['doc']:.0f}": row[value] for row in rows}
            seconds.append(spent)
    run = dx.data.Run.from_frame(scores)
    per_query = dx.evaluate("nDCG@10", run=run, qrels=qrels, per_query=True)["nDCG@10"]
    return np.asarray(per_query), statistics.median(seconds), ", ".join(sorted(sentences)) or "-"


if __name__ == "__main__":
    main()
