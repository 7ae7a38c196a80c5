"""Without PyTorch the module is there, and a loss says what to install."""

import sys

import pytest

import directrix as dx


def test_a_loss_without_pytorch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        dx.MissingExtra, match=r'directrix\.torch\.loss needs.*pip install "directrix\[torch\]"'
    ):
        dx.torch.loss("ApproxNDCG")


def test_a_star_import_does_not_hide_pytorch():
    assert "torch" not in dx.__all__
    assert "torch" in dir(dx)
