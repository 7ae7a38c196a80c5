"""A log of clicks as a value: sessions in flat arrays, or counts by document and position."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from directrix.clicks.reading import log_of_frame, read_log
from directrix.clicks.sessions import Cells, Pairs, Sessions
from directrix.data.grouping import run_starts
from directrix.errors import Advice, InputError, amount, warn
from directrix.tables import ShowsTables, Table, json_value
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Int64Array

# A session with a click on each of at least this many documents may be a robot's. Users would leave one out
# more often.
_ROBOT = 5
# Possible robots are reported only if they have more than this share of the clicks.
_FEW = 0.005
# Sessions without a click are reported as missing if independent clicks would leave more than this number.
_UNCLICKED = 20.0
ALL_CLICKED = (
    "every document of the log was clicked, so it does not tell which positions users see. Log all documents "
    "that were shown, with 0 for those without a click."
)
# Rows that are sorted together, so that threads share the work and memory stays small.
_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class Log(ShowsTables):
    """A log of clicks. Build one with `from_frame` or `read`, or with `directrix.clicks.simulate`.

    Parameters
    ----------
    pairs : Pairs
        Queries and the documents that were shown for them.
    content : Sessions or Cells
        Sessions, or the counts of a log without sessions.

    Examples
    --------
    >>> from directrix import clicks
    >>> frame = {
    ...     "session": [1, 1, 2, 2],
    ...     "query": ["shoes"] * 4,
    ...     "doc": ["a", "b", "b", "a"],
    ...     "position": [1, 2, 1, 2],
    ...     "clicked": [1, 0, 0, 1],
    ... }
    >>> log = clicks.Log.from_frame(frame)
    >>> log.n_sessions, log.pairs.doc_ids
    (2, array(['a', 'b'], dtype=object))
    >>> cells = log.aggregate()
    >>> cells.impressions, cells.clicks
    (array([1, 1, 1, 1]), array([1, 1, 0, 0]))
    """

    pairs: Pairs
    content: Sessions | Cells

    @classmethod
    def from_frame(  # noqa: PLR0913 - one name per column
        cls,
        frame: Any,
        *,
        session: Hashable | None = None,
        query: Hashable | None = None,
        doc: Hashable | None = None,
        position: Hashable | None = None,
        clicked: Hashable | None = None,
        impressions: Hashable | None = None,
        user: Hashable | None = None,
        ranker: Hashable | None = None,
        time: Hashable | None = None,
        propensity: Hashable | None = None,
        examination: Hashable | None = None,
    ) -> Log:
        """Build a log from a frame with one row per document that was shown.

        Without a column of sessions, or with one of impressions, the log has only counts; a row without
        impressions counts as one.

        Parameters
        ----------
        frame : frame, or dict of columns
            pandas, polars (also lazy) or pyarrow, in any order of rows.
        session, query, doc, position, clicked : str or int, optional
            Names of the columns. A session is one result page: one query, and each document and position
            once. Positions are integers from 1. ``clicked`` is 0 or 1, or with impressions the number of
            clicks. Default: the first known name, such as session_id, qid, docno, rank, click.
        impressions : str or int, optional
            Number of impressions of aggregated rows.
        user, ranker, time : str or int, optional
            The user, the ranker that was served, and the time.
        propensity : str or int, optional
            In randomized lists, the probability of the document at its position after those above it.
        examination : str or int, optional
            Probability that the row is examined, for gains; overrides an estimate by position.

        Raises
        ------
        InputError
            If a column is missing, a value cannot be used, a session has two queries, or a document or a
            position twice, or a row has more clicks than impressions.

        Warns
        -----
        UserWarning
            If queries differ only in case or blanks; if all rows are clicks, or all sessions
            have one, where many without are expected; or if sessions look like robots:
            they clicked all of five or more documents, have more than .5 % of the clicks, and are fewer than
            half of the sessions, but more than those that clicked all documents but one.
        """
        names = {"session": session, "query": query, "doc": doc, "position": position, "clicked": clicked}
        names |= {"impressions": impressions, "user": user, "ranker": ranker, "time": time}
        names |= {"propensity": propensity, "examination": examination}
        return cls(*log_of_frame(frame, names))._with_warnings()

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, aggregate: bool = False, **columns: Hashable | None
    ) -> Log:
        """Read a log from CSV, TSV, JSON lines, Parquet or Arrow, or a folder of Parquet or Arrow files.

        Parameters
        ----------
        path : path
        aggregate : bool
            Keep only counts by pair and position. The file is read once, in chunks, so the log may be larger
            than the memory. Checks within sessions are left out.
        **columns
            Names of columns, as in `from_frame`.

        Raises
        ------
        InputError
            As `from_frame`, or if the file cannot be read.
        MissingExtra
            Without pyarrow: ``pip install "directrix[arrow]"``.
        """
        return cls(*read_log(path, columns, aggregate=aggregate))._with_warnings()

    def _with_warnings(self) -> Log:
        """Return this log, after warnings about rows that are valid and would move every estimate."""
        for text in self._doubts():
            warn(text, stacklevel=3)
        return self

    def _doubts(self) -> Iterator[str]:
        queries, first = self.pairs.query_ids, dict[str, str]()
        same = [first.setdefault(" ".join(query.casefold().split()), query) for query in queries]
        if n := len(queries) - len(first):
            query, other = next(pair for pair in zip(queries, same, strict=True) if pair[0] != pair[1])
            yield (
                f"{n:,} of {len(queries):,} queries differ from an earlier one only in case or blanks, e.g. "
                f"{query!r} from {other!r}; each counts alone. Spell them alike everywhere."
            )
        if not isinstance(self.content, Sessions) or (ids := self.content.ids) is None:
            return
        size, click = np.diff(self.content.ptr), self.content.click
        clicks = np.add.reduceat(click.astype(np.int64), self.content.ptr[:-1])
        # People sometimes click all but one document; robots click all. So sessions with every click are
        # suspicious only where they outnumber the others.
        robots, nearly = ((size >= _ROBOT) & (clicks == size - missing) for missing in (0, 1))
        position = self.content.position
        rates = np.bincount(position, click) / np.maximum(np.bincount(position), 1)
        n, share = int(robots.sum()), clicks[robots].sum() / max(clicks.sum(), 1)
        if n and click.all():
            yield ALL_CLICKED
        elif clicks.all() and len(size) * np.prod(1.0 - rates) > _UNCLICKED:
            yield (
                f"all {len(size):,} sessions have a click. If others were not logged, log them too: "
                "without them, position bias looks flatter."
            )
        elif share > _FEW and nearly.sum() < n < len(size) / 2:
            yield (
                f"{n:,} of {len(size):,} sessions, such as {ids[np.argmax(robots)]}, have a click on every "
                f"document, of {_ROBOT} or more, and {share:.1%} of all clicks. If they are robots, remove "
                "them: they flatten position bias."
            )

    @property
    def sessions(self) -> Sessions:
        """The sessions; `InputError` if the log has only counts."""
        if isinstance(self.content, Sessions):
            return self.content
        raise InputError(
            "this log has counts by document and position, and no sessions, which are needed here. Give rows "
            "with a session identifier and without impressions.",
            Advice("session-column"),
        )

    @property
    def n_sessions(self) -> int | None:
        """Number of sessions; None if the log has only counts."""
        return len(self.content.query) if isinstance(self.content, Sessions) else None

    @cached_property
    def n_positions(self) -> int:
        """The last position."""
        return int(self.content.position.max())

    def aggregate(self) -> Cells:
        """Return impressions and clicks by pair of query and document, and position; computed once.

        They suffice for models without a memory of earlier clicks, and for estimators of gains. Cost: a sort
        of the rows, on all cores.
        """
        return self._cells

    @cached_property
    def _cells(self) -> Cells:
        if isinstance(self.content, Cells):
            return self.content
        width = self.n_positions + 1
        keys, n, c = counted(self, self.content.position, width)
        return Cells(keys // width, keys % width, n, c)

    def tables(self) -> tuple[Table, ...]:
        """Return counts by position as a table."""
        cells, k = self._cells, self.n_positions + 1
        n, c = cells.sums(cells.position, k)
        moved = np.bincount(cells.position, cells.impressions * moves(cells), k)
        seen = np.flatnonzero(n)
        rows = zip(seen, n[seen], c[seen], c[seen] / n[seen], moved[seen] / n[seen], strict=True)
        sessions = "no sessions" if self.n_sessions is None else amount(self.n_sessions, "sessions")
        return (
            Table(
                f"{sessions}, {amount(len(self.pairs.query_ids), 'queries')}, "
                f"{amount(len(self.pairs), 'pairs')} of query and document",
                ("position", "impressions", "clicks", "CTR", "moved"),
                tuple((str(k), int(n), int(c), float(ctr), float(m)) for k, n, c, ctr, m in rows),
                notes=(
                    "CTR: clicks per impression. moved: fraction of the impressions whose document was shown "
                    "for the same query at another position too; without such documents a log does not "
                    "tell position bias from relevance.",
                ),
                digits=4,
            ),
        )

    def __repr__(self) -> str:
        return f"Log({self.tables()[0].title})"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the table in JSON types."""
        table = self.tables()[0]
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        sizes = {"n_sessions": self.n_sessions, "n_queries": len(self.pairs.query_ids)}
        return dict(json_value({**sizes, "n_pairs": len(self.pairs), "positions": rows}))


