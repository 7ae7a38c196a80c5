"""Scales by name, also several whose columns stand side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.form import check_form
from directrix.data.scale import FILLING, SCALES, Scale, unknown_kind
from directrix.data.sparse import side_by_side
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError, short_text
from directrix.types import Int64Array, is_sparse

RAW = "raw"
"""The part of a union that has the features as they are."""


@dataclass(frozen=True)
class ScaleUnion:
    """Several scales of the same features; the columns of the first come first, then those of the second.

    Parameters
    ----------
    parts : tuple of Scale or None
        Two or more of different kinds; None stands for the features as they are.

    Raises
    ------
    InputError
        If there are fewer than two parts, or two of one kind, or they are for different numbers of features.
    """

    parts: tuple[Scale | None, ...]

    def __post_init__(self) -> None:
        kinds = self.kind.split("+")
        if len(kinds) < 2 or len(set(kinds)) < len(kinds):
            raise InputError(
                f"scale={short_text(self.kind)}: two or more different kinds are needed for a union."
            )
        counts = {part.n_features for part in self.parts if part is not None} - {None}
        if len(counts) > 1:
            numbers = " and ".join(sorted(map(str, counts)))
            raise InputError(
                f"scale={short_text(self.kind)} has parts for {numbers} features; all must agree."
            )

    @property
    def kind(self) -> str:
        """Names of the parts with a plus sign between them: "raw+query-percentile"."""
        return "+".join(RAW if part is None else part.kind for part in self.parts)

    @property
    def n_features(self) -> int | None:
        """Number of features of the training data; None if no part has statistics of them."""
        return next((p.n_features for p in self.parts if p is not None and p.n_features is not None), None)

    @property
    def n_columns(self) -> int:
        """Columns of the result for one feature."""
        return len(self.parts)

    @property
    def by_query(self) -> bool:
        """Whether a part needs to know which rows are of one query."""
        return any(part is not None and part.by_query for part in self.parts)

    @property
    def fills(self) -> bool:
        """Whether every part replaces a missing value by a number."""
        return all(part is not None and part.fills for part in self.parts)

    def apply(self, features: Any, qptr: Int64Array) -> Any:
        """Return (n_docs, n_columns * n_features): the features by every part; see `Scale.apply`."""
        if isinstance(features, StoredFeatures):
            return features.scaled(self.apply, qptr, self.n_columns)
        columns = [features if part is None else part.apply(features, qptr) for part in self.parts]
        return side_by_side(columns) if is_sparse(features) else np.hstack(columns)

    def to_json(self) -> dict[str, Any]:
        """Return the value as a dict of JSON types; `scale_from_json` reads it back exactly."""
        return {"union": [None if part is None else part.to_json() for part in self.parts]}


def kinds_of(name: str | None) -> tuple[str, ...]:
    """Return the kinds in the name of a scale; None has none."""
    return () if name is None else tuple(name.split("+"))


def is_scale(name: object) -> bool:
    """Whether this text is the name of a scale."""
    kinds = kinds_of(name) if isinstance(name, str) else ()
    allowed = SCALES if len(kinds) == 1 else (RAW, *SCALES)
    return bool(kinds) and len(set(kinds)) == len(kinds) and all(kind in allowed for kind in kinds)


def is_by_query(name: str | None) -> bool:
    """Whether a scale of this name needs to know which rows are of one query."""
    return any(kind.startswith("query-") for kind in kinds_of(name))


def fills_missing(name: str | None) -> bool:
    """Whether a scale of this name replaces a missing value by a number."""
    return name is not None and all(kind in FILLING for kind in kinds_of(name))


def fit_scale(kind: str | None, features: Any) -> Scale | ScaleUnion | None:
    """Return a scale with the statistics of training data that it needs.

    Parameters
    ----------
    kind : str or None
        One of the kinds of `Scale`; ``None`` gives ``None``: no scaling. Several joined by plus signs
        give the columns of each side by side, where "raw" stands for the features as they are:
        "raw+query-percentile" has twice as many columns.
    features : float32 or float64 (n_docs, n_features), or CSR, or `StoredFeatures`
        Those of the training data; statistics are computed in float64, without missing values. Knots of
        "quantile" are from at most 65,536 documents, drawn with a fixed seed.

    Raises
    ------
    InputError
        If the kind is unknown, or these are no features.

    Notes
    -----
    One pass over the features for each kind; "quantile" sorts the drawn ones. `StoredFeatures` give the
    knots, and the statistics of "log", of the same features in memory, bit by bit; those of "standard", and
    of CSR, differ by rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix.data import fit_scale
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> fit_scale("standard", X).apply(X, qptr=np.array([0, 2]))
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    if kind is None:
        return None
    if not is_scale(kind):
        raise unknown_kind(kind)
    check_form(features)
    parts = tuple(None if part == RAW else Scale.fit(part, features) for part in kinds_of(kind))
    return parts[0] if len(parts) == 1 else ScaleUnion(parts)


def scale_from_json(data: Any) -> Scale | ScaleUnion:
    """Read what ``to_json`` of a scale wrote, and check it.

    Raises
    ------
    InputError
        If a part is missing, or has the wrong type or value.
    """
    if not isinstance(data, dict) or "union" not in data:
        return Scale.from_json(data)
    parts = data["union"]
    if not isinstance(parts, list):
        raise InputError(
            f"the scale in the model file is a union of {short_text(parts)}; a list of scales is needed. "
            "Save the model again."
        )
    scales = tuple(None if part is None else Scale.from_json(part) for part in parts)
    try:
        return ScaleUnion(scales)
    except InputError as error:
        raise InputError(f"the scale in the model file: {error} Save the model again.") from error
