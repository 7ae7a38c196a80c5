"""Scaling of features: by query as LETOR does, or by statistics of the training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from directrix.errors import InputError
from directrix.types import Array, Int64Array

__all__ = ["Scale", "fit_scale"]

Kind = Literal["query-minmax", "query-standard", "minmax", "standard"]
_KINDS = ("query-minmax", "query-standard", "minmax", "standard")


@dataclass(frozen=True)
class Scale:
    r"""A linear map of every feature, :math:`(x - c) / d`.

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

    Parameters
    ----------
    kind : str
        See the table.
    center, width : tuple of float (n_features,), or None
        c and d of the training data; ``None`` for the kinds by query. A width of 0 marks a
        constant feature.
    """

    kind: Kind
    center: tuple[float, ...] | None = None
    width: tuple[float, ...] | None = None

    def apply(self, features: Any, qptr: Int64Array) -> Any:
        """Scale features.

        Parameters
        ----------
        features : float32 or float64 (n_docs, n_features), or CSR
            Not changed; the result has the same dtype.
        qptr : int64 (n_queries + 1,)
            Query boundaries; they do not matter to the kinds by training data.

        Raises
        ------
        InputError
            If the number of features is not that of the training data, or for CSR features,
            except "standard", which then divides by d only, since subtracting would fill the
            matrix.

        Notes
        -----
        One copy of the features, O(n_docs n_features).
        """
        if sp.issparse(features):
            return self._apply_csr(features)
        if self.center is None or self.width is None:
            return _by_query(self.kind, features, qptr)
        self._check_columns(features)
        center, factor = np.array(self.center), _inverse(np.array(self.width))
        return _mapped(features, center, factor)

    def _apply_csr(self, features: Any) -> Any:
        if self.kind != "standard":
            raise InputError(
                f"scale={self.kind!r} moves zeros, so CSR features would become dense. Type "
                "scale='standard' (which "
                "only divides CSR features), scale=None, or read the file with sparse=False."
            )
        self._check_columns(features)
        factor = _inverse(np.array(self.width))
        return sp.csr_array(
            (
                (features.data * factor[features.indices]).astype(features.dtype),
                features.indices,
                features.indptr,
            ),
            shape=features.shape,
        )

    def _check_columns(self, features: Any) -> None:
        if self.center is not None and features.shape[1] != len(self.center):
            raise InputError(
                f"the features have {features.shape[1]} columns, but {len(self.center)} when the scale was "
                "made; "
                "both must agree. Give the same features in the same order as in training."
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
        if not isinstance(kind, str) or kind not in _KINDS:
            raise InputError(
                f"the scale in the model file is {data!r}; a kind out of {', '.join(_KINDS)} is needed. "
                "Save the model again."
            )
        if kind.startswith("query-"):
            return cls(kind)  # type: ignore[arg-type]
        parts = []
        for name in ("center", "width"):
            values = data.get(name)
            numbers = isinstance(values, list) and all(
                type(v) in (int, float) and np.isfinite(v) for v in values
            )
            if (
                not isinstance(values, list)
                or not numbers
                or (name == "width" and min(values, default=0) < 0)
            ):
                raise InputError(
                    f"the scale {kind!r} in the model file has {name} = {str(values)[:60]}; a list of "
                    "finite numbers "
                    "is needed (widths >= 0). Save the model again."
                )
            parts.append(tuple(float(v) for v in values))
        if len(parts[0]) != len(parts[1]):
            raise InputError(
                f"the scale {kind!r} in the model file has {len(parts[0])} centers and {len(parts[1])} "
                "widths; both "
                "have one value a feature. Save the model again."
            )
        return cls(kind, parts[0], parts[1])  # type: ignore[arg-type]


def fit_scale(kind: str | None, features: Any) -> Scale | None:
    """Take what a scale needs from training data.

    Parameters
    ----------
    kind : {"query-minmax", "query-standard", "minmax", "standard"}, or None
        ``None`` gives ``None``: no scaling.
    features : float32 or float64 (n_docs, n_features), or CSR
        Of the training data; statistics are computed in float64.

    Raises
    ------
    InputError
        If the kind is unknown, or cannot be used with CSR features.
    """
    if kind is None:
        return None
    if kind not in _KINDS:
        raise InputError(f"scale={kind!r}; choose one of {', '.join(map(repr, _KINDS))}, or None.")
    if kind.startswith("query-"):
        return Scale(kind)  # type: ignore[arg-type]
    if sp.issparse(features):
        if kind == "minmax":
            return Scale("minmax", (), ())._apply_csr(features)  # type: ignore[no-any-return]
        mean = np.asarray(features.mean(axis=0, dtype=np.float64)).ravel()
        second = np.asarray(features.power(2).mean(axis=0, dtype=np.float64)).ravel()
        deviation = np.sqrt(np.maximum(second - mean**2, 0.0))
        deviation[deviation <= 1e-7 * np.sqrt(second)] = 0.0
        return Scale("standard", tuple(mean.tolist()), tuple(deviation.tolist()))
    low, high = features.min(axis=0).astype(np.float64), features.max(axis=0).astype(np.float64)
    if kind == "minmax":
        return Scale("minmax", tuple(low.tolist()), tuple((high - low).tolist()))
    mean = features.mean(axis=0, dtype=np.float64)
    deviation = features.std(axis=0, dtype=np.float64)
    deviation[low == high] = 0.0
    return Scale("standard", tuple(mean.tolist()), tuple(deviation.tolist()))


def _inverse(width: Array) -> Array:
    factor = np.zeros(len(width))
    np.divide(1.0, width, out=factor, where=width > 0)
    return factor


def _mapped(features: Array, center: Array, factor: Array) -> Array:
    out = np.empty_like(features, order="C")
    for first in range(0, len(features), 8192):  # blocks, so that the float64 copy stays small
        part = features[first : first + 8192]
        out[first : first + 8192] = (part - center) * factor
    return out


def _by_query(kind: str, features: Array, qptr: Int64Array) -> Array:
    out = np.empty_like(features, order="C")
    for first, last in zip(qptr[:-1].tolist(), qptr[1:].tolist(), strict=True):
        if first == last:
            continue
        part = features[first:last].astype(np.float64)
        low, high = part.min(axis=0), part.max(axis=0)
        if kind == "query-minmax":
            center, width = low, high - low
        else:
            center, width = part.mean(axis=0), np.where(low < high, part.std(axis=0), 0.0)
        out[first:last] = (part - center) * _inverse(width)
    return out
