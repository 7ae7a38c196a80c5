"""A number as a tool printed it: its digits say how exactly it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from directrix.errors import InputError, short_text
from directrix.measures.base import RankingMeasure

_LEAST_HALF_UNIT = 1e-7  # single precision: what some tools compute in, however many digits they print
_SLACK = 1e-12  # a value at the end of the interval may differ in its last bits


@dataclass(frozen=True)
class Printed:
    """A number and the interval of the values that are printed like it.

    Parameters
    ----------
    text : str
        The number as it was given.
    value : float
        The number, as a share if it was given in percent.
    half_unit : float
        Half a unit of its last decimal, at least 1e-7.
    scale : float
        What measures are multiplied by before they are printed: 1, or 100 for percent.
    """

    text: str
    value: float
    half_unit: float
    scale: float = 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """Values that are rounded to the number."""
        return self.value - self.half_unit, self.value + self.half_unit

    @property
    def cut_interval(self) -> tuple[float, float]:
        """Values that become the number when all further decimals are cut off."""
        unit = 2.0 * self.half_unit
        return (self.value, self.value + unit) if self.value >= 0.0 else (self.value - unit, self.value)

    def within(self, values: Any, *, cut: bool = False) -> Any:
        """Return whether each value would be printed as the number."""
        low, high = self.cut_interval if cut else self.interval
        return (values >= low - _SLACK) & (values <= high + _SLACK)


def highest_value(measure: RankingMeasure) -> float:
    """Return the largest number that a measure prints; infinite if that is not a mean over queries."""
    is_mean = type(measure).summary is RankingMeasure.summary
    return float(measure.highest) if is_mean else math.inf


def printed(given: Any, highest: float, what: str = "value") -> Printed:
    """Return a number with the interval that its decimals leave; a text keeps its last zeros.

    A number above ``highest``, the largest value of the measure, is read as percent. Raises `InputError` if
    it is no finite number, or no value of the measure even in percent.

    Examples
    --------
    >>> printed("0.4510", 1.0).interval
    (0.45095, 0.45105)
    >>> printed("45.1 %", 1.0).value
    0.451
    """
    text = str(given).strip()
    digits = text.removesuffix("%").rstrip()
    try:
        number = Decimal(digits)
        if isinstance(given, bool) or not number.is_finite():
            raise ValueError
    except (InvalidOperation, ValueError):
        raise InputError(
            f"{what}={short_text(given)}: a finite number is needed, as the tool printed it, with its "
            'decimals as text: "0.4510".'
        ) from None
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int), "finite numbers have one"
    scale = 100.0 if digits != text or abs(float(number)) > highest else 1.0
    value = float(number / 100) if scale > 1.0 else float(number)
    if not abs(value) <= highest:
        raise InputError(
            f"{what}={short_text(given)}: the measure is at most {highest:g}, and so is no number above "
            f"{100 * highest:g}, even in percent. Give the number of this measure alone."
        )
    half_unit = max(0.5 * 10.0 ** min(exponent, 300) / scale, _LEAST_HALF_UNIT)
    if not math.isfinite(half_unit):
        half_unit = _LEAST_HALF_UNIT
    return Printed(text, value, half_unit, scale)
