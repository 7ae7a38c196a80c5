"""Features of candidates: every formula on every field and analyzer, and the scores of other runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.trec.join import check_overlap, qrels_of, run_of
from directrix.data.trec.runs import Qrels, Run
from directrix.errors import InputError
from directrix.text.corpus import Corpus
from directrix.text.documents import query_texts
from directrix.text.formulas import FORMULAS, Matched
from directrix.types import Array, Float64Array, Int64Array, Progress


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """Candidates of queries, and which of their features to compute."""

    index: Corpus
    texts: dict[str, str]
    run: Run
    chosen: Sequence[int]
    """Places of the run's queries that are used."""
    qrels: Qrels | None
    runs: dict[str, Run]
    """Of other systems, by the name of their feature."""
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        index: Corpus,
        queries: Any,
        run: Any,
        qrels: Any,
        runs: Iterable[Run],
        names: Sequence[str] | None,
    ) -> TextFeatures:
        """Check what users give; see `Index.features`."""
        run = run_of(run)
        judged = None if qrels is None else qrels_of(qrels)
        others = list(runs)
        by_name = {f"run.{other.tag}": other for other in others}
        if len(by_name) < len(others):
            raise InputError(
                "two runs have the same tag; features need different names. For runs in memory type "
                "dataclasses.replace(run, tag='other')."
            )
        known = [*names_of_features(index), *by_name]
        chosen = tuple(known if names is None else names)
        if unknown := [name for name in chosen if name not in known]:
            raise InputError(
                f"there is no feature {unknown[0]!r} ({len(unknown)} of {len(chosen)}); index and runs give "
                f"{len(known)}, such as {known[0]} and {known[-1]}. Build the index with the same fields and "
                "analyzers, and give the same runs."
            )
        if judged is not None:
            check_overlap(run, judged)
        for other in others:
            check_overlap(run, other)
        in_qrels = None if judged is None else set(judged.query_ids)
        places = [q for q, name in enumerate(run.query_ids) if in_qrels is None or name in in_qrels]
        return cls(index, query_texts(queries), run, places, judged, by_name, chosen)

    def queries(self, progress: Progress | None = None, part: slice = slice(None)) -> Queries:
        """Compute the features of some of the queries; the same bits in whatever parts."""
        chosen = self.chosen[part]
        blocks, labels = [], []
        for done, q in enumerate(chosen):
            name = self.run.query_ids[q]
            if progress is not None:
                progress((part.start or 0) + done, len(self.chosen), name)
            docs = self.run.doc_ids[self.run.qptr[q] : self.run.qptr[q + 1]]
            blocks.append(self._of_query(name, docs))
            labels.append(self._labels(name, docs))
        return Queries(
            np.concatenate(blocks),
            np.concatenate(labels),
            np.cumsum([0, *map(len, labels)]).astype(np.int64),
            tuple(self.run.query_ids[q] for q in chosen),
            np.concatenate([self.run.doc_ids[self.run.qptr[q] : self.run.qptr[q + 1]] for q in chosen]),
            self.names,
            np.arange(sum(map(len, labels))),
        )

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
        out = np.empty((len(docs), len(self.names)), dtype=np.float32)
        matched: dict[tuple[str, str], Matched] = {}
        for column, feature in enumerate(self.names):
            if feature in self.runs:
                out[:, column] = _scores(self.runs[feature], name, docs)
                continue
            formula, field, analyzer = split_name(feature)
            if (field, analyzer) not in matched:
                matched[field, analyzer] = _matched(self.index, self.texts[name], field, analyzer, rows)
            out[:, column] = FORMULAS[formula](matched[field, analyzer])
        return out

    def _labels(self, name: str, docs: Array) -> Float64Array:
        if self.qrels is None:
            return np.zeros(len(docs))
        known = self.qrels.of_query(self.qrels.query_ids.index(name))
        return np.array([max(known.get(doc, 0.0), 0.0) for doc in docs])


def names_of_features(index: Corpus) -> list[str]:
    """Return the names of all features of an index, those of one field and analyzer together."""
    groups = [(field, analyzer) for field in index.text_fields for analyzer in index.analyzers]
    return [f"{formula}.{field}.{analyzer}" for field, analyzer in groups for formula in FORMULAS]


def split_name(feature: str) -> tuple[str, str, str]:
    """Return formula, field and analyzer of a feature; a field may have dots, as may numbers of formulas."""
    formula = max((name for name in FORMULAS if feature.startswith(name + ".")), key=len)
    field, _, analyzer = feature.removeprefix(formula + ".").rpartition(".")
    return formula, field, analyzer


def _matched(index: Corpus, text: str, field: str, analyzer: str, rows: Int64Array) -> Matched:
    """Find the terms of a query in a field of its candidates."""
    terms, numbers = index.terms(field, analyzer), index.vocabulary(analyzer).numbers
    words = index.query_terms(text, analyzer)
    in_query = Counter(words)
    place = {word: i for i, word in enumerate(in_query)}
    known = np.array([numbers.get(word, -1) for word in in_query], dtype=np.int64)
    follows = np.zeros((len(place), len(place)), dtype=np.bool_)
    for first, second in pairwise(words):
        follows[place[first], place[second]] = True
    df, cf = (np.where(known >= 0, counts[known], 0) for counts in terms.counts)
    return Matched(
        terms.match(known, follows, rows),
        np.array(list(in_query.values()), dtype=np.float64),
        df,
        cf,
        terms.lengths[rows].astype(np.float64),
        terms.vector_lengths[rows],
        terms.n_docs,
        terms.n_tokens,
        terms.mean_length,
    )


def _scores(run: Run, query: str, docs: Array) -> Float64Array:
    """Return the scores of documents in a run; the lowest of the query for those that it lacks."""
    if query not in run.query_ids:
        return np.zeros(len(docs))
    q = run.query_ids.index(query)
    first, last = run.qptr[q], run.qptr[q + 1]
    of = dict(zip(run.doc_ids[first:last], run.scores[first:last], strict=True))
    lowest = float(run.scores[first:last].min())
    return np.array([of.get(doc, lowest) for doc in docs])
