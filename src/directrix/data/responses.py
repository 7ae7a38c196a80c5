"""Features logged by search engines: responses as JSON lines, one for each query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directrix.data.checks import check_unrepeated
from directrix.data.columns import QUERY
from directrix.data.files import Problem, open_data, path_of, raise_problems, readable, to_number
from directrix.data.queries import Queries, filled
from directrix.errors import InputError, short_text, warn
from directrix.parsing import json_of

_Document = tuple[str, dict[str, Any]]
"""Identifier of a document, and its features; None for one without a value."""


def read_responses(
    path: str | os.PathLike[str], qrels: Any = None, *, missing: Literal["error", "zero", "nan"] = "zero"
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
        Value of a feature that was not logged for a document, for example because an Elasticsearch query did
        not match: 0, also with "error", or NaN.

    Returns
    -------
    Queries
        Features by name, in the order in which they appear; labels 0 without ``qrels``.

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
                    qid, found = _response(line)
                except InputError as error:
                    problems.append(Problem(number, str(error), "Write one response of an engine per line."))
                else:
                    qids += [qid] * len(found)
                    documents += found
    raise_problems(place, problems)
    q = _queries(place, qids, documents, missing)
    return q if qrels is None else labeled(q, qrels)


def _queries(path: Path, qids: list[int | str], documents: list[_Document], missing: str) -> Queries:
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
    column = {name: place for place, name in enumerate(names)}
    features = np.full((len(documents), len(names)), np.nan)
    for row, (_, values) in enumerate(documents):
        for name, value in values.items():
            if value is not None and name in column:
                features[row, column[name]] = value
    q = Queries.from_arrays(
        features,
        np.zeros(len(documents)),
        qid=qids,
        doc_ids=[name for name, _ in documents],
        feature_names=list(names),
        missing="nan" if missing == "nan" else "zero",
    )
    check_unrepeated(q, str(path))
    return filled(q)


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
        qid = qid if type(qid) is int else str(qid)
        return qid, [(name, _numbers(values)) for name, values in _ENGINES[engine](content[engine])]
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        if isinstance(error, InputError):
            raise
        shown = short_text(line.decode(errors="replace").strip())
        lacks = f"; it lacks {error}" if isinstance(error, KeyError) else ""
        raise InputError(f"{shown} is not a response with documents and features{lacks}.") from None


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        if isinstance(value, bool | str):
            raise InputError(f"the feature {name!r} is {value!r}, must be a number.")
    return values


def _elasticsearch(hits: Any) -> Iterator[_Document]:
    for hit in hits["hits"]:
        logs = [entries for log in hit.get("fields", {}).get("_ltrlog", ()) for entries in log.values()]
        yield str(hit["_id"]), {one["name"]: one.get("value") for entries in logs for one in entries}


def _solr(response: Any) -> Iterator[_Document]:
    for document in response["docs"]:
        text = document["[features]"]
        pairs = (pair.rpartition("=") for pair in text.split(",") if pair)
        yield str(document["id"]), {name: _value(name, value) for name, _, value in pairs}


def _value(name: str, text: str) -> float:
    value = to_number(text)
    if not name or not np.isfinite(value):
        raise InputError(f"[features] has {name}={text}, must be name=number,name=number.")
    return value


def _vespa(root: Any) -> Iterator[_Document]:
    for hit in root.get("children", ()):
        fields = hit.get("fields", {})
        features: dict[str, Any] = {}
        for kind in ("matchfeatures", "rankfeatures", "summaryfeatures"):
            features |= fields.get(kind, {})
        features.pop("vespa.summaryFeatures.cached", None)
        name = fields.get("documentid", hit["id"])
        if name.startswith("index:"):
            raise InputError(f"the document {name} has no documentid; add it to the summary.")
        if features:  # else it is a group
            yield name.split(":", 4)[4] if name.startswith("id:") else name, features


_ENGINES = {"hits": _elasticsearch, "response": _solr, "root": _vespa}
"""Entry of a response that holds its documents, and how they are read."""
