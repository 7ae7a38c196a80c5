"""What can become of an input, and where in the package it went wrong."""

from __future__ import annotations

import traceback
from pathlib import Path

import directrix
from directrix.errors import InputError, MissingExtra

OUTCOMES = ("accepted", "rejected", "unexplained", "traceback", "crash", "hang", "memory")
"""``unexplained``: accepted, a reference rejects it or reads it differently, and no reason is written."""

BAD = OUTCOMES[2:]

_HOME = str(Path(directrix.__file__).parent)


def is_ours(error: BaseException) -> bool:
    """Whether an error is one that the package raises on purpose."""
    if isinstance(error, InputError | MissingExtra):
        return True
    from sklearn.exceptions import NotFittedError
    from sklearn.utils._param_validation import InvalidParameterError

    if isinstance(error, InvalidParameterError | NotFittedError):
        return True
    # scikit-learn's checks of estimators require its own messages for arrays of the wrong shape or type
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    of_estimators = any(name.endswith("sklearn/utils/validation.py") for name in files)
    return isinstance(error, ValueError | TypeError) and of_estimators


def place(error: BaseException) -> str:
    """Name the error and the innermost line of the package on its way: ``TypeError at data/x.py:12 f``."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_HOME)]
    at = frames[-1] if frames else None
    where = f"{Path(at.filename).relative_to(_HOME)}:{at.lineno} {at.name}" if at else "outside the package"
    return f"{type(error).__name__} at {where}"
