"""`Index`: documents as numbers of words, from which candidates and features are computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from directrix.data.queries import Queries
from directrix.data.trec.runs import Run
from directrix.errors import InputError
from directrix.text.analysis import STOP_WORDS, Analyzer
from directrix.text.build import Progress, numbered
from directrix.text.corpus import Corpus
from directrix.text.documents import iter_documents, query_texts


@dataclass(frozen=True, eq=False)
class Index(Corpus):
    """Documents for retrieval and for features of text; made by `build` or `load`.

    Words are kept in the order of the text, so that distances between them count; stemming and stop words
    are applied when they are used. 4 bytes a word, and the vocabulary.

    Parameters
    ----------
    doc_ids : object array (n_docs,)
        Identifiers, each one once.
    words : tuple of str
        Different words of all documents.
    fields : dict of str to Tokens
        For every field the words of all documents.
    analyzers : tuple of str
        What features are computed with: "none", or a stemmer of Snowball such as "english" or "porter";
        ``+stop`` leaves out stop words.
    stop_words : tuple of str
        In lower case.

    Examples
    --------
    >>> from directrix.text import Index
    >>> index = Index.build({"d1": "Wings in a slipstream", "d2": "Heat in slabs", "d3": "Heated wings"})
    >>> run = index.candidates({"q1": "heated wing"})
    >>> run.doc_ids
    array(['d3', 'd1', 'd2'], dtype=object)
    >>> q = index.features({"q1": "heated wing"}, run, {"q1": {"d3": 1}})
    >>> q.n_features, q.feature_names[:2], q.labels
    (28, ('tf-idf.text.none', 'bm25.text.none'), array([1., 0., 0.]))
    """

    def __repr__(self) -> str:
        n_words = sum(len(field.ids) for field in self.fields.values())
        return (
            f"Index({self.n_docs:,} documents, {n_words:,} words, {len(self.words):,} different, "
            f"fields {', '.join(self.fields)}, analyzers {', '.join(self.analyzers)})"
        )

    @classmethod
    def build(
        cls,
        documents: Any,
        fields: Iterable[str] | None = None,
        *,
        analyzers: Iterable[str] = ("none", "english+stop"),
        stop_words: Iterable[str] = STOP_WORDS,
        id_column: str | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """Read documents and number their words: runs of letters, digits and underscores, in lower case.

        Parameters
        ----------
        documents : path, frame, dict, data set of ir_datasets, or iterable of dicts or named tuples
            A file or folder of JSON lines, CSV, TSV, Parquet, Arrow, TREC text (<DOC>), SMART text (.I); or
            a folder of texts; a frame; ``{identifier: text}``; dicts. They are
            read one after another, and their texts are not kept.
        fields : names, optional
            Texts of a document that count. Default: all. A document may lack some.
        analyzers, stop_words
            As in `Index`; the default stop words are the 33 of Lucene.
        id_column : str, optional
            Name of the identifier. Default: the first that is there of docno, doc_id, docid, document, doc,
            _id, id.
        progress : function, optional
            Called with (documents so far, 0, identifier).

        Raises
        ------
        InputError
            If a document has no identifier or one that another has, no document has a word, a field
            is in no document, an analyzer is unknown, or something cannot be read.
        MissingExtra
            If an analyzer needs stemming and PyStemmer is not installed.

        Examples
        --------
        >>> documents = [{"id": 7, "title": "Wings", "text": "in a slipstream"}, {"id": 9, "title": "Heat"}]
        >>> Index.build(documents, analyzers=["porter"])
        Index(2 documents, 5 words, 5 different, fields title, text, analyzers porter)
        """
        names = tuple(map(str, analyzers))
        for name in names:
            Analyzer.named(name)
        if len(set(names)) < len(names) or not names:
            raise InputError(f"analyzers={names!r}; one or more different ones are needed, e.g. ['none'].")
        chosen = None if fields is None else tuple(fields)
        parts = numbered(iter_documents(documents, id_column), chosen, progress)
        return cls(**parts, analyzers=names, stop_words=tuple(str(word).lower() for word in stop_words))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index as one file, which `load` reads.

        Raises
        ------
        InputError
            If it cannot be written; what was there stays as it was.
        """
        from directrix.text.stored import write_index

        write_index(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Index:
        """Read an index that `save` wrote; no file can run code.

        Raises
        ------
        InputError
            If the file cannot be read, is no index, or is damaged.
        """
        from directrix.text.stored import read_index

        return cls(**read_index(path))

    def candidates(
        self,
        queries: Any,
        k: int = 1000,
        *,
        field: str | None = None,
        analyzer: str | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        progress: Progress | None = None,
    ) -> Run:
        """Find the ``k`` best documents of every query by BM25, with the library bm25s.

        The score is the feature ``bm25`` to float32: documents that have no word of the query are not
        retrieved; equal scores are in the order of the documents.

        Parameters
        ----------
        queries : as documents of `build`
            Or topics of TREC (<top>).
        k : int >= 1
        field, analyzer : str, optional
            Default: all fields together, and the last analyzer.
        k1, b : float
            k1 >= 0 and 0 <= b <= 1, as in the formula of BM25.
        progress : function, optional
            Called with (queries so far, all queries, identifier).

        Raises
        ------
        InputError
            If an argument is out of range or a query cannot be used.
        MissingExtra
            If bm25s is not installed.
        """
        from directrix.text.retrieval import best_documents

        by = analyzer or self.analyzers[-1]
        terms = self.terms(field or self.whole, by)
        numbers = self.vocabulary(by).numbers
        texts = {name: self.query_terms(text, by) for name, text in query_texts(queries).items()}
        known = {name: [numbers[term] for term in of if term in numbers] for name, of in texts.items()}
        return best_documents(terms, known, self.doc_ids, k, k1, b, progress)

    def features(
        self,
        queries: Any,
        run: Any,
        qrels: Any = None,
        *,
        runs: Iterable[Run] = (),
        names: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Queries:
        """Compute features of candidates, called ``formula.field.analyzer``; see `directrix.text.formulas`.

        Parameters
        ----------
        queries : as `candidates`
        run : Run, path or frame
            Candidates.
        qrels : Qrels, path, frame or data set of ir_datasets, optional
            Labels; a document that is not judged has 0. Queries without judgments are left out, as are
            relevant documents that are no candidates: measures of the result do not count them. Default: all
            labels are 0.
        runs : Runs, optional
            Scores of other systems, as features ``run.TAG``. A document that a run lacks gets the lowest
            score that the run has for the query, 0 if it has none.
        names : sequence of str, optional
            Names of the features to compute, in this order. Default: all.
        progress : function, optional
            Called with (queries so far, all queries, identifier).

        Returns
        -------
        Queries
            float32 features of the candidates, in the order of the run.

        Raises
        ------
        InputError
            If a query of the run has no text, a document is not in the index, no query or document is judged,
            another run has none of the queries, two runs have one tag, or a name is unknown.
        """
        from directrix.text.features import TextFeatures

        return TextFeatures.of(self, queries, run, qrels, runs, names).queries(progress)
