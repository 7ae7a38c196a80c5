"""Features of candidates: every formula on every field and analyzer, and the scores of other runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.missing import check_cells, stated
from directrix.data.queries import Queries
from directrix.data.trec.join import check_overlap, qrels_of, run_of
from directrix.data.trec.runs import Run
from directrix.errors import InputError
from directrix.text.corpus import Corpus
from directrix.text.documents import query_texts
from directrix.text.formulas import FORMULAS, Matched
from directrix.types import Array, Float64Array, Int64Array, Progress


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """Candidates of queries, and the features of them to compute."""

    index: Corpus
    texts: dict[str, str]
    run: Run
    chosen: Sequence[int]
    """Numbers of the run's queries that are used."""
    judged: dict[str, dict[str, float]] | None
    """Labels of documents by query."""
    sources: dict[str, Any]
    """For each feature the run, or the formula, field and analyzer, that gives it."""
    missing: str
    """Meaning of missing values in runs."""

    @classmethod
    def of(
        cls,
        index: Corpus,
        queries: Any,
        run: Any,
        qrels: Any,
        runs: Iterable[Run],
        names: Sequence[str] | None,
        missing: str,
    ) -> TextFeatures:
        """Check the user's arguments; see `Index.features`."""
        run, others = run_of(run), list(runs)
        by_tag = {f"run.{other.tag}": other for other in others}
        if len(by_tag) < len(others):
            raise InputError(
                "two runs have the same tag; features need different names. For runs in memory type "
                "dataclasses.replace(run, tag='other')."
            )
        all_sources = {
            f"{formula}.{field}.{analyzer}": (formula, field, analyzer)
            for field in index.text_fields
            for analyzer in index.analyzers
            for formula in FORMULAS
        } | by_tag
        chosen = tuple(all_sources if names is None else names)
        if unknown := [name for name in chosen if name not in all_sources]:
            some = list(all_sources)
            raise InputError(
                f"there is no feature {unknown[0]!r} ({len(unknown)} of {len(chosen)}); index and runs give "
                f"{len(some)}, such as {some[0]} and {some[-1]}. Build the index with the same fields and "
                "analyzers, and give the same runs."
            )
        judged: dict[str, dict[str, float]] | None = None
        if qrels is not None:
            judgments = qrels_of(qrels)
            check_overlap(run, judgments)
            judged = {name: judgments.of_query(q) for q, name in enumerate(judgments.query_ids)}
        # Another run is checked too, because one of another collection gives all documents one score.
        for other in others:
            check_overlap(run, other)
        used = [q for q, name in enumerate(run.query_ids) if judged is None or name in judged]
        sources = {name: all_sources[name] for name in chosen}
        return cls(index, query_texts(queries), run, used, judged, sources, missing)

    def queries(self, progress: Progress | None = None, part: slice = slice(None)) -> Queries:
        """Compute the features of some of the queries, with the same bits for any partition."""
        blocks, labels, docs, names = list[Array](), list[float](), list[Any](), list[str]()
        for done, q in enumerate(self.chosen[part], start=part.start or 0):
            name = self.run.query_ids[q]
            if progress is not None:
                progress(done, len(self.chosen), name)
            of_query = self.run.doc_ids[self.run.qptr[q] : self.run.qptr[q + 1]]
            blocks.append(self._of_query(name, of_query))
            judgments = {} if self.judged is None else self.judged[name]
            labels += [max(judgments.get(doc, 0.0), 0.0) for doc in of_query]
            docs.append(of_query)
            names.append(name)
        features, doc_ids = np.concatenate(blocks), np.concatenate(docs)
        qptr = np.append(0, np.cumsum([len(block) for block in blocks])).astype(np.int64)

        def place(row: int) -> str:
            return f"query {names[np.searchsorted(qptr, row, side='right') - 1]}, document {doc_ids[row]!r}"

        check_cells(features, self.missing, tuple(self.sources), place)
        computed = Queries(
            features,
            np.array(labels),
            qptr,
            tuple(names),
            doc_ids,
            tuple(self.sources),
            np.arange(len(labels)),
        )
        return stated(computed, self.missing)

    def _of_query(self, name: str, docs: Array) -> Array:
        if name not in self.texts:
            raise InputError(
                f"the candidates have query {name}, of which there is no text; the queries are "
                f"{', '.join([*self.texts][:5])} ... ({len(self.texts)}). Give the file that the candidates "
                "were found with."
            )
        if lacking := [doc for doc in docs if doc not in self.index.rows]:
            raise InputError(
                f"query {name}: document {lacking[0]!r} ({len(lacking)} of {len(docs)}) is not in the index "
                f"of {self.index.n_docs:,} documents; give the index of the candidates' documents."
            )
        rows = np.array([self.index.rows[doc] for doc in docs], dtype=np.int64)
        out = np.empty((len(docs), len(self.sources)), dtype=np.float32)
        matched: dict[tuple[str, str], Matched] = {}
        for column, source in enumerate(self.sources.values()):
            if isinstance(source, Run):
                # A value that is infinite as float32 raises an error later, with its place.
                with np.errstate(over="ignore"):
                    out[:, column] = _scores(source, name, docs)
                continue
            formula, field, analyzer = source
            # A query is matched once for all formulas of a field and an analyzer.
            if (field, analyzer) not in matched:
                matched[field, analyzer] = _matched(self.index, self.texts[name], field, analyzer, rows)
            out[:, column] = FORMULAS[formula](matched[field, analyzer])
        return out


def _matched(index: Corpus, text: str, field: str, analyzer: str, rows: Int64Array) -> Matched:
    """Find the terms of a query in a field of its candidates."""
    terms, numbers = index.terms(field, analyzer), index.vocabulary(analyzer).numbers
    words = index.query_terms(text, analyzer)
    in_query = Counter(words)
    place = {word: i for i, word in enumerate(in_query)}
    numbers_of_terms = np.array([numbers.get(word, -1) for word in in_query], dtype=np.int64)
    # Neighbors are counted by pairs of terms, in the order of the query.
    follows = np.zeros((len(place), len(place)), dtype=np.bool_)
    for first, second in pairwise(words):
        follows[place[first], place[second]] = True
    df, cf = (np.where(numbers_of_terms >= 0, counts[numbers_of_terms], 0) for counts in terms.counts)
    tf, near, adjacent = terms.match(numbers_of_terms, follows, rows)
    counts = np.array(list(in_query.values()), dtype=np.float64)
    return Matched(terms, rows, tf, near, adjacent, counts, df, cf)


def _scores(run: Run, query: str, docs: Array) -> Float64Array:
    """Return the scores in a run, NaN where missing; what it lacks gets the lowest of the query, or 0."""
    if query not in run.query_ids:
        return np.zeros(len(docs))
    q = run.query_ids.index(query)
    ranking = slice(run.qptr[q], run.qptr[q + 1])
    score_of = dict(zip(run.doc_ids[ranking], run.scores[ranking], strict=True))
    # NaN, which is not equal to itself, is a score that is missing in the run.
    lowest = min((score for score in score_of.values() if score == score), default=0.0)
    return np.array([score_of.get(doc, lowest) for doc in docs])
