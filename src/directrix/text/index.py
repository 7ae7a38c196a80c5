"""An index of documents: built, stored, loaded, and searched."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.columns import check_names
from directrix.data.files import path_of, readable, replacing
from directrix.data.grouping import check_identifiers, object_array
from directrix.data.queries import Queries
from directrix.data.trec.runs import Run
from directrix.errors import Advice, InputError, MissingExtra
from directrix.parameters import whole
from directrix.parsing import json_of
from directrix.schema import check
from directrix.text.analysis import STOP_WORDS, check_analyzer, words_of
from directrix.text.corpus import Corpus, numbered
from directrix.text.documents import iter_documents, query_texts
from directrix.text.features import TextFeatures
from directrix.text.fields import FieldTerms, Tokens
from directrix.types import Array, Progress

_FORMAT, _EARLIER = "directrix-index/2", ("directrix-index/1",)
"""The form of the file and the rules of its words; an index of earlier rules lacks words of new queries."""
_TEXTS = {
    "header": {"format": frozenset({_FORMAT}), "fields": [str], "analyzers": [str], "stop_words": [str]},
    "doc_ids": [str],
    "words": [str],
}
# The file has the same bytes on all machines: integers of 32 and of 64 bits, little-endian.
_IDS, _OFFSETS = "<i4", "<i8"
_DAMAGE = (
    *(zipfile.BadZipFile, KeyError, TypeError, ValueError, OverflowError, EOFError),
    # `zipfile` raises this error for entries that are encrypted or compressed by an unknown method.
    RuntimeError,
)


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry of a fixed date, so that the same index has the same bytes."""
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _arguments(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """Return the arguments of `Index`; raise one of `_DAMAGE` if the parts do not fit together."""
    # Without compression, no small file can fill the memory.
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
        raise ValueError("its parts are compressed")
    if sum(entry.file_size for entry in archive.infolist()) > size:
        # The parts overlap, and would take more memory than the file has bytes.
        raise ValueError("its parts are larger than the file")
    texts = {name: json_of(archive.read(f"{name}.json")) for name in _TEXTS}
    if isinstance(texts["header"], dict) and texts["header"].get("format") in _EARLIER:
        raise ValueError("its words were found by the rules of an earlier version")
    check(texts, _TEXTS)
    header, doc_ids, words = texts.values()
    check_identifiers(doc_ids, "document", "number {}".format)
    fields = {}
    for number, name in enumerate(header["fields"]):
        ids = _array(archive, f"ids_{number}", _IDS)
        offsets = _array(archive, f"offsets_{number}", _OFFSETS)
        # Kernels follow offsets and numbers of words without checking them.
        fits = len(offsets) == len(doc_ids) + 1 and offsets[0] == 0 and offsets[-1] == len(ids)
        if not (fits and (offsets[1:] >= offsets[:-1]).all() and ids.min(initial=0) >= 0):
            raise ValueError(f"the offsets of field {name} do not fit its words")
        if ids.max(initial=-1) >= len(words):
            raise ValueError(f"field {name} has a word without a text")
        fields[name] = Tokens(ids, offsets)
    if not fields or len(fields) < len(header["fields"]) or len(set(doc_ids)) < len(doc_ids):
        raise ValueError("fields or identifiers are repeated or missing")
    return {
        "doc_ids": object_array(doc_ids),
        "words": tuple(words),
        "fields": fields,
        "analyzers": tuple(header["analyzers"]),
        "stop_words": tuple(header["stop_words"]),
    }


def _array(archive: zipfile.ZipFile, name: str, dtype: str) -> Array:
    """Return numbers that can be written to: kernels are compiled for those."""
    return np.frombuffer(archive.read(name), dtype=dtype).astype(dtype[1:])


def scorer(terms: FieldTerms, k1: float, b: float) -> Any:
    """Return a function that maps the terms of a query to the scores of all documents."""
    try:
        import bm25s
    except ImportError as error:
        raise MissingExtra("text", "to find candidates") from error
    ids, offsets = terms.tokens
    if not len(ids):
        raise InputError("the field has no term in any document; choose another field or analyzer.")
    lists = ids.tolist()
    retriever = bm25s.BM25(method="lucene", k1=k1, b=b)
    # Terms are known by their numbers, so the vocabulary of bm25s has those as words.
    tokens = bm25s.tokenization.Tokenized(
        ids=[lists[first:last] for first, last in pairwise(offsets.tolist())],
        vocab={str(term): term for term in range(terms.n_terms)},
    )
    retriever.index(tokens, show_progress=False)
    return retriever.get_scores_from_ids


@dataclass(frozen=True, eq=False)
class Index(Corpus):
    """Documents for retrieval and for features of text; made by `build` or `load`.

    Words are kept in the order of the text, since distances between them count; stemming and stop words are
    applied on use. Memory: 4 bytes per word, and the vocabulary.

    Parameters
    ----------
    doc_ids : object array (n_docs,)
        Identifiers, all different.
    words : tuple of str
        Different words of all documents.
    fields : dict of str to Tokens
        Words of all documents, for every field.
    analyzers : tuple of str
        Analyzers of the features: "none", or a stemmer of Snowball such as "english" or "porter";
        ``+stop`` leaves out stop words.
    stop_words : tuple of str
        Stop words, as `build` folds them.

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
        """Read documents and number their words; `directrix.text.analysis.words_of` has the rules.

        Parameters
        ----------
        documents : path, frame, dict, data set of ir_datasets, or iterable of dicts or named tuples
            A file or folder of JSON lines, CSV, TSV, Parquet, Arrow, TREC text (<DOC>), SMART text (.I); or
            a folder of texts; a frame; ``{identifier: text}``; dicts. They are
            read one after another, and their texts are not kept.
        fields : names, optional
            Fields of a document to use. Default: all. A document may lack some.
        analyzers, stop_words
            As in `Index`; the default stop words are the 33 of Lucene.
        id_column : str, optional
            Name of the identifier. Default: the first one present of docno, doc_id, docid, document, doc,
            _id, id.
        progress : function, optional
            Called with (documents so far, 0, identifier).

        Raises
        ------
        InputError
            If a document has no identifier or that of another document, no document has a word, a field is in
            no document, an analyzer is unknown, or something cannot be read.
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
            check_analyzer(name)
        if len(set(names)) < len(names) or not names:
            raise InputError(f"analyzers={names!r}; one or more different ones are needed, e.g. ['none'].")
        chosen = None if fields is None else tuple(fields)
        texts = numbered(iter_documents(documents, id_column), chosen, progress)
        check_names(texts["fields"], "fields")
        stops = tuple(dict.fromkeys(words_of(" ".join(map(str, stop_words)))))
        return cls(**texts, analyzers=names, stop_words=stops)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index as one file, which `load` reads.

        Raises
        ------
        InputError
            If it cannot be written; an existing file is then not changed.
        """
        header = {
            "format": _FORMAT,
            "fields": list(self.fields),
            "analyzers": self.analyzers,
            "stop_words": self.stop_words,
        }
        texts = {"header": header, "doc_ids": self.doc_ids.tolist(), "words": self.words}
        with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, value in texts.items():
                archive.writestr(_entry(f"{name}.json"), json.dumps(value))
            for number, field in enumerate(self.fields.values()):
                archive.writestr(_entry(f"ids_{number}"), field.ids.astype(_IDS).tobytes())
                archive.writestr(_entry(f"offsets_{number}"), field.offsets.astype(_OFFSETS).tobytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Index:
        """Read an index that `save` wrote; it cannot run code.

        Raises
        ------
        InputError
            If the file cannot be read, is not an index, or is damaged.
        """
        path = path_of(path)
        with readable(path), path.open("rb") as file:
            # All ZIP files begin with these bytes.
            if file.read(2) != b"PK":
                raise InputError(
                    f"{path} is not an index; a file that `Index.save` wrote is needed.",
                    Advice("build-index", path=path),
                )
            try:
                arguments = _arguments(zipfile.ZipFile(file), path.stat().st_size)
            except _DAMAGE as error:
                reason = str(error).rstrip(".")
                raise InputError(
                    f"{path} is not an index, or is damaged ({reason}).",
                    Advice("build-index", path=path),
                ) from None
        return cls(**arguments)

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

        The score is the feature ``bm25`` in float32. Documents without any word of the query are not
        retrieved; equal scores keep the order of the documents.

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
        by, texts, k = analyzer or self.analyzers[-1], query_texts(queries), whole(k, "k")
        if not (0.0 <= k1 < np.inf and 0.0 <= b <= 1.0):
            raise InputError(f"k1={k1!r}, b={b!r}; k1 >= 0 and 0 <= b <= 1 are needed, e.g. k1=1.2, b=0.75.")
        score = scorer(self.terms(field or self.whole, by), float(k1), float(b))
        numbers = self.vocabulary(by).numbers
        names, rows, scores = list[str](), list[Array](), list[Array]()
        for done, (name, text) in enumerate(texts.items()):
            if progress is not None:
                progress(done, len(texts), name)
            terms = [numbers[term] for term in self.query_terms(text, by) if term in numbers]
            of_docs = score(terms) if terms else np.zeros(0)
            matching = np.flatnonzero(of_docs > 0.0)
            best = matching[np.argsort(-of_docs[matching], kind="stable")[:k]]
            if len(best):
                names.append(name)
                rows.append(best)
                scores.append(of_docs[best].astype(np.float64))
        if not names:
            raise InputError(
                f"no document has a word of any of the {len(texts)} queries; candidates need one in common. "
                "Check that queries and documents belong together."
            )
        qptr = np.append(0, np.cumsum([len(best) for best in rows])).astype(np.int64)
        docs = object_array(self.doc_ids[np.concatenate(rows)])
        return Run("bm25", tuple(names), qptr, docs, np.concatenate(scores))

    def features(
        self,
        queries: Any,
        run: Any,
        qrels: Any = None,
        *,
        runs: Iterable[Run] = (),
        names: Sequence[str] | None = None,
        missing: str = "error",
        progress: Progress | None = None,
    ) -> Queries:
        """Compute features of candidates, named ``formula.field.analyzer``; see `directrix.text.formulas`.

        Parameters
        ----------
        queries : as `candidates`
        run : Run, path or frame
            Candidates.
        qrels : Qrels, path, frame or data set of ir_datasets, optional
            Judgments for labels; a document that is not judged has label 0. Queries without judgments are
            left out, as are relevant documents that are not candidates, which measures of the result do not
            count. Default: all labels are 0.
        runs : Runs, optional
            Scores of other systems, as features ``run.TAG``. A document that a run lacks was not retrieved,
            and gets the lowest score of the run for the query, or 0 if there is none.
        names : sequence of str, optional
            Names of the features to compute, in this order. Default: all.
        missing : {"error", "zero", "nan"}
            Meaning of scores of other systems that are NaN.
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
        return TextFeatures.of(self, queries, run, qrels, runs, names, missing).queries(progress)
