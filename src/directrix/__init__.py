"""directrix: learning to rank by optimizing the measure you report.

Public names are loaded on first use, so that ``import directrix`` stays fast; the list is
in ``__init__.pyi``, for type checkers, and in ``_HOME`` below, for Python.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "InputError": "errors",
    "MissingExtra": "errors",
    "NotConverged": "errors",
    "Qrels": "data.trec",
    "Queries": "data.queries",
    "Run": "data.trec",
    "Scale": "data.scale",
    "audit": "data.audit",
    "fit_scale": "data.scale",
    "get_threads": "threads",
    "join_trec": "data.trec",
    "k_folds": "data.split",
    "letor_folds": "data.split",
    "make_cubic": "data.synthetic",
    "make_linear": "data.synthetic",
    "read_letor": "data.letor",
    "read_trec_qrels": "data.trec",
    "read_trec_run": "data.trec",
    "set_threads": "threads",
    "split_queries": "data.split",
    "write_letor": "data.letor_write",
    "write_trec_run": "data.trec",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'directrix' has no attribute {name!r}")
    value = getattr(import_module(f"directrix.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
