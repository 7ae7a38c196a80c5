"""Words, numbers and objects that readers and checks stumble over."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_HUGE = (2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**61, 2**62)
INTEGERS = (0, 1, -1, 2, 7, 8, 127, 255, 256, 65535, *_HUGE)
_PLAIN = """0 -0 -1 1 2 +1 1. .5 1e3 1e308 -1e308 1e309 1e-400 0x10 nan NaN -nan inf -inf Infinity NULL
null None true 1_0 1,5 1e --1 2147483647 2147483648 4294967296 9223372036854775807 9223372036854775808
-9223372036854775809 18446744073709551616 # #docid= qid: qid:1 1:1 : ' " \\ =cmd <b> Q0 directrix/1"""
_SPECIAL = (
    "",
    "9" * 400,
    "0." + "3" * 400,
    "1" + "0" * 310,
    "a" * 300,
    "#docid = ",
    "\u0663",
    "\u00b2",
    "\u00a0",
)
_BLANKS = (
    "\u2028",
    "\x1e",
    "\x1f",
    "\x85",
    "\x0b",
    "\x0c",
    "\x00",
    "\ufeff",
    "\ud7ff",
    "\U0001f600",
    "\r",
    "\r\n",
    "\t",
    " ",
)
WORDS = tuple(word.encode() for word in (*_PLAIN.split(), *_SPECIAL, *_BLANKS))
"""Of files and texts."""

ELEMENTS: tuple[Any, ...] = (
    *(float("nan"), float("inf"), -float("inf"), -0.0, 1e308, -1e308, 5e-324, 1e16, -1, 0.5, 1e300),
    *(
        2**31,
        2**53 + 1,
        2**61,
        2**62,
        3 * 2**61,
        2**63 - 1,
        -(2**62),
        -(2**63),
        2**64 - 1,
        10**400,
        -(10**400),
    ),
    *(None, "x", "1", b"1", True, 1j, Decimal("1"), Decimal("nan"), Fraction(1, 3), (), [1], {}, "a" * 5000),
)
OTHERS: tuple[Any, ...] = (
    *(
        None,
        "",
        "abc",
        b"ab",
        0,
        1,
        -1,
        2**63,
        10**400,
        0.5,
        float("nan"),
        True,
        1j,
        (),
        [],
        {},
        set(),
        frozenset({1}),
    ),
    *(
        object(),
        Decimal(1),
        Fraction(1, 2),
        np.float64("nan"),
        np.int8(3),
        np.datetime64("2020-01-01"),
        len,
        range(3),
    ),
    *(
        [[1], [1, 2]],
        [[]],
        {"a": 1},
        {"a": [1, 2]},
        slice(0, 1),
        Ellipsis,
        NotImplemented,
        np.dtype("f8"),
        int,
    ),
)
TYPES = (
    *("?", "i1", "u1", "u8", "i8", "i4", "f2", "f4", "f8", ">f8", ">i8", "g", "c16", "O", "U5", "S5"),
    *("datetime64[s]", "timedelta64[D]", "i4,f8", "V3"),
)
