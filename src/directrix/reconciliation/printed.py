"""A number as a tool printed it, with the precision of its digits."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from directrix.errors import InputError, short_text
from directrix.measures.base import RankingMeasure

# Some tools compute in single precision, so digits beyond it are not compared, even if they are printed.
_LEAST_HALF_UNIT = 1e-7
# A value at the end of the interval may differ from it in its last bits.
_SLACK = 1e-12


class Printed(NamedTuple):
    """A number that stands for all values that are printed like it."""

    text: str
    """The number as it was given."""
    value: float
    """The number, as a share if it was given in percent."""
    half_unit: float
    """Half a unit of its last decimal, at least 1e-7."""

    def interval(self, *, cut: bool = False) -> tuple[float, float]:
        """Return the lowest and the highest value that round, or are truncated, to the number."""
        if not cut:
            return self.value - self.half_unit, self.value + self.half_unit
        unit = 2.0 * self.half_unit
        return (self.value, self.value + unit) if self.value >= 0.0 else (self.value - unit, self.value)

    def within(self, values: Any, *, cut: bool = False) -> Any:
        """Return whether each value would be printed as the number."""
        low, high = self.interval(cut=cut)
        return (values >= low - _SLACK) & (values <= high + _SLACK)


def printed(given: Any, measure: RankingMeasure, what: str = "value") -> Printed:
    """Return a number with the interval that its decimals allow; a text keeps its trailing zeros.

    A number above the largest value of the measure is read as percent. Raises `InputError` if it is not
    finite, or not a value of the measure even in percent.

    Examples
    --------
    >>> from directrix import AP
    >>> printed("0.4510", AP()).interval()
    (0.45095, 0.45105)
    >>> printed("45.1 %", AP()).value
    0.451
    """
    is_mean = type(measure).summary is RankingMeasure.summary
    highest = float(measure.highest) if is_mean else math.inf
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
    scale = 100 if digits != text or abs(float(number)) > highest else 1
    value = float(number / scale)
    if not abs(value) <= highest:
        raise InputError(
            f"{what}={short_text(given)}: the measure is at most {highest:g}, and so is no number above "
            f"{100 * highest:g}, even in percent. Give the number of this measure alone."
        )
    exponent = min(int(number.as_tuple().exponent), 300)
    return Printed(text, value, max(0.5 * 10.0**exponent / scale, _LEAST_HALF_UNIT))
