"""Decimal text to the nearest double, where that takes no big integers.

``parse_number`` is exact or says that it does not know. Up to 2^53 times or over a power of
ten up to 10^22 both operands are exact doubles, so one division or multiplication rounds once
and correctly (Clinger 1990). Other numbers of up to 19 digits are multiplied by the top 64
bits of the power of five; the product is short of the true one by less than two units of its
high half, so it rounds correctly unless the border lies within these two units, once in about
500 numbers (the first step of Eisel and Lemire, doi:10.1002/spe.2984).
"""

import math

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from directrix.kernels import kernel

OK, HARD, BAD, MISSING, INFINITE = 0, 1, 2, 3, 4

_EXACT = np.array([float(10**k) for k in range(23)])
_POWERS = np.array([10**k for k in range(8)], dtype=np.uint64)
# the character 0 in eight bytes; what carries bytes from 10 on to their highest bit; these bits
_ZEROS, _CARRY, _HIGHEST = (np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0x76, 0x80))
_SMALLEST, _LARGEST = -300, 280  # with up to 19 digits the result stays a normal double


def _powers_of_five():
    """5^e = (m + f) 2^x with 2^63 <= m < 2^64 and 0 <= f < 1: m and x for every e."""
    tops = np.empty(_LARGEST - _SMALLEST + 1, dtype=np.uint64)
    exponents = np.empty(len(tops), dtype=np.int64)
    for e in range(_SMALLEST, _LARGEST + 1):
        power = 5 ** abs(e)
        if e >= 0:
            x = power.bit_length() - 64
            m = power >> x if x >= 0 else power << -x
        else:
            x = -(63 + power.bit_length())  # one over the power lies in (2^-bits, 2^(1 - bits))
            m = (1 << -x) // power
            if m >> 64:
                x += 1
                m = (1 << -x) // power
        tops[e - _SMALLEST], exponents[e - _SMALLEST] = m, x
    return tops, exponents


_TOPS, _TOP_EXPONENTS = _powers_of_five()


