"""Scaling of features: by query as LETOR does, or by statistics of the training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from directrix.data.statistics import percentiles, statistics
from directrix.data.stored import StoredFeatures
from directrix.data.validate import has_finite_sum
from directrix.errors import InputError
from directrix.types import Array, Int64Array

Kind = Literal["query-minmax", "query-standard", "query-percentile", "minmax", "standard"]
SCALES: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Scale:
    r"""A map of every feature: linear, :math:`(x - c) / d`, or percentiles.

    ====================  ==============================  ==============================
    kind                  c                               d
    ====================  ==============================  ==============================
    ``"query-minmax"``    minimum within the query        range within the query
    ``"query-standard"``  mean within the query           standard deviation of the query
    ``"minmax"``          minimum of the training data    range of the training data
    ``"standard"``        mean of the training data       standard deviation of them
    ====================  ==============================  ==============================

    "query-minmax" is LETOR's QueryLevelNorm. Where d is 0 the feature becomes 0 (within that
    query, or everywhere for the features that were constant in training).

    "query-percentile", which is not linear, is the share of the query's other documents with a smaller value.

    Parameters
    ----------
    kind : str
        See the table.
    center, width : tuple of float (n_features,), or None
        c and d of the training data; ``None`` for the kinds by query. A width of 0 marks a
        constant feature.

    Raises
    ------
    InputError
        If the kind is unknown, or has statistics that it does not take, or lacks those that it does.
    """

    kind: Kind
    center: tuple[float, ...] | None = None
    width: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in SCALES:
            raise InputError(f"scale={self.kind!r}; choose one of {', '.join(map(repr, SCALES))}, or None.")
        if self.kind.startswith("query-"):
            if self.center is not None or self.width is not None:
                raise InputError(
                    f"Scale({self.kind!r}) with center or width, which each query determines. Leave them out."
                )
            return
        remedy = f"Take them with directrix.data.fit_scale({self.kind!r}, features)."
        for name, lowest in (("center", -np.inf), ("width", 0.0)):
            values = getattr(self, name)
            is_row = isinstance(values, tuple | list | np.ndarray)
            if not is_row or not all(_is_finite(v) and v >= lowest for v in values):
                raise InputError(
                    f"Scale({self.kind!r}) with {name} = {_shown(values)}; a list with one finite number for "
                    f"each feature of the training data is needed (widths >= 0). {remedy}"
                )
            object.__setattr__(self, name, tuple(float(v) for v in values))
        if len(self.center or ()) != len(self.width or ()):
            raise InputError(
                f"Scale({self.kind!r}) with {len(self.center or ())} centers and {len(self.width or ())} "
                f"widths; both have one value per feature. {remedy}"
            )

    def apply(self, features: Any, qptr: Int64Array) -> Any:
        """Scale features.

        Parameters
        ----------
        features : float32 or float64 (n_docs, n_features), or CSR
            Not changed; the result has the same dtype. `StoredFeatures` are scaled as they are read.
        qptr : int64 (n_queries + 1,)
            Query boundaries, which the kinds by training data do not use.

        Raises
        ------
        InputError
            If the number of features is not that of the training data; for CSR features unless the kind is
            "standard", which then only divides by d, since subtracting would fill the matrix; or if a finite
            value, or the range of a query, becomes infinite.

        Notes
        -----
        One copy of the features, O(n_docs n_features).
        """
        if isinstance(features, StoredFeatures):
            return features.scaled(self.apply, qptr)
        if sp.issparse(features):
            return self._apply_csr(features)
        if self.center is None or self.width is None:
            return _by_query(self.kind, features, qptr)
        self._check_columns(features)
        return _mapped(features, np.array(self.center), np.array(self.width))

    def _apply_csr(self, features: Any) -> Any:
        if self.kind != "standard":
            raise _moves_zeros(self.kind)
        self._check_columns(features)
        factor = _inverse(np.array(self.width))
        with np.errstate(over="ignore", invalid="ignore"):
            data = (features.data * factor[features.indices]).astype(features.dtype)
        _check_finite(data, features.data, lambda at: f"column {features.indices[at[0]]}")
        return sp.csr_array((data, features.indices, features.indptr), shape=features.shape)

    def _check_columns(self, features: Any) -> None:
        if self.center is not None and features.shape[1] != len(self.center):
            raise InputError(
                f"the features have {features.shape[1]} columns, but {len(self.center)} when the scale was "
                "made; both must agree. Give the same features in the same order as in training."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the value as a dict of JSON types; `from_json` reads it back exactly."""
        if self.center is None or self.width is None:
            return {"kind": self.kind}
        return {"kind": self.kind, "center": list(self.center), "width": list(self.width)}

    @classmethod
    def from_json(cls, data: Any) -> Scale:
        """Read what `to_json` wrote, and check it.

        Raises
        ------
        InputError
            If a part is missing, or has the wrong type or value.
        """
        kind = data.get("kind") if isinstance(data, dict) else None
        if not isinstance(kind, str) or kind not in SCALES:
            raise InputError(
                f"the scale in the model file is {_shown(data)}; a kind out of {', '.join(SCALES)} is "
                "needed. Save the model again."
            )
        try:
            return cls(kind, data.get("center"), data.get("width"))
        except InputError as error:
            raise InputError(f"the scale in the model file: {error} Save the model again.") from error


