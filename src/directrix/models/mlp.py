"""Multi-layer perceptrons, for dense and sparse features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from directrix.errors import InputError
from directrix.models.linear import add_gradient, weighted_sums
from directrix.models.rows import SparseRows, read_only
from directrix.parameters import number
from directrix.types import Array, Float64Array, FloatArray

Activation = Literal["relu", "tanh"]

ALL_KEPT = np.empty((0, 0), np.uint16)
"""Random numbers of a layer without dropout."""


class Layer(NamedTuple):
    """Weights (n_in, n_out) and biases (n_out,) of a layer, as views; the output layer has no biases."""

    weights: FloatArray
    bias: FloatArray | None


@dataclass(frozen=True)
class MLPModel:
    r"""Scores of a perceptron with hidden layers; implements `directrix.types.Model`.

    .. math:: a_0 = x, \qquad a_l = \phi(W_l^\top a_{l-1} + b_l), \qquad s = w \cdot a_L

    The output has no bias: it would move all documents of a query equally. With ``residual``, a layer as wide
    as the hidden layer before it adds its inputs, and the score has a linear term:

    .. math:: a_l = \phi(W_l^\top a_{l-1} + b_l) + a_{l-1}, \qquad s = w \cdot a_L + v \cdot x

    Parameters
    ----------
    hidden : tuple of int >= 1
        Width of every hidden layer; () is the linear model.
    activation : {"relu", "tanh"}
        phi. The slope of "relu" at 0 is 0.
    residual : bool
        Add the two terms above; without hidden layers there is nothing to add.
    dropout : float >= 0 and < 1
        Share of the values of phi that is set to 0; the others are divided by 1 - dropout (Srivastava et al.
        2014, JMLR 15:1929-1958). This applies only if `forward` gets a seed, as in the steps of `SGD` and
        `Adam`; the gradient of all queries, validation and prediction use all units.

    Notes
    -----
    Parameters are one float64 vector: W_1 by rows (n_features, hidden[0]), b_1, W_2, b_2, ..., w, and with
    ``residual`` v, which follows w in the weights of the output layer. They are rounded to the dtype of the
    features, in which the products run; gradients are summed in float64 over blocks of 128 rows. A forward
    and backward pass takes about 6 n_params operations per row. The same row has the same score, to the bit,
    in any batch and on any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> model = MLPModel(hidden=(2,), activation="tanh")
    >>> params = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.5, 1.0, -1.0])
    >>> scores, _ = model.forward(params, np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> np.allclose(scores, [-np.tanh(0.5), np.tanh(1.0) - np.tanh(0.5)])
    True
    """

    hidden: tuple[int, ...] = (10,)
    activation: Activation = "relu"
    residual: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        try:
            widths: tuple[Any, ...] = tuple(self.hidden)
        except TypeError:
            widths = (None,)
        if not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in widths):
            raise InputError(
                f"hidden={self.hidden!r}: the widths of the hidden layers are integers >= 1; "
                "type e.g. hidden=(10,)."
            )
        object.__setattr__(self, "hidden", tuple(int(n) for n in widths))
        if self.activation not in get_args(Activation):
            raise InputError(f"activation={self.activation!r}: type 'relu' or 'tanh'.")
        object.__setattr__(self, "residual", bool(self.residual) and bool(self.hidden))
        number(self.dropout, "dropout", "MLPModel", least=0.0, below=1.0, example=0.1)

    @property
    def floats_per_row(self) -> int:
        """Number of floats that a row needs between `forward` and `backward`; objectives size parts by it."""
        # A row keeps three values per hidden unit: the unit, its slope, and what the layer adds.
        return 3 * sum(self.hidden)

    def n_params(self, n_features: int) -> int:
        """Number of parameters."""
        return sum((n_in + 1) * n_out for n_in, n_out in self._shapes(n_features)) - 1

    def start(self, n_features: int, rng: np.random.Generator) -> Float64Array:
        r"""Random first parameters: weights uniform, biases 0.

        Weights of a layer lie within :math:`\pm\sqrt{6 / (n_{in} + n_{out})}` (Glorot & Bengio 2010, Eq. 16).
        Scores are then of order 1 if features have mean 0 and standard deviation 1.
        """
        params = np.zeros(self.n_params(n_features))
        for layer in self.layers(params, n_features):
            limit = np.sqrt(6.0 / sum(layer.weights.shape))
            layer.weights[:] = rng.uniform(-limit, limit, layer.weights.shape)
        return params

    def layers(self, params: FloatArray, n_features: int) -> list[Layer]:
        """Return views of the parameters by layer; the output layer comes last.

        Raises `InputError` if their number is not ``n_params(n_features)``.
        """
        wanted = self.n_params(n_features)
        if params.shape != (wanted,):
            raise InputError(
                f"params has shape {params.shape}; {self!r} on {n_features} features has {wanted} "
                f"parameters: pass shape ({wanted},)."
            )
        layers: list[Layer] = []
        at = 0
        shapes = self._shapes(n_features)
        for n_in, n_out in shapes:
            weights = params[at : at + n_in * n_out].reshape(n_in, n_out)
            at += n_in * n_out
            last = len(layers) == len(shapes) - 1
            layers.append(Layer(weights, None if last else params[at : at + n_out]))
            at += n_out
        return layers

    def forward(self, params: Float64Array, X: Any, seed: Any = None) -> tuple[FloatArray, Any]:
        """Return the scores of the rows; see `LinearModel.forward`.

        ``seed``, of `numpy.random.default_rng`, decides which units `dropout` sets to 0; None = none of them.
        """
        layers, dtype = self.layers(np.require(params, np.float64, ["C", "W"]), X.shape[1]), X.dtype
        rng = np.random.default_rng(seed) if self.dropout and seed is not None else None
        inputs, units = [X], []
        for level, layer in enumerate(layers[:-1]):
            # The kernel takes the maximum with this limit, which is relu for 0 and no change for -inf.
            low = -np.inf if self.activation == "tanh" else 0.0
            phi = _hidden(inputs[-1], layer, dtype.type(low))
            if self.activation == "tanh":
                np.tanh(phi, out=phi)
            drawn = ALL_KEPT if rng is None else self._drop(rng, phi, self.hidden[level])
            units.append((phi, drawn))
            inputs.append(read_only(phi + inputs[-1] if self.skips(level) else phi))
        last = layers[-1].weights[:, 0].astype(dtype)
        split = len(last) - X.shape[1] if self.residual else len(last)
        scores = weighted_sums(inputs[-1], last[:split])
        if self.residual:
            scores += weighted_sums(X, last[split:])
        return scores, (layers, inputs, units)

    def backward(self, cache: Any, dscores: FloatArray) -> Float64Array:
        """Gradient with respect to the parameters, float64 (n_params,)."""
        from directrix.models._kernels.layers import product, through

        layers, inputs, units = cache
        grad = np.zeros(self.n_params(inputs[0].shape[1]))
        slopes = self.layers(grad, inputs[0].shape[1])
        last = slopes[-1].weights[:, 0]
        if not units:
            add_gradient(inputs[0], np.ascontiguousarray(dscores), last)
            return grad
        phi = units[-1][0]
        g, split, dtype = np.ascontiguousarray(dscores, phi.dtype), self.hidden[-1], phi.dtype
        add_gradient(inputs[-1], g, last[:split])
        if self.residual:
            add_gradient(inputs[0], g, last[split:])
        # Units are padded to whole vector registers, and so are the weights of the output.
        w = np.zeros(phi.shape[1], dtype)
        w[:split] = layers[-1].weights[:split, 0]
        delta = g[:, None] * w if self.skips(len(units) - 1) else np.empty((0, 0), dtype)
        least, factor = self._draw()
        for level in range(len(units) - 1, -1, -1):
            phi, drawn = units[level]
            inner, scale = np.empty_like(phi), dtype.type(factor if len(drawn) else 1.0)
            bias: Any = slopes[level].bias
            through(delta, g, w, phi, self.activation == "tanh", drawn, least, scale, inner, bias)
            _add_product(inputs[level], inner, slopes[level].weights)
            if level:
                # Backpropagation multiplies by the transposed weights; a skipped layer passes its gradient on
                # as well.
                panels = _panels(layers[level].weights, dtype, transposed=True)
                before = np.empty_like(units[level - 1][0])
                first = delta if self.skips(level) else np.zeros((1, before.shape[1]), dtype)
                product(read_only(inner), panels, first, dtype.type(-np.inf), before)
                delta = before
        return grad

    def _draw(self) -> tuple[int, float]:
        """The smallest 16-bit random number that keeps a unit, and the factor on such units."""
        return round(self.dropout * (1 << 16)), 1 / (1 - self.dropout)

    def _drop(self, rng: np.random.Generator, phi: FloatArray, width: int) -> Array:
        """Set units to 0, and multiply the others; return the random number of each, (n_rows, width)."""
        from directrix.models._kernels.layers import drop

        size, (least, factor) = len(phi) * width, self._draw()
        # 16 bits per unit, four units per number: several times faster than a float
        drawn = rng.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size].reshape(-1, width)
        drop(phi, drawn, least, phi.dtype.type(factor))
        return drawn

    def skips(self, level: int) -> bool:
        """Whether a hidden layer adds its inputs, the outputs of the hidden layer before."""
        return self.residual and level > 0 and self.hidden[level - 1] == self.hidden[level]

    def _shapes(self, n_features: int) -> list[tuple[int, int]]:
        """Inputs and outputs of every layer."""
        shapes = list(pairwise((n_features, *self.hidden, 1)))
        if self.residual:
            shapes[-1] = (self.hidden[-1] + n_features, 1)
        return shapes


def _panels(weights: FloatArray, dtype: Any, *, transposed: bool = False) -> FloatArray:
    """The weights (n_in, n_out), or their transpose, as `directrix.models._kernels.layers` takes them."""
    from directrix.models._kernels.layers import pack

    n_in, n_out = weights.shape[::-1] if transposed else weights.shape
    lanes = _lanes(dtype)
    panels: FloatArray = np.empty((-(-n_out // lanes), n_in, lanes), dtype)
    pack(weights, transposed, panels)
    return panels


def padded_width(n_out: int, dtype: Any) -> int:
    """Return the number of columns, in whole vectors, that hold ``n_out`` columns."""
    lanes = _lanes(dtype)
    return -(-n_out // lanes) * lanes


def _lanes(dtype: Any) -> int:
    """Numbers in a vector of 64 bytes."""
    return 64 // int(dtype.itemsize)


def _hidden(rows: Any, layer: Layer, low: Any) -> FloatArray:
    """max(low, rows W + b), (n_rows, n_out padded to whole vectors)."""
    from directrix.models._kernels.layers import product
    from directrix.models._kernels.linear import csr_product

    n_out = layer.weights.shape[1]
    bias = np.zeros((1, padded_width(n_out, low.dtype)), low.dtype)
    bias[0, :n_out] = layer.bias
    out = np.empty((rows.shape[0], bias.shape[1]), low.dtype)
    if isinstance(rows, SparseRows):
        csr_product(*rows[:4], layer.weights.astype(low.dtype), out)
        out[:, n_out:] = 0
        out += bias
        np.maximum(out, low, out=out)
        return out
    product(rows, _panels(layer.weights, low.dtype), bias, low, out)
    return out


def _add_product(rows: Any, delta: FloatArray, slope: FloatArray) -> None:
    """Add rows^T delta to the weights' gradient (n_in, n_out)."""
    from directrix.models._kernels.layers import add_product
    from directrix.models._kernels.linear import csr_add_product

    if isinstance(rows, SparseRows):
        csr_add_product(*rows[:4], delta, slope)
        return
    total = np.zeros((slope.shape[0], delta.shape[1]))
    add_product(rows, delta, _lanes(delta.dtype), total)
    slope[:] = total[:, : slope.shape[1]]
