"""Missing values of the data that a model meets, which count as those of its training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.queries import filled
from directrix.errors import InputError
from directrix.rankers.inputs import check_finite
from directrix.types import is_sparse


def read_as(q: Any, rule: str, which: str = "the data") -> Any:
    """Return queries with 0 for missing values if the training data were read so, else as they are.

    Raises
    ------
    InputError
        If they were read with 0 for missing values and the training data as they are, or if the rule is 0 and
        missing values are on disk or in shards.
    """
    if rule == "zero":
        if isinstance(q.features, np.ndarray) or is_sparse(q.features):
            return filled(replace(q, missing="zero"))
        check_finite(q, which)
    elif rule == "nan" and q.missing == "zero":
        raise InputError(
            f"{which}: missing values were read as 0, and those of the training data were kept; a model "
            "treats them as in its training.",
            python="Read the data with missing='nan'.",
            shell="Leave out --missing zero.",
        )
    return q
