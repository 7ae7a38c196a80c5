"""Layers of a network: products of rows with weights, and the way back through their activation.

Columns are padded with zeros to whole vectors, and weights lie in panels of one vector each, in the order in
which a product reads them. What padded columns hold is never read as an input.
"""

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST
from directrix.models._kernels.tiles import (
    ROWS,
    add_four,
    add_row,
    add_tile,
    prefetch,
    product_row,
    product_tile,
)

_ROWS_AT_ONCE = 128
"""Rows that stay in the cache for all panels, and float32 rows summed before the sum moves to float64."""


@kernel
def pack(weights, transposed, panels):
    """Panels (n_panels, n_in, lanes) of weights (n_in, n_out), or of their transpose, padded with zeros."""
    n_panels, n_in, lanes = panels.shape
    n_out = weights.shape[0] if transposed else weights.shape[1]
    for p in range(n_panels):
        for j in range(n_in):
            for lane in range(lanes):
                k = p * lanes + lane
                value = 0.0
                if k < n_out:
                    value = weights[k, j] if transposed else weights[j, k]
                panels[p, j, lane] = value


@kernel
def _ask_for(array, first, last, step):
    """Prefetch what lies from ``first`` to ``last``, a cache line every ``step`` numbers."""
    for at in range(first, last, step):
        prefetch(array, at)


@kernel
def product(rows, panels, first, low, out):
    """Out (n, padded) = max(low, first + rows W), for a ``first`` of one row or of n."""
    n, stride = rows.shape
    n_panels, depth, lanes = panels.shape
    width = n_panels * lanes
    step = width if len(first) > 1 else 0
    for begin in range(0, n, _ROWS_AT_ONCE):
        end = min(begin + _ROWS_AT_ONCE, n)
        for p in range(n_panels):
            b, at, i = p * depth * lanes, p * lanes, begin
            while i + ROWS <= end:
                if p == 0:
                    _ask_for(rows, (i + 2 * ROWS) * stride, min(i + 3 * ROWS, n) * stride, lanes)
                product_tile(rows, i * stride, stride, 1, panels, b, lanes, depth, first, i * step + at, step, low, out, i * width + at, width)  # fmt: skip  # noqa: E501
                i += ROWS
            while i < end:
                product_row(rows, i * stride, stride, 1, panels, b, lanes, depth, first, i * step + at, step, low, out, i * width + at, width)  # fmt: skip  # noqa: E501
                i += 1


@kernel
def add_product(rows, delta, lanes, grad):
    """Grad (float64) (n_in, padded) += rows^T delta (n, padded), of the first n_in columns of rows."""
    n, stride = rows.shape
    n_in, width = grad.shape
    for begin in range(0, n, _ROWS_AT_ONCE):
        depth = min(_ROWS_AT_ONCE, n - begin)
        following = (begin + depth) * stride  # rows are read by columns: the processor does not foresee them
        share = (min(_ROWS_AT_ONCE, n - begin - depth) * stride * ROWS + n_in - 1) // n_in
        for p in range(0, width, lanes):
            a, b, f = begin * stride, begin * width + p, 0
            while f + ROWS <= n_in:
                if p == 0:
                    _ask_for(rows, following, following + share, lanes)
                    following += share
                add_tile(rows, a + f, 1, stride, delta, b, width, depth, grad, f * width + p, width)
                f += ROWS
            if f + 4 <= n_in:
                add_four(rows, a + f, 1, stride, delta, b, width, depth, grad, f * width + p, width)
                f += 4
            while f < n_in:
                add_row(rows, a + f, 1, stride, delta, b, width, depth, grad, f * width + p, width)
                f += 1


@kernel
def drop(phi, drawn, least, factor):
    """Units (n, padded) times the factor where ``drawn`` (n, width) is at least ``least``, otherwise 0."""
    zero = phi.dtype.type(0.0)
    for i in range(drawn.shape[0]):
        for k in range(drawn.shape[1]):
            phi[i, k] = phi[i, k] * factor if drawn[i, k] >= least else zero


@kernel(fastmath=FAST)
def through(delta, g, w, phi, is_tanh, drawn, least, factor, inner, sums):
    """Slopes ``inner`` with respect to the inputs of phi, from those with respect to its values.

    These are ``delta``, or, if it has no rows, the products of g (n,) and w (padded). ``sums`` (float64) +=
    the sums of ``inner`` over the rows. ``drawn`` as in `drop`, or without rows: none is dropped.
    """
    zero, one = phi.dtype.type(0.0), phi.dtype.type(1.0)
    share = one / factor  # units that were kept are factor times tanh
    for i in range(phi.shape[0]):
        if len(delta):
            for k in range(phi.shape[1]):
                inner[i, k] = delta[i, k] * factor
        else:
            step = g[i] * factor
            for k in range(phi.shape[1]):
                inner[i, k] = step * w[k]
        if is_tanh:
            for k in range(phi.shape[1]):
                value = phi[i, k] * share
                inner[i, k] *= one - value * value
        else:
            for k in range(phi.shape[1]):
                inner[i, k] = inner[i, k] if phi[i, k] > zero else zero
        if is_tanh and len(drawn):
            for k in range(drawn.shape[1]):
                inner[i, k] = inner[i, k] if drawn[i, k] >= least else zero
        for k in range(len(sums)):
            sums[k] += inner[i, k]
