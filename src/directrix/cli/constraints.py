"""``--nonnegative`` and ``--monotone``: signs of weights and directions of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from directrix.cli import options
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.search.search import Search

NonnegativeOption = Annotated[
    list[str] | None,
    options.without_default(
        help="Features whose weights must not be negative: names, or numbers from 1 where the file has no "
        "names, as a,b, or all; repeatable. Only linear models are trained."
    ),
]
MonotoneOption = Annotated[
    list[str] | None,
    options.without_default(
        help="Features that may only raise the score, or with a minus sign only lower it: a,b or =-c; names "
        "or numbers as for --nonnegative. Linear models, networks and trees are trained."
    ),
]


def constraint_settings(
    nonnegative: Sequence[str] | None, monotone: Sequence[str] | None, q: Queries | None = None
) -> dict[str, Any]:
    """Return the settings ``bounds`` and ``monotone`` of rankers that the options mean, if they are given.

    Without data the features are not looked up, and the settings name none. Raises `InputError` for an
    option without a feature, or one that the data do not have.
    """
    settings: dict[str, Any] = {}
    positive, directed = options.comma_separated(nonnegative), options.comma_separated(monotone)
    if (nonnegative and not positive) or (monotone and not directed):
        raise InputError("--nonnegative and --monotone need a feature; type e.g. --monotone=price,-age.")
    if positive:
        if q is not None and positive == ["all"] and "all" not in (q.feature_names or ()):
            settings["bounds"] = "nonnegative"
        else:
            settings["bounds"] = {} if q is None else {_feature(f, q)[0]: (0.0, None) for f in positive}
    if directed:
        pairs = [] if q is None else [_feature(f, q, "--monotone") for f in directed]
        settings["monotone"] = dict(pairs)
        if len(settings["monotone"]) < len(pairs):
            raise InputError(f"--monotone {','.join(directed)}: a feature has both directions; give it one.")
    return settings


def with_features(
    search: Search, nonnegative: Sequence[str] | None, monotone: Sequence[str] | None, q: Queries
) -> Search:
    """Return a search with the features of the data that the options name."""
    return search.with_settings(constraint_settings(nonnegative, monotone, q))


def _feature(text: str, q: Queries, option: str = "--nonnegative") -> tuple[int | str, int]:
    """Name or column of a feature, and its direction."""
    names = q.feature_names or ()
    falls = option == "--monotone" and text.startswith("-") and text not in names
    feature = text[1:] if falls else text
    if feature in names:
        return feature, -1 if falls else 1
    number = int(feature) if not names and feature.isdecimal() and len(feature) < 10 else 0
    if 1 <= number <= q.n_features:
        return number - 1, -1 if falls else 1
    known = f"with the names {', '.join(names[:20])}" if names else f"numbered 1 to {q.n_features}"
    raise InputError(
        f"{option} {short_text(feature)}: the data have no such feature; they have {q.n_features}, {known}."
    )