def fit_scale(kind: str | None, features: Any) -> Scale | None:
    """Return a scale with the statistics of training data that it needs.

    Parameters
    ----------
    kind : {"query-minmax", "query-standard", "query-percentile", "minmax", "standard"}, or None
        ``None`` gives ``None``: no scaling.
    features : float32 or float64 (n_docs, n_features), or CSR, or `StoredFeatures`
        Those of the training data; statistics are computed in float64.

    Raises
    ------
    InputError
        If the kind is unknown, or cannot be used with CSR features.
    """
    if kind is None:
        return None
    if kind not in SCALES:
        raise InputError(f"scale={kind!r}; choose one of {', '.join(map(repr, SCALES))}, or None.")
    if kind.startswith("query-"):
        return Scale(kind)
    if sp.issparse(features) and kind == "minmax":
        raise _moves_zeros(kind)
    center, width = statistics(kind, features)
    _check_width(width, "the training data")
    return Scale(kind, tuple(center.tolist()), tuple(width.tolist()))


def _moves_zeros(kind: str) -> InputError:
    return InputError(
        f"scale={kind!r} moves zeros, so CSR features would become dense.",
        python="Type scale='standard' (which only divides CSR features), scale=None, or read the file with "
        "sparse=False.",
        shell="Type --scale standard, or leave out --scale.",
    )


def _shown(value: object) -> str:
    """Text of a value from a file, cut where it is long; Python refuses to print huge integers."""
    try:
        text = repr(value)
    except ValueError:
        text = "huge integers"
    return text if len(text) <= 60 else text[:57] + "..."


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def _inverse(width: Array) -> Array:
    factor = np.zeros(len(width))
    with np.errstate(over="ignore"):
        np.divide(1.0, width, out=factor, where=width > 0)
    return factor


def _divided(values: Array, width: Array) -> Array:
    """``values / width``, 0 where the width is 0."""
    factor = _inverse(width)
    tiny = np.isinf(factor)  # widths below 5.6e-309 have no reciprocal
    out: Array = values * np.where(tiny, 0.0, factor)
    if tiny.any():
        out[:, tiny] = values[:, tiny] / width[tiny]
    return out


def _check_width(width: Array, where: str) -> None:
    if np.isinf(width).any():
        column = int(np.argmax(np.isinf(width)))
        raise InputError(
            f"features: the range or deviation of column {column} in {where} is too large for a float; "
            f"values below 1e150 can be scaled. Divide the column first, e.g. X[:, {column}] /= 1e200."
        )


def _check_finite(out: Array, given: Array, place: Callable[[tuple[int, ...]], str]) -> None:
    if has_finite_sum(out):
        return
    bad = ~np.isfinite(out) & np.isfinite(given)
    if bad.any():
        at = tuple(int(i) for i in np.unravel_index(np.argmax(bad), bad.shape))
        raise InputError(
            f"features: {given[at].item():g} at {place(at)} is too large for {out.dtype} once it is scaled; "
            "values near those of the training data are needed. Clip the column, or use features in float64."
        )


def _mapped(features: Array, center: Array, width: Array) -> Array:
    out = np.empty_like(features, order="C")
    for first in range(0, len(features), 8192):  # blocks, so that the float64 copy stays small
        _map_rows(features, out, slice(first, first + 8192), center, width)
    return out


def _map_rows(features: Array, out: Array, rows: slice, center: Array, width: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        out[rows] = _divided(features[rows] - center, width)
    _check_finite(out[rows], features[rows], lambda at: f"row {rows.start + at[0]}, column {at[1]}")


def _by_query(kind: str, features: Array, qptr: Int64Array) -> Array:
    out = np.empty_like(features, order="C")
    for query, (first, last) in enumerate(zip(qptr[:-1].tolist(), qptr[1:].tolist(), strict=True)):
        if first == last:
            continue
        if kind == "query-percentile":
            out[first:last] = percentiles(features[first:last])
            continue
        part = features[first:last].astype(np.float64)
        low, high = part.min(axis=0), part.max(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            if kind == "query-minmax":
                center, width = low, high - low
            else:
                center, width = part.mean(axis=0), np.where(low < high, part.std(axis=0), 0.0)
        _check_width(width, f"query {query}")
        _map_rows(features, out, slice(first, last), center, width)
    return out