@kernel
def _high_product(a, b):
    """Return the high half of the 128-bit product of two uint64."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & mask)
    return a1 * b1 + (middle >> half) + (other >> half)


@kernel
def _scale(mantissa, exponent):
    """Return (mantissa 10^exponent rounded to nearest, True), or (0, False) if not sure."""
    if exponent < _SMALLEST or exponent > _LARGEST:
        return 0.0, False
    w, shift = mantissa, 0
    while w < np.uint64(1 << 63):
        w = w << np.uint64(1)
        shift += 1
    high = _high_product(w, _TOPS[exponent - _SMALLEST])
    drop = 11 if high >> np.uint64(63) else 10
    significand = high >> np.uint64(drop)
    rest = high & np.uint64((1 << drop) - 1)
    border = np.uint64(1 << (drop - 1))
    if rest <= border and rest + np.uint64(2) >= border:
        return 0.0, False
    if rest > border:
        significand += np.uint64(1)
    binary = drop + 64 - shift + _TOP_EXPONENTS[exponent - _SMALLEST] + exponent
    return math.ldexp(float(significand), binary), True


@kernel
def _is_end(c):
    return c == 32 or (9 <= c <= 13) or c == 35  # blank or '#'


@kernel
def _word(buf, p):
    """Kind of a token that is no number, and the place after it: NaN, NULL, infinity or rubbish."""
    end = p
    while not _is_end(buf[end]):
        end += 1
    first = p + 1 if buf[p] == 43 or buf[p] == 45 else p
    key = np.uint64(0)
    if end - first <= 8:
        for i in range(first, end):
            key = (key << np.uint64(8)) | np.uint64(buf[i] | 32)
    if key == 0x6E616E or (first == p and key == 0x6E756C6C):  # nan, null
        return MISSING, end
    if key == 0x696E66 or key == 0x696E66696E697479:  # inf, infinity
        return INFINITE, end
    return BAD, end


@intrinsic  # type: ignore[untyped-decorator]
def _trailing_zeros(typing_context, number):
    """Number of zero bits below the lowest one; 64 of 0."""

    def codegen(context, builder, signature, given):
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


@kernel(forceinline=True)
def _digits(buf, p):
    """Eight bytes from p on, the first lowest: digits as values, and the highest bit of all other bytes."""
    at, word = np.uint64(p), np.uint64(0)
    for i in range(8):
        word |= np.uint64(buf[at + np.uint64(i)]) << np.uint64(8 * i)
    word ^= _ZEROS
    return word, ((word + _CARRY) | word) & _HIGHEST


@kernel(forceinline=True)
def _number(digits, shift):
    """The lowest 8 - shift / 8 of eight digits, of which the first is lowest, as a number."""
    d = digits << np.uint64(shift)
    d = d * np.uint64(10) + (d >> np.uint64(8))  # four numbers of two digits, in every second byte
    pairs = np.uint64(0x000000FF000000FF)
    high = (d & pairs) * np.uint64(1000000 * 2**32 + 100)
    low = ((d >> np.uint64(16)) & pairs) * np.uint64(10000 * 2**32 + 1)
    return (high + low) >> np.uint64(32)


@kernel
def parse_number(buf, p):
    """Parse the number at ``buf[p]``; the buffer must end with a newline.

    Returns
    -------
    value : float
        Correctly rounded if ``kind`` is ``OK``, else 0 or NaN.
    end : int
        Place after the token (where it is ``BAD``, still after the whole token).
    kind : int
        ``OK``; ``HARD``: a valid number that needs big integers; ``BAD``; ``MISSING`` for
        "nan" and "NULL"; ``INFINITE`` for "inf".
    """
    start = p
    c = buf[p]
    negative = c == 45
    if negative or c == 43:
        p += 1
    mantissa, digits, exponent = np.uint64(0), 0, 0
    before = p
    while True:
        d = buf[p] - 48
        if d < 0 or d > 9:
            break
        mantissa = mantissa * np.uint64(10) + np.uint64(d)
        p += 1
    n_before = p - before
    digits = n_before
    if buf[p] == 46:
        p += 1
        after = p
        while p + 8 <= len(buf):
            word, others = _digits(buf, p)
            if others != np.uint64(0):
                break
            mantissa = mantissa * np.uint64(10**8) + _number(word, 0)
            p += 8
        while True:
            d = buf[p] - 48
            if d < 0 or d > 9:
                break
            mantissa = mantissa * np.uint64(10) + np.uint64(d)
            p += 1
        exponent = after - p
        digits += p - after
    if digits == 0:
        kind, end = _word(buf, start)
        return math.nan if kind == MISSING else 0.0, end, kind
    if buf[p] | 32 == 101:
        sign = buf[p + 1]
        q = p + 2 if sign == 43 or sign == 45 else p + 1
        first, power = q, 0
        while 48 <= buf[q] <= 57:
            power = min(power * 10 + (buf[q] - 48), 100000)
            q += 1
        if q > first:
            p = q
            exponent += -power if sign == 45 else power
    if not _is_end(buf[p]):
        _, end = _word(buf, start)
        return 0.0, end, BAD
    if digits > 19:
        return 0.0, p, HARD  # the mantissa may have wrapped around
    if mantissa == np.uint64(0):
        return -0.0 if negative else 0.0, p, OK
    if mantissa <= np.uint64(1 << 53) and -22 <= exponent <= 22:
        value = float(mantissa)
        value = value / _EXACT[-exponent] if exponent < 0 else value * _EXACT[exponent]
    else:
        value, known = _scale(mantissa, exponent)
        if not known:
            return 0.0, p, HARD
    return -value if negative else value, p, OK


@kernel(forceinline=True)
def parse_plain(buf, p):
    """Parse ``index:value`` at ``buf[p]`` if it is short: index, value, and the place after it, else ``p``.

    Eight bytes hold all before the point, and seven digits all after it; `parse_number` gives the same bits.
    Words of eight bytes take half the time of a loop over digits, whose ends no processor predicts.
    """
    nothing = 0, 0.0, p
    if p + 17 > len(buf):
        return nothing
    head, others = _digits(buf, p)
    colon = _trailing_zeros(others)  # the highest bit of its byte
    if colon < np.uint64(8) or colon > np.uint64(55):
        return nothing
    begin = colon + np.uint64(1)
    others &= others - np.uint64(1)
    negative = (head >> begin) & np.uint64(0xFF) == np.uint64(45 ^ 48)
    if negative:
        others &= others - np.uint64(1)
        begin += np.uint64(8)
    stop = _trailing_zeros(others) - np.uint64(7)
    is_colon = (head >> (colon - np.uint64(7))) & np.uint64(0xFF) == np.uint64(58 ^ 48)
    if begin >= stop or stop > np.uint64(56) or not is_colon:
        return nothing
    index = _number(head, np.uint64(71) - colon)
    mantissa = _number(head >> begin, np.uint64(64) - (stop - begin))
    end = np.uint64(p) + (stop >> np.uint64(3))
    n_after = np.uint64(0)
    if buf[end] == 46:
        tail, others = _digits(buf, end + np.uint64(1))
        n_after = _trailing_zeros(others) >> np.uint64(3)
        if n_after == np.uint64(8):
            return nothing
        after = _number(tail << np.uint64(8), np.uint64(56) - np.uint64(8) * n_after)
        mantissa = mantissa * _POWERS[n_after] + after
        end += np.uint64(1) + n_after
    if not _is_end(buf[end]):
        return nothing
    value = float(np.int64(mantissa)) / _EXACT[n_after]
    return np.int64(index), -value if negative else value, np.int64(end)
