"""Scaling of features, per query or by the training data, by one scale or several side by side.

The name of a scale and the features of the training data go in. Out comes a value that is stored with the
model, and that scales the features of any data in the same way:

>>> scale = fit_scale("minmax", np.array([[1.0], [3.0]]))
>>> scale.apply(np.array([[2.0], [5.0]]), qptr=np.array([0, 2])).tolist()
[[0.5], [2.0]]
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, get_args

import numpy as np

from directrix.data.checks import check_form
from directrix.data.memory import check_room
from directrix.data.sparse import absent_values, side_by_side, with_entries
from directrix.data.statistics import (
    MAX_KNOTS,
    Rows,
    check_width,
    fit_knots,
    knot_scores,
    map_query,
    mapped,
    mapped_by_query,
    statistics,
)
from directrix.errors import NO_ITEMS, InputError, short_text
from directrix.schema import check
from directrix.types import Array, Float64Array, Int64Array, is_sparse

Kind = Literal["query-minmax", "query-standard", "query-percentile", "minmax", "standard", "log", "quantile"]
SCALES: tuple[Kind, ...] = get_args(Kind)
_NUMBERS = ("center", "width", "fill")
# The statistics of each kind that has some; kinds by query compute theirs from the query.
_FIELDS = {"minmax": _NUMBERS, "standard": _NUMBERS[:2], "log": _NUMBERS[:2], "quantile": ("knots", "scores")}
# The form of each statistic in a model file; see `directrix.schema`.
_FORMS = {
    name: [[float]] if name in _FIELDS["quantile"] else [float]
    for names in _FIELDS.values()
    for name in names
}
# Entries are mapped in blocks of this number, so that the float64 copy stays small (2 MiB).
_ENTRIES = 1 << 18
FILLING = tuple(_FIELDS)
"""The kinds that replace a missing value by a number."""


RAW = "raw"
"""The part of a union with the unchanged features."""


def kinds_of(name: str | None) -> tuple[str, ...]:
    """Return the kinds in the name of a scale; None has none."""
    return () if name is None else tuple(name.split("+"))


def is_scale(name: object) -> bool:
    """Whether this text is the name of a scale."""
    kinds = kinds_of(name) if isinstance(name, str) else ()
    allowed = SCALES if len(kinds) == 1 else (RAW, *SCALES)
    return bool(kinds) and len(set(kinds)) == len(kinds) and all(kind in allowed for kind in kinds)


def is_by_query(name: str | None) -> bool:
    """Whether a scale of this name needs query boundaries."""
    return any(kind.startswith("query-") for kind in kinds_of(name))


def fills_missing(name: str | None) -> bool:
    """Whether a scale of this name replaces a missing value by a number."""
    return name is not None and all(kind in FILLING for kind in kinds_of(name))


class _Kinds:
    """Properties of a scale that depend on its kind alone."""

    kind: Any

    @property
    def n_columns(self) -> int:
        """Columns of the result for one feature."""
        return len(kinds_of(self.kind))

    @property
    def by_query(self) -> bool:
        """Whether it needs query boundaries."""
        return is_by_query(self.kind)

    @property
    def fills(self) -> bool:
        """Whether it replaces a missing value by a number, in every column."""
        return fills_missing(self.kind)


@dataclass(frozen=True)
class Scale(_Kinds):
    r"""A map of every feature: linear, :math:`(x - c) / d`, or by logarithms, percentiles or normal scores.

    ====================  ================================  ================================
    kind                  c                                 d
    ====================  ================================  ================================
    ``"query-minmax"``    minimum within the query          range within the query
    ``"query-standard"``  mean within the query             standard deviation of the query
    ``"minmax"``          minimum of the training data      range of the training data
    ``"standard"``        mean of the training data         standard deviation of them
    ``"log"``             mean of L(x) in the training data  standard deviation of L(x)
    ====================  ================================  ================================

    "query-minmax" is LETOR's QueryLevelNorm. If d is 0, the feature becomes 0 (within that query, or
    everywhere for features that were constant in training).

    "log" is :math:`(L(x) - c) / d` with :math:`L(x) = \operatorname{sign}(x) \log(1 + |x|)`: L keeps signs
    and zeros, is linear near 0, and brings 2e8 to 19.

    "query-percentile" is the share of the query's other documents with a smaller value.

    "quantile" is :math:`\Phi^{-1}(F(x))`, with the distribution function F of the feature in the training
    data and :math:`\Phi` that of the normal distribution (rankits; Beasley et al. 2009). Equal values get the
    middle of their ranks. F is exact at the knots (at most 256 per feature, two for each 128th of the
    results) and linear between them. Values beyond the last knot are clipped, so no result exceeds 4.2.

    A missing value (NaN) becomes the mean of its feature in the training data under "standard" and "log" (0
    for both) and "minmax", and 0, the median, under "quantile". The kinds by query keep it missing.

    Parameters
    ----------
    kind : str
        See the table.
    center, width : tuple of float (n_features,), or None
        c and d of the training data; ``None`` for the other kinds. A width of 0 marks a constant feature.
    fill : tuple of float (n_features,), or None
        "minmax": mean of the training data.
    knots, scores : tuple of tuples of float, or None
        "quantile": ascending values of each feature, and their results.

    Raises
    ------
    InputError
        If the kind is unknown, or has other statistics than it needs.

    References
    ----------
    Beasley, Erickson & Allison (2009), rankits: c = 1/2, doi:10.1007/s10519-009-9281-0.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix.data import Scale
    >>> Scale.fit("minmax", np.array([[1.0], [3.0]])).apply(np.array([[2.0]]), qptr=np.array([0, 1]))
    array([[0.5]])
    """

    kind: Kind
    center: tuple[float, ...] | None = None
    width: tuple[float, ...] | None = None
    fill: tuple[float, ...] | None = None
    knots: tuple[tuple[float, ...], ...] | None = None
    scores: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def fit(cls, kind: str, features: Any) -> Scale:
        """Return the scale of this kind with the statistics of training data; see `fit_scale`."""
        if kind not in SCALES:
            raise unknown_kind(kind)
        if kind.startswith("query-"):
            return cls(kind)
        if not check_form(features)[0]:
            raise InputError(f"features have no rows; those of the training data are needed for {kind!r}.")
        if kind == "quantile":
            knots, scores = fit_knots(features)
            check_width(np.array([row[-1] - row[0] for row in knots]), "the training data")
            return cls(kind, knots=knots, scores=scores)
        center, width, mean = (tuple(row.tolist()) for row in statistics(kind, features))
        check_width(np.array(width), "the training data")
        return cls(kind, center, width, mean if kind == "minmax" else None)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in SCALES:
            raise unknown_kind(self.kind)
        # A scale has the statistics that its kind needs, and no others.
        names, lengths = _FIELDS.get(self.kind, ()), []
        for name in _FORMS:
            values = getattr(self, name)
            if (values is not None) != (name in names):
                self._refuse(f"{name}={short_text(values)}")
            if values is not None:
                object.__setattr__(self, name, self._exact(name, values))
                lengths.append(f"{len(values)} {name}s")
        if len({text.split()[0] for text in lengths}) > 1:
            self._refuse(" and ".join(lengths))
        for feature, (x, z) in enumerate(zip(self.knots or (), self.scores or (), strict=True), start=1):
            ascends = all((np.diff(row) > 0).all() and 1 <= len(row) <= MAX_KNOTS for row in (x, z))
            if len(x) != len(z) or not ascends:
                self._refuse(f"knots {short_text(x)} and scores {short_text(z)} of feature {feature}")

    def _exact(self, name: str, values: Any) -> tuple[Any, ...]:
        """Return statistics as Python's floats."""
        rows = values if self.kind == "quantile" else [values]
        try:
            exact = tuple(tuple(np.asarray(row, dtype=np.float64).tolist()) for row in rows)
            is_good = exact and all(map(math.isfinite, itertools.chain.from_iterable(exact)))
        except (*NO_ITEMS, ValueError):
            is_good = False
        if not is_good or (name == "width" and min(exact[0], default=0.0) < 0):
            self._refuse(f"{name}={short_text(values)}")
        return exact if self.kind == "quantile" else exact[0]

    def _refuse(self, what: str) -> NoReturn:
        needed = {
            "quantile": f"two ascending lists of 1 to {MAX_KNOTS} finite numbers per feature are needed",
            "query": "kinds by query have no statistics",
        }.get(self.kind.split("-")[0], "one finite number per feature is needed (widths >= 0)")
        raise InputError(
            f"Scale({self.kind!r}) with {what}; {needed}. Type directrix.data.fit_scale({self.kind!r}, "
            "features)."
        )

    @property
    def n_features(self) -> int | None:
        """Number of features of the training data; None for kinds by query, which have no statistics."""
        per_feature = self.knots if self.center is None else self.center
        return None if per_feature is None else len(per_feature)

    def apply(self, features: Any, qptr: Int64Array) -> Any:
        """Scale features.

        Parameters
        ----------
        features : float32 or float64 (n_docs, n_features), or CSR
            Not changed; the result has the same dtype. For features in a file see `Queries.scaled`. CSR
            features get the same values as dense ones. If a scale changes 0, absent entries have one value
            per column, and the result is not a SciPy matrix, but has a method ``toarray``.
        qptr : int64 (n_queries + 1,)
            Query boundaries, which kinds by training data do not use.

        Raises
        ------
        InputError
            If the number of features is not that of the training data; or if a finite value, or the range of
            a query, becomes infinite; or for infinite values with "quantile".

        Notes
        -----
        It makes one copy of the features, O(n_docs n_features); for CSR, of the stored ones, and by query of
        all values in a query's columns that do not become 0.
        """
        check_form(features)
        is_csr = is_sparse(features)
        if self.by_query:
            map_queries = _mapped_queries if is_csr else mapped_by_query
            return map_queries(self.kind, features, qptr)
        if features.shape[1] != self.n_features:
            raise InputError(
                f"the features have {features.shape[1]} columns, but {self.n_features} when the scale was "
                "made; both must agree. Give the same features in the same order as in training."
            )
        if self.knots is not None and self.scores is not None:
            map_values = _knot_entries if is_csr else knot_scores
            values = map_values(features, self.knots, self.scores)
        else:
            empty_value = self.fill if self.kind == "minmax" else self.center
            numbers = (np.array(self.center), np.array(self.width), np.array(empty_value))
            map_linearly = _mapped_entries if is_csr else mapped
            values = map_linearly(features, *numbers, log=self.kind == "log")
        if not is_csr:
            return values
        # All entries of a column that are not stored have one value, which is scaled once.
        absent = self.apply(absent_values(features)[None].astype(features.dtype), qptr)[0]
        return with_entries(features, values, absent.astype(np.float64))

    def to_json(self) -> dict[str, Any]:
        """Return the scale as a dict of JSON types; `from_json` reads it back exactly."""
        fields = {name: list(getattr(self, name)) for name in _FIELDS.get(self.kind, ())}
        if self.kind == "quantile":
            fields = {name: list(map(list, rows)) for name, rows in fields.items()}
        return {"kind": self.kind, **fields}

    @classmethod
    def from_json(cls, data: Any) -> Scale:
        """Read the result of `to_json`, and check it.

        Raises
        ------
        InputError
            If a part is missing, or has the wrong type or value.
        """
        with _in_model_file():
            fields = data if isinstance(data, dict) else {"kind": data}
            check(fields, {f"{name}?": form for name, form in _FORMS.items()})
            return cls(fields.get("kind"), **{name: fields.get(name) for name in _FORMS})  # type: ignore[arg-type]


