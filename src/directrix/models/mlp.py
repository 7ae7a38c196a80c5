"""Multi-layer perceptrons, for dense and sparse features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from directrix.errors import InputError
from directrix.models.rows import SparseRows
from directrix.parameters import number
from directrix.types import Float64Array, FloatArray

Activation = Literal["relu", "tanh"]

_ROWS_PER_SUM = 256
"""float32 rows that BLAS adds up before the sum moves to float64; see models/_kernels/linear.py."""


class Layer(NamedTuple):
    """Weights (n_in, n_out) and biases (n_out,) of a layer, as views; the output layer has no biases."""

    weights: FloatArray
    bias: FloatArray | None


@dataclass(frozen=True)
class MLPModel:
    r"""Scores of a perceptron with hidden layers; fulfils `directrix.types.Model`.

    .. math:: a_0 = x, \qquad a_l = \phi(W_l^\top a_{l-1} + b_l), \qquad s = w \cdot a_L

    The output has no bias: it would move all documents of a query equally. With ``residual`` a layer as wide
    as the hidden one before adds its inputs, and the score has a linear term:

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
        Share of the values of phi that is set to 0, the others divided by 1 - dropout (Srivastava et al.
        2014, JMLR 15:1929-1958). Only where `forward` gets a seed, as in the steps of `SGD` and `Adam`: the
        gradient of all queries, validation and prediction use all units.

    Notes
    -----
    Parameters are one float64 vector: W_1 by rows (n_features, hidden[0]), b_1, W_2, b_2, ..., w, and with
    ``residual`` v, which follows w in the weights of the output layer. They are rounded to the dtype of the
    features, in which the products run; gradients are summed in float64 over blocks of 256 rows. A pass
    forward and back is about 6 n_params operations per row, by BLAS.

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
        """Floats kept per row between `forward` and `backward`; objectives choose their rows by it."""
        return sum(self.hidden)

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
        """Views of the parameters by layer, the output layer, of weights (hidden[-1], 1), last.

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

        ``seed``, of `numpy.random.default_rng`, draws which units `dropout` sets to 0; None = none of them.
        """
        dtype = X.data.dtype if isinstance(X, SparseRows) else X.dtype
        layers = self.layers(np.asarray(params).astype(dtype), X.shape[1])
        rng = np.random.default_rng(seed) if self.dropout and seed is not None else None
        inputs, units = [X], []
        for level, (weights, bias) in enumerate(layers[:-1]):
            z = _product(inputs[-1], weights)
            z += bias  # type: ignore[arg-type]  # only the output layer has none
            phi = np.tanh(z, out=z) if self.activation == "tanh" else np.maximum(z, 0, out=z)
            mask = None if rng is None else self._mask(rng, phi)
            if mask is not None:
                phi *= mask
            units.append((phi, mask))
            inputs.append(phi + inputs[-1] if self._skips(level) else phi)
        last = layers[-1].weights
        split = inputs[-1].shape[1]
        scores: FloatArray = _product(inputs[-1], last[:split])[:, 0]
        if self.residual:
            scores += _product(X, last[split:])[:, 0]
        return scores, (layers, inputs, units)

    def backward(self, cache: Any, dscores: FloatArray) -> Float64Array:
        """Gradient with respect to the parameters, float64 (n_params,)."""
        layers, inputs, units = cache
        grad = np.zeros(self.n_params(inputs[0].shape[1]))
        slopes = self.layers(grad, inputs[0].shape[1])
        delta, last, split = np.asarray(dscores)[:, None], slopes[-1].weights, inputs[-1].shape[1]
        _add_product(inputs[-1], delta, Layer(last[:split], None))
        if self.residual:
            _add_product(inputs[0], delta, Layer(last[split:], None))
        delta = delta * layers[-1].weights[:split, 0]
        for level in range(len(units) - 1, -1, -1):
            inner = self._through(delta, *units[level])
            _add_product(inputs[level], inner, slopes[level])
            if level:
                before = inner @ layers[level].weights.T
                delta = np.add(before, delta, out=before) if self._skips(level) else before
        return grad

    def _mask(self, rng: np.random.Generator, phi: FloatArray) -> FloatArray:
        """0 for the units that are dropped, 1 / (1 - dropout) for the others."""
        # 16 bits per unit: several times faster than a float
        drawn = rng.integers(1 << 16, size=phi.shape, dtype=np.uint16)
        kept: FloatArray = (drawn >= round(self.dropout * (1 << 16))) * phi.dtype.type(1 / (1 - self.dropout))
        return kept

    def _through(self, delta: FloatArray, phi: FloatArray, mask: FloatArray | None) -> FloatArray:
        """Slopes with respect to the inputs of phi, from those with respect to its values."""
        if self.activation == "relu":
            inner = delta * (phi > 0)
            return inner if mask is None else np.multiply(inner, mask, out=inner)
        if mask is None:
            return delta * (1 - phi * phi)
        tanh = phi * phi.dtype.type(1 - self.dropout)  # of the units that were kept
        return delta * mask * (1 - tanh * tanh)

    def _skips(self, level: int) -> bool:
        """Whether a hidden layer adds its inputs, those of the hidden layer before."""
        return self.residual and level > 0 and self.hidden[level - 1] == self.hidden[level]

    def _shapes(self, n_features: int) -> list[tuple[int, int]]:
        """Inputs and outputs of every layer."""
        shapes = list(pairwise((n_features, *self.hidden, 1)))
        if self.residual:
            shapes[-1] = (self.hidden[-1] + n_features, 1)
        return shapes


def _product(rows: Any, weights: FloatArray) -> FloatArray:
    """Rows times weights, (n_rows, n_out)."""
    if not isinstance(rows, SparseRows):
        product: FloatArray = rows @ weights
        return product
    from directrix.models._kernels.linear import csr_product

    out = np.empty((rows.shape[0], weights.shape[1]), dtype=weights.dtype)
    csr_product(rows.data, rows.indices, rows.indptr, weights, out)
    return out


def _add_product(rows: Any, delta: FloatArray, slope: Layer) -> None:
    """Add rows^T delta to the weights' gradient, and the sum of delta to that of the biases."""
    if slope.bias is not None:
        slope.bias[:] += delta.sum(axis=0, dtype=np.float64)
    if isinstance(rows, SparseRows):
        from directrix.models._kernels.linear import csr_add_product

        csr_add_product(rows.data, rows.indices, rows.indptr, np.ascontiguousarray(delta), slope.weights)
        return
    for begin in range(0, len(rows), _ROWS_PER_SUM):
        block = slice(begin, begin + _ROWS_PER_SUM)
        slope.weights[:] += rows[block].T @ delta[block]