def moves(cells: Cells) -> Array:
    """Return for each cell whether its pair was shown at another position too, bool (n_cells,)."""
    return np.bincount(cells.pair)[cells.pair] > 1


def counted(log: Log, of_row: Array, width: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Count impressions and clicks of sessions by pair and a value of each row, in ``0 <= value < width``.

    Return the keys ``pair * width + value`` that occur, in order, and their impressions and clicks.
    """
    sessions = log.sessions
    firsts = np.searchsorted(sessions.query, np.arange(len(log.pairs.query_ids) + 1))
    rows = sessions.ptr[firsts]
    # Chunks consist of whole queries, so no pair is in two of them.
    bounds = query_chunks(rows, _ROWS)
    chunks: list[tuple[Array, ...]] = [()] * (len(bounds) - 1)

    def work(chunk: int) -> None:
        first, last = rows[bounds[chunk]], rows[bounds[chunk + 1]]
        keys = sessions.pair[first:last].astype(np.int64) * width + of_row[first:last]
        # The lowest bit is the click, so the clicks of a key are a sum over a run of equal keys.
        keys = np.sort(keys * 2 + sessions.click[first:last])
        starts = run_starts(keys >> 1)
        clicks = np.add.reduceat(keys & 1, starts) if len(starts) else starts
        chunks[chunk] = keys[starts] >> 1, np.diff(starts, append=len(keys)), clicks

    run_chunks(work, len(chunks))
    keys, n, c = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
    return keys, n, c
