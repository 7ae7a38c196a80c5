"""Features logged by search engines: responses as JSON lines, one for each query.

Responses of Elasticsearch, OpenSearch, Solr or Vespa go in, as the engine sends them, with the identifier of
their query. `Queries` come out, with features by the names that the engine logs::

    queries = read_responses("responses.jsonl", "qrels.txt")
    queries.feature_names
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directrix.data.checks import check_unrepeated
from directrix.data.columns import QUERY
from directrix.data.files import Problem, open_data, path_of, raise_problems, readable, to_number
from directrix.data.grouping import plain_identifier
from directrix.data.memory import check_room
from directrix.data.queries import Queries
from directrix.data.sparse import prefers_csr
from directrix.errors import Advice, InputError, short_text, warn
from directrix.parsing import json_of

# JSON has integers of any size; larger ones than this have no float.
_LARGEST = int(np.finfo(np.float64).max)
_Document = tuple[str, dict[str, Any]]
"""Identifier of a document, and its features; None for one that was not logged."""


def read_responses(
    path: str | os.PathLike[str], qrels: Any = None, *, missing: Literal["error", "zero", "nan"] = "error"
) -> Queries:
    """Read features logged by Elasticsearch, OpenSearch, Solr or Vespa.

    ==========================  ===================================================================
    engine                      features of a document
    ==========================  ===================================================================
    Elasticsearch, OpenSearch   ``hits.hits[].fields._ltrlog``, by ``_id``
    Solr                        ``response.docs[]["[features]"]``, dense or sparse, by ``id``
    Vespa                       ``root.children[].fields``: ``summaryfeatures``, ``matchfeatures`` and
                                ``rankfeatures`` together, by ``documentid``
    ==========================  ===================================================================

    Parameters
    ----------
    path : path
        One response per line, plain or compressed, as the engine sends it. The identifier of its query is
        added as ``"qid"`` (or ``"query"``, ``"topic"``, ...); the default for Solr is its parameter ``q``.
    qrels : Qrels, path, or frame, optional
        Judgments of these documents, which become labels; queries without judgments are omitted.
    missing : {"error", "zero", "nan"}
        Meaning of a value that is NaN, or null in Vespa: an error, 0, or NaN. A feature that was not logged
        for a document, because an Elasticsearch query did not match or Solr's format is sparse, is 0 as in
        the engine, also with "error"; with "nan" it is NaN.

    Returns
    -------
    Queries
        Features by name, in the order in which they appear, as CSR if less than one in eight is there; labels
        0 without ``qrels``.

    Raises
    ------
    InputError
        If lines are not responses with a query, documents and features, or no query has judgments.

    Warns
    -----
    UserWarning
        If features are omitted because they are tensors.

    See Also
    --------
    directrix.clicks.training_data : Takes the result as ``features``, to learn from clicks.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "solr.jsonl")
    >>> docs = '[{"id": "A", "[features]": "title=1.5,age=3"}, {"id": "B", "[features]": "age=7"}]'
    >>> _ = path.write_text('{"qid": "7", "response": {"docs": ' + docs + "}}")
    >>> q = read_responses(path, {"7": {"B": 2}})
    >>> q.feature_names, q.features.tolist(), q.labels
    (('title', 'age'), [[1.5, 3.0], [0.0, 7.0]], array([0., 2.]))
    """
    from directrix.data.trec.join import labeled

    place = path_of(path)
    qids: list[int | str] = []
    documents: list[_Document] = []
    problems: list[Problem] = []
    with readable(place), open_data(place) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    qid, rows = _response(line)
                except InputError as error:
                    text, fix = str(error).removesuffix("."), "Write one response of an engine per line."
                    problems.append(Problem(number, text, fix))
                else:
                    qids += [qid] * len(rows)
                    documents += rows
    raise_problems(place, problems)
    q = _queries(place, qids, documents, missing)
    return q if qrels is None else labeled(q, qrels)


def _queries(path: Path, qids: list[int | str], documents: list[_Document], missing: Any) -> Queries:
    tensors = {name for _, row in documents for name, value in row.items() if isinstance(value, dict | list)}
    if tensors:
        shown = ", ".join(sorted(tensors))
        warn(f"{path}: these features are tensors, and are left out: {shown}.", stacklevel=3)
    names = dict.fromkeys(name for _, row in documents for name in row if name not in tensors)
    if not names:
        raise InputError(
            f"{path}: no document has features. Ask the engine for them: ext.ltr_log in Elasticsearch, "
            "fl=id,[features] in Solr, a rank profile with summary-features in Vespa."
        )
    # Identifiers stay integers unless 7 and "7" both occur, which are one query.
    q = Queries.from_arrays(
        _matrix(path, documents, list(names), missing),
        np.zeros(len(documents)),
        qid=qids if len({*qids}) == len({*map(str, qids)}) else list(map(str, qids)),
        doc_ids=[name for name, _ in documents],
        feature_names=list(names),
        missing=missing,
    )
    check_unrepeated(q, str(path))
    return q


def _matrix(path: Path, documents: list[_Document], names: list[str], missing: str) -> Any:
    """Return features in columns; those that were not logged are NaN with "nan", and else 0."""
    place, shape = {name: column for column, name in enumerate(names)}, (len(documents), len(names))
    # Arrays of the standard library grow without a Python object for each number.
    columns, values, ends = array("q"), array("d"), array("q", [0])
    for _, features_by_name in documents:
        logged = {
            place[name]: value
            for name, value in features_by_name.items()
            if name in place and value is not None
        }
        columns.extend(sorted(logged))
        values.extend(logged[column] for column in sorted(logged))
        ends.append(len(columns))
    entries = np.array(values), np.array(columns, dtype=np.int64), np.array(ends, dtype=np.int64)
    if missing != "nan" and prefers_csr(*shape, len(values)):
        from scipy.sparse import csr_array

        return csr_array(entries, shape=shape)
    check_room(
        8 * len(documents) * len(names),
        f"{path}: {len(documents):,} documents with {len(names):,} features",
        Advice("fewer-features-or-zeros"),
    )
    features = np.full(shape, np.nan if missing == "nan" else 0.0)
    features[np.repeat(np.arange(len(documents)), np.diff(entries[2])), entries[1]] = entries[0]
    return features


def _response(line: bytes) -> tuple[int | str, list[_Document]]:
    """Return query and documents of one response; raise `InputError` for anything else."""
    try:
        content = json_of(line)
        engine = next(name for name in _ENGINES if isinstance(content.get(name), dict))
        qid = next((content[name] for name in QUERY if name in content), None)
        if qid is None:
            qid = content.get("responseHeader", {}).get("params", {}).get("q")
        if qid is None:
            raise InputError("there is no query in it; add one, e.g. by jq -c '. + {qid: 7}'.")
        query = _identifier(qid)
        documents: list[_Document] = []
        for identifier, features in _ENGINES[engine](content[engine]):
            document = str(_identifier(identifier))
            for name, value in features.items():
                if not isinstance(name, str):
                    raise InputError(f"the name of a feature is {short_text(name)}, must be text.")
                if isinstance(value, bool | str) or (isinstance(value, int) and abs(value) > _LARGEST):
                    raise InputError(
                        f"the feature {name!r} is {short_text(value)}, must be a number of 64 bits."
                    )
            documents.append((document, features))
        return query, documents
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        if isinstance(error, InputError):
            raise
        shown = short_text(line.decode(errors="replace").strip())
        lacks = f"; it lacks {error}" if isinstance(error, KeyError) else ""
        raise InputError(f"{shown} is not a response with documents and features{lacks}.") from None


def _identifier(cell: Any) -> int | str:
    name = plain_identifier(cell)
    if type(name) not in (int, str):
        raise InputError(f"an identifier is {short_text(name)}, must be text or an integer.")
    return name  # type: ignore[no-any-return]


def _elasticsearch(hits: Any) -> Iterator[_Document]:
    for hit in hits["hits"]:
        logs = [entries for log in hit.get("fields", {}).get("_ltrlog", ()) for entries in log.values()]
        yield hit["_id"], {entry["name"]: entry.get("value") for entries in logs for entry in entries}


def _solr(response: Any) -> Iterator[_Document]:
    for document in response["docs"]:
        pairs, identifier = document["[features]"].split(","), document["id"]
        features = {}
        for pair in filter(None, pairs):
            name, _, text = pair.rpartition("=")
            features[name] = to_number(text)
            if not name or not np.isfinite(features[name]):
                raise InputError(f"[features] has {name}={text}, must be name=number,name=number.")
        yield identifier, features


def _vespa(root: Any) -> Iterator[_Document]:
    for hit in root.get("children", ()):
        fields = hit.get("fields", {})
        features: dict[str, Any] = {}
        for kind in ("matchfeatures", "rankfeatures", "summaryfeatures"):
            # A number that is NaN is null in the JSON of Vespa.
            features |= {k: math.nan if v is None else v for k, v in fields.get(kind, {}).items()}
        features.pop("vespa.summaryFeatures.cached", None)
        name = fields.get("documentid", hit["id"])
        if name.startswith("index:"):
            raise InputError(f"the document {name} has no documentid; add it to the summary.")
        # Groups of a result are children without features.
        if features:
            # An identifier of Vespa is `id:namespace:type:key:name`.
            yield name.split(":", 4)[4] if name.startswith("id:") else name, features


_ENGINES = {"hits": _elasticsearch, "response": _solr, "root": _vespa}
"""Entry of a response that holds its documents, and how they are read."""
