"""Whether a run fits qrels, or another run: its identifiers, and the size of its scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from directrix.data.trec.files import Qrels, Run
from directrix.errors import InputError, warn
from directrix.types import Array

_LARGEST = 1e37
_FEW_QUERIES = 0.25  # a part of the topics may be judged, as in cross-validation
_FEW_DOCUMENTS = 0.05  # of the shorter lists: runs of 1,000 documents hold few judged ones


def check_overlap(run: Run, other: Qrels | Run) -> None:
    """Compare the identifiers of a run with those of qrels, or of another run.

    Raises `InputError` if no query is in both, or if qrels have none of the documents. Warns with counts
    if few match, or if some differ only in how they are written. O(n_docs).
    """
    if isinstance(other, Run) and not other.query_ids:
        return  # a system that found nothing
    name = f"the run {other.tag!r}" if isinstance(other, Run) else "the qrels"
    in_run, in_other = ({query: q for q, query in enumerate(part.query_ids)} for part in (run, other))
    shared = [query for query in in_run if query in in_other]
    alike = _alike(in_run.keys() - in_other.keys(), in_other.keys() - in_run.keys())
    what = f"{len(shared)} of {len(in_run)} queries of the run {run.tag!r} are in {name}"
    if not shared:
        raise InputError(
            f"{what} ({some_of(run.query_ids)} against {some_of(other.query_ids)}); at least one is needed."
            f"{alike} Give files of one collection, with the same identifiers."
        )
    if alike or len(shared) < _FEW_QUERIES * len(in_run):
        warn(f"{what}; the others do not count.{alike}", stacklevel=3)
    n_run = n_other = n_both = 0
    for query in shared:
        mine, theirs = _documents(run, in_run[query]), set(_documents(other, in_other[query]))
        n_run, n_other = n_run + len(mine), n_other + len(theirs)
        n_both += len(theirs.intersection(mine))
    if n_both < _FEW_DOCUMENTS * min(n_run, n_other):
        every, known = set(run.doc_ids), set(other.doc_ids)
        what = (
            f"{n_both} of {n_run} documents of the run {run.tag!r} are among the {n_other} of {name} for the "
            f"same queries.{_alike(every - known, known - every)}"
        )
        if every.isdisjoint(known) and not isinstance(other, Run):
            raise InputError(
                f"{what} No document of the run ({some_of(run.doc_ids)}) is in the qrels "
                f"({some_of(other.doc_ids)}), so none would count as relevant; at least one is needed. Give "
                "files of one collection; tables read 007 as the number 7 unless the column is text."
            )
        warn(f"{what} Check that both write identifiers alike.", stacklevel=3)


def check_magnitude(run: Run) -> None:
    """Raise `InputError` unless float32 holds all scores, with a value below them for "not retrieved"."""
    fits = np.abs(run.scores) <= _LARGEST
    if not fits.all():
        worst = int(np.argmin(fits))
        raise InputError(
            f"run {run.tag!r}: the score of document {run.doc_ids[worst]!r} is {run.scores[worst]:g}; finite "
            f"scores of at most {_LARGEST:g} are needed, since float32 holds them. Divide the run's scores."
        )


def some_of(names: Sequence[str] | Array) -> str:
    """Return the first identifiers as text for messages."""
    return ", ".join(map(str, names[:3])) + (", ..." if len(names) > 3 else "")


def _documents(part: Qrels | Run, q: int) -> Array:
    documents: Array = part.doc_ids[part.qptr[q] : part.qptr[q + 1]]
    return documents


def _alike(first: Iterable[object], second: Iterable[object]) -> str:
    """Say how many identifiers without a match would have one if they were written in one way."""
    by_key = {_key(name): name for name in second}
    pairs = sorted((str(name), str(by_key[_key(name)])) for name in first if _key(name) in by_key)
    if not pairs:
        return ""
    some = " and ".join(pairs[0])
    return f" Identifiers that differ only in leading zeros, capitals or .0: {len(pairs)}, such as {some}."


def _key(name: object) -> str:
    return str(name).strip().casefold().removesuffix(".0").lstrip("0")
