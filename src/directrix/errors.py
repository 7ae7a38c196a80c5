"""Every error and warning that directrix raises on purpose."""

from __future__ import annotations

import warnings

__all__ = ["InputError", "MissingExtra", "NotConverged", "warn"]


class InputError(ValueError):
    """Data that cannot be used.

    The message has four parts: what arrived, where (file:line, row, query id), what is
    needed, and what to type next.
    """


class MissingExtra(ImportError):
    """An optional dependency is not installed; the message gives the install line.

    Parameters
    ----------
    extra : str
        Name of the extra in ``pip install "directrix[extra]"``.
    purpose : str
        What needs it, as the subject of a sentence: "reading Parquet files".
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs an optional package; type: pip install "directrix[{extra}]"')
        self._given = extra, purpose

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        """Let a worker process hand it over; an exception is rebuilt from its message otherwise."""
        return type(self), self._given


class NotConverged(UserWarning):
    """Training stopped before its own criterion was met."""


def warn(message: str, category: type[Warning] = UserWarning, *, stacklevel: int = 2) -> None:
    """Issue a warning that points at the caller of the function that calls this.

    Parameters
    ----------
    message : str
        What happened and what to do about it.
    category : type of Warning
        Class of the warning.
    stacklevel : int
        1 = the caller of ``warn``, 2 = its caller, and so on.
    """
    warnings.warn(message, category, stacklevel=stacklevel + 1)  # noqa: TID251