@contextlib.contextmanager
def _in_model_file() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"the scale in the model file: {error} Save the model again.") from error


def unknown_kind(kind: object) -> InputError:
    """Return the error for a scale that does not exist."""
    return InputError(
        f"scale={short_text(kind)}; choose one of {', '.join(map(repr, SCALES))}, or None, or several side "
        "by side: 'raw+query-percentile'."
    )


@dataclass(frozen=True)
class ScaleUnion(_Kinds):
    """Several scales of the same features; the columns of the first come before those of the second.

    Parameters
    ----------
    parts : tuple of Scale or None
        Two or more of different kinds; None stands for the unchanged features.

    Raises
    ------
    InputError
        If there are fewer than two parts, two of one kind, or parts for different numbers of features.
    """

    parts: tuple[Scale | None, ...]

    def __post_init__(self) -> None:
        kinds = self.kind.split("+")
        if len(kinds) < 2 or len(set(kinds)) < len(kinds):
            raise InputError(
                f"scale={short_text(self.kind)}: two or more different kinds are needed for a union."
            )
        counts = {scale.n_features for scale in self.parts if scale is not None} - {None}
        if len(counts) > 1:
            numbers = " and ".join(sorted(map(str, counts)))
            raise InputError(
                f"scale={short_text(self.kind)} has parts for {numbers} features; all must agree."
            )

    @property
    def kind(self) -> str:
        """Names of the parts with a plus sign between them: "raw+query-percentile"."""
        return "+".join(RAW if scale is None else scale.kind for scale in self.parts)

    @property
    def n_features(self) -> int | None:
        """Number of features of the training data; None if no part has statistics of them."""
        return next((p.n_features for p in self.parts if p is not None and p.n_features is not None), None)

    def apply(self, features: Any, qptr: Int64Array) -> Any:
        """Return (n_docs, n_columns * n_features): the features by every part; see `Scale.apply`."""
        columns = [features if scale is None else scale.apply(features, qptr) for scale in self.parts]
        return side_by_side(columns)

    def to_json(self) -> dict[str, Any]:
        """Return the union as a dict of JSON types; `scale_from_json` reads it back exactly."""
        return {"union": [None if scale is None else scale.to_json() for scale in self.parts]}


