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

from directrix.kernels import kernel

OK, HARD, BAD, MISSING, INFINITE = 0, 1, 2, 3, 4

_EXACT = np.array([float(10**k) for k in range(23)])
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
