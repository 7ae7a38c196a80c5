"""Features of data matched with those of a model, or of other data: the only rule.

Names of both sides go in. The column of each wanted feature comes out, with the lacking and surplus names and
a sentence that names the difference. Each door decides which differences it allows:

    match = match_features(frame_names, ranker.feature_names_in_)
    if text := match.problem("the frame", "the training data"):
        raise InputError(text, Advice("same-features"))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from directrix.data.columns import check_unique, nearest, some_names


@dataclass(frozen=True)
class FeatureMatch:
    """The columns of data that hold the features of a model, or of other data; see `match_features`."""

    names: Sequence[Any]
    wanted: Sequence[Any]
    columns: tuple[int, ...]
    """The column of each wanted feature that the data have, in the wanted order."""
    lacking: tuple[Any, ...]
    surplus: tuple[Any, ...]

    def problem(self, what: str, other: str) -> str:
        """Return how the features of ``what`` differ from those of ``other``; empty if they do not."""
        rule = f"the features of {what} must be those of {other}"
        if isinstance(self.names, range):
            named = "" if isinstance(self.wanted, range) else f" ({some_names(self.wanted)})"
            got = f"{len(self.names):,} features instead of {len(self.wanted):,}{named}"
            return f"{rule}, got {got}." if self.lacking or self.surplus else ""
        if not self.lacking:
            if self.surplus:
                return f"{rule}, got also {some_names(self.surplus)}."
            pairs = zip(self.names, self.wanted, strict=True)
            moved = next(((name, needed) for name, needed in pairs if name != needed), None)
            return "" if moved is None else f"{rule} in the same order, got {moved[0]!r} for {moved[1]!r}."
        also = f" but {some_names(self.surplus)}" if self.surplus else ""
        near = nearest(self.lacking[0], self.surplus)
        end = f"; did you mean {near!r} by {self.lacking[0]!r}?" if near else "."
        return f"{rule}, got no {some_names(self.lacking)}{also}{end}"


def match_features(
    names: Sequence[Any] | int, wanted: Sequence[Any] | int, what: str = "the data"
) -> FeatureMatch:
    """Match the columns of data with wanted features by name, or by position where one side has no names.

    The caller decides which differences it allows: another order, or surplus columns.

    Parameters
    ----------
    names, wanted : sequence, or int
        Names of the columns, and of the features of a model or of other data; without names their number.
    what : str
        The owner of the columns, for messages.

    Raises
    ------
    InputError
        If two columns have the same name.

    Examples
    --------
    >>> match = match_features(("price", "age"), ("age", "stars"))
    >>> match.columns, match.lacking, match.surplus
    ((1,), ('stars',), ('price',))
    >>> match.problem("the data", "the model")
    "the features of the data must be those of the model, got no 'stars' but 'price'."
    """
    if isinstance(names, int) or isinstance(wanted, int):
        columns = range(names if isinstance(names, int) else len(names))
        n_wanted = wanted if isinstance(wanted, int) else len(wanted)
        shared = min(len(columns), n_wanted)
        return FeatureMatch(
            columns,
            range(n_wanted) if isinstance(wanted, int) else wanted,
            tuple(columns[:shared]),
            tuple(range(shared, n_wanted)),
            tuple(columns[shared:]),
        )
    needed = set(wanted)
    places = {name: column for column, name in enumerate(names) if name in needed}
    check_unique([name for name in names if name in needed], what)
    return FeatureMatch(
        names,
        wanted,
        tuple(places[name] for name in wanted if name in places),
        tuple(name for name in wanted if name not in places),
        tuple(name for name in names if name not in needed),
    )


def match_data(q: Any, trained: Any) -> FeatureMatch:
    """Match the features of data with those of a model, or of other data, as `match_features`."""
    return match_features(q.feature_names or q.n_features, trained.feature_names or trained.n_features)