def fit_scale(kind: str | None, features: Any) -> Scale | ScaleUnion | None:
    """Return a scale with the statistics that it needs from training data.

    Parameters
    ----------
    kind : str or None
        One of the kinds of `Scale`; ``None`` gives ``None``: no scaling. Several kinds joined by plus signs
        give their columns side by side; "raw" stands for the unchanged features: "raw+query-percentile" has
        twice as many columns.
    features : float32 or float64 (n_docs, n_features), or CSR, or `StoredFeatures`
        Features of the training data; statistics are computed in float64, without missing values. Knots of
        "quantile" come from at most 65,536 documents, sampled with a fixed seed.

    Raises
    ------
    InputError
        If the kind is unknown, or ``features`` is not a matrix of features.

    Notes
    -----
    Each kind takes one pass over the features; "quantile" sorts the sampled ones. Knots, and the statistics
    of "log", have the same bits for `StoredFeatures` and features in memory; those of "standard", and of CSR,
    differ by rounding.

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
    scales = tuple(None if name == RAW else Scale.fit(name, features) for name in kinds_of(kind))
    return scales[0] if len(scales) == 1 else ScaleUnion(scales)


def scale_from_json(data: Any) -> Scale | ScaleUnion:
    """Read the result of ``to_json`` of a scale, and check it.

    Raises
    ------
    InputError
        If a part is missing, or has the wrong type or value.
    """
    if not isinstance(data, dict) or "union" not in data:
        return Scale.from_json(data)
    parts = data["union"] if isinstance(data["union"], list) else []
    scales = tuple(None if part is None else Scale.from_json(part) for part in parts)
    with _in_model_file():
        return ScaleUnion(scales)


def _mapped_entries(
    X: Any, center: Float64Array, width: Float64Array, empty_value: Float64Array, *, log: bool
) -> Array:
    """Apply `mapped` to the stored entries of sparse features, each as one column."""
    out: Array = np.empty_like(X.data)
    for first in range(0, len(out), _ENTRIES):
        block = slice(first, first + _ENTRIES)
        f = X.indices[block]
        out[block] = mapped(X.data[None, block], center[f], width[f], empty_value[f], log=log, columns=f)[0]
    return out


def _knot_entries(X: Any, knots: Rows, scores: Rows) -> Array:
    """Apply `knot_scores` to the stored entries of sparse features."""
    out: Array = np.empty_like(X.data)
    # Entries are stored by row, and each column has knots of its own, so they are visited by column.
    order = np.argsort(X.indices, kind="stable")
    starts = np.searchsorted(X.indices[order], np.arange(X.shape[1] + 1))
    for f in np.flatnonzero(np.diff(starts)).tolist():
        of_column = order[starts[f] : starts[f + 1]]
        values = X.data[of_column, None]
        out[of_column] = knot_scores(values, knots[f : f + 1], scores[f : f + 1], [f])[:, 0]
    return out


def _mapped_queries(kind: str, X: Any, qptr: Int64Array) -> Any:
    """Scale sparse features by query: a query's columns without entries are constant, and become 0.

    The others are made dense, query by query.
    """
    from scipy.sparse import csr_array

    absent, indptr = absent_values(X).astype(X.dtype), X.indptr
    data, indices, sizes, n_bytes = [], [], [np.zeros(1, dtype=np.int64)], 0
    for query, (first, last) in enumerate(zip(qptr[:-1].tolist(), qptr[1:].tolist(), strict=True)):
        stored = slice(indptr[first], indptr[last])
        columns, place = np.unique(X.indices[stored], return_inverse=True)
        # The columns in which the query has entries become a dense block, with the others' values.
        rows = np.tile(absent[columns], (last - first, 1))
        rows[np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1])), place] = X.data[stored]
        scaled = map_query(kind, rows, query, columns) if rows.size else rows
        row, column = np.nonzero(scaled)
        data.append(scaled[row, column])
        indices.append(columns[column])
        sizes.append(np.bincount(row, minlength=last - first))
        n_bytes += len(row) * (X.dtype.itemsize + 8)
        check_room(
            n_bytes,
            f"scale={kind!r} makes sparse features dense within queries: the first {query + 1:,}",
            "Take the scale 'standard' or 'log', which keep them sparse.",
        )
    ends = np.cumsum(np.concatenate(sizes))
    # Without any query, the empty arrays give the types.
    values = np.concatenate([np.empty(0, X.dtype), *data])
    columns = np.concatenate([np.empty(0, X.indices.dtype), *indices])
    return csr_array((values, columns, ends), shape=X.shape)
