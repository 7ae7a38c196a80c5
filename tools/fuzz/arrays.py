"""Public functions that take arrays, with arguments that Hypothesis draws from the bytes of an input.

An argument is valid for its name, and then one or two are spoiled: another type, shape, layout or
container, or an element that is not what it should be.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import hypothesis.extra.numpy as hn
import hypothesis.strategies as st
import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings

from tools.fuzz.calls import GROUPS, Calls, valid
from tools.fuzz.hostile import ELEMENTS, OTHERS, TYPES

_ENOUGH = 2000
"""Bytes for a whole call."""


class _Lazy:
    """An array by its protocol only, and one that raises."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.value, dtype)


def _polars_series(values):
    import polars as pl

    try:
        return pl.Series(values)
    except pl.exceptions.PanicException:  # its constructor of some mixed values
        return pl.Series(map(str, values))


def _containers(value: Any) -> dict[str, Callable[[], Any]]:
    import pandas as pd
    import polars as pl

    array = np.asarray(value)
    rows = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    return {
        "list": array.tolist,
        "tuple": lambda: tuple(array.tolist()),
        "generator": lambda: (x for x in array.tolist()),
        "lazy": lambda: _Lazy(array),
        "masked": lambda: np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) % 3 == 1),
        "matrix": lambda: np.asmatrix(rows),
        "series": lambda: pd.Series(array.ravel(), index=np.zeros(array.size, dtype=int)),
        "frame": lambda: pd.DataFrame(rows),
        "nullable": lambda: pd.array([None, *array.ravel().tolist()][: array.size], dtype="Float64"),
        "category": lambda: pd.Series(array.ravel().astype(str), dtype="category"),
        "polars": lambda: pl.DataFrame(rows.astype(float)),
        "polars series": lambda: _polars_series(array.ravel().tolist()),
        "csr": lambda: sp.csr_array(rows.astype(float)),
        "coo": lambda: sp.coo_array(rows.astype(float)),
        "csc matrix": lambda: sp.csc_matrix(rows.astype(float)),
        "broken csr": lambda: _broken(rows),
        "memory": lambda: memoryview(np.ascontiguousarray(array)),
        "dict": lambda: dict(enumerate(array.tolist())),
        "set": lambda: set(map(str, array.ravel().tolist())),
        "text": lambda: str(array.tolist()),
        "nested": lambda: [[x] for x in array.tolist()],
        "objects": lambda: np.array([*array.tolist(), None], dtype=object)[:-1],
        "records": lambda: np.rec.fromarrays([array.ravel()]),
    }


def _broken(rows: Any) -> Any:
    """A sparse matrix whose places are not sorted, repeat, or lie outside."""
    made = sp.csr_array(rows.astype(float))
    if len(made.indices) > 1:
        made.indices[0] = made.indices[-1]
        made.indices[-1] = -1 if rows.size % 2 else 7
    return made


def _layouts(array: Any) -> dict[str, Callable[[], Any]]:
    def unaligned() -> Any:
        raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
        view = raw[1:].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view

    def read_only() -> Any:
        made = array.copy()
        made.flags.writeable = False
        return made

    return {
        "reversed": lambda: array[::-1],
        "second": lambda: np.repeat(array, 2, axis=0)[::2] if array.ndim else array,
        "transposed": lambda: array.T,
        "Fortran": lambda: np.asfortranarray(array),
        "column": lambda: array.reshape(-1, 1),
        "row": lambda: array.reshape(1, -1),
        "cube": lambda: array[None, ..., None],
        "scalar": lambda: array.ravel()[:1].reshape(()),
        "empty": lambda: array[:0],
        "shorter": lambda: array[:-1] if array.ndim else array,
        "longer": lambda: np.concatenate([array, array[-1:]]) if array.ndim and len(array) else array,
        "same": lambda: np.broadcast_to(array.ravel()[:1], array.shape),
        "none at all": lambda: np.empty((0,) * array.ndim),
        "unaligned": unaligned,
        "read-only": read_only,
    }


@st.composite
def _spoiled(draw: Any, value: Any) -> Any:
    kind = draw(st.sampled_from(("other", "array", "type", "element", "element", "layout", "container")))
    if kind == "other" or isinstance(value, str):
        return draw(st.sampled_from(OTHERS))
    if kind == "array":
        types = hn.scalar_dtypes() if draw(st.booleans()) else st.sampled_from(("f8", "i8"))
        return draw(hn.arrays(types, hn.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)))
    try:
        array = value.copy() if isinstance(value, np.ndarray) else np.asarray(value)
        if kind == "type":
            return array.astype(draw(st.sampled_from(TYPES)))
        if kind == "layout":
            return draw(st.sampled_from(list(_layouts(array).values())))()
        if kind == "container":
            return draw(st.sampled_from(list(_containers(value).values())))()
        element, at = draw(st.sampled_from(ELEMENTS)), draw(st.integers(0, max(array.size - 1, 0)))
        if array.ndim == 0:
            return element
        fits = isinstance(element, float | int) and array.dtype.kind == "f" and abs(element) < 10**309
        array = array if fits and draw(st.booleans()) else array.astype(object)
        array.reshape(-1)[at : at + 1] = [element]
    except (TypeError, ValueError, OverflowError, BufferError, IndexError, RuntimeError):
        return draw(st.sampled_from(OTHERS))  # the argument cannot take that form
    return array


@st.composite
def _case(draw: Any, calls: Calls) -> tuple[Callable[..., Any], dict[str, Any]]:
    call = calls[draw(st.sampled_from(sorted(calls)))]
    names = _names(call)
    base = valid(draw(st.sampled_from((2, 9, 9, 20))))
    arguments = {name: base[name] for name in names}
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)):
        arguments[name] = draw(_spoiled(arguments[name]))
    return call, arguments


def caller(group: str) -> Callable[[bytes], Any]:
    """Return what draws a call from bytes and makes it; no bytes are all calls as they should be."""
    drawn: list[Any] = []

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_case(GROUPS[group]))
    def keep(case: Any) -> None:
        drawn.append(case)

    def run(content: bytes) -> Any:
        if not content:
            return _all_valid(GROUPS[group])
        drawn.clear()
        keep.hypothesis.fuzz_one_input(content)  # type: ignore[attr-defined]
        if not drawn:
            return None
        call, arguments = drawn.pop()
        return call(**arguments)

    return run


def _all_valid(calls: Calls) -> None:
    """Call everything with valid arguments, of both precisions: this compiles the kernels."""
    for name, call in calls.items():
        base = {name: valid(9)[name] for name in _names(call)}
        single = {
            n: v.astype(np.float32) if getattr(v, "dtype", None) == np.float64 else v for n, v in base.items()
        }
        sparse = {n: sp.csr_array(v) if n == "X" else v for n, v in base.items()}
        for arguments in (base, single, *([sparse] if "X" in base else [])):
            try:
                call(**arguments)
            except Exception as error:
                if arguments is base and name not in _NEED_MORE:
                    raise AssertionError(f"{name} rejects what is valid") from error


_NEED_MORE = ("AlphaNDCG", "ERRIA")
"""They need judgments of subtopics, which labels in one dimension are not."""


def _names(call: Callable[..., Any]) -> list[str]:
    return [name for name, p in inspect.signature(call).parameters.items() if p.default is p.empty]


def mutate(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Bytes to draw from."""
    return random.randbytes(_ENOUGH)
