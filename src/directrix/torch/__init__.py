"""Surrogates as losses, and measures for validation, in PyTorch; importing this does not import PyTorch."""

from __future__ import annotations

from directrix.lazy import exports

NAMES = {
    "CrossEncoderLoss": "torch.encoders",
    "Loss": "torch.losses",
    "RetrievalLoss": "torch.encoders",
    "TensorMeasure": "torch.losses",
    "check_loss": "torch.laws",
    "loss": "torch.losses",
    "measure": "torch.losses",
}
"""Public names, and the modules that define them."""

__getattr__, __dir__, __all__ = exports(__name__, NAMES)
