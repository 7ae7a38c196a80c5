"""Sigmoids, functions of soft ranks, and the exponentials behind the factored sigmoid."""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST

LOGISTIC, ARCTAN, ERF = 0, 1, 2
IDENTITY, DCG, DCG_CUT, CUT = 0, 1, 2, 3

_LN2 = math.log(2.0)
_ONE, _ROOT = 0x3FF0000000000000, 0x3FE6A09E667F3BCD  # bits of 1 and sqrt(1/2)


@kernel
def sigmoid_slope(kind, z):
    """Derivative of the sigmoid ARCTAN or ERF at z, for scalars."""
    if kind == ARCTAN:
        return 1.0 / (math.pi * (1.0 + z * z))
    return math.exp(-z * z) / math.sqrt(math.pi)


@kernel
def sigmoid(kind, z):
    """Value and derivative of the sigmoid at z, for scalars."""
    if kind == LOGISTIC:
        e = math.exp(-abs(z))
        p = e / (1.0 + e)
        return (p if z < 0.0 else 1.0 - p), p / (1.0 + e)
    slope = sigmoid_slope(kind, z)
    return (0.5 + math.atan(z) / math.pi if kind == ARCTAN else 0.5 * math.erfc(-z)), slope


@kernel
def phi(kind, x, k, sigmoid_kind, beta, below):
    """Value and derivative of the function of a soft rank, 1 <= x."""
    if kind == IDENTITY:
        return x, 1.0
    log = math.log(1.0 + x)
    value = _LN2 / log
    slope = -value / (log * (1.0 + x))
    if kind == DCG:
        return value, slope
    t, dt = sigmoid(sigmoid_kind, beta * (k + 0.5 - x))
    t, dt = (1.0 - below) * t, -(1.0 - below) * beta * dt
    if kind == CUT:
        return t + below * value, dt + below * slope
    return value * (t + below), slope * (t + below) + value * dt


@kernel
def saturation(kind, itemsize):
    """The |z| beyond which the sigmoid is 0 or 1 to rounding in a float of this size."""
    if kind == LOGISTIC:
        return 17.0 if itemsize == 4 else 37.0
    if kind == ERF:
        return 3.9 if itemsize == 4 else 6.0
    return np.inf


@kernel(fastmath=FAST)
def exponential(z):
    """exp(z) of a float64, abs(z) <= 700, to a relative error of 3e-16.

    Cody-Waite reduction and a Taylor polynomial, written without a branch or a call so that loops over it
    run in vector registers (math.exp cannot be vectorized without SVML).
    """
    power = math.floor(z * 1.4426950408889634 + 0.5)
    r = (z - power * 0.693147180369123816490) - power * 1.90821492927058770002e-10
    # by way of int32: few processors turn vectors of float64 into int64
    scale = np.int64((np.int64(np.int32(power)) + np.int64(1023)) << np.int64(52)).view(np.float64)
    poly = 1.6059043836821613e-10
    poly = poly * r + 2.08767569878681e-09
    poly = poly * r + 2.505210838544172e-08
    poly = poly * r + 2.755731922398589e-07
    poly = poly * r + 2.7557319223985893e-06
    poly = poly * r + 2.48015873015873e-05
    poly = poly * r + 0.0001984126984126984
    poly = poly * r + 0.001388888888888889
    poly = poly * r + 0.008333333333333333
    poly = poly * r + 0.041666666666666664
    poly = poly * r + 0.16666666666666666
    poly = poly * r + 0.5
    poly = poly * r + 1.0
    poly = poly * r + 1.0
    return poly * scale


@kernel(fastmath=FAST)
def exponentials(s, middle, alpha, e, inverse):
    """Fill e = exp(alpha (s - middle)) and 1/e; needs |alpha (s - middle)| <= 700."""
    for j in range(len(s)):
        value = exponential(alpha * (np.float64(s[j]) - middle))
        e[j] = value
        inverse[j] = 1.0 / value


@kernel(fastmath=FAST)
def logarithm(y):
    """log(y) of a float64 >= 1e-300, to a relative error of 3e-16, written as `exponential`.

    log(2^k m) = k log 2 + 2 artanh(t), t = (m - 1)/(m + 1), for m between sqrt(1/2) and sqrt(2).
    """
    # the distance from 1 to sqrt(1/2) in bits moves the jump of the exponent there
    moved = np.float64(y).view(np.int64) + (_ONE - _ROOT)
    power = np.float64((moved >> np.int64(52)) - np.int64(1023))
    m = np.int64((moved & np.int64(0x000FFFFFFFFFFFFF)) + _ROOT).view(np.float64)
    t = (m - 1.0) / (m + 1.0)
    z = t * t
    series = 1.0 / 21.0
    series = series * z + 1.0 / 19.0
    series = series * z + 1.0 / 17.0
    series = series * z + 1.0 / 15.0
    series = series * z + 1.0 / 13.0
    series = series * z + 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    return power * _LN2 + (2.0 * t + 2.0 * t * (z * series))
