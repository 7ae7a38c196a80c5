"""The form of runs and qrels: arrays of one length, and a name for every query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from directrix.data.form import as_array, as_floats
from directrix.data.grouping import check_identifiers, object_array
from directrix.data.validate import check_qptr
from directrix.errors import NO_ITEMS, InputError


def check_documents(ranking: Any, values: str) -> None:
    """Set the fields of a run or of qrels as checked arrays.

    Raises `InputError` unless they have one length, and names can be compared.
    """
    where = type(ranking).__name__
    remedy = f"Type directrix.data.{where}.from_frame(frame)."
    docs = as_array(ranking.doc_ids, "doc_ids")
    if docs.dtype.kind == "V":  # records of NumPy are no keys; tuples are
        docs = object_array(docs.tolist())
    numbers = as_floats(getattr(ranking, values), values)
    if docs.ndim != 1 or numbers.shape != docs.shape:
        raise InputError(
            f"{where}: doc_ids have shape {docs.shape}, {values} {numbers.shape}; one of each per "
            f"document is needed. {remedy}"
        )
    qptr = check_qptr(ranking.qptr, len(docs), "doc_ids")
    try:
        queries = tuple(ranking.query_ids)
        known = {*queries}, {*docs.tolist()}
    except NO_ITEMS as error:
        raise InputError(f"{where}: query_ids and doc_ids are lists of names ({error}). {remedy}") from None
    if len(queries) != len(qptr) - 1 or len(known[0]) < len(queries):
        raise InputError(
            f"{where}: {len(queries)} query_ids, {len(known[0])} of them different, for {len(qptr) - 1} "
            f"queries; each needs one of its own. {remedy}"
        )
    check_identifiers([getattr(ranking, "tag", "-")], "run", lambda _: "tag")
    check_identifiers(queries, "query", lambda q: f"{where}, query {q}")
    check_identifiers(docs, "document", f"{where}, row {{}}".format)
    checked = {"query_ids": queries, "qptr": qptr, "doc_ids": docs, values: numbers}
    for name, value in checked.items():
        object.__setattr__(ranking, name, value)


def check_words(names: Iterable[object], what: str) -> None:
    """Raise `InputError` unless each name fits into a column of a run or of qrels."""
    for name in names:
        if str(name).split() != [str(name)]:
            raise InputError(
                f"the {what} {name!r} does not fit into a column of a run or of qrels; identifiers "
                "must not be empty or hold blanks. Rename it, e.g. name.replace(' ', '_')."
            )
